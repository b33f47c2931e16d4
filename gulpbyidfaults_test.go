package farread

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
)

// indexedVersion makes a chunk of one frame an id, and its index. Versions differ in
// their bytes alone, so that places by the index of one are good for the others.
func indexedVersion(t *testing.T, version int) (data, meta, side []byte) {
	t.Helper()
	const ids = 3000 // the index has more than its end, which is read first
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	for k := range ids {
		if err := w.WriteFrame(longID(k), fmt.Appendf(nil, "v%d %0*d", version, 5+k%7, k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&m); err != nil {
		t.Fatal(err)
	}
	etag := fmt.Sprintf(`"v%d"`, version)
	side, err := gulpindex.Build(w, gulpindex.Pair{Data: gulpindex.Version{Size: int64(d.Len()), ETag: etag}, Meta: gulpindex.Version{Size: int64(m.Len()), ETag: etag}})
	if err != nil {
		t.Fatal(err)
	}
	if len(side) < gulpindex.Tail {
		t.Fatalf("an index of %d bytes", len(side))
	}
	return d.Bytes(), m.Bytes(), side
}

// longID is an id that shares little with the one before.
func longID(k int) string { return fmt.Sprintf("%04d-%016x", k, uint64(k+1)*0x9e3779b97f4a7c15) }

// byIDReads are ways of reading by an index; page and frame are each a request, or the
// page is at the end of the index.
var byIDReads = map[string]flawedtest.Reading[*GulpByID]{
	"early id": func(ctx context.Context, g *GulpByID) (map[int][]byte, error) { return frameOf(ctx, g, longID(100)) },
	"late id":  func(ctx context.Context, g *GulpByID) (map[int][]byte, error) { return frameOf(ctx, g, longID(2900)) },
	"numbers": func(ctx context.Context, g *GulpByID) (map[int][]byte, error) {
		const from, to = 50, 2000
		c, err := g.Numbered(ctx, from, to)
		if err != nil {
			return nil, err
		}
		all, err := c.AppendFrames(ctx, nil, "", from, to, 1)
		return placed(c, "", from, all, err)
	},
}

func frameOf(ctx context.Context, g *GulpByID, id string) (map[int][]byte, error) {
	c, err := g.Select(ctx, id, 0, 1)
	if err != nil {
		return nil, err
	}
	p, err := c.AppendFrame(ctx, nil, id, 0)
	return placed(c, id, 0, [][]byte{p}, err)
}

// placed returns frames by their places in the data.
func placed(c *gulp.Chunk, id string, from int, frames [][]byte, err error) (map[int][]byte, error) {
	if err != nil {
		return nil, err
	}
	out := map[int][]byte{}
	for i, p := range frames {
		f, err := c.Frame(id, from+i)
		if err != nil {
			return nil, err
		}
		out[int(f.Off)] = p
	}
	return out, nil
}

// TestGulpByIDFaults: the fault matrix over reads by an index. Never does the index of
// one version find frames of another.
func TestGulpByIDFaults(t *testing.T) {
	t.Parallel()
	content, objects := map[int][]byte{}, map[int]map[string][]byte{}
	for v := range 3 {
		data, meta, side := indexedVersion(t, v)
		content[v] = data
		objects[v] = map[string][]byte{gulp.DataSuffix: data, gulp.MetaSuffix: meta, index.Suffix: side}
	}
	m := flawedtest.Matrix[*GulpByID]{Content: content, Readings: byIDReads, Patient: "early id", Several: true, NoStalls: true,
		Object: func(name string, version int) []byte {
			return objects[version][name[strings.LastIndexByte(name, '.'):]]
		},
		Open: func(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (*GulpByID, error) {
			g := &GulpByID{c: New(Config{NoHedge: true}), gate: make(chan struct{}, 1)}
			err := objstore.Again(ctx, func() error { return openFaulty(ctx, g, b, o) })
			return g, err
		}}
	m.Run(t)
}

// openFaulty opens the objects of a chunk as openObjects does, but as patiently as o says.
func openFaulty(ctx context.Context, g *GulpByID, b objstore.Bucket, o objstore.OpenOptions) error {
	for _, x := range []struct {
		to         **objstore.Object
		key        string
		head, tail int64
	}{{&g.Meta, "k.gmeta", gulpindex.Short, 0}, {&g.Data, "k.gulp", 1, 0}, {&g.Beside, "k.gulp" + index.Suffix, -1, gulpindex.Tail}} {
		o.Head, o.Tail = x.head, x.tail
		var err error
		if *x.to, err = objstore.Open(ctx, b, x.key, o); err != nil && x.to != &g.Beside {
			return err
		}
	}
	if err := g.useIndex(ctx); err != nil {
		return err
	}
	if g.Index == nil {
		g.Beside = nil
		_, err := g.Whole(ctx)
		return err
	}
	return nil
}

// TestGulpIndexKinds: whatever lies beside a chunk as its index, frames by id, by number
// and of a dataset are those that the .gmeta tells, or there is no such frame.
func TestGulpIndexKinds(t *testing.T) {
	t.Parallel()
	racetest.Skip(t, racetest.Alone)
	m, other := clips(t, 600, 100, 240), clipsFrom(t, 300, 600, 100, 240)
	_, b0 := remote(Config{})
	right, foreign := putIndexed(t, b0, "data_0", m), putIndexed(t, b0, "data_1", other)
	flip := func(from, to, step int) []byte {
		p := bytes.Clone(right)
		for i := from; i < to; i += step {
			p[i] ^= 0x40
		}
		return p
	}
	n := len(right)
	if n < gulpindex.Tail+8<<10 {
		t.Fatalf("an index of %d bytes", n)
	}
	for name, tc := range map[string]struct {
		side []byte
		used bool
	}{
		"right":              {right, true},
		"none":               {nil, false},
		"empty":              {[]byte{}, false},
		"of another chunk":   {foreign, false},
		"something else":     {bytes.Repeat([]byte("no index "), 9000), false},
		"first half":         {right[:n/2], false},
		"last half":          {right[n/2:], false},
		"one byte short":     {right[:n-1], false},
		"pages damaged":      {flip(8, n-gulpindex.Tail, 100), true},
		"held pages damaged": {flip(n-gulpindex.Tail+100, n-gulpindex.Tail+20_000, 100), true},
		"directory damaged":  {flip(n-300, n, 7), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := remote(Config{})
			putPair(t, b, "data_0", m)
			if tc.side != nil {
				put(t, b, "data_0.gulp"+index.Suffix, tc.side, nil)
			}
			g, err := c.OpenGulpByID(t.Context(), "s3://b/data_0.gulp", GulpOptions{Beside: true})
			if err != nil || (g.Index != nil) != tc.used {
				t.Fatalf("by the index: %v, want %v, %v", g != nil && g.Index != nil, tc.used, err)
			}
			d, err := c.OpenGulpDataset(t.Context(), "s3://b/", GulpOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range []int{0, 77, 299, 300, 599} {
				want, err := m.c.AppendFrame(t.Context(), nil, clip(k), 50)
				if err != nil {
					t.Fatal(err)
				}
				one, err := g.Select(t.Context(), clip(k), 50, 51)
				sameFrameAs(t, want, one, err, clip(k), 50)
				one, err = g.Numbered(t.Context(), 100*k+50, 100*k+51)
				sameFrameAs(t, want, one, err, "", 100*k+50)
				if text, err := g.MetaData(t.Context(), clip(k)); err != nil || string(text) != fmt.Sprintf(`[{"label": %d}]`, k) {
					t.Errorf("meta_data %s, %v", text, err)
				}
				one, _, err = d.Select(t.Context(), clip(k), 50, 51)
				sameFrameAs(t, want, one, err, clip(k), 50)
			}
		})
	}
}

func sameFrameAs(t *testing.T, want []byte, c *gulp.Chunk, err error, id string, i int) {
	t.Helper()
	var got []byte
	if err == nil {
		got, err = c.AppendFrame(t.Context(), nil, id, i)
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("frame %d of %q: %d bytes, %v", i, id, len(got), errors.Join(err))
	}
}
