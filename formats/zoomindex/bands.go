package zoomindex

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/sums"
)

// bands are bins of one channel at constant rate, a column for each number of them, so that
// many bins are worked on at a time. They are of one window, or of several that follow each
// other and have as many samples. They are for the kinds whose bins there are kernels for, and
// only where no value of any channel is NaN or infinite: other windows have a stat for each
// bin. Both make the same pages.
type bands struct {
	kind    zoomcache.Kind
	width   int       // bytes of a value
	n       int       // samples of a window
	size    int       // samples of a bin
	per     int       // bins of a window, the last of which may be short
	lo, hi  []int64   // bounds: of F64 their bits, in the order of integers
	sum, sq []float64 // sums of the samples and of their squares
	first   []uint64  // of each window the keys of the first and the last sample
	last    []uint64
}

// columnar reports whether bands can have bins of size values of a kind.
func columnar(k zoomcache.Kind, size int64) bool {
	return k == zoomcache.F64 || k == zoomcache.I16 && size <= exactSquares
}

// channels are the bands of the channels of one window.
type channels []bands

// An apart is memory for the values of one channel, or of two, without the others between.
type apart struct {
	i16 []int16
	f64 []float64
}

// begin empties the channels, for windows of n samples in bins of size.
func (ch *channels) begin(k zoomcache.Kind, width, size, n int) {
	*ch = slices.Grow((*ch)[:0], width)[:width]
	for c := range *ch {
		b := &(*ch)[c]
		*b = bands{kind: k, width: keyWidth(k), n: n, size: size, per: (n + size - 1) / size,
			lo: b.lo[:0], hi: b.hi[:0], sum: b.sum[:0], sq: b.sq[:0], first: b.first[:0], last: b.last[:0]}
	}
}

// add sums up one more window. If it returns false it cannot, and nothing is added.
func (ch channels) add(v *zoomcache.Values, a *apart) bool {
	for c := range ch {
		if !ch[c].gather(v, c, len(ch), a) {
			for i := range ch[:c+1] {
				ch[i].cut(len(ch[i].first) - 1)
			}
			return false
		}
	}
	return true
}

// gather adds the bins of channel c of a window of interleaved values.
func (b *bands) gather(v *zoomcache.Values, c, width int, a *apart) bool {
	at := len(b.lo)
	end := at + b.per
	b.lo, b.hi = slices.Grow(b.lo, b.per)[:end], slices.Grow(b.hi, b.per)[:end]
	b.sum, b.sq = slices.Grow(b.sum, b.per+sums.PartStep)[:end], slices.Grow(b.sq, b.per+sums.PartStep)[:end]
	b.first, b.last = append(b.first, 0), append(b.last, 0)
	switch {
	case v.Kind == zoomcache.I16:
		b.gatherI16(at, a.channel16(v.I16, c, width, b.n))
		return true
	case width == 1:
		return b.gatherF64(at, v.F64[:b.n])
	default:
		a.f64 = takeChannel(a.f64, v.F64, c, width, b.n)
		return b.gatherF64InOrder(at, a.f64)
	}
}

// cut keeps the first k windows.
func (b *bands) cut(k int) {
	n := k * b.per
	b.lo, b.hi, b.sum, b.sq = b.lo[:n], b.hi[:n], b.sum[:n], b.sq[:n]
	b.first, b.last = b.first[:k], b.last[:k]
}

