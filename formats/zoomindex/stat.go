package zoomindex

import (
	"math"
	"math/big"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
)

// A stat sums up the samples of one channel in a span. Values are keys: unsigned
// integers that order like the values and take as many bytes. NaN counts only in n.
type stat struct {
	n, valid    int64
	min, max    uint64 // set if valid > 0
	first, last uint64 // nanKey means NaN
	sum, sq     float64
	big         *bigStat // numbers of Integer values; the keys are then not used
}

type bigStat struct{ min, max, first, last *big.Int }

// nanKey is not the key of any number: it would belong to a NaN with its sign set.
const nanKey = 0

// keyWidth is how many bytes a key takes. It is 0 if the kind has no values.
func keyWidth(k zoomcache.Kind) int {
	switch k {
	case zoomcache.Unit:
		return 0
	case zoomcache.Int, zoomcache.Integer, zoomcache.Word:
		return 8
	default:
		return zoomcache.Codec{Kind: k}.Size()
	}
}

func keyMask(width int) uint64 { return ^uint64(0) >> (64 - 8*width) }

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func signBit(width int) uint64 { return 1 << (8*width - 1) }

func intKey[T integer](x T, width int, signed bool) uint64 {
	u := uint64(x) & keyMask(width)
	if signed {
		u ^= signBit(width)
	}
	return u
}

func f64Key(x float64) uint64 {
	if x != x {
		return nanKey
	}
	return orderBits(math.Float64bits(x), 1<<63)
}

func f32Key(x float32) uint64 {
	if x != x {
		return nanKey
	}
	return orderBits(uint64(math.Float32bits(x)), 1<<31) & math.MaxUint32
}

// orderBits turns the bits of floats into integers that order like the floats. To turn
// them back, it needs the sign bit reversed.
func orderBits(u, sign uint64) uint64 {
	if u&sign != 0 {
		return ^u
	}
	return u | sign
}

// number is the value of a key.
func number(k zoomcache.Kind, key uint64) zoomcache.Number {
	w := keyWidth(k)
	switch {
	case k == zoomcache.F64:
		if key == nanKey {
			return zoomcache.NewFloat(zoomcache.F64, math.NaN())
		}
		return zoomcache.NewFloat(zoomcache.F64, math.Float64frombits(unorder(key, 1<<63)))
	case k == zoomcache.F32:
		if key == nanKey {
			return zoomcache.NewFloat(zoomcache.F32, math.NaN())
		}
		return zoomcache.NewFloat(zoomcache.F32, float64(math.Float32frombits(uint32(unorder(key, 1<<31)))))
	case k == zoomcache.Bool:
		return zoomcache.NewUint(zoomcache.U8, key)
	case k.Signed():
		shift := 64 - 8*w
		return zoomcache.NewInt(k, int64((key^signBit(w))<<shift)>>shift)
	default:
		return zoomcache.NewUint(k, key)
	}
}

// keyFloat is number(key).Float().
func keyFloat(k zoomcache.Kind, key uint64) float64 {
	switch k {
	case zoomcache.F64:
		if key == nanKey {
			return math.NaN()
		}
		return math.Float64frombits(unorder(key, 1<<63))
	case zoomcache.I16:
		return float64(int16(key ^ 1<<15))
	case zoomcache.I32:
		return float64(int32(key ^ 1<<31))
	case zoomcache.I64, zoomcache.Int:
		return float64(int64(key ^ 1<<63))
	default:
		return number(k, key).Float()
	}
}

// infinite reports whether a key stands for an infinity or NaN.
func infinite(k zoomcache.Kind, key uint64) bool {
	if !k.Float() {
		return false
	}
	x := keyFloat(k, key)
	return x-x != 0
}

// unorder64 is unorder for float64, without a branch.
func unorder64(key uint64) uint64 { return key ^ (uint64(int64(^key)>>63) | 1<<63) }

func unorder(key, sign uint64) uint64 {
	if key&sign != 0 {
		return key &^ sign
	}
	return ^key & (sign<<1 - 1)
}

// join adds the stat of a later span.
func (s *stat) join(t *stat) {
	if s.valid > 0 && t.valid > 0 && t.big == nil {
		s.min, s.max = min(s.min, t.min), max(s.max, t.max)
		s.last = t.last
		s.n += t.n
		s.valid += t.valid
		s.sum += t.sum
		s.sq += t.sq
		return
	}
	s.joinOdd(t)
}

// joinOdd is join where a span has nothing that counts, or big integers.
func (s *stat) joinOdd(t *stat) {
	switch {
	case t.n == 0:
		return
	case s.n == 0:
		*s = *t
		if t.big != nil {
			b := *t.big
			s.big = &b
		}
		return
	}
	switch {
	case t.valid == 0:
	case s.valid == 0:
		s.min, s.max = t.min, t.max
	default:
		s.min, s.max = min(s.min, t.min), max(s.max, t.max)
	}
	s.last = t.last
	s.n += t.n
	s.valid += t.valid
	s.sum += t.sum
	s.sq += t.sq
	if s.big != nil && t.big != nil {
		if t.big.min.Cmp(s.big.min) < 0 {
			s.big.min = t.big.min
		}
		if t.big.max.Cmp(s.big.max) > 0 {
			s.big.max = t.big.max
		}
		s.big.last = t.big.last
	}
}

