package arraymeta

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"slices"

	"github.com/farread/farread/formats/dtype"
)

// Coarsen returns what an array means whose items are cut into windows along its axes, of
// lengths items: windows[i] items of axis i become one, the last window may have fewer, and
// an axis of windows of 0 items goes away. Dimensions keep their names. A coordinate has the
// mean of each window, as coarsen of xarray does it: of integers a float64, of points in
// time and durations in a finer unit if that is needed, down to nanoseconds. Coordinates
// without means, texts and months, and those that are arrays of their own or have more than
// 2^20 values, are left out unless windows have one item. The result has no Source.
func (m Meta) Coarsen(lengths, windows []int64) Meta {
	out := Meta{Attrs: m.Attrs, Fill: m.Fill}
	if m.Dims == nil || len(m.Dims) != len(lengths) || len(windows) != len(lengths) {
		return out
	}
	out.Dims = []string{}
	for i, window := range windows {
		if window == 0 {
			continue
		}
		dim, n := m.Dims[i], lengths[i]
		out.Dims = append(out.Dims, dim)
		c, ok := m.Coord(dim)
		if ok && window > 1 {
			c, ok = c.coarsen(n, window)
		}
		if ok {
			out.Coords = append(out.Coords, c)
		}
	}
	return out
}

// coarsen returns the coordinate of windows of an axis of n items.
func (c Coord) coarsen(n, window int64) (Coord, bool) {
	const most = 1 << 20 // values that are looked at
	if !c.Inline() || n > most {
		return Coord{}, false
	}
	a, err := c.Axis(n)
	if err != nil || a.isText() {
		return Coord{}, false
	}
	d, values, ok := a.d, []byte(nil), true
	switch d.Kind() {
	case dtype.Float:
		values = a.floatMeans(window, d.ItemSize())
	case dtype.DateTime, dtype.Duration:
		d, values, ok = a.timeMeans(window)
	default:
		d, values = float64s(), a.floatMeans(window, 8)
	}
	if !ok {
		return Coord{}, false
	}
	out, ok := NewCoord(c.Dim, d, values)
	out.Attrs = attrsOfMeans(c.Attrs)
	return out, ok
}

// attrsOfMeans leaves out what says where values lie exactly, or how they are distributed.
func attrsOfMeans(attrs map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range attrs {
		if !slices.Contains([]string{"actual_range", "bounds", "step"}, name) {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// each calls f with the first item of each window and the one behind its last.
func (a Axis) each(window int64, f func(from, to int64)) {
	for from := int64(0); from < a.n; from += window {
		f(from, min(from+window, a.n))
	}
}

// floatMeans returns means as floats of a size.
func (a Axis) floatMeans(window int64, size int) []byte {
	var out []byte
	item := make([]byte, size)
	a.each(window, func(from, to int64) {
		sum := 0.0
		for i := from; i < to; i++ {
			sum += a.value(i)
		}
		putFloat(item, sum/float64(to-from))
		out = append(out, item...)
	})
	return out
}

// finer are units of times, each with how many of the next one it has.
var finer = []struct {
	unit string
	next int64
}{{"W", 7}, {"D", 24}, {"h", 60}, {"m", 60}, {"s", 1000}, {"ms", 1000}, {"us", 1000}, {"ns", 1}}

// timeMeans returns means in the longest unit in which all are whole, or rounded down to
// nanoseconds. What is no time makes no mean.
func (a Axis) timeMeans(window int64) (d dtype.DType, values []byte, ok bool) {
	unit, count := a.d.Unit()
	means, ok := a.exactMeans(window, int64(max(count, 1)))
	at := 0
	for at < len(finer) && finer[at].unit != unit {
		at++
	}
	if at == len(finer) { // months, and no unit
		if !ok || slices.ContainsFunc(means, notWhole) {
			return d, nil, false
		}
		return a.put(means, unit)
	}
	for ; ok && at < len(finer)-1 && slices.ContainsFunc(means, notWhole); at++ {
		by := new(big.Rat).SetInt64(finer[at].next)
		for _, v := range means {
			v.Mul(v, by)
		}
	}
	if !ok {
		return d, nil, false
	}
	return a.put(means, finer[at].unit)
}

func notWhole(v *big.Rat) bool { return !v.IsInt() }

// exactMeans returns means times a number; false if an item is no time.
func (a Axis) exactMeans(window, count int64) (means []*big.Rat, ok bool) {
	ok = true
	a.each(window, func(from, to int64) {
		sum := new(big.Int)
		for i := from; i < to; i++ {
			v := a.whole(i)
			ok = ok && v != math.MinInt64 && v != math.MaxInt64
			sum.Add(sum, big.NewInt(v))
		}
		sum.Mul(sum, big.NewInt(count))
		means = append(means, new(big.Rat).SetFrac(sum, big.NewInt(to-from)))
	})
	return means, ok
}

// put stores times in a unit; false beyond 64 bits.
func (a Axis) put(means []*big.Rat, unit string) (d dtype.DType, values []byte, ok bool) {
	kind := "<M8"
	if a.d.Kind() == dtype.Duration {
		kind = "<m8"
	}
	if unit != "" {
		kind += "[" + unit + "]"
	}
	d, err := dtype.Parse(kind)
	if err != nil {
		return d, nil, false
	}
	for _, v := range means {
		n := floor(v)
		if !n.IsInt64() {
			return d, nil, false
		}
		values = binary.LittleEndian.AppendUint64(values, uint64(n.Int64()))
	}
	return d, values, true
}

// float64s is the type of means of integers.
func float64s() dtype.DType {
	d, err := dtype.Parse("<f8")
	if err != nil {
		panic(err) // it is one
	}
	return d
}

// Numbers makes a coordinate of numbers, if they are not too many.
func Numbers(dim string, list []float64) (Coord, bool) {
	var values []byte
	for _, v := range list {
		values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
	}
	return NewCoord(dim, float64s(), values)
}
