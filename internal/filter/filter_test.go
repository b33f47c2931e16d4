package filter

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// into makes an in-place decoder comparable with the others.
func into(f func(p []byte)) func(dst, src []byte) {
	return func(dst, src []byte) {
		copy(dst, src)
		f(dst)
	}
}

// The bytes are those that the reference library makes.
func TestWorkedExamples(t *testing.T) {
	block0 := []byte{1, 3, 0, 4} // raw
	tests := []struct {
		name           string
		encoded, raw   string
		decode, encode func(dst, src []byte)
	}{
		{
			"shuffle leaves the tail", "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12",
			"01 05 09 0d 02 06 0a 0e 03 07 0b 0f 04 08 0c 10 11 12",
			func(d, s []byte) { Unshuffle(d, s, 4) }, func(d, s []byte) { Shuffle(d, s, 4) },
		},
		{
			"shuffle by two", "0102030405060708", "0105020603070408",
			func(d, s []byte) { Unshuffle(d, s, 2) }, func(d, s []byte) { Shuffle(d, s, 2) },
		},
		{
			"bit shuffle, low bits first", "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11",
			"ff aa cc f0 00 00 00 00 00 55 66 78 80 00 00 00 11",
			func(d, s []byte) { BitUnshuffle(d, s, 1) }, func(d, s []byte) { BitShuffle(d, s, 1) },
		},
		{
			"bit shuffle, whole groups", "01 02 03 04 05 06 07 08 09 0a 0b 0c", "55 66 78 80 00 00 00 00 09 0a 0b 0c",
			func(d, s []byte) { BitUnshuffle(d, s, 1) }, func(d, s []byte) { BitShuffle(d, s, 1) },
		},
		{
			"delta of width three", "01 02 03 04 05 06 07 08 09 0a 0b 0c", "01 03 00 04 01 07 00 08 01 0b 00 0c",
			into(func(p []byte) { DeltaDecode(p, nil, 3, true) }), func(d, s []byte) { DeltaEncode(d, s, nil, 3, true) },
		},
		{
			"delta of width two", "01 02 03 04 05 06", "01 02 02 06 07 00",
			into(func(p []byte) { DeltaDecode(p, nil, 2, true) }), func(d, s []byte) { DeltaEncode(d, s, nil, 2, true) },
		},
		{
			"delta in a later block", "09 09 09 09", "08 0a 09 0d",
			into(func(p []byte) { DeltaDecode(p, block0, 1, false) }), func(d, s []byte) { DeltaEncode(d, s, block0, 1, false) },
		},
		{
			"bytedelta", "01 01 01 01 05 ff 02 00 77 78 ee", "01 02 03 04 09 ff 01 01 78 f0 ee",
			into(func(p []byte) { ByteUndelta(p, 2, false) }), func(d, s []byte) { ByteDelta(d, s, 2) },
		},
		{
			"bytedelta goes on behind 16", strings.Repeat("01", 18), "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12",
			into(func(p []byte) { ByteUndelta(p, 1, false) }), func(d, s []byte) { ByteDelta(d, s, 1) },
		},
		{
			"old bytedelta starts again", strings.Repeat("01", 18), "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 01 02",
			into(func(p []byte) { ByteUndelta(p, 1, true) }), nil,
		},
		{
			"shuffle, then bytedelta", "01 01 01 01 05 01 01 01", "01 05 02 06 03 07 04 08",
			func(d, s []byte) {
				p := bytes.Clone(s)
				ByteUndelta(p, 2, false)
				Unshuffle(d, p, 2)
			},
			func(d, s []byte) {
				p := make([]byte, len(s))
				Shuffle(p, s, 2)
				ByteDelta(d, p, 2)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			encoded, raw := unhex(t, tt.encoded), unhex(t, tt.raw)
			got := make([]byte, len(raw))
			tt.decode(got, encoded)
			if d := cmp.Diff(raw, got); d != "" {
				t.Errorf("decoded (-want +got):\n%s", d)
			}
			if tt.encode == nil {
				return
			}
			tt.encode(got, raw)
			if d := cmp.Diff(encoded, got); d != "" {
				t.Errorf("encoded (-want +got):\n%s", d)
			}
		})
	}
}

