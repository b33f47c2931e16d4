package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// A viewCase is a file with two tracks of one codec, the first of which is looked
// at, and what the samples of it are.
type viewCase struct {
	name   string
	track  zoomcache.Track
	n      int
	mark   int
	seed   uint64
	values func(r *rand.Rand, i int) zoomcache.Number // of one channel
	stamps func(r *rand.Rand, last int64) int64
}

// sampledCases are viewCases, and a fifth of them under the race detector: what is
// computed of them takes long then, and the goroutines are the same.
func sampledCases() []viewCase {
	var some []viewCase
	for i, c := range viewCases() {
		if racetest.Sampled(i) {
			some = append(some, c)
		}
	}
	return some
}

func viewCases() []viewCase {
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	noise := func(k zoomcache.Kind) func(r *rand.Rand, i int) zoomcache.Number {
		return func(r *rand.Rand, _ int) zoomcache.Number {
			return number(k, r.Uint64()&keyMask(max(keyWidth(k), 1)))
		}
	}
	wave := func(r *rand.Rand, i int) zoomcache.Number {
		x := math.Sin(float64(i)/500) + r.NormFloat64()/50
		switch r.IntN(3000) {
		case 0:
			x = math.NaN()
		case 1:
			x *= 1000
		case 2:
			x = math.Inf(1)
		}
		return zoomcache.NewFloat(zoomcache.F64, x)
	}
	gaps := func(_ *rand.Rand, i int) zoomcache.Number {
		if i/1500%3 == 1 {
			return zoomcache.NewFloat(zoomcache.F32, math.NaN())
		}
		return zoomcache.NewFloat(zoomcache.F32, float64(float32(math.Cos(float64(i)/100))))
	}
	bursts := func(r *rand.Rand, last int64) int64 {
		if r.IntN(500) == 0 {
			return last + r.Int64N(5_000_000)
		}
		return last + r.Int64N(4)
	}
	backward := func(r *rand.Rand, last int64) int64 { return last + r.Int64N(40) - 5 }
	return []viewCase{
		{"f64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, 60_000, 1024, 1, wave, nil},
		{"f64 zlib", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate, Zlib: true}, 30_000, 1000, 2, wave, nil},
		{"f32 gaps", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F32}, Rate: rate}, 50_000, 1024, 3, gaps, nil},
		{"i8 wraps", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I8}, Rate: rate, Delta: true}, 70_000, 2000, 4, noise(zoomcache.I8), nil},
		{"i16", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate}, 100_000, 1024, 5, noise(zoomcache.I16), nil},
		{"i64 extreme", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I64}, Rate: rate}, 20_000, 300, 6, noise(zoomcache.I64), nil},
		{"u64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.U64}, Rate: rate}, 20_000, 64, 7, noise(zoomcache.U64), nil},
		{"u8", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.U8}, Rate: rate}, 5_000, 10, 8, noise(zoomcache.U8), nil},
		{"int", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Int}, Rate: rate}, 20_000, 512, 9, noise(zoomcache.Int), nil},
		{"pcm-i32", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I32, PCM: true}, Rate: rate}, 20_000, 512, 10, noise(zoomcache.I32), nil},
		{"three channels", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I32, Channels: 3}, Rate: rate}, 30_000, 1024, 11, noise(zoomcache.I32), nil},
		{"bool", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Bool}, Rate: rate}, 30_000, 1024, 12, func(r *rand.Rand, i int) zoomcache.Number {
			return zoomcache.NewUint(zoomcache.U8, uint64(r.IntN(2)*(i/900%2)))
		}, nil},
		{"events", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Unit}, Rate: rate, Variable: true}, 20_000, 1024, 13, nil, bursts},
		{"variable f64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate, Variable: true}, 60_000, 1024, 14, wave, bursts},
		{"variable i16", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate, Variable: true, Zlib: true}, 40_000, 100, 15, noise(zoomcache.I16), bursts},
		{"backward", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate, Variable: true}, 10_000, 512, 16, noise(zoomcache.I16), backward},
		{"word", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Word}, Rate: rate}, 10_000, 256, 19, noise(zoomcache.Word), nil},
		{"integer", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Integer}, Rate: rate}, 10_000, 256, 20, noise(zoomcache.Integer), nil},
		{"integer of variable rate", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Integer}, Rate: rate, Variable: true}, 10_000, 256, 21, noise(zoomcache.Integer), bursts},
		{"u16 delta", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.U16}, Rate: rate, Delta: true}, 30_000, 1024, 22, noise(zoomcache.U16), nil},
		{"u32 variable", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.U32}, Rate: rate, Variable: true}, 20_000, 700, 23, noise(zoomcache.U32), bursts},
		{"i32 delta zlib", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I32}, Rate: rate, Delta: true, Zlib: true}, 30_000, 1024, 24, noise(zoomcache.I32), nil},
		{"pcm-f32", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F32, PCM: true}, Rate: rate}, 30_000, 1024, 25, gaps, nil},
		{"pcm-f64 variable", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64, PCM: true}, Rate: rate, Variable: true, Zlib: true}, 20_000, 512, 26, wave, bursts},
		{"pcm-int", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Int, PCM: true}, Rate: rate}, 20_000, 512, 27, func(r *rand.Rand, _ int) zoomcache.Number {
			return zoomcache.NewInt(zoomcache.Int, int64(int32(r.Uint32())))
		}, nil},
		{"pcm-i8", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I8, PCM: true}, Rate: rate}, 30_000, 2048, 28, noise(zoomcache.I8), nil},
		{"pcm-i16 of two", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I16, PCM: true, Channels: 2}, Rate: rate}, 30_000, 1024, 29, noise(zoomcache.I16), nil},
		{"pcm-i64", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.I64, PCM: true}, Rate: rate}, 10_000, 300, 30, noise(zoomcache.I64), nil},
		{"two of variable rate", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64, Channels: 2}, Rate: rate, Variable: true}, 20_000, 900, 31, wave, bursts},
		{"six bools", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Bool, Channels: 6}, Rate: rate, Zlib: true}, 20_000, 1024, 32, func(r *rand.Rand, i int) zoomcache.Number {
			return zoomcache.NewUint(zoomcache.U8, uint64(r.IntN(2)*(i/900%2)))
		}, nil},
		{"bool of variable rate", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Bool}, Rate: rate, Variable: true}, 20_000, 1024, 33, func(r *rand.Rand, i int) zoomcache.Number {
			return zoomcache.NewUint(zoomcache.U8, uint64(r.IntN(2)*(i/900%2)))
		}, bursts},
		{"events at one instant", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Unit}, Rate: rate, Variable: true}, 5_000, 100, 34, nil, func(_ *rand.Rand, last int64) int64 { return last }},
		{"nothing but NaN", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, 20_000, 1024, 35, func(*rand.Rand, int) zoomcache.Number { return zoomcache.NewFloat(zoomcache.F64, math.NaN()) }, nil},
		{"unit", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Unit}, Rate: rate}, 20_000, 1024, 36, nil, nil},
		{"one", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, 1, 1024, 17, wave, nil},
		{"short", zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.F32}, Rate: rate}, 700, 1024, 18, gaps, nil},
	}
}

