package bloscpack

import (
	"context"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
)

const (
	// maxBatch bounds the decoded bytes of chunks that are decoded together. A longer
	// chunk is decoded alone. 4 MiB is enough work for several goroutines, and small
	// next to a window.
	maxBatch = 4 << 20
	// minShare is the least number of bytes, encoded and decoded, that a
	// goroutine is started for.
	minShare = 64 << 10
)

// Each calls fn for each of the chunks [i, j), in order and one call at a time. p
// is the decoded chunk and is valid during the call only. If fn returns an error,
// Each returns the same error. If the file lacks one of the chunks, Each returns
// ErrNoEntry.
//
// Chunks are read in windows of Options.Window. A window is one planned read. It
// is two if chunks are out of order and the end of a long chunk was not known.
// The next window is read while one is decoded. Each holds two windows and some
// MiB of decoded bytes; it holds more only if a single chunk is longer.
//
// If an item was never written, Each returns ErrNoEntry. If items of version 4
// overlap, Each returns ErrCorrupt after it has read all of them. (This check is
// left out if the chunks form more than a million separate pieces of the file.)
// If the table of a version 3 file contradicts its chunks, Each follows the
// chunks, as the Python tool does.
func (f *File) Each(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	if err := f.checkRange(i, j); err != nil {
		return err
	}
	s := f.source(i, j)
	return f.each(ctx, s, fn)
}

func (f *File) each(ctx context.Context, s *source, fn func(i int64, p []byte) error) error {
	var d decoding
	defer d.release()
	err := s.each(ctx, func(group []piece) error { return d.each(ctx, f, group, fn) })
	if err == nil {
		err = s.used.check()
	}
	return err
}

// A decoding decodes groups of chunks into one buffer, which it keeps from
// group to group.
type decoding struct {
	buf []byte // memory from bufpool
	out [][]byte
}

func (d *decoding) release() {
	if d.buf != nil {
		bufpool.Put(d.buf)
		d.buf = nil
	}
}

func (d *decoding) each(ctx context.Context, f *File, ps []piece, fn func(i int64, p []byte) error) error {
	for len(ps) > 0 {
		n, total := 1, ps[0].h.NBytes
		for n < len(ps) && total+ps[n].h.NBytes <= maxBatch {
			total += ps[n].h.NBytes
			n++
		}
		k, err := d.decode(ctx, f, ps[:n], total)
		for i := range ps[:k] {
			if err := fn(ps[i].i, d.out[i]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		ps = ps[n:]
	}
	return nil
}

// decode decodes ps, which have total decoded bytes, into d.out. It returns the
// number of chunks before the first bad one.
func (d *decoding) decode(ctx context.Context, f *File, ps []piece, total int) (int, error) {
	d.out = d.out[:0]
	if total > maxBatch { // a single chunk: the decoder checks it before it allocates
		if cap(d.buf) < total {
			d.release()
			out, err := f.appendPiece(nil, &ps[0], f.o.Parallel)
			d.out = append(d.out, out)
			if err != nil {
				return 0, err
			}
			d.buf = out[:0]
			return 1, nil
		}
	} else if cap(d.buf) < total {
		d.release()
		d.buf = bufpool.Get(maxBatch)
	}
	rest := d.buf[:total]
	for i := range ps {
		n := ps[i].h.NBytes
		d.out = append(d.out, rest[:n:n])
		rest = rest[n:]
	}
	return f.decodeAll(ctx, d.out, ps)
}

// decodeAll decodes the chunk ps[i] into out[i], several chunks at a time. It
// returns the number of chunks before the first bad one.
func (f *File) decodeAll(ctx context.Context, out [][]byte, ps []piece) (int, error) {
	if len(ps) == 1 {
		if err := f.decodePiece(out[0], &ps[0], f.o.Parallel); err != nil {
			return 0, err
		}
		return 1, nil
	}
	shares := f.share(ps)
	well := make([]int, len(shares)) // number of good chunks at the start of each share
	errs := make([]error, len(shares))
	err := par.Do(ctx, len(shares), f.o.Parallel, func(_ context.Context, k int) error {
		from, to := shares[k][0], shares[k][1]
		for i := from; i < to && errs[k] == nil; i++ {
			if errs[k] = f.decodePiece(out[i], &ps[i], 1); errs[k] == nil {
				well[k]++
			}
		}
		return nil // errs has the error: the first bad chunk may be in another share
	})
	if err != nil {
		return 0, err
	}
	for k := range shares {
		if errs[k] != nil {
			return shares[k][0] + well[k], errs[k]
		}
	}
	return len(ps), nil
}

// share cuts ps into runs [from, to) of about equal work, one run for each
// goroutine's turn.
func (f *File) share(ps []piece) [][2]int {
	total := 0
	for i := range ps {
		total += ps[i].h.NBytes + ps[i].h.CBytes
	}
	if f.o.Parallel == 1 {
		return [][2]int{{0, len(ps)}}
	}
	most := max(total/(4*f.o.Parallel), minShare)
	var out [][2]int
	from, n := 0, 0
	for i := range ps {
		if n += ps[i].h.NBytes + ps[i].h.CBytes; n >= most {
			out = append(out, [2]int{from, i + 1})
			from, n = i+1, 0
		}
	}
	if from < len(ps) {
		out = append(out, [2]int{from, len(ps)})
	}
	return out
}

// ReadChunks decodes the chunks [i, j) into dst, one after another, and returns
// the number of bytes. It fails with ErrTooLarge if dst is too short. It reads
// and checks chunks as Each does, and decodes several at a time, straight into
// dst. If it returns an error with n, the first n bytes of dst are right, and the
// rest of dst is undefined.
func (f *File) ReadChunks(ctx context.Context, dst []byte, i, j int64) (int, error) {
	if err := f.checkRange(i, j); err != nil {
		return 0, err
	}
	n := 0
	s := f.source(i, j)
	var out [][]byte
	err := s.each(ctx, func(group []piece) error {
		out = out[:0]
		at := n
		for k := range group {
			p := &group[k]
			if p.h.NBytes > len(dst)-at {
				return tooLarge(f.h.Part(p.i), p.off, "%d decoded bytes, room for %d", p.h.NBytes, len(dst)-at)
			}
			out = append(out, dst[at:at+p.h.NBytes:at+p.h.NBytes])
			at += p.h.NBytes
		}
		if _, err := f.decodeAll(ctx, out, group); err != nil {
			return err
		}
		n = at
		return nil
	})
	if err == nil {
		err = s.used.check()
	}
	return n, err
}

// AppendItems appends the decoded chunks [i, j) to dst, each in memory of its own. If
// it fails, it returns dst as it was. It fails with ErrTooLarge if the chunks have more
// than Limits.MaxDecoded bytes together. It reads chunks as Each does: neighbours share
// requests, so a few small chunks are one request.
func (f *File) AppendItems(ctx context.Context, dst [][]byte, i, j int64) ([][]byte, error) {
	if err := f.checkRange(i, j); err != nil {
		return dst, err
	}
	out := dst
	left := f.o.Limits.MaxDecoded
	err := f.Each(ctx, i, j, func(k int64, p []byte) error {
		if left -= int64(len(p)); left < 0 {
			return tooLarge(f.h.Part(k), -1, "more than %d decoded bytes together", f.o.Limits.MaxDecoded)
		}
		own := make([]byte, len(p))
		copy(own, p)
		out = append(out, own)
		return nil
	})
	if err != nil {
		return dst, err
	}
	return out, nil
}
