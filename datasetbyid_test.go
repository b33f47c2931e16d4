package farread

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
)

// someIndexed puts a dataset of chunks of 20 ids with 100 frames each. Those whose number
// is a multiple of 3 have no index, that of number 4 is about another version.
func someIndexed(t *testing.T, b objstore.Bucket, chunks int) (all []gulpMade) {
	t.Helper()
	for k := range chunks {
		m := clipsFrom(t, 20*k, 20, 100, 90)
		all = append(all, m)
		stem := fmt.Sprintf("set/data_%d", k)
		data, meta := putPair(t, b, stem, m)
		switch {
		case k == 4:
			data.ETag = `"another"`
			putSide(t, b, stem, m, data, meta)
		case k%3 > 0:
			putSide(t, b, stem, m, data, meta)
		}
	}
	return all
}

// TestDatasetSelect: a dataset finds an id by the indexes of its chunks, where they have
// such, and reads no .gmeta of those.
func TestDatasetSelect(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{})
	all := someIndexed(t, b, 6)
	metas := int64(0)
	for k, m := range all {
		if k%3 == 0 || k == 4 {
			metas += int64(len(m.meta))
		}
	}
	d, err := c.OpenGulpDataset(t.Context(), "s3://b/set", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := c.Stats()
	for k, m := range all {
		id := clip(20*k + 7)
		ch, at, err := d.Select(t.Context(), id, 50, 60)
		if err != nil || at != k {
			t.Fatalf("%s: chunk %d, %v", id, at, err)
		}
		got, err := ch.AppendFrames(t.Context(), nil, id, 50, 60, 1)
		want, err2 := m.c.AppendFrames(t.Context(), nil, id, 50, 60, 1)
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
			t.Errorf("%s: %v", id, err)
		}
	}
	s := minus(c.Stats(), before)
	if most := metas + 6*(8<<10+32<<10) + 4*4<<10; s.Bytes > most {
		t.Errorf("%d bytes, want at most %d: %d are the .gmeta without an index", s.Bytes, most, metas)
	}
	if _, _, err := d.Select(t.Context(), "none", 0, 1); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	if meta, data := d.Objects(1); meta == nil || data == nil || d.HeldBytes() < 100_000 {
		t.Error("no objects of a chunk that is open", d.HeldBytes())
	}
	// All of a chunk takes its .gmeta, and no more than the rest of that.
	before = c.Stats()
	ch, err := d.Chunk(t.Context(), 1)
	if s := minus(c.Stats(), before); err != nil || ch.Len() != 20 || s.Requests != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	before = c.Stats()
	if err := d.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, at, err := d.Find(t.Context(), clip(45)); err != nil || at != 2 {
		t.Error(at, err)
	}
	if _, at, err := d.Select(t.Context(), clip(45), 0, 1); err != nil || at != 2 {
		t.Error(at, err)
	}
	if s := minus(c.Stats(), before); s.Requests > 3 {
		t.Errorf("%+v: chunks were opened again", s)
	}
}

// TestDatasetSelectCold: one frame of a dataset takes four phases without its listing:
// the ends of the indexes, and the frame, and a phase for those that are stale.
func TestDatasetSelectCold(t *testing.T) {
	t.Parallel()
	for stale, phases := range map[bool]int64{false: 3, true: 4} {
		c, b := remote(Config{})
		for k := range 12 {
			stem := fmt.Sprintf("set/data_%d", k)
			m := clipsFrom(t, 20*k, 20, 100, 90)
			data, meta := putPair(t, b, stem, m)
			if stale && k == 3 {
				meta.Size++
			}
			putSide(t, b, stem, m, data, meta)
		}
		d, err := c.OpenAny(t.Context(), "s3://b/set/", AnyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.(Imager).AppendImage(t.Context(), nil, clip(107), 50); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Phases != phases || s.Requests > 2+12*3+2 {
			t.Errorf("stale %v: %+v", stale, s)
		}
	}
}

// TestDatasetSelectFaults: an id in two chunks, a chunk that is replaced, and callers at
// the same time.
func TestDatasetSelectFaults(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	all := someIndexed(t, b, 3)
	open := func() *GulpDataset {
		t.Helper()
		d, err := c.OpenGulpDataset(t.Context(), "s3://b/set", GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := open()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, k, err := d.Select(t.Context(), clip(33), 0, 1); err != nil || k != 1 {
				t.Error(k, err)
			}
		})
	}
	wg.Wait()
	if s := c.Stats(); s.Requests > 2+2+3+3+2 {
		t.Errorf("%+v: chunks were opened more than once", s)
	}
	// The chunk is replaced, and its index gone: the .gmeta of the old chunk is gone, too.
	d = open()
	if _, _, err := d.Select(t.Context(), clip(33), 0, 1); err != nil {
		t.Fatal(err)
	}
	m := clipsFrom(t, 100, 20, 100, 90)
	putPair(t, b, "set/data_1", m)
	ch, _, err := d.Select(t.Context(), clip(33), 0, 1)
	if err == nil {
		_, err = ch.AppendFrame(t.Context(), nil, clip(33), 0)
	}
	if !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("of a chunk that was replaced: %v", err)
	}
	d = open()
	if _, k, err := d.Select(t.Context(), clip(101), 0, 1); err != nil || k != 1 {
		t.Errorf("its index is of the old one: chunk %d, %v", k, err)
	}
	// An id in two chunks.
	data, meta := putPair(t, b, "set/data_1", all[2])
	putSide(t, b, "set/data_1", all[2], data, meta)
	if _, _, err := open().Select(t.Context(), clip(47), 0, 1); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), "meta_1.gmeta and in meta_2.gmeta") {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), "set/data_2.gulp"+index.Suffix); err != nil {
		t.Fatal(err)
	}
	if _, _, err := open().Select(t.Context(), clip(47), 0, 1); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	var e *formats.Error
	if _, _, err := open().Select(t.Context(), "a\rb", 0, 1); !errors.As(err, &e) || e.Format != gulp.Format || strings.Contains(err.Error(), "\r") {
		t.Error(err)
	}
}
