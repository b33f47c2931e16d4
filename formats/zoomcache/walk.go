package zoomcache

import (
	"bytes"
	"context"

	"github.com/farread/farread/rangeio"
)

// A walker visits the blocks of the file. It gets the bytes of the file piece
// by piece.
type walker struct {
	f    *File
	want func(*Block, *Track) bool
	fn   visit
	// early tells that fn may end the walk before the end of the file.
	early bool

	pos int64  // offset of the next block, perhaps behind buf
	buf []byte // bytes of the file from at on: a window
	at  int64

	tail   []byte // bytes of earlier windows, from pos on
	joined []byte // tail and window, if the window has no room for the tail

	// After damage, with Resync: where the damage began, its cause, and whether the
	// next block is being looked for.
	lost  int64
	cause error
	p     Packet // memory of decode
	s     Summary
}

// rest returns the known bytes from the next block on. last tells that the file
// ends with them.
func (w *walker) rest() (p []byte, last bool) {
	end := w.at + int64(len(w.buf))
	if w.pos >= end {
		return nil, end == w.f.size
	}
	return w.buf[w.pos-w.at:], end == w.f.size
}

// steps visits the blocks whose bytes are all known.
func (w *walker) steps(ctx context.Context) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if w.cause != nil {
			if more := w.search(); more {
				return nil
			}
			continue
		}
		if more, err := w.step(ctx); more || err != nil {
			return err
		}
	}
}

// step visits the next block. more tells that it needs more bytes, or that the file has
// ended.
func (w *walker) step(ctx context.Context) (more bool, err error) {
	p, last := w.rest()
	if len(p) == 0 || len(p) < BlockHeaderLen && !last {
		return true, nil
	}
	b, err := w.f.ParseBlock(p, w.pos)
	if err != nil {
		return false, w.damage(err, 1)
	}
	t := w.f.tracks[b.Track]
	wanted := t != nil && w.want(&b, t)
	need := int64(0)
	switch {
	case t == nil && b.Size() > w.f.o.Window: // too long to be held in memory
	case w.f.o.Resync: // the bytes after the block are needed, too
		need = min(b.Size()+BlockHeaderLen, w.f.size-w.pos)
	case wanted:
		need = b.Size()
	}
	if int64(len(p)) < need {
		return true, nil
	}
	if w.f.o.Resync {
		bad, err := w.doubt(ctx, b, t, p)
		if err != nil {
			return false, err
		}
		if bad != nil {
			return false, w.damage(bad, markerLen)
		}
	}
	var content []byte
	if wanted {
		content = p[BlockHeaderLen:b.Size():b.Size()]
	}
	bad, err := w.fn(b, t, content)
	switch {
	case err != nil:
		return false, err
	case bad != nil && !w.f.o.Resync:
		return false, bad
	case bad != nil:
		w.tell(Damage{w.pos, w.pos + b.Size(), bad})
	}
	w.pos += b.Size()
	return false, nil
}

// doubt returns an error if the length of a block may be damaged. If another block
// follows the block, its length is right. Otherwise no block may begin inside the
// block, and the block must decode. The checks come in this order, so that nothing is
// decoded twice.
func (w *walker) doubt(ctx context.Context, b Block, t *Track, p []byte) (bad, err error) {
	end := w.pos + b.Size()
	if int64(len(p)) < min(b.Size()+BlockHeaderLen, w.f.size-w.pos) {
		next := make([]byte, min(BlockHeaderLen, w.f.size-end))
		if err := w.f.r.ReadRanges(ctx, []rangeio.Span{{Off: end, P: next}}); err != nil {
			return nil, wrapRead(end, err)
		}
		if !w.f.follows(next, end) {
			return corrupt(b.part(), b.Off, "no block follows the %d bytes of it", b.Len), nil
		}
		return nil, nil
	}
	switch {
	case w.f.follows(p[b.Size():], end):
		return nil, nil
	case t == nil:
		return corrupt(b.part(), b.Off, "no block follows the %d bytes of it", b.Len), nil
	}
	stop := min(b.Size()+int64(len(markerStart))-1, int64(len(p)))
	for i := markerLen; ; i++ {
		k := bytes.Index(p[min(int64(i), stop):stop], markerStart)
		if k < 0 {
			return w.decode(b, t, p[BlockHeaderLen:b.Size()]), nil
		}
		if i += k; w.f.plausible(p[i:], w.pos+int64(i)) {
			return corrupt(b.part(), w.pos+int64(i), "another block begins inside it, and none behind it"), nil
		}
	}
}

// decode returns an error if a block cannot be decoded.
func (w *walker) decode(b Block, t *Track, content []byte) error {
	if b.Summary {
		return t.DecodeSummary(&w.s, b, content)
	}
	return t.DecodePacket(&w.p, b, content, w.f.o.Limits)
}

// ParseBlock is the function ParseBlock for a header at offset pos of this file,
// with the limits of Options. It also checks the level, and that the file is long
// enough for the block.
func (f *File) ParseBlock(p []byte, pos int64) (Block, error) {
	b, err := ParseBlock(p, pos, f.o.Limits)
	if err == nil && b.Summary && f.tracks[b.Track] != nil && (b.Level < 1 || b.Level > MaxLevel) {
		err = corrupt(b.part(), pos+12, "level %d", b.Level)
	}
	if err == nil && b.Len > f.size-pos-BlockHeaderLen {
		err = corrupt(b.part(), pos+32, "a content of %d bytes, the file ends after %d", b.Len, f.size-pos-BlockHeaderLen)
	}
	return b, err
}

// damage ends the walk. With Resync it looks for the next block instead, from skip
// bytes on.
func (w *walker) damage(cause error, skip int64) error {
	if !w.f.o.Resync {
		return cause
	}
	w.lost, w.cause = w.pos, cause
	w.pos = min(w.pos+skip, w.f.size)
	return nil
}

func (w *walker) tell(d Damage) {
	if w.f.o.Damaged != nil {
		w.f.o.Damaged(d)
	}
}
