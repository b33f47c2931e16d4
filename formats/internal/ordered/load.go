package ordered

import "encoding/binary"

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
	switch d := any(dst).(type) {
	case []uint8:
		for i := range d {
			d[i] = p[i*stride]
		}
	case []uint16:
		load16(d, p, stride, bigEndian)
	case []uint32:
		load32(d, p, stride, bigEndian)
	case []uint64:
		load64(d, p, stride, bigEndian)
	}
	return dst
}

func load16(d []uint16, p []byte, stride int, bigEndian bool) {
	switch {
	case bigEndian:
		for i := range d {
			d[i] = binary.BigEndian.Uint16(p[i*stride:])
		}
	case stride == 2:
		for p = p[:2*len(d)]; len(d) > 0 && len(p) >= 2; d, p = d[1:], p[2:] {
			d[0] = binary.LittleEndian.Uint16(p)
		}
	default:
		for i := range d {
			d[i] = binary.LittleEndian.Uint16(p[i*stride:])
		}
	}
}

func load32(d []uint32, p []byte, stride int, bigEndian bool) {
	switch {
	case bigEndian:
		for i := range d {
			d[i] = binary.BigEndian.Uint32(p[i*stride:])
		}
	case stride == 4:
		for p = p[:4*len(d)]; len(d) > 0 && len(p) >= 4; d, p = d[1:], p[4:] {
			d[0] = binary.LittleEndian.Uint32(p)
		}
	default:
		for i := range d {
			d[i] = binary.LittleEndian.Uint32(p[i*stride:])
		}
	}
}

func load64(d []uint64, p []byte, stride int, bigEndian bool) {
	switch {
	case bigEndian:
		for i := range d {
			d[i] = binary.BigEndian.Uint64(p[i*stride:])
		}
	case stride == 8:
		for p = p[:8*len(d)]; len(d) > 0 && len(p) >= 8; d, p = d[1:], p[8:] {
			d[0] = binary.LittleEndian.Uint64(p)
		}
	default:
		for i := range d {
			d[i] = binary.LittleEndian.Uint64(p[i*stride:])
		}
	}
}
