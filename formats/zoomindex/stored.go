package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/zoomcache"
)

// loses says whether differences give readers other samples than they were made of:
// floats are rounded, and the integers of PCM are cut to 32 bits.
func loses(t *zoomcache.Track) bool {
	c := t.Codec
	return t.Delta && c.Deltas() && (c.Kind.Float() || c.PCM && (c.Kind == zoomcache.Int || c.Kind == zoomcache.I32))
}

// stored gives the values that readers of a packet get. They are good until the next
// call.
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

// redelta makes differences of v, and of these the values again.
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

// redeltaPCM does so with integers that are read as Int and lie in 32 bits.
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
