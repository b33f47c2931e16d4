package pack_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
)

// vast is a bucket with one object that is stored nowhere: pieces of it repeat.
type vast struct {
	key    string
	pieces []piece // in order of offset
	size   int64
	gets   atomic.Int64
}

type piece struct {
	off  int64
	data []byte
}

func (v *vast) add(p []byte) {
	v.pieces = append(v.pieces, piece{v.size, p})
	v.size += int64(len(p))
}

func (v *vast) Name() string { return "mem://vast" }

func (v *vast) info() objstore.Info {
	return objstore.Info{Key: v.key, Size: v.size, ETag: `"vast"`, Meta: map[string]string{}}
}

func (v *vast) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	v.gets.Add(1)
	if key != v.key {
		return nil, objstore.Info{}, objstore.ErrNotFound
	}
	from, to := o.Range.Resolve(v.size)
	return io.NopCloser(io.NewSectionReader(v, from, to-from)), v.info(), nil
}

func (v *vast) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].off > off }) - 1; n < len(p) && i < len(v.pieces); i++ {
		n += copy(p[n:], v.pieces[i].data[off+int64(n)-v.pieces[i].off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (v *vast) Head(context.Context, string) (objstore.Info, error) { return v.info(), nil }
func (v *vast) Delete(context.Context, string) error                { return objstore.ErrDenied }
func (v *vast) Create(context.Context, string, objstore.PutOptions) (objstore.Writer, error) {
	return nil, objstore.ErrDenied
}

func (v *vast) List(context.Context, string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) { yield(v.info(), nil) }
}

// sink is a bucket that keeps nothing but the sizes of what is written.
type sink struct {
	vast

	wrote atomic.Int64
	infos map[string]objstore.Info
	watch func() // at every write; nil: nobody
}

func (s *sink) Head(_ context.Context, key string) (objstore.Info, error) {
	if i, ok := s.infos[key]; ok {
		return i, nil
	}
	return objstore.Info{}, objstore.ErrNotFound
}

func (s *sink) Create(_ context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	return &drop{s: s, key: key, meta: o.Meta}, nil
}

type drop struct {
	s    *sink
	key  string
	meta map[string]string
	n    int64
}

func (d *drop) Write(p []byte) (int, error) {
	d.n += int64(len(p))
	d.s.wrote.Add(int64(len(p)))
	if d.s.watch != nil {
		d.s.watch()
	}
	return len(p), nil
}
func (d *drop) Patch(int64, []byte) error { return nil }
func (d *drop) Rehead(n int64, p []byte) error {
	if d.s.watch != nil {
		d.s.watch()
	}
	d.n += int64(len(p)) - n
	return nil
}
func (d *drop) Abort() {}
func (d *drop) Commit(context.Context) (objstore.Info, error) {
	i := objstore.Info{Key: d.key, Size: d.n, ETag: fmt.Sprintf(`"%d"`, d.n), Meta: d.meta}
	d.s.infos[d.key] = i
	return i, nil
}

// fat is a JPEG of n bytes: a real one and a tail, as cameras append.
func fat(tb testing.TB, n int) []byte {
	tb.Helper()
	p := picture(tb, 1)
	return append(p, make([]byte, max(0, n-len(p)))...)
}

// vastTar is a tar of n images of the given size, about n*size bytes.
func vastTar(tb testing.TB, n, size int) *vast {
	tb.Helper()
	v := &vast{key: "vast.tar"}
	img := fat(tb, size)
	pad := make([]byte, (512-len(img)%512)%512)
	for i := range n {
		var b bytes.Buffer
		if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: fmt.Sprintf("c%04d/f%06d.jpg", i/1000, i), Mode: 0o644, Size: int64(len(img))}); err != nil {
			tb.Fatal(err)
		}
		v.add(b.Bytes())
		v.add(img)
		v.add(pad)
	}
	v.add(make([]byte, 10<<10))
	return v
}

// vastZip is the same as a zip, whose writer believes to write it all.
func vastZip(tb testing.TB, n, size int) *vast {
	tb.Helper()
	v := &vast{key: "vast.zip"}
	img := fat(tb, size)
	w := zip.NewWriter(collector{v, img})
	for i := range n {
		e, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprintf("c%04d/f%06d.jpg", i/1000, i), Method: zip.Store,
			CRC32: crc32.ChecksumIEEE(img), CompressedSize64: uint64(len(img)), UncompressedSize64: uint64(len(img))})
		if err != nil {
			tb.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			tb.Fatal(err)
		}
		if _, err := e.Write(img); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return v
}

// collector keeps one copy of the image, whatever is written.
type collector struct {
	v   *vast
	img []byte
}

func (c collector) Write(p []byte) (int, error) {
	if len(p) == len(c.img) && &p[0] == &c.img[0] {
		c.v.add(c.img)
	} else {
		c.v.add(bytes.Clone(p))
	}
	return len(p), nil
}

