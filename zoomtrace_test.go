package farread

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// twoTracks is a file of two tracks, i16 and f64, of n samples at 1 kHz.
func twoTracks(t *testing.T, n int, indexed bool) []byte {
	t.Helper()
	return tracksOf(t, n, indexed, 1024, false)
}

// tracksOf is the same in packets of some samples, compressed or not.
func tracksOf(t *testing.T, n int, indexed bool, step int, zlib bool) []byte {
	t.Helper()
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	o := zoomcache.WriteOptions{Watermark: -1, Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate, Name: "left", Zlib: zlib},
		{Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate, Name: "right", Zlib: zlib},
	}}
	if indexed {
		o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	ints, floats := make([]int16, step), make([]float64, step)
	for at := 0; at < n; at += len(ints) {
		for i := range ints {
			ints[i], floats[i] = int16(r.IntN(1<<16)-1<<15), r.Float64()
			if zlib {
				ints[i], floats[i] = ints[i]>>(at/step%7+4), float64(ints[i])
			}
		}
		k := min(len(ints), n-at)
		if err := errors.Join(zoomcache.WriteSamples(w.Track(1), ints[:k]), zoomcache.WriteSamples(w.Track(2), floats[:k]), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A zoomTrace logs what readings of one file take.
type zoomTrace struct {
	log tracetest.Log
	c   *Client
	o   ZoomOptions
}

// step makes a reading and holds its requests and phases against the bounds.
func (x *zoomTrace) step(t *testing.T, title string, requests, phases int64, read func() (string, error)) {
	t.Helper()
	before := x.c.Stats()
	note, err := read()
	if err != nil {
		t.Fatalf("%s: %v", title, err)
	}
	x.log.Step(title)
	d := minus(x.c.Stats(), before)
	x.log.Note(fmt.Sprintf("%s; %d requests, %d phases, %d bytes", note, d.Requests, d.Phases, d.Bytes))
	if d.Requests > requests || d.Phases > phases {
		t.Errorf("%s: %d requests in %d phases, want at most %d in %d", title, d.Requests, d.Phases, requests, phases)
	}
}

// readings are what is traced of a file, whose index takes some requests and phases
// to be found, or not to be.
func (x *zoomTrace) readings(t *testing.T, z **Zoom, requests, phases int64) {
	t.Helper()
	const second = 1000
	x.step(t, "open", 2, 1, func() (note string, err error) {
		*z, err = x.c.OpenZoom(t.Context(), "s3://b/x.zoom", x.o)
		return "opened", err
	})
	indexed := false
	x.step(t, "totals", requests, phases, func() (string, error) {
		list, ok, err := (*z).Totals(t.Context())
		indexed = ok
		return fmt.Sprintf("%v %+v", ok, list), err
	})
	view := func(title string, track int32, from, to int64, width int, requests int64) {
		x.step(t, title, requests, requests, func() (string, error) {
			v, err := (*z).View(t.Context(), track, from, to, width)
			return fmt.Sprintf("%d points of level %d, bin %d", len(v.Points), v.Level, v.Bin), err
		})
	}
	if !indexed { // a pass over the file, and one more for its bounds
		view("all of track 2 in 10 points", 2, zoomcache.FirstOffset, zoomcache.LastOffset, 10, 12)
	} else {
		view("all of track 1 in 10 points", 1, zoomcache.FirstOffset, zoomcache.LastOffset, 10, 0)
		view("all of track 1 in 2000 points", 1, zoomcache.FirstOffset, zoomcache.LastOffset, 2000, 1)
		view("a tenth of track 2 in 1000 points", 2, 500*second, 600*second, 1000, 1)
		view("two seconds of track 2 in 2000 points", 2, 500*second, 502*second-1, 2000, 1)
	}
	samples := func(title string, track int32, from, to, requests int64) {
		x.step(t, title, requests, 1, func() (string, error) {
			n := int32(0)
			err := (*z).EachPacket(t.Context(), track, from, to, func(p *zoomcache.Packet) error {
				n += p.Count
				return nil
			})
			return fmt.Sprintf("%d samples", n), err
		})
	}
	// A window of 1 MiB and further ones side by side, which end at the last sample: where
	// that is in the last of them, the requests are the same each time.
	scan, at := int64(6), int64(980)
	if indexed {
		scan, at = 1, 700
	}
	samples("ten seconds of track 1", 1, at*second, (at+10)*second-1, scan)
	samples("ten seconds of track 2 at the end", 2, 990*second, zoomcache.LastOffset, scan)
	samples("a sample in the head", 1, 1, 1, 0)
}

// TestZoomTraces: what readings of an indexed file take, of one with the index
// beside it, and of one without; and what happens where the index is of no use.
func TestZoomTraces(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	plain, inside := twoTracks(t, n, false), twoTracks(t, n, true)
	packed, packedInside := tracksOf(t, n, false, 64, true), tracksOf(t, n, true, 64, true) // lists of packets are long
	for name, c := range map[string]struct {
		file             []byte
		beside           string // ETag that the index beside it is made for
		requests, phases int64
	}{
		"inside": {file: inside}, "beside": {plain, "same", 1, 1}, "packed": {file: packedInside}, "packed-beside": {packed, "same", 1, 1},
		"believed-beside": {packed, "same", 0, 0}, "believed-inside": {inside, "", 1, 1}, "believed-stale": {plain, "other", 1, 1},
		"none": {plain, "", 1, 1}, "stale": {plain, "other", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := &zoomTrace{c: New(Config{NoHedge: true, Counter: &objstore.Counter{}}), o: ZoomOptions{Beside: strings.HasPrefix(name, "believed")}}
			b := memstore.New(memstore.Config{Name: "s3://b"})
			put(t, b, "x.zoom", c.file, nil)
			if c.beside != "" {
				f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(c.file), int64(len(c.file))), zoomcache.Options{})
				if err != nil {
					t.Fatal(err)
				}
				etag := c.beside
				if in, err := b.Head(t.Context(), "x.zoom"); err == nil && etag == "same" {
					etag = in.ETag
				}
				p, err := f.BuildIndex(t.Context(), etag, zoomindex.WriteOptions{})
				if err != nil {
					t.Fatal(err)
				}
				put(t, b, "x.zoom"+index.Suffix, p, nil)
			}
			x.c.buckets["s3://b"] = store{b, objstore.Chain(b, x.log.Middleware(), objstore.Count(x.c.c.Counter))}
			var z *Zoom
			x.readings(t, &z, c.requests, c.phases)
			x.log.Golden(t, "testdata/zoom-"+name+".trace")
		})
	}
}

