package cframe

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

func TestSetWriter(t *testing.T) {
	ctx := t.Context()
	want := content{
		Chunks: [][]byte{ramp(400, 1), make([]byte, 400), noise(400, 3), ramp(400, 4), make([]byte, 40)},
		Meta:   []Metalayer{{"a", []byte("12")}},
		VL:     []Metalayer{{"x", ramp(500, 0)}},
	}
	vary := content{Chunks: [][]byte{make([]byte, 400), ramp(30, 2), make([]byte, 400)}}
	for _, parallel := range []int{1, 3} {
		for name, c := range map[string]content{"fixed": want, "varying": vary} {
			f := newFolder()
			w, err := NewSetWriter(t.Context(), f, WriteOptions{TypeSize: 4, Vary: true, Metalayers: c.Meta, Parallel: parallel})
			must(t, err)
			for _, p := range c.Chunks {
				q := bytes.Clone(p)
				must(t, w.WriteChunk(q))
				clear(q)
			}
			for _, m := range c.VL {
				must(t, w.SetVLMetalayer(m.Name, m.Data))
			}
			must(t, w.Close())
			if last := f.order[len(f.order)-1]; last != IndexName {
				t.Errorf("%s: %s was the last object", name, last)
			}
			files := map[string]int{"fixed": 4, "varying": 4}[name]
			if len(f.files) != files {
				t.Errorf("%s: %d objects, want %d: %v", name, len(f.files), files, f.order)
			}
			frame, err := OpenSet(ctx, f, Options{})
			must(t, err)
			got, err := contentOf(ctx, frame)
			must(t, err)
			compare(t, name, got, c)
			total := int64(0)
			for n, b := range f.files {
				if n != IndexName {
					total += int64(len(b))
				}
			}
			if in := frame.Info(); in.CBytes != total || !in.Sparse || in != w.Info() {
				t.Errorf("%s: chunks of %d bytes, %+v, %+v", name, total, in, w.Info())
			}
			s := &sink{}
			must(t, Compact(ctx, s, frame))
			_, got = mustRead(t, s.b)
			compare(t, "as a contiguous frame", got, c)
		}
	}
}

// Other calls of a SetWriter, and its errors.
func TestSetWriterErrors(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		for _, fail := range []string{"00000000.chunk", "00000002.chunk", IndexName, "none"} {
			loans := bufpool.Loans()
			f := newFolder()
			f.fail = fail
			w, err := NewSetWriter(t.Context(), f, WriteOptions{TypeSize: 4, Parallel: parallel})
			must(t, err)
			err = errors.Join(w.WriteEncoded(stored(t, "abcd", 4)), w.WriteSpecial(blosc.NaN, 4), w.WriteChunk([]byte("efgh")), w.WriteChunk([]byte("ijkl")), w.Close())
			if fail == "none" {
				must(t, err)
			} else if !errors.Is(err, errSink) {
				t.Errorf("%s: %v", fail, err)
			}
			w.Abort()
			if n := bufpool.Loans() - loans; n != 0 {
				t.Errorf("%d buffers were not given back", n)
			}
			if _, ok := f.files[IndexName]; ok != (fail == "none") {
				t.Errorf("%s: index: %t", fail, ok)
			}
		}
	}
	w, err := NewSetWriter(t.Context(), newFolder(), WriteOptions{})
	must(t, err)
	must(t, w.WriteBlocks([][]byte{{1, 2}, {3}}), w.Close())
	if err := w.Close(); !errors.Is(err, errClosed) {
		t.Error(err)
	}
	if _, err := NewSetWriter(t.Context(), newFolder(), WriteOptions{TypeSize: -1}); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
}
