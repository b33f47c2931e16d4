package exact_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/racetest"
)

// numbers returns n numbers of one of several kinds of data.
func numbers(rnd *rand.Rand, kind, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		switch kind {
		case 0:
			list[i] = rnd.NormFloat64()
		case 1: // any finite bits: all exponents, subnormals too
			for list[i] = math.NaN(); math.IsNaN(list[i]) || math.IsInf(list[i], 0); {
				list[i] = math.Float64frombits(rnd.Uint64())
			}
		case 2: // much cancels
			list[i] = math.Ldexp(rnd.Float64(), rnd.IntN(100))
			if i%2 == 1 {
				list[i] = -list[i-1]
			}
		case 3:
			list[i] = float64(float32(rnd.NormFloat64() * 1e4))
		case 4: // near the limits, and equal signs
			list[i] = math.MaxFloat64 * rnd.Float64()
		case 5:
			list[i] = math.Float64frombits(rnd.Uint64() >> (12 + rnd.IntN(52)))
		default:
			list[i] = float64(rnd.IntN(3) - 1)
		}
	}
	return list
}

const kinds = 7

// bigSum adds with more bits than any sum has.
func bigSum(list []float64, f func(x *big.Float)) *big.Float {
	sum := new(big.Float).SetPrec(6000)
	for _, x := range list {
		v := new(big.Float).SetPrec(6000).SetFloat64(x)
		f(v)
		sum.Add(sum, v)
	}
	return sum
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// TestSum: sums, means, squares and deviations are those of numbers of 6000 bits, rounded
// once, however they are added and split.
func TestSum(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range racetest.Share(400, 8) { // one goroutine
		list := numbers(rnd, round%kinds, 1+rnd.IntN(300))
		n := int64(len(list))
		want, _ := bigSum(list, func(*big.Float) {}).Float64()
		var one, all, merged, squares exact.Sum
		for _, x := range list {
			one.Add(x)
		}
		all.AddAll(list)
		squares.AddSquares(list)
		var short exact.Sum
		for part := range slices.Chunk(list, 1+rnd.IntN(9)) {
			short.AddFew(part, max(-slices.Min(part), slices.Max(part)))
		}
		k := rnd.IntN(len(list))
		for _, part := range [][]float64{list[k:], list[:k]} {
			var s exact.Sum
			s.AddAll(part)
			merged.Merge(&s)
		}
		for i, s := range []*exact.Sum{&one, &all, &merged, &short} {
			if got := s.Float(); got != want {
				t.Fatalf("round %d, way %d: %x, want %x", round, i, got, want)
			}
			if a, b := text(t, s), text(t, &one); a != b {
				t.Fatalf("round %d, way %d: text %s, want %s", round, i, a, b)
			}
		}
		sum := bigSum(list, func(*big.Float) {})
		if m, _ := new(big.Float).SetPrec(6000).Quo(sum, big.NewFloat(float64(n))).Float64(); !same(one.Mean(n), m) {
			t.Fatalf("round %d: mean %x, want %x", round, one.Mean(n), m)
		}
		sq := bigSum(list, func(x *big.Float) { x.Mul(x, x) })
		if v, _ := sq.Float64(); squares.Float() != v {
			t.Fatalf("round %d: squares %x, want %x", round, squares.Float(), v)
		}
		size := new(big.Float).SetPrec(9000).SetInt64(n)
		v := new(big.Float).SetPrec(9000).Mul(size, sq)
		v.Sub(v, new(big.Float).SetPrec(9000).Mul(sum, sum))
		v.Sqrt(v).Quo(v, size)
		if std, _ := v.Float64(); exact.Std(&one, &squares, n) != std {
			t.Fatalf("round %d: std %x, want %x", round, exact.Std(&one, &squares, n), std)
		}
	}
}

func text(t *testing.T, s *exact.Sum) string {
	t.Helper()
	b, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestOrder: the order of many numbers does not matter, also of those above a tile.
func TestOrder(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	for kind := range kinds {
		list := numbers(rnd, kind, 10_000)
		var a, b exact.Sum
		a.AddAll(list)
		slices.Sort(list)
		b.AddAll(list)
		if text(t, &a) != text(t, &b) {
			t.Errorf("kind %d: %s and %s", kind, text(t, &a), text(t, &b))
		}
	}
}

// TestTiles: many numbers at once are what they are one by one, also where a tile has
// numbers of all magnitudes, and where a few lie far below the others.
func TestTiles(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	for kind := range kinds {
		for _, n := range []int{exact.Tile - 1, exact.Tile, 2*exact.Tile + 100} {
			list := numbers(rnd, kind, n)
			for range rnd.IntN(30) {
				list[rnd.IntN(n)] *= math.Ldexp(1, -rnd.IntN(300))
			}
			var all, one, squares, square exact.Sum
			all.AddAll(list)
			squares.AddSquares(list)
			for _, x := range list {
				one.Add(x)
				square.AddSquare(x)
			}
			if text(t, &all) != text(t, &one) {
				t.Errorf("kind %d, %d: %s, want %s", kind, n, text(t, &all), text(t, &one))
			}
			if text(t, &squares) != text(t, &square) {
				t.Errorf("kind %d, %d: squares %s, want %s", kind, n, text(t, &squares), text(t, &square))
			}
		}
	}
}

// TestSpecial: NaN and infinities follow IEEE 754.
func TestSpecial(t *testing.T) {
	t.Parallel()
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		list []float64
		want float64
	}{
		{nil, 0},
		{[]float64{math.Copysign(0, -1)}, 0},
		{[]float64{1, inf}, inf},
		{[]float64{1, -inf, -inf}, -inf},
		{[]float64{inf, -inf}, nan},
		{[]float64{1, nan, inf}, nan},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, inf},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}, math.MaxFloat64},
		{[]float64{1e308, 1, 1e308, -1e308, -1e308}, 1},
	} {
		var s, many, back exact.Sum
		s.AddAll(c.list)
		many.AddAll(append(make([]float64, 100), c.list...))
		if err := back.UnmarshalText([]byte(text(t, &s))); err != nil {
			t.Fatal(err)
		}
		for _, x := range []*exact.Sum{&s, &many, &back} {
			if !same(x.Float(), c.want) {
				t.Errorf("%v: %v, want %v", c.list, x.Float(), c.want)
			}
		}
	}
	var none exact.Sum
	if !math.IsNaN(none.Mean(0)) || !math.IsNaN(exact.Std(&none, &none, 0)) {
		t.Error("the mean of nothing is a number")
	}
}