func TestTruncate(t *testing.T) {
	ints := make([]byte, 4*8)
	for i := range 8 {
		binary.LittleEndian.PutUint32(ints[4*i:], uint32(2000+i))
	}
	if !IntTrunc(ints, ints, 4, -3) {
		t.Fatal("IntTrunc refused")
	}
	for i := range 8 {
		if v := binary.LittleEndian.Uint32(ints[4*i:]); v != 2000 {
			t.Errorf("item %d is %d, want 2000", i, v)
		}
	}
	for _, tt := range []struct {
		name   string
		f      func(dst, src []byte, width int, bits int8) bool
		width  int
		bits   int8
		clears int // low bits; -1: refused
	}{
		{"prec", TruncPrec, 4, 23, 0},
		{"prec", TruncPrec, 4, 10, 13},
		{"prec", TruncPrec, 4, 1, 22},
		{"prec", TruncPrec, 4, 0, -1},
		{"prec", TruncPrec, 4, 24, -1},
		{"prec", TruncPrec, 4, -22, 22},
		{"prec", TruncPrec, 4, -23, -1},
		{"prec", TruncPrec, 8, 52, 0},
		{"prec", TruncPrec, 8, 20, 32},
		{"prec", TruncPrec, 8, -51, 51},
		{"prec", TruncPrec, 8, -52, -1},
		{"prec", TruncPrec, 8, 53, -1},
		{"prec", TruncPrec, 8, math.MinInt8, -1},
		{"prec", TruncPrec, 2, 5, -1},
		{"prec", TruncPrec, 0, 5, -1},
		{"int", IntTrunc, 1, 5, 3},
		{"int", IntTrunc, 1, 0, -1},
		{"int", IntTrunc, 1, -7, 7},
		{"int", IntTrunc, 1, -8, -1},
		{"int", IntTrunc, 1, 9, -1},
		{"int", IntTrunc, 2, 5, 11},
		{"int", IntTrunc, 4, 32, 0},
		{"int", IntTrunc, 8, 1, 63},
		{"int", IntTrunc, 8, -63, 63},
		{"int", IntTrunc, 8, -64, -1},
		{"int", IntTrunc, 3, 5, -1},
	} {
		for _, n := range []int{0, 1, 7, 8, 9, 15, 16, 29, 64} {
			src := bytes.Repeat([]byte{0xff}, n)
			dst := make([]byte, n)
			ok := tt.f(dst, src, tt.width, tt.bits)
			if ok != (tt.clears >= 0) {
				t.Fatalf("%s width %d bits %d: %v", tt.name, tt.width, tt.bits, ok)
			}
			for i := range dst {
				want := byte(0xff)
				switch {
				case !ok:
					want = 0
				case i < n/tt.width*tt.width:
					want = byte(^uint64(0) << tt.clears >> (8 * (i % tt.width)))
				}
				if dst[i] != want {
					t.Fatalf("%s width %d bits %d: byte %d of %d is %02x, want %02x", tt.name, tt.width, tt.bits, i, n, dst[i], want)
				}
			}
		}
	}
}

func TestCells(t *testing.T) {
	// 3 x 5 items in cells of 2: six cells, cut at both edges.
	src := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	want := []byte{0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14}
	got := make([]byte, len(src))
	if !NDCell(got, src, 1, []int{3, 5}, 2) {
		t.Fatal("refused")
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, shape := range [][]int{{1}, {7}, {3, 5}, {4, 4}, {2, 3, 5}, {5, 1, 2, 3}, {2, 1, 3, 2, 1, 2, 3, 2}} {
		for cell := 1; cell <= 8; cell++ {
			for _, width := range []int{1, 3, 4} {
				n := width
				for _, s := range shape {
					n *= s
				}
				raw := random(n, 1)
				enc, dec := make([]byte, n), make([]byte, n)
				if !NDCell(enc, raw, width, shape, cell) || !NDCellDecode(dec, enc, width, shape, cell) {
					t.Fatalf("shape %v refused", shape)
				}
				if d := cmp.Diff(cellsOracle(raw, width, shape, cell), enc); d != "" {
					t.Fatalf("shape %v cell %d width %d: %s", shape, cell, width, d)
				}
				if !bytes.Equal(raw, dec) {
					t.Fatalf("shape %v cell %d width %d: did not come back", shape, cell, width)
				}
			}
		}
	}
}

// cellsOracle sorts the items by cell, then by place.
func cellsOracle(raw []byte, width int, shape []int, cell int) []byte {
	byCell := make([][]byte, len(raw)/width)
	for i := range byCell {
		rest, mul, c := i, 1, 0
		for d := len(shape) - 1; d >= 0; d-- {
			c += rest % shape[d] / cell * mul
			mul *= (shape[d] + cell - 1) / cell
			rest /= shape[d]
		}
		byCell[c] = append(byCell[c], raw[i*width:(i+1)*width]...)
	}
	return slices.Concat(byCell...)
}

func TestCellsRefuses(t *testing.T) {
	for _, tt := range []struct {
		n, width int
		shape    []int
		cell     int
	}{
		{0, 1, nil, 1},
		{1, 1, []int{}, 1},
		{0, 1, []int{0}, 1},
		{4, 1, []int{-4}, 1},
		{4, 1, []int{-2, -2}, 1},
		{4, 0, []int{4}, 1},
		{4, -1, []int{4}, 1},
		{4, 1, []int{4}, 0},
		{4, 1, []int{4}, -1},
		{4, 1, []int{3}, 1},
		{4, 1, []int{5}, 1},
		{4, 2, []int{4}, 1},
		{5, 2, []int{2}, 1},
		{0, 1, []int{math.MaxInt, 2}, 1},
		{0, 1, []int{math.MaxInt/2 + 1, 2}, 1},
		{1, 1, []int{1, 1, 1, 1, 1, 1, 1, 1, 1}, 1},
	} {
		p := make([]byte, tt.n)
		if NDCell(p, p, tt.width, tt.shape, tt.cell) || NDCellDecode(p, p, tt.width, tt.shape, tt.cell) {
			t.Errorf("%+v is accepted", tt)
		}
	}
}

func TestLengthsMustAgree(t *testing.T) {
	for name, f := range map[string]func(dst, src []byte){
		"Shuffle":      func(d, s []byte) { Shuffle(d, s, 4) },
		"Unshuffle":    func(d, s []byte) { Unshuffle(d, s, 4) },
		"BitShuffle":   func(d, s []byte) { BitShuffle(d, s, 4) },
		"BitUnshuffle": func(d, s []byte) { BitUnshuffle(d, s, 4) },
		"DeltaEncode":  func(d, s []byte) { DeltaEncode(d, s, nil, 4, true) },
		"ByteDelta":    func(d, s []byte) { ByteDelta(d, s, 4) },
		"TruncPrec":    func(d, s []byte) { TruncPrec(d, s, 4, 4) },
		"NDCell":       func(d, s []byte) { NDCell(d, s, 1, []int{1}, 1) },
		"NDCellDecode": func(d, s []byte) { NDCellDecode(d, s, 1, []int{1}, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f(make([]byte, 40, 64), make([]byte, 41))
		})
	}
}

func random(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}
