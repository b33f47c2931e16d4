package zoomcache

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	"github.com/farread/farread/internal/sums"
)

// An encodeFunc appends raw values, as differences if delta is set. It does not change
// v.
type encodeFunc[T any] func(dst []byte, v []T, delta bool) []byte

// encoderOf returns the function for a codec whose values have type T.
func encoderOf[T any](c Codec) encodeFunc[T] {
	var f any
	switch c.Kind {
	case Unit:
		f = encodeFunc[struct{}](func(dst []byte, _ []struct{}, _ bool) []byte { return dst })
	case Bool:
		f = encodeFunc[bool](encodeBool)
	case F32:
		f = encodeFunc[float32](encodeF32)
	case F64:
		f = encodeFunc[float64](encodeF64)
	case Int:
		f = encodeFunc[int64](encodeInt)
		if c.PCM {
			f = encodeFunc[int64](encodePCMInt)
		}
	case Integer:
		f = encodeFunc[*big.Int](encodeInteger)
	case Word:
		f = encodeFunc[uint64](encodeWord)
	case I8:
		f = encodeFunc[int8](encode8[int8])
	case U8:
		f = encodeFunc[uint8](encode8[uint8])
	case I16:
		f = encodeFunc[int16](encode16[int16])
	case U16:
		f = encodeFunc[uint16](encode16[uint16])
	case I32:
		f = encodeFunc[int32](encode32[int32])
	case U32:
		f = encodeFunc[uint32](encode32[uint32])
	case I64:
		f = encodeFunc[int64](encode64[int64])
	case U64:
		f = encodeFunc[uint64](encode64[uint64])
	default:
	}
	g, _ := f.(encodeFunc[T])
	return g
}

// room makes dst longer by n bytes. It returns all of it, and the new bytes alone.
func room(dst []byte, n int) (all, tail []byte) {
	dst = slices.Grow(dst, n)
	all = dst[:len(dst)+n]
	return all, all[len(dst):]
}

func encodeBool(dst []byte, v []bool, _ bool) []byte {
	for _, x := range v {
		b := byte(0)
		if x {
			b = 1
		}
		dst = append(dst, b)
	}
	return dst
}

func encode8[T int8 | uint8](dst []byte, v []T, delta bool) []byte {
	dst, out := room(dst, len(v))
	out = out[:len(v)]
	if !delta {
		for i, x := range v {
			out[i] = byte(x)
		}
		return dst
	}
	last := T(0)
	for i, x := range v {
		out[i] = byte(x - last)
		last = x
	}
	return dst
}

func encode16[T int16 | uint16](dst []byte, v []T, delta bool) []byte {
	dst, out := room(dst, 2*len(v))
	if !delta {
		k := sums.BigEndian16(out, v)
		v, out = v[k:], out[2*k:]
		for len(v) >= 4 && len(out) >= 8 { // unrolled: one check of bounds for four
			a, o := v[:4], out[:8]
			binary.BigEndian.PutUint16(o[0:], uint16(a[0]))
			binary.BigEndian.PutUint16(o[2:], uint16(a[1]))
			binary.BigEndian.PutUint16(o[4:], uint16(a[2]))
			binary.BigEndian.PutUint16(o[6:], uint16(a[3]))
			v, out = v[4:], out[8:]
		}
		for i, x := range v {
			binary.BigEndian.PutUint16(out[2*i:2*i+2], uint16(x))
		}
		return dst
	}
	last := T(0)
	for i, x := range v {
		binary.BigEndian.PutUint16(out[2*i:2*i+2], uint16(x-last))
		last = x
	}
	return dst
}

func encode32[T int32 | uint32](dst []byte, v []T, delta bool) []byte {
	dst, out := room(dst, 4*len(v))
	if !delta {
		k := sums.BigEndian32(out, v)
		v, out = v[k:], out[4*k:]
		for len(v) >= 4 && len(out) >= 16 { // unrolled: one check of bounds for four
			a, o := v[:4], out[:16]
			binary.BigEndian.PutUint32(o[0:], uint32(a[0]))
			binary.BigEndian.PutUint32(o[4:], uint32(a[1]))
			binary.BigEndian.PutUint32(o[8:], uint32(a[2]))
			binary.BigEndian.PutUint32(o[12:], uint32(a[3]))
			v, out = v[4:], out[16:]
		}
		for i, x := range v {
			binary.BigEndian.PutUint32(out[4*i:4*i+4], uint32(x))
		}
		return dst
	}
	last := T(0)
	for i, x := range v {
		binary.BigEndian.PutUint32(out[4*i:4*i+4], uint32(x-last))
		last = x
	}
	return dst
}

