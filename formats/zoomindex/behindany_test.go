package zoomindex

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestBehindAnything: any tracks, windows and bounds of memory give the same bytes with a
// goroutine. Minutes of seeds were tried by hand.
func TestBehindAnything(t *testing.T) {
	t.Parallel()
	batches, seeds := 0, uint64(8)
	if racetest.On {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		var tracks []zoomcache.Track
		for i := range 1 + r.IntN(3) {
			k := []zoomcache.Kind{zoomcache.F64, zoomcache.I16, zoomcache.F32}[r.IntN(3)]
			tracks = append(tracks, zoomcache.Track{Number: int32(i + 1), Codec: zoomcache.Codec{Kind: k, Channels: 1 + r.IntN(2)*r.IntN(3)}, Rate: zoomcache.Rate{Num: 1000, Den: 1}})
		}
		memory := int64(1) << (18 + r.IntN(5))
		win := 1 + r.IntN(1<<(4+r.IntN(9)))
		total := 60_000 + r.IntN(60_000)
		amp := []float64{1, 100, 30000}[r.IntN(3)]
		write := func(behind, direct bool) ([]byte, *Builder) {
			r := rand.New(rand.NewPCG(seed, 6))
			var out bytes.Buffer
			x := NewBuilder(tracks, WriteOptions{MaxMemory: memory, Behind: behind})
			x.behind.most = 4 << 10
			x.stats = direct // then everything is done at once
			w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Watermark: -1, Sink: x})
			if err != nil {
				t.Fatal(err)
			}
			for at := 0; at < total; at += win {
				for _, tr := range tracks {
					if err := writeNoise(w.Track(tr.Number), tr.Codec.Kind, r, amp, win*tr.Codec.Width()); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes(), x
		}
		want, _ := write(false, true)
		got, x := write(true, false)
		if here, _ := write(false, false); !bytes.Equal(here, want) {
			t.Errorf("seed %d: other bytes without a goroutine", seed)
		}
		batches += x.behind.batches
		if !bytes.Equal(want, got) {
			t.Errorf("seed %d: other bytes: window %d memory %d tracks %v", seed, win, memory, tracks)
		}
	}
	if batches == 0 {
		t.Error("none was behind")
	}
}

// writeNoise writes n values of a kind.
func writeNoise(to *zoomcache.TrackWriter, kind zoomcache.Kind, r *rand.Rand, amp float64, n int) error {
	f64, f32, i16 := make([]float64, n), make([]float32, n), make([]int16, n)
	for i := range n {
		x := amp * r.NormFloat64()
		f64[i], f32[i], i16[i] = x, float32(x), int16(x)
	}
	switch kind {
	case zoomcache.F64:
		return zoomcache.WriteSamples(to, f64)
	case zoomcache.F32:
		return zoomcache.WriteSamples(to, f32)
	default:
		return zoomcache.WriteSamples(to, i16)
	}
}
