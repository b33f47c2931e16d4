// Package sketch counts numbers in buckets, to tell quantiles of as many as there are in
// little memory. A [Sketch] does not depend on the order of the numbers, nor on how they
// were split and merged.
//
// A bucket has the numbers that agree in their sign, their exponent and the first 8 bits
// after it: 256 buckets of equal width between two powers of two. Its middle is within
// 1/512 of each of its numbers, relative to the number; of a subnormal number, within
// 2^-1031. The least and the greatest number, zero, and infinities are exact.
package sketch

import (
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
)

// RelativeError bounds the error of a quantile: that of an item x is within x times this.
const RelativeError = 1.0 / 512

const (
	fractionBits = 8
	perPage      = 1 << fractionBits
	shift        = 52 - fractionBits
	pages        = 2048 // exponents
	infinity     = (pages - 1) << fractionBits
	// fewKeys is how many numbers are kept as a list of keys before pages are made.
	fewKeys = 64
)

// A Sketch counts numbers. The zero Sketch has none. It must not be used concurrently.
type Sketch struct {
	n      int64
	lo, hi float64 // extremes, if n > 0
	few    []int32 // keys, until there are more than fewKeys
	side   [2]side // plus, minus
}

// A side has the numbers of one sign. page[i] is that of exponent first+i; it is nil if
// there is no such number.
type side struct {
	first int
	page  []*[perPage]int64
}

// key is the number of the bucket of x, without its sign.
func key(x float64) int32 {
	return int32(math.Float64bits(x) & (1<<63 - 1) >> shift)
}

