package gulp

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
)

// A builder turns the text of a .gmeta into items, checking as it goes.
type builder struct {
	s      scanner
	size   int64 // length of the text
	data   int64 // size of the data object
	limits formats.Limits

	items  []item
	byID   map[string]int
	totals Totals
	kept   int64 // memory of what is kept, roughly

	id      string // being parsed, with inID
	inID    bool
	inFrame int // frame being parsed, negative when none is

	scratch []frame // frames of the id being parsed
	runs    []run
	frames  slab[frame]
	text    slab[byte]
}

// A run is a stretch of the data object that frames claim without a hole, in
// index order. Most gulp chunks are one single run; overlaps are found by
// sorting the runs instead of the frames.
type run struct {
	off, end    int64
	item, frame int // number of its first frame: id and index
}

// Rough memory of one entry, for the count against Limits.MaxMeta.
const (
	idCost    = 130 // item, map entry, string header, their spare room
	frameCost = 16  // frame
)

func newBuilder(more func() ([]byte, error), metaSize, dataSize int64, l formats.Limits) *builder {
	// A block is small for a small index, and never so large that the unused end of
	// the last block matters.
	block := int(max(16, min(metaSize/frameCost, 4096)))
	b := &builder{size: metaSize, data: dataSize, limits: l, byID: map[string]int{}, inFrame: -1,
		frames: slab[frame]{block: block}, text: slab[byte]{block: block * frameCost}}
	b.s = scanner{more: more, where: b.where, mark: -1, words: true}
	return b
}

func (b *builder) where() string {
	switch {
	case !b.inID:
		return "gmeta"
	case b.inFrame < 0:
		return partOf(b.id)
	}
	return fmt.Sprintf("%s frame %d", partOf(b.id), b.inFrame)
}

func (b *builder) parse() error {
	c, err := b.s.token()
	if err != nil {
		return err
	}
	if c == 0xEF {
		return b.s.bad("byte order mark before the JSON text")
	}
	if err := b.s.list('{', '}', "the object of all ids", b.member); err != nil {
		return err
	}
	if err := b.s.atEnd(); err != nil {
		return err
	}
	return b.overlaps()
}

// member parses one id and its item.
func (b *builder) member() error {
	b.inID, b.inFrame = false, -1
	id, err := b.s.str()
	if err != nil {
		return err
	}
	b.id, b.inID = id, true
	if k, dup := b.byID[id]; dup {
		return b.s.bad("occurs again, first as number %d, with %d frames", k, len(b.items[k].frames))
	}
	if err := b.s.expect(':', "a colon"); err != nil {
		return err
	}
	it := item{id: id}
	if err := b.item(&it); err != nil {
		return err
	}
	b.byID[id] = len(b.items)
	b.room()
	b.items = append(b.items, it)
	b.id, b.inID = "", false
	return b.count(idCost + len(id))
}

// room makes room for one more item. It grows to the number of ids that the text so
// far lets expect, at most fivefold, since the text may go on differently. That leaves
// less garbage than growing step by step.
func (b *builder) room() {
	n := len(b.items)
	if n < cap(b.items) {
		return
	}
	all := int64(n) * b.size / max(b.s.base+int64(b.s.pos), 1)
	b.items = slices.Grow(b.items, int(max(16, min(all-int64(n), int64(n)*4)+int64(n)/16)))
}

func (b *builder) item(it *item) error {
	var haveFrames, haveMeta bool
	err := b.s.list('{', '}', "the object of an id", func() error {
		key, err := b.s.key("frame_info", "meta_data")
		if err != nil {
			return err
		}
		if err := b.s.expect(':', "a colon"); err != nil {
			return err
		}
		switch key {
		case "frame_info":
			if haveFrames {
				return b.s.bad("frame_info twice")
			}
			haveFrames = true
			it.frames, err = b.frameInfo()
			return err
		case "meta_data":
			if haveMeta {
				return b.s.bad("meta_data twice")
			}
			haveMeta = true
			raw, err := b.s.raw()
			if err != nil {
				return err
			}
			it.meta = b.text.copy(raw)
			it.metaOff = b.s.base + int64(b.s.pos) - int64(len(raw))
			return b.count(len(raw))
		}
		return b.s.skip(1) // unknown members are left alone, as GulpIO does
	})
	if err == nil && !haveFrames {
		err = b.s.bad("no frame_info")
	}
	return err
}

func (b *builder) frameInfo() ([]frame, error) {
	b.scratch = b.scratch[:0]
	err := b.s.list('[', ']', "the list frame_info", func() error {
		b.inFrame = len(b.scratch)
		f, err := b.triplet()
		if err != nil {
			return err
		}
		if n := len(b.runs); n > 0 && b.runs[n-1].end == f.off {
			b.runs[n-1].end = f.end()
		} else {
			b.runs = append(b.runs, run{f.off, f.end(), len(b.items), len(b.scratch)})
		}
		b.scratch = append(b.scratch, f)
		b.totals.Frames++
		b.totals.Bytes += f.size()
		b.totals.Padding += f.pad()
		return b.count(frameCost)
	})
	b.inFrame = -1
	return b.frames.copy(b.scratch), err
}

