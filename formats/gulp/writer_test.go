package gulp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
)

// TestWriteRead writes frames of random ids, interleaved or not, and reads the same
// back in every way there is.
func TestWriteRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.String(), 1, 6, rapid.ID[string]).Draw(r, "ids")
		want := map[string][][]byte{}
		var order []string
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for range rapid.IntRange(0, 30).Draw(r, "frames") {
			id := rapid.SampledFrom(ids).Draw(r, "id")
			p := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(r, "payload")
			if err := w.WriteFrame(id, p); err != nil {
				r.Fatal(err)
			}
			if want[id] == nil {
				order = append(order, id)
			}
			want[id] = append(want[id], p)
		}
		if err := w.WriteMeta(&meta); err != nil {
			r.Fatal(err)
		}
		if !json.Valid(meta.Bytes()) || strings.IndexFunc(meta.String(), func(c rune) bool { return c < ' ' || c > '~' }) >= 0 {
			r.Fatalf("not JSON in ASCII: %q", meta.String())
		}
		c, err := gulp.Open(t.Context(), bytesReader(meta.Bytes()), bytesReader(data.Bytes()), gulp.Options{Window: int64(rapid.IntRange(1, 64).Draw(r, "window"))})
		if err != nil {
			r.Fatal(err)
		}
		if got := w.Totals(); got != c.Totals() || c.Totals().Unclaimed() != 0 || data.Len()%4 != 0 {
			r.Fatalf("wrote %+v, read %+v", got, c.Totals())
		}
		n := 0
		for id := range c.IDs() {
			if id != order[n] {
				r.Fatalf("id %d is %q, want %q", n, id, order[n])
			}
			n++
		}
		got := map[string][][]byte{}
		err = c.Each(t.Context(), func(id string, i int, p []byte) error {
			if i != len(got[id]) {
				return fmt.Errorf("%q: frame %d after %d", id, i, len(got[id]))
			}
			got[id] = append(got[id], bytes.Clone(p))
			return nil
		})
		if err != nil || !cmp.Equal(got, want) {
			r.Fatalf("each: %v, %v", err, cmp.Diff(want, got))
		}
		if n > 0 {
			checkSlices(t, r, c, order[0], want[order[0]])
		}
	})
}

// checkSlices compares random slices of an id with the same slices done by hand.
func checkSlices(t *testing.T, r *rapid.T, c *gulp.Chunk, id string, all [][]byte) {
	t.Helper()
	end := rapid.Ptr(rapid.IntRange(-40, 40), true)
	s := gulp.Slice{Start: end.Draw(r, "start"), Stop: end.Draw(r, "stop"), Step: rapid.IntRange(-5, 5).Draw(r, "step")}
	from, to, step, err := s.Resolve(len(all))
	if err != nil {
		r.Fatal(err)
	}
	want := [][]byte{}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		want = append(want, all[i])
	}
	got, err := c.AppendFrames(t.Context(), [][]byte{}, id, from, to, step)
	if err != nil || !cmp.Equal(got, want) {
		r.Fatalf("%d:%d:%d of %d: %v %v", from, to, step, len(all), err, cmp.Diff(want, got))
	}
	streamed := [][]byte{}
	at := from
	err = c.EachFrame(t.Context(), id, from, to, step, func(i int, p []byte) error {
		if i != at {
			return fmt.Errorf("frame %d, want %d", i, at)
		}
		at += step
		streamed = append(streamed, bytes.Clone(p))
		return nil
	})
	if err != nil || !cmp.Equal(streamed, want) {
		r.Fatalf("streamed %d:%d:%d of %d: %v %v", from, to, step, len(all), err, cmp.Diff(want, streamed))
	}
	for i, p := range all {
		if f, err := c.AppendFrame(t.Context(), []byte("begun"), id, i); err != nil || !bytes.Equal(f, append([]byte("begun"), p...)) {
			r.Fatalf("frame %d: %q, %v, want %q", i, f, err, p)
		}
	}
}