// Add counts the numbers of a list, among which there is no NaN.
func (s *Sketch) Add(list []float64) {
	if len(list) == 0 {
		return
	}
	if s.n == 0 {
		s.lo, s.hi = list[0], list[0]
	}
	s.n += int64(len(list))
	lo, hi := s.lo, s.hi
	for _, x := range list {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	s.lo, s.hi = lo+0, hi+0 // no minus zero
	if s.few != nil || s.n <= fewKeys {
		list = s.addFew(list)
	}
	for _, x := range list {
		k := key(x)
		d, minus := &s.side[0], x < 0
		if minus {
			d = &s.side[1]
		}
		i := int(k>>fractionBits) - d.first
		if uint(i) >= uint(len(d.page)) || d.page[i] == nil {
			s.bucket(k, minus)[0]++ // makes the page
			continue
		}
		d.page[i][k&(perPage-1)]++
	}
}

// addFew adds to the short list as long as it is one, and returns the rest.
func (s *Sketch) addFew(list []float64) []float64 {
	for i, x := range list {
		if len(s.few) == fewKeys {
			s.spread()
			return list[i:]
		}
		k := key(x)
		if x < 0 {
			k = ^k
		}
		s.few = append(s.few, k)
	}
	return nil
}

// spread moves the short list to pages.
func (s *Sketch) spread() {
	few := s.few
	s.few = nil
	for _, k := range few {
		if k < 0 {
			s.bucket(^k, true)[0]++
		} else {
			s.bucket(k, false)[0]++
		}
	}
}

// bucket returns the counts of a page from a key on.
func (s *Sketch) bucket(k int32, minus bool) []int64 {
	d := &s.side[0]
	if minus {
		d = &s.side[1]
	}
	e := int(k >> fractionBits)
	if i := e - d.first; i >= 0 && i < len(d.page) && d.page[i] != nil {
		return d.page[i][k&(perPage-1):]
	}
	return d.make(e)[k&(perPage-1):]
}

// make makes the page of an exponent.
func (d *side) make(e int) *[perPage]int64 {
	switch n := len(d.page); {
	case n == 0:
		d.first, d.page = e, make([]*[perPage]int64, 1)
	case e < d.first:
		d.page = append(make([]*[perPage]int64, d.first-e), d.page...)
		d.first = e
	case e >= d.first+n:
		d.page = append(d.page, make([]*[perPage]int64, e-d.first-n+1)...)
	}
	p := new([perPage]int64)
	d.page[e-d.first] = p
	return p
}

// Merge adds what o has, and leaves o without a meaning.
func (s *Sketch) Merge(o *Sketch) {
	switch {
	case o.n == 0:
		return
	case s.n == 0:
		*s = *o
		return
	}
	s.lo, s.hi = min(s.lo, o.lo), max(s.hi, o.hi)
	s.n += o.n
	for _, b := range o.buckets() {
		s.put(b)
	}
}

// put adds a bucket; n is counted already.
func (s *Sketch) put(b Bucket) {
	if s.few != nil {
		s.spread()
	}
	k, minus := b.Key, b.Key < 0
	if minus {
		k = ^k
	}
	s.bucket(k, minus)[0] += b.N
}

// HeldBytes returns how many bytes of memory the sketch holds besides itself.
func (s *Sketch) HeldBytes() int64 {
	n := int64(4 * cap(s.few))
	for i := range s.side {
		n += int64(8 * cap(s.side[i].page))
		for _, p := range s.side[i].page {
			if p != nil {
				n += 8 * perPage
			}
		}
	}
	return n
}

// A Bucket is a key and how many numbers have it. Keys order like numbers: those of
// negative numbers are negative.
type Bucket struct {
	Key int32
	N   int64
}

// buckets returns the buckets that have numbers, in ascending order.
func (s *Sketch) buckets() []Bucket {
	var out []Bucket
	if s.few != nil {
		keys := slices.Sorted(slices.Values(s.few))
		for i, k := range keys {
			if i == 0 || k != keys[i-1] {
				out = append(out, Bucket{Key: k})
			}
			out[len(out)-1].N++
		}
		return out
	}
	each := func(d *side, minus bool) {
		for i, p := range d.page {
			if p == nil {
				continue
			}
			for j, n := range p {
				if n == 0 {
					continue
				}
				k := int32((d.first+i)<<fractionBits | j)
				if minus {
					k = ^k
				}
				out = append(out, Bucket{k, n})
			}
		}
	}
	each(&s.side[1], true)
	slices.Reverse(out)
	each(&s.side[0], false)
	return out
}

// Quantiles returns, for each q from 0 to 1, about the number of rank ⌊q(n−1)⌋ among the n
// numbers in ascending order, which NumPy calls the method "lower". whole cuts to
// integers. They are NaN if there are no numbers.
func (s *Sketch) Quantiles(qs []float64, whole bool) []float64 {
	out := make([]float64, len(qs))
	var list []Bucket
	for i, q := range qs {
		rank := int64(math.Floor(q * float64(s.n-1)))
		switch {
		case s.n == 0:
			out[i] = math.NaN()
		case rank <= 0:
			out[i] = s.lo
		case rank >= s.n-1:
			out[i] = s.hi
		default:
			if list == nil {
				list = s.buckets()
			}
			out[i] = s.within(middle(at(list, rank)), whole)
		}
	}
	return out
}

// at returns the key of the number of a rank.
func at(list []Bucket, rank int64) int32 {
	for _, b := range list {
		if rank -= b.N; rank < 0 {
			return b.Key
		}
	}
	return list[len(list)-1].Key
}

// within cuts to an integer if it must, and to the extremes.
func (s *Sketch) within(v float64, whole bool) float64 {
	if whole {
		v = math.Trunc(v)
	}
	return min(max(v, s.lo), s.hi)
}

// middle returns the middle of a bucket.
func middle(k int32) float64 {
	minus := k < 0
	if minus {
		k = ^k
	}
	v := math.Float64frombits(uint64(k) << shift)
	if k > 0 && k < infinity {
		v = math.Float64frombits(uint64(k)<<shift | 1<<(shift-1))
	}
	if minus {
		return -v
	}
	return v
}

// A State is a Sketch as part of a result. Equal sketches have equal states.
type State struct {
	Lo, Hi  string   // hexadecimal
	Buckets []Bucket // ascending
}

// State returns what s has.
func (s *Sketch) State() State {
	return State{fmt.Sprintf("%x", s.lo), fmt.Sprintf("%x", s.hi), s.buckets()}
}

// Restore makes a Sketch of a State. A State that State cannot have returned matches
// formats.ErrCorrupt.
func Restore(st State) (*Sketch, error) {
	s := &Sketch{}
	if len(st.Buckets) == 0 {
		return s, nil
	}
	if _, err := fmt.Sscan(st.Lo+" "+st.Hi, &s.lo, &s.hi); err != nil || !(s.lo <= s.hi) {
		return nil, fmt.Errorf("extremes %.40q and %.40q: %w", st.Lo, st.Hi, formats.ErrCorrupt)
	}
	for i, b := range st.Buckets {
		if b.N <= 0 || b.Key > infinity || ^b.Key > infinity || i > 0 && b.Key <= st.Buckets[i-1].Key || b.N > math.MaxInt64-s.n {
			return nil, fmt.Errorf("bucket %d: %d of key %d: %w", i, b.N, b.Key, formats.ErrCorrupt)
		}
		s.n += b.N
		s.put(b)
	}
	return s, nil
}
