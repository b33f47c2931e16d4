package farread

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

// letters makes a gulp chunk whose frames are all of one letter. Chunks of two
// letters have the same index.
func letters(t *testing.T, c byte) (data, meta []byte) {
	t.Helper()
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	for k := range 4 {
		if err := w.WriteFrame(fmt.Sprint("id", k), bytes.Repeat([]byte{c}, 100+k)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&m); err != nil {
		t.Fatal(err)
	}
	return d.Bytes(), m.Bytes()
}

// refuses is an output that must not be written to.
type refuses struct{ t *testing.T }

func (r refuses) Create(_ context.Context, name string) (formats.Object, error) {
	r.t.Errorf("%s is written", name)
	return nil, errors.New("refused")
}

// ways are all methods of a dataset that open chunks; each returns what it gives
// of the first frame, where it gives any.
func ways(cursor gulp.Cursor) map[string]func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
	return map[string]func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error){
		"Chunk": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) { t.Helper(); return d.Chunk(t.Context(), 0) },
		"Load":  func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) { t.Helper(); return nil, d.Load(t.Context()) },
		"Find": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
			t.Helper()
			c, _, err := d.Find(t.Context(), "id0")
			return c, err
		},
		"Samples": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
			t.Helper()
			for s, err := range d.Samples(t.Context()) {
				return s.Chunk, err
			}
			return nil, errors.New("no samples")
		},
		"Order": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
			t.Helper()
			o, err := d.Order(t.Context(), gulp.OrderOptions{})
			if err != nil {
				return nil, err
			}
			s, _ := o.Next()
			return s.Chunk, nil
		},
		"Resume": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
			t.Helper()
			o, err := d.Resume(t.Context(), cursor)
			if err != nil {
				return nil, err
			}
			s, _ := o.Next()
			return s.Chunk, nil
		},
		"Extend": func(t *testing.T, d *GulpDataset) (*gulp.Chunk, error) {
			t.Helper()
			_, err := d.Extend(t.Context(), refuses{t}, gulp.DatasetOptions{})
			return nil, err
		},
	}
}

