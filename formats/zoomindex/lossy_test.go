package zoomindex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// A lossyFile is one whose packets hold other samples than the writer was given:
// differences that are rounded, or cut to 32 bits.
type lossyFile struct {
	track  zoomcache.Track
	append func(t *zoomcache.TrackWriter) error
}

func lossyFiles() []lossyFile {
	const n = 6000
	r := rand.New(rand.NewPCG(21, 4))
	f32, f64, spoilt, ints := make([]float32, n), make([]float64, n), make([]float64, n), make([]int64, n)
	small := make([]int32, n)
	for i := range n {
		f64[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(30)))
		f32[i] = float32(r.NormFloat64() * math.Pow(10, float64(r.IntN(12))))
		spoilt[i] = r.NormFloat64()
		if r.IntN(3000) == 0 {
			spoilt[i] = math.NaN()
		}
		small[i] = int32(r.Uint32())
		ints[i] = int64(small[i])
	}
	track := func(k zoomcache.Kind, pcm bool) zoomcache.Track {
		return zoomcache.Track{Number: 1, Codec: zoomcache.Codec{Kind: k, PCM: pcm}, Delta: true, Rate: zoomcache.Rate{Num: 100, Den: 1}}
	}
	return []lossyFile{
		{track(zoomcache.F64, false), func(t *zoomcache.TrackWriter) error { return zoomcache.WriteSamples(t, f64) }},
		{track(zoomcache.F32, true), func(t *zoomcache.TrackWriter) error { return zoomcache.WriteSamples(t, f32) }},
		{track(zoomcache.F64, false), func(t *zoomcache.TrackWriter) error { return zoomcache.WriteSamples(t, spoilt) }},
		{track(zoomcache.Int, true), func(t *zoomcache.TrackWriter) error { return zoomcache.WriteSamples(t, ints) }},
		{track(zoomcache.I32, true), func(t *zoomcache.TrackWriter) error { return zoomcache.WriteSamples(t, small) }},
	}
}

// TestLossyDeltas: if differences lose bits, the index describes the samples that
// readers of the file get, inside the file and beside it.
func TestLossyDeltas(t *testing.T) {
	t.Parallel()
	for i, c := range lossyFiles() {
		t.Run(fmt.Sprintf("%d %s", i, c.track.Codec), func(t *testing.T) {
			tracks := []zoomcache.Track{c.track}
			write := func(sink zoomcache.Sink) []byte {
				var out bytes.Buffer
				w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: sink, Watermark: 200})
				if err := errors.Join(err, c.append(w.Track(1)), w.Close()); err != nil {
					t.Fatal(err)
				}
				return out.Bytes()
			}
			plain, inside := write(nil), write(NewBuilder(tracks, WriteOptions{}))
			side, err := openView(t, plain).BuildIndex(t.Context(), `"1"`, WriteOptions{})
			if err != nil {
				t.Fatal(err)
			}
			beside := openView(t, plain)
			beside.Sidecar(func(context.Context) (rangeio.Reader, string, error) {
				return rangeio.FromReaderAt(bytes.NewReader(side), int64(len(side))), `"1"`, nil
			})
			for what, f := range map[string]*File{"inside": openView(t, inside), "beside": beside} {
				sameViews(t, what, openView(t, plain), f, 6000)
				if r, err := f.Recompute(t.Context(), nil); err != nil || r.Wrong != 0 || !r.Indexed || r.Spans == 0 {
					t.Errorf("%s: %+v, %v", what, r, err)
				}
			}
		})
	}
}

// sameViews wants the points of an index to have the bounds that the samples have.
func sameViews(t *testing.T, what string, samples, indexed *File, n int64) {
	t.Helper()
	for _, width := range []int{1, 3, 40, 250} {
		v, err := indexed.View(t.Context(), 1, 1, n, width)
		if err != nil || !v.Indexed {
			t.Fatalf("%s: indexed %v, %v", what, v.Indexed, err)
		}
		for i := range v.Points {
			p := &v.Points[i]
			w, err := samples.View(t.Context(), 1, p.Entry, p.Exit, 1)
			if err != nil || len(w.Points) != 1 {
				t.Fatal(len(w.Points), err)
			}
			got, want := &p.Channels[0], &w.Points[0].Channels[0]
			if p.Count != w.Points[0].Count || !got.Min.Equal(want.Min) || !got.Max.Equal(want.Max) {
				t.Fatalf("%s, width %d: %d samples from %v to %v at %d to %d, want %d from %v to %v", what, width,
					p.Count, got.Min, got.Max, p.Entry, p.Exit, w.Points[0].Count, want.Min, want.Max)
			}
		}
	}
}

// TestRecomputeOfSummaries: without samples there is nothing to compare an index with.
func TestRecomputeOfSummaries(t *testing.T) {
	t.Parallel()
	for _, k := range []int{0, 4, 10, 13} {
		c := viewCases()[k]
		a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
		a.Number = 5
		file, _ := c.writeAs(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}), true)
		r, err := recompute(t, file, nil)
		if err != nil || r.Wrong != 0 || !r.Indexed || r.Skipped == 0 {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}

// TestRecomputeOfWideDifferences: differences of 64 bits that wrap are the integers
// that they were made of.
func TestRecomputeOfWideDifferences(t *testing.T) {
	t.Parallel()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.Int}, Delta: true, Rate: zoomcache.Rate{Num: 1, Den: 1}}}
	r := rand.New(rand.NewPCG(5, 5))
	v := make([]int64, 3000)
	for i := range v {
		v[i] = int64(r.Uint64())
	}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: NewBuilder(tracks, WriteOptions{})})
	if err := errors.Join(err, zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := recompute(t, out.Bytes(), nil)
	if err != nil || got.Wrong != 0 || !got.Indexed || got.Spans == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMeanOfHugeNumbers: if a mean is too large for an index, it becomes the middle of
// its band, and no other mean changes. An rms is neither infinite nor 0.
func TestMeanOfHugeNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ scale, rest float64 }{{1e60, 1}, {1e300, 1}, {1e-60, 1}, {1e-60, 1e58}} {
		v := make([]float64, 5000)
		for i := range v {
			v[i] = tc.scale * float64(1+i%7)
			if i/100%2 == 1 { // every other packet
				v[i] *= tc.rest
			}
		}
		tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}
		var out bytes.Buffer
		w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: NewBuilder(tracks, WriteOptions{NoBins: true}), Watermark: 100})
		if err := errors.Join(err, zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{1, 7, 24, 40} {
			got, err := openView(t, out.Bytes()).View(t.Context(), 1, 1, 5000, width)
			if err != nil || !got.Indexed {
				t.Fatal(got.Indexed, err)
			}
			for _, p := range got.Points {
				s, mean := &p.Channels[0], 0.0
				for _, x := range v[p.Entry-1 : p.Exit] {
					mean += x / float64(p.Count)
				}
				if math.Abs(s.Mean/mean-1) > 0.03 || math.IsInf(s.RMS, 0) || s.RMS == 0 {
					t.Fatalf("%g: %d points: from %v to %v, mean %v, want %v, rms %v", tc.scale, width, s.Min, s.Max, s.Mean, mean, s.RMS)
				}
			}
		}
	}
}
