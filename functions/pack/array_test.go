package pack_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A cube is an array in both orders.
type cube struct {
	c, f       []byte // items in C and Fortran order
	npyC, npyF []byte
	header     npy.Header
}

// newCube makes an array of int32 that count in C order.
func newCube(tb testing.TB, shape ...int64) cube {
	tb.Helper()
	d, err := dtype.Parse("<i4")
	if err != nil {
		tb.Fatal(err)
	}
	x := cube{header: npy.Header{DType: d, Shape: shape}}
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	x.c, x.f = make([]byte, 4*n), make([]byte, 4*n)
	at := make([]int64, len(shape))
	for i := range n {
		v := uint32(i) * 7
		binary.LittleEndian.PutUint32(x.c[4*i:], v)
		off, stride := int64(0), int64(1)
		for k, s := range shape {
			off += at[k] * stride
			stride *= s
		}
		binary.LittleEndian.PutUint32(x.f[4*off:], v)
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	x.npyC, x.npyF = append(npyHeader(tb, x.header, false), x.c...), append(npyHeader(tb, x.header, true), x.f...)
	return x
}

func npyHeader(tb testing.TB, h npy.Header, fortran bool) []byte {
	tb.Helper()
	h.Fortran = fortran
	p, err := npy.AppendHeader(nil, h)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func npz(tb testing.TB, method uint16, members map[string][]byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(keysOf(members)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(members[name]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func keysOf(m map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// arrayJob is a job between two buckets in memory.
type arrayJob struct {
	in, out objstore.Bucket
	job     *pack.Job
}

func newArrayJob() arrayJob {
	out := memstore.New(memstore.Config{Name: "datasets"})
	return arrayJob{in: memstore.New(memstore.Config{Name: "uploads"}), out: out, job: &pack.Job{Out: out, Encode: pack.DefaultEncode()}}
}

func (a arrayJob) put(t *testing.T, key string, p []byte) functions.Upload {
	t.Helper()
	info, err := objstore.Put(t.Context(), a.in, key, bytes.NewReader(p), objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return functions.Upload{Bucket: "uploads", Key: key, ETag: info.ETag, Size: info.Size}
}

// want holds an output against the items in C order.
func (a arrayJob) want(t *testing.T, key string, items []byte) *b2nd.Array {
	t.Helper()
	obj, err := objstore.Open(t.Context(), a.out, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	arr, err := b2nd.Open(t.Context(), obj, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := arr.CopyTo(t.Context(), &got, b2nd.Whole(arr.Shape()), 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), items) {
		t.Errorf("%s: other items (%d bytes, want %d)", key, got.Len(), len(items))
	}
	return arr
}

// TestArrays: every way that arrays come in becomes the same array.
func TestArrays(t *testing.T) {
	t.Parallel()
	x := newCube(t, 50, 60, 70)
	small := newCube(t, 3)
	scalar := newCube(t)
	empty := newCube(t, 0, 4)
	for name, c := range map[string]struct {
		key  string
		data []byte
		want map[string][]byte
	}{
		"npy":             {"a/x.npy", x.npyC, map[string][]byte{"a/x.npy.b2nd": x.c}},
		"fortran":         {"x.npy", x.npyF, map[string][]byte{"x.npy.b2nd": x.c}},
		"by content":      {"x.bin", x.npyC, map[string][]byte{"x.bin.b2nd": x.c}},
		"scalar":          {"x.npy", scalar.npyC, map[string][]byte{"x.npy.b2nd": scalar.c}},
		"empty":           {"x.npy", empty.npyC, map[string][]byte{"x.npy.b2nd": nil}},
		"npz":             {"x.npz", npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "b/c.npy": small.npyC}), map[string][]byte{"x.npz/a.b2nd": x.c, "x.npz/b/c.b2nd": small.c}},
		"compressed":      {"x.npz", npz(t, zip.Deflate, map[string][]byte{"a.npy": x.npyC, "f.npy": x.npyF}), map[string][]byte{"x.npz/a.b2nd": x.c, "x.npz/f.b2nd": x.c}},
		"renamed":         {"x.zip", npz(t, zip.Deflate, map[string][]byte{"a.npy": small.npyC}), map[string][]byte{"x.zip/a.b2nd": small.c}},
		"more bytes":      {"x.npy", append(bytes.Clone(small.npyC), 1, 2, 3), map[string][]byte{"x.npy.b2nd": small.c}},
		"fortran, stored": {"x.npz", npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "f.npy": x.npyF}), map[string][]byte{"x.npz/a.b2nd": x.c, "x.npz/f.b2nd": x.c}},
		"junk":            {"x.npz", npz(t, zip.Store, map[string][]byte{"a.npy": small.npyC, "b/.DS_Store": {1}}), map[string][]byte{"x.npz/a.b2nd": small.c}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArrayJob()
			u := a.put(t, c.key, c.data)
			infos, err := a.job.Run(t.Context(), a.in, u)
			if err != nil || len(infos) != len(c.want) {
				t.Fatalf("%v, %v", infos, err)
			}
			for key, items := range c.want {
				arr := a.want(t, key, items)
				names := []string{"farread"}
				if name == "fortran" || strings.HasSuffix(key, "/f.b2nd") {
					names = append(names, pack.OrderLayer)
				}
				var got []string
				layers, err := arr.Frame().VLMetalayers(t.Context())
				for _, l := range layers {
					got = append(got, l.Name)
				}
				slices.Sort(got)
				if err != nil || !slices.Equal(got, names) {
					t.Errorf("%s: vlmetalayers %v, %v", key, got, err)
				}
			}
			if again, err := a.job.Run(t.Context(), a.in, u); err != nil || again != nil {
				t.Errorf("again: %v, %v", again, err)
			}
		})
	}
}

// TestRawWithNote: data and note make an array once both exist, in either order.
// Another note makes another array.
func TestRawWithNote(t *testing.T) {
	t.Parallel()
	x := newCube(t, 20, 30)
	note := func(order string, shape ...int64) []byte {
		return fmt.Appendf(nil, `{"dtype": "<i4", "shape": %s, "order": %q, "offset": 16}`, strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), order)
	}
	data := append(make([]byte, 16), x.f...)
	for _, dataFirst := range []bool{true, false} {
		a := newArrayJob()
		a.job.Format = "b2nd"
		var first, last functions.Upload
		if dataFirst {
			first = a.put(t, "g/x.raw", data)
			if _, err := a.job.Run(t.Context(), a.in, first); !errors.Is(err, functions.ErrSkip) {
				t.Fatalf("data alone: %v", err)
			}
			last = a.put(t, "g/x.raw.json", note("F", 20, 30))
		} else {
			first = a.put(t, "g/x.raw.json", note("F", 20, 30))
			if _, err := a.job.Run(t.Context(), a.in, first); !errors.Is(err, functions.ErrSkip) {
				t.Fatalf("a note alone: %v", err)
			}
			last = a.put(t, "g/x.raw", data)
		}
		if infos, err := a.job.Run(t.Context(), a.in, last); err != nil || len(infos) != 1 {
			t.Fatalf("%v, %v", infos, err)
		}
		a.want(t, "g/x.raw.b2nd", x.c)
		if infos, err := a.job.Run(t.Context(), a.in, first); err != nil || infos != nil {
			t.Errorf("the first event again: %v, %v", infos, err)
		}
		// The same bytes read as a line.
		if infos, err := a.job.Run(t.Context(), a.in, a.put(t, "g/x.raw.json", note("C", 600))); err != nil || len(infos) != 1 {
			t.Fatalf("another note: %v, %v", infos, err)
		}
		a.want(t, "g/x.raw.b2nd", x.f)
		if _, err := a.job.Run(t.Context(), a.in, a.put(t, "g/x.raw.json", note("C", 601))); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("a note of another size: %v", err)
		}
	}
}

// TestNoteReplaced: if a note was replaced after a worker read it, the worker writes
// nothing.
func TestNoteReplaced(t *testing.T) {
	t.Parallel()
	x := newCube(t, 20, 30)
	a := newArrayJob()
	u := a.put(t, "x.raw", x.c)
	a.put(t, "x.raw.json", []byte(`{"dtype":"<i4","shape":[20,30]}`))
	heads := 0
	in := &onHead{Bucket: a.in, f: func(key string) {
		if heads++; key == "x.raw.json" && heads == 1 {
			a.put(t, key, []byte(`{"dtype":"<i4","shape":[600]}`))
		}
	}}
	if _, err := a.job.Run(t.Context(), in, u); !errors.Is(err, objstore.ErrUnavailable) {
		t.Fatalf("%v, want one to be tried again", err)
	}
	if _, err := a.job.Run(t.Context(), in, u); err != nil {
		t.Fatal(err)
	}
	if arr := a.want(t, "x.raw.b2nd", x.c); len(arr.Shape()) != 1 {
		t.Errorf("shape %v", arr.Shape())
	}
}

// onHead calls f before each Head.
type onHead struct {
	objstore.Bucket
	f func(key string)
}

func (b *onHead) Head(ctx context.Context, key string) (objstore.Info, error) {
	// The upload has no sequencer, so that it is looked up, too.
	if strings.HasSuffix(key, ".json") {
		b.f(key)
	}
	return b.Bucket.Head(ctx, key)
}

// TestBadArrays: the error says what is wrong with an upload, and nothing is published.
func TestBadArrays(t *testing.T) {
	t.Parallel()
	x := newCube(t, 5, 6)
	object := bytes.Replace(x.npyC, []byte("'<i4'"), []byte("'|O' "), 1)
	badCRC := npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC})
	badCRC[bytes.Index(badCRC, x.c)+40] ^= 1
	for name, c := range map[string]struct {
		key    string
		format string
		data   []byte
		want   error
	}{
		"cut":                 {"x.npy", "", x.npyC[:len(x.npyC)-1], formats.ErrCorrupt},
		"cut header":          {"x.npy", "", x.npyC[:40], formats.ErrCorrupt},
		"objects":             {"x.npy", "", object, formats.ErrUnsupported},
		"not a member":        {"x.npz", "", npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "b.txt": []byte("b")}), formats.ErrUnsupported},
		"crc":                 {"x.npz", "", badCRC, formats.ErrCorrupt},
		"escape":              {"x.npz", "", npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC, "b/../../c.npy": x.npyC}), formats.ErrCorrupt},
		"no name":             {"x.npz", "", npz(t, zip.Store, map[string][]byte{".npy": x.npyC}), formats.ErrUnsupported},
		"no name in a folder": {"x.npz", "", npz(t, zip.Store, map[string][]byte{"a/.npy": x.npyC}), formats.ErrUnsupported},
		"wanted gulp":         {"x.npy", "gulp", x.npyC, formats.ErrUnsupported},
		"raw of a gulp":       {"x.raw.json", "gulp", []byte(`{"dtype":"<i4","shape":[3]}`), formats.ErrUnsupported},
		"no npy":              {"x.npy", "b2nd", []byte("some bytes"), formats.ErrUnsupported},
		"no npz":              {"x.npz", "b2nd", []byte("some bytes"), formats.ErrUnsupported},
		"bad note of a b2nd":  {"x.raw.json", "b2nd", []byte(`{"dtype":"<i4"}`), formats.ErrCorrupt},
		"wanted b2nd":         {"x.tar", "b2nd", plainBytes(), formats.ErrUnsupported},
		"nothing":             {"x.npy", "", []byte("some bytes"), formats.ErrUnsupported},
		"nothing of a gulp":   {"x.bin", "gulp", []byte("some bytes"), formats.ErrUnsupported},
		"bad note of a gulp":  {"x.raw.json", "gulp", []byte(`{"dtype":"<i4"}`), formats.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newArrayJob()
			a.job.Format = c.format
			_, err := a.job.Run(t.Context(), a.in, a.put(t, c.key, c.data))
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			for info, err := range a.out.List(t.Context(), "") {
				t.Errorf("%s is there, %v", info.Key, err)
			}
		})
	}
}

