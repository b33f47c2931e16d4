package farread

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A gulpMade is a gulp chunk in memory.
type gulpMade struct {
	data, meta []byte
	c          *gulp.Chunk
}

// clips makes a gulp chunk of ids with frames of 1 to most bytes.
func clips(tb testing.TB, ids, frames, most int) gulpMade {
	tb.Helper()
	return clipsFrom(tb, 0, ids, frames, most)
}

// clipsFrom makes a gulp chunk of ids from number first on.
func clipsFrom(tb testing.TB, first, ids, frames, most int) gulpMade {
	tb.Helper()
	return clipsOf(tb, clip, first, ids, frames, most)
}

// clipsOf is clipsFrom with ids that name makes of their numbers.
func clipsOf(tb testing.TB, name func(k int) string, first, ids, frames, most int) gulpMade {
	tb.Helper()
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	r := rand.New(rand.NewPCG(3, 4))
	for k := first; k < first+ids; k++ {
		for i := range frames {
			if err := w.WriteFrame(name(k), payload(name(k), i, 1+r.IntN(most))); err != nil {
				tb.Fatal(err)
			}
		}
		if err := w.AddMeta(name(k), fmt.Appendf(nil, `{"label": %d}`, k)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.WriteMeta(&m); err != nil {
		tb.Fatal(err)
	}
	c, err := gulp.Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(m.Bytes()), int64(m.Len())), rangeio.FromReaderAt(bytes.NewReader(d.Bytes()), int64(d.Len())), gulp.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return gulpMade{d.Bytes(), m.Bytes(), c}
}

func clip(k int) string { return fmt.Sprintf("clip-%06d", k) }

// putIndexed puts a chunk and its index.
func putIndexed(tb testing.TB, b objstore.Bucket, stem string, m gulpMade) (side []byte) {
	tb.Helper()
	data, meta := putPair(tb, b, stem, m)
	return putSide(tb, b, stem, m, data, meta)
}

func putPair(tb testing.TB, b objstore.Bucket, stem string, m gulpMade) (data, meta objstore.Info) {
	tb.Helper()
	pair, ok := gulp.PairOf(stem + ".gulp")
	if !ok {
		tb.Fatal(stem)
	}
	var err, err2 error
	data, err = objstore.Put(tb.Context(), b, stem+".gulp", bytes.NewReader(m.data), objstore.PutOptions{})
	meta, err2 = objstore.Put(tb.Context(), b, pair.Meta, bytes.NewReader(m.meta), objstore.PutOptions{Meta: map[string]string{metaDataETag: data.ETag}})
	if err := errors.Join(err, err2); err != nil {
		tb.Fatal(err)
	}
	return data, meta
}

func putSide(tb testing.TB, b objstore.Bucket, stem string, m gulpMade, data, meta objstore.Info) []byte {
	tb.Helper()
	of := func(in objstore.Info) gulpindex.Version {
		return gulpindex.Version{Size: in.Size, ETag: in.ETag}
	}
	p, err := gulpindex.Build(m.c, gulpindex.Pair{Data: of(data), Meta: of(meta)})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := objstore.Put(tb.Context(), b, stem+".gulp"+index.Suffix, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		tb.Fatal(err)
	}
	return p
}

// A gulpCase is a chunk of which one frame is read cold, and then others.
type gulpCase struct {
	beside           bool // the client is told of the index
	made             func(testing.TB) gulpMade
	put              func(t *testing.T, b objstore.Bucket, m gulpMade)
	requests, phases int64 // at most, for the first frame
	bytes            int64 // at most, beyond the frame
	indexed          bool
}

// numbers reads a range of frames by their numbers in the file.
func numbers(t *testing.T, c *Client, log *tracetest.Log, g *GulpByID, m gulpMade, from, to int) {
	t.Helper()
	before := c.Stats()
	ch, err := g.Numbered(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	log.Step("frames by number: index")
	got, err := ch.AppendFrames(t.Context(), nil, "", from, to, 1)
	if err != nil || len(got) != to-from {
		t.Fatal(len(got), err)
	}
	log.Step("frames by number")
	for i, p := range got {
		want, err := m.c.AppendFrame(t.Context(), nil, clip((from+i)/100), (from+i)%100)
		if err != nil || !bytes.Equal(p, want) {
			t.Errorf("frame %d of the file: %v", from+i, err)
		}
	}
	if d := minus(c.Stats(), before); d.Phases > 2 && g.whole.Load() == nil {
		t.Errorf("frames by number: %+v", d)
	}
}

func indexed(t *testing.T, b objstore.Bucket, m gulpMade) {
	t.Helper()
	putIndexed(t, b, "x", m)
}

// TestGulpTraces holds the requests of the first frame of a chunk, and of further ones,
// against golden traces and bounds: with an index that is known, or found, and with none
// that can be used.
func TestGulpTraces(t *testing.T) {
	t.Parallel()
	small := sync.OnceValue(func() gulpMade { return clips(t, 200, 100, 400) })
	large := sync.OnceValue(func() gulpMade { return clips(t, 600, 100, 240) })
	smallOf := func(testing.TB) gulpMade { return small() }
	largeOf := func(testing.TB) gulpMade { return large() }
	for name, tc := range map[string]gulpCase{
		"20000":         {true, smallOf, indexed, 4, 2, 64_000, true},
		"60000":         {true, largeOf, indexed, 5, 3, 64_000, true},
		"60000-unknown": {false, largeOf, indexed, 5, 4, 500_000, true},
		"20000-unknown": {false, smallOf, indexed, 4, 3, 1 << 20, false},
		"20000-none": {true, smallOf, func(t *testing.T, b objstore.Bucket, m gulpMade) {
			t.Helper()
			putPair(t, b, "x", m)
		}, 5, 3, 1 << 20, false},
		"60000-none": {false, largeOf, func(t *testing.T, b objstore.Bucket, m gulpMade) {
			t.Helper()
			putPair(t, b, "x", m)
		}, 6, 4, 2 << 20, false},
		"20000-stale": {true, smallOf, func(t *testing.T, b objstore.Bucket, m gulpMade) {
			t.Helper()
			putIndexed(t, b, "x", clips(t, 7, 7, 7))
			putPair(t, b, "x", m)
		}, 5, 3, 1 << 20, false},
		"60000-damaged": {true, largeOf, func(t *testing.T, b objstore.Bucket, m gulpMade) {
			t.Helper()
			side := putIndexed(t, b, "x", m)
			for i := range len(side) - gulpindex.Tail {
				side[i] ^= 1
			}
			put(t, b, "x.gulp"+index.Suffix, side, nil)
		}, 7, 4, 2 << 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log tracetest.Log
			c := New(Config{Counter: &objstore.Counter{}})
			b := memstore.New(memstore.Config{Name: "s3://b"})
			m := tc.made(t)
			tc.put(t, b, m)
			c.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(c.c.Counter))}
			start := c.Stats()
			g, err := c.OpenGulpByID(t.Context(), "s3://b/x.gulp", GulpOptions{Beside: tc.beside})
			if err != nil {
				t.Fatal(err)
			}
			log.Step("open")
			frame := func(title, id string, i int) {
				t.Helper()
				before := c.Stats()
				ch, err := g.Select(t.Context(), id, i, i+1)
				if err != nil {
					t.Fatal(err)
				}
				log.Step(title + ": index")
				got, err := ch.AppendFrame(t.Context(), nil, id, i)
				want, err2 := m.c.AppendFrame(t.Context(), nil, id, i)
				if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%s: %v, %d bytes", title, err, len(got))
				}
				log.Step(title + ": frame")
				d := minus(c.Stats(), before)
				log.Note(fmt.Sprintf("%d requests, %d phases, %d bytes beyond the frame", d.Requests, d.Phases, d.Bytes-int64(len(got))))
			}
			frame("a frame", clip(123), 45)
			d := minus(c.Stats(), start)
			if d.Requests > tc.requests || d.Phases > tc.phases || d.Bytes > tc.bytes {
				t.Errorf("the first frame: %+v, want at most %d requests, %d phases, %d bytes", d, tc.requests, tc.phases, tc.bytes)
			}
			frame("the next frame", clip(123), 46)
			frame("a frame far away", clip(7), 99)
			numbers(t, c, &log, g, m, 12_340, 12_360)
			if meta, err := g.MetaData(t.Context(), clip(99)); err != nil || string(meta) != `[{"label": 99}]` {
				t.Errorf("%s, %v", meta, err)
			}
			log.Step("meta_data")
			if _, err := g.Select(t.Context(), "none", 0, 1); !errors.Is(err, formats.ErrNoEntry) {
				t.Error(err)
			}
			log.Step("an unknown id")
			if g.Totals() != m.c.Totals() {
				t.Errorf("totals %+v", g.Totals())
			}
			if is := g.whole.Load() == nil; is != tc.indexed {
				t.Errorf("by the index: %v", is)
			}
			log.Golden(t, "testdata/gulp-"+name+".trace")
		})
	}
}

