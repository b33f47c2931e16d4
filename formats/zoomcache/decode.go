package zoomcache

import (
	"encoding/binary"
	"math"
	"slices"
)

// decode reads n raw values from the start of p and returns how many bytes they took.
// If their size is fixed, p must hold enough of them. If p ends inside a value, or a
// value is too long, it returns -1.
func (v *Values) decode(c Codec, p []byte, n int, delta bool) int {
	v.reset(c.Kind)
	v.N = n
	if size := c.Size(); size >= 0 {
		v.decodeFixed(c, p[:n*size])
		if delta {
			v.undelta()
		}
		return n * size
	}
	used := v.decodeVar(p, n)
	if delta && used >= 0 {
		v.undelta()
	}
	return used
}

func (v *Values) decodeFixed(c Codec, p []byte) {
	switch c.Kind {
	case Bool:
		for _, b := range p {
			v.Bool = append(v.Bool, b != 0)
		}
	case F32:
		v.F32 = slices.Grow(v.F32, len(p)/4)
		for ; len(p) >= 4; p = p[4:] {
			v.F32 = append(v.F32, math.Float32frombits(binary.BigEndian.Uint32(p)))
		}
	case F64:
		v.F64 = slices.Grow(v.F64, len(p)/8)
		for ; len(p) >= 8; p = p[8:] {
			v.F64 = append(v.F64, math.Float64frombits(binary.BigEndian.Uint64(p)))
		}
	case Int: // only PCM has raw Int values
		v.I64 = slices.Grow(v.I64, len(p)/4)
		for ; len(p) >= 4; p = p[4:] {
			v.I64 = append(v.I64, int64(int32(binary.BigEndian.Uint32(p))))
		}
	case I8:
		v.I8 = slices.Grow(v.I8, len(p))
		for _, b := range p {
			v.I8 = append(v.I8, int8(b))
		}
	case U8:
		v.U8 = append(v.U8, p...)
	case I16:
		v.I16 = decode16(v.I16, p)
	case U16:
		v.U16 = decode16(v.U16, p)
	case I32:
		v.I32 = decode32(v.I32, p)
	case U32:
		v.U32 = decode32(v.U32, p)
	case I64:
		v.I64 = decode64(v.I64, p)
	case U64:
		v.U64 = decode64(v.U64, p)
	default: // Unit takes no bytes
	}
}

func (v *Values) decodeVar(p []byte, n int) int {
	at := 0
	for range n {
		k := 0
		switch v.Kind {
		case Integer:
			x, m := readBig(p[at:])
			k = m
			v.Big = append(v.Big, x)
		case Word:
			x, m := readVLC(p[at:])
			k = m
			v.U64 = append(v.U64, uint64(x))
		default:
			x, m := readVLC(p[at:])
			k = m
			v.I64 = append(v.I64, x)
		}
		if k <= 0 {
			return -1
		}
		at += k
	}
	return at
}

func decode16[T int16 | uint16](dst []T, p []byte) []T {
	dst = slices.Grow(dst, len(p)/2)
	for ; len(p) >= 2; p = p[2:] {
		dst = append(dst, T(binary.BigEndian.Uint16(p)))
	}
	return dst
}

func decode32[T int32 | uint32](dst []T, p []byte) []T {
	dst = slices.Grow(dst, len(p)/4)
	for ; len(p) >= 4; p = p[4:] {
		dst = append(dst, T(binary.BigEndian.Uint32(p)))
	}
	return dst
}

func decode64[T int64 | uint64](dst []T, p []byte) []T {
	dst = slices.Grow(dst, len(p)/8)
	for ; len(p) >= 8; p = p[8:] {
		dst = append(dst, T(binary.BigEndian.Uint64(p)))
	}
	return dst
}

// undelta turns differences into values, in the codec's own arithmetic.
func (v *Values) undelta() {
	undelta(v.F32)
	undelta(v.F64)
	undelta(v.I8)
	undelta(v.I16)
	undelta(v.I32)
	undelta(v.I64)
	for i := 1; i < len(v.Big); i++ {
		v.Big[i].Add(v.Big[i-1], v.Big[i])
	}
}

func undelta[T float32 | float64 | int8 | int16 | int32 | int64](v []T) {
	for i := 1; i < len(v); i++ {
		v[i] += v[i-1]
	}
}
