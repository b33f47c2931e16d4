package cframe

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/rangeio"
)

// TestSetSizes: a frame without chunks gets other sizes with the next change, and
// one with chunks keeps its own.
func TestSetSizes(t *testing.T) {
	f := &memFile{b: write(t, WriteOptions{TypeSize: 4, ChunkSize: VaryingSizes}, func(*Writer) {})}
	before := bytes.Clone(f.b)
	edit(t, f, EditOptions{}, func(e *Editor) {
		for _, n := range [][2]int{{0, 8}, {-1, 8}, {6, 0}, {16, -1}, {1 << 31, 8}} {
			if err := e.SetSizes(n[0], n[1]); !errors.Is(err, ErrRefused) {
				t.Errorf("%v: %v", n, err)
			}
		}
		if err := e.SetSizes(16, 8); err != nil {
			t.Error(err)
		}
	})
	if !bytes.Equal(f.b, before) {
		t.Error("changed, though no chunk came")
	}
	edit(t, f, EditOptions{}, func(e *Editor) {
		if err := errors.Join(e.SetSizes(16, 8), e.Extend(make([]byte, 16)), e.Extend(bytes.Repeat([]byte{7}, 12))); err != nil {
			t.Error(err)
		}
		if err := e.SetSizes(32, 8); !errors.Is(err, ErrRefused) {
			t.Errorf("with chunks: %v", err)
		}
	})
	fr, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(f.b), int64(len(f.b))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if in := fr.Info(); in.ChunkSize != 16 || in.BlockSize != 8 || in.VariableChunks || in.NBytes != 28 || in.Version != 2 {
		t.Errorf("%+v", in)
	}
}
