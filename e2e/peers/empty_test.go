//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats/b2nd"
)

// emptyShapes are shapes with axes of no items.
var emptyShapes = [][]int64{{0}, {0, 5}, {5, 0}, {0, 0}, {4, 0, 3}, {0, 5, 7}}

// An emptyArray is a file with an array that holds no items, or held none.
type emptyArray struct {
	name, path string
	shape      []int64
	size       int
	items      []byte
	uncut      bool // its chunks hold no items
}

func counting(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i)
	}
	return p
}

func product(shape []int64, size int) int {
	for _, n := range shape {
		size *= int(n)
	}
	return size
}

func plus(shape []int64, n int64) []int64 {
	out := slices.Clone(shape)
	for i := range out {
		out[i] += n
	}
	return out
}

// change edits the array in a file.
func change(t *testing.T, path string, edit func(*b2nd.Editor) error) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := edit(e); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := e.Close(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// emptyArrays writes arrays without items in the chunks that we choose, in chunks of
// no items as python-blosc2 does, and what our editor makes of both.
func emptyArrays(t *testing.T) []emptyArray {
	t.Helper()
	dir := t.TempDir()
	var out []emptyArray
	for _, shape := range emptyShapes {
		for text, size := range map[string]int{"<i4": 4, "[('a', '<i4'), ('b', '<f8')]": 12} {
			for _, uncut := range []bool{false, true} {
				m := madeArray{meta: b2nd.Meta{Shape: shape, DType: text}}
				if uncut {
					for _, n := range shape {
						m.meta.ChunkShape = append(m.meta.ChunkShape, int(n))
					}
					m.meta.BlockShape = m.meta.ChunkShape
				}
				p := m.write(t, b2nd.WriteOptions{}, seeded(1))
				add := func(what string, to []int64, items []byte, uncut bool) string {
					x := emptyArray{shape: to, size: size, items: items, uncut: uncut}
					x.path = filepath.Join(dir, fmt.Sprintf("%d.b2nd", len(out)))
					x.name = fmt.Sprintf("%v of %s, chunks of none %v, %s", shape, text, uncut, what)
					if err := os.WriteFile(x.path, p, 0o600); err != nil {
						t.Fatal(err)
					}
					out = append(out, x)
					return x.path
				}
				add("as written", shape, nil, uncut)
				to := plus(shape, 3)
				all := counting(product(to, size))
				write := func(e *b2nd.Editor) error {
					if err := e.Resize(to); err != nil {
						return err
					}
					return e.WriteSlice(b2nd.Whole(to), all)
				}
				change(t, add("resized", to, make([]byte, len(all)), false), func(e *b2nd.Editor) error { return e.Resize(to) })
				change(t, add("written", to, all, false), write)
				change(t, add("cut again", shape, nil, false), func(e *b2nd.Editor) error {
					if err := write(e); err != nil {
						return err
					}
					if err := e.Commit(); err != nil {
						return err
					}
					return e.Resize(shape)
				})
			}
		}
	}
	return out
}

// TestBloscEmpty: python-blosc2 reads and grows arrays of ours without items, and
// those that our editor grew or emptied; we read what it made of them. Those in
// chunks of no items it refuses to grow, also its own.
func TestBloscEmpty(t *testing.T) {
	made := emptyArrays(t)
	var read, grow []bloscJob
	for _, x := range made {
		read = append(read, bloscJob{Path: x.path, Kind: "b2nd"})
		grow = append(grow, bloscJob{Path: x.path, Kind: "grow", Shape: plus(x.shape, 2)})
	}
	for i, got := range readBlosc(t, read) {
		x := made[i]
		if got.Error != "" || !slices.Equal(got.Shape, x.shape) || got.SHA256 != sum(x.items) {
			t.Errorf("%s: shape %v, want %v: %s", x.name, got.Shape, x.shape, got.Error)
		}
	}
	for i, got := range readBlosc(t, grow) {
		x := made[i]
		to := plus(x.shape, 2)
		items := counting(product(to, x.size))
		if x.uncut {
			if !strings.Contains(got.Error, "Cannot resize array") {
				t.Errorf("%s: python-blosc2 grows it now: %q", x.name, got.Error)
			}
			continue
		}
		if got.Error != "" || !slices.Equal(got.Shape, to) || got.SHA256 != sum(items) {
			t.Errorf("%s: grown by python-blosc2 to %v: %s", x.name, got.Shape, got.Error)
			continue
		}
		p, err := os.ReadFile(x.path)
		if err != nil {
			t.Fatal(err)
		}
		if back := (madeArray{name: x.name}).readBack(t, p); !bytes.Equal(back, items) {
			t.Errorf("%s: we read other items of what python-blosc2 made of it", x.name)
		}
	}
}