// TestIndexBesideReplaced: an index beside a file that is written anew, or taken
// away, while the file is open is no fault of the file.
func TestIndexBesideReplaced(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	c, b := remote(Config{NoHedge: true})
	plain := twoTracks(t, n, false)
	in := put(t, b, "x.zoom", plain, nil)
	f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(plain), int64(len(plain))), zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	side, err := f.BuildIndex(t.Context(), in.ETag, zoomindex.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "x.zoom"+index.Suffix, side, nil)
	z, err := c.OpenZoom(t.Context(), "s3://b/x.zoom", ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	view := func(what string, indexed bool) {
		t.Helper()
		v, err := z.View(t.Context(), 1, 300_000, 700_000, 1500) // of bins
		if err != nil || v.Indexed != indexed || len(v.Points) < 1000 {
			t.Errorf("%s: index %v, %d points, %v", what, v.Indexed, len(v.Points), err)
		}
	}
	view("first", true)
	put(t, b, "x.zoom"+index.Suffix, side, nil)
	view("replaced", true)
	if err := b.Delete(t.Context(), "x.zoom"+index.Suffix); err != nil {
		t.Fatal(err)
	}
	view("removed", false)
}

// TestBesideLearnt: a client believes that the index of a file lies beside it where that
// of the last one of the folder did, asks for it with the head, and is wrong of it
// once.
func TestBesideLearnt(t *testing.T) {
	t.Parallel()
	const n = 1_000_000
	c, b := remote(Config{NoHedge: true})
	plain, inside := twoTracks(t, n, false), twoTracks(t, n, true)
	f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(plain), int64(len(plain))), zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a/1.zoom", "a/2.zoom", "a/5.zoom", "b/1.zoom"} {
		side, err := f.BuildIndex(t.Context(), put(t, b, key, plain, nil).ETag, zoomindex.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		put(t, b, key+index.Suffix, side, nil)
	}
	for _, key := range []string{"a/3.zoom", "a/4.zoom"} {
		put(t, b, key, inside, nil)
	}
	for _, x := range []struct {
		key              string
		requests, phases int64
	}{
		{"a/1.zoom", 4, 3}, {"a/2.zoom", 3, 2}, {"b/1.zoom", 4, 3}, {"b/1.zoom", 3, 2}, {"a/1.zoom", 3, 2},
		{"a/3.zoom", 4, 3}, {"a/4.zoom", 3, 2}, {"a/5.zoom", 4, 3}, {"a/5.zoom", 3, 2},
	} {
		before := c.Stats()
		z, err := c.OpenZoom(t.Context(), "s3://b/"+x.key, ZoomOptions{})
		if err != nil {
			t.Fatal(x.key, err)
		}
		v, err := z.View(t.Context(), 1, 300_000, 700_000, 900) // of bins
		if err != nil || !v.Indexed {
			t.Fatal(x.key, v.Indexed, err)
		}
		if d := minus(c.Stats(), before); d.Requests != x.requests || d.Phases != x.phases {
			t.Errorf("%s: %d requests in %d phases, not %d in %d", x.key, d.Requests, d.Phases, x.requests, x.phases)
		}
	}
	if _, err := c.OpenZoom(t.Context(), "s3://b/a/none.zoom", ZoomOptions{}); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
}
