package cells

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/analyze/internal/vec"
	"github.com/farread/farread/formats/dtype"
)

// tileLen is how many items are added at a time: few enough to stay in the fastest cache.
const tileLen = exact.Tile

// A tile has items of one cell as numbers: in f those of floats and the real parts of
// complex numbers, in i integers; 64-bit unsigned ones lessened by 2^63, so that they keep
// their order.
type tile struct {
	n  int
	f  [tileLen]float64
	im [tileLen]float64
	i  [tileLen]int64
	// Extremes of f and of i, whichever has the items.
	lo, hi       float64
	least, great int64
	// Numbers of the items among those of their cell in the piece: seq0 and those that
	// follow it, or, if items were left out, seq.
	seq0   int
	seq    [tileLen]int32
	sparse bool
}

// load puts n items, stride bytes from each other, behind those of the tile.
type load func(t *tile, p []byte, stride, n int)

func loaderOf(d dtype.DType) load {
	var order binary.ByteOrder = binary.LittleEndian
	if d.BigEndian() {
		order = binary.BigEndian
	}
	size := d.ItemSize()
	switch d.Kind() {
	case dtype.Float:
		return loadFloats(size, order)
	case dtype.Complex:
		return loadPairs(size/2, order)
	case dtype.Bool:
		return func(t *tile, p []byte, stride, n int) {
			for k := range n {
				t.i[t.n+k] = int64(min(p[k*stride], 1))
			}
		}
	case dtype.Uint:
		return loadInts(size, order, false)
	default: // Int, DateTime, Duration
		return loadInts(size, order, true)
	}
}

func loadFloats(size int, order binary.ByteOrder) load {
	switch {
	case size == 4 && order == binary.LittleEndian:
		return func(t *tile, p []byte, stride, n int) {
			out := t.f[t.n : t.n+n]
			if stride == size {
				vec.Widen(out, p)
				return
			}
			for k := range out {
				out[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(p[k*stride:])))
			}
		}
	case size == 8 && order == binary.LittleEndian:
		return func(t *tile, p []byte, stride, n int) {
			out := t.f[t.n : t.n+n]
			for k := range out {
				out[k] = math.Float64frombits(binary.LittleEndian.Uint64(p[k*stride:]))
			}
		}
	}
	one := float(size, order)
	return func(t *tile, p []byte, stride, n int) {
		for k := range n {
			t.f[t.n+k] = one(p[k*stride:])
		}
	}
}

// float reads a float of a size.
func float(size int, order binary.ByteOrder) func(p []byte) float64 {
	switch size {
	case 2:
		return func(p []byte) float64 { return float64(dtype.HalfToFloat(order.Uint16(p))) }
	case 4:
		return func(p []byte) float64 { return float64(math.Float32frombits(order.Uint32(p))) }
	default:
		return func(p []byte) float64 { return math.Float64frombits(order.Uint64(p)) }
	}
}

func loadPairs(size int, order binary.ByteOrder) load {
	one := float(size, order)
	return func(t *tile, p []byte, stride, n int) {
		for k := range n {
			t.f[t.n+k], t.im[t.n+k] = one(p[k*stride:]), one(p[k*stride+size:])
		}
	}
}

// loadInts loads integers: of size bytes, signed or not.
func loadInts(size int, order binary.ByteOrder, signed bool) load {
	var shift uint // out of the sign's way and back
	var flip int64
	switch {
	case signed:
		shift = uint(64 - 8*size)
	case size == 8:
		flip = math.MinInt64
	}
	if order == binary.BigEndian {
		return loadEach(func(p []byte) int64 { return int64(bigEndian(p[:size])<<shift)>>shift ^ flip })
	}
	switch size {
	case 1:
		return func(t *tile, p []byte, stride, n int) {
			out := t.i[t.n : t.n+n]
			for k := range out {
				out[k] = int64(uint64(p[k*stride])<<(shift&63)) >> (shift & 63)
			}
		}
	case 2:
		return func(t *tile, p []byte, stride, n int) {
			out := t.i[t.n : t.n+n]
			for k := range out {
				out[k] = int64(uint64(binary.LittleEndian.Uint16(p[k*stride:]))<<(shift&63)) >> (shift & 63)
			}
		}
	case 4:
		return func(t *tile, p []byte, stride, n int) {
			out := t.i[t.n : t.n+n]
			for k := range out {
				out[k] = int64(uint64(binary.LittleEndian.Uint32(p[k*stride:]))<<(shift&63)) >> (shift & 63)
			}
		}
	default:
		return func(t *tile, p []byte, stride, n int) {
			out := t.i[t.n : t.n+n]
			for k := range out {
				out[k] = int64(binary.LittleEndian.Uint64(p[k*stride:])) ^ flip
			}
		}
	}
}

func bigEndian(p []byte) (v uint64) {
	for _, b := range p {
		v = v<<8 | uint64(b)
	}
	return v
}

func loadEach(one func(p []byte) int64) load {
	return func(t *tile, p []byte, stride, n int) {
		for k := range n {
			t.i[t.n+k] = one(p[k*stride:])
		}
	}
}
