package blosc

import (
	"github.com/farread/farread/formats"
)

// An encoding is a checked EncodeOptions for data of one length.
type encoding struct {
	h        Header // header as it will be written, except CBytes and values that depend on the data
	itemSize int    // the true one, which may be above 255
	level    int    // 1..9
	store    bool
	dict     bool
	parallel int
	steps    [6]step // steps in the order of encoding
	n        int
	shape    []int
}

// newEncoding checks o and decides on blocks and streams.
func newEncoding(nbytes int, o *EncodeOptions) (encoding, error) {
	e := encoding{itemSize: max(o.TypeSize, 1), level: o.Level, dict: o.Dict, parallel: o.Parallel, shape: o.BlockShape}
	e.h = Header{Version: 5, VersionLZ: 1, NBytes: nbytes, TypeSize: e.itemSize, Codec: o.Codec, CodecMeta: o.CodecMeta, Extended: !o.Blosc1}
	if o.Blosc1 {
		e.h.Version = 2
	}
	if e.itemSize > MaxTypeSize {
		e.h.TypeSize = 1
	}
	switch {
	case o.TypeSize < 0 || o.TypeSize > MaxBlockSize:
		return e, unsupported("chunk", "items of %d bytes", o.TypeSize)
	case o.Level < LevelStore || o.Level > 9:
		return e, unsupported("chunk", "level %d", o.Level)
	case o.BlockSize < 0 || o.BlockSize > MaxBlockSize:
		return e, unsupported("chunk", "blocks of %d bytes", o.BlockSize)
	case o.Level == LevelStore:
		e.store = true
	case o.Level == 0:
		e.level = 5
	}
	limit := maxNBytes
	if !e.h.Extended {
		limit = maxNBytes1
	}
	if nbytes < 0 || nbytes > limit {
		return e, fail("chunk", -1, formats.ErrTooLarge, "%d bytes, a chunk has at most %d", nbytes, limit)
	}
	flags, err := e.codecFlags()
	if err != nil {
		return e, err
	}
	e.h.Flags = flags
	if err := e.setFilters(o.Filters); err != nil {
		return e, err
	}
	e.setBlocks(o)
	return e, nil
}

// codecFlags is the format code in its place.
func (e *encoding) codecFlags() (uint8, error) {
	switch e.h.Codec {
	case BloscLZ:
		return 0, nil
	case LZ4, LZ4HC:
		return 1 << 5, nil
	case Zlib:
		return 3 << 5, nil
	case Zstd:
		return 4 << 5, nil
	case Snappy: // old chunks only
	}
	return 0, unsupported("chunk", "writing with codec %s", e.h.Codec)
}

// setFilters fills the slots of the header, and the steps that change any bytes.
func (e *encoding) setFilters(filters []Filter) error {
	if filters == nil {
		filters = []Filter{5: {ID: Shuffle}} // the slot in which C puts its default
	}
	if len(filters) > len(e.h.Filters) {
		return unsupported("chunk", "%d filters, the most is %d", len(filters), len(e.h.Filters))
	}
	for i, f := range filters {
		s := step{id: f.ID, width: e.h.TypeSize, cell: int(f.Meta)}
		skip := false
		switch f.ID {
		case NoFilter:
			skip = true
		case Shuffle:
			if f.Meta > 0 {
				s.width = int(f.Meta)
			}
			skip = s.width == 1
		case BitShuffle, Delta:
		case TruncPrec, IntTrunc:
		case ByteDelta:
			if f.Meta == 0 {
				f.Meta = uint8(e.h.TypeSize)
			}
			s.width = int(f.Meta)
		case NDCell:
			if s.width = e.itemSize; !holdsCell(e.shape, s.cell) {
				return unsupported("chunk", "filter %s: cells of %d items along each axis, blocks of %v", s.id, s.cell, e.shape)
			}
		default:
			return unsupported("chunk", "writing with filter %s", f.ID)
		}
		e.h.Filters[i] = f
		if !skip {
			e.steps[e.n] = s
			e.n++
		}
	}
	if e.h.Extended {
		e.h.Flags |= flagsExtended
		if e.has(Delta) {
			e.h.Flags |= flagDelta
		}
		return nil
	}
	return e.filters1()
}