// TestHalfReplacedDataset: new data under an index of the old, which fits them,
// gives no wrong frame by any method, and the right ones once the index is new.
func TestHalfReplacedDataset(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	oldData, oldMeta := letters(t, 'A')
	newData, newMeta := letters(t, 'B')
	if !bytes.Equal(oldMeta, newMeta) {
		t.Fatal("the indexes differ")
	}
	in := put(t, b, "p/data_0.gulp", oldData, nil)
	put(t, b, "p/meta_0.gmeta", oldMeta, map[string]string{metaDataETag: in.ETag})
	open := func() *GulpDataset {
		d, err := c.OpenGulpDataset(t.Context(), "s3://b/p/", GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	o, err := open().Order(t.Context(), gulp.OrderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := ways(o.Cursor())
	in = put(t, b, "p/data_0.gulp", newData, nil)
	met := map[string]*GulpDataset{}
	for name, way := range all {
		met[name] = open()
		if _, err := way(t, met[name]); !errors.Is(err, objstore.ErrChanged) || !strings.Contains(err.Error(), "meta_0.gmeta was written for") {
			t.Errorf("%s: %v", name, err)
		}
		if meta, data := met[name].Objects(0); meta != nil || data != nil {
			t.Errorf("%s: objects of a chunk that did not open", name)
		}
	}
	put(t, b, "p/meta_0.gmeta", newMeta, map[string]string{metaDataETag: in.ETag})
	for name, way := range all {
		d := met[name]
		ch, err := way(t, d)
		if err != nil {
			t.Errorf("%s, again: %v", name, err)
			continue
		}
		if ch == nil {
			if ch, err = d.Chunk(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := ch.AppendFrame(t.Context(), nil, "id0", 0); err != nil || !bytes.Equal(p, bytes.Repeat([]byte("B"), 100)) {
			t.Errorf("%s, again: %.5s %v", name, p, err)
		}
		if meta, data := d.Objects(0); meta == nil || data == nil || data.Info().ETag != in.ETag {
			t.Errorf("%s: not the objects of the chunk", name)
		}
	}
}

// TestDatasetPairIsOpenedAgain: a pair that is whole at the second look costs no
// error, by any method.
func TestDatasetPairIsOpenedAgain(t *testing.T) {
	t.Parallel()
	data, meta := letters(t, 'A')
	whole, b0 := remote(Config{NoHedge: true})
	put(t, b0, "data_0.gulp", data, nil)
	put(t, b0, "meta_0.gmeta", meta, nil)
	d0, err := whole.OpenGulpDataset(t.Context(), "s3://b/", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := d0.Order(t.Context(), gulp.OrderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, way := range ways(o.Cursor()) {
		c, b := remote(Config{NoHedge: true})
		in := put(t, b, "data_0.gulp", data, nil)
		put(t, b, "meta_0.gmeta", meta, map[string]string{metaDataETag: `"another"`})
		var mu sync.Mutex
		gets := 0
		finish := objstore.Trace(func(e objstore.Event) {
			if e.Op != "get" {
				return
			}
			mu.Lock()
			gets++
			last := gets == 2
			mu.Unlock()
			if last {
				put(t, b, "meta_0.gmeta", meta, map[string]string{metaDataETag: in.ETag})
			}
		})
		c.buckets["s3://b"] = store{b, finish(b)}
		d, err := c.OpenGulpDataset(t.Context(), "s3://b/", GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := way(t, d); err != nil || gets != 4 {
			t.Errorf("%s: %v after %d reads", name, err, gets)
		}
	}
}

type traceKey struct{}

// TestValuesAreTheCallsOwn: an open belongs to the call that makes it.
func TestValuesAreTheCallsOwn(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	data, meta := letters(t, 'A')
	put(t, b, "data_0.gulp", data, nil)
	put(t, b, "meta_0.gmeta", meta, nil)
	seen := &watch{Bucket: b}
	c.buckets["s3://b"] = store{b, seen}
	d, err := c.OpenGulpDataset(context.WithValue(t.Context(), traceKey{}, "opening"), "s3://b/", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Chunk(context.WithValue(t.Context(), traceKey{}, "reading"), 0); err != nil {
		t.Fatal(err)
	}
	if want := []any{"reading", "reading"}; !slices.Equal(seen.values, want) {
		t.Errorf("requests of %v, want %v", seen.values, want)
	}
}

// watch notes the traceKey of each Get.
type watch struct {
	objstore.Bucket
	mu     sync.Mutex
	values []any
}

func (w *watch) Get(ctx context.Context, key string, o objstore.GetOptions) (body io.ReadCloser, in objstore.Info, err error) {
	w.mu.Lock()
	w.values = append(w.values, ctx.Value(traceKey{}))
	w.mu.Unlock()
	return w.Bucket.Get(ctx, key, o)
}

// TestCopiedPair: a copy whose ETags are others opens where both halves say that
// they are of one source and layout, and only there.
func TestCopiedPair(t *testing.T) {
	t.Parallel()
	source := map[string]string{metaSource: "in", metaKey: "clips%2Fa.tar", metaETag: `"s1"`, metaSequencer: "0A", metaLayout: "gulp/1"}
	long := maps.Clone(source)
	delete(long, metaKey)
	long[metaKey64] = "Y2xpcHM"
	type change struct{ name, value string }
	for name, tc := range map[string]struct {
		of         map[string]string
		both, data []change // "" takes the name away
		ok         bool
	}{
		"as it was":         {of: source, ok: true},
		"a long key":        {of: long, ok: true},
		"a version":         {of: source, both: []change{{metaVersion, "v7"}}, ok: true},
		"only an ETag":      {of: source, both: []change{{metaSequencer, ""}}, ok: true},
		"only a sequencer":  {of: source, both: []change{{metaETag, ""}}, ok: true},
		"neither":           {of: source, both: []change{{metaETag, ""}, {metaSequencer, ""}}},
		"no bucket":         {of: source, both: []change{{metaSource, ""}}},
		"no key":            {of: source, both: []change{{metaKey, ""}}},
		"no layout":         {of: source, both: []change{{metaLayout, ""}}},
		"another ETag":      {of: source, data: []change{{metaETag, `"s2"`}}},
		"another sequencer": {of: source, data: []change{{metaSequencer, "0B"}}},
		"another version":   {of: source, data: []change{{metaVersion, "v8"}}},
		"another key":       {of: source, data: []change{{metaKey, "b.tar"}}},
		"another long key":  {of: long, data: []change{{metaKey64, "b.tar"}}},
		"another bucket":    {of: source, data: []change{{metaSource, "other"}}},
		"another layout":    {of: source, data: []change{{metaLayout, "gulp/2"}}},
		"nothing":           {of: map[string]string{}},
	} {
		c, b := remote(Config{NoHedge: true})
		apply := func(m map[string]string, l []change) map[string]string {
			m = maps.Clone(m)
			for _, x := range l {
				if m[x.name] = x.value; x.value == "" {
					delete(m, x.name)
				}
			}
			return m
		}
		data, meta := letters(t, 'A')
		of := apply(tc.of, tc.both)
		put(t, b, "x.gulp", data, apply(of, tc.data))
		index := maps.Clone(of)
		index[metaDataETag] = `"before the copy"`
		put(t, b, "x.gmeta", meta, index)
		g, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{})
		switch {
		case tc.ok && err != nil, !tc.ok && !errors.Is(err, objstore.ErrChanged):
			t.Errorf("%s: %v", name, err)
		case tc.ok:
			if p, err := g.AppendFrame(t.Context(), nil, "id1", 0); err != nil || len(p) != 101 {
				t.Errorf("%s: %d bytes, %v", name, len(p), err)
			}
		case !strings.Contains(err.Error(), "copy whose ETag") || !strings.Contains(err.Error(), metaDataETag):
			t.Errorf("%s: the cause is not in %v", name, err)
		}
	}
}
