package filter

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// String names an engine in failures and measurements.
func (e engine) String() string {
	switch {
	case e == portable:
		return "go"
	case runtime.GOARCH == "arm64":
		return "neon"
	default:
		return [...]string{"sse2", "avx2", "gfni"}[e-portable-1]
	}
}

// The oracles work on one byte or one bit at a time, in the words of the format.

func shuffleOracle(src []byte, width int) []byte {
	width = max(width, 1)
	out := bytes.Clone(src)
	q := len(src) / width
	for i := range q {
		for j := range width {
			out[j*q+i] = src[i*width+j]
		}
	}
	return out
}

func bitShuffleOracle(src []byte, width int) []byte {
	width = max(width, 1)
	out := bytes.Clone(src)
	m := len(src) / width / 8
	clear(out[:8*m*width])
	for n, b := range src[:8*m*width] {
		i, t, j := n/width/8, n/width%8, n%width
		for k := range 8 {
			out[(j*8+k)*m+i] |= b >> k & 1 << t
		}
	}
	return out
}

func deltaOracle(src, ref []byte, width int, first bool) []byte {
	u := 1
	switch {
	case width == 2 || width == 4:
		u = width
	case width > 0 && width%8 == 0:
		u = 8
	}
	out := bytes.Clone(src)
	for i := range len(src) / u * u {
		switch {
		case !first && i < len(ref)/u*u:
			out[i] = src[i] ^ ref[i]
		case first && i >= u:
			out[i] = src[i] ^ src[i-u]
		}
	}
	return out
}

func byteDeltaOracle(src []byte, streams int) []byte {
	streams = max(streams, 1)
	out := bytes.Clone(src)
	q := len(src) / streams
	for j := range streams {
		for i := 1; i < q; i++ {
			out[j*q+i] = src[j*q+i] - src[j*q+i-1]
		}
	}
	return out
}

func legacyUndeltaOracle(enc []byte, streams int) []byte {
	streams = max(streams, 1)
	out := bytes.Clone(enc)
	q := len(enc) / streams
	for j := range streams {
		var v byte
		for i := range q {
			if i == q/16*16 {
				v = 0
			}
			v += enc[j*q+i]
			out[j*q+i] = v
		}
	}
	return out
}

// guarded runs f on buffers that lie at the given misalignment between guard
// bytes, and checks that f changes only dst.
func guarded(tb testing.TB, src []byte, shift int, f func(dst, src []byte)) []byte {
	tb.Helper()
	const guard, mark = 64, 0xa5
	area := func() []byte { return bytes.Repeat([]byte{mark}, guard+shift+len(src)+guard) }
	in, out := area(), area()
	at := guard + shift
	copy(in[at:], src)
	f(out[at:at+len(src):at+len(src)], in[at:at+len(src):at+len(src)])
	if !bytes.Equal(in[at:at+len(src)], src) {
		tb.Fatal("src changed")
	}
	for _, p := range [][]byte{in[:at], in[at+len(src):], out[:at], out[at+len(src):]} {
		if slices.ContainsFunc(p, func(b byte) bool { return b != mark }) {
			tb.Fatal("wrote beside dst")
		}
	}
	return out[at : at+len(src)]
}

// check compares every filter of every engine with its oracle on raw, in both
// directions.
func check(tb testing.TB, raw, ref []byte, width, shift int) {
	tb.Helper()
	type way func(dst, src []byte)
	for _, f := range []struct {
		name    string
		encoded []byte
		filter  func(e engine) (encode, decode way)
	}{
		{"shuffle", shuffleOracle(raw, width), func(e engine) (encode, decode way) {
			return func(d, s []byte) { e.shuffle(d, s, width) }, func(d, s []byte) { e.unshuffle(d, s, width) }
		}},
		{"bitshuffle", bitShuffleOracle(raw, width), func(e engine) (encode, decode way) {
			return func(d, s []byte) { e.bitShuffle(d, s, width) }, func(d, s []byte) { e.bitUnshuffle(d, s, width) }
		}},
		{"delta of the first block", deltaOracle(raw, nil, width, true), func(engine) (encode, decode way) {
			return func(d, s []byte) { DeltaEncode(d, s, nil, width, true) },
				into(func(p []byte) { DeltaDecode(p, nil, width, true) })
		}},
		{"delta", deltaOracle(raw, ref, width, false), func(engine) (encode, decode way) {
			return func(d, s []byte) { DeltaEncode(d, s, ref, width, false) },
				into(func(p []byte) { DeltaDecode(p, ref, width, false) })
		}},
		{"bytedelta", byteDeltaOracle(raw, width), func(e engine) (encode, decode way) {
			return func(d, s []byte) { e.byteDelta(d, s, width) },
				into(func(p []byte) { e.byteUndelta(p, width, false) })
		}},
	} {
		for e := portable; e <= best; e++ {
			encode, decode := f.filter(e)
			if got := guarded(tb, raw, shift, encode); !bytes.Equal(got, f.encoded) {
				tb.Fatalf("%s, %v: encoded wrong at %s", f.name, e, where(f.encoded, got, width, shift))
			}
			if got := guarded(tb, f.encoded, shift, decode); !bytes.Equal(got, raw) {
				tb.Fatalf("%s, %v: decoded wrong at %s", f.name, e, where(raw, got, width, shift))
			}
		}
	}
	checkGather(tb, raw, width, shift)
	want := legacyUndeltaOracle(raw, width)
	for e := portable; e <= best; e++ {
		got := guarded(tb, raw, shift, into(func(p []byte) { e.byteUndelta(p, width, true) }))
		if !bytes.Equal(got, want) {
			tb.Fatalf("old bytedelta, %v: decoded wrong at %s", e, where(want, got, width, shift))
		}
	}
}

