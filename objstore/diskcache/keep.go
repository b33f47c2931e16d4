package diskcache

import (
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// Keep implements objstore.Kept. It writes short spans a few pieces at a time, and long
// ones from where they are.
func (v *version) Keep(spans []rangeio.Span) {
	if v.c.resting() {
		return
	}
	sums := v.sums(spans)
	v.writing.Lock()
	defer v.writing.Unlock()
	b := batch{v: v}
	if err := errors.Join(b.all(spans, sums), b.tell(0), b.close()); err != nil {
		v.c.failed(err)
		v.own = nil
	}
}

// long is the length from which a span is written as it is: pieces of its own cost two
// calls of the system each, and copying costs more from about here on.
const long = 64 << 10

// sums has the checksums of the pieces of long spans that are not kept yet, nil for other
// spans. Many goroutines make them side by side, before they wait to write.
func (v *version) sums(spans []rangeio.Span) [][]uint32 {
	sums := make([][]uint32, len(spans))
	for i, s := range spans {
		if len(s.P) < long || v.has(s) {
			continue
		}
		for p := range slices.Chunk(s.P, v.c.piece) {
			sums[i] = append(sums[i], crc32.Checksum(p, castagnoli))
		}
	}
	return sums
}

// has says whether all bytes of a span are kept.
func (v *version) has(s rangeio.Span) bool {
	at := s.Off
	for _, w := range v.views(s.Off, s.End()) {
		if w.from != at {
			return false
		}
		at = w.to
	}
	return at == s.End()
}

// A batch writes the spans of one call of Keep. Pieces of short spans are written a few
// by one call of the system; the last one grows while spans follow each other without a
// gap.
type batch struct {
	v      *version
	f      *os.File // the version's own segment; nil: not open
	buf    []byte
	pieces []piece // pos is the place of their bytes in buf
	wrote  int64
}

// all keeps the spans that are not kept yet.
func (b *batch) all(spans []rangeio.Span, sums [][]uint32) error {
	for i, s := range spans {
		if b.v.has(s) {
			continue
		}
		put := b.put
		if sums[i] != nil {
			put = func(s rangeio.Span) error { return b.putLong(s, sums[i]) }
		}
		if err := put(s); err != nil {
			return err
		}
	}
	return b.flush()
}

func (b *batch) close() (err error) {
	if b.f != nil {
		err = b.f.Close()
	}
	if b.buf != nil {
		bufpool.Put(b.buf)
	}
	return err
}

// putLong writes a span in pieces of its own. The head of a piece follows its bytes, so
// that nobody takes a piece for whole before it is.
func (b *batch) putLong(s rangeio.Span, sums []uint32) error {
	if err := b.flush(); err != nil {
		return err
	}
	var head [pieceHead]byte
	for i := 0; len(s.P) > 0; i++ {
		n := min(len(s.P), b.v.c.piece)
		seg, err := b.segment(int64(pieceHead + n))
		if err != nil {
			return err
		}
		x := piece{off: s.Off, len: int32(n), crc: sums[i], pos: seg.size + pieceHead}
		putPiece(head[:], seg.salt, x)
		if err := errors.Join(b.v.c.write(b.f, s.P[:n], x.pos), b.v.c.write(b.f, head[:], seg.size)); err != nil {
			return err
		}
		b.done(int64(pieceHead+n), x)
		s = rangeio.Span{Off: s.Off + int64(n), P: s.P[n:]}
	}
	return nil
}

// segment opens the version's own segment for n bytes more.
func (b *batch) segment(n int64) (*segment, error) {
	if err := b.tell(min(b.v.c.cfg.MaxBytes/lookShare, mostShare)); err != nil {
		return nil, err
	}
	if b.f != nil && b.v.own.size+n <= b.v.c.segment {
		return b.v.own, nil
	}
	before := b.v.own
	if b.f != nil {
		err := b.f.Close()
		if b.f = nil; err != nil {
			return nil, err
		}
	}
	f, err := b.v.appendTo(n)
	if err != nil {
		return nil, err
	}
	b.f = f
	if b.v.own != before {
		b.wrote += b.v.own.size // the head of a new segment
	}
	return b.v.own, nil
}

// done notes pieces that were appended to the segment, and take n bytes of it.
func (b *batch) done(n int64, pieces ...piece) {
	v := b.v
	v.own.size += n
	b.wrote += n
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, x := range pieces {
		if v.pieces < maxPieces/2 {
			v.add(v.own, x)
		}
	}
}

// tell counts what was written, now and then: files may be evicted for it, so the next
// piece looks whether its segment is still there.
func (b *batch) tell(most int64) error {
	if b.wrote <= most {
		return nil
	}
	b.v.c.wrote(b.wrote)
	b.wrote = 0
	f := b.f
	b.f = nil
	if f == nil {
		return nil
	}
	return f.Close()
}

func (b *batch) put(s rangeio.Span) error {
	if b.buf == nil {
		b.buf = bufpool.Get(2 * (b.v.c.piece + pieceHead))[:0]
	}
	for len(s.P) > 0 {
		last := len(b.pieces) - 1
		most := b.v.c.piece
		if last >= 0 && b.pieces[last].off+int64(b.pieces[last].len) == s.Off && int(b.pieces[last].len) < most {
			x := &b.pieces[last]
			n := min(len(s.P), most-int(x.len))
			b.buf = append(b.buf, s.P[:n]...)
			x.len += int32(n)
			s = rangeio.Span{Off: s.Off + int64(n), P: s.P[n:]}
			continue
		}
		if len(b.buf)+pieceHead+most > cap(b.buf) {
			if err := b.flush(); err != nil {
				return err
			}
		}
		b.buf = append(b.buf, make([]byte, pieceHead)...)
		b.pieces = append(b.pieces, piece{off: s.Off, pos: int64(len(b.buf))})
	}
	return nil
}

// flush appends the pieces to the version's own segment, or to a new one if that is
// long or gone.
func (b *batch) flush() error {
	if len(b.pieces) == 0 {
		return nil
	}
	s, err := b.segment(int64(len(b.buf)))
	if err != nil {
		return err
	}
	for i := range b.pieces {
		x := &b.pieces[i]
		x.crc = crc32.Checksum(b.buf[x.pos:x.pos+int64(x.len)], castagnoli)
		putPiece(b.buf[x.pos-pieceHead:], s.salt, *x)
		x.pos += s.size
	}
	if err := b.v.c.write(b.f, b.buf, s.size); err != nil {
		return err
	}
	b.done(int64(len(b.buf)), b.pieces...)
	b.buf, b.pieces = b.buf[:0], b.pieces[:0]
	return nil
}

// appendTo opens the version's own segment, v.own, for n bytes more.
func (v *version) appendTo(n int64) (*os.File, error) {
	if v.own != nil && v.own.size+n <= max(v.c.segment, n) {
		f, err := v.c.root.OpenFile(v.own.name, os.O_WRONLY, filePerm)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		v.lose(v.own) // evicted
	}
	s := &segment{name: v.id.dir() + "/" + v.id.prefix() + random() + ".seg"}
	copy(s.salt[:], random())
	f, err := v.create(s.name)
	if err != nil {
		return nil, err
	}
	head := appendHead(nil, s.salt, v.id)
	if err := v.c.write(f, head, 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.size = int64(len(head))
	v.own = s
	return f, nil
}

func (v *version) create(name string) (*os.File, error) {
	for try := 0; ; try++ {
		f, err := v.c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
		if try > 3 || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if err := v.c.root.MkdirAll(v.id.dir(), dirPerm); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		} // the folder may be gone again: another process has evicted what it had
	}
}
