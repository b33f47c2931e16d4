package soak_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// A kind is a sort of upload and its output, with a check that the output is whole.
type kind struct {
	name, function, suffix string
	data                   func(t testing.TB, seed uint64, size int) []byte
	// check reads the whole output of the upload back; false if it is not there.
	check func(ctx context.Context, out objstore.Bucket, key string, data []byte) (bool, error)
}

func kinds() []kind {
	return []kind{
		{"gulp", "fn-pack", ".tar", frames, checkFrames},
		{"b2nd", "fn-pack", ".npy", grid, checkGrid},
		{"items", "fn-pack", ".jsonl", records, checkRecords},
		{"zoom", "fn-zoom", ".wav", wave, checkWave},
	}
}

func (k kind) key(n int) string { return fmt.Sprintf("%s/ä b+%d%%%s", k.name, n, k.suffix) }

// noise does not compress.
func noise(seed uint64, n int) []byte {
	rng := rand.New(rand.NewPCG(seed, 7))
	p := make([]byte, (n+7)/8*8)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], rng.Uint64())
	}
	return p[:n]
}

// head is a small JPEG.
func head(tb testing.TB) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 16, 16)), nil); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// photo is a JPEG of n bytes that depends on seed: a real one and a tail, such as
// cameras append.
func photo(head []byte, seed uint64, n int) []byte {
	return append(bytes.Clone(head), noise(seed, max(n-len(head), 0))...)
}

// frames is a tar of photos of 64 KiB, in folders of ten.
func frames(tb testing.TB, seed uint64, size int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	h := head(tb)
	for i := 0; b.Len() < size; i++ {
		p := photo(h, seed*100_000+uint64(i), 64<<10)
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("c%04d/f%02d.jpg", i/10, i%10), Mode: 0o644, Size: int64(len(p))}); err != nil {
			tb.Fatal(err)
		}
		w.Write(p)
	}
	w.Close()
	return b.Bytes()
}

// absent turns "not there" into false.
func absent(err error) (bool, error) {
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	return true, err
}

func checkFrames(ctx context.Context, out objstore.Bucket, key string, data []byte) (bool, error) {
	meta, err := objstore.Open(ctx, out, key+".gmeta", objstore.OpenOptions{})
	if err != nil {
		return absent(err)
	}
	// From here on everything has to be there: the index commits the pair.
	obj, err := objstore.Open(ctx, out, key+".gulp", objstore.OpenOptions{})
	if err != nil {
		return true, fmt.Errorf("data: %w", err)
	}
	c, err := gulp.Open(ctx, meta, obj, gulp.Options{})
	if err != nil {
		return true, err
	}
	r := tar.NewReader(bytes.NewReader(data))
	n := int64(0)
	err = c.Each(ctx, func(id string, i int, frame []byte) error {
		h, err := r.Next()
		if err != nil {
			return err
		}
		want, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if name := fmt.Sprintf("%s/f%02d.jpg", id, i); name != h.Name || !bytes.Equal(want, frame) {
			return fmt.Errorf("%s is not the %s of the upload", name, h.Name)
		}
		n++
		return nil
	})
	if _, end := r.Next(); err == nil && !errors.Is(end, io.EOF) {
		err = fmt.Errorf("only %d frames", n)
	}
	return true, err
}

// grid is a .npy of numbers in rows of 1000.
func grid(tb testing.TB, seed uint64, size int) []byte {
	tb.Helper()
	d, err := dtype.Parse("<i4")
	if err != nil {
		tb.Fatal(err)
	}
	rows := max(size/4000, 1)
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{int64(rows), 1000}})
	if err != nil {
		tb.Fatal(err)
	}
	return append(p, noise(seed, rows*4000)...)
}

