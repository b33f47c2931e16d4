package cells

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// A Result is the answer to one stat: an array of items in row-major order. Its shape is
// that of the layout, with one more axis for what a cell has several of: the index in the
// array of argmin and argmax, the bins of hist, the ranks of quantiles.
type Result struct {
	Stat  Stat
	Type  dtype.DType // little endian, but for the items of min and max
	Shape []int64
	Items []byte
	// None says of each cell that it has no item, and so no value: of min, max, argmin and
	// argmax. Items then has NaN, NaT, 0, or -1 for each index. The means and quantiles of
	// no items are NaN. It is nil for other stats.
	None  []bool
	Edges []float64 // of hist: one more than bins
}

// Results returns the answers of a table of all cells, in the order of the stats. A sum of
// integers that its type cannot hold matches formats.ErrTooLarge.
func (t *Table) Results() ([]Result, error) {
	out := make([]Result, 0, len(t.plan.Stats))
	for i := range t.plan.Stats {
		s := &t.plan.Stats[i]
		for k, c := range t.plan.columns {
			if c.field != s.Field {
				continue
			}
			r, err := t.result(s, c, &t.states[k])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Key(), err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func (t *Table) result(s *Stat, c *column, st *state) (Result, error) {
	r := Result{Stat: *s, Shape: append([]int64{}, t.plan.Shape...)}
	n := len(st.count)
	typ, err := c.resultType(s.Name)
	if err != nil {
		return r, err
	}
	r.Type = typ
	switch s.Name {
	case "count":
		r.putInts(st.count)
	case "nan":
		r.putInts(st.nan)
	case "min", "max":
		keys := st.lo
		if s.Name == "max" {
			keys = st.hi
		}
		r.None = st.none()
		for i, k := range keys {
			if r.None[i] {
				k = c.noKey()
			}
			r.Items = c.appendKey(r.Items, k)
		}
	case "argmin", "argmax":
		places := st.argLo
		if s.Name == "argmax" {
			places = st.argHi
		}
		r.None = st.none()
		r.Shape = append(r.Shape, int64(len(t.plan.counts)))
		r.putInts(t.plan.indexes(places, r.None))
	case "hist":
		r.Shape = append(r.Shape, int64(s.Bins))
		r.Edges = c.edges
		r.putInts(st.hist)
	case "quantiles":
		ranks := c.ranks.ranks()
		r.Shape = append(r.Shape, int64(len(ranks)))
		for i := range st.sketch {
			r.putFloats(st.sketch[i].Quantiles(ranks, c.class != floats)...)
		}
	case "sum":
		return r, r.putSums(c, st)
	case "mean":
		for i := range n {
			r.putFloats(st.sum[i].Mean(st.count[i]))
			if st.imag != nil {
				r.putFloats(st.imag[i].Mean(st.count[i]))
			}
		}
	case "std":
		for i := range n {
			r.putFloats(exact.Std(&st.sum[i], &st.squares[i], st.count[i]))
		}
	}
	return r, nil
}

// resultType returns the type of the answers to a stat.
func (c *column) resultType(name string) (dtype.DType, error) {
	text := "<f8"
	switch name {
	case "min", "max":
		return c.typ, nil
	case "count", "nan", "argmin", "argmax", "hist":
		text = "<i8"
	case "sum":
		switch c.class {
		case ints, times:
			text = "<i8"
		case unsigned:
			text = "<u8"
		case pairs:
			text = "<c16"
		case floats:
		}
		if c.typ.Kind() == dtype.Uint {
			text = "<u8"
		}
	case "mean":
		if c.class == pairs {
			text = "<c16"
		}
	}
	return dtype.Parse(text)
}

func (s *state) none() []bool {
	out := make([]bool, len(s.count))
	for i, n := range s.count {
		out[i] = n == 0
	}
	return out
}

func (r *Result) putInts(list []int64) {
	for _, v := range list {
		r.Items = binary.LittleEndian.AppendUint64(r.Items, uint64(v))
	}
}

func (r *Result) putFloats(list ...float64) {
	for _, v := range list {
		if math.IsNaN(v) {
			v = math.NaN() // the same bits everywhere
		}
		r.Items = binary.LittleEndian.AppendUint64(r.Items, math.Float64bits(v))
	}
}

// putSums puts the sums of a column.
func (r *Result) putSums(c *column, st *state) error {
	for i := range st.sum {
		switch c.class {
		case floats:
			r.putFloats(st.sum[i].Float())
			continue
		case pairs:
			r.putFloats(st.sum[i].Float(), st.imag[i].Float())
			continue
		case ints, unsigned, times:
		}
		v := st.sum[i].Whole()
		switch {
		case r.Type.Kind() == dtype.Uint && v.IsUint64():
			r.putInts([]int64{int64(v.Uint64())})
		case r.Type.Kind() == dtype.Int && v.IsInt64():
			r.putInts([]int64{v.Int64()})
		default:
			return fmt.Errorf("%v does not fit into 64 bits; the mean does: %w", v, formats.ErrTooLarge)
		}
	}
	return nil
}

// indexes returns the indexes in the array of the items at places in the box, that of one
// after the other; of what is none, -1.
func (l *Layout) indexes(places []int64, none []bool) []int64 {
	dims := len(l.counts)
	out := make([]int64, dims*len(places))
	for k, p := range places {
		for i := dims - 1; i >= 0; i-- {
			out[k*dims+i] = -1
			if !none[k] {
				out[k*dims+i] = l.Box.Start[i] + p%l.counts[i]*l.Box.Step[i]
				p /= l.counts[i]
			}
		}
	}
	return out
}

// noKey returns the key of what stands for no item: NaN or NaT, or else 0.
func (c *column) noKey() uint64 {
	switch c.class {
	case floats:
		return floatKey(math.NaN())
	case unsigned, times: // NaT is the least integer
		return 0
	default:
		return 1 << 63
	}
}

// appendKey appends the item that a key is of.
func (c *column) appendKey(dst []byte, key uint64) []byte {
	var v uint64
	switch c.class {
	case floats:
		x := keyFloat(key)
		switch c.typ.ItemSize() {
		case 2:
			v = uint64(dtype.FloatToHalf(float32(x)))
		case 4:
			v = uint64(math.Float32bits(float32(x)))
		default:
			v = math.Float64bits(x)
		}
	case unsigned:
		v = key
	default:
		v = key ^ 1<<63
	}
	size := c.typ.ItemSize()
	var word [8]byte
	if c.typ.BigEndian() {
		binary.BigEndian.PutUint64(word[:], v<<(64-8*size))
	} else {
		binary.LittleEndian.PutUint64(word[:], v)
	}
	return append(dst, word[:size]...)
}
