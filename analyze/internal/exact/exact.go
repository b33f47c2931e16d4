// Package exact adds numbers without any rounding. A [Sum] is one long fixed-point
// number that has room for the products of all float64 values: what is added in which
// order, and how sums are split and merged, does not change it. It is rounded once, when
// it is asked for.
//
// NaN and infinities are counted apart and follow IEEE 754: a sum with NaN, or with
// infinities of both signs, is NaN. A finite sum beyond the greatest float64 becomes
// infinite when it is rounded. The exact sum 0 is plus zero.
package exact

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/farread/farread/analyze/internal/vec"
)

const (
	digitBits = 32
	// bias is the negative exponent of the lowest digit: products of two subnormals
	// begin at 2^-2148.
	bias = 68 * digitBits
	// maxPending is how many additions of three digits below 2^32 an int64 takes.
	maxPending = 1 << 30
)

// A Sum is an exact sum. The zero Sum is that of no numbers. It must not be copied once
// it is in use, and not be used concurrently.
type Sum struct {
	digit   []int64 // digit[i] counts 2^(32*(at+i)-bias); carried when there are too many
	at      int
	pending int

	nan, posInf, negInf int64
}

// Add adds x.
func (s *Sum) Add(x float64) {
	b := math.Float64bits(x)
	e, m := int(b>>52)&0x7ff, b&(1<<52-1)
	switch {
	case e == 0x7ff && m != 0:
		s.nan++
		return
	case e == 0x7ff && b>>63 == 0:
		s.posInf++
		return
	case e == 0x7ff:
		s.negInf++
		return
	case e == 0:
		e = 1
	default:
		m |= 1 << 52
	}
	s.add(m, e-1075, b>>63 != 0)
}

// AddInt adds v.
func (s *Sum) AddInt(v int64) {
	if v < 0 {
		s.add(-uint64(v), 0, true)
		return
	}
	s.add(uint64(v), 0, false)
}

// AddWords adds a number of 192 bits, the lowest word first, or takes it away if it is
// negative.
func (s *Sum) AddWords(lo, mid, hi uint64, negative bool) {
	s.add(lo, 0, negative)
	s.add(mid, 64, negative)
	s.add(hi, 128, negative)
}

// add adds m times 2^e.
func (s *Sum) add(m uint64, e int, negative bool) {
	if m == 0 {
		return
	}
	p := e + bias
	k, shift := p/digitBits, uint(p%digitBits)
	low, high := m<<shift, uint64(0)
	if shift != 0 {
		high = m >> (64 - shift)
	}
	flip := int64(0) // all bits if negative: no branch, which would be taken at random
	if negative {
		flip = -1
	}
	d := s.room(k, 3)
	d[0] += int64(low&(1<<digitBits-1)) ^ flip - flip
	d[1] += int64(low>>digitBits) ^ flip - flip
	d[2] += int64(high) ^ flip - flip
	if s.pending++; s.pending >= maxPending {
		s.carry()
	}
}

// room returns n digits from digit k on.
func (s *Sum) room(k, n int) []int64 {
	i := k - s.at
	if i < 0 || i+n > len(s.digit) {
		s.grow(k, n)
		i = k - s.at
	}
	return s.digit[i : i+n]
}

func (s *Sum) grow(k, n int) {
	if len(s.digit) == 0 {
		s.at, s.digit = k, make([]int64, n, n+1)
		return
	}
	from, to := min(k, s.at), max(k+n, s.at+len(s.digit))
	digit := make([]int64, to-from)
	copy(digit[s.at-from:], s.digit)
	s.at, s.digit = from, digit
}

// carry leaves digits from 0 to 2^32-1, but for the last one, which has the sign.
func (s *Sum) carry() {
	s.pending = 0
	n := len(s.digit)
	for i := 0; i < n-1; i++ {
		c := s.digit[i] >> digitBits
		s.digit[i] -= c << digitBits
		s.digit[i+1] += c
	}
	for n > 0 {
		c := s.digit[n-1] >> (digitBits - 1)
		if c == 0 || c == -1 {
			return
		}
		c = s.digit[n-1] >> digitBits
		s.digit[n-1] -= c << digitBits
		s.digit = append(s.digit, c)
		n++
	}
}

// Merge adds what o has. It leaves the value of o as it is.
func (s *Sum) Merge(o *Sum) {
	s.nan, s.posInf, s.negInf = s.nan+o.nan, s.posInf+o.posInf, s.negInf+o.negInf
	if len(o.digit) == 0 {
		return
	}
	o.carry()
	s.carry()
	d := s.room(o.at, len(o.digit))
	for i, v := range o.digit {
		d[i] += v
	}
	s.pending = 1
}

