package zoomcache

import "slices"

// loses says whether differences give readers other samples than they were made of:
// floats are rounded, and the integers of PCM are cut to 32 bits.
func (t *Track) loses() bool {
	c := t.Codec
	return t.deltas() && (c.Kind.Float() || c.PCM && (c.Kind == Int || c.Kind == I32))
}

// stored gives the values that readers of a packet get. They are good until the next
// call.
func (t *trackIndex) stored(v *Values) *Values {
	switch v.Kind {
	case F32:
		t.f32 = redelta(t.f32, v.F32)
		return &Values{Kind: F32, N: v.N, F32: t.f32}
	case F64:
		t.f64 = redelta(t.f64, v.F64)
		return &Values{Kind: F64, N: v.N, F64: t.f64}
	case I32:
		t.ints = redeltaPCM(t.ints, v.I32)
	default:
		t.ints = redeltaPCM(t.ints, v.I64)
	}
	return &Values{Kind: Int, N: v.N, I64: t.ints}
}

// redelta makes differences of v, and of these the values again.
func redelta[T float32 | float64](dst, v []T) []T {
	dst = append(dst[:0], v...)
	for i := len(dst) - 1; i > 0; i-- {
		dst[i] -= dst[i-1]
	}
	undelta(dst)
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