func encode64[T int64 | uint64](dst []byte, v []T, delta bool) []byte {
	dst, out := room(dst, 8*len(v))
	if !delta {
		k := sums.BigEndian64(out, v)
		v, out = v[k:], out[8*k:]
		for len(v) >= 4 && len(out) >= 32 { // unrolled: one check of bounds for four
			a, o := v[:4], out[:32]
			binary.BigEndian.PutUint64(o[0:], uint64(a[0]))
			binary.BigEndian.PutUint64(o[8:], uint64(a[1]))
			binary.BigEndian.PutUint64(o[16:], uint64(a[2]))
			binary.BigEndian.PutUint64(o[24:], uint64(a[3]))
			v, out = v[4:], out[32:]
		}
		for i, x := range v {
			binary.BigEndian.PutUint64(out[8*i:8*i+8], uint64(x))
		}
		return dst
	}
	last := T(0)
	for i, x := range v {
		binary.BigEndian.PutUint64(out[8*i:8*i+8], uint64(x-last))
		last = x
	}
	return dst
}

func encodeF32(dst []byte, v []float32, delta bool) []byte {
	dst, out := room(dst, 4*len(v))
	if !delta {
		k := sums.BigEndian32(out, v)
		v, out = v[k:], out[4*k:]
		for len(v) >= 4 && len(out) >= 16 { // unrolled: one check of bounds for four
			a, o := v[:4], out[:16]
			binary.BigEndian.PutUint32(o[0:], math.Float32bits(a[0]))
			binary.BigEndian.PutUint32(o[4:], math.Float32bits(a[1]))
			binary.BigEndian.PutUint32(o[8:], math.Float32bits(a[2]))
			binary.BigEndian.PutUint32(o[12:], math.Float32bits(a[3]))
			v, out = v[4:], out[16:]
		}
		for i, x := range v {
			binary.BigEndian.PutUint32(out[4*i:4*i+4], math.Float32bits(x))
		}
		return dst
	}
	for i, x := range v {
		if i > 0 {
			x = sub(x, v[i-1])
		}
		binary.BigEndian.PutUint32(out[4*i:4*i+4], math.Float32bits(x))
	}
	return dst
}

func encodeF64(dst []byte, v []float64, delta bool) []byte {
	dst, out := room(dst, 8*len(v))
	if !delta {
		k := sums.BigEndian64(out, v)
		v, out = v[k:], out[8*k:]
		for len(v) >= 4 && len(out) >= 32 { // unrolled: one check of bounds for four
			a, o := v[:4], out[:32]
			binary.BigEndian.PutUint64(o[0:], math.Float64bits(a[0]))
			binary.BigEndian.PutUint64(o[8:], math.Float64bits(a[1]))
			binary.BigEndian.PutUint64(o[16:], math.Float64bits(a[2]))
			binary.BigEndian.PutUint64(o[24:], math.Float64bits(a[3]))
			v, out = v[4:], out[32:]
		}
		for i, x := range v {
			binary.BigEndian.PutUint64(out[8*i:8*i+8], math.Float64bits(x))
		}
		return dst
	}
	for i, x := range v {
		if i > 0 {
			x = sub(x, v[i-1])
		}
		binary.BigEndian.PutUint64(out[8*i:8*i+8], math.Float64bits(x))
	}
	return dst
}

func encodeInt(dst []byte, v []int64, delta bool) []byte {
	last := int64(0)
	for _, x := range v {
		dst = appendVLC(dst, x-last)
		if delta {
			last = x
		}
	}
	return dst
}

func encodeWord(dst []byte, v []uint64, _ bool) []byte {
	for _, x := range v {
		dst = appendMagnitude(dst, x, 0)
	}
	return dst
}

// encodePCMInt keeps the low 32 bits, as the original does.
func encodePCMInt(dst []byte, v []int64, delta bool) []byte {
	dst, out := room(dst, 4*len(v))
	last := int64(0)
	for i, x := range v {
		binary.BigEndian.PutUint32(out[4*i:4*i+4], uint32(x-last))
		if delta {
			last = x
		}
	}
	return dst
}

func encodeInteger(dst []byte, v []*big.Int, delta bool) []byte {
	var d big.Int
	for i, x := range v {
		if delta && i > 0 {
			x = d.Sub(x, v[i-1])
		}
		dst = appendBig(dst, x)
	}
	return dst
}

// encodeStamps appends the first stamp, then the differences between stamps, which
// wrap.
func encodeStamps(dst []byte, stamps []int64) []byte { return encode64(dst, stamps, true) }

// encode appends the values in their raw form.
func (v *Values) encode(dst []byte, c Codec, delta bool) []byte {
	switch c.Kind {
	case Bool:
		return encodeBool(dst, v.Bool, delta)
	case F32:
		return encodeF32(dst, v.F32, delta)
	case F64:
		return encodeF64(dst, v.F64, delta)
	case Int, I64:
		return encoderOf[int64](c)(dst, v.I64, delta)
	case Integer:
		return encodeInteger(dst, v.Big, delta)
	case Word, U64:
		return encoderOf[uint64](c)(dst, v.U64, delta)
	case I8:
		return encode8(dst, v.I8, delta)
	case I16:
		return encode16(dst, v.I16, delta)
	case I32:
		return encode32(dst, v.I32, delta)
	case U8:
		return encode8(dst, v.U8, delta)
	case U16:
		return encode16(dst, v.U16, delta)
	case U32:
		return encode32(dst, v.U32, delta)
	default:
		return dst
	}
}