// TestGulpTails: how much of the end of an index is fetched goes by what will be read, and
// by the policy. Frames by number take two phases in any order of ids; the policy few, that
// knows of no index and looks for one in place of a long .gmeta, makes no request more for it.
func TestGulpTails(t *testing.T) {
	t.Parallel()
	mixed := func(k int) string { return fmt.Sprintf("clip-%d", k) } // 10 before 2
	some, many := clipsOf(t, mixed, 0, 200, 100, 1000), clipsOf(t, mixed, 0, 600, 100, 240)
	for _, tc := range []struct {
		name             string
		m                gulpMade
		policy           rangeio.Policy
		beside, numbered bool
		requests, phases int64
		bytes            int64 // beyond the frame
	}{
		{"numbered", some, rangeio.Fast(), true, true, 4, 2, 2*gulpindex.Tail + gulpindex.Short + 1},
		{"numbered-lean", some, rangeio.Lean(), true, true, 5, 3, 64_000},
		{"numbered-many", many, rangeio.Fast(), true, true, 5, 3, 105_000},
		{"few", many, rangeio.Few(), false, false, 4, 3, 500_000},
		{"few-none", many, rangeio.Few(), false, false, 5, 4, 2 << 20},
		{"few-known", many, rangeio.Few(), true, false, 4, 2, 150_000},
	} {
		var log tracetest.Log
		c := New(Config{Policy: tc.policy, Counter: &objstore.Counter{}})
		b := memstore.New(memstore.Config{Name: "s3://b"})
		if tc.name == "few-none" {
			putPair(t, b, "x", tc.m)
		} else {
			putIndexed(t, b, "x", tc.m)
		}
		c.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(c.c.Counter))}
		start := c.Stats()
		d, err := c.OpenAny(t.Context(), "s3://b/x.gulp", AnyOptions{Beside: tc.beside, Numbered: tc.numbered})
		if err != nil {
			t.Fatal(err)
		}
		log.Step("open")
		const id, i = 12, 45
		read, name, k := d.(Imager).AppendImage, mixed(id), i //nolint:forcetypeassert // a chunk has images
		if tc.numbered {
			read, name, k = d.(Numberer).ByNumber().AppendImage, "", 100*id+i //nolint:forcetypeassert // and numbers them
		}
		got, _, err := read(t.Context(), nil, name, k)
		want, err2 := tc.m.c.AppendFrame(t.Context(), nil, mixed(id), i)
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %d bytes", tc.name, err, len(got))
		}
		log.Step("a frame")
		s := minus(c.Stats(), start)
		if s.Requests > tc.requests || s.Phases > tc.phases || s.Bytes-int64(len(got)) > tc.bytes {
			t.Errorf("%s: %+v", tc.name, s)
		}
		log.Note(fmt.Sprintf("%d requests, %d phases, %d bytes beyond the frame", s.Requests, s.Phases, s.Bytes-int64(len(got))))
		log.Golden(t, "testdata/gulp-tails-"+tc.name+".trace")
	}
}

