package bloscpack

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// Salvaged is the result of Salvage.
type Salvaged struct {
	Chunks int64 // undamaged chunks
	Bytes  int64 // decoded bytes of these chunks
	// Lost is the number of chunks that are missing or damaged. It is -1 if the
	// file does not tell how many chunks it should have.
	Lost int64
	// Guessed tells that the numbers passed to fn may be too low from some chunk
	// on: Salvage found that chunk by its checksum, and the number of lost chunks
	// before it is unknown.
	Guessed bool
	// Stop is the first fault in the file, or nil.
	Stop error
}

// Salvage calls fn for each undamaged chunk of a file, even if the file is not
// finished, was cut short, or has damaged chunks. It finds chunks by the table if
// the table tells their places, else by the headers of chunks. In a finished file
// of version 3 it tries the headers first. After a damaged chunk it continues at
// the table's next entry, at the end that the damaged chunk's header gives, or, if
// the file has checksums, at the next bytes that are a chunk with a right
// checksum. i is the number of the chunk; if the number is unknown, i counts the
// chunks before it. chunk is the encoded chunk without its checksum, p the decoded
// one. Both are valid during the call only.
//
// If fn or the Reader fails, Salvage returns that error. A damaged chunk is not an
// error of Salvage. The file is read in windows, most of it once; the search
// behind a damaged chunk may read bytes again.
func (f *File) Salvage(ctx context.Context, fn func(i int64, chunk, p []byte) error) (Salvaged, error) {
	s := salvage{f: f, fn: fn, w: window{f: f}, patience: 4*f.size + 64<<20}
	if err := s.begin(ctx); err != nil {
		return s.out, err
	}
	err := s.run(ctx)
	s.out.Lost = -1
	if n := f.h.Chunks; n >= 0 {
		s.out.Lost = max(n-s.out.Chunks, 0)
	}
	if s.out.Stop == nil {
		s.out.Stop = f.notAborted()
	}
	return s.out, err
}

type salvage struct {
	f   *File
	fn  func(i int64, chunk, p []byte) error
	w   window
	out Salvaged

	t        table // table of places where chunks may be
	pos      int64 // offset at which the next chunk is expected
	end      int64 // end of the last undamaged chunk
	buf      []byte
	patience int64 // bytes that search may still check in vain
}

// begin sets pos to the first chunk. A file whose number of chunks is unknown may
// have no table yet, an empty table, or the table from before an append; begin finds
// out which.
func (s *salvage) begin(ctx context.Context) error {
	f := s.f
	s.t.r, s.t.off, s.t.n, s.pos = f.r, f.t.off, f.t.n, f.body
	if f.h.Chunks >= 0 || !f.h.Offsets {
		return nil
	}
	start := f.t.off
	if ok, err := s.plausible(ctx, start); ok || err != nil {
		s.pos = start
		return err
	}
	b, err := s.w.get(ctx, start, entryLen)
	if err != nil || len(b) < entryLen {
		return err
	}
	first := int64(binary.LittleEndian.Uint64(b))
	if first > start && first < f.size && (first-start)%entryLen == 0 {
		ok, err := s.plausible(ctx, first)
		if err != nil {
			return err
		}
		if ok {
			s.t.n = min((first-start)/entryLen, f.o.Limits.MaxEntries)
			s.pos = first
			return nil
		}
	}
	for s.pos = start; s.pos < f.size; s.pos += entryLen {
		b, err := s.w.get(ctx, s.pos, entryLen)
		if err != nil {
			return err
		}
		if len(b) < entryLen || binary.LittleEndian.Uint64(b) != ^uint64(0) {
			return nil
		}
	}
	return nil
}

func (s *salvage) run(ctx context.Context) error {
	n := s.f.h.Chunks
	for i := int64(0); n < 0 || i < n; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := s.chunk(ctx, i); !more || err != nil {
			return err
		}
	}
	return nil
}