func TestAddMeta(t *testing.T) {
	var meta bytes.Buffer
	w := gulp.NewWriter(io.Discard, gulp.WriteOptions{})
	for _, m := range []string{`{"label": "é😀", "x":[1,  2]}`, " {}\n"} {
		if err := w.AddMeta("a\u007f\"", json.RawMessage(m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "5", "[]", "null", `{"x": NaN}`, `{"x": 1} {}`, `{"x"`, "{\"\xff\": 1}", strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)} {
		if err := w.AddMeta("bad", json.RawMessage(bad)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
	if err := w.WriteFrame("b", []byte{1}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	want := `{"a\u007f\"": {"frame_info": [], "meta_data": [{"label": "\u00e9\ud83d\ude00", "x":[1,  2]}, {}]}, "b": {"frame_info": [[0, 3, 4]], "meta_data": [{}]}}`
	if meta.String() != want {
		t.Errorf("got  %s\nwant %s", meta.String(), want)
	}
}

func TestWriterErrors(t *testing.T) {
	boom := errors.New("boom")
	w := gulp.NewWriter(io.Discard, gulp.WriteOptions{})
	if err := w.WriteFrame("a", nil); !errors.Is(err, formats.ErrCorrupt) || w.Has("a") {
		t.Error(err)
	}
	if err := w.WriteFrame("\xff", []byte{1}); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	if _, err := w.CopyFrame("a", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Error(err)
	}
	if err := w.WriteFrame("a", []byte{1}); !errors.Is(err, boom) {
		t.Error("after half a frame:", err)
	}
	if err := w.WriteMeta(io.Discard); !errors.Is(err, boom) {
		t.Error("index after half a frame:", err)
	}
	small := gulp.NewWriter(io.Discard, gulp.WriteOptions{Limits: formats.Limits{MaxMeta: 1000}})
	var err error
	for i := 0; i < 1000 && err == nil; i++ {
		err = small.WriteFrame(fmt.Sprint(i), []byte{1})
	}
	if !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
}

func TestDatasetWriter(t *testing.T) {
	f := newFolder()
	write := func(w *gulp.DatasetWriter, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if err := w.Begin(id, json.RawMessage(`{"label": "x"}`)); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				if err := w.WriteFrame([]byte(id)); err != nil {
					t.Fatal(i, err)
				}
			}
		}
	}
	w := gulp.NewDatasetWriter(t.Context(), f, gulp.DatasetOptions{MaxIDs: 2})
	if err := w.WriteFrame([]byte("x")); err == nil {
		t.Error("a frame of no id")
	}
	write(w, "a", "b", "c")
	if err := w.Begin("a"); !errors.Is(err, formats.ErrCorrupt) {
		t.Error("an id of an earlier chunk:", err)
	}
	done, err := w.Close()
	if diff := cmp.Diff([]gulp.Pair{gulp.ChunkPair(0), gulp.ChunkPair(1)}, done); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	want := []string{"create data_0.gulp", "commit data_0.gulp", "create meta_0.gmeta", "commit meta_0.gmeta",
		"create data_1.gulp", "commit data_1.gulp", "create meta_1.gmeta", "commit meta_1.gmeta"}
	if diff := cmp.Diff(want, f.log); diff != "" {
		t.Error(diff)
	}

	// An interrupted chunk uses up its number.
	f.objects["data_2.gulp"] = []byte("half")
	d, err := gulp.OpenDataset(t.Context(), f, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err = d.Extend(t.Context(), f, gulp.DatasetOptions{MaxBytes: 30})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin("b"); !errors.Is(err, formats.ErrCorrupt) {
		t.Error("an id of the dataset:", err)
	}
	write(w, "long-one", "d", "e", "f", "g") // 24 and four times 12 bytes: 36, 36, 12
	if done, err = w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]gulp.Pair{gulp.ChunkPair(3), gulp.ChunkPair(4)}, done); diff != "" {
		t.Error(diff)
	}
	if err := w.Begin("h"); err == nil {
		t.Error("after Close")
	}
	if d, err = gulp.OpenDataset(t.Context(), f, gulp.Options{}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for s, err := range d.Samples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		frames, err := s.Chunk.AppendFrames(t.Context(), nil, s.ID, 0, 3, 1)
		if err != nil || !cmp.Equal(frames, [][]byte{[]byte(s.ID), []byte(s.ID), []byte(s.ID)}) {
			t.Errorf("%q: %q, %v", s.ID, frames, err)
		}
		got = append(got, s.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "long-one", "d", "e", "f", "g"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestDatasetWriterFails lets every step fail in turn: after that no index may be
// published, and nothing is left open.
func TestDatasetWriterFails(t *testing.T) {
	boom := errors.New("boom")
	for _, step := range []string{"create data_1.gulp", "commit data_1.gulp", "create meta_1.gmeta", "commit meta_1.gmeta"} {
		f := newFolder()
		f.fail = func(op, name string) error {
			if op+" "+name == step {
				return boom
			}
			return nil
		}
		w := gulp.NewDatasetWriter(t.Context(), f, gulp.DatasetOptions{MaxIDs: 1})
		var err error
		for _, id := range []string{"a", "b", "c"} {
			if err == nil {
				err = w.Begin(id)
			}
		}
		done, closing := w.Close()
		if !errors.Is(err, boom) || !errors.Is(closing, boom) || len(done) != 1 {
			t.Errorf("%s: %v, %v, %v", step, err, closing, done)
		}
		if f.objects["meta_1.gmeta"] != nil || f.objects["meta_0.gmeta"] == nil {
			t.Errorf("%s: %v", step, f.log)
		}
		if strings.HasPrefix(step, "commit") && !strings.Contains(strings.Join(f.log, ","), strings.Replace(step, "commit", "abort", 1)) {
			t.Errorf("%s: not aborted: %v", step, f.log)
		}
	}
}

// TestBeginRefused: after an id was refused no frame is taken and the id may be begun
// again. The dataset is as if nobody had tried.
func TestBeginRefused(t *testing.T) {
	object, list := json.RawMessage(`{"k": 1}`), json.RawMessage(`[1]`)
	for name, begin := range map[string]func(w *gulp.DatasetWriter) error{
		"no object":      func(w *gulp.DatasetWriter) error { return w.Begin("b", list) },
		"second of two":  func(w *gulp.DatasetWriter) error { return w.Begin("b", object, list) },
		"no JSON":        func(w *gulp.DatasetWriter) error { return w.Begin("b", json.RawMessage(`{`)) },
		"no UTF-8":       func(w *gulp.DatasetWriter) error { return w.Begin("\xff", object) },
		"there already":  func(w *gulp.DatasetWriter) error { return w.Begin("a", object) },
		"before any one": nil,
	} {
		f := newFolder()
		w := gulp.NewDatasetWriter(t.Context(), f, gulp.DatasetOptions{MaxIDs: 1})
		nowhere := func() {
			t.Helper()
			if err := w.WriteFrame([]byte("x")); err == nil || errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s: WriteFrame: %v", name, err)
			}
			if n, err := w.CopyFrame(strings.NewReader("x")); n != 0 || err == nil || errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s: CopyFrame: %d, %v", name, n, err)
			}
		}
		nowhere()
		frame := func(id string) {
			t.Helper()
			if err := errors.Join(w.Begin(id, object), w.WriteFrame([]byte(id))); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		frame("a")
		if begin != nil {
			if err := begin(w); !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
			if len(f.log) != 1 {
				t.Errorf("%s: it did %v", name, f.log)
			}
			nowhere()
		}
		frame("b")
		if _, err := w.Close(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := string(f.objects["data_0.gulp"]) + string(f.objects["meta_0.gmeta"]) + string(f.objects["data_1.gulp"]) + string(f.objects["meta_1.gmeta"])
		want := "a\x00\x00\x00" + `{"a": {"frame_info": [[0, 3, 4]], "meta_data": [{"k": 1}]}}` +
			"b\x00\x00\x00" + `{"b": {"frame_info": [[0, 3, 4]], "meta_data": [{"k": 1}]}}`
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
