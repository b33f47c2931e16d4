package zoomindex

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/sums"
)

// bands are successive bins of one channel at constant rate, a column for each number of
// them, so that several bins are worked on at a time. They are for the kinds whose bins
// there are kernels for, and only where no value of any channel is NaN or infinite: other
// windows have a stat for each bin. Both make the same pages.
type bands struct {
	kind    zoomcache.Kind
	width   int       // bytes of a value
	size    int       // samples of a bin
	lo, hi  []int64   // bounds: of F64 their bits, in the order of integers
	sum, sq []float64 // sums of the samples and of their squares
	tail    stat      // what is behind the last whole bin; n is 0 if nothing is
	first   uint64    // keys of the first and the last sample
	last    uint64
	low     []float64 // memory for bounds as floats
	high    []float64
	means   []byte // memory for parts
	devs    []byte
}

// columnar reports whether bands can have bins of a kind.
func columnar(k zoomcache.Kind) bool { return k == zoomcache.F64 || k == zoomcache.I16 }

// channels are the bands of the channels of one window.
type channels []bands

// An apart is memory for the values of one channel, or of two, without the others between.
type apart struct {
	i16 []int16
	f64 []float64
}

// gather sums up n samples, size of them in each bin. If it returns false it cannot.
func (ch *channels) gather(v *zoomcache.Values, width, size, n int, a *apart) bool {
	if !columnar(v.Kind) || v.Kind == zoomcache.I16 && size > exactSquares {
		return false
	}
	*ch = slices.Grow((*ch)[:0], width)[:width]
	for c := range *ch {
		b := &(*ch)[c]
		b.begin(v.Kind, size, n)
		switch {
		case v.Kind == zoomcache.I16:
			b.gatherI16(a.channel16(v.I16, c, width, n))
		case width == 1:
			if !b.gatherF64(v.F64[:n]) {
				return false
			}
		default:
			a.f64 = takeChannel(a.f64, v.F64, c, width, n)
			if !b.gatherF64InOrder(a.f64) {
				return false
			}
		}
	}
	return true
}

// channel16 is channel c of interleaved values.
func (a *apart) channel16(v []int16, c, width, n int) []int16 {
	switch width {
	case 1:
		return v[:n]
	case 2:
		if c == 0 {
			a.i16 = slices.Grow(a.i16[:0], 2*n)[:2*n]
			first, second := a.i16[:n], a.i16[n:]
			for i := sums.Apart16(first, second, v); i < n; i++ {
				first[i], second[i] = v[2*i], v[2*i+1]
			}
		}
		return a.i16[c*n:][:n]
	default:
		a.i16 = takeChannel(a.i16, v, c, width, n)
		return a.i16
	}
}

// takeChannel copies n values of channel c to the memory of dst.
func takeChannel[T any](dst, v []T, c, width, n int) []T {
	dst = slices.Grow(dst[:0], n)[:n]
	for i := range dst {
		dst[i] = v[i*width+c]
	}
	return dst
}

// join joins every step bins of each channel into one.
func (ch channels) join(step int) {
	for c := range ch {
		ch[c].join(step)
	}
}

// begin makes room for the whole bins of n samples.
func (b *bands) begin(k zoomcache.Kind, size, n int) {
	b.kind, b.width, b.size = k, keyWidth(k), size
	whole := n / size
	b.lo, b.hi = slices.Grow(b.lo[:0], whole)[:whole], slices.Grow(b.hi[:0], whole)[:whole]
	b.sum, b.sq = slices.Grow(b.sum[:0], whole+sums.PartStep)[:whole], slices.Grow(b.sq[:0], whole+sums.PartStep)[:whole]
	b.tail = stat{}
}

func (b *bands) gatherI16(v []int16) {
	for i := range b.lo {
		x := sums.I16(v[i*b.size:][:b.size])
		b.lo[i], b.hi[i], b.sum[i], b.sq[i] = int64(x.Lo), int64(x.Hi), float64(x.Sum), float64(x.Squares)
	}
	if rest := v[len(b.lo)*b.size:]; len(rest) > 0 {
		binI16(rest, &b.tail)
	}
	b.first, b.last = intKey(v[0], 2, true), intKey(v[len(v)-1], 2, true)
}

