package zoom

import (
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
)

// converts reports whether values of one kind can be stored as another. Floats take
// all numbers. Integers take only integers that fit; whether they fit, the values
// themselves show.
func converts(from, to zoomcache.Kind) bool {
	switch {
	case from == to:
		return true
	case !from.Numeric() || !to.Numeric() || to == zoomcache.Integer:
		return false
	}
	return to.Float() || !from.Float()
}

// narrow reports whether a codec cuts values and differences to 32 bits, as pcm-int
// does although its values have 64.
func narrow(c zoomcache.Codec) bool { return c.PCM && c.Kind == zoomcache.Int }

// errRange is for values that do not fit into the codec that was asked for.
var errRange = fmt.Errorf("does not fit into the codec that was asked for: %w", formats.ErrUnsupported)

// A converter keeps memory between blocks.
type converter struct {
	out zoomcache.Values
}

// to converts values to the kind of another codec.
func (c *converter) to(v *zoomcache.Values, codec zoomcache.Codec) (*zoomcache.Values, error) {
	k := codec.Kind
	if v.Kind == k {
		return v, nil
	}
	o := &c.out
	o.Kind, o.N = k, v.N
	switch k {
	case zoomcache.F32:
		o.F32 = sized(o.F32, v.N)
		return o, each(v, func(i int, x int64) bool { o.F32[i] = float32(x); return true },
			func(i int, x uint64) bool { o.F32[i] = float32(x); return true }, func(i int, x float64) { o.F32[i] = float32(x) })
	case zoomcache.F64:
		o.F64 = sized(o.F64, v.N)
		return o, each(v, func(i int, x int64) bool { o.F64[i] = float64(x); return true },
			func(i int, x uint64) bool { o.F64[i] = float64(x); return true }, func(i int, x float64) { o.F64[i] = x })
	case zoomcache.I8:
		return o, integers(v, &o.I8)
	case zoomcache.I16:
		return o, integers(v, &o.I16)
	case zoomcache.I32:
		return o, integers(v, &o.I32)
	case zoomcache.I64, zoomcache.Int:
		if err := integers(v, &o.I64); err != nil || !narrow(codec) {
			return o, err
		}
		return o, walk(o.I64, func(_ int, x int64) bool { return x == int64(int32(x)) })
	case zoomcache.U8:
		return o, integers(v, &o.U8)
	case zoomcache.U16:
		return o, integers(v, &o.U16)
	case zoomcache.U32:
		return o, integers(v, &o.U32)
	case zoomcache.U64, zoomcache.Word:
		return o, integers(v, &o.U64)
	default:
		return nil, kit.Unsupported("values of %s as %s", v.Kind, k)
	}
}

// integers narrows or widens integers, if their values do not change.
func integers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](v *zoomcache.Values, dst *[]T) error {
	*dst = sized(*dst, v.N)
	d := *dst
	return each(v, func(i int, x int64) bool {
		d[i] = T(x)
		return int64(d[i]) == x && (d[i] < 0) == (x < 0)
	}, func(i int, x uint64) bool {
		d[i] = T(x)
		return uint64(d[i]) == x && d[i] >= 0
	}, nil)
}

// each calls the function for the class of the values with each value, until one is
// refused.
func each(v *zoomcache.Values, signed func(int, int64) bool, unsigned func(int, uint64) bool, float func(int, float64)) error {
	switch v.Kind {
	case zoomcache.F32:
		for i, x := range v.F32 {
			float(i, float64(x))
		}
		return nil
	case zoomcache.F64:
		for i, x := range v.F64 {
			float(i, x)
		}
		return nil
	case zoomcache.I8:
		return walk(v.I8, func(i int, x int8) bool { return signed(i, int64(x)) })
	case zoomcache.I16:
		return walk(v.I16, func(i int, x int16) bool { return signed(i, int64(x)) })
	case zoomcache.I32:
		return walk(v.I32, func(i int, x int32) bool { return signed(i, int64(x)) })
	case zoomcache.I64, zoomcache.Int:
		return walk(v.I64, signed)
	case zoomcache.U8:
		return walk(v.U8, func(i int, x uint8) bool { return unsigned(i, uint64(x)) })
	case zoomcache.U16:
		return walk(v.U16, func(i int, x uint16) bool { return unsigned(i, uint64(x)) })
	case zoomcache.U32:
		return walk(v.U32, func(i int, x uint32) bool { return unsigned(i, uint64(x)) })
	case zoomcache.U64, zoomcache.Word:
		return walk(v.U64, unsigned)
	default:
		return kit.Unsupported("values of %s as another kind", v.Kind)
	}
}

func walk[T any](list []T, f func(int, T) bool) error {
	for i, x := range list {
		if !f(i, x) {
			return fmt.Errorf("%v: %w", x, errRange)
		}
	}
	return nil
}
