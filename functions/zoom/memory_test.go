package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// vast is a bucket with one object that is stored nowhere: a head, and a body that
// repeats.
type vast struct {
	key        string
	head, body []byte
	size       int64
	gets       atomic.Int64
	wrote      int64
	end        []byte // the last bytes that were written, if there is room for any
	watch      func()
}

// keepEnd is how many of the written bytes are kept: more than a directory takes.
const keepEnd = 512 << 10

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
	if off < int64(len(v.head)) {
		n = copy(p, v.head[off:])
	}
	for n < len(p) && off+int64(n) < v.size {
		at := (off + int64(n) - int64(len(v.head))) % int64(len(v.body))
		n += copy(p[n:min(int64(len(p)), v.size-off)], v.body[at:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (v *vast) Head(_ context.Context, key string) (objstore.Info, error) {
	if key == v.key {
		return v.info(), nil
	}
	return objstore.Info{}, objstore.ErrNotFound
}
func (v *vast) Delete(context.Context, string) error { return objstore.ErrDenied }
func (v *vast) List(context.Context, string) iter.Seq2[objstore.Info, error] {
	return func(func(objstore.Info, error) bool) {}
}

func (v *vast) Create(context.Context, string, objstore.PutOptions) (objstore.Writer, error) {
	return drop{v}, nil
}

// drop keeps the length of what is written.
type drop struct{ v *vast }

func (d drop) Write(p []byte) (int, error) {
	d.v.wrote += int64(len(p))
	if d.v.end != nil {
		if d.v.end = append(d.v.end, p[max(len(p)-keepEnd, 0):]...); len(d.v.end) > 2*keepEnd {
			d.v.end = append(d.v.end[:0], d.v.end[len(d.v.end)-keepEnd:]...)
		}
	}
	d.v.watch()
	return len(p), nil
}
func (drop) Patch(int64, []byte) error  { return nil }
func (drop) Rehead(int64, []byte) error { return nil }
func (drop) Abort()                     {}
func (d drop) Commit(context.Context) (objstore.Info, error) {
	return objstore.Info{Key: "out", Size: d.v.wrote}, nil
}

// TestMemory makes files of several times the bound of memory, and one of an RF64 of more
// than four gigabytes, and watches the heap, which may grow to one and a half times the
// live memory (heaptest). The bound is 64 MiB, with the index and without; the index of the
// RF64 is the most that lives. Each byte is read once, in requests of 8 MiB; a CSV is read
// twice.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads gigabytes")
	}
	le := binary.LittleEndian
	size := int64(256 << 20)
	vastRF64 := int64(4<<30 + 16)
	racetest.Skip(t, racetest.Measures)
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(uint32(i) * 2654435761 >> 24)
	}
	var floats []byte
	for i := range 1 << 17 {
		floats = le.AppendUint64(floats, math.Float64bits(math.Sin(float64(i)/900)))
	}
	lines := strings.Repeat("12345.678,1234567,-0.333333333,7\n", 1<<14)
	header := func(typ string, fortran bool, shape ...int64) []byte {
		d, err := dtype.Parse(typ)
		if err != nil {
			t.Fatal(err)
		}
		p, err := npy.AppendHeader(nil, npy.Header{DType: d, Fortran: fortran, Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	data := func(n uint32) []byte { return append([]byte("data"), packed(le, n)...) }
	for _, c := range []struct {
		name       string
		head, body []byte
		n          int64
		reads      int64 // of each byte
	}{
		{"wav", wav("RIFF", form(le, 1, 2, 4, 16), data(uint32(size))), noise, size, 1},
		{"RF64", wav("RF64", ds64(uint64(vastRF64)), form(le, 3, 1, 8, 64), data(math.MaxUint32)), floats, vastRF64, 1},
		{"npy", header("<i4", false, size/4/7, 7), noise, size / 28 * 28, 1},
		{"npy in Fortran order", header("<f8", true, size/8/5, 5), floats, size / 40 * 40, 1},
		{"npy of many columns", header("<i2", false, size/2/zoom.MaxTracks/4, zoom.MaxTracks), noise, size / 4, 1},
		{"npy of many columns with an index", header("<i2", false, size/2/512/4, 512), noise, size / 4, 1},
		{"csv", []byte("time,a,b,c\n"), []byte(lines), int64(len(lines)) * (size / 8 / int64(len(lines))), 2},
	} {
		for _, bare := range []bool{true, false} {
			if bare && c.n == vastRF64 {
				continue // what is long grows nothing but an index
			}
			t.Run(fmt.Sprintf("%s bare=%t", c.name, bare), func(t *testing.T) {
				v := &vast{key: "vast", head: c.head, body: c.body, size: int64(len(c.head)) + c.n}
				if c.reads > 1 {
					v.key = "vast.csv"
				}
				remember(t, v, bare, c.reads)
			})
		}
	}
}

// TestMemoryOfADay: a day at 1 kHz with noise in every bit keeps its finest bins, of
// 200 bytes, in the bound of memory.
func TestMemoryOfADay(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a gigabyte")
	}
	le := binary.LittleEndian
	samples := int64(24 * 3600 * 1000)
	racetest.Skip(t, racetest.Measures)
	r := rand.New(rand.NewPCG(5, 6))
	var i16, f64 []byte
	for range 1 << 19 {
		x := 1000 * r.NormFloat64()
		i16 = le.AppendUint16(i16, uint16(int16(x)))
		f64 = le.AppendUint64(f64, math.Float64bits(x))
	}
	for _, c := range []struct {
		name string
		tag  uint16
		size uint16
		body []byte
	}{{"i16", 1, 2, i16}, {"f64", 3, 8, f64}} {
		t.Run(c.name, func(t *testing.T) {
			size := int64(c.size)
			n := samples * size
			head := wav("RIFF", form(le, c.tag, 1, c.size, 8*c.size), append([]byte("data"), packed(le, uint32(n))...))
			v := &vast{key: "vast", head: head, body: c.body, size: int64(len(head)) + n}
			v.end = make([]byte, 0, 4*keepEnd) // of the test, not of the job
			remember(t, v, false, 1)
			bins := finest(t, v)
			if want := (samples + 200/size - 1) / (200 / size); bins < want {
				t.Errorf("%d bins of %d samples, of %d", bins, 200/size, want)
			}
		})
	}
}

// finest counts the bins of 200 bytes that the index of what was written has.
func finest(t *testing.T, v *vast) (n int64) {
	t.Helper()
	ix, err := index.Open(t.Context(), rangeio.FromReaderAt(tail{v}, v.wrote), index.Options{Gap: zoomcache.BlockHeaderLen})
	if err != nil {
		t.Fatal(err)
	}
	least := int64(math.MaxInt64)
	for _, s := range ix.Sections {
		if s.Kind == sectionBins && s.Level < least {
			least, n = s.Level, 0
			for _, p := range s.Pages {
				n += p.Count
			}
		}
	}
	t.Logf("%d bins of %d samples; %d parts of the index lie between blocks", n, least, len(ix.Extents()))
	return n
}

// sectionBins is the kind of the sections of bins: docs/formats/zoomcache.md.
const sectionBins = 3

// tail reads the end of what was written.
type tail struct{ v *vast }

func (x tail) ReadAt(p []byte, off int64) (int, error) {
	at := off - (x.v.wrote - int64(len(x.v.end)))
	if at < 0 {
		return 0, fmt.Errorf("byte %d is not kept", off)
	}
	return copy(p, x.v.end[at:]), nil
}

// remember makes the file of a vast object and holds the heap to its bound.
func remember(t *testing.T, v *vast, bare bool, reads int64) {
	t.Helper()
	m := heaptest.Start()
	writes := 0
	v.watch = func() {
		if writes++; writes%64 == 0 {
			m.Look()
		}
	}
	samples := int64(0)
	j := &zoom.Job{Out: v, Write: zoom.WriteOptions{NoIndex: bare}, Done: func(w zoom.Written) { samples = w.Samples }, Warn: func(_, text string) { t.Error(text) }}
	infos, err := j.Run(t.Context(), v, functions.Upload{Bucket: "b", Key: v.key, ETag: `"vast"`, Sequencer: "1", Size: v.size})
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	m.Look()
	t.Logf("%d MiB to %d, %d samples, %d requests, %d looks: %d MiB live, a heap of %d", v.size>>20, v.wrote>>20, samples, v.gets.Load(), m.Looks(), m.Live()>>20, m.Heap()>>20)
	if m.Heap() > 64<<20 {
		t.Errorf("%d MiB of heap", m.Heap()>>20)
	}
	most := reads*(v.size/(8<<20)) + 8
	if bytes.Contains(v.head, []byte("'fortran_order': True")) {
		most = v.size/(2<<20) + 16 // a piece of each column at a time
	}
	if v.gets.Load() > most {
		t.Errorf("%d requests for %d bytes, over %d", v.gets.Load(), v.size, most)
	}
}

// TestEndlessLine: a line of 2 GB ends reading after its first MiB, in the header or
// below it, with an error that names it.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	for head, want := range map[string]string{"": "csv: line 1 at 0: longer than", "time,a\n1,2\n": "csv: line 3 at 11: longer than", "time,a\n1,\"": "csv: line 2 at 7: longer than"} {
		v := &vast{key: "x.csv", head: []byte(head), body: []byte("1234567,"), size: 2 << 30}
		obj, err := objstore.Open(t.Context(), v, v.key, objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = zoom.Open(t.Context(), obj, zoom.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || v.gets.Load() > 5 {
			t.Errorf("%q: %v in %d requests", head, err, v.gets.Load())
		}
	}
}
