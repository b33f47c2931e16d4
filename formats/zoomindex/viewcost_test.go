package zoomindex_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// A dayBucket serves one object.
type dayBucket struct {
	*memstore.Bucket
	p []byte
}

func (b dayBucket) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	from, to := o.Range.Resolve(int64(len(b.p)))
	return io.NopCloser(bytes.NewReader(b.p[from:to])), objstore.Info{Key: key, Size: int64(len(b.p)), ETag: `"1"`}, nil
}

// beat is a signal like that of a heart with noise and rare spikes.
func beat(r *rand.Rand, i int) float64 {
	phase := float64(i%811) / 811
	bump := func(at, narrow float64) float64 {
		d := (phase - at) * narrow
		return math.Exp(-d * d)
	}
	x := 900*bump(0.4, 60) - 120*bump(0.44, 70) + 150*bump(0.7, 14)
	x += 40*math.Sin(float64(i)/9000) + 6*r.NormFloat64()
	if r.IntN(2_000_000) == 0 {
		x += 12_000
	}
	return x
}

// day writes hours of such a signal at 1 kHz.
func day[T zoomcache.Value](t *testing.T, kind zoomcache.Kind, hours float64, as func(float64) T) (file []byte, plain, coarse int64) {
	t.Helper()
	pieces := make([]byte, 0, int(hours*3600*1000*8.5)*int(unsafe.Sizeof(*new(T)))/8+1<<20)
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: kind}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	out := bytes.NewBuffer(pieces)
	sink := &endSink{Builder: zoomindex.NewBuilder(tracks, zoomindex.WriteOptions{MaxMemory: 256 << 20}),
		few: zoomindex.NewBuilder(tracks, zoomindex.WriteOptions{NoBins: true})}
	w, err := zoomcache.NewWriter(out, zoomcache.WriteOptions{Tracks: tracks, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := int(hours * 3600 * 1000)
	noise := make([]float64, 1<<20)
	for i := range noise {
		noise[i] = beat(r, i)
	}
	v := make([]T, 4096)
	for at := 0; at < n; at += len(v) {
		for i := range v {
			k := at + i
			v[i] = as(noise[k&(1<<20-1)] + float64(k>>20))
		}
		if err := zoomcache.WriteSamples(w.Track(1), v[:min(len(v), n-at)]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), sink.end, sink.coarse
}

// An endSink notes where the plain file ends, and what an index without finer bins
// takes.
type endSink struct {
	*zoomindex.Builder
	few         *zoomindex.Builder
	end, coarse int64
}

func (s *endSink) Window(w *zoomcache.Window) error {
	return errors.Join(s.Builder.Window(w), s.few.Window(w))
}

func (s *endSink) Packet(b *zoomcache.Block) error {
	return errors.Join(s.Builder.Packet(b), s.few.Packet(b))
}

func (s *endSink) Finish(end int64, add func(int32, ...[]byte) (int64, error)) error {
	s.end = end
	count := func(_ int32, pieces ...[]byte) (int64, error) {
		for _, p := range pieces {
			s.coarse += int64(len(p))
		}
		return end, nil
	}
	return errors.Join(s.few.Finish(end, count), s.Builder.Finish(end, add))
}

// TestViewCost: what any window of a day at 1 kHz costs at a round trip of 30 ms,
// and what the index takes. Floats with noise in every bit are what compresses
// least: a bin of 25 of them has 16 bytes of bounds for 200 of samples, so that an
// index for raw views of 400 KB is more than 8 % of such a file.
func TestViewCost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hours of samples")
	}
	ints, floats := 24.0, 4.0 // hours
	if racetest.On {
		ints, floats = 2, 1
	}
	t.Run("a day of i16", func(t *testing.T) {
		file, plain, coarse := day(t, zoomcache.I16, ints, func(x float64) int16 { return int16(x) })
		viewCosts(t, file, plain, coarse, int64(ints*3_600_000), 8)
	})
	t.Run("hours of f64", func(t *testing.T) {
		file, plain, coarse := day(t, zoomcache.F64, floats, func(x float64) float64 { return x })
		viewCosts(t, file, plain, coarse, int64(floats*3_600_000), 20)
	})
}

func viewCosts(t *testing.T, file []byte, plain, coarse, samples int64, most float64) {
	t.Helper()
	part := func(n int64) float64 { return 100 * float64(n) / float64(plain) }
	all := part(int64(len(file)) - plain)
	t.Logf("index: %.2f %% of %d bytes, %.2f %% without finer bins", all, plain, part(coarse))
	if all > most || part(coarse) > 2 {
		t.Errorf("index: %.2f %%, %.2f %% without finer bins", all, part(coarse))
	}
	synctest.Test(t, func(t *testing.T) {
		b := dayBucket{memstore.New(memstore.Config{}), file}
		for span := int64(100); span < samples; span = span * 10 / 7 {
			var counter objstore.Counter
			far := objstore.Chain(b, simstore.Latency(30*time.Millisecond), objstore.Count(&counter))
			start := time.Now()
			ob, err := objstore.Open(t.Context(), far, "day", objstore.OpenOptions{Head: 4 << 10, Counter: &counter})
			if err != nil {
				t.Fatal(err)
			}
			f, err := zoomindex.Open(t.Context(), ob, zoomcache.Options{Head: 4 << 10})
			if err != nil {
				t.Fatal(err)
			}
			from := min(samples/3, max(samples-span, 1))
			v, err := f.View(t.Context(), 1, from, from+span-1, 2000)
			if err != nil {
				t.Fatal(err)
			}
			cold, took := counter.Stats(), time.Since(start)
			_, err = f.View(t.Context(), 1, from+span/3, from+span/3+span-1, 2000)
			if err != nil {
				t.Fatal(err)
			}
			warm := counter.Stats()
			t.Logf("span %9d: level %2d bin %4d: %4d points, %d requests, %d bytes, %v; warm %d, %d bytes", span, v.Level, v.Bin, len(v.Points),
				cold.Requests, cold.Bytes, took, warm.Requests-cold.Requests, warm.Bytes-cold.Bytes)
			limit := int64(512 << 10)
			if v.Level > 0 || v.Bin > 0 {
				limit = 128 << 10
			}
			if !v.Indexed || cold.Requests > 3 || took > 105*time.Millisecond || cold.Bytes > limit || warm.Requests > cold.Requests+1 {
				t.Errorf("span %d", span)
			}
		}
	})
}
