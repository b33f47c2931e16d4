package zoomindex

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/filter"
)

// A layout says what the pages of a level hold for each span besides minimum and
// maximum.
type layout struct {
	kind  zoomcache.Kind
	width int  // channels
	bin   bool // mean and deviation as parts of the band, else mean and rms as float32
}

const (
	// quantum is the number of steps into which a band is divided; noQuantum stands for
	// no value.
	quantum   = 65534
	noQuantum = 65535
	// maxPage bounds the decoded size of a page.
	maxPage = 64 << 20
)

// fold is zigzag for differences of w bytes, which wrap.
func fold(d uint64, w int) uint64 {
	shift := 64 - 8*w
	s := int64(d<<shift) >> shift
	return (uint64(s)<<1 ^ uint64(s>>63)) & keyMask(w)
}

func unfold(u uint64, w int) uint64 {
	return (u>>1 ^ -(u & 1)) & keyMask(w)
}

// partsOf returns the mean and the deviation as fractions of the band from lo to hi. m
// is the mean of the values, sq that of their squares.
func partsOf(lo, hi, m, sq float64) (mean, dev uint16) {
	band := hi - lo
	if !(m >= lo-band && m <= hi+band && band <= math.MaxFloat64 && sq <= math.MaxFloat64) {
		return noQuantum, noQuantum
	}
	if band == 0 { // integers that round to the same float
		return 0, 0
	}
	each := 1 / band
	a, b := (m-lo)*each, 0.0
	if d := sq - float64(m*m); d > 0 {
		b = 2 * math.Sqrt(d) * each
	}
	return part(a), part(b)
}

// part turns a fraction of a band, which rounding may have moved outside of [0, 1],
// into a number of quanta.
func part(x float64) uint16 {
	if x >= 1 {
		return quantum
	}
	if x > 0 { // false for NaN
		return uint16(float64(x*quantum) + 0.5)
	}
	return 0
}

// An unpacker reads pages. It is not for concurrent use.
type unpacker struct {
	dec   codec.Decoder
	raw   []byte
	p     []byte // rest of raw
	plane []byte
}

func damagedIndex() error { return index.ErrUnusable }

// open decompresses a page.
func (u *unpacker) open(p []byte) error {
	n, k := binary.Uvarint(p)
	if k <= 0 || n > maxPage || uint64(len(p)-k) > n {
		return damagedIndex()
	}
	p = p[k:]
	if uint64(len(p)) == n {
		u.p = p
		return nil
	}
	if uint64(cap(u.raw)) < n {
		u.raw = make([]byte, n)
	}
	u.raw = u.raw[:n]
	if err := u.dec.Decode(codec.Zlib, u.raw, p, nil); err != nil {
		return damagedIndex()
	}
	u.p = u.raw
	return nil
}

func (u *unpacker) uint() (uint64, bool) {
	v, n := binary.Uvarint(u.p)
	if n <= 0 {
		return 0, false
	}
	u.p = u.p[n:]
	return v, true
}

func (u *unpacker) int() (int64, bool) {
	v, n := binary.Varint(u.p)
	if n <= 0 {
		return 0, false
	}
	u.p = u.p[n:]
	return v, true
}

// page appends the spans of a page to c.
func (u *unpacker) page(l layout, p []byte, pg *index.Page, c *cells) error {
	if err := u.open(p); err != nil {
		return err
	}
	if pg.Count < 1 || pg.Count > int64(len(u.p)/3) {
		return damagedIndex()
	}
	at, n := c.len(), int(pg.Count)
	if err := u.spans(pg, c, n); err != nil {
		return err
	}
	if l.kind == zoomcache.Unit {
		for i := at; i < at+n; i++ {
			for ch := range c.at(i) {
				c.at(i)[ch] = stat{n: c.n[i], valid: c.n[i]}
			}
		}
	} else {
		for ch := range l.width {
			if !u.channel(l, c, at, ch) {
				return damagedIndex()
			}
		}
	}
	if len(u.p) > 0 {
		return damagedIndex()
	}
	return nil
}

// spans reads the places of the n spans of a page. They are in order and inside the
// page's range.
func (u *unpacker) spans(pg *index.Page, c *cells, n int) error {
	at := c.len()
	if int64(n)*int64(c.width) > int64(len(u.p)) { // a channel takes more than a byte
		return damagedIndex()
	}
	c.grow(n)
	for range n {
		gap, ok := u.int()
		if !ok {
			return damagedIndex()
		}
		c.add(gap, 0, 0)
	}
	entry := pg.First
	for i := at; i < at+n; i++ {
		span, ok := u.uint()
		entry += c.entry[i]
		if !ok || span > math.MaxInt64 || c.entry[i] < -1 || entry < pg.First || entry > pg.Last || int64(span) > pg.Last-entry {
			return damagedIndex()
		}
		c.entry[i], c.exit[i] = entry, entry+int64(span)
		entry = c.exit[i] + 1
	}
	if c.exit[at+n-1] != pg.Last || c.entry[at] != pg.First {
		return damagedIndex()
	}
	for i := at; i < at+n; i++ {
		d, ok := u.int()
		c.n[i] = c.exit[i] - c.entry[i] + 1 - d
		if !ok || c.n[i] < 1 {
			return damagedIndex()
		}
	}
	return nil
}

