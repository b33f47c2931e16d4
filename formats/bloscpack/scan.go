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

// An Entry says where a chunk lies.
type Entry struct {
	// Off is where the chunk begins, -1 if it was never written.
	Off int64
	// CBytes is its encoded length without the checksum, -1 if only the chunk
	// tells.
	CBytes int64
	// NBytes is its decoded length, -1 if only the chunk tells.
	NBytes int64
	// Chunk is the chunk's own header, nil if that was not read.
	Chunk *blosc.Header
}

// Missing tells whether the chunk was never written.
func (e Entry) Missing() bool { return e.Off == missing }

// scanBatch is how many entries are looked at together.
const scanBatch = 32 << 10

// Entry says where chunk i lies and how long it is, from the chunk's own header:
// one request, and one more if its entry of the table is not known yet. Without a
// table the headers of all chunks before i are followed. A chunk that the file
// does not have is ErrNoEntry; one that was never written is no error.
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

// Entries calls fn with the places of the chunks [i, j), in order. With scan
// their headers are read, thousands in one planned read, which is few requests
// if chunks are small; without scan, lengths that only chunks tell are -1. If
// there is no table, the headers of all chunks up to j are followed, scan or not:
// read in windows if chunks are small, else jumped to. The header that
// Entry.Chunk points to is valid during the call only. An error of fn ends
// Entries and is returned as it is.
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

// Headers of chunks share a span if they are near: reading the bytes between costs
// less than another read.
const nearHeaders = 4 << 10

// entriesRead reads the headers of chunks, a window ahead. In version 3, chunks are
// followed by their lengths from the first one that does not begin at the end of the
// chunk before.
func (f *File) entriesRead(ctx context.Context, i, j int64, fn func(i int64, e Entry) error) error {
	off := int64(-1) // where the next chunk begins, if chunks must follow each other
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
			if off < 0 { // in the midst of the file
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

// eachHeader calls fn with the first bytes of chunks; with none if a chunk cannot lie
// in the file.
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

// checkChained checks what chained tells. It returns errMisled if p is not chained,
// and if it is no chunk.
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

// entry makes an entry of the header of a chunk; n is the chunk's length with its
// checksum.
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

// entriesFollowed goes from chunk to chunk, from the first one on.
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

// Size is the length of all decoded chunks. If the header tells, it costs nothing;
// else it costs as much as Entries with scan. Items that were never written count
// as nothing.
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

// knownSize is the length of all decoded chunks, if the header tells it.
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

// A Report is what Verify found.
type Report struct {
	Chunks  int64 // chunks that are well
	NBytes  int64 // of these, decoded
	CBytes  int64 // of these, encoded, without checksums
	Missing int64 // items that were never written
	// FirstMissing is the number of the first missing item, -1 if there is none.
	FirstMissing int64
	// Gaps are bytes before the end of the last chunk that belong to no chunk:
	// versions of items that were replaced, for instance.
	Gaps int64
	// After are bytes behind the last chunk; an append of the Python tool may leave
	// some.
	After int64
	// OtherTypeSize counts chunks whose type size is not that of the header.
	OtherTypeSize int64
	// WrongOffsets tells that the table of version 3 contradicts the chunks, which
	// lie one after another all the same. The Python tool never looks at it.
	WrongOffsets bool
}

// Verify reads every chunk as Each does, passes over items that were never
// written, and decodes and checks all others. progress is told the encoded bytes
// checked so far, and the bytes behind header and table. The first chunk that is
// not well ends Verify with its error and a report of the chunks before. A file
// whose writing did not end is ErrCorrupt.
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