// holdsCell reports whether a block has the items of a whole cell. c-blosc2's
// filter works on no smaller blocks, in either direction.
func holdsCell(shape []int, edge int) bool {
	items := 1
	for _, n := range shape {
		if n < 1 || n > MaxBlockSize/items {
			return false
		}
		items *= n
	}
	for range shape {
		items /= max(edge, 1)
	}
	return items > 0 && edge > 0 && len(shape) > 0
}

func (e *encoding) has(id FilterID) bool {
	for _, s := range e.steps[:e.n] {
		if s.id == id {
			return true
		}
	}
	return false
}

// filters1 notes in the flags the filters that Blosc1 has.
func (e *encoding) filters1() error {
	for _, s := range e.steps[:e.n] {
		if e.n > 1 || s.id != Shuffle && s.id != BitShuffle || s.width != e.h.TypeSize {
			return unsupported("chunk", "filter %s in such a pipeline of Blosc1", s.id)
		}
		if s.id == Shuffle {
			e.h.Flags |= flagShuffle
		} else {
			e.h.Flags |= flagBitShuffle
		}
	}
	return nil
}

// Sizes in the rules by which the C libraries split and cut (blosc2's stune.c, blosc's
// blosc.c), for a first-level cache of 32 KiB on every machine.
const (
	l1             = 32 << 10
	minSplitItems2 = 32
	maxSplitBlock2 = 4 << 20
	minSplitBlock1 = 64 << 10
	maxSplitBlock1 = 1 << 20
	minBlock1      = 128
	maxBlock1      = (1<<31 - 1 - 255*4) / 3
)

// setBlocks decides on the length of blocks and on splitting them.
func (e *encoding) setBlocks(o *EncodeOptions) {
	h, ts := &e.h, e.h.TypeSize
	b := o.BlockSize
	if b == 0 {
		b = e.autoBlock(o.Split)
	} else if !h.Extended {
		b = min(max(b, minBlock1), maxBlock1)
	}
	b = min(b, h.NBytes)
	if b > ts {
		b -= b % ts
	}
	h.BlockSize = max(b, 1)
	h.Split = e.splits(o.Split, h.BlockSize)
	if !h.Split {
		h.Flags |= flagUnsplit
	}
}

// autoBlock is the automatic length of a block.
func (e *encoding) autoBlock(mode SplitMode) int {
	n := e.h.NBytes
	if n < e.h.TypeSize {
		return 1
	}
	b, level := n, max(e.level, 0)
	if n >= l1 {
		b = l1 * [...]int{1, 2, 4, 8, 16, 16, 32, 32, 32, 32}[level] / 4
		if e.level == 9 && e.highRatio() {
			b *= 2
		}
		if e.highRatio() {
			b *= 2
		}
	}
	if !e.store && e.splits(mode, b) {
		b = [...]int{32, 32, 32, 32, 64, 64, 64, 128, 256, 512}[e.level] << 10
		if e.h.Extended {
			b = min(max(b*e.h.TypeSize, l1), maxSplitBlock2)
		} else {
			b = min(max(min(b, 256<<10)*e.h.TypeSize, minSplitBlock1), maxSplitBlock1)
		}
	}
	return b
}

// highRatio says that the codec gains by larger blocks.
func (e *encoding) highRatio() bool {
	return e.h.Codec == LZ4HC || e.h.Codec == Zlib || e.h.Codec == Zstd
}

// splits applies the rule of the C libraries to blocks of b bytes.
func (e *encoding) splits(mode SplitMode, b int) bool {
	ts, c := e.h.TypeSize, e.h.Codec
	if mode == SplitNever || b < ts {
		return false
	}
	if !e.h.Extended {
		// No reader would take such blocks for split, whatever the flag says.
		if ts > maxSplit1 || b/ts < minSplitItems1 {
			return false
		}
		return mode == SplitAlways || c == BloscLZ || c != Zstd && mode != SplitAuto
	}
	if mode == SplitAlways {
		return true
	}
	fast := c == BloscLZ || c == LZ4 || c == Zstd && e.level <= 5
	return fast && e.hasShuffle() && ts <= maxSplit1 && b/ts >= minSplitItems2
}

// hasShuffle looks at the slots of the header: a shuffle of single bytes counts.
func (e *encoding) hasShuffle() bool {
	for _, f := range e.h.Filters {
		if f.ID == Shuffle {
			return true
		}
	}
	return false
}