// TestGulpLatency: at 30 ms a request, one frame by its id takes two phases of 20,000
// frames, and three of more.
func TestGulpLatency(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		ids  int
		want time.Duration
	}{{200, 60 * time.Millisecond}, {600, 90 * time.Millisecond}} {
		t.Run(fmt.Sprint(tc.ids), func(t *testing.T) {
			t.Parallel()
			m := clips(t, tc.ids, 100, 240)
			b := memstore.New(memstore.Config{Name: "s3://b"})
			putIndexed(t, b, "x", m)
			synctest.Test(t, func(t *testing.T) {
				c := New(Config{})
				c.buckets["s3://b"] = store{b, objstore.Chain(b, simstore.Latency(30*time.Millisecond))}
				start := time.Now()
				d, err := c.OpenAny(t.Context(), "s3://b/x.gmeta", AnyOptions{Beside: true})
				if err != nil {
					t.Fatal(err)
				}
				im, _ := d.(Imager)
				got, _, err := im.AppendImage(t.Context(), nil, clip(77), 9)
				if took := time.Since(start); took != tc.want {
					t.Errorf("%v, want %v", took, tc.want)
				}
				want, err2 := m.c.AppendFrame(t.Context(), nil, clip(77), 9)
				if err := errors.Join(err, err2); err != nil || !bytes.Equal(got, want) {
					t.Error(len(got), err)
				}
			})
		})
	}
}

