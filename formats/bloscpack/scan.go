package bloscpack

import (
	"context"

	"github.com/farread/farread/formats/blosc"
)

// An Entry says where a chunk lies.
type Entry struct {
	// Off is where the chunk begins, -1 where it was never written.
	Off int64
	// CBytes is its encoded length without the digest, -1 where only the chunk
	// tells.
	CBytes int64
	// NBytes is its decoded length, -1 where only the chunk tells.
	NBytes int64
}

// Entry says where chunk i lies and how long it is, from the chunk's own header.
func (f *File) Entry(ctx context.Context, i int64) (Entry, error) {
	var out Entry
	err := f.Entries(ctx, i, i+1, true, func(_ int64, e Entry) error {
		out = e
		return nil
	})
	return out, err
}

// Entries calls fn with where the chunks [i, j) lie, in order. With scan their
// headers are read, which are few requests where chunks are small; without,
// lengths that only chunks tell are -1.
func (f *File) Entries(ctx context.Context, i, j int64, scan bool, fn func(i int64, e Entry) error) error {
	if err := f.checkRange(i, j); err != nil {
		return err
	}
	for ; i < j; i++ {
		places, err := f.places(ctx, i, i+1)
		if err != nil {
			return err
		}
		e := Entry{Off: places[0].off, CBytes: -1, NBytes: f.h.want(i)}
		if scan && e.Off >= 0 {
			pieces, release, err := f.load(ctx, places)
			if err != nil {
				return err
			}
			e.CBytes, e.NBytes = int64(pieces[0].h.CBytes), int64(pieces[0].h.NBytes)
			release()
		}
		if err := fn(i, e); err != nil {
			return err
		}
	}
	return nil
}

// Size is the length of all decoded chunks. Where the header tells, it costs
// nothing; else the headers of all chunks are read.
func (f *File) Size(ctx context.Context) (int64, error) {
	if err := f.notAborted(); err != nil {
		return 0, err
	}
	n := f.h.Chunks
	if n == 0 {
		return 0, nil
	}
	if c, l := f.h.want(0), f.h.want(n-1); l >= 0 && (c >= 0 || n == 1) && n-1 <= (1<<62)/blosc.MaxBlockSize/4 {
		return max(c, 0)*(n-1) + l, nil
	}
	var total int64
	err := f.Entries(ctx, 0, n, true, func(_ int64, e Entry) error {
		total += max(e.NBytes, 0)
		return nil
	})
	return total, err
}
