package zoomindex

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/filter"
)

// A sheet gathers the spans of one level until they fill a page. They have the form of
// the page, except for the order of their bytes, so that they take little memory and
// little time.
type sheet struct {
	l                layout
	withEnds         bool
	w                int // bytes of a value
	n                int
	first, last      int64  // offsets at which the spans of the page begin and end
	gap, span, short []byte // varints: from the last span, offsets but one, offsets without a sample
	ch               []sheetChannel
	// The memory counts as what so many spans take, of row bytes each: it depends on
	// nothing but the number of spans, since what goes between the blocks depends on it.
	room int
	row  int64
}

type sheetChannel struct {
	nan                 []byte // varints of floats
	min, max, mean, rms []byte // columns of numbers of one width
	first, end          []byte
	lastMin, lastEnd    uint64
}

func newSheet(l layout, withEnds bool) *sheet {
	s := &sheet{l: l, withEnds: withEnds, w: keyWidth(l.kind), ch: make([]sheetChannel, l.width)}
	for _, n := range rowBytesOf {
		s.row += int64(n)
	}
	for _, n := range s.channelBytes() {
		s.row += int64(n * l.width)
	}
	return s
}

// rowBytesOf are the bytes of gap, span and short of most spans.
var rowBytesOf = [...]int{1, 2, 1}

// channelBytes are the bytes of a channel of most spans, in the order of sheetChannel.
func (s *sheet) channelBytes() [7]int {
	ends, means, nan := 0, 4, 0
	if s.withEnds {
		ends = s.w
	}
	if s.l.bin {
		means = 2
	}
	if s.l.kind.Float() {
		nan = 1
	}
	return [...]int{nan, s.w, s.w, means, means, ends, ends}
}

// add adds a span of n samples, with a stat for each channel.
func (s *sheet) add(entry, exit, n int64, st []stat) {
	if s.n == 0 {
		s.first, s.last = entry, entry-1
		if cap(s.gap) == 0 {
			s.begin()
		}
	}
	s.n++
	s.gap = binary.AppendVarint(s.gap, entry-s.last-1)
	s.span = binary.AppendUvarint(s.span, uint64(exit-entry))
	s.short = binary.AppendVarint(s.short, exit-entry+1-n)
	s.last = exit
	if s.l.kind == zoomcache.Unit {
		return
	}
	for i := range st {
		s.ch[i].add(s.l, s.w, &st[i], s.withEnds)
	}
}

// addBins adds successive bins at constant rate. Each has size samples, and all
// together have n. It does what add would do for each bin, but a column at a time.
func (s *sheet) addBins(entry int64, size, n int, st []stat) {
	width, whole := len(s.ch), n/size
	if whole < 2 || s.l.kind == zoomcache.Unit {
		s.addEach(entry, size, n, st)
		return
	}
	s.add(entry, entry+int64(size)-1, int64(size), st[:width]) // a gap may precede the first span; the others are adjacent
	rest := st[width : whole*width]
	clear(appendRoom(&s.gap, whole-1))
	clear(appendRoom(&s.short, whole-1))
	for range whole - 1 {
		s.span = binary.AppendUvarint(s.span, uint64(size-1))
	}
	s.n += whole - 1
	s.last = entry + int64(whole*size) - 1
	for i := range s.ch {
		s.ch[i].addBins(s.l, s.w, rest, i, width)
	}
	if whole*size < n {
		s.addEach(entry+int64(whole*size), size, n-whole*size, st[whole*width:])
	}
}

func (s *sheet) addEach(entry int64, size, n int, st []stat) {
	width := len(s.ch)
	for i := 0; i*size < n; i++ {
		m := int64(min(size, n-i*size))
		s.add(entry+int64(i*size), entry+int64(i*size)+m-1, m, st[i*width:(i+1)*width])
	}
}

