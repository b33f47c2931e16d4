package b2nd

import (
	"context"
	"encoding/binary"
	"unsafe"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Number lists the Go types of the items that Read returns.
type Number interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 | complex128
}

// kindOf is the kind of items that a Go type stands for.
func kindOf[T Number]() dtype.Kind {
	var zero T
	switch any(zero).(type) {
	case bool:
		return dtype.Bool
	case int8, int16, int32, int64:
		return dtype.Int
	case uint8, uint16, uint32, uint64:
		return dtype.Uint
	case float32, float64:
		return dtype.Float
	}
	return dtype.Complex
}

// Values gives the items of a box as a new slice of T, in row-major order of the
// shape box.OutShape. The items must be of the kind and size of T, in either byte
// order; int64 also takes dates and durations, which are counts of their unit.
// Anything else is formats.ErrUnsupported, and more bytes than Limits.MaxDecoded
// are formats.ErrTooLarge. Values costs what ReadSlice costs.
func Values[T Number](ctx context.Context, a *Array, box Box) ([]T, error) {
	var zero T
	kind, size := kindOf[T](), int(unsafe.Sizeof(zero))
	has := a.dtype.Kind()
	if (has == dtype.DateTime || has == dtype.Duration) && kind == dtype.Int {
		has = dtype.Int
	}
	if has != kind || a.dtype.ItemSize() != size {
		return nil, fail("slice", formats.ErrUnsupported, "items are %s, not %T", a.dtype, zero)
	}
	n, err := a.SizeOf(box)
	if err != nil {
		return nil, err
	}
	if n > a.limits.MaxDecoded {
		return nil, fail("slice", formats.ErrTooLarge, "%d bytes, %d allowed", n, a.limits.MaxDecoded)
	}
	out := make([]T, n/int64(size))
	if len(out) == 0 {
		return out, nil
	}
	p := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), n) //nolint:gosec // the memory of numbers as bytes, of exactly their length
	if err := a.ReadSlice(ctx, p, box); err != nil {
		return nil, err
	}
	switch {
	case kind == dtype.Bool:
		for i, b := range p { // a Go bool must be 0 or 1, whatever the file holds
			if b > 1 {
				p[i] = 1
			}
		}
	case a.dtype.BigEndian() == littleEndian():
		if kind == dtype.Complex {
			size /= 2
		}
		swap(p, size)
	}
	return out, nil
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// swap turns every number of size bytes around.
func swap(p []byte, size int) {
	switch size {
	case 2:
		for ; len(p) >= 2; p = p[2:] {
			p[0], p[1] = p[1], p[0]
		}
	case 4:
		for ; len(p) >= 4; p = p[4:] {
			binary.LittleEndian.PutUint32(p, binary.BigEndian.Uint32(p))
		}
	case 8:
		for ; len(p) >= 8; p = p[8:] {
			binary.LittleEndian.PutUint64(p, binary.BigEndian.Uint64(p))
		}
	}
}