// part puts the windows [i, j) into to, in the same memory.
func (ch channels) part(to *channels, i, j int) channels {
	*to = append((*to)[:0], ch...)
	for c := range *to {
		b := &(*to)[c]
		from, end := i*b.per, j*b.per
		b.lo, b.hi, b.sum, b.sq = b.lo[from:end], b.hi[from:end], b.sum[from:end], b.sq[from:end]
		b.first, b.last = b.first[i:j], b.last[i:j]
	}
	return *to
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

func (b *bands) gatherI16(at int, v []int16) {
	var some [16]sums.Small16
	whole := len(v) / b.size
	for i := 0; i < b.per; {
		n := sums.BinsI16(some[:min(len(some), whole-i)], v[i*b.size:], b.size)
		if n == 0 {
			n, some[0] = 1, sums.I16(v[i*b.size:min((i+1)*b.size, len(v))])
		}
		for k := range some[:n] {
			x := &some[k]
			b.lo[at+i+k], b.hi[at+i+k], b.sum[at+i+k], b.sq[at+i+k] = int64(x.Lo), int64(x.Hi), float64(x.Sum), float64(x.Squares)
		}
		i += n
	}
	b.ends(intKey(v[0], 2, true), intKey(v[len(v)-1], 2, true))
}

// ends sets the first and the last sample of the last window.
func (b *bands) ends(first, last uint64) {
	k := len(b.first) - 1
	b.first[k], b.last[k] = first, last
}

// gatherF64InOrder is gatherF64 with the sums that gatherFloats makes: one number after another.
func (b *bands) gatherF64InOrder(at int, v []float64) bool {
	for i := 0; i < b.per; {
		n := 0
		if (i+4)*b.size <= len(v) {
			n = b.fourF64(at+i, v[i*b.size:])
		}
		if n == 0 {
			n = 1
			if !b.set(at+i, gatherFloats(v, i*b.size, min((i+1)*b.size, len(v)), 1, f64Key)) {
				return false
			}
		}
		if n < 0 {
			return false
		}
		i += n
	}
	b.ends(f64Key(v[0]), f64Key(v[len(v)-1]))
	return true
}

// set sets a bin, or returns false if some sample of it is NaN or infinite.
func (b *bands) set(i int, s stat) bool {
	b.lo[i], b.hi[i], b.sum[i], b.sq[i] = b.signed(s.min), b.signed(s.max), s.sum, s.sq
	return s.sum-s.sum == 0 && s.valid == s.n
}

// fourF64 makes the bins from i on of the first values of v: four, none if it cannot, or -1 if
// a sum is not finite.
func (b *bands) fourF64(i int, v []float64) int {
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
func (b *bands) gatherF64(at int, v []float64) bool {
	var some [16]sums.Bin
	for i := 0; i < b.per; {
		n := sums.Bins(some[:], v[i*b.size:], b.size)
		for k := range some[:n] {
			x := &some[k]
			if x.Sum-x.Sum != 0 {
				return false
			}
			b.lo[at+i+k], b.hi[at+i+k], b.sum[at+i+k], b.sq[at+i+k] = key64(x.Lo), key64(x.Hi), x.Sum, x.Squares
		}
		if n == 0 {
			n = 1
			var s stat
			if binF64(v[i*b.size:min((i+1)*b.size, len(v))], &s); !b.set(at+i, s) {
				return false
			}
		}
		i += n
	}
	b.ends(f64Key(v[0]), f64Key(v[len(v)-1]))
	return true
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

// join joins every step bins of a window into one, and those that are left.
func (b *bands) join(step int) {
	if step <= 1 {
		return
	}
	to, per := 0, (b.per+step-1)/step
	lo, hi, sum, sq := b.lo, b.hi[:len(b.lo)], b.sum[:len(b.lo)], b.sq[:len(b.lo)]
	for from := 0; from < len(lo); from += b.per {
		for k, end := from, from+b.per; k < end; {
			x, y, s, q := lo[k], hi[k], sum[k], sq[k]
			stop := min(k+step, end)
			for k++; k < stop; k++ {
				x, y = min(x, lo[k]), max(y, hi[k])
				s += sum[k]
				q += sq[k]
			}
			lo[to], hi[to], sum[to], sq[to] = x, y, s, q
			to++
		}
	}
	b.lo, b.hi, b.sum, b.sq = lo[:to], hi[:to], sum[:to], sq[:to]
	b.size, b.per = b.size*step, per
}

// whole is the summary of window w.
func (b *bands) whole(w int) stat {
	i := w * b.per
	x, y, s, q := b.lo[i], b.hi[i], b.sum[i], b.sq[i]
	for k := i + 1; k < i+b.per; k++ {
		x, y = min(x, b.lo[k]), max(y, b.hi[k])
		s += b.sum[k]
		q += b.sq[k]
	}
	n := int64(b.n)
	return stat{n: n, valid: n, min: b.key(x), max: b.key(y), first: b.first[w], last: b.last[w], sum: s, sq: q}
}

// at is how many samples lie in front of bin i.
func (b *bands) at(i int) int { return i/b.per*b.n + i%b.per*b.size }

// short is how many samples the last bin of a window has.
func (b *bands) short() int { return b.n - (b.per-1)*b.size }

// partsRoom is memory for numbers on their way into a sheet.
type partsRoom struct {
	low, high   []float64 // bounds
	means, devs []byte
}

// addBands adds the bins [i, j) of each channel. The first bin of all begins at entry.
func (s *sheet) addBands(entry int64, ch channels, i, j int, room *partsRoom) {
	n, b := j-i, &ch[0]
	if n == 0 {
		return
	}
	from := entry + int64(b.at(i))
	if s.n == 0 {
		s.first, s.last = from, from-1
		if cap(s.gap) == 0 {
			s.begin()
		}
	}
	s.gap = binary.AppendVarint(s.gap, from-s.last-1) // the others are adjacent
	clear(appendRoom(&s.gap, n-1))
	clear(appendRoom(&s.short, n))
	s.addSpans(b, i, j)
	s.n += n
	s.last = entry + int64(b.at(j)) - 1
	for k := range ch {
		c := &s.ch[k]
		if s.l.kind.Float() {
			clear(appendRoom(&c.nan, n))
		}
		ch[k].bounds(c, i, j, room)
		ch[k].parts(c, i, j, room)
	}
}

// addSpans adds how long the bins [i, j) are.
func (s *sheet) addSpans(b *bands, i, j int) {
	long, short := uint64(b.size-1), uint64(b.short()-1)
	for k := i % b.per; i < j; k = 0 {
		end := min(b.per-1-k, j-i)
		if long < 1<<7 {
			p := appendRoom(&s.span, end)
			for m := range p {
				p[m] = byte(long)
			}
		} else {
			for range end {
				s.span = binary.AppendUvarint(s.span, long)
			}
		}
		if i += end; i < j {
			s.span = binary.AppendUvarint(s.span, short)
			i++
		}
	}
}

// bounds adds the least values and the bands of the bins [i, j), and sets low and high of room.
func (b *bands) bounds(c *sheetChannel, i, j int, room *partsRoom) {
	n := j - i
	lows, wide := appendRoom(&c.min, n*b.width), appendRoom(&c.max, n*b.width)
	lo, hi := b.lo[i:j], b.hi[i:j]
	room.low, room.high = slices.Grow(room.low[:0], n+sums.PartStep)[:n], slices.Grow(room.high[:0], n+sums.PartStep)[:n]
	low, high := room.low, room.high
	le, last := binary.LittleEndian, b.signed(c.lastMin)
	if b.kind == zoomcache.F64 {
		for k, x := range lo {
			y, d := hi[k], x-last
			last = x
			le.PutUint64(lows[8*k:], uint64(d<<1^d>>63))
			le.PutUint64(wide[8*k:], uint64(y-x))
			low[k], high[k] = unkey64(x), unkey64(y)
		}
	} else {
		for k, x := range lo {
			y, d := hi[k], int16(x-last)
			last = x
			le.PutUint16(lows[2*k:], uint16(d<<1^d>>15))
			le.PutUint16(wide[2*k:], uint16(y-x))
			low[k], high[k] = float64(x), float64(y)
		}
	}
	c.lastMin = b.key(last)
}

// unkey64 gives back what key64 has got.
func unkey64(k int64) float64 { return math.Float64frombits(uint64(k ^ k>>63&math.MaxInt64)) }

// parts adds mean and deviation of the bins [i, j), whose bounds room has. sums.Parts
// takes whole steps of bins: there is room for one behind the last bin, whose parts do not count.
func (b *bands) parts(c *sheetChannel, i, j int, room *partsRoom) {
	n, each := j-i, 1/float64(b.size)
	all := (n + sums.PartStep - 1) &^ (sums.PartStep - 1)
	room.means, room.devs = slices.Grow(room.means[:0], 2*all)[:2*all], slices.Grow(room.devs[:0], 2*all)[:2*all]
	done := sums.Parts(room.means, room.devs, room.low[:all], room.high[:all], b.sum[i:i+all], b.sq[i:i+all], each)
	for k := done; k < n; k++ {
		b.part(i, k, each, room)
	}
	if short := b.short(); short < b.size {
		each := 1 / float64(short)
		for k := b.per - 1 - i%b.per; k < n; k += b.per {
			b.part(i, k, each, room)
		}
	}
	copy(appendRoom(&c.mean, 2*n), room.means)
	copy(appendRoom(&c.rms, 2*n), room.devs)
}

// part makes mean and deviation of bin i+k, number k of room.
func (b *bands) part(i, k int, each float64, room *partsRoom) {
	mean, dev := uint16(0), uint16(0)
	if b.lo[i+k] != b.hi[i+k] {
		mean, dev = partsOf(room.low[k], room.high[k], b.sum[i+k]*each, b.sq[i+k]*each)
	}
	binary.LittleEndian.PutUint16(room.means[2*k:], mean)
	binary.LittleEndian.PutUint16(room.devs[2*k:], dev)
}