func plainBytes() []byte {
	return bytes.Repeat([]byte{'x'}, 600)
}

func TestParseCodec(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{"": true, "zstd": true, "zstd-9": true, "lz4-0": true, "lz4hc": true, "zip": false, "zstd-": false, "zstd-10": false, "zstd--1": false, "snappy": false} {
		if _, err := pack.ParseCodec(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestArrayProgress: the bytes of progress add up, on each way of reading.
func TestArrayProgress(t *testing.T) {
	t.Parallel()
	x := newCube(t, 40, 50, 60)
	r := rand.New(rand.NewPCG(1, 2))
	for name, p := range map[string][]byte{"c": x.npyC, "f": x.npyF, "z": npz(t, zip.Deflate, map[string][]byte{"a.npy": x.npyC})} {
		a := newArrayJob()
		a.put(t, name, p)
		obj, err := objstore.Open(t.Context(), a.in, name, objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := pack.Arrays(t.Context(), obj, pack.ArrayOptions{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v, %v", name, list, err)
		}
		w, err := a.out.Create(t.Context(), "o", objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		most := make(chan int64, 1000)
		o := pack.ArrayWrite{Progress: func(done, _ int64) { most <- done }, ChunkShape: []int{20, 25, 1 + r.IntN(60)}, BlockShape: []int{5, 5, 1}}
		if name == "z" {
			o.ChunkShape = []int{20, 50, 60} // a stream wants whole rows
		}
		if err := list[0].Write(t.Context(), w, o); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		close(most)
		top := int64(0)
		for n := range most {
			top = max(top, n)
		}
		if top != int64(len(x.c)) || list[0].NBytes != top {
			t.Errorf("%s: progress to %d of %d", name, top, list[0].NBytes)
		}
		a.want(t, "o", x.c)
	}
}

// TestNoteOfArray: a note beside a .npy is ignored, since the .npy itself tells its
// type and shape.
func TestNoteOfArray(t *testing.T) {
	t.Parallel()
	x := newCube(t, 5, 6)
	for key, data := range map[string][]byte{"x.npy": x.npyC, "x.npz": npz(t, zip.Store, map[string][]byte{"a.npy": x.npyC})} {
		a := newArrayJob()
		a.put(t, key, data)
		if _, err := a.job.Run(t.Context(), a.in, a.put(t, key+".json", []byte(`{"dtype":"<u1","shape":[7]}`))); !errors.Is(err, functions.ErrSkip) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestRawLikeArchive: under a rule for arrays raw data may begin like anything.
func TestRawLikeArchive(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"gzip": "\x1f\x8b\x08\x00", "zip": "PK\x03\x04", "zstd": "\x28\xb5\x2f\xfd", "jpeg": "\xff\xd8\xff\xe0"} {
		a := newArrayJob()
		a.job.Format = "b2nd"
		data := append([]byte(head), make([]byte, 96)...)
		u := a.put(t, "x.raw", data)
		if _, err := a.job.Run(t.Context(), a.in, u); err == nil {
			t.Errorf("%s: packed without a note", name)
		}
		note := a.put(t, "x.raw.json", []byte(`{"dtype":"<i4","shape":[25]}`))
		for _, u := range []functions.Upload{note, u} {
			if _, err := a.job.Run(t.Context(), a.in, u); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		a.want(t, "x.raw.b2nd", data)
	}
}

// TestMembersReadOnce: packing a .npz of many members reads each byte about once,
// and for their headers no more than these need.
func TestMembersReadOnce(t *testing.T) {
	t.Parallel()
	x := newCube(t, 64, 64, 64) // 1 MiB
	const n = 24
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprintf("m%02d.npy", i)] = append(bytes.Clone(x.npyC), noise(i, i)...)
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		a := newArrayJob()
		u := a.put(t, "x.npz", npz(t, method, files))
		var c objstore.Counter
		in := objstore.Chain(a.in, objstore.Count(&c))
		obj, err := objstore.Open(t.Context(), in, u.Key, objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := pack.Arrays(t.Context(), obj, pack.ArrayOptions{}); err != nil || len(list) != n {
			t.Fatalf("%d arrays, %v", len(list), err)
		}
		if s := c.Stats(); s.Bytes > n*3*(64<<10)+200<<10 || s.Requests > 3*n+3 {
			t.Errorf("method %d: headers took %d requests, %d bytes", method, s.Requests, s.Bytes)
		}
		before := c.Stats()
		if infos, err := a.job.Run(t.Context(), in, u); err != nil || len(infos) != n {
			t.Fatalf("%d outputs, %v", len(infos), err)
		}
		s := c.Stats()
		if got, most := s.Bytes-before.Bytes, 2*u.Size+n*3*(64<<10)+n*(64<<10); got > most {
			t.Errorf("method %d: %d bytes received of an archive of %d, over %d", method, got, u.Size, most)
		}
	}
}

// TestZeros: arrays of zeros compress a thousand to one, honestly.
func TestZeros(t *testing.T) {
	t.Parallel()
	x := newCube(t)
	h := x.header
	h.Shape = []int64{10 << 20}
	items := make([]byte, 40<<20)
	a := newArrayJob()
	u := a.put(t, "x.npz", npz(t, zip.Deflate, map[string][]byte{"a.npy": append(npyHeader(t, h, false), items...)}))
	if u.Size > int64(len(items))/500 {
		t.Fatalf("%d bytes", u.Size)
	}
	if _, err := a.job.Run(t.Context(), a.in, u); err != nil {
		t.Fatal(err)
	}
	a.want(t, "x.npz/a.b2nd", items)
}