// A series is the samples of a viewCase: of each sample its offset and the
// numbers of its channels.
type series struct {
	off   []int64
	v     []zoomcache.Number
	width int
}

// put appends sample i of both tracks; the second one has the first value only.
func (c *viewCase) write(tb testing.TB, sink zoomcache.Sink) (file []byte, s series) {
	tb.Helper()
	return c.writeAs(tb, sink, false)
}

// writeAs does what write does. If noRaw is set, the file has only summaries.
func (c *viewCase) writeAs(tb testing.TB, sink zoomcache.Sink, noRaw bool) (file []byte, s series) {
	tb.Helper()
	r := rand.New(rand.NewPCG(c.seed, 1))
	a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: c.track.Rate, Name: "other"}
	a.Number = 5
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: []zoomcache.Track{a, b}, Watermark: -1, Sink: sink, NoRaw: noRaw})
	if err != nil {
		tb.Fatal(err)
	}
	s.width = a.Codec.Width()
	last := int64(0)
	var vals []zoomcache.Number
	var at []int64
	for i := range c.n {
		off := int64(i + 1)
		if a.Variable {
			off = c.stamps(r, last)
			last = off
		}
		s.off, at = append(s.off, off), append(at, off)
		for range s.width {
			x := zoomcache.Number{}
			if c.values != nil {
				x = c.values(r, i)
			}
			s.v, vals = append(s.v, x), append(vals, x)
		}
		if (i+1)%c.mark == 0 || i == c.n-1 {
			if err := errors.Join(appendNumbers(w.Track(5), &a, vals, at), zoomcache.WriteSamples(w.Track(9), make([]int16, len(at))), w.Flush()); err != nil {
				tb.Fatal(err)
			}
			vals, at = vals[:0], at[:0]
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), s
}

