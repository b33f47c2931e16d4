package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/zoomcache"
)

// loses reports whether samples change if they are stored as differences: floats
// are rounded, and PCM integers are cut to 32 bits.
func loses(t *zoomcache.Track) bool {
	c := t.Codec
	return t.Delta && c.Deltas() && (c.Kind.Float() || c.PCM && (c.Kind == zoomcache.Int || c.Kind == zoomcache.I32))
}

// stored returns the values as a reader of the packet gets them. They are valid until
// the next call.
func (t *trackIndex) stored(v *zoomcache.Values) *zoomcache.Values {
	switch v.Kind {
	case zoomcache.F32:
		t.f32 = redelta(t.f32, v.F32)
		return &zoomcache.Values{Kind: zoomcache.F32, N: v.N, F32: t.f32}
	case zoomcache.F64:
		t.f64 = redelta(t.f64, v.F64)
		return &zoomcache.Values{Kind: zoomcache.F64, N: v.N, F64: t.f64}
	case zoomcache.I32:
		t.ints = redeltaPCM(t.ints, v.I32)
	default:
		t.ints = redeltaPCM(t.ints, v.I64)
	}
	return &zoomcache.Values{Kind: zoomcache.Int, N: v.N, I64: t.ints}
}

// redelta turns v into differences and these into values again.
func redelta[T float32 | float64](dst, v []T) []T {
	dst = append(dst[:0], v...)
	for i := len(dst) - 1; i > 0; i-- {
		dst[i] -= dst[i-1]
	}
	for i := 1; i < len(dst); i++ {
		dst[i] += dst[i-1]
	}
	return dst
}

// redeltaPCM does what redelta does, for integers that are read as Int and fit into 32
// bits.
func redeltaPCM[T int32 | int64](dst []int64, v []T) []int64 {
	dst = slices.Grow(dst[:0], len(v))
	var last T
	at := int64(0)
	for _, x := range v {
		at += int64(int32(x - last))
		last = x
		dst = append(dst, at)
	}
	return dst
}
