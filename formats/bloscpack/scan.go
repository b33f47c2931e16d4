package bloscpack

import (
	"context"
	"errors"
	"math"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// An Entry says where a chunk lies.
type Entry struct {
	// Off is where the chunk begins, -1 where it was never written.
	Off int64
	// CBytes is its encoded length without the checksum, -1 where only the chunk
	// tells.
	CBytes int64
	// NBytes is its decoded length, -1 where only the chunk tells.
	NBytes int64
	// Chunk is the chunk's own header, nil where that was not read.
	Chunk *blosc.Header
}

// Missing tells whether the chunk was never written.
func (e Entry) Missing() bool { return e.Off == missing }

// scanBatch is how many headers are read together: 128 KiB of them.
const scanBatch = 4096

// Entry says where chunk i lies and how long it is, from the chunk's own header:
// one request, and one more where its entry of the table is not known yet.
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

// Entries calls fn with where the chunks [i, j) lie, in order. With scan their
// headers are read, which is a phase for some thousands of them and few requests
// where chunks are small; without, lengths that only chunks tell are -1. Where
// there is no table, the headers of all chunks up to j are followed, scan or not:
// read in windows where chunks are small, jumped to where they are not. What
// Entry.Chunk points to is valid during the call only. An error of fn is
// returned as it is.
func (f *File) Entries(ctx context.Context, i, j int64, scan bool, fn func(i int64, e Entry) error) error {
	if err := f.checkRange(i, j); err != nil {
		return err
	}
	if !f.usesTable() {
		return f.entriesFollowed(ctx, i, j, fn)
	}
	off := int64(-1) // where the next chunk begins, if chunks must follow each other
	if i == 0 && f.h.Version == Version3 {
		off = f.body
	}
	for i < j {
		n := min(j-i, scanBatch)
		places, err := f.places(ctx, nil, i, i+n)
		if err != nil {
			return err
		}
		if !scan {
			if err := f.entriesPlain(places, fn); err != nil {
				return err
			}
			i += n
			continue
		}
		next, err := f.entriesRead(ctx, places, &off, fn)
		if errors.Is(err, errMisled) {
			return f.entriesFollowed(ctx, next, j, fn)
		}
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// errMisled says that the table of version 3 is wrong.
var errMisled = errors.New("the chunks contradict the table")

func (f *File) entriesPlain(places []place, fn func(i int64, e Entry) error) error {
	for _, p := range places {
		if err := fn(p.i, Entry{Off: p.off, CBytes: -1, NBytes: f.h.want(p.i)}); err != nil {
			return err
		}
	}
	return nil
}

// entriesRead reads the headers of chunks. It ends with errMisled before the
// first chunk that does not lie where the one before it ends, in version 3.
func (f *File) entriesRead(ctx context.Context, places []place, off *int64, fn func(i int64, e Entry) error) (next int64, err error) {
	spans := make([]rangeio.Span, 0, len(places))
	room := make([]byte, len(places)*blosc.HeaderLen2)
	chain := f.h.Version == Version3
	for k, p := range places {
		if f.inFile(p) != nil {
			continue
		}
		n := min(blosc.HeaderLen2, f.size-p.off)
		spans = append(spans, rangeio.Span{Off: p.off, P: room[int64(k)*blosc.HeaderLen2:][:n]})
	}
	if len(spans) > 0 {
		if err := f.r.ReadRanges(ctx, spans); err != nil {
			return 0, f.wrapRead(places, err)
		}
	}
	for k, p := range places {
		if chain && *off >= 0 && p.off != *off {
			return p.i, errMisled
		}
		e := Entry{Off: p.off, CBytes: -1, NBytes: f.h.want(p.i)}
		if p.off != missing {
			if err := f.inFile(p); err != nil {
				return 0, err
			}
			h, n, err := f.head(p, room[k*blosc.HeaderLen2:][:min(blosc.HeaderLen2, f.size-p.off)])
			if err != nil {
				return 0, err
			}
			e = Entry{Off: p.off, CBytes: int64(h.CBytes), NBytes: int64(h.NBytes), Chunk: &h}
			if chain {
				*off = p.off + n
			}
		}
		if err := fn(p.i, e); err != nil {
			return 0, err
		}
	}
	return places[len(places)-1].i + 1, nil
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

// Size is the length of all decoded chunks. Where the header tells, it costs
// nothing; else it costs what Entries costs. Items that were never written count
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

// knownSize is the length of all decoded chunks where the header tells it.
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
	Chunks  int64 // that are well
	NBytes  int64 // of them, decoded
	CBytes  int64 // of them, encoded, without checksums
	Missing int64 // items that were never written
	// FirstMissing is the number of the first of them, -1 where there is none.
	FirstMissing int64
	// Gaps are bytes before the end of the last chunk that belong to no chunk:
	// versions of items that were replaced, for instance.
	Gaps int64
	// After are bytes behind the last chunk, as an append of the Python tool may
	// leave them.
	After int64
	// OtherTypeSize counts chunks whose type size is not that of the header.
	OtherTypeSize int64
	// WrongOffsets tells that the table of version 3 contradicts the chunks, which
	// lie one after another all the same. The Python tool never looks at it.
	WrongOffsets bool
}

// Verify reads every chunk as Each does, passes over items that were never
// written, and decodes and checks all others. progress, if not nil, is told the
// encoded bytes read so far, from one goroutine. The first chunk that is not well
// ends it, with the report of those before.
func (f *File) Verify(ctx context.Context, progress func(done int64)) (Report, error) {
	r := Report{FirstMissing: -1}
	if err := f.notAborted(); err != nil {
		return r, err
	}
	s := f.source(0, f.h.Chunks)
	s.lax = !s.chain
	var d decoding
	defer d.release()
	var digests, end int64
	err := f.groups(ctx, s, func(g *group) error {
		at := 0
		err := d.each(ctx, f, g, func(_ int64, p []byte) error {
			c := &g.pieces[at]
			at++
			r.Chunks, r.NBytes, r.CBytes = r.Chunks+1, r.NBytes+int64(len(p)), r.CBytes+int64(c.h.CBytes)
			digests += c.next - c.off - int64(c.h.CBytes)
			end = max(end, c.next)
			if c.h.TypeSize != f.h.TypeSize && f.h.TypeSize > 0 {
				r.OtherTypeSize++
			}
			return nil
		})
		if progress != nil {
			progress(r.CBytes + digests)
		}
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