// TestGulpBesideLearnt: a client asks for the index of a chunk along with its objects
// where the last one of the folder was there, and is wrong of it once.
func TestGulpBesideLearnt(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{})
	m := clips(t, 200, 100, 40)
	for _, stem := range []string{"a/1", "a/2", "a/5"} {
		putIndexed(t, b, stem, m)
	}
	putPair(t, b, "a/3", m)
	putPair(t, b, "a/4", m)
	for _, x := range []struct {
		stem             string
		beside, indexed  bool
		requests, phases int64
	}{
		{"a/1", false, false, 4, 3}, {"a/1", true, true, 4, 2}, {"a/2", false, true, 4, 2}, {"a/3", false, false, 5, 3},
		{"a/4", false, false, 4, 3}, {"a/5", false, false, 4, 3}, {"a/5", true, true, 4, 2},
	} {
		before := c.Stats()
		g, err := c.OpenGulpByID(t.Context(), "s3://b/"+x.stem+".gulp", GulpOptions{Beside: x.beside})
		if err != nil {
			t.Fatal(x.stem, err)
		}
		ch, err := g.Select(t.Context(), clip(199), 99, 100)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ch.AppendFrame(t.Context(), nil, clip(199), 99); err != nil {
			t.Fatal(err)
		}
		if d := minus(c.Stats(), before); d.Requests != x.requests || d.Phases != x.phases || (g.Index != nil) != x.indexed {
			t.Errorf("%s: %d requests in %d phases, index %v, not %d in %d", x.stem, d.Requests, d.Phases, g.Index != nil, x.requests, x.phases)
		}
	}
	if _, err := c.OpenGulpByID(t.Context(), "s3://b/a/none.gulp", GulpOptions{Beside: true}); !errors.Is(err, objstore.ErrNotFound) {
		t.Error(err)
	}
}

