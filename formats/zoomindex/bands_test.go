package zoomindex

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestBands: bins in columns make the sheets that a stat for each bin makes.
func TestBands(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	odd := []float64{0, math.Copysign(0, -1), 1, -1}
	zeros := []float64{0, math.Copysign(0, -1)}
	great := append(slices.Clone(odd), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e200)
	strange := append(slices.Clone(great), math.NaN(), math.Inf(1))
	of := func(n int, some []float64) *zoomcache.Values {
		v := make([]float64, n)
		for i := range v {
			if v[i] = 100 * r.NormFloat64(); r.IntN(3) == 0 {
				v[i] = some[r.IntN(len(some))]
			}
		}
		return &zoomcache.Values{Kind: zoomcache.F64, N: n, F64: v}
	}
	below := func(n int) *zoomcache.Values { // zeros of both signs are the greatest
		v := of(n, zeros)
		for i, x := range v.F64 {
			if x > 0 {
				v.F64[i] = zeros[i&1]
			}
		}
		return v
	}
	small := func(n int, mask int16) *zoomcache.Values {
		v := make([]int16, n)
		for i := range v {
			v[i] = int16(r.Uint32()) & mask
		}
		return &zoomcache.Values{Kind: zoomcache.I16, N: n, I16: v}
	}
	for _, n := range []int{1, 24, 25, 26, 99, 100, 101, 399, 1000, 1024} {
		for _, size := range []int{25, 100} {
			for _, steps := range [][]int{{1}, {1, 2, 2, 2}, {1, 4}, {1, 2, 4, 4}} {
				for width := 1; width <= 4 && (width == 1 || len(steps) == 2 && (n < 101 || n == 399)); width++ {
					n := n * width
					for _, v := range []*zoomcache.Values{of(n, odd), of(n, great), below(n), {Kind: zoomcache.F64, N: n, F64: make([]float64, n)}, small(n, -1), small(n, 3), small(n, 0)} {
						checkBands(t, v, width, size, steps)
					}
				}
				if n > 200 {
					var ch channels
					for width := range 2 {
						ch.begin(zoomcache.F64, width+1, size, n)
						if ch.add(of((width+1)*n, strange), &apart{}) || len(ch[0].lo)+len(ch[0].first) > 0 {
							t.Error("NaN and infinities in columns")
						}
					}
				}
			}
		}
	}
}

// checkBands makes sheets of levels of bins, each steps times as long as those of the one before.
func checkBands(t *testing.T, v *zoomcache.Values, width, size int, steps []int) {
	t.Helper()
	var ch channels
	n := v.N / width
	if ch.begin(v.Kind, width, size, n); !ch.add(v, &apart{}) {
		for _, x := range v.F64 {
			if math.Abs(x) > 1e100 {
				return // a sum may be too great
			}
		}
		t.Fatal("not gathered")
	}
	st := make([]stat, (n+size-1)/size*width)
	gatherBins(st, v, width, size, n)
	var room partsRoom
	const more = 2 // windows behind the first
	for range more {
		ch.add(v, &apart{})
	}
	for _, step := range steps {
		ch.join(step)
		st = joinBins(st, width, step)
		size *= step
		l := layout{kind: v.Kind, width: width, bin: true}
		want, got := newSheet(l, false), newSheet(l, false)
		for range 2 { // the second time behind others
			entry, bins := want.last+3, len(ch[0].lo)
			for w := range more + 1 {
				want.addBins(entry+int64(w*n), size, n, st)
			}
			for i := 0; i < bins; i += 1 + bins/3 { // not at the ends of windows
				got.addBands(entry, ch, i, min(i+1+bins/3, bins), &room)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d values of %v, %d channels, in bins of %d: %+v, want %+v", v.N, v.Kind, width, size, got, want)
		}
	}
	joinBins(st, width, len(st)/width)
	for c := range ch {
		if got := ch[c].whole(more); got != st[c] {
			t.Fatalf("%d values of %v, channel %d of %d: %+v, want %+v", v.N, v.Kind, c, width, got, st[c])
		}
	}
}

// TestBandsFile: a file has the same bytes with columns and without, whichever goroutine makes
// the index.
func TestBandsFile(t *testing.T) {
	t.Parallel()
	for _, kind := range []zoomcache.Kind{zoomcache.I16, zoomcache.F64, zoomcache.F32} {
		for width := 1; width <= 4; width++ {
			if racetest.On && (width != 2 || kind == zoomcache.F32) {
				continue
			}
			v := bandsNoise(75_000)
			v.F64[len(v.F64)/2] = math.NaN() // a window without columns
			want, _ := writeBands(t, kind, width, v, WriteOptions{}, true)
			if got, _ := writeBands(t, kind, width, v, WriteOptions{}, false); !bytes.Equal(got, want) {
				t.Errorf("%v, %d channels: other bytes", kind, width)
			}
			if got, x := writeBands(t, kind, width, v, WriteOptions{Behind: true}, false); !bytes.Equal(got, want) || x.behind.batches == 0 {
				t.Errorf("%v, %d channels, on a goroutine: other bytes, or nothing was there", kind, width)
			}
		}
	}
}

// TestBandsSpill: so do those of the index between the blocks.
func TestBandsSpill(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Large)
	v := bandsNoise(800_000)
	for kind, memory := range map[zoomcache.Kind]int64{zoomcache.I16: 130 << 10, zoomcache.F64: 200 << 10} {
		o := WriteOptions{MaxMemory: memory}
		want, x := writeBands(t, kind, 2, v, o, true)
		if x.Spilled() == 0 {
			t.Errorf("%v: nothing between the blocks", kind)
		}
		if got, _ := writeBands(t, kind, 2, v, o, false); !bytes.Equal(got, want) {
			t.Errorf("%v: other bytes", kind)
		}
	}
}

func bandsNoise(n int) *zoomcache.Values {
	r := rand.New(rand.NewPCG(31, 32))
	v := &zoomcache.Values{F64: make([]float64, n), F32: make([]float32, n), I16: make([]int16, n)}
	for i := range n {
		x := 100 * r.NormFloat64()
		v.F64[i], v.F32[i], v.I16[i] = x, float32(x), int16(x)
	}
	return v
}

// writeBands writes the values in windows of several lengths.
func writeBands(t *testing.T, kind zoomcache.Kind, width int, v *zoomcache.Values, o WriteOptions, stats bool) ([]byte, *Builder) {
	t.Helper()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: kind, Channels: width}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	var out bytes.Buffer
	x := NewBuilder(tracks, o)
	x.stats = stats
	x.behind.most = 16 << 10
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Watermark: 1024, Sink: x})
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, rows := range []int{10_000, 1, 1023, 333, 1_000_000} {
		to := min(at+rows*width, len(v.F64)/width*width)
		switch kind {
		case zoomcache.I16:
			err = zoomcache.WriteSamples(w.Track(1), v.I16[at:to])
		case zoomcache.F64:
			err = zoomcache.WriteSamples(w.Track(1), v.F64[at:to])
		default:
			err = zoomcache.WriteSamples(w.Track(1), v.F32[at:to])
		}
		if err = errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
		at = to
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), x
}
