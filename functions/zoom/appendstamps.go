package zoom

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
)

// ticks turn stamps of a source into those of a file: (stamp*mul + add) / div.
type ticks struct{ mul, add, div *big.Int }

// sameTicks leave stamps as they are.
func sameTicks() ticks { return ticks{big.NewInt(1), new(big.Int), big.NewInt(1)} }

// newTicks compares the rates and the origins of a file and of a source.
func newTicks(file, source zoomcache.Origin, to, from zoomcache.Rate) (ticks, error) {
	if to.Num <= 0 || to.Den <= 0 || from.Num <= 0 || from.Den <= 0 {
		return ticks{}, kit.Unsupported("a series whose stamps are no times does not grow")
	}
	shift := new(big.Rat)
	switch {
	case file.Den == 0 && source.Den == 0:
	case source.Den == 0:
		return ticks{}, kit.Unsupported("its times count from 0, those that are there are dates: say with --times what its numbers are")
	case file.Den == 0:
		return ticks{}, kit.Unsupported("its times are dates or since 1970, those that are there count from 0: --times s leaves seconds as they are")
	default:
		var err error
		if shift, err = apart(file, source); err != nil {
			return ticks{}, err
		}
	}
	r := new(big.Rat).Quo(big.NewRat(to.Num, to.Den), big.NewRat(from.Num, from.Den))
	shift.Mul(shift, big.NewRat(to.Num, to.Den))
	// stamp*p/q + s/t = (stamp*p*t + s*q) / (q*t)
	p, q, s, t := r.Num(), r.Denom(), shift.Num(), shift.Denom()
	return ticks{mul: new(big.Int).Mul(p, t), add: new(big.Int).Mul(s, q), div: new(big.Int).Mul(q, t)}, nil
}

// apart is how many seconds behind the origin of a file that of a source lies.
func apart(file, source zoomcache.Origin) (*big.Rat, error) {
	a, ok := file.UTC()
	b, also := source.UTC()
	if !ok || !also {
		return nil, kit.Unsupported("the time 0 of a series is outside of the years 0 to 9999")
	}
	gap := new(big.Rat).SetInt64(b.Unix() - a.Unix())
	return gap.Add(gap, big.NewRat(int64(b.Nanosecond()-a.Nanosecond()), int64(time.Second))), nil
}

// of turns a stamp of the source into one of the file.
func (x ticks) of(stamp int64) (int64, error) {
	if x.mul.IsInt64() && x.mul.Int64() == 1 && x.div.IsInt64() && x.div.Int64() == 1 && x.add.IsInt64() {
		if a := x.add.Int64(); (a >= 0) == (stamp <= math.MaxInt64-max(a, 0)) && (a >= 0 || stamp >= math.MinInt64-a) {
			return stamp + a, nil
		}
	}
	v := new(big.Int).Mul(big.NewInt(stamp), x.mul)
	v.Add(v, x.add)
	rest := new(big.Int)
	if v.QuoRem(v, x.div, rest); rest.Sign() != 0 {
		return 0, kit.Unsupported("its times are finer than the ticks of the series that is there: pack all of it again")
	}
	if !v.IsInt64() {
		return 0, kit.Unsupported("a time that is too far from that of the series that is there")
	}
	return v.Int64(), nil
}

// when shows the time of an offset of track i.
func (g *grower) when(i int, offset int64) string {
	sec := g.p.list[i].Rate.Seconds(offset)
	if at, ok := g.h.Origin.UTC(); ok && math.Abs(sec) < math.MaxInt64/float64(time.Second) {
		return at.Add(time.Duration(math.Round(sec * float64(time.Second)))).Format(time.RFC3339Nano)
	}
	return fmt.Sprintf("%g s", sec)
}

// full writes what is gathered as far as it fills packets, or all of it.
func (g *grower) full(all bool) error {
	for {
		longest := 0
		for i := range g.have {
			if len(g.have[i].Stamps) > len(g.have[longest].Stamps) {
				longest = i
			}
		}
		at := g.have[longest].Stamps
		n := len(at)
		if n == 0 || n < g.p.window && !all {
			return nil
		}
		cols := make([]Column, len(g.have))
		for i := range g.have {
			c := &g.have[i]
			k := len(c.Stamps)
			if n > g.p.window { // the first rows, up to the one that begins the next packet
				k, _ = slices.BinarySearch(c.Stamps, at[g.p.window])
			}
			if i == longest {
				k = min(n, g.p.window) // stamps may repeat
			}
			k = min(k, g.p.window)
			cols[i] = Column{Values: head(&c.Values, k), Stamps: c.Stamps[:k]}
		}
		if err := g.p.block(&Block{Columns: cols}); err != nil {
			return err
		}
		for i := range g.have {
			drop(&g.have[i], len(cols[i].Stamps))
		}
	}
}

// finish writes what is left.
func (g *grower) finish() error {
	if len(g.have) > 0 && g.p.list[0].Variable {
		if err := g.full(true); err != nil {
			return err
		}
	}
	return g.p.w.Close()
}

// join appends the values of v to those of dst, of the same kind.
func join(dst, v *zoomcache.Values) {
	dst.N += v.N
	dst.Bool = append(dst.Bool, v.Bool...)
	dst.F32, dst.F64 = append(dst.F32, v.F32...), append(dst.F64, v.F64...)
	dst.I8, dst.I16, dst.I32, dst.I64 = append(dst.I8, v.I8...), append(dst.I16, v.I16...), append(dst.I32, v.I32...), append(dst.I64, v.I64...)
	dst.U8, dst.U16, dst.U32, dst.U64 = append(dst.U8, v.U8...), append(dst.U16, v.U16...), append(dst.U32, v.U32...), append(dst.U64, v.U64...)
}

// head returns the first n values.
func head(v *zoomcache.Values, n int) zoomcache.Values {
	return zoomcache.Values{Kind: v.Kind, N: n, Bool: first(v.Bool, n), F32: first(v.F32, n), F64: first(v.F64, n),
		I8: first(v.I8, n), I16: first(v.I16, n), I32: first(v.I32, n), I64: first(v.I64, n),
		U8: first(v.U8, n), U16: first(v.U16, n), U32: first(v.U32, n), U64: first(v.U64, n)}
}

func first[T any](v []T, n int) []T { return v[:min(n, len(v))] }

// drop removes the first n values of a column.
func drop(c *Column, n int) {
	v := &c.Values
	v.N -= n
	c.Stamps = without(c.Stamps, n)
	v.Bool, v.F32, v.F64 = without(v.Bool, n), without(v.F32, n), without(v.F64, n)
	v.I8, v.I16, v.I32, v.I64 = without(v.I8, n), without(v.I16, n), without(v.I32, n), without(v.I64, n)
	v.U8, v.U16, v.U32, v.U64 = without(v.U8, n), without(v.U16, n), without(v.U32, n), without(v.U64, n)
}

func without[T any](v []T, n int) []T {
	return v[:copy(v, v[min(n, len(v)):])]
}