// addBins adds the stats i, i+width, i+2*width and so on.
func (c *sheetChannel) addBins(l layout, w int, st []stat, i, width int) {
	n := (len(st) - i + width - 1) / width
	if l.kind.Float() {
		for k := i; k < len(st); k += width {
			c.nan = binary.AppendUvarint(c.nan, uint64(st[k].n-st[k].valid))
		}
	}
	lows, bands := appendRoom(&c.min, n*w), appendRoom(&c.max, n*w)
	le := binary.LittleEndian
	last := c.lastMin
	for k := i; k < len(st); k += width {
		x := &st[k]
		low, band := uint64(0), uint64(0)
		if x.valid > 0 {
			low, band = fold(x.min-last, w), x.max-x.min
			last = x.min
		}
		switch w {
		case 8:
			le.PutUint64(lows, low)
			le.PutUint64(bands, band)
		case 4:
			le.PutUint32(lows, uint32(low))
			le.PutUint32(bands, uint32(band))
		case 2:
			le.PutUint16(lows, uint16(low))
			le.PutUint16(bands, uint16(band))
		default:
			lows[0], bands[0] = byte(low), byte(band)
		}
		lows, bands = lows[w:], bands[w:]
	}
	c.lastMin = last
	l.addParts(appendRoom(&c.mean, 2*n), appendRoom(&c.rms, 2*n), st[i:], width)
}

// addParts adds the mean and the deviation of every width-th bin as fractions of its band.
func (l layout) addParts(means, devs []byte, st []stat, width int) {
	le := binary.LittleEndian
	valid, each := int64(0), 0.0 // most bins have as many samples as the one before
	for k := 0; k < len(st); k += width {
		x := &st[k]
		mean, dev := uint16(0), uint16(0)
		switch {
		case x.valid == 0:
			mean, dev = noQuantum, noQuantum
		case x.min == x.max && !infinite(l.kind, x.min):
		default:
			if x.valid != valid {
				valid, each = x.valid, 1/float64(x.valid)
			}
			lo, hi := 0.0, 0.0
			switch l.kind {
			case zoomcache.F64: // no bound is NaN
				lo, hi = math.Float64frombits(unorder64(x.min)), math.Float64frombits(unorder64(x.max))
			case zoomcache.I16:
				lo, hi = float64(int16(x.min^1<<15)), float64(int16(x.max^1<<15))
			default:
				lo, hi = keyFloat(l.kind, x.min), keyFloat(l.kind, x.max)
			}
			mean, dev = partsOf(lo, hi, x.sum*each, x.sq*each)
		}
		le.PutUint16(means, mean)
		le.PutUint16(devs, dev)
		means, devs = means[2:], devs[2:]
	}
}

// appendRoom makes p longer by n bytes and returns the new ones.
func appendRoom(p *[]byte, n int) []byte {
	at := len(*p)
	*p = slices.Grow(*p, n)[:at+n]
	return (*p)[at:]
}

// firstSpans is how many spans a new sheet has room for, unless a page is shorter: most
// levels of most tracks never have more.
const firstSpans = 16

// begin makes room for the first spans.
func (s *sheet) begin() {
	row, each := rowBytesOf, s.channelBytes()
	room := make([]byte, s.row*firstSpans)
	cut := func(n int) []byte {
		p := room[: 0 : n*firstSpans]
		room = room[n*firstSpans:]
		return p
	}
	s.gap, s.span, s.short = cut(row[0]), cut(row[1]), cut(row[2])
	for i := range s.ch {
		c := &s.ch[i]
		for k, p := range [...]*[]byte{&c.nan, &c.min, &c.max, &c.mean, &c.rms, &c.first, &c.end} {
			*p = cut(each[k])
		}
	}
}