func checkGrid(ctx context.Context, out objstore.Bucket, key string, data []byte) (bool, error) {
	obj, err := objstore.Open(ctx, out, key+".b2nd", objstore.OpenOptions{})
	if err != nil {
		return absent(err)
	}
	a, err := b2nd.Open(ctx, obj, b2nd.Options{})
	if err != nil {
		return true, err
	}
	_, n, err := npy.ParseHeader(bytes.NewReader(data))
	if err != nil {
		return true, err
	}
	var got bytes.Buffer
	if _, err := a.CopyTo(ctx, &got, b2nd.Whole(a.Shape()), 0); err != nil {
		return true, err
	}
	if !bytes.Equal(got.Bytes(), data[n:]) {
		return true, fmt.Errorf("%d bytes of items, not the %d of the upload", got.Len(), int64(len(data))-n)
	}
	return true, nil
}

// records is lines of JSON.
func records(_ testing.TB, seed uint64, size int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "{\"n\":%d,\"x\":\"%x\"}\n", i, noise(seed*1_000_000+uint64(i), 2000))
	}
	return b.Bytes()
}

func checkRecords(ctx context.Context, out objstore.Bucket, key string, data []byte) (bool, error) {
	obj, err := objstore.Open(ctx, out, key+bloscpack.Suffix, objstore.OpenOptions{})
	if err != nil {
		return absent(err)
	}
	f, err := bloscpack.Open(ctx, obj, bloscpack.Options{})
	if err != nil {
		return true, err
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-1]
	if f.Len() != int64(len(lines)) {
		return true, fmt.Errorf("%d items of %d", f.Len(), len(lines))
	}
	return true, f.Each(ctx, 0, f.Len(), func(i int64, p []byte) error {
		if !bytes.Equal(p, bytes.TrimSuffix(lines[i], []byte("\n"))) {
			return fmt.Errorf("item %d is another", i)
		}
		return nil
	})
}

// wave is a WAV of noise.
func wave(_ testing.TB, seed uint64, size int) []byte {
	p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 100, 0, 0, 0, 200, 0, 0, 0, 2, 0, 16, 0)
	size = size / 2 * 2
	p = binary.LittleEndian.AppendUint32(append(p, "data"...), uint32(size))
	return append(p, noise(seed, size)...)
}

func checkWave(ctx context.Context, out objstore.Bucket, key string, data []byte) (bool, error) {
	obj, err := objstore.Open(ctx, out, key+zoomcache.Suffix, objstore.OpenOptions{})
	if err != nil {
		return absent(err)
	}
	f, err := zoomcache.Open(ctx, obj, zoomcache.Options{})
	if err != nil {
		return true, err
	}
	data = data[44:]
	err = f.EachPacket(ctx, 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
		if p.Values.N*2 > len(data) {
			return errors.New("more samples than the upload has")
		}
		for i, v := range p.Values.I16[:p.Values.N] {
			if want := int16(binary.LittleEndian.Uint16(data[2*i:])); v != want {
				return fmt.Errorf("a sample is %d, not %d", v, want)
			}
		}
		data = data[2*p.Values.N:]
		return nil
	})
	if err == nil && len(data) > 0 {
		err = fmt.Errorf("%d samples are missing", len(data)/2)
	}
	return true, err
}

// TestChecks: the checks of this file find faults.
func TestChecks(t *testing.T) {
	t.Parallel()
	c := start(t, options{concurrency: 1})
	for _, k := range kinds() {
		data := k.data(t, 1, 100<<10)
		if there, err := k.check(t.Context(), c.out, k.key(0), data); there || err != nil {
			t.Errorf("%s: before: %t, %v", k.name, there, err)
		}
		c.put(t, k.key(0), data)
		if r, _, err := c.settled(k.key(0)); err != nil || r.failed {
			t.Fatalf("%s: %+v, %v", k.name, r, err)
		}
		if there, err := k.check(t.Context(), c.out, k.key(0), data); !there || err != nil {
			t.Errorf("%s: after: %t, %v", k.name, there, err)
		}
		for what, other := range map[string][]byte{"another": k.data(t, 2, 100<<10), "longer": k.data(t, 1, 200<<10)} {
			if _, err := k.check(t.Context(), c.out, k.key(0), other); err == nil {
				t.Errorf("%s: passes for %s upload", k.name, what)
			}
		}
	}
}