func appendNumbers(t *zoomcache.TrackWriter, track *zoomcache.Track, v []zoomcache.Number, at []int64) error {
	if !track.Variable {
		at = nil
	}
	switch track.Codec.Kind {
	case zoomcache.Unit:
		return appendAs(t, at, v, func(zoomcache.Number) struct{} { return struct{}{} })
	case zoomcache.Bool:
		return appendAs(t, at, v, func(n zoomcache.Number) bool { return bitsOf(n) != 0 })
	case zoomcache.F32:
		return appendAs(t, at, v, func(n zoomcache.Number) float32 { return float32(n.Float()) })
	case zoomcache.F64:
		return appendAs(t, at, v, zoomcache.Number.Float)
	case zoomcache.Int, zoomcache.I64:
		return appendAs(t, at, v, func(n zoomcache.Number) int64 { return int64(bitsOf(n)) })
	case zoomcache.Integer:
		return appendAs(t, at, v, zoomcache.Number.Big)
	case zoomcache.Word, zoomcache.U64:
		return appendAs(t, at, v, func(n zoomcache.Number) uint64 { return bitsOf(n) })
	case zoomcache.I8:
		return appendAs(t, at, v, func(n zoomcache.Number) int8 { return int8(bitsOf(n)) })
	case zoomcache.I16:
		return appendAs(t, at, v, func(n zoomcache.Number) int16 { return int16(bitsOf(n)) })
	case zoomcache.I32:
		return appendAs(t, at, v, func(n zoomcache.Number) int32 { return int32(bitsOf(n)) })
	case zoomcache.U8:
		return appendAs(t, at, v, func(n zoomcache.Number) uint8 { return uint8(bitsOf(n)) })
	case zoomcache.U16:
		return appendAs(t, at, v, func(n zoomcache.Number) uint16 { return uint16(bitsOf(n)) })
	default:
		return appendAs(t, at, v, func(n zoomcache.Number) uint32 { return uint32(bitsOf(n)) })
	}
}

// bitsOf are those of an integer of at most 64 bits.
func bitsOf(n zoomcache.Number) uint64 {
	if x, ok := n.Uint(); ok {
		return x
	}
	x, _ := n.Int()
	return uint64(x)
}

func appendAs[T zoomcache.Value](t *zoomcache.TrackWriter, at []int64, v []zoomcache.Number, as func(zoomcache.Number) T) error {
	list := make([]T, len(v))
	for i := range v {
		list[i] = as(v[i])
	}
	if at != nil {
		return zoomcache.WriteSamplesAt(t, at, list)
	}
	return zoomcache.WriteSamples(t, list)
}

func openView(t *testing.T, p []byte) *File {
	t.Helper()
	f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), zoomcache.Options{Head: minHead})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// check compares a view with the samples.
func (s *series) check(t *testing.T, kind zoomcache.Kind, v *View, from, to int64, ordered bool) {
	t.Helper()
	covered := 0
	for i, p := range v.Points {
		if p.Entry > p.Exit || i > 0 && p.Entry <= v.Points[i-1].Exit && ordered {
			t.Fatalf("point %d [%d, %d] after one to %d", i, p.Entry, p.Exit, v.Points[max(i-1, 0)].Exit)
		}
		want := brute{}
		for k := s.from(p.Entry, ordered); k < len(s.off) && (!ordered || s.off[k] <= p.Exit); k++ {
			off := s.off[k]
			if off >= p.Entry && off <= p.Exit && (ordered || off >= from && off <= to) {
				want.add(s.v[k*s.width : (k+1)*s.width])
				if off >= from && off <= to {
					covered++
				}
			}
		}
		want.check(t, kind, fmt.Sprintf("point %d [%d, %d] of level %d bin %d", i, p.Entry, p.Exit, v.Level, v.Bin), &p)
	}
	in := 0
	for _, off := range s.off {
		if off >= from && off <= to {
			in++
		}
	}
	if covered != in {
		t.Fatalf("[%d, %d]: %d samples are told of, %d lie inside (level %d, bin %d, index %v)", from, to, covered, in, v.Level, v.Bin, v.Indexed)
	}
}

// from is the first sample that may have this offset or a later one.
func (s *series) from(off int64, ordered bool) int {
	if !ordered {
		return 0
	}
	k, _ := slices.BinarySearch(s.off, off)
	return k
}

// A brute is what the samples themselves say.
type brute struct {
	n, valid []int64
	min, max []zoomcache.Number
	mean, sq []float64
}

func (b *brute) add(v []zoomcache.Number) {
	if b.n == nil {
		k := len(v)
		b.n, b.valid, b.min, b.max = make([]int64, k), make([]int64, k), make([]zoomcache.Number, k), make([]zoomcache.Number, k)
		b.mean, b.sq = make([]float64, k), make([]float64, k)
	}
	for c, x := range v {
		b.n[c]++
		if !x.Present() || x.Kind().Float() && math.IsNaN(x.Float()) {
			continue
		}
		if b.valid[c]++; b.valid[c] == 1 {
			b.min[c], b.max[c] = x, x
		}
		if less(x, b.min[c]) {
			b.min[c] = x
		}
		if less(b.max[c], x) {
			b.max[c] = x
		}
		b.mean[c] += x.Float()
		b.sq[c] += x.Float() * x.Float()
	}
}

