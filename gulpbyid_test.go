package farread

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
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
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	r := rand.New(rand.NewPCG(3, 4))
	for k := range ids {
		for i := range frames {
			if err := w.WriteFrame(clip(k), payload(clip(k), i, 1+r.IntN(most))); err != nil {
				tb.Fatal(err)
			}
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
	var err, err2 error
	data, err = objstore.Put(tb.Context(), b, stem+".gulp", bytes.NewReader(m.data), objstore.PutOptions{})
	meta, err2 = objstore.Put(tb.Context(), b, stem+".gmeta", bytes.NewReader(m.meta), objstore.PutOptions{Meta: map[string]string{metaDataETag: data.ETag}})
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
