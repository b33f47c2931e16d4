package ordered

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A Word is an unsigned integer of the size of an item.
type Word interface {
	uint8 | uint16 | uint32 | uint64
}

// Tile is how many items are loaded at a time: few enough to stay in the fastest cache
// of a processor, and a multiple of 64, so that each tile of a mask has words of its own.
const Tile = 1024

// Load returns the first n items of p, at most Tile. An item begins every stride bytes,
// the first with p; p ends no sooner than the last item. The result is memory of buf, or
// of p if that will do, and must not be changed.
func Load[W Word](buf *[Tile]W, p []byte, stride, n int, bigEndian bool) []W {
	if w, ok := any(p).([]W); ok && stride == 1 {
		return w[:n]
	}
	dst := buf[:n]
	size := int(unsafe.Sizeof(dst[0]))
	raw := unsafe.Slice((*byte)(unsafe.Pointer(buf)), n*size) //nolint:gosec // the memory of dst as bytes, of exactly its length
	if stride == size {
		copy(raw, p)
	} else {
		gather(raw, p, stride, size)
	}
	if bigEndian != nativeBig() {
		swap(dst)
	}
	return dst
}

// nativeBig reports whether this machine has the most significant byte first.
func nativeBig() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

// gather copies items of some bytes that begin every stride bytes of p.
func gather(dst, p []byte, stride, size int) {
	switch size {
	case 1:
		for i := range dst {
			dst[i] = p[i*stride]
		}
	case 2:
		for i := 0; i+2 <= len(dst); i += 2 {
			binary.NativeEndian.PutUint16(dst[i:], binary.NativeEndian.Uint16(p))
			p = p[min(stride, len(p)):]
		}
	case 4:
		for i := 0; i+4 <= len(dst); i += 4 {
			binary.NativeEndian.PutUint32(dst[i:], binary.NativeEndian.Uint32(p))
			p = p[min(stride, len(p)):]
		}
	default:
		for i := 0; i+8 <= len(dst); i += 8 {
			binary.NativeEndian.PutUint64(dst[i:], binary.NativeEndian.Uint64(p))
			p = p[min(stride, len(p)):]
		}
	}
}

// swap reverses the bytes of each item.
func swap[W Word](items []W) {
	switch d := any(items).(type) {
	case []uint16:
		for i, x := range d {
			d[i] = bits.ReverseBytes16(x)
		}
	case []uint32:
		for i, x := range d {
			d[i] = bits.ReverseBytes32(x)
		}
	case []uint64:
		for i, x := range d {
			d[i] = bits.ReverseBytes64(x)
		}
	}
}