// Tile is how many numbers are cut at a time.
const Tile = 1024

// few is the length from which the cuts are worth it.
const few = 8

// A cut takes 43 bits below the greatest exponent: the sum of a tile of such parts has 10
// bits more, which is all that a float64 has.
const cutBits = 43

// AddAll adds all numbers of a list. It takes half a nanosecond for each if there are
// many: they are cut at two fixed places, and the parts of one place add up in a float64
// without rounding. What lies below both is added in the same way.
func (s *Sum) AddAll(list []float64) {
	each(list, s.Add, s.AddWithin)
}

// AddSquares adds the squares of a list.
func (s *Sum) AddSquares(list []float64) {
	each(list, s.AddSquare, s.AddSquaresWithin)
}

// each adds a list tile by tile, or the numbers one by one if they are few.
func each(list []float64, one func(x float64), tile func(list []float64, bound float64, room *Room)) {
	if len(list) < few {
		for _, x := range list {
			one(x)
		}
		return
	}
	var room Room
	for len(list) > 0 {
		n := min(len(list), Tile)
		lo, hi, nan := vec.Bounds(list[:n])
		bound := max(-lo, hi)
		if nan {
			bound = math.NaN()
		}
		tile(list[:n], bound, &room)
		list = list[n:]
	}
}

// Room is memory that tiles are taken apart in.
type Room struct{ high, low [Tile]float64 }

// AddWithin adds all numbers of a list of at most Tile, of which none is of a greater
// magnitude than bound. NaN is no bound.
func (s *Sum) AddWithin(list []float64, bound float64, room *Room) {
	e := exponent(bound)
	if len(list) < few || !inRange(e) {
		for _, x := range list {
			s.Add(x)
		}
		return
	}
	if bound != 0 {
		s.addRest(s.cut(list, room.high[:], e), e-2*cutBits)
	}
}

// AddFew adds all numbers of a short list, of which none is of a greater magnitude than
// bound. NaN is no bound. What rounding takes from each addition is added by itself: of
// numbers of few bits that is nothing.
func (s *Sum) AddFew(list []float64, bound float64) {
	if !(bound < 0x1p1000) {
		for _, x := range list {
			s.Add(x)
		}
		return
	}
	a := 0.0
	for _, x := range list {
		sum := a + x
		part := sum - a
		if lost := (a - (sum - part)) + (x - part); lost != 0 {
			s.Add(lost)
		}
		a = sum
	}
	s.Add(a)
}

// exponent returns the exponent of a number: it is below 2^(e+1).
func exponent(x float64) int { return int(math.Float64bits(x)>>52)&0x7ff - 1023 }

// inRange reports whether numbers below 2^(e+1) can be cut.
func inRange(e int) bool { return e <= 960 && e-2*cutBits >= -1000 }

// cut adds what two cuts take from numbers of magnitudes up to 2^(e+1), puts what they left
// into rest, which may be the list itself, and returns those of it that are not zero.
func (s *Sum) cut(list, rest []float64, e int) []float64 {
	a, b, left := vec.Cut(list, rest, cutter(e), cutter(e-cutBits))
	s.Add(a)
	s.Add(b)
	if !left {
		return nil
	}
	n := 0
	for _, x := range rest[:len(list)] {
		rest[n] = x
		if x != 0 {
			n++
		}
	}
	return rest[:n]
}

// cutter returns what rounds numbers below 2^(e+1) to their first cutBits bits.
func cutter(e int) float64 {
	return math.Float64frombits(uint64(e+1-cutBits+52+1023)<<52 | 1<<51)
}

// addRest adds what is left above a place, up to 2^e, and overwrites it.
func (s *Sum) addRest(rest []float64, e int) {
	for e--; len(rest) >= few && inRange(e); e -= 2 * cutBits {
		rest = s.cut(rest, rest, e)
	}
	for _, x := range rest {
		s.Add(x)
	}
}

// AddSquaresWithin adds the squares of a list of at most Tile numbers, of which none is of
// a greater magnitude than bound. NaN is no bound.
func (s *Sum) AddSquaresWithin(list []float64, bound float64, room *Room) {
	e := exponent(bound)
	if bound == 0 {
		return
	}
	// A square is two floats: its rounded value, below 2^(2e+2), and what that is more or
	// less, at most half of a last place.
	if top := 2*e + 1; len(list) >= few && inRange(top) && inRange(top-54) {
		high, low := room.high[:len(list)], room.low[:len(list)]
		left, tiny := vec.Square(list, high, low)
		if !tiny {
			s.addRest(s.cut(high, high, top), top-2*cutBits)
			if left {
				s.addRest(s.cut(low, low, top-54), top-54-2*cutBits)
			}
			return
		}
	}
	for _, x := range list {
		s.AddSquare(x)
	}
}

