package dtype

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
)

var (
	errConvert = fmt.Errorf("types do not convert: %w", formats.ErrUnsupported)
	errFit     = fmt.Errorf("a number that the type does not have: %w", formats.ErrUnsupported)
)

// CanConvert reports whether Convert can convert items of d to items of to. It can if
// the types are Equal or differ only in byte order. It can convert numbers if the kind
// of to is the same or a later one in the order Bool, integers, Float, Complex. It does
// not convert floats to integers, since the rounding is not defined, and nothing to a
// Bool.
func (d DType) CanConvert(to DType) bool {
	return d.Equal(to) || d.swaps(to) || d.rank() > 0 && to.rank() > 1 && d.rank() <= to.rank()
}

// Convert fills dst with the items of src as items of to, as NumPy's astype does: numbers
// become the nearest float, ties to even, and infinity beyond the largest one. If an
// integer does not fit into to, the error names the item; NumPy would wrap it. It is also
// an error if CanConvert is false, or if dst and src have different numbers of items. All
// these errors match ErrUnsupported and leave dst undefined. dst and src must not
// overlap.
func (d DType) Convert(dst []byte, to DType, src []byte) error {
	if !d.CanConvert(to) {
		return fail(errConvert, "%s to %s", d, to)
	}
	n := 0
	if d.size > 0 {
		n = len(src) / d.size
	}
	if n*d.size != len(src) || n*to.size != len(dst) {
		return fail(errSize, "%d bytes of %s, %d of %s", len(src), d, len(dst), to)
	}
	switch {
	case d.Equal(to):
		copy(dst, src)
	case d.swaps(to):
		swap(dst, src, d.wordSize())
	case d.kind == Complex:
		return d.complexParts().numbers(dst, to.complexParts(), src)
	case to.kind == Complex:
		half := to.complexParts()
		if err := d.numbers(dst[:len(dst)/2], half, src); err != nil {
			return err
		}
		spread(dst, half.size)
	default:
		return d.numbers(dst, to, src)
	}
	return nil
}

// rank orders the kinds of numbers by what they can become; 0 is no number.
func (d DType) rank() int {
	switch {
	case d.Opaque():
		return 0
	case d.kind == Bool:
		return 1
	case d.kind == Int || d.kind == Uint:
		return 2
	case d.kind == Float:
		return 3
	case d.kind == Complex:
		return 4
	}
	return 0
}

// swaps reports whether d and to differ only in byte order.
func (d DType) swaps(to DType) bool {
	if d.bigEndian == to.bigEndian || d.kind == Struct || d.Opaque() {
		return false
	}
	to.bigEndian = d.bigEndian
	return d.Equal(to)
}

// wordSize returns the size of the units of an item that have a byte order.
func (d DType) wordSize() int {
	switch d.kind {
	case Complex:
		return d.size / 2
	case Text:
		return 4
	default:
		return d.size
	}
}

// swap fills dst with the words of src, each backwards.
func swap(dst, src []byte, size int) {
	for i := 0; i < len(src); i += size {
		for k := range size {
			dst[i+k] = src[i+size-1-k]
		}
	}
}

// spread puts a zero of size bytes behind each of the numbers in the first half of p.
func spread(p []byte, size int) {
	for i := len(p)/(2*size) - 1; i >= 0; i-- {
		copy(p[2*i*size:], p[i*size:(i+1)*size])
		clear(p[(2*i+1)*size : (2*i+2)*size])
	}
}

// numbers is Convert among Bool, integers and Float.
func (d DType) numbers(dst []byte, to DType, src []byte) error {
	for i := 0; i*d.size < len(src); i++ {
		p, out := src[i*d.size:(i+1)*d.size], dst[i*to.size:(i+1)*to.size]
		switch {
		case d.kind == Float:
			to.putFloat(out, d.float(p))
		case d.kind == Int && to.kind == Float:
			v := d.int(p)
			to.putNearest(out, float64(v), float32(v))
		case to.kind == Float:
			v := d.whole(p)
			to.putNearest(out, float64(v), float32(v))
		case d.kind == Int:
			v := d.int(p)
			if to.put(out, uint64(v)); to.kind == Int && to.int(out) != v || to.kind == Uint && (v < 0 || to.uint(out) != uint64(v)) {
				return fail(errFit, "item %d: %d as %s", i, v, to)
			}
		default:
			v := d.whole(p)
			if to.put(out, v); to.uint(out) != v || to.kind == Int && to.int(out) < 0 {
				return fail(errFit, "item %d: %d as %s", i, v, to)
			}
		}
	}
	return nil
}

// whole reads an item as an unsigned integer. A Bool is 1 if its byte is not 0.
func (d DType) whole(p []byte) uint64 {
	v := d.uint(p)
	if d.kind == Bool {
		return min(v, 1)
	}
	return v
}

// putNearest writes an integer as a float; v and single are the integer rounded
// to a float64 and a float32.
func (d DType) putNearest(p []byte, v float64, single float32) {
	switch d.size {
	case 8:
		d.put(p, math.Float64bits(v))
	case 4:
		d.put(p, uint64(math.Float32bits(single)))
	default: // an integer that float32 rounds is above the largest half float
		d.put(p, uint64(FloatToHalf(single)))
	}
}

// putFloat writes a float of 2, 4 or 8 bytes.
func (d DType) putFloat(p []byte, v float64) {
	single := float32(v)
	if d.size == 2 && float64(single) != v && !math.IsInf(float64(single), 0) {
		single = odd(single, v)
	}
	d.putNearest(p, v, single)
}

// odd rounds v to odd: of the two float32 values around v it returns the one whose last
// bit is set. nearest is the float32 nearest to v and differs from v. If the result is
// rounded again, to a half float, it gives the same half float as v itself.
func odd(nearest float32, v float64) float32 {
	bits := math.Float32bits(nearest)
	if math.Abs(float64(nearest)) > math.Abs(v) {
		bits--
	}
	return math.Float32frombits(bits | 1)
}

// put writes the low bytes of v: an item of 1, 2, 4 or 8 bytes.
func (d DType) put(p []byte, v uint64) {
	order := binary.AppendByteOrder(binary.LittleEndian)
	if d.bigEndian {
		order = binary.BigEndian
		v <<= 64 - 8*d.size
	}
	var word [8]byte
	copy(p, order.AppendUint64(word[:0], v)[:d.size])
}
