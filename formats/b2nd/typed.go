package b2nd

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
)

// Number lists the Go types of the items that Values returns and WriteValues writes.
type Number interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | complex64 | complex128
}

// kindOf returns the kind of items that T holds.
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

// Values returns the items of a box as a new slice of T, in row-major order of
// the shape box.OutShape. The items must have the kind and size of T; their byte
// order does not matter. int64 is also right for dates and durations, which are
// counts of their unit. For any other type Values returns formats.ErrUnsupported.
// If the items take more than Limits.MaxDecoded bytes, it returns
// formats.ErrTooLarge. Values costs the same requests as ReadSlice.
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
		for i, b := range p { // a Go bool must be 0 or 1, but the file may hold other bytes
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

// swap reverses the bytes of every number of size bytes.
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

// TypeOf is NumPy's text of the type of T, in the byte order of this machine.
func TypeOf[T Number]() string {
	var zero T
	letter := map[dtype.Kind]string{dtype.Bool: "b", dtype.Int: "i", dtype.Uint: "u", dtype.Float: "f", dtype.Complex: "c"}[kindOf[T]()]
	size, order := int(unsafe.Sizeof(zero)), "<"
	switch {
	case size == 1:
		order = "|"
	case !littleEndian():
		order = ">"
	}
	return order + letter + strconv.Itoa(size)
}

// WriteValues writes an array. Its items in row-major order are values. It calls
// NewWriter with the type of T, Write and Close; the caller commits w. If the number of
// values differs from the number of items of the shape, it writes nothing and returns
// cframe.ErrRefused. Other errors are those of NewWriter and Writer.
func WriteValues[T Number](w formats.Output, shape []int64, values []T, o WriteOptions) error {
	items := int64(1)
	for _, n := range shape {
		if n < 0 || n > 0 && items > math.MaxInt64/n {
			return fail("shape", cframe.ErrRefused, "%v", shape)
		}
		items *= n
	}
	if items != int64(len(values)) {
		return fail("shape", cframe.ErrRefused, "%d values for %v", len(values), shape)
	}
	a, err := NewWriter(w, Meta{Shape: shape, DType: TypeOf[T]()}, o)
	if err != nil {
		return err
	}
	defer a.Abort()
	if items > 0 {
		p := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(values[0]))) //nolint:gosec // the memory of numbers as bytes, of exactly their length
		if _, err := a.Write(p); err != nil {
			return err
		}
	}
	return a.Close()
}