// TestGulpIndexGone: an index that is taken away while the chunk is open is no fault of
// the chunk; data that are replaced are, as without an index.
func TestGulpIndexGone(t *testing.T) {
	t.Parallel()
	m := clips(t, 600, 100, 240)
	for name, tc := range map[string]struct {
		change func(b objstore.Bucket) error
		want   error
	}{
		"none":           {func(objstore.Bucket) error { return nil }, nil},
		"index removed":  {func(b objstore.Bucket) error { return b.Delete(t.Context(), "x.gulp"+index.Suffix) }, nil},
		"index replaced": {func(b objstore.Bucket) error { return another(t, b, "x.gulp"+index.Suffix) }, nil},
		"data replaced":  {func(b objstore.Bucket) error { return another(t, b, "x.gulp") }, objstore.ErrChanged},
		"meta replaced":  {func(b objstore.Bucket) error { return another(t, b, "x.gmeta") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := remote(Config{})
			putIndexed(t, b, "x", m)
			d, err := c.OpenAny(t.Context(), "s3://b/x.gulp", AnyOptions{Beside: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.change(b); err != nil {
				t.Fatal(err)
			}
			im, _ := d.(Imager)
			got, _, err := im.AppendImage(t.Context(), nil, clip(300), 50)
			want, _ := m.c.AppendFrame(t.Context(), nil, clip(300), 50)
			if !errors.Is(err, tc.want) || err == nil && !bytes.Equal(got, want) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
}

func another(t *testing.T, b objstore.Bucket, key string) error {
	t.Helper()
	_, err := objstore.Put(t.Context(), b, key, strings.NewReader("something else"), objstore.PutOptions{})
	return err
}

// TestGulpModelByIndex: the dataset model gives the same by the index as without, its
// plans are what reads take, and it reads the .gmeta only for all ids.
func TestGulpModelByIndex(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{})
	m := clips(t, 600, 100, 240)
	putIndexed(t, b, "x", m)
	open := func(beside bool) Dataset {
		t.Helper()
		d, err := c.OpenAny(t.Context(), "s3://b/x.gulp", AnyOptions{Beside: beside})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open(true)
	in, err := d.Describe(t.Context(), DescribeOptions{})
	if err != nil || in.Entries != 600 || in.Images != 60_000 || in.CBytes != int64(len(m.data)) {
		t.Errorf("%+v, %v", in, err)
	}
	im, _ := d.(Imager)
	for _, x := range []struct{ from, to, step int }{{0, 100, 1}, {5, 90, 7}, {99, -1, -1}, {98, 3, -13}, {4, 4, 1}} {
		p, err := im.ExplainImages(t.Context(), clip(444), x.from, x.to, x.step)
		if err != nil {
			t.Fatal(err)
		}
		before, n := c.Stats(), int64(0)
		err = im.EachImage(t.Context(), clip(444), x.from, x.to, x.step, func(i int, got []byte) error {
			want, err := m.c.AppendFrame(t.Context(), nil, clip(444), i)
			if !bytes.Equal(got, want) {
				t.Errorf("frame %d", i)
			}
			n += int64(len(got))
			return err
		})
		if took := minus(c.Stats(), before); err != nil || took.Requests != int64(len(p.Requests)) || n != p.Size {
			t.Errorf("%+v: %+v of %d requests, %d bytes of %d, %v", x, took, len(p.Requests), n, p.Size, err)
		}
	}
	for _, x := range []struct{ from, to, step int }{{0, 101, 1}, {-1, 5, 1}, {0, 5, 0}, {100, -1, -1}} {
		err := im.EachImage(t.Context(), clip(1), x.from, x.to, x.step, func(int, []byte) error { return nil })
		if !errors.Is(err, gulp.ErrIndex) || !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%+v: %v", x, err)
		}
	}
	if _, err := im.Images(t.Context(), "none"); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	if _, is := d.Handle().(*GulpByID); !is {
		t.Errorf("a %T: the .gmeta was read", d.Handle())
	}
	r, err := d.Verify(t.Context(), nil)
	if rep, _ := r.Detail.(GulpReport); err != nil || rep.Index == nil || rep.Index.Unusable != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, is := d.Handle().(*Gulp); !is {
		t.Errorf("a %T after all of it was read", d.Handle())
	}
}
