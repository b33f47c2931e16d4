package frameindex

import (
	"context"

	"github.com/farread/farread/formats/index"
)

// openMarks reads the marks. They come with the directory.
func (x *Index) openMarks(ctx context.Context, chunks int) error {
	s := x.ix.Section(index.Name{Kind: sectionMarks})
	if s == nil || len(s.Pages) != 1 || s.Pages[0].Len() > 2*marksBytes {
		return unusable("it has offsets without marks")
	}
	pages, err := x.ix.Pages(ctx, index.Parts{Section: s, I: 0, J: 1})
	if err != nil {
		return err
	}
	x.marks, err = parseMarks(pages[0], chunks)
	return err
}

// HasPlaces reports whether the index has the places of chunks.
func (x *Index) HasPlaces() bool { return x.places != nil }

// HasHeads reports whether the index has heads of chunks.
func (x *Index) HasHeads() bool { return x.starts != nil }

// PlacesMissing returns how many bytes of pages Places would read for chunks, which must
// ascend.
func (x *Index) PlacesMissing(chunks []int) int64 { return x.missing(x.places, chunks) }

// Places calls fn with the place of each chunk of a list, in order; see Heads. The index
// must have places. Nothing but the form of a Place is checked.
func (x *Index) Places(ctx context.Context, chunks []int, fn func(k int, p Place) error) error {
	return x.each(ctx, x.places, chunks, func(p []byte, first int, r run) error {
		d, last := pageOf(p), lastPlace{}
		for n, i := r.from, first; n < r.to; i++ {
			at, ok := last.next(&d)
			if !ok {
				return unusable("the place of chunk %d is damaged in its page", i)
			}
			for ; n < r.to && chunks[n] == i; n++ {
				if err := fn(n, at); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Guess returns bytes of the frame, from the end of its header on, in which chunk i lies
// if it has bytes, and about how long the chunk is. It makes no request. The index must
// have places, and the chunk must exist.
func (x *Index) Guess(i int) (from, to, mean int64) {
	off, mean := x.marks.expected(i)
	b := x.marks.bounds[i/x.marks.step/marksGroup]
	return max(off-b.before, 0), off + b.behind, mean
}
