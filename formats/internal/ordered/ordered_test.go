package ordered_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/internal/ordered"
)

func typeOf(tb testing.TB, text string) (ordered.Type, dtype.DType) {
	tb.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	t, ok := ordered.Of(d)
	if !ok {
		tb.Fatalf("%s has no order", text)
	}
	return t, d
}

// TestKeys: all numbers of two bytes, in the order of their keys, ascend, and each is made
// of its key again; keys outside of the domain are NaN.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<i2", ">i2", "<u2", ">u2", "<f2", ">f2"} {
		num, d := typeOf(t, text)
		last, zeros := math.Inf(-1), 0
		for key := range uint64(1 << 16) {
			item := num.Append(nil, key)
			v, _ := d.Float(item)
			if num.Has(key) == math.IsNaN(v) {
				t.Fatalf("%s: key %#x is of %v", text, key, v)
			}
			if math.IsNaN(v) {
				continue
			}
			if v == 0 {
				zeros++
			}
			if v < last || v == last && v != 0 && !math.IsInf(v, -1) {
				t.Fatalf("%s: key %#x is of %v, after %v", text, key, v, last)
			}
			if back := num.Key(item); back != num.Zero(key) {
				t.Fatalf("%s: key %#x is made %#x", text, key, back)
			}
			last = v
		}
		if want := map[bool]int{false: 1, true: 2}[num.Kind == ordered.Float]; zeros != want {
			t.Errorf("%s: %d zeros", text, zeros)
		}
	}
}

// TestOf: what has no order is told.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<c8", "|S4", "<U4", "|V4", "<f16", "[('a', '<i4')]"} {
		d, err := dtype.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ordered.Of(d); ok {
			t.Errorf("%s has an order", text)
		}
	}
}

// TestLanes: several items in a word give what each of them gives alone.
func TestLanes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		num, _ := typeOf(t, rapid.SampledFrom([]string{"|b1", "|u1", "|i1", "<u2", ">u2", "<i2", ">i2", "<f2", ">f2"}).Draw(r, "type"))
		l, ok := ordered.LanesOf(num)
		if !ok {
			r.Fatal("no lanes")
		}
		b := rapid.SampledFrom([]byte{0, 0, 1, 0x7f, 0x80, 0xff})
		if rapid.Bool().Draw(r, "any") {
			b = rapid.Byte()
		}
		p := rapid.SliceOfN(b, 128*num.Size, 128*num.Size).Draw(r, "items")
		keys := make([]uint64, 128)
		for i := range keys {
			keys[i] = num.Key(p[i*num.Size:])
			if x := num.Bits(p[i*num.Size:]); num.Kind == ordered.Float && x == num.Sign() {
				keys[i]-- // lanes leave minus zero as it is
			}
		}
		top := num.Mask()
		if num.Kind == ordered.Bool {
			top = 1
		}
		lo := rapid.Uint64Range(0, top).Draw(r, "lo")
		hi := rapid.Uint64Range(lo, top).Draw(r, "hi")
		in := func(k uint64) bool { return lo <= k && k <= hi }

		var buf [ordered.Tile]uint64
		words := l.Load(&buf, p, 128/l.Len())
		mask, x := num.Mask()^num.Sign(), num.Bits(p)&(num.Mask()^num.Sign())
		others := 0
		for i := range keys {
			if num.Bits(p[i*num.Size:])&mask != x {
				others++
			}
		}
		if got := l.Nonzero(words, mask, x); got != others {
			r.Fatalf("%d differ, want %d", got, others)
		}
		l.Keys(words)
		first := slices.IndexFunc(keys, func(k uint64) bool { return !in(k) })
		if first < 0 {
			first = len(keys)
		}
		if got := l.Outside(words, lo, hi); got != first/l.Len() {
			r.Fatalf("word %d, want %d", got, first/l.Len())
		}
		dst := make([]uint64, 2)
		l.Mask(dst, words, lo, hi)
		for i, k := range keys {
			if got := dst[i/64]>>(i%64)&1 == 1; got != in(k) {
				r.Fatalf("item %d of %v from %#x to %#x: %v", i, keys, lo, hi, got)
			}
		}
	})
}

// TestLoad: items of any size, stride and order come as they are read one by one.
func TestLoad(t *testing.T) {
	t.Parallel()
	p := make([]byte, 100)
	for i := range p {
		p[i] = byte(7*i + 1)
	}
	for _, big := range []bool{false, true} {
		for stride := range 12 {
			check(t, 1, stride, big, p, func(n int) []uint64 { return load[uint8](p, stride, n, big) })
			check(t, 2, stride, big, p, func(n int) []uint64 { return load[uint16](p, stride, n, big) })
			check(t, 4, stride, big, p, func(n int) []uint64 { return load[uint32](p, stride, n, big) })
			check(t, 8, stride, big, p, func(n int) []uint64 { return load[uint64](p, stride, n, big) })
		}
	}
	if !bytes.Equal(p[:2], []byte{1, 8}) {
		t.Error("the source was changed")
	}
}

func load[W ordered.Word](p []byte, stride, n int, big bool) []uint64 {
	var buf [ordered.Tile]W
	var out []uint64
	for _, x := range ordered.Load(&buf, p, stride, n, big) {
		out = append(out, uint64(x))
	}
	return out
}

func check(t *testing.T, size, stride int, big bool, p []byte, load func(n int) []uint64) {
	t.Helper()
	if stride < size {
		return
	}
	n := (len(p)-size)/stride + 1
	num := ordered.Type{Kind: ordered.Uint, Size: size, BigEndian: big}
	for i, x := range load(n) {
		if want := num.Bits(p[i*stride:]); x != want {
			t.Errorf("%d bytes every %d, big endian %v: item %d is %#x, want %#x", size, stride, big, i, x, want)
		}
	}
}