// AddSquare adds the square of x.
func (s *Sum) AddSquare(x float64) {
	b := math.Float64bits(x)
	e, m := int(b>>52)&0x7ff, b&(1<<52-1)
	switch e {
	case 0x7ff:
		s.Add(x * x)
		return
	case 0:
		e = 1
	default:
		m |= 1 << 52
	}
	hi, lo := bits.Mul64(m, m)
	s.add(lo, 2*(e-1075), false)
	s.add(hi, 2*(e-1075)+64, false)
}

// Int returns the finite part of the sum as a number of 2^exp.
func (s *Sum) Int() (m *big.Int, exp int) {
	s.carry()
	n := len(s.digit)
	m = new(big.Int)
	if n == 0 {
		return m, 0
	}
	words := make([]big.Word, 0, n)
	for i := 0; i < n-1; {
		w := uint64(s.digit[i])
		if i++; bits.UintSize == 64 {
			if i < n-1 {
				w |= uint64(s.digit[i]) << digitBits
			}
			i++
		}
		words = append(words, big.Word(w))
	}
	m.SetBits(words)
	last := big.NewInt(s.digit[n-1])
	m.Add(m, last.Lsh(last, uint(n-1)*digitBits))
	return m, s.at*digitBits - bias
}

// special returns what a sum is that has NaN or infinities.
func (s *Sum) special() (v float64, ok bool) {
	switch {
	case s.nan > 0 || s.posInf > 0 && s.negInf > 0:
		return math.NaN(), true
	case s.posInf > 0:
		return math.Inf(1), true
	case s.negInf > 0:
		return math.Inf(-1), true
	}
	return 0, false
}

// Float returns the sum, rounded once to the nearest float64, ties to even.
func (s *Sum) Float() float64 {
	if v, ok := s.special(); ok {
		return v
	}
	v, _ := s.rounded()
	return v
}

func (s *Sum) rounded() (float64, big.Accuracy) {
	m, exp := s.Int()
	if m.Sign() == 0 {
		return 0, big.Exact
	}
	f := new(big.Float).SetPrec(uint(m.BitLen())).SetInt(m)
	return f.SetMantExp(f, exp).Float64()
}

// Whole returns the sum as an integer. It is wrong if the sum has a fraction or is not
// finite; a sum of integers is neither.
func (s *Sum) Whole() *big.Int {
	m, exp := s.Int()
	if exp < 0 {
		return m.Rsh(m, uint(-exp))
	}
	return m.Lsh(m, uint(exp))
}

// Mean returns the sum divided by n, rounded once. It is NaN if n is 0.
func (s *Sum) Mean(n int64) float64 {
	if n == 0 {
		return math.NaN()
	}
	if v, ok := s.special(); ok {
		return v
	}
	if v, acc := s.rounded(); acc == big.Exact && n <= 1<<53 {
		return v / float64(n)
	}
	m, exp := s.Int()
	return ratio(m, big.NewInt(n), exp)
}

// ratio returns a/b times 2^exp, rounded once.
func ratio(a, b *big.Int, exp int) float64 {
	if exp < 0 {
		b = new(big.Int).Lsh(b, uint(-exp))
	} else {
		a = new(big.Int).Lsh(a, uint(exp))
	}
	v, _ := new(big.Rat).SetFrac(a, b).Float64()
	return v
}

// Std returns the standard deviation of n numbers by their sum and the sum of their
// squares, as the square root of the mean square of the distances from the mean. It is
// rounded from 200 exact bits. It is NaN if n is 0, or if a number is not finite.
func Std(sum, squares *Sum, n int64) float64 {
	_, a := sum.special()
	_, b := squares.special()
	if n == 0 || a || b {
		return math.NaN()
	}
	m, e := sum.Int()
	q, f := squares.Int()
	m.Mul(m, m) // times 2^(2e)
	q.Mul(q, big.NewInt(n))
	switch d := f - 2*e; {
	case d > 0:
		q.Lsh(q, uint(d))
		f = 2 * e
	default:
		m.Lsh(m, uint(-d))
	}
	if q.Sub(q, m); q.Sign() <= 0 {
		return 0
	}
	v := new(big.Float).SetPrec(uint(q.BitLen())).SetInt(q)
	v.SetMantExp(v, f)
	v.SetPrec(200)
	v.Sqrt(v)
	v.Quo(v, new(big.Float).SetInt64(n))
	out, _ := v.Float64()
	return out
}