// count adds to the memory that is kept and checks the limits.
func (b *builder) count(memory int) error {
	b.kept += int64(memory)
	if b.kept > b.limits.MaxMeta {
		return b.s.fail(-1, formats.ErrTooLarge, "more than %d bytes of index", b.limits.MaxMeta)
	}
	if n := b.totals.Frames + int64(len(b.items)); n > b.limits.MaxEntries {
		return b.s.fail(-1, formats.ErrTooLarge, "more than %d ids and frames", b.limits.MaxEntries)
	}
	return nil
}

// triplet parses [offset, padding, total length] and checks it alone.
func (b *builder) triplet() (frame, error) {
	var v [3]int64
	if err := b.s.expect('[', "[offset, padding, length]"); err != nil {
		return frame{}, err
	}
	for i := range v {
		if i > 0 {
			if err := b.s.expect(',', "a comma and the rest of [offset, padding, length]"); err != nil {
				return frame{}, err
			}
		}
		var err error
		if v[i], err = b.integer(); err != nil {
			return frame{}, err
		}
	}
	if err := b.s.expect(']', "the end of [offset, padding, length]"); err != nil {
		return frame{}, err
	}
	off, pad, total := v[0], v[1], v[2]
	switch {
	case pad < 0 || pad > 3:
		return frame{}, b.s.bad("padding %d is not 0 to 3", pad)
	case pad >= total:
		return frame{}, b.s.bad("total length %d with padding %d leaves no payload", total, pad)
	case off < 0 || off > b.data || total > b.data-off:
		return frame{}, b.s.bad("[%d, +%d) lies outside the data object of %d bytes", off, total, b.data)
	}
	return newFrame(off, pad, total), nil
}

// integer parses a JSON number without fraction or exponent that fits int64.
func (b *builder) integer() (int64, error) {
	c, err := b.s.token()
	if err != nil {
		return 0, err
	}
	neg := c == '-'
	if neg {
		b.s.pos++
	}
	var v int64
	for n := 0; ; n++ {
		c, ok := b.s.soft()
		if !ok || c < '0' || c > '9' {
			switch {
			case n == 0 && ok:
				return 0, b.s.bad("%q where an integer should be", c)
			case n == 0:
				return 0, b.s.noDigit(c, ok)
			case ok && (c == '.' || c == 'e' || c == 'E'):
				return 0, b.s.bad("a number that is no integer")
			case neg:
				v = -v
			}
			return v, nil
		}
		d := int64(c - '0')
		if n == 1 && v == 0 {
			return 0, b.s.bad("a number with a leading zero")
		}
		if v > (math.MaxInt64-d)/10 {
			return 0, b.s.bad("a number above %d", int64(math.MaxInt64))
		}
		v = v*10 + d
		b.s.pos++
	}
}

// overlaps finds two frames that claim the same byte.
func (b *builder) overlaps() error {
	slices.SortFunc(b.runs, func(x, y run) int {
		return cmp.Or(cmp.Compare(x.off, y.off), cmp.Compare(x.item, y.item), cmp.Compare(x.frame, y.frame))
	})
	for i := 1; i < len(b.runs); i++ {
		x, y := b.runs[i-1], b.runs[i]
		if y.off >= x.end {
			continue
		}
		f := b.items[y.item].frames[y.frame]
		id, n := b.claimant(x, y.off)
		b.id, b.inID, b.inFrame = b.items[y.item].id, true, y.frame
		return b.s.fail(-1, formats.ErrCorrupt, "[%d, +%d) overlaps %s frame %d", f.off, f.total(), partOf(id), n)
	}
	return nil
}

// claimant is the frame of run r that covers the byte at off.
func (b *builder) claimant(r run, off int64) (id string, n int) {
	k, n := r.item, r.frame
	for {
		for n >= len(b.items[k].frames) {
			k, n = k+1, 0
		}
		if off < b.items[k].frames[n].end() {
			return b.items[k].id, n
		}
		n++
	}
}

// A slab cuts exact pieces from large blocks of memory. So there is no spare room
// behind a piece, and a growing list leaves no garbage.
type slab[T any] struct {
	free  []T
	block int
}

func (a *slab[T]) copy(src []T) []T {
	n := len(src)
	if n > len(a.free) {
		if n > a.block/4 { // keep the rest of the block for shorter slices
			return slices.Clone(src)
		}
		a.free = make([]T, a.block)
	}
	dst := a.free[:n:n]
	a.free = a.free[n:]
	copy(dst, src)
	return dst
}

// PlainJSON returns raw with the number words of Python's json replaced, so
// that it is strict JSON: NaN becomes null, Infinity "inf" and -Infinity
// "-inf". Nothing else changes. If neither word occurs in raw, the result is
// raw itself, else a copy. raw must be what MetaData returned, or other JSON
// text.
func PlainJSON(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("NaN")) && !bytes.Contains(raw, []byte("Infinity")) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); {
		n := 1
		switch rest := raw[i:]; {
		case rest[0] == '"':
			n = stringLen(rest)
			out = append(out, rest[:n]...)
		case bytes.HasPrefix(rest, []byte("NaN")):
			n = len("NaN")
			out = append(out, "null"...)
		case bytes.HasPrefix(rest, []byte("-Infinity")):
			n = len("-Infinity")
			out = append(out, `"-inf"`...)
		case bytes.HasPrefix(rest, []byte("Infinity")):
			n = len("Infinity")
			out = append(out, `"inf"`...)
		default:
			out = append(out, rest[0])
		}
		i += n
	}
	return out
}

// stringLen is the length of the JSON string at the start of p.
func stringLen(p []byte) int {
	for i := 1; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p)
}