// TestMemory packs half a gigabyte and more, and watches the heap: 256 MiB is the
// bound of a worker, whatever the upload. It also counts requests.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("packs two gigabytes")
	}
	for name, v := range map[string]*vast{
		"tar of many": vastTar(t, 90_000, 6<<10), "tar of large": vastTar(t, 12, 60<<20),
		"zip of many": vastZip(t, 90_000, 6<<10), "zip of large": vastZip(t, 12, 60<<20),
	} {
		t.Run(name, func(t *testing.T) {
			out := &sink{infos: map[string]objstore.Info{}}
			m := heaptest.Start()
			frames := 0
			o := pack.Options{Progress: func(int64, int64) {
				if frames++; frames%2000 == 1 || v.size/int64(len(v.pieces)) > 1<<20 {
					m.Look()
				}
			}}
			j := &pack.Job{Out: out, Options: o}
			infos, err := j.Run(t.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size})
			if err != nil || len(infos) != 2 {
				t.Fatal(infos, err)
			}
			t.Logf("%d MiB, %d requests, %d looks: %d MiB live, a heap of %d", v.size>>20, v.gets.Load(), m.Looks(), m.Live()>>20, m.Heap()>>20)
			if m.Looks() < 10 || m.Heap() > 200<<20 {
				t.Errorf("%d looks, %d MiB of heap", m.Looks(), m.Heap()>>20)
			}
			if most := v.size/(8<<20) + 5; v.gets.Load() > most {
				t.Errorf("%d requests for %d bytes, over %d", v.gets.Load(), v.size, most)
			}
		})
	}
}

// TestFolderMemory: an object of a folder is held once while it is read.
func TestFolderMemory(t *testing.T) { // alone: it counts what the process allocates
	racetest.Skip(t, racetest.Measures)
	in, _ := stores()
	const n, size = 100, 1 << 20
	want := map[string][]byte{}
	for i := range n {
		name := fmt.Sprintf("f/%d.jpg", i)
		want[name] = noise(size, i)
		put(t, in, name, want[name], nil)
	}
	src, err := pack.Prefix(t.Context(), in, "f/", pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	same := make([]byte, size)
	err = src.Each(t.Context(), func(f pack.File, r io.Reader) error {
		if _, err := io.ReadFull(r, same); err != nil || !bytes.Equal(same, want["f/"+f.Name]) {
			t.Errorf("%s: %v, or other bytes", f.Name, err)
		}
		return nil
	})
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; err != nil || got > n*size/2 {
		t.Errorf("%v, %d MiB were allocated to read %d", err, got>>20, n*size>>20)
	}
}

// failing breaks off with an error of the store, now and for good.
type failing struct {
	objstore.Bucket

	after int64
}

func (f *failing) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if o.Range.Off > f.after {
		return nil, objstore.Info{}, fmt.Errorf("get: %w", objstore.ErrThrottled)
	}
	return f.Bucket.Get(ctx, key, o)
}

// TestStoreErrorsStay: an upload is not corrupt because the store fails, in any
// container.
func TestStoreErrorsStay(t *testing.T) {
	t.Parallel()
	var fs []file
	for i := range 20 {
		fs = append(fs, file{fmt.Sprintf("c/%d.jpg", i), append(picture(t, i), noise(1<<20, i)...)})
	}
	loud := tarOf(t, fs)
	for name, data := range map[string][]byte{"a.tar": loud, "a.tar.gz": gz(t, loud), "a.tar.zst": zst(t, loud), "a.zip": zipOf(t, zip.Store, fs)} {
		in, out := stores()
		info := put(t, in, name, data, nil)
		f := &failing{in, 9 << 20}
		err := run(t, f, out, info, pack.Options{})
		if name == "a.zip" && errors.Is(err, objstore.ErrThrottled) {
			continue // the directory at the end is out of reach already
		}
		if !errors.Is(err, objstore.ErrThrottled) || strings.Contains(err.Error(), "corrupt") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// noise does not compress.
func noise(n, seed int) []byte {
	p := make([]byte, n)
	x := uint32(seed + 1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x >> 24)
	}
	return p
}

// BenchmarkPack is the job without a network: frames of 12.7 KB, as B3 counts.
func BenchmarkPack(b *testing.B) {
	for name, v := range map[string]*vast{"tar": vastTar(b, 20_000, 12_700), "zip": vastZip(b, 20_000, 12_700)} {
		b.Run("format="+name, func(b *testing.B) {
			b.SetBytes(v.size)
			b.ReportAllocs()
			for b.Loop() {
				j := &pack.Job{Out: &sink{infos: map[string]objstore.Info{}}}
				if _, err := j.Run(b.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}
