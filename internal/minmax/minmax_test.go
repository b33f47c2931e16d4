package minmax_test

import (
	"encoding/binary"
	"math"
	"testing"
	"unsafe"

	"github.com/farread/farread/internal/minmax"
)

// reference is Scan by a loop; W has bits bits.
func reference[W minmax.Word](items []W, o minmax.Order[W], fill, mask W) minmax.Extent {
	bits := 8 * int(unsafe.Sizeof(W(0)))
	e := minmax.Extent{Lo: math.MaxInt64, Hi: math.MinInt64}
	for _, x := range items {
		k := x ^ o.Flip
		if x>>(bits-1) != 0 {
			k ^= o.Neg
		}
		key := int64(k) << (64 - bits) >> (64 - bits) // with the sign
		e.Lo, e.Hi = min(e.Lo, key), max(e.Hi, key)
		if x&mask == fill {
			e.Equal++
		}
	}
	return e
}

// check compares Scan with the reference for items at every place in memory.
func check[W minmax.Word](t *testing.T, items []W, o minmax.Order[W], fill, mask W) {
	t.Helper()
	for from := range min(len(items), 9) {
		got, n := minmax.Scan(items[from:], o, fill, mask)
		if n == 0 {
			continue // this processor has no kernel, or there is not a step of items
		}
		if len(items)-from-n >= minmax.Step {
			t.Fatalf("%d of %d items", n, len(items)-from)
		}
		if want := reference(items[from:from+n], o, fill, mask); got != want {
			t.Fatalf("%x, %+v, %x, %x: %+v, want %+v", items[from:from+n], o, fill, mask, got, want)
		}
	}
}

// FuzzScan compares Scan with a loop.
func FuzzScan(f *testing.F) {
	for _, n := range []int{0, 60, 64, 127, 128, 1000} {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i*i>>3) ^ byte(255*(i/7%2))
		}
		f.Add(p, uint64(0), uint64(0), uint64(0), ^uint64(0))
		f.Add(p, uint64(math.MaxInt64), uint64(0), uint64(0), uint64(math.MaxInt64))
		f.Add(p, uint64(math.MaxInt32), uint64(1<<63|1<<31), uint64(1), uint64(255))
	}
	f.Fuzz(func(t *testing.T, p []byte, neg, flip, fill, mask uint64) {
		var a []uint32
		var b []uint64
		for ; len(p) >= 8; p = p[8:] {
			a = append(a, binary.LittleEndian.Uint32(p), binary.LittleEndian.Uint32(p[4:]))
			b = append(b, binary.LittleEndian.Uint64(p))
		}
		check(t, a, minmax.Order[uint32]{Neg: uint32(neg), Flip: uint32(flip)}, uint32(fill), uint32(mask))
		check(t, b, minmax.Order[uint64]{Neg: neg, Flip: flip}, fill, mask)
	})
}

// TestEachPlace: an extreme and a number that is looked for are found wherever they are.
func TestEachPlace(t *testing.T) {
	t.Parallel()
	for at := range 3 * minmax.Step {
		a, b := make([]uint32, 3*minmax.Step), make([]uint64, 3*minmax.Step)
		for i := range a {
			a[i], b[i] = uint32(1000+i), uint64(1000+i)<<20
		}
		for _, x := range []uint64{0, 7, 1 << 30, 1<<32 - 1, 1<<63 + 5, 1<<64 - 1} {
			a[at], b[at] = uint32(x), x
			check(t, a, minmax.Order[uint32]{}, uint32(x), 1<<32-1)
			check(t, b, minmax.Order[uint64]{}, x, 1<<64-1)
			check(t, a, minmax.Order[uint32]{Neg: math.MaxInt32}, uint32(x), 1<<32-1)
			check(t, b, minmax.Order[uint64]{Neg: math.MaxInt64}, x, 1<<64-1)
			check(t, a, minmax.Order[uint32]{Flip: 1 << 31}, uint32(x), 1<<32-1)
			check(t, b, minmax.Order[uint64]{Flip: 1 << 63}, x, 1<<64-1)
		}
	}
}
