package b2nd_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/racetest"
)

// TestDraftAppends: many appends to a draft, each committed and opened anew, leave no dead
// bytes, keep the index, and give all items.
func TestDraftAppends(t *testing.T) {
	for _, name := range []string{"nd1.b2nd", "nd3.b2nd"} {
		old, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		a := open(t, old)
		shape := a.Meta().Shape
		items := slice(t, a, b2nd.Whole(shape))
		rows := int64(a.Meta().ChunkShape[0])
		row := int64(len(items)) / shape[0]
		f := &file{bytes.Clone(old)}
		// The first append fills up the chunks at the edge.
		for i, n := range []int64{rows - shape[0]%rows, 1, 1, rows - 1, 2*rows + 1, 3} {
			more := numbers(n*row/4, 4)
			e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Draft: true, Index: cframe.WithIndex, Statistics: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Extend(more); err != nil {
				t.Fatal(err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			items = append(items, more...)
			shape[0] += int64(len(more)) / row
			a = open(t, f.b)
			if got := slice(t, a, b2nd.Whole(shape)); !bytes.Equal(got, items) {
				t.Fatalf("%s: other items after %d appends", name, i+1)
			}
			if n := a.Frame().Info().FrameLen; n != int64(len(f.b)) {
				t.Errorf("%s: a frame of %d bytes in a file of %d", name, n, len(f.b))
			}
		}
		if _, err := a.Verify(t.Context(), nil); err != nil {
			t.Error(err)
		}
		var whole memory
		if err := cframe.Compact(t.Context(), &whole, a.Frame()); err != nil {
			t.Fatal(err)
		}
		if len(f.b) != whole.Len() {
			t.Errorf("%s: %d bytes after 6 appends, %d without dead ones", name, len(f.b), whole.Len())
		}
	}
}

// TestDraftStatistics: new chunks of a draft are written over the pages of the index, also
// over those that did not come with the end of the file, and its statistics stay.
func TestDraftStatistics(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	const rows, row = 1200, 32 * 32
	m := b2nd.Meta{Shape: []int64{rows, 32, 32}, ChunkShape: []int{1, 32, 32}, BlockShape: []int{1, 8, 32}, DType: "<i4"}
	r := rand.New(rand.NewPCG(7, 8))
	noise := func(n int) []byte {
		p := make([]byte, 4*n)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		return p
	}
	p := build(t, m, noise(rows*row), b2nd.WriteOptions{Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	checkStats(t, "as written", p)
	info, err := open(t, p).Frame().Index(t.Context())
	if err != nil || info.Size < 3*64<<10/4 {
		t.Fatalf("an index of %d bytes is read with the end of the file: %v", info.Size, err)
	}
	f := &file{p}
	for _, n := range []int{3, 200, 1} {
		e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Draft: true})
		if err == nil {
			err = errors.Join(e.Extend(noise(n*row)), e.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		checkStats(t, fmt.Sprintf("after %d rows", n), f.b)
	}
}

// A readFile notes where it was read.
type readFile struct {
	file
	reads map[[2]int64]int
}

func (f *readFile) ReadAt(p []byte, off int64) (int, error) {
	f.reads[[2]int64{off, int64(len(p))}]++
	return f.file.ReadAt(p, off)
}

// TestAppendReadsOnce: chunks at the edge, which an append fills up, are read once: for the padding that becomes items, and
// for the items that stay. Padding that is not zero does not become items, and other lengths later find the chunks again.
func TestAppendReadsOnce(t *testing.T) {
	t.Parallel()
	m := b2nd.Meta{Shape: []int64{20, 30}, ChunkShape: []int{8, 10}, BlockShape: []int{4, 10}, DType: "<i4"}
	items := numbers(20*30, 4)
	f := &readFile{file{build(t, m, items, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})}, map[[2]int64]int{}}
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{Draft: true})
	if err != nil {
		t.Fatal(err)
	}
	clear(f.reads)
	rows := numbers(9*30, 4)
	if err := e.Extend(rows); err != nil {
		t.Fatal(err)
	}
	chunks := 0
	for at, n := range f.reads {
		if at[1] > 8*10*4 {
			if chunks++; n != 1 {
				t.Errorf("%d bytes at %d were read %d times", at[1], at[0], n)
			}
		}
	}
	if chunks != 3 {
		t.Errorf("%d chunks were read, want those of the edge, 3", chunks)
	}
	for _, n := range []int64{26, 35} { // in a chunk that the append has filled up, and on from there
		if err := e.Resize([]int64{n, 30}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	want := append(append(items, rows[:6*30*4]...), make([]byte, 9*30*4)...)
	if got := slice(t, open(t, f.b), b2nd.Whole([]int64{35, 30})); !bytes.Equal(got, want) {
		t.Error("other items after the append")
	}
}
