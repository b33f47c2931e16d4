package zoomcache

import "math/big"

// Values are the values of a packet or of a flush window in the type of their
// codec. Kind says which one field holds them; the values of a multichannel
// track are interleaved. Int and I64 share a field, as do Word and U64.
type Values struct {
	Kind Kind
	N    int // number of values of all channels together

	Bool []bool
	F32  []float32
	F64  []float64
	I8   []int8
	I16  []int16
	I32  []int32
	I64  []int64 // Int, I64
	U8   []uint8
	U16  []uint16
	U32  []uint32
	U64  []uint64   // Word, U64
	Big  []*big.Int // Integer; the integers are never changed in place
}

// Number returns value i, absent for Unit; a Bool is the Number 0 or 1 of U8.
func (v *Values) Number(i int) Number {
	switch v.Kind {
	case Bool:
		if v.Bool[i] {
			return unsignedNumber(U8, 1)
		}
		return unsignedNumber(U8, 0)
	case F32:
		return floatNumber(F32, float64(v.F32[i]))
	case F64:
		return floatNumber(F64, v.F64[i])
	case Int, I64:
		return signedNumber(v.Kind, v.I64[i])
	case Integer:
		return NewBig(v.Big[i])
	case Word, U64:
		return unsignedNumber(v.Kind, v.U64[i])
	case I8:
		return signedNumber(I8, int64(v.I8[i]))
	case I16:
		return signedNumber(I16, int64(v.I16[i]))
	case I32:
		return signedNumber(I32, int64(v.I32[i]))
	case U8:
		return unsignedNumber(U8, uint64(v.U8[i]))
	case U16:
		return unsignedNumber(U16, uint64(v.U16[i]))
	case U32:
		return unsignedNumber(U32, uint64(v.U32[i]))
	default:
		return Number{}
	}
}

// Float returns value i as the nearest float64: 0 or 1 for Bool, 1 for Unit.
func (v *Values) Float(i int) float64 {
	if v.Kind == Unit {
		return 1
	}
	return v.Number(i).Float()
}

// held returns the length of the slice that holds the values.
func (v *Values) held() int {
	switch v.Kind {
	case Bool:
		return len(v.Bool)
	case F32:
		return len(v.F32)
	case F64:
		return len(v.F64)
	case Int, I64:
		return len(v.I64)
	case Integer:
		return len(v.Big)
	case Word, U64:
		return len(v.U64)
	case I8:
		return len(v.I8)
	case I16:
		return len(v.I16)
	case I32:
		return len(v.I32)
	case U8:
		return len(v.U8)
	case U16:
		return len(v.U16)
	case U32:
		return len(v.U32)
	default:
		return v.N
	}
}

// reset empties v for n values of a kind, and reuses its memory.
func (v *Values) reset(k Kind) {
	v.Kind, v.N = k, 0
	v.Bool, v.F32, v.F64 = v.Bool[:0], v.F32[:0], v.F64[:0]
	v.I8, v.I16, v.I32, v.I64 = v.I8[:0], v.I16[:0], v.I32[:0], v.I64[:0]
	v.U8, v.U16, v.U32, v.U64 = v.U8[:0], v.U16[:0], v.U32[:0], v.U64[:0]
	v.Big = v.Big[:0]
}

// lend sets the values of v to the slice *p, without a copy.
func (v *Values) lend(k Kind, p any) {
	*v = Values{Kind: k}
	switch s := p.(type) {
	case *[]struct{}:
		v.N = len(*s)
	case *[]bool:
		v.Bool, v.N = *s, len(*s)
	case *[]float32:
		v.F32, v.N = *s, len(*s)
	case *[]float64:
		v.F64, v.N = *s, len(*s)
	case *[]int8:
		v.I8, v.N = *s, len(*s)
	case *[]int16:
		v.I16, v.N = *s, len(*s)
	case *[]int32:
		v.I32, v.N = *s, len(*s)
	case *[]int64:
		v.I64, v.N = *s, len(*s)
	case *[]uint8:
		v.U8, v.N = *s, len(*s)
	case *[]uint16:
		v.U16, v.N = *s, len(*s)
	case *[]uint32:
		v.U32, v.N = *s, len(*s)
	case *[]uint64:
		v.U64, v.N = *s, len(*s)
	case *[]*big.Int:
		v.Big, v.N = *s, len(*s)
	}
}