// checkGather compares Gather with its oracle, for planes that each lie elsewhere.
func checkGather(tb testing.TB, raw []byte, width, shift int) {
	tb.Helper()
	if width != 2 && width != 4 && width != 8 {
		return
	}
	n := len(raw) / width
	encoded := shuffleOracle(raw[:n*width], width)
	for e := portable; e <= best; e++ {
		got := guarded(tb, encoded, shift, func(dst, src []byte) {
			var planes [MaxPlanes][]byte
			for j := range width {
				planes[j] = bytes.Clone(src[j*n : (j+1)*n])[:n:n]
			}
			e.gatherAll(dst, &planes, width)
		})
		if want := raw[:n*width]; !bytes.Equal(got, want) {
			tb.Fatalf("gather, %v: wrong at %s", e, where(want, got, width, shift))
		}
	}
}

func where(want, got []byte, width, shift int) string {
	i := 0
	for i < len(want) && want[i] == got[i] {
		i++
	}
	return fmt.Sprintf("byte %d of %d, width %d, shift %d", i, len(want), width, shift)
}

// Lengths around the sizes of words, vectors and pieces.
func TestAgainstOracle(t *testing.T) {
	for _, width := range []int{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 17, 20, 24, 31, 32, 33, 48, 64, 255, 256, 1000, 9000} {
		w := max(width, 1)
		lengths := []int{0, 1, 2, 3, w - 1, w + 1}
		for i, items := range []int{1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 129, 255, 257, 300, 511, 513, 1023, 1025, 2055, 4099, 8200} {
			if items > 2100 && w > 8 || items > 300 && w > 20 || items > 20 && w > 300 {
				continue
			}
			lengths = append(lengths, items*w+[]int{0, w - 1, 1}[i%3])
		}
		for i, n := range lengths {
			raw := random(n, uint64(width))
			check(t, raw, random(n, 7)[:n-n/3*(i%2)], width, i%5)
		}
	}
}

func FuzzFilters(f *testing.F) {
	f.Add([]byte{}, uint16(4), uint8(0), uint8(1))
	f.Add(random(100, 1), uint16(4), uint8(1), uint8(40))
	f.Add(random(257, 2), uint16(8), uint8(3), uint8(9))
	f.Add(random(64, 3), uint16(1), uint8(0), uint8(255))
	f.Add(random(301, 4), uint16(16), uint8(7), uint8(30))
	f.Fuzz(func(t *testing.T, piece []byte, width uint16, shift, times uint8) {
		// Repetition reaches the lengths that vectors need; the exclusive or
		// keeps the repeats apart.
		raw := bytes.Repeat(piece, int(times)%64+1)
		for i := range raw {
			raw[i] ^= byte(i >> 6)
		}
		if len(raw) > 1<<16 {
			return
		}
		check(t, raw, piece, int(width), int(shift)%32)
		if len(raw) == 0 {
			return
		}
		w, cell := int(width)%9+1, int(shift)%9+1
		shape := []int{int(times)%5 + 1, len(piece)%4 + 1, 0}
		shape[2] = len(raw) / w / shape[0] / shape[1]
		raw = raw[:w*shape[0]*shape[1]*shape[2]]
		enc, dec := make([]byte, len(raw)), make([]byte, len(raw))
		if NDCell(enc, raw, w, shape, cell) != (len(raw) > 0) {
			t.Fatal("NDCell's answer is wrong")
		}
		if len(raw) == 0 {
			return
		}
		if !NDCellDecode(dec, enc, w, shape, cell) || !bytes.Equal(dec, raw) {
			t.Fatal("the cells did not come back")
		}
	})
}

func TestNoAllocations(t *testing.T) {
	src, dst := random(10007, 1), make([]byte, 10007)
	for _, width := range []int{1, 3, 4, 8, 16, 24} {
		shape := []int{10, 50, 20}
		if n := testing.AllocsPerRun(10, func() {
			Shuffle(dst, src, width)
			Unshuffle(dst, src, width)
			BitShuffle(dst, src, width)
			BitUnshuffle(dst, src, width)
			DeltaEncode(dst, src, src, width, false)
			DeltaDecode(dst, src, width, true)
			DeltaDecode(dst, src, width, false)
			ByteDelta(dst, src, width)
			ByteUndelta(dst, width, false)
			TruncPrec(dst, src, 4, 3)
			IntTrunc(dst, src, 4, 3)
			NDCell(dst[:10000], src[:10000], 1, shape, 3)
			NDCellDecode(dst[:10000], src[:10000], 1, shape, 3)
		}); n != 0 {
			t.Errorf("width %d: %v allocations", width, n)
		}
	}
}
