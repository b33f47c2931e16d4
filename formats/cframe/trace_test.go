package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/rangeio"
)

// TestTraces: what opening and reading ask for.
func TestTraces(t *testing.T) {
	var tr formattest.Trace
	traced := func(name string, p []byte, o cframe.Options) *cframe.Frame {
		f, err := cframe.Open(t.Context(), tr.Wrap("frame", reader(p)), o)
		if err != nil {
			t.Fatal(err)
		}
		tr.Step("open "+name, fmt.Sprintf("%d chunks, header of %d bytes", f.Chunks(), f.Info().HeaderLen))
		return f
	}
	read := func(what string, f *cframe.Frame, wants []cframe.Want) {
		got, err := collect(t.Context(), f, wants)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for i := range wants {
			keys := make([]int, 0, len(got))
			for k := range got {
				if k[0] == i {
					keys = append(keys, k[1])
				}
			}
			slices.Sort(keys)
			for _, k := range keys {
				all = append(all, got[[2]int{i, k}]...)
			}
		}
		tr.Step(what, fmt.Sprintf("%d blocks, sha256 %.16s", len(got), digest(all)))
		q, err := f.ExplainConcurrent(t.Context(), wants)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, r := range q {
			about := ""
			if r.Estimated {
				about = "about "
			}
			notes = append(notes, fmt.Sprintf("explained: phase %d, %s%d+%d, %s", r.Phase, about, r.Off, r.Len, r.Why))
		}
		tr.Step("the same explained", notes...)
	}

	f := traced("a small frame", load(t, "cframe/metalayers.b2frame"), cframe.Options{})
	read("all chunks of it", f, []cframe.Want{{Chunk: 0}, {Chunk: 1}, {Chunk: 2}, {Chunk: 3}, {Chunk: 4}})

	large := load(t, "cframe/many_tiny.b2frame") // 5 000 chunks
	f = traced("a large frame", large, cframe.Options{})
	if _, err := f.VLMetalayers(t.Context()); err != nil {
		t.Fatal(err)
	}
	tr.Step("its vlmetalayers, from what open read")
	read("a chunk of it", f, []cframe.Want{{Chunk: 77}})
	traced("the same, with a tail that is too short", large, cframe.Options{Tail: 1000})
	traced("the same, with bytes after it", append(bytes.Clone(large), make([]byte, 100_000)...), cframe.Options{})

	long := longHeader(t)
	traced("a header of 30 KB before chunks of 200 KB", long, cframe.Options{})

	delta := load(t, "cframe/delta_multi.b2frame")
	f = traced("blocks that need the first", delta, cframe.Options{Policy: starts})
	read("blocks 0, 3 and 4 of chunk 1", f, []cframe.Want{{Chunk: 1, Blocks: []int{0, 3, 4}}})
	read("block 13 of chunk 0", f, []cframe.Want{{Chunk: 0, Blocks: []int{13}}})
	f = traced("blocks that need a dictionary", load(t, "cframe/dict_zstd.b2frame"), cframe.Options{Policy: starts})
	read("block 9 of chunk 1", f, []cframe.Want{{Chunk: 1, Blocks: []int{9}}})

	vary := load(t, "upstream/varchunks-lz4-3.0.0.b2frame")
	f = traced("chunks that vary", vary, cframe.Options{})
	for range 2 {
		if err := f.ReadBytes(t.Context(), make([]byte, 700), 900); err != nil {
			t.Fatal(err)
		}
		tr.Step("bytes over two of them, the first time with all headers")
	}
	traceSparse(t, &tr)
	tr.Golden(t, filepath.Join("testdata", "read.trace"))
}

func traceSparse(t *testing.T, tr *formattest.Trace) {
	t.Helper()
	s := loadSet(t, "cframe/sparse_plain.b2dir")
	s.wrap = tr.Wrap
	f, err := cframe.OpenSet(t.Context(), s, cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr.Step("open a sparse frame")
	if err := f.ReadBytes(t.Context(), make([]byte, 100), 3950); err != nil {
		t.Fatal(err)
	}
	tr.Step("bytes over two of its chunks")
}

// longHeader is a frame whose header and offsets are in neither of the first
// reads.
func longHeader(t *testing.T) []byte {
	t.Helper()
	var o repeated
	w, err := cframe.NewWriter(&o, cframe.WriteOptions{Metalayers: []cframe.Metalayer{{Name: "long", Data: make([]byte, 30_000)}}})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 200_000)
	for i := range p {
		p[i] = byte(i * i >> 7)
	}
	if err := errors.Join(w.WriteChunk(p), w.WriteChunk(p), w.SetVLMetalayer("v", p[:80_000]), w.Close()); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, o.size)
	if _, err := o.ReadAt(out, 0); err != nil {
		t.Fatal(err)
	}
	return out
}

// A cutting reader fails every read after the first n.
type cutting struct {
	rangeio.Reader
	left *int
}

var errCut = errors.New("cut")

func (c cutting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if *c.left--; *c.left < 0 {
		return errCut
	}
	return c.Reader.ReadRanges(ctx, spans)
}

func (c cutting) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if *c.left--; *c.left < 0 {
		return errCut
	}
	return c.Reader.ReadEach(ctx, spans, done)
}

// TestReadersErrors keep their identity, whichever read they end.
func TestReadersErrors(t *testing.T) {
	p := load(t, "cframe/delta_multi.b2frame")
	for _, policy := range []rangeio.Policy{starts, whole} {
		failed := 0
		for n := 0; ; n++ {
			left := n
			f, err := cframe.Open(t.Context(), cutting{reader(p), &left}, cframe.Options{Policy: policy, Tail: 40})
			if err == nil {
				_, err = collect(t.Context(), f, []cframe.Want{{Chunk: 1, Blocks: []int{3}}})
			}
			if err == nil {
				break
			}
			if failed++; !errors.Is(err, errCut) {
				t.Fatalf("after %d reads: %v", n, err)
			}
		}
		if failed < 2 {
			t.Errorf("%d reads in all", failed)
		}
	}
}
