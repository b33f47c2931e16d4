package farread

import (
	"context"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
)

// An ArrayReader is an open array with the methods that Slice needs, such as an *Array,
// a *Npy or a Slicer.
type ArrayReader interface {
	Shape() []int64
	DType() dtype.DType
	SizeOf(box b2nd.Box) (int64, error)
	ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error
}

// Slice reads a slice of an array. It returns the items as a new slice of T in
// row-major order, and their shape. slice is spelled as in NumPy ("30, 100:140, ::-2");
// "" means the whole array. An array with coordinates takes those, too ("time=2025-03-01:2025-04-01, lat=40:60", see Array.Select):
//
//	values, shape, err := farread.Slice[float64](ctx, array, "30, 100:140")
//
// Items of another type are converted to T as by dtype.DType.Convert, from either byte
// order. The order of kinds is bool, integers, floats, complex numbers; an item can
// become a T of its own kind or of a later one. An int64 can also hold a date or a
// duration: the count of its unit. For other types, and for an integer that T cannot
// hold, the error is formats.ErrUnsupported. If the items are longer than 2 GiB, or
// longer than the limit of the array, it is formats.ErrTooLarge. Slice costs as much as
// ReadSlice. If it converts, it takes twice the memory. To read a box, use b2nd.Values.
func Slice[T b2nd.Number](ctx context.Context, a ArrayReader, slice string) (values []T, shape []int64, err error) {
	box, err := boxOf(ctx, a, slice)
	if err != nil {
		return nil, nil, err
	}
	n, err := a.SizeOf(box)
	if err != nil {
		return nil, nil, err
	}
	from, to, err := types[T](a.DType())
	if err != nil {
		return nil, nil, err
	}
	most := formats.DefaultLimits().MaxDecoded
	if l, ok := a.(interface{ Limits() formats.Limits }); ok {
		most = min(most, l.Limits().MaxDecoded)
	}
	items := n / int64(max(from.ItemSize(), 1))
	if max(n, items*int64(to.ItemSize())) > most {
		return nil, nil, fmt.Errorf("%d items of %s as %s, %d bytes allowed: %w", items, from, to, most, formats.ErrTooLarge)
	}
	values = make([]T, items)
	if items == 0 {
		return values, box.OutShape, nil
	}
	return values, box.OutShape, fill(ctx, a, box, memory(values), from, to, n)
}

// boxOf resolves the text of a slice, by coordinates if the array has any.
func boxOf(ctx context.Context, a ArrayReader, slice string) (b2nd.Box, error) {
	if l, ok := a.(interface {
		Select(ctx context.Context, slice string, o SelectOptions) (b2nd.Box, error)
	}); ok {
		return l.Select(ctx, slice, SelectOptions{})
	}
	s, err := b2nd.ParseSlice(slice)
	if err != nil {
		return b2nd.Box{}, err
	}
	return s.Resolve(a.Shape())
}

// fill reads a box, whose stored items take n bytes, and converts its items from type
// from to type to. p receives the result.
func fill(ctx context.Context, a ArrayReader, box b2nd.Box, p []byte, from, to dtype.DType, n int64) error {
	if from.Equal(to) && to.Kind() != dtype.Bool {
		return a.ReadSlice(ctx, p, box)
	}
	stored := make([]byte, n)
	if err := a.ReadSlice(ctx, stored, box); err != nil {
		return err
	}
	if to.Kind() == dtype.Bool {
		for i, b := range stored { // a Go bool must be 0 or 1, even if the file holds other bytes
			p[i] = min(b, 1)
		}
		return nil
	}
	return from.Convert(p, to, stored)
}

// memory returns the bytes of the numbers in v, without a copy.
func memory[T b2nd.Number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0]))) //nolint:gosec // of exactly their length
}

// types returns the type of the stored items as numbers, and the type of T in memory.
func types[T b2nd.Number](stored dtype.DType) (from, to dtype.DType, err error) {
	if to, err = dtype.Parse(b2nd.TypeOf[T]()); err != nil {
		return from, to, err
	}
	from = stored
	if k := stored.Kind(); (k == dtype.DateTime || k == dtype.Duration) && to.Kind() == dtype.Int {
		order := "<"
		if stored.BigEndian() {
			order = ">"
		}
		as, err := dtype.Parse(order + "i" + strconv.Itoa(stored.ItemSize()))
		if err != nil {
			return from, to, err
		}
		if from, err = stored.View(as); err != nil {
			return from, to, err
		}
	}
	if !from.CanConvert(to) {
		return from, to, fmt.Errorf("items are %s, which do not become %s: %w", stored, to, formats.ErrUnsupported)
	}
	return from, to, nil
}

// OpenSlice opens the array that uri names with the Client of Open, and reads a slice
// of it as Slice does. To read several slices, keep the Dataset of OpenAny instead. If
// uri does not name an array, the error is formats.ErrUnsupported.
func OpenSlice[T b2nd.Number](ctx context.Context, uri, slice string) (values []T, shape []int64, err error) {
	d, err := OpenAny(ctx, uri)
	if err != nil {
		return nil, nil, err
	}
	a, ok := d.(Slicer)
	if !ok {
		return nil, nil, fmt.Errorf("%s: no array: %w", uri, formats.ErrUnsupported)
	}
	return Slice[T](ctx, a, slice)
}
