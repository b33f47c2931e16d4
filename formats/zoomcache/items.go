package zoomcache

import (
	"encoding/binary"
	"math"
)

// ItemType returns NumPy's name for the values of a kind: "<f8", "|b1". Of those that
// NumPy has no type for it is "<i8".
func (k Kind) ItemType() string {
	switch k {
	case Bool:
		return "|b1"
	case F32:
		return "<f4"
	case F64:
		return "<f8"
	case I8:
		return "|i1"
	case I16:
		return "<i2"
	case I32:
		return "<i4"
	case U8:
		return "|u1"
	case U16:
		return "<u2"
	case U32:
		return "<u4"
	case U64, Word:
		return "<u8"
	default:
		return "<i8"
	}
}

// AppendItems appends the values as items of Kind.ItemType, nothing for Unit and Integer.
func (v *Values) AppendItems(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		for _, x := range v.Bool {
			b := byte(0)
			if x {
				b = 1
			}
			dst = append(dst, b)
		}
	case F32:
		for _, x := range v.F32 {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	case F64:
		for _, x := range v.F64 {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	case I8:
		for _, x := range v.I8 {
			dst = append(dst, byte(x))
		}
	case U8:
		return append(dst, v.U8...)
	case I16:
		return append16(dst, v.I16)
	case U16:
		return append16(dst, v.U16)
	case I32:
		return append32(dst, v.I32)
	case U32:
		return append32(dst, v.U32)
	case U64, Word:
		return append64(dst, v.U64)
	default:
		return append64(dst, v.I64)
	}
	return dst
}

func append16[T int16 | uint16](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(x))
	}
	return dst
}

func append32[T int32 | uint32](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x))
	}
	return dst
}

func append64[T int64 | uint64](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
	}
	return dst
}