// gatherF64InOrder is gatherF64 with the sums that gatherFloats makes: one number after another.
func (b *bands) gatherF64InOrder(v []float64) bool {
	for i := 0; i < len(b.lo); {
		n := b.fourF64(i, v[i*b.size:])
		if n == 0 {
			n = 1
			s := gatherFloats(v, i*b.size, (i+1)*b.size, 1, f64Key)
			if s.sum-s.sum != 0 || s.valid < s.n {
				return false
			}
			b.lo[i], b.hi[i], b.sum[i], b.sq[i] = b.signed(s.min), b.signed(s.max), s.sum, s.sq
		}
		if n < 0 {
			return false
		}
		i += n
	}
	b.first, b.last = f64Key(v[0]), f64Key(v[len(v)-1])
	if at := len(b.lo) * b.size; at < len(v) {
		b.tail = gatherFloats(v, at, len(v), 1, f64Key)
	}
	return b.tail.n == b.tail.valid && b.tail.sum-b.tail.sum == 0
}

// fourF64 makes the bins from i on of the first values of v: four, none if it cannot, or -1 if
// a sum is not finite.
func (b *bands) fourF64(i int, v []float64) int {
	if i+4 > len(b.lo) {
		return 0
	}
	w := sums.Windows{Lo: [4]float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}, Hi: [4]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1)}}
	took := w.Add(v, b.size, b.size)
	if took == 0 {
		return 0
	}
	for k := range 4 {
		bin := v[k*b.size:][:b.size]
		lo, hi, sum, sq := w.Lo[k], w.Hi[k], w.Sum[k], w.Squares[k]
		for _, x := range bin[took:] {
			if x < lo {
				lo = x
			}
			if x > hi {
				hi = x
			}
			sum += x
			sq += float64(x * x)
		}
		if sum-sum != 0 {
			return -1
		}
		if hi == 0 { // of zeros that are the greatest, the first counts
			hi = bin[slices.Index(bin, 0)]
		}
		b.lo[i+k], b.hi[i+k], b.sum[i+k], b.sq[i+k] = key64(lo), key64(hi), sum, sq
	}
	return 4
}

// gatherF64 takes the numbers at even and at odd places of a bin together, as binF64.
func (b *bands) gatherF64(v []float64) bool {
	var some [16]sums.Bin
	for i := 0; i < len(b.lo); {
		n := sums.Bins(some[:min(len(some), len(b.lo)-i)], v[i*b.size:], b.size)
		for k := range some[:n] {
			x := &some[k]
			if x.Sum-x.Sum != 0 {
				return false
			}
			b.lo[i+k], b.hi[i+k], b.sum[i+k], b.sq[i+k] = key64(x.Lo), key64(x.Hi), x.Sum, x.Squares
		}
		if n == 0 {
			n = 1
			var s stat
			binF64(v[i*b.size:][:b.size], &s)
			if s.sum-s.sum != 0 || s.valid < s.n {
				return false
			}
			b.lo[i], b.hi[i], b.sum[i], b.sq[i] = b.signed(s.min), b.signed(s.max), s.sum, s.sq
		}
		i += n
	}
	b.first, b.last = f64Key(v[0]), f64Key(v[len(v)-1])
	if rest := v[len(b.lo)*b.size:]; len(rest) > 0 {
		binF64(rest, &b.tail)
	}
	return b.tail.n == b.tail.valid && b.tail.sum-b.tail.sum == 0
}

// signed turns a key into an integer with a sign that orders like it.
func (b *bands) signed(key uint64) int64 {
	shift := 64 - 8*b.width
	return int64((key^signBit(b.width))<<shift) >> shift
}

// key is the key of a bound.
func (b *bands) key(x int64) uint64 {
	return (uint64(x) ^ signBit(b.width)) & keyMask(b.width)
}

// join joins every step bins into one, and those that are left with the tail.
func (b *bands) join(step int) {
	if step <= 1 {
		return
	}
	n := len(b.lo) / step
	if rest := b.stat(n*step, len(b.lo)); rest.n > 0 {
		rest.join(&b.tail)
		b.tail = rest
	}
	lo, hi, sum, sq := b.lo[:n*step], b.hi[:n*step], b.sum[:n*step], b.sq[:n*step]
	for i := range n {
		k := i * step
		x, y, s, q := lo[k], hi[k], sum[k], sq[k]
		for k++; k < (i+1)*step; k++ {
			x, y = min(x, lo[k]), max(y, hi[k])
			s += sum[k]
			q += sq[k]
		}
		lo[i], hi[i], sum[i], sq[i] = x, y, s, q
	}
	b.lo, b.hi, b.sum, b.sq = lo[:n], hi[:n], sum[:n], sq[:n]
	b.size *= step
}

// stat joins the bins [i, j).
func (b *bands) stat(i, j int) stat {
	if i >= j {
		return stat{}
	}
	x, y, s, q := b.lo[i], b.hi[i], b.sum[i], b.sq[i]
	for k := i + 1; k < j; k++ {
		x, y = min(x, b.lo[k]), max(y, b.hi[k])
		s += b.sum[k]
		q += b.sq[k]
	}
	n := int64((j - i) * b.size)
	return stat{n: n, valid: n, min: b.key(x), max: b.key(y), sum: s, sq: q}
}

