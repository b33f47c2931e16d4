package bloscpack

import (
	"context"
	"errors"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// An Entry is the place and the lengths of a chunk.
type Entry struct {
	// Off is the offset of the chunk in the file, or -1 if the chunk was never
	// written.
	Off int64
	// CBytes is the encoded length without the checksum, or -1 if the chunk's
	// header was not read.
	CBytes int64
	// NBytes is the decoded length, or -1 if the file's header does not tell it
	// and the chunk's header was not read.
	NBytes int64
	// Chunk is the chunk's own header, or nil if it was not read.
	Chunk *blosc.Header
}

// Missing reports whether the chunk was never written.
func (e Entry) Missing() bool { return e.Off == missing }

// scanBatch is the number of entries that are read from the table at a time.
const scanBatch = 32 << 10

// Entry returns the place and the lengths of chunk i, with the chunk's own
// header. It costs one request, and one more if the table's entry is not in
// memory. If there is no table, it reads the headers of all chunks before i. It
// returns ErrNoEntry if the file does not have the chunk. A chunk that was never
// written is not an error.
func (f *File) Entry(ctx context.Context, i int64) (Entry, error) {
	var out Entry
	err := f.Entries(ctx, i, i+1, true, func(_ int64, e Entry) error {
		out = e
		if e.Chunk != nil {
			h := *e.Chunk
			out.Chunk = &h
		}
		return nil
	})
	return out, err
}

// Entries calls fn with the entries of the chunks [i, j), in order. With scan it
// reads the chunks' headers, thousands in one planned read; if chunks are small,
// that is few requests. Without scan, lengths that only chunks tell are -1. If
// there is no table, Entries reads the headers of all chunks up to j, with or
// without scan: in windows if chunks are small, else one request for each. The
// header that Entry.Chunk points to is valid during the call only. If fn returns
// an error, Entries returns the same error.
func (f *File) Entries(ctx context.Context, i, j int64, scan bool, fn func(i int64, e Entry) error) error {
	if err := f.checkRange(i, j); err != nil {
		return err
	}
	if !f.usesTable() {
		return f.entriesFollowed(ctx, i, j, fn)
	}
	if !scan {
		return f.entriesPlain(ctx, i, j, fn)
	}
	return f.entriesRead(ctx, i, j, fn)
}

func (f *File) entriesPlain(ctx context.Context, i, j int64, fn func(i int64, e Entry) error) error {
	r := f.run(j)
	ctx = rangeio.OnePhase(ctx)
	for i < j {
		n := min(j-i, scanBatch)
		offs, err := r.read(ctx, i, i+n)
		if err != nil {
			return err
		}
		for _, off := range offs {
			if err := fn(i, Entry{Off: off, CBytes: -1, NBytes: f.h.want(i)}); err != nil {
				return err
			}
			i++
		}
	}
	return ctx.Err()
}

// nearHeaders is the largest gap between two headers that are read as one span: to
// read the bytes between them costs less than another read.
const nearHeaders = 4 << 10

// entriesRead reads the headers of chunks at their entries, one window ahead. In
// version 3, if a chunk does not begin where the chunk before it ends, the table is
// wrong: from there on, entriesFollowed takes over.
func (f *File) entriesRead(ctx context.Context, i, j int64, fn func(i int64, e Entry) error) error {
	off := int64(-1) // offset at which the next chunk must begin in version 3; -1: unknown
	if i == 0 && f.h.Version == Version3 {
		off = f.body
	}
	from := i
	err := f.eachHeader(ctx, i, j, func(p place, b []byte) error {
		if f.h.Version == Version3 && off >= 0 && p.off != off {
			return errMisled
		}
		e, n, err := f.entry(p, b)
		if f.h.Version == Version3 {
			if off < 0 { // no chunk before it was read
				err = f.checkChained(ctx, p, n, err)
			}
			off = p.off + n
		}
		if err != nil {
			return err
		}
		from++
		return fn(p.i, e)
	})
	if errors.Is(err, errMisled) {
		return f.entriesFollowed(ctx, from, j, fn)
	}
	return err
}

// eachHeader calls fn with the first bytes of each chunk, or without bytes if no
// chunk can begin at its entry.
func (f *File) eachHeader(ctx context.Context, i, j int64, fn func(p place, b []byte) error) error {
	run := f.run(j)
	p := pull.Pull[place]{From: f.r, Window: f.o.Window, Near: nearHeaders, Index: true,
		Parts: func(ctx context.Context, add func(pull.Part[place]) error) error {
			var batch []place
			for i := i; i < j; i += scanBatch {
				var err error
				if batch, err = f.places(ctx, run, batch[:0], i, min(i+scanBatch, j)); err != nil {
					return err
				}
				for _, p := range batch {
					q := pull.Part[place]{For: p}
					if f.inFile(p) == nil {
						q.Off, q.Len = p.off, min(blosc.HeaderLen2, f.size-p.off)
					}
					if err := add(q); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Failed: func(parts []pull.Part[place], err error) error {
			return f.wrapRead(err, parts[0].For, parts[len(parts)-1].For)
		},
	}
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		for k := range w.Parts {
			if err := fn(w.Parts[k].For, w.Bytes(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkChained returns errMisled if chained is false for p, or if p was not read as
// a chunk (err).
func (f *File) checkChained(ctx context.Context, p place, n int64, err error) error {
	if err != nil || p.off == missing {
		return errMisled
	}
	ok, err := f.chained(ctx, p, n)
	if err == nil && !ok {
		return errMisled
	}
	return err
}

// entry makes the Entry of a chunk from the first bytes b of the chunk. n is the
// length of the chunk with its checksum.
func (f *File) entry(p place, b []byte) (e Entry, n int64, err error) {
	if p.off == missing {
		return Entry{Off: missing, CBytes: -1, NBytes: f.h.want(p.i)}, 0, nil
	}
	if err := f.inFile(p); err != nil {
		return e, 0, err
	}
	h, n, err := f.head(p, b)
	if err != nil {
		return e, 0, err
	}
	return Entry{Off: p.off, CBytes: int64(h.CBytes), NBytes: int64(h.NBytes), Chunk: &h}, n, nil
}

// entriesFollowed goes from chunk to chunk by their headers, from the first
// chunk on, and calls fn for the chunks [i, j).
func (f *File) entriesFollowed(ctx context.Context, i, j int64, fn func(i int64, e Entry) error) error {
	w := f.follow(0, f.body)
	for w.i < j {
		p, h, _, err := w.next(ctx)
		if err != nil {
			return err
		}
		if p.i < i {
			continue
		}
		if err := fn(p.i, Entry{Off: p.off, CBytes: int64(h.CBytes), NBytes: int64(h.NBytes), Chunk: &h}); err != nil {
			return err
		}
	}
	return nil
}

// Size returns the number of decoded bytes of all chunks. If the header tells it,
// Size makes no request; else it costs as much as Entries with scan. Items that
// were never written count as 0.
func (f *File) Size(ctx context.Context) (int64, error) {
	if err := f.notAborted(); err != nil {
		return 0, err
	}
	if n, ok := f.knownSize(); ok {
		return n, nil
	}
	var total int64
	err := f.Entries(ctx, 0, f.h.Chunks, true, func(_ int64, e Entry) error {
		if e.NBytes > math.MaxInt64-total {
			return tooLarge("", -1, "more than %d decoded bytes", int64(math.MaxInt64))
		}
		total += max(e.NBytes, 0)
		return nil
	})
	return total, err
}

// knownSize returns the number of decoded bytes of all chunks, if the header
// tells it.
func (f *File) knownSize() (int64, bool) {
	n := f.h.Chunks
	if n == 0 {
		return 0, true
	}
	if n < 0 {
		return 0, false
	}
	size, last := f.h.want(0), f.h.want(n-1)
	if last < 0 || n > 1 && size < 0 || n > math.MaxInt64/(1<<32) {
		return 0, false
	}
	return max(size, 0)*(n-1) + last, true
}

// A Report is the result of Verify.
type Report struct {
	Chunks  int64 // undamaged chunks
	NBytes  int64 // decoded bytes of these chunks
	CBytes  int64 // encoded bytes of these chunks, without checksums
	Missing int64 // items that were never written
	// FirstMissing is the number of the first missing item, -1 if there is none.
	FirstMissing int64
	// Gaps is the number of bytes before the end of the last chunk that belong
	// to no chunk, for example old versions of items that were replaced.
	Gaps int64
	// After is the number of bytes after the last chunk. An append by the Python
	// tool may leave some.
	After int64
	// OtherTypeSize is the number of chunks whose type size differs from the
	// header's.
	OtherTypeSize int64
	// WrongOffsets tells that a table of version 3 contradicts the chunks,
	// although these lie one after another. The Python tool can read such a file:
	// it never reads the table.
	WrongOffsets bool
}

// Verify reads every chunk as Each does, decodes it and checks it. It skips
// items that were never written. progress is told the encoded bytes checked so
// far, and the number of bytes behind the table. At the first damaged chunk
// Verify returns the chunk's error, and a report of the chunks before it. If the
// file is not finished, it returns ErrCorrupt.
func (f *File) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r := Report{FirstMissing: -1}
	if err := f.notAborted(); err != nil {
		return r, err
	}
	s := f.source(0, f.h.Chunks)
	s.lax = !s.chain
	var d decoding
	defer d.release()
	var digests, end int64
	err := s.each(ctx, func(group []piece) error {
		at := 0
		err := d.each(ctx, f, group, func(_ int64, p []byte) error {
			c := &group[at]
			at++
			r.Chunks, r.NBytes, r.CBytes = r.Chunks+1, r.NBytes+int64(len(p)), r.CBytes+int64(c.h.CBytes)
			digests += c.next - c.off - int64(c.h.CBytes)
			end = max(end, c.next)
			if c.h.TypeSize != f.h.TypeSize && f.h.TypeSize > 0 {
				r.OtherTypeSize++
			}
			return nil
		})
		progress.Tell(r.CBytes+digests, f.size-f.body)
		return err
	})
	if err == nil {
		err = s.used.check()
	}
	r.Missing, r.FirstMissing, r.WrongOffsets = s.missing, s.first, s.misled
	end = max(end, f.body)
	r.Gaps, r.After = max(end-f.body-r.CBytes-digests, 0), f.size-end
	return r, err
}