// TestInts: integers of 64 bits and words of 192 bits are added as such.
func TestInts(t *testing.T) {
	t.Parallel()
	var s exact.Sum
	want := new(big.Int)
	for _, v := range []int64{math.MinInt64, math.MinInt64, -1, 5, math.MaxInt64, 1 << 40} {
		s.AddInt(v)
		want.Add(want, big.NewInt(v))
	}
	s.AddWords(math.MaxUint64, 3, 9, false)
	s.AddWords(5, 0, 1, true)
	s.AddWords(5, 0, 1, false)
	for i, w := range []uint64{math.MaxUint64, 3, 9} {
		x := new(big.Int).SetUint64(w)
		want.Add(want, x.Lsh(x, uint(64*i)))
	}
	if s.Whole().Cmp(want) != 0 {
		t.Errorf("%v, want %v", s.Whole(), want)
	}
}

// TestText: texts come back as they were, others are refused.
func TestText(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 100 {
		var a, b exact.Sum
		list := append(numbers(rnd, round%kinds, 20), math.NaN(), math.Inf(1), math.Inf(-1), math.Inf(1))
		a.AddAll(list[:20+round%5])
		if err := b.UnmarshalText([]byte(text(t, &a))); err != nil || text(t, &a) != text(t, &b) {
			t.Fatalf("%s: %v, %s", text(t, &a), err, text(t, &b))
		}
	}
	for _, bad := range []string{"", "1", "p0", "1p", "1p99999", "1p-9999", "gp0", "1p0 nan=0", "1p0 nan=1 nan=1", "1p0 x=1", "+1p0", "1_0p0", "1p0 "} {
		var s exact.Sum
		if err := s.UnmarshalText([]byte(bad)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func BenchmarkAddAll(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := numbers(rnd, 3, 4096)
	b.SetBytes(int64(len(list)) * 8)
	var s exact.Sum
	for b.Loop() {
		s.AddAll(list)
	}
}

func BenchmarkAddSquares(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := numbers(rnd, 0, 4096)
	b.SetBytes(int64(len(list)) * 8)
	var s exact.Sum
	for b.Loop() {
		s.AddSquares(list)
	}
}