// whole is the summary of all samples.
func (b *bands) whole() stat {
	s := b.stat(0, len(b.lo))
	s.join(&b.tail)
	s.first, s.last = b.first, b.last
	return s
}

// addBands adds the bins [i, j) of each channel, the first of which begins at entry.
func (s *sheet) addBands(entry int64, ch channels, i, j int) {
	n, b := j-i, &ch[0]
	if n == 0 {
		return
	}
	if s.n == 0 {
		s.first, s.last = entry, entry-1
		if cap(s.gap) == 0 {
			s.begin()
		}
	}
	s.gap = binary.AppendVarint(s.gap, entry-s.last-1) // the others are adjacent
	clear(appendRoom(&s.gap, n-1))
	clear(roomFor(&s.short, n, 1))
	if b.size <= 1<<7 {
		for k, p := 0, roomFor(&s.span, n, 1); k < n; k++ {
			p[k] = byte(b.size - 1)
		}
	} else {
		for range n {
			s.span = binary.AppendUvarint(s.span, uint64(b.size-1))
		}
	}
	s.n += n
	s.last = entry + int64(n*b.size) - 1
	for k := range ch {
		c := &s.ch[k]
		if s.l.kind.Float() {
			clear(roomFor(&c.nan, n, 1))
		}
		ch[k].bounds(c, i, j)
		ch[k].parts(c, i, j)
	}
}

// bounds adds the least values and the bands of the bins [i, j), and sets low and high.
func (b *bands) bounds(c *sheetChannel, i, j int) {
	n := j - i
	lows, wide := roomFor(&c.min, n, b.width), roomFor(&c.max, n, b.width)
	lo, hi := b.lo[i:j], b.hi[i:j]
	b.low, b.high = slices.Grow(b.low[:0], n+sums.PartStep)[:n], slices.Grow(b.high[:0], n+sums.PartStep)[:n]
	le, last := binary.LittleEndian, b.signed(c.lastMin)
	if b.kind == zoomcache.F64 {
		for k, x := range lo {
			y, d := hi[k], x-last
			last = x
			le.PutUint64(lows[8*k:], uint64(d<<1^d>>63))
			le.PutUint64(wide[8*k:], uint64(y-x))
			b.low[k], b.high[k] = unkey64(x), unkey64(y)
		}
	} else {
		for k, x := range lo {
			y, d := hi[k], int16(x-last)
			last = x
			le.PutUint16(lows[2*k:], uint16(d<<1^d>>15))
			le.PutUint16(wide[2*k:], uint16(y-x))
			b.low[k], b.high[k] = float64(x), float64(y)
		}
	}
	c.lastMin = b.key(last)
}

// unkey64 gives back what key64 has got.
func unkey64(k int64) float64 { return math.Float64frombits(uint64(k ^ k>>63&math.MaxInt64)) }

// parts adds mean and deviation of the bins [i, j), whose bounds low and high have. sums.Parts
// takes whole steps of bins: there is room for one behind the last bin, whose parts do not count.
func (b *bands) parts(c *sheetChannel, i, j int) {
	n, each := j-i, 1/float64(b.size)
	all := (n + sums.PartStep - 1) &^ (sums.PartStep - 1)
	b.means, b.devs = slices.Grow(b.means[:0], 2*all)[:2*all], slices.Grow(b.devs[:0], 2*all)[:2*all]
	means, devs := b.means, b.devs
	for k := sums.Parts(means, devs, b.low[:all], b.high[:all], b.sum[i:i+all], b.sq[i:i+all], each); k < n; k++ {
		mean, dev := uint16(0), uint16(0)
		if b.lo[i+k] != b.hi[i+k] {
			mean, dev = partsOf(b.low[k], b.high[k], b.sum[i+k]*each, b.sq[i+k]*each)
		}
		binary.LittleEndian.PutUint16(means[2*k:], mean)
		binary.LittleEndian.PutUint16(devs[2*k:], dev)
	}
	copy(roomFor(&c.mean, n, 2), means)
	copy(roomFor(&c.rms, n, 2), devs)
}

// roomFor is appendRoom for n numbers of w bytes. The memory that it sets aside is what sheet.add
// would, as it counts: when it reaches the bound, pages go into the file.
func roomFor(p *[]byte, n, w int) []byte {
	*p = slices.Grow(*p, w)
	return appendRoom(p, n*w)
}