func (c *sheetChannel) add(l layout, w int, x *stat, ends bool) {
	if l.kind.Float() {
		c.nan = binary.AppendUvarint(c.nan, uint64(x.n-x.valid))
	}
	low, band := uint64(0), uint64(0)
	if x.valid > 0 {
		low, band = fold(x.min-c.lastMin, w), x.max-x.min
		c.lastMin = x.min
	}
	c.min, c.max = appendKey(c.min, low, w), appendKey(c.max, band, w)
	if l.bin {
		one := [1]stat{*x}
		l.addParts(appendRoom(&c.mean, 2), appendRoom(&c.rms, 2), one[:], 1)
	} else {
		mean, rms := x.means()
		c.mean = binary.LittleEndian.AppendUint32(c.mean, math.Float32bits(float32(mean)))
		c.rms = binary.LittleEndian.AppendUint32(c.rms, math.Float32bits(float32(rms)))
	}
	if ends {
		c.first = appendKey(c.first, fold(x.first-c.lastEnd, w), w)
		c.end = appendKey(c.end, fold(x.last-x.first, w), w)
		c.lastEnd = x.last
	}
}

// appendKey appends the w low bytes of x.
func appendKey(dst []byte, x uint64, w int) []byte {
	switch w {
	case 1:
		return append(dst, byte(x&math.MaxUint8))
	case 2:
		return binary.LittleEndian.AppendUint16(dst, uint16(x))
	case 4:
		return binary.LittleEndian.AppendUint32(dst, uint32(x))
	default:
		return binary.LittleEndian.AppendUint64(dst, x)
	}
}

// reset empties the sheet.
func (s *sheet) reset() {
	s.n = 0
	s.gap, s.span, s.short = s.gap[:0], s.span[:0], s.short[:0]
	for i := range s.ch {
		c := &s.ch[i]
		*c = sheetChannel{nan: c.nan[:0], min: c.min[:0], max: c.max[:0], mean: c.mean[:0], rms: c.rms[:0], first: c.first[:0], end: c.end[:0]}
	}
}

// held is the memory that counts, in bytes.
func (s *sheet) held() int64 { return int64(s.room) * s.row }

// roundUp is the least power of two that is not below n.
func roundUp(n int) int { return 1 << bits.Len(uint(n-1)) }

// page makes the page of a sheet's spans.
func (k *packer) page(s *sheet, g *guess) ([]byte, error) {
	k.begin()
	k.bytes(s.gap)
	k.bytes(s.span)
	k.bytes(s.short)
	if s.l.kind != zoomcache.Unit {
		means := 4
		if s.l.bin {
			means = 2
		}
		for i := range s.ch {
			c := &s.ch[i]
			k.bytes(c.nan)
			k.column(c.min, s.w)
			k.column(c.max, s.w)
			k.column(c.mean, means)
			k.column(c.rms, means)
		}
	}
	return k.pack(g)
}

// ends makes the page of the first and last values.
func (k *packer) ends(s *sheet, g *guess) ([]byte, error) {
	k.begin()
	for i := range s.ch {
		k.column(s.ch[i].first, s.w)
		k.column(s.ch[i].end, s.w)
	}
	return k.pack(g)
}

// begin empties the collected bytes.
func (k *packer) begin() { k.raw, k.parts = k.raw[:0], k.parts[:0] }

// bytes appends bytes that form one part.
func (k *packer) bytes(p []byte) {
	k.raw = append(k.raw, p...)
	k.mark()
}

// mark ends a part of the collected bytes.
func (k *packer) mark() {
	if n := len(k.parts); len(k.raw) > 0 && (n == 0 || k.parts[n-1] < len(k.raw)) {
		k.parts = append(k.parts, len(k.raw))
	}
}

// column appends numbers of w bytes: the first bytes of all, then the second bytes of
// all, and so on.
func (k *packer) column(p []byte, w int) {
	at := len(k.raw)
	filter.Shuffle(appendRoom(&k.raw, len(p)), p, w)
	for n := len(p) / w; at < len(k.raw); {
		at += n
		k.parts = append(k.parts, at)
	}
}
