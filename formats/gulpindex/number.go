package gulpindex

import (
	"context"
	"sort"

	"github.com/farread/farread/formats/gulp"
)

// count sets the numbers of the first frames of pages.
func (x *Index) count() error {
	x.starts = make([]int64, len(x.all.Pages))
	n := int64(0)
	for i := range x.all.Pages {
		here := x.all.Pages[i].Count
		if here > maxFrames {
			return unusable("page %d has %d frames", i, here)
		}
		x.starts[i] = n
		n += here
	}
	if n != x.totals.Frames {
		return unusable("%d frames in pages, %d in all", n, x.totals.Frames)
	}
	x.fixed += 8 * int64(len(x.starts))
	return nil
}

// Numbered returns a Chunk, by which at least the frames from to to-1 of the file can be
// read, as far as it has them: frames count over all ids, in file order. They are the
// frames of the only id of that Chunk, "". Pages that are not in memory are read by one
// planned read, hence one phase. Errors are those of Select.
func (x *Index) Numbered(ctx context.Context, from, to int) (*gulp.Chunk, error) {
	total := int(x.totals.Frames)
	from = min(max(from, 0), total)
	to = min(max(to, from), total)
	e := gulp.Excerpt{Frames: total, From: from}
	if from < to {
		i, j := x.pageAt(from), x.pageAt(to-1)+1
		known, err := x.places(ctx, i, j)
		if err != nil {
			return nil, err
		}
		e.From, e.Known = int(x.starts[i]), known
	}
	c, err := gulp.NewExcerpt(x.data, e, x.o.Gulp)
	if err != nil {
		return nil, unusable("%s", err)
	}
	return c, nil
}

// pageAt returns the number of the page that has a frame of the file.
func (x *Index) pageAt(frame int) int {
	return sort.Search(len(x.starts), func(i int) bool { return x.starts[i] > int64(frame) }) - 1
}

// places returns the places of all frames of the pages [i, j) in file order.
func (x *Index) places(ctx context.Context, i, j int) ([]gulp.FrameInfo, error) {
	frames := int64(0)
	for k := i; k < j; k++ {
		frames += x.all.Pages[k].Count
	}
	if err := x.fits(frames, j-i); err != nil {
		return nil, err
	}
	pages, err := x.read(ctx, x.all, i, j)
	if err != nil {
		return nil, err
	}
	known := make([]gulp.FrameInfo, 0, frames)
	for k, p := range pages {
		if known, err = x.pagePlaces(known, i+k, p); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// pagePlaces appends the places of the frames of page k, whose bytes are p.
func (x *Index) pagePlaces(dst []gulp.FrameInfo, k int, p []byte) ([]gulp.FrameInfo, error) {
	at := &x.all.Pages[k]
	r, err := newPageReader(p, at)
	if err != nil {
		return nil, err
	}
	for r.k < r.n {
		n := at.First + int64(r.k)
		row, err := r.next()
		if err != nil {
			return nil, err
		}
		if row.number != n {
			return nil, r.fail("id %d of the file, where %d should be", row.number, n)
		}
	}
	return r.places(dst, x.data.Size())
}
