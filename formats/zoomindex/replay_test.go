package zoomindex

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestReplay: a file whose index lies between its blocks grows, more than once, and is right
// in all its parts; what the old indexes have left in it is told.
func TestReplay(t *testing.T) {
	t.Parallel()
	track := zoomcache.Track{Number: 4, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Name: "noise", Rate: zoomcache.Rate{Num: 1000, Den: 1}}
	r := rand.New(rand.NewPCG(1, 9))
	some := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = r.NormFloat64()
		}
		return v
	}
	tracks, o := []zoomcache.Track{track}, WriteOptions{MaxMemory: 160 << 10}
	var file bytes.Buffer
	x := NewBuilder(tracks, o)
	w, err := zoomcache.NewWriter(&file, zoomcache.WriteOptions{Tracks: tracks, Sink: x})
	if err != nil {
		t.Fatal(err)
	}
	all := some(racetest.Share(400_000, 2))
	finish := func(w *zoomcache.Writer, v []float64) {
		t.Helper()
		if err := zoomcache.WriteSamples(w.Track(4), v); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	finish(w, all)
	if x.Spilled() == 0 {
		t.Fatal("nothing lies between the blocks")
	}
	p := file.Bytes()
	for range 2 {
		f, err := zoomcache.Open(t.Context(), readerOf(p), zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var tail bytes.Buffer
		var is zoomcache.Resumed
		x := NewBuilder(tracks, o)
		err = x.Replay(func() error {
			w, is, err = zoomcache.Resume(t.Context(), f, &tail, zoomcache.ResumeOptions{Sink: x})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range is.Other {
			if err := x.Lose(t.Context(), readerOf(p), b); err != nil {
				t.Fatal(err)
			}
		}
		more := some(5000)
		all = append(all, more...)
		finish(w, append(is.Last[0].Values.F64, more...))
		p = append(p[:is.Kept:is.Kept], tail.Bytes()...)
		got, err := recompute(t, p, nil)
		if err != nil || got.Wrong != 0 || !got.Indexed || got.Samples != int64(len(all)) || len(is.Other) == 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		var back []float64
		err = openView(t, p).EachPacket(t.Context(), 4, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			back = append(back, p.Values.F64...)
			return nil
		})
		if err != nil || len(back) != len(all) || back[len(back)-1] != all[len(all)-1] {
			t.Fatalf("%d samples, want %d: %v", len(back), len(all), err)
		}
	}
}