// chunk looks for chunk i at its entry in the table and at the end of the chunk
// before it. more is false if the salvage ends here.
func (s *salvage) chunk(ctx context.Context, i int64) (more bool, err error) {
	at, err := s.candidates(ctx, i)
	if err != nil {
		return false, err
	}
	damaged := int64(-1)
	for _, off := range at {
		whole, next, err := s.try(ctx, i, off)
		if err != nil {
			return false, err
		}
		if whole {
			s.pos, s.end = next, next
			return true, nil
		}
		damaged = max(damaged, next)
	}
	if damaged >= 0 { // the chunk's length tells where the next one begins, unless the length itself is damaged
		next := damaged == s.f.size || i+1 < s.t.n
		if !next {
			if next, err = s.plausible(ctx, damaged); err != nil {
				return false, err
			}
		}
		if next || s.f.h.Checksum == None {
			s.pos = damaged
			return true, nil
		}
	}
	if i+1 < s.t.n { // the table has an entry for the next chunk
		return true, nil
	}
	if s.byTable() { // all other bytes may belong to other items
		return false, nil
	}
	return s.search(ctx, i)
}

// candidates returns the offsets at which chunk i may begin, the most likely
// one first.
func (s *salvage) candidates(ctx context.Context, i int64) (at []int64, err error) {
	f := s.f
	entry := int64(missing)
	if i < s.t.n {
		list, err := s.t.read(ctx, i, i+1)
		switch {
		case err == nil:
			entry = list[0]
		case !errors.Is(err, formats.ErrCorrupt):
			return nil, err
		}
	}
	if entry >= f.t.off && entry < f.size {
		at = append(at, entry)
	}
	if s.byTable() {
		if len(at) == 0 {
			s.stop(f.inFile(place{i: i, off: entry}))
		}
		return at, nil
	}
	if s.pos != entry && s.pos < f.size {
		at = append(at, s.pos)
	}
	if f.h.Version == Version3 && f.h.Chunks >= 0 && len(at) == 2 {
		// Chunks lie one after another even if the table says otherwise, so pos
		// comes first. An entry before the last end would give a chunk twice.
		if at[0], at[1] = at[1], at[0]; at[1] < s.end {
			at = at[:1]
		}
	}
	if len(at) == 0 && f.h.Chunks >= 0 {
		s.stop(corrupt(f.h.Part(i), f.size, "the file ends before it"))
	}
	return at, nil
}

// byTable reports whether chunks may be in any order, so that only the table
// tells their numbers.
func (s *salvage) byTable() bool {
	return s.f.h.Version == Version4 && s.f.t.n > 0 && !s.f.aborted
}

func (s *salvage) stop(err error) {
	if s.out.Stop == nil {
		s.out.Stop = err
	}
}

// try passes the chunk at off to fn if it is undamaged. next is the end of the
// chunk by its header, or -1 if no chunk can begin at off.
func (s *salvage) try(ctx context.Context, i, off int64) (whole bool, next int64, err error) {
	h, n, err := s.header(ctx, i, off)
	if err != nil {
		if !isFormat(err) {
			return false, -1, err
		}
		s.stop(err)
		return false, -1, nil
	}
	p := piece{place: place{i: i, off: off}, h: h, next: off + n}
	if p.b, err = s.w.get(ctx, off, n); err != nil {
		return false, -1, err
	}
	if int64(h.NBytes) > s.f.o.Limits.MaxDecoded {
		s.stop(tooLarge(s.f.h.Part(i), off, "%d decoded bytes, %d allowed", h.NBytes, s.f.o.Limits.MaxDecoded))
		return false, p.next, nil
	}
	if s.buf, err = s.f.appendPiece(s.buf[:0], &p, s.f.o.Parallel); err != nil {
		s.stop(err)
		return false, p.next, nil
	}
	if err := s.fn(i, p.b[:h.CBytes:h.CBytes], s.buf); err != nil {
		return false, -1, err
	}
	s.out.Chunks, s.out.Bytes = s.out.Chunks+1, s.out.Bytes+int64(len(s.buf))
	return true, p.next, nil
}