// gather sums up the samples [i, j) of channel c, whose values are interleaved with
// those of other channels.
func gather(v *zoomcache.Values, c, width, i, j int) stat {
	i, j = i*width+c, (j-1)*width+c+1
	switch v.Kind {
	case zoomcache.Bool:
		return gatherBool(v.Bool, i, j, width)
	case zoomcache.F32:
		return gatherFloats(v.F32, i, j, width, f32Key)
	case zoomcache.F64:
		return gatherFloats(v.F64, i, j, width, f64Key)
	case zoomcache.Int, zoomcache.I64:
		return gatherInts(v.I64, i, j, width, 8, true)
	case zoomcache.Integer:
		return gatherBig(v.Big, i, j, width)
	case zoomcache.Word, zoomcache.U64:
		return gatherInts(v.U64, i, j, width, 8, false)
	case zoomcache.I8:
		return gatherInts(v.I8, i, j, width, 1, true)
	case zoomcache.I16:
		return gatherInts(v.I16, i, j, width, 2, true)
	case zoomcache.I32:
		return gatherInts(v.I32, i, j, width, 4, true)
	case zoomcache.U8:
		return gatherInts(v.U8, i, j, width, 1, false)
	case zoomcache.U16:
		return gatherInts(v.U16, i, j, width, 2, false)
	case zoomcache.U32:
		return gatherInts(v.U32, i, j, width, 4, false)
	default:
		return stat{n: int64(j - i), valid: int64(j - i)}
	}
}

func gatherInts[T integer](v []T, i, j, step, size int, signed bool) stat {
	lo, hi := v[i], v[i]
	var sum, sq float64
	n := int64(0)
	if size <= 2 { // exact, and faster
		var a, b int64
		for k := i; k < j; k += step {
			x := v[k]
			lo, hi = min(lo, x), max(hi, x)
			a += int64(x)
			b += int64(x) * int64(x)
			n++
		}
		sum, sq = float64(a), float64(b)
	} else {
		for k := i; k < j; k += step {
			x := v[k]
			lo, hi = min(lo, x), max(hi, x)
			f := float64(x)
			sum += f
			sq += float64(f * f) // the conversion forbids to fuse it with the sum
			n++
		}
	}
	key := func(x T) uint64 { return intKey(x, size, signed) }
	return stat{n: n, valid: n, min: key(lo), max: key(hi), first: key(v[i]), last: key(v[j-1]), sum: sum, sq: sq}
}

func gatherFloats[T float32 | float64](v []T, i, j, step int, key func(T) uint64) stat {
	s := stat{first: key(v[i]), last: key(v[j-1])}
	lo, hi := T(math.Inf(1)), T(math.Inf(-1))
	for k := i; k < j; k += step {
		x := v[k]
		s.n++
		if x != x {
			continue
		}
		s.valid++
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
		f := float64(x)
		s.sum += f
		s.sq += float64(f * f) // the conversion forbids to fuse it with the sum
	}
	if s.valid > 0 {
		s.min, s.max = key(lo), key(hi)
	}
	return s
}

func gatherBool(v []bool, i, j, step int) stat {
	s := stat{min: 1}
	bit := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	for k := i; k < j; k += step {
		x := bit(v[k])
		s.n++
		s.min, s.max = min(s.min, x), max(s.max, x)
		s.sum += float64(x)
	}
	s.valid, s.sq = s.n, s.sum
	s.first, s.last = bit(v[i]), bit(v[j-1])
	return s
}

func gatherBig(v []*big.Int, i, j, step int) stat {
	b := &bigStat{min: v[i], max: v[i], first: v[i], last: v[j-1]}
	s := stat{big: b}
	for k := i; k < j; k += step {
		x := v[k]
		s.n++
		if x.Cmp(b.min) < 0 {
			b.min = x
		}
		if x.Cmp(b.max) > 0 {
			b.max = x
		}
		f, _ := x.Float64()
		s.sum += f
		s.sq += float64(f * f) // the conversion forbids to fuse it with the sum
	}
	s.valid = s.n
	b.min, b.max = new(big.Int).Set(b.min), new(big.Int).Set(b.max)
	b.first, b.last = new(big.Int).Set(b.first), new(big.Int).Set(b.last)
	return s
}

// means returns the mean and the root mean square. They are NaN if no value
// counts.
func (s *stat) means() (mean, rms float64) {
	if s.valid == 0 {
		return math.NaN(), math.NaN()
	}
	return s.sum / float64(s.valid), math.Sqrt(s.sq / float64(s.valid))
}

// cells are successive spans, with a stat for each channel.
type cells struct {
	width       int
	entry, exit []int64
	n           []int64 // samples of each channel
	st          []stat
}

func (c *cells) len() int { return len(c.entry) }

func (c *cells) at(i int) []stat { return c.st[i*c.width : (i+1)*c.width] }

// grow makes room for n more spans.
func (c *cells) grow(n int) {
	c.entry, c.exit, c.n = slices.Grow(c.entry, n), slices.Grow(c.exit, n), slices.Grow(c.n, n)
	c.st = slices.Grow(c.st, n*c.width)
}

// add appends a span whose stats are empty.
func (c *cells) add(entry, exit, n int64) {
	c.entry, c.exit, c.n = append(c.entry, entry), append(c.exit, exit), append(c.n, n)
	for range c.width {
		c.st = append(c.st, stat{})
	}
}
