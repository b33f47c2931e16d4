package zoomcache

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Windows are spans of time of one length, one behind another, from which samples of a
// track are chosen as by Offsets: window k has those with a time in [begin + k * every,
// begin + (k+1) * every).
type Windows struct {
	rate, begin, every *big.Rat // the times in seconds since time 0
	utc                *big.Rat // of time 0, in seconds since 1970; nil: unknown
}

// Windows cuts the time of a track. The first window begins at a moment. If that is nil, it is
// the window that has the offset first, of those that are counted from time 0. every is a
// length of time. Errors match ErrMoment if it is none, and else are those of
// Moment.Offset.
func (h *Header) Windows(t *Track, begin *Moment, every Moment, first int64) (*Windows, error) {
	if _, err := every.Offset(h, t); err != nil && !every.abs {
		return nil, err
	}
	if every.abs || every.sec == nil || every.sec.Sign() <= 0 {
		return nil, fmt.Errorf("windows need a length of time, such as 1h or 0.5: %w", ErrMoment)
	}
	w := &Windows{rate: big.NewRat(t.Rate.Num, t.Rate.Den), every: every.sec}
	if _, ok := h.Origin.UTC(); ok {
		w.utc = h.Origin.unix()
	}
	if begin != nil {
		var err error
		w.begin, err = begin.seconds(h)
		return w, err
	}
	k := new(big.Rat).SetInt64(first)
	k.Quo(k.Quo(k, w.rate), every.sec)
	w.begin = new(big.Rat).SetInt(floor(k))
	w.begin.Mul(w.begin, every.sec)
	return w, nil
}

// floor is the greatest integer that is not above x.
func floor(x *big.Rat) *big.Int {
	n, _ := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // Euclid's: down
	return n
}

// at is the time at which window k begins.
func (w *Windows) at(k int64) *big.Rat {
	x := new(big.Rat).SetInt64(k)
	return x.Add(x.Mul(x, w.every), w.begin)
}

// First is the first offset that is not before window k, cut to the range of int64.
func (w *Windows) First(k int64) int64 {
	x := w.at(k)
	return offsetFrom(x.Mul(x, w.rate))
}

// Of is the number of the window that has an offset, cut to the range of int64.
func (w *Windows) Of(off int64) int64 {
	x := new(big.Rat).SetInt64(off)
	x.Quo(x.Sub(x.Quo(x, w.rate), w.begin), w.every)
	n := floor(x)
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// Text is when window k begins: a time of RFC 3339 if the file says its origin, else seconds
// since time 0.
func (w *Windows) Text(k int64) string {
	x := w.at(k)
	if w.utc != nil {
		sec := floor(x.Add(x, w.utc))
		x.Sub(x, new(big.Rat).SetInt(sec))
		nano := floor(x.Mul(x, big.NewRat(int64(time.Second), 1)))
		if at := time.Unix(sec.Int64(), nano.Int64()).UTC(); sec.IsInt64() && at.Year() >= 0 && at.Year() <= 9999 {
			return at.Format(time.RFC3339Nano)
		}
		x = w.at(k)
	}
	if n, exact := x.FloatPrec(); exact {
		return x.FloatString(n)
	}
	text := x.FloatString(9)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
