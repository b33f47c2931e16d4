package bloscpack

import (
	"context"
	"fmt"
	"math"
)

// Grow begins a file that has the items of f, which is of version 4, and those that the
// Writer gets. keep appends a range of the bytes of f to w, as objstore.Splice does. It is
// called once, for all chunks of f, which stay as they are: only the beginning of the file,
// with its metadata and its table, is made anew by Close.
//
// o.Variable, Checksum, NoChecksum and Encode.TypeSize are those of f; Chunks has to be 0. The metadata
// are none before SetMetadata. Files of version 3, unfinished ones, and those whose chunks do
// not lie in the order of the items, are ErrRefused. Grow reads the whole table, 1 MiB at
// a time, and keeps two bytes or so for each item.
func Grow(ctx context.Context, w Reheader, f *File, keep func(off, n int64) error, o WriteOptions) (*Writer, error) {
	h := f.Header()
	switch {
	case !h.Variable:
		return nil, refuse("header", "a file of chunks of one size takes no items")
	case h.Chunks < 0 || f.Aborted():
		return nil, refuse("header", "the file is not finished")
	case o.Chunks != 0:
		return nil, refuse("header", "%d chunks announced", o.Chunks)
	}
	o.Variable, o.Version, o.Metadata = true, h.Version, nil
	o.Checksum, o.NoChecksum = h.Checksum, h.Checksum == None
	o.Encode.TypeSize = h.TypeSize
	bw, err := NewWriter(w, o)
	if err != nil || h.Chunks == 0 {
		return bw, err
	}
	first, err := bw.takeOver(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := keep(first, f.size-first); err != nil {
		return nil, fmt.Errorf("%s: chunks before %d: %w", Format, h.Chunks, err)
	}
	return bw, nil
}

// takeOver counts the items of f, and returns where the first one lies.
func (w *Writer) takeOver(ctx context.Context, f *File) (int64, error) {
	const atATime = 128 << 10
	first, last := int64(-1), int64(-1)
	n := f.h.Chunks
	for i := int64(0); i < n; i += atATime {
		list, err := f.t.read(ctx, i, min(i+atATime, n))
		if err != nil {
			return 0, err
		}
		lens := make([]uint32, 0, len(list)+1)
		for k, off := range list {
			switch {
			case off < f.body || off <= last || off >= f.size:
				return 0, refuse("offsets", "%s lies at %d, the one before it at %d: pack the file again", f.h.Part(i+int64(k)), off, last)
			case first < 0:
				first = off
			case off-last > math.MaxUint32:
				return 0, refuse("offsets", "%s lies %d bytes behind the one before it", f.h.Part(i+int64(k)), off-last)
			default:
				lens = append(lens, uint32(off-last))
			}
			last = off
		}
		if i+int64(len(list)) == n {
			if f.size-last > math.MaxUint32 {
				return 0, refuse("offsets", "%d bytes behind the last item", f.size-last)
			}
			lens = append(lens, uint32(f.size-last))
		}
		w.lens.add(lens)
		if w.given += int64(len(lens)); w.needs(w.given) > w.o.Limits.MaxMeta || w.given > w.o.Limits.MaxEntries {
			return 0, tooLarge("chunks", -1, "no memory for the offsets of %d", n)
		}
	}
	return first, nil
}
