package zoomindex

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestBehind: with a goroutine of its own the index has the same bytes, those between the
// blocks, too.
func TestBehind(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	noise := make([]float64, 1_000_000)
	small := make([]int16, len(noise))
	for i := range noise {
		noise[i] = r.NormFloat64()
		small[i] = int16(100 * noise[i])
	}
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	wide, narrow := zoomcache.Track{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, zoomcache.Track{Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate}
	uneven := wide
	uneven.Variable = true
	for _, c := range []struct {
		name           string
		tracks         []zoomcache.Track
		memory         int64
		samples        int
		window         int
		behind, spills bool
	}{
		{"all held", []zoomcache.Track{wide, narrow}, 0, 150_000, 1000, true, false},
		{"parts between blocks", []zoomcache.Track{wide}, 3 << 19, len(noise), 1000, true, true},
		{"variable rate", []zoomcache.Track{uneven, narrow}, 0, 50_000, 1000, false, false},
		{"long windows", []zoomcache.Track{wide}, 0, 900_000, mostValues + 1000, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.samples > 500_000 {
				racetest.Skip(t, racetest.Large)
			}
			noise, small := noise[:c.samples], small[:c.samples]
			write := func(behind bool) ([]byte, *Builder) {
				var out bytes.Buffer
				x := NewBuilder(c.tracks, WriteOptions{MaxMemory: c.memory, Behind: behind})
				w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: c.tracks, Watermark: -1, Sink: x})
				if err != nil {
					t.Fatal(err)
				}
				var stamps []int64
				if c.tracks[0].Variable {
					stamps = make([]int64, len(noise))
					for i := range stamps {
						stamps[i] = int64(i + i/977*5)
					}
				}
				for at := 0; at < len(noise); at += c.window {
					to := min(at+c.window, len(noise))
					if stamps == nil {
						err = zoomcache.WriteSamples(w.Track(1), noise[at:to])
					} else {
						err = zoomcache.WriteSamplesAt(w.Track(1), stamps[at:to], noise[at:to])
					}
					if len(c.tracks) > 1 {
						err = errors.Join(err, zoomcache.WriteSamples(w.Track(2), small[at:to]))
					}
					if err = errors.Join(err, w.Flush()); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				return out.Bytes(), x
			}
			want, _ := write(false)
			got, x := write(true)
			if !bytes.Equal(got, want) {
				t.Error("the bytes are others")
			}
			if (x.Spilled() > 0) != c.spills {
				t.Errorf("%d bytes between the blocks", x.Spilled())
			}
			if c.behind && x.behind.batches == 0 {
				t.Error("it was never behind")
			}
			if x.behind.late {
				t.Error("the pages took more memory than was foreseen")
			}
		})
	}
}
