package gulpindex

import (
	"context"
	"iter"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
)

// Walk calls fn for each id, in the order of their bytes, and for each run of frames of
// it that a page has: number is that of the id in file order, frames that of all its
// frames, and from the number of the first of known. id and known are valid during the
// call only. Walk reads all pages, some MiB at a time. Errors are those of Select, or
// what fn returns.
func (x *Index) Walk(ctx context.Context, fn func(id string, number int64, frames, from int, known []gulp.FrameInfo) error) error {
	const step = 256 // 4 MiB at the most
	var places []gulp.FrameInfo
	for i := 0; i < len(x.fences); i += step {
		j := min(i+step, len(x.fences))
		err := x.ix.Each(ctx, x.r, index.Parts{Section: x.s, I: i, J: j}, "index", func(k int, p []byte) error {
			var err error
			places, err = x.walk(k, p, places[:0], fn)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) walk(k int, p []byte, places []gulp.FrameInfo, fn func(string, int64, int, int, []gulp.FrameInfo) error) ([]gulp.FrameInfo, error) {
	r, err := newPageReader(p, &x.s.Pages[k])
	if err != nil {
		return places, err
	}
	ahead := *r
	for ahead.k < ahead.n {
		if _, err := ahead.next(); err != nil {
			return places, err
		}
	}
	if places, err = ahead.places(places, x.data.Size()); err != nil {
		return places, err
	}
	r.row.id = nil // ahead has used its memory
	for r.k < r.n {
		at := r.given
		row, err := r.next()
		if err != nil {
			return places, err
		}
		if err := fn(string(row.id), row.number, int(row.frames), int(row.before), places[at:r.given]); err != nil {
			return places, err
		}
	}
	return places, nil
}

// heldBytes is how many bytes of the index Verify keeps, so that it reads them once.
const heldBytes = 16 << 20

// Verify reads the whole index, compares its bytes with their hash, and its content with
// the chunk that it is about. If they differ, the error matches index.ErrUnusable.
func (x *Index) Verify(ctx context.Context, c *gulp.Chunk) error {
	defer x.ix.Hold(heldBytes)()
	if err := x.ix.Verify(ctx); err != nil {
		return err
	}
	if x.totals != c.Totals() {
		return unusable("its totals are %+v, those of the chunk %+v", x.totals, c.Totals())
	}
	ids, frames := 0, int64(0)
	err := x.Walk(ctx, func(id string, number int64, n, from int, known []gulp.FrameInfo) error {
		if have, err := c.Frames(id); err != nil || have != n || number >= int64(c.Len()) || c.ID(int(number)) != id {
			return unusable("id %q is number %d with %d frames, which the chunk does not have so", id, number, n)
		}
		for i, f := range known {
			if have, err := c.Frame(id, from+i); err != nil || have != f {
				return unusable("frame %d of id %q is at %d, with %d bytes, where the chunk has %d, %d", from+i, id, f.Off, f.Size, have.Off, have.Size)
			}
		}
		if frames += int64(len(known)); from == 0 {
			ids++
		}
		return nil
	})
	if err == nil && (ids != c.Len() || frames != x.totals.Frames) {
		err = unusable("it has %d ids and %d frames of %d and %d", ids, frames, c.Len(), x.totals.Frames)
	}
	if err != nil {
		return err
	}
	if err := x.verifyMetas(ctx, c); err != nil { // ids and numbers have been compared
		return err
	}
	return x.verifyNumbers(ctx, c)
}

// verifyNumbers compares the frames in file order with those of the chunk.
func (x *Index) verifyNumbers(ctx context.Context, c *gulp.Chunk) error {
	const step = 256 // pages, as in Walk
	next, stop := iter.Pull(numbered{c}.Places(0))
	defer stop()
	for i := 0; i < len(x.all.Pages); i += step {
		known, err := x.places(ctx, i, min(i+step, len(x.all.Pages)))
		if err != nil {
			return err
		}
		for k, f := range known {
			if have, ok := next(); !ok || have != f {
				return unusable("frame %d of the file is at %d, with %d bytes, where the chunk has %d, %d", x.starts[i]+int64(k), f.Off, f.Size, have.Off, have.Size)
			}
		}
	}
	return nil
}