// isFormat reports whether err is about the bytes of the file, not about
// reading them.
func isFormat(err error) bool {
	return errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrTooLarge) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrNoEntry)
}

// header reads the header of a chunk at off. n is the length of the chunk with
// its checksum. If no chunk can begin at off, the error tells why.
func (s *salvage) header(ctx context.Context, i, off int64) (h blosc.Header, n int64, err error) {
	f := s.f
	b, err := s.w.get(ctx, off, blosc.HeaderLen2)
	if err != nil {
		return h, 0, err
	}
	if h, err = blosc.ParseHeader(b); err != nil {
		return h, 0, wrap(f.h.Part(i), off, err)
	}
	n = int64(h.CBytes) + int64(f.h.Checksum.Size())
	switch {
	case n > f.size-off:
		return h, 0, corrupt(f.h.Part(i), off, "cut short: %d bytes with its checksum, the file ends after %d", n, f.size-off)
	case h.NBytes == 0 && h.CBytes != h.Len():
		return h, 0, corrupt(f.h.Part(i), off, "nothing, encoded in %d bytes", h.CBytes)
	case !f.h.Variable && f.h.ChunkSize >= 0 && int64(h.NBytes) > f.h.ChunkSize:
		return h, 0, corrupt(f.h.Part(i), off, "%d decoded bytes, chunks have %d", h.NBytes, f.h.ChunkSize)
	}
	return h, n, nil
}

// search looks, byte by byte after pos, for the next chunk with a right
// checksum.
func (s *salvage) search(ctx context.Context, i int64) (more bool, err error) {
	f := s.f
	if f.h.Checksum == None {
		return false, nil
	}
	for off := s.pos + 1; off <= f.size-blosc.HeaderLen1; off++ {
		b, err := s.w.get(ctx, off, blosc.HeaderLen2)
		if err != nil {
			return false, err
		}
		if b[0] == 0 || b[0] > maxBloscVersion {
			continue
		}
		h, n, err := s.header(ctx, i, off)
		if err != nil {
			if isFormat(err) {
				continue
			}
			return false, err
		}
		// Many bytes that look like headers of chunks would make the search
		// quadratic.
		if s.patience -= n; s.patience < 0 {
			return false, nil
		}
		if b, err = s.w.get(ctx, off, n); err != nil {
			return false, err
		}
		if f.h.Checksum.verify(b[:h.CBytes], b[h.CBytes:]) != nil {
			continue
		}
		whole, next, err := s.try(ctx, i, off)
		if whole || err != nil {
			s.pos, s.end, s.out.Guessed = next, next, true
			return whole, err
		}
	}
	return false, nil
}

// maxBloscVersion is the highest known version in a chunk's header.
const maxBloscVersion = 6

// plausible reports whether the bytes at off can be the header of a chunk of
// this file.
func (s *salvage) plausible(ctx context.Context, off int64) (bool, error) {
	_, _, err := s.header(ctx, 0, off)
	if err != nil && !isFormat(err) {
		return false, err
	}
	return err == nil, nil
}

// A window is a buffer of bytes of the file, which get refills.
type window struct {
	f   *File
	at  int64
	buf []byte
}

const windowLen = 4 << 20

// get returns n bytes at off, or fewer at the end of the file. They are valid
// until the next call.
func (w *window) get(ctx context.Context, off, n int64) ([]byte, error) {
	n = min(n, w.f.size-off)
	if off >= w.at && off+n <= w.at+int64(len(w.buf)) {
		return w.buf[off-w.at:][:n], nil
	}
	size := min(max(n, windowLen), w.f.size-off)
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	w.at, w.buf = off, w.buf[:size]
	if err := w.f.r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: w.buf}}); err != nil {
		w.buf = nil
		return nil, wrap("chunks", off, err)
	}
	return w.buf[:n], nil
}