func less(a, b zoomcache.Number) bool {
	if a.Kind().Float() {
		return a.Float() < b.Float()
	}
	if x, small := a.Int(); small {
		if y, small := b.Int(); small {
			return x < y
		}
	}
	return a.Big().Cmp(b.Big()) < 0
}

func equal(a, b zoomcache.Number) bool {
	if a.Kind().Float() {
		return a.Float() == b.Float()
	}
	return a.Big().Cmp(b.Big()) == 0
}

func (b *brute) check(t *testing.T, kind zoomcache.Kind, what string, p *Point) {
	t.Helper()
	for c := range p.Channels {
		got := &p.Channels[c]
		if len(b.n) == 0 || p.Count != b.n[c] {
			t.Fatalf("%s: %d samples, not %v", what, p.Count, b.n)
		}
		if kind == zoomcache.Unit {
			if int64(got.Count) != b.n[c] {
				t.Fatalf("%s: %d events, not %d", what, got.Count, b.n[c])
			}
			continue
		}
		mean := b.mean[c] / float64(b.valid[c])
		if kind == zoomcache.Bool {
			if math.Abs(mean-got.Mean) > 1e-4 || got.Expected != got.Mean {
				t.Fatalf("%s: share %g, not %g", what, got.Mean, mean)
			}
			continue
		}
		if b.valid[c] == 0 {
			if !math.IsNaN(got.Min.Float()) || !math.IsNaN(got.Max.Float()) || !math.IsNaN(got.Mean) {
				t.Fatalf("%s: %v to %v of nothing but NaN", what, got.Min, got.Max)
			}
			continue
		}
		if !equal(got.Min, b.min[c]) || !equal(got.Max, b.max[c]) {
			t.Fatalf("%s: %v to %v, not %v to %v", what, got.Min, got.Max, b.min[c], b.max[c])
		}
		lo, hi := b.min[c].Float(), b.max[c].Float()
		if math.IsInf(mean, 0) || math.IsNaN(mean) {
			continue // (min+max)/2, or an infinity
		}
		rms := math.Sqrt(b.sq[c] / float64(b.valid[c]))
		slack := 2e-7*max(math.Abs(lo), math.Abs(hi)) + (hi-lo)/60_000
		if math.Abs(got.Mean-mean) > slack {
			t.Fatalf("%s: mean %g, not %g", what, got.Mean, mean)
		}
		if math.Abs(got.RMS-rms) > slack+1e-4*rms {
			t.Fatalf("%s: rms %g, not %g", what, got.RMS, rms)
		}
	}
}

// TestViewBruteForce looks through random windows of random widths at files with
// an index inside, beside, and with none.
func TestViewBruteForce(t *testing.T) {
	t.Parallel()
	cases := viewCases()
	covered := map[zoomcache.Kind]bool{}
	for _, c := range cases {
		covered[c.track.Codec.Kind] = true
	}
	if len(cases)*300 < 10_000 || len(covered) != int(kinds) {
		t.Fatalf("%d cases of %d kinds", len(cases), len(covered))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
			a.Number = 5
			inside, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
			plain, _ := c.write(t, nil)
			if !bytes.Equal(inside[:len(plain)], plain) {
				t.Fatal("the file with an index does not begin as the one without")
			}
			bare := openView(t, plain)
			side, err := bare.BuildIndex(t.Context(), `"e"`, WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			beside := openView(t, plain)
			beside.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
				return rangeio.FromReaderAt(bytes.NewReader(side), int64(len(side))), `"e"`, nil
			})
			r := rand.New(rand.NewPCG(c.seed, 2))
			lo, hi := s.off[0], s.off[len(s.off)-1]
			ordered := c.name != "backward"
			for i := range racetest.Share(300, 30) {
				from, to := lo-3+r.Int64N(hi-lo+7), lo-3+r.Int64N(hi-lo+7)
				if i%3 > 0 {
					to = from + r.Int64N(1+(hi-lo)/100)
				}
				if from > to {
					from, to = to, from
				}
				if i < 3 {
					from, to = zoomcache.FirstOffset, zoomcache.LastOffset
				}
				width := 1 + r.IntN(1<<r.IntN(11))
				f := []*File{openView(t, inside), beside, bare}[i%3]
				v, err := f.View(t.Context(), 5, from, to, width)
				if err != nil {
					t.Fatal(err)
				}
				if v.Indexed != (i%3 < 2 && ordered) || len(v.Points) > width {
					t.Fatalf("[%d, %d] width %d: %d points, index %v", from, to, width, len(v.Points), v.Indexed)
				}
				s.check(t, c.track.Codec.Kind, &v, from, to, ordered)
			}
		})
	}
}
