package soak_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// endless is noise that is the same each time, for uploads that fit no memory.
type endless struct{ rng *rand.Rand }

func newEndless() endless { return endless{rand.New(rand.NewPCG(4, 4))} }

// Read fills p, whose length is a multiple of eight.
func (e endless) Read(p []byte) (int, error) {
	for i := 0; i+8 <= len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], e.rng.Uint64())
	}
	return len(p) / 8 * 8, nil
}

// expect is a writer that takes the bytes of want and nothing else.
type expect struct {
	want io.Reader
	buf  []byte
	n    int64
}

func (e *expect) Write(p []byte) (int, error) {
	for len(e.buf) < len(p) {
		block := make([]byte, 1<<20)
		n, err := e.want.Read(block)
		if err != nil {
			return 0, err
		}
		e.buf = append(e.buf, block[:n]...)
	}
	if !bytes.Equal(e.buf[:len(p)], p) {
		return 0, fmt.Errorf("other bytes than those of the upload after %d", e.n)
	}
	e.buf = e.buf[len(p):]
	e.n += int64(len(p))
	return len(p), nil
}

// lines is an endless reader of lines of JSON.
type lines struct {
	n   int
	buf []byte
}

func (l *lines) Read(p []byte) (int, error) {
	for len(l.buf) < len(p) {
		l.buf = append(l.buf, line(l.n)...)
		l.n++
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

func line(n int) []byte {
	return fmt.Appendf(nil, "{\"n\":%d,\"x\":\"%x\"}\n", n, noise(uint64(n), 1000))
}

// TestLargeUploads (docs/reliability.md, E4): uploads that are not archives. An array,
// lines and a series are larger than the memory of the worker.
func TestLargeUploads(t *testing.T) {
	apart(t)
	size := int64(scale(32<<20, 1<<30))
	for _, u := range []struct {
		key   string
		per   int64 // least bytes of a request
		data  func() io.Reader
		check func(t *testing.T, c *cloud, key string)
	}{
		{"b2nd/large.npy", 4 << 20, func() io.Reader {
			d, err := dtype.Parse("<i4")
			if err != nil {
				t.Fatal(err)
			}
			p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{size / 4096, 1024}})
			if err != nil {
				t.Fatal(err)
			}
			return io.MultiReader(bytes.NewReader(p), io.LimitReader(newEndless(), size))
		}, checkLargeArray},
		{"items/large.jsonl", perGet, func() io.Reader {
			n := int(size) / len(line(0))
			l := &lines{}
			var total int64
			for i := range n {
				total += int64(len(line(i)))
			}
			return io.LimitReader(l, total)
		}, checkLargeLines},
		{"zoom/large.wav", perGet, func() io.Reader {
			p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0, 100, 0, 0, 0, 200, 0, 0, 0, 2, 0, 16, 0)
			p = binary.LittleEndian.AppendUint32(append(p, "data"...), uint32(size))
			return io.MultiReader(bytes.NewReader(p), io.LimitReader(newEndless(), size))
		}, checkLargeSeries},
	} {
		t.Run(u.key, func(t *testing.T) {
			apart(t)
			c, how := startCaged(t)
			if _, err := objstore.Put(t.Context(), c.in, u.key, u.data(), objstore.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			r, _, err := c.settled(u.key)
			if err != nil || r.failed {
				t.Fatalf("%+v, %v", r, err)
			}
			counts, _, read := c.proxy.seen()
			most, gets := c.highest(t), counts[uploads+" GET"]
			u.check(t, c, u.key)
			if most > maxPeak || gets > read[uploads]/u.per+3 {
				t.Errorf("%d MiB of memory, %d GETs for %d bytes", most>>20, gets, read[uploads])
			}
			figure(t, "E4", fmt.Sprintf("%s of %.2f GB; 512 MB by %s, no disk", u.key, float64(size)/1e9, how),
				fmt.Sprintf("peak RSS %d MB, read back whole, %d GETs for %d MiB; %.1f s", most/1e6, gets, read[uploads]>>20, r.ms/1000),
				"<= 256 MB", most <= maxPeak)
		})
	}
}

func checkLargeArray(t *testing.T, c *cloud, key string) {
	t.Helper()
	obj, err := objstore.Open(t.Context(), c.out, key+".b2nd", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), obj, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &expect{want: newEndless()}
	if _, err := a.CopyTo(t.Context(), w, b2nd.Whole(a.Shape()), 0); err != nil {
		t.Fatal(err)
	}
	if want := a.Items() * 4; w.n != want || want < int64(scale(30<<20, 1<<30)) {
		t.Errorf("%d bytes of %d", w.n, want)
	}
}

func checkLargeLines(t *testing.T, c *cloud, key string) {
	t.Helper()
	obj, err := objstore.Open(t.Context(), c.out, key+bloscpack.Suffix, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := bloscpack.Open(t.Context(), obj, bloscpack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(scale(32<<20, 1<<30) / len(line(0))); f.Len() != want {
		t.Errorf("%d items of %d", f.Len(), want)
	}
	if err := f.Each(t.Context(), 0, f.Len(), func(i int64, p []byte) error {
		if want := line(int(i)); !bytes.Equal(p, want[:len(want)-1]) {
			return fmt.Errorf("item %d is another", i)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func checkLargeSeries(t *testing.T, c *cloud, key string) {
	t.Helper()
	obj, err := objstore.Open(t.Context(), c.out, key+zoomcache.Suffix, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomcache.Open(t.Context(), obj, zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := &expect{want: newEndless()}
	var buf []byte
	err = f.EachPacket(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
		buf = buf[:0]
		for _, v := range p.Values.I16[:p.Values.N] {
			buf = binary.LittleEndian.AppendUint16(buf, uint16(v))
		}
		_, err := w.Write(buf)
		return err
	})
	if want := int64(scale(32<<20, 1<<30)); err == nil && w.n != want {
		err = errors.New("samples are missing")
	}
	if err != nil {
		t.Error(err)
	}
}
