package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// varied returns chunk i of a version of a frame whose chunks vary in length; those of all
// versions take the same bytes.
func varied(p []byte, i int) []byte { return p[i*lostChunk:][:lostChunk-4*(i%7)] }

// variedFrame writes such a frame.
func variedFrame(tb testing.TB, version int, ix cframe.IndexChoice) []byte {
	tb.Helper()
	out := &output{}
	w, err := cframe.NewWriter(out, cframe.WriteOptions{ChunkSize: cframe.VaryingSizes, Index: ix,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}}})
	p := lostData(version)
	for i := range lostChunks {
		if err == nil {
			err = w.WriteChunk(varied(p, i))
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestManyVarying: of a frame whose chunks vary in length, too, the offsets come in pages: it is
// opened in one phase without them, and a chunk takes one more.
func TestManyVarying(t *testing.T) {
	t.Parallel()
	want := lostData(0)
	plain, inside := variedFrame(t, 0, cframe.NoIndex), variedFrame(t, 0, cframe.WithIndex)
	f, err := cframe.Open(t.Context(), reader(plain), cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := f.BuildIndex(t.Context(), "e", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		frame  []byte
		beside side
		bytes  int64
		phases int64
	}{
		"none":   {plain, nil, 110_000, 3},
		"inside": {inside, nil, 40_000, 2},
		"beside": {plain, func(context.Context) (rangeio.Reader, string, error) { return reader(made), "e", nil }, 40_000, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var count objstore.Counter
				x := &crowd{bytes: c.frame}
				f := x.open(t, leanOpen, &count, c.beside)
				if f.Chunks() != lostChunks {
					t.Fatalf("%d chunks", f.Chunks())
				}
				got, err := f.AppendChunk(t.Context(), nil, 5000)
				if err != nil || !bytes.Equal(got, varied(want, 5000)) {
					t.Errorf("another chunk, %v", err)
				}
				if s := count.Stats(); s.Phases > c.phases || s.Bytes > c.bytes {
					t.Errorf("%+v", s)
				}
				if name == "inside" {
					checkVaried(t, f, want)
				}
			})
		})
	}
}

// checkVaried reads a frame in several ways.
func checkVaried(t *testing.T, f *cframe.Frame, want []byte) {
	t.Helper()
	all, at := []byte(nil), int64(0)
	for i := range lostChunks {
		if i == 3000 {
			at = int64(len(all))
		}
		all = append(all, varied(want, i)...)
	}
	got, err := f.AppendStored(t.Context(), nil, 4321)
	if err == nil {
		got, err = blosc.DecodeOptions{}.AppendDecoded(nil, got)
	}
	if err != nil || !bytes.Equal(got, varied(want, 4321)) {
		t.Errorf("stored: another chunk, %v", err)
	}
	err = f.Each(t.Context(), 17, 20, func(i, _ int, p []byte) error {
		if !bytes.Equal(p, varied(want, i)) {
			t.Errorf("chunk %d: other bytes", i)
		}
		return nil
	})
	off, n, err2 := f.ChunkBytes(t.Context(), 3000, 3003)
	got = make([]byte, max(n, 0))
	err3 := f.ReadBytes(t.Context(), got, off)
	if err := errors.Join(err, err2, err3); err != nil || off != at || !bytes.Equal(got, all[at:][:len(got)]) {
		t.Errorf("bytes at %d, want %d; %v", off, at, err)
	}
	got = make([]byte, len(all))
	if err := f.ReadBytes(t.Context(), got, 0); err != nil || !bytes.Equal(got, all) {
		t.Errorf("all: %v", err)
	}
	if r, err := f.Verify(t.Context(), nil); err != nil || r.Chunks != lostChunks {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestManyVaryingFaults: the fault matrix over such frames.
func TestManyVaryingFaults(t *testing.T) {
	t.Parallel()
	frames, content := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		content[v], frames[v] = lostData(v), variedFrame(t, v, cframe.WithIndex)
	}
	m := flawedtest.Matrix[*cframe.Frame]{Object: func(_ string, version int) []byte { return frames[version] }, Content: content,
		Open: openPaged, Tail: true, Patient: "chunk", Readings: map[string]flawedtest.Reading[*cframe.Frame]{
			"chunk": lostReads["chunk"],
			"chunks": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
				var mu sync.Mutex
				got := map[int][]byte{}
				list := []int{17 * 7, 5000}
				err := f.EachConcurrent(ctx, []cframe.Want{{Chunk: list[0]}, {Chunk: list[1]}}, func(want, _ int, p []byte) error {
					mu.Lock()
					defer mu.Unlock()
					got[list[want]*lostChunk] = bytes.Clone(p)
					return nil
				})
				return got, err
			},
		}}
	m.Run(t)
}