func (u *unpacker) channel(l layout, c *cells, at, ch int) bool {
	w := keyWidth(l.kind)
	n := c.len() - at
	for i := at; i < at+n; i++ {
		s := &c.at(i)[ch]
		s.n, s.valid = c.n[i], c.n[i]
		if !l.kind.Float() {
			continue
		}
		nan, ok := u.uint()
		if !ok || nan > uint64(s.n) {
			return false
		}
		s.valid -= int64(nan)
	}
	last := uint64(0)
	ok := u.column(w, n, func(i int, x uint64) {
		if s := &c.at(at + i)[ch]; s.valid > 0 {
			last = (last + unfold(x, w)) & keyMask(w)
			s.min = last
		}
	}) && u.column(w, n, func(i int, x uint64) {
		if s := &c.at(at + i)[ch]; s.valid > 0 {
			s.max = (s.min + x) & keyMask(w)
		}
	})
	if !ok {
		return false
	}
	if l.bin {
		return u.column(2, n, func(i int, x uint64) { c.at(at + i)[ch].sum = float64(x) }) &&
			u.column(2, n, func(i int, x uint64) { l.restore(&c.at(at + i)[ch], float64(x)) })
	}
	return u.column(4, n, func(i int, x uint64) {
		s := &c.at(at + i)[ch]
		s.sum = l.single(s, float64(math.Float32frombits(uint32(x)))) * float64(s.valid)
		if s.valid == 0 {
			s.sum = 0
		}
	}) && u.column(4, n, func(i int, x uint64) {
		s := &c.at(at + i)[ch]
		rms := float64(math.Float32frombits(uint32(x)))
		if s.sq = rms * rms * float64(s.valid); s.valid == 0 {
			s.sq = 0
		}
	})
}

// single is the mean of a span that stores it as a float32. If the samples are too
// large or too small for a float32, it is the middle of the band.
func (l layout) single(s *stat, x float64) float64 {
	if l.kind != zoomcache.F64 || s.valid == 0 {
		return x
	}
	const leastNormal = 0x1p-126 // of float32
	lo, hi := keyFloat(l.kind, s.min), keyFloat(l.kind, s.max)
	size := max(math.Abs(lo), math.Abs(hi))
	if math.IsInf(x, 0) && !math.IsInf(size, 0) || size < leastNormal {
		return float64(lo/2) + float64(hi/2)
	}
	return x
}

// restore makes the sums of a bin. On entry sum holds the mean as a fraction of the
// band.
func (l layout) restore(s *stat, dev float64) {
	part := s.sum
	if s.sum = 0; s.valid == 0 {
		return
	}
	lo, hi := number(l.kind, s.min).Float(), number(l.kind, s.max).Float()
	mean, d := math.NaN(), math.NaN()
	if part <= quantum && dev <= quantum {
		mean, d = lo, 0
		if band := hi - lo; band > 0 {
			mean, d = lo+float64(band*(part/quantum)), band/2*(dev/quantum)
		}
	}
	s.sum = mean * float64(s.valid)
	s.sq = (float64(mean*mean) + float64(d*d)) * float64(s.valid)
}

// ends reads a page with the first and the last values of the last n spans of c.
func (u *unpacker) ends(l layout, p []byte, c *cells, n int) error {
	if err := u.open(p); err != nil {
		return err
	}
	w, at := keyWidth(l.kind), c.len()-n
	for ch := range l.width {
		ok := u.column(w, n, func(i int, x uint64) { c.at(at + i)[ch].first = unfold(x, w) }) &&
			u.column(w, n, func(i int, x uint64) { c.at(at + i)[ch].last = unfold(x, w) })
		if !ok {
			return damagedIndex()
		}
		last := uint64(0)
		for i := at; i < at+n; i++ {
			s := &c.at(i)[ch]
			s.first = (s.first + last) & keyMask(w)
			s.last = (s.last + s.first) & keyMask(w)
			last = s.last
		}
	}
	if len(u.p) > 0 {
		return damagedIndex()
	}
	return nil
}

// column reads n numbers of w bytes.
func (u *unpacker) column(w, n int, f func(i int, x uint64)) bool {
	if len(u.p) < w*n {
		return false
	}
	if cap(u.plane) < w*n {
		u.plane = make([]byte, w*n)
	}
	u.plane = u.plane[:w*n]
	filter.Unshuffle(u.plane, u.p[:w*n], w)
	u.p = u.p[w*n:]
	for i := range n {
		x := uint64(0)
		for k := w - 1; k >= 0; k-- {
			x = x<<8 | uint64(u.plane[i*w+k])
		}
		f(i, x)
	}
	return true
}
