package gulp_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
)

// TestIndexRules lists what an index may say of a data object of 100 bytes. Want is
// part of the error, empty if the index is good.
func TestIndexRules(t *testing.T) {
	one := func(info string) string { return `{"a": {"frame_info": [` + info + `], "meta_data": [{}]}}` }
	for _, c := range []struct{ meta, want string }{
		{one(`[0, 0, 1]`), ""},
		{one(`[0, 3, 4]`), ""},
		{one(`[99, 0, 1]`), ""},
		{one(`[0, 0, 100]`), ""},
		{one(`[0, 0, 7], [7, 1, 5]`), ""}, // lengths that are no multiple of four
		{one(`[50, 0, 50], [0, 0, 50]`), ""},
		{one(`[-0, 0, 4]`), ""},
		{" \n\r\t{ }\n", ""},
		{`{"a":{"meta_data":[],"x":{"y":[1,{}]},"frame_info":[]},"b":{"frame_info":[]}}`, ""},
		{`{"a": {"frame\u005finfo": []}}`, ""},
		{`{"": {"frame_info": []}}`, ""},
		{`{"\u0000\ud83d\ude00\"\\\/\b\f\n\r\t": {"frame_info": []}}`, ""},
		{`{"a": {"frame_info": [], "meta_data": [-0.5e+3, 1E9, 1e400, "\ud800", true, false, null, -Infinity, NaN, Infinity]}}`, ""},

		{one(`[0, 0, 101]`), `id "a" frame 0 at 33: [0, +101) lies outside the data object of 100 bytes`},
		{one(`[100, 0, 1]`), "outside"},
		{one(`[9223372036854775807, 0, 9223372036854775807]`), "outside"},
		{one(`[0, 3, 3]`), "leaves no payload"},
		{one(`[0, 4, 8]`), "padding 4"},
		{one(`[0, 0, 8], [4, 0, 4]`), `id "a" frame 1: [4, +4) overlaps id "a" frame 0`},
		{one(`[0, 0, 8], [8, 0, 8], [20, 0, 4], [12, 0, 4]`), `frame 3: [12, +4) overlaps id "a" frame 1`},
		{one(`[0, 0, 8], [0, 0, 8]`), `frame 1: [0, +8) overlaps id "a" frame 0`},
		{`{"a": {"frame_info": [[8, 0, 8], [0, 0, 8]]}, "b": {"frame_info": [[32, 0, 8], [12, 0, 2]]}}`, `id "b" frame 1: [12, +2) overlaps id "a" frame 0`},
		{`{"a": {"frame_info": [[0, 0, 8]]}, "n": {"frame_info": []}, "b": {"frame_info": [[8, 0, 8]]}, "c": {"frame_info": [[15, 0, 8]]}}`,
			`id "c" frame 0: [15, +8) overlaps id "b" frame 0`},
		{one(`[0, 0, 1.0]`), "no integer"},
		{one(`[0, 0, 1e1]`), "no integer"},
		{one(`[00, 0, 1]`), "leading zero"},
		{one(`[0, 0, 9223372036854775808]`), "above"},
		{one(`[0, 0, true]`), "integer should be"},
		{one(`[0, 0, -]`), "integer should be"},
		{one(`[0, 0, 4],`), "after a comma"},
		{one(`[0, 0, 4] [4, 0, 4]`), "between two members"},
		{one(`[]`), "integer should be"},
		{`{"a": {"frame_info": [], "frame_info": []}}`, "frame_info twice"},
		{`{"a": {"frame_info": [], "meta_data": [], "meta_data": []}}`, "meta_data twice"},
		{`{"a": {"frame_info": []}, "\u0061": {"frame_info": []}}`, `id "a" at 34: occurs again`},
		{`{"\ud800": {"frame_info": []}}`, "surrogate"},
		{`{"\ud800\u0041": {"frame_info": []}}`, "surrogate"},
		{`{"a": {"frame_info": []},}`, "after a comma"},
		{`{,"a": {"frame_info": []}}`, "a string should be"},
		{`{"a" {"frame_info": []}}`, "a colon should be"},
		{`{a: {"frame_info": []}}`, "a string should be"},
		{"{\"a\n\": {}}", "control character"},
		{`{"a\x": {}}`, "escape"},
		{`{"a\u12g4": {}}`, `in a \u escape`},
		{`{"a": {"frame_info": []}} x`, "text after"},
		{`{"a": {"frame_info": [], "meta_data": [01]}}`, "between two members"},
		{`{"a": {"frame_info": [], "meta_data": [1.]}}`, "value should be"},
		{`{"a": {"frame_info": [], "meta_data": [.5]}}`, "value should be"},
		{`{"a": {"frame_info": [], "meta_data": [1e]}}`, "value should be"},
		{`{"a": {"frame_info": [], "meta_data": [+1]}}`, "value should be"},
		{`{"a": {"frame_info": [], "meta_data": [nul]}}`, "in the word null"},
		{`{"a": {"frame_info": [], "meta_data": [nan]}}`, "in the word null"},
		{`{"a": {"frame_info": [], "meta_data": {"x"}}}`, "a colon should be"},
		{`{"a": {"frame_info": [], "meta_data": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, "nested deeper"},
		{`{"a": {"frame_info": [], "x": ` + strings.Repeat(`{"a":`, 100000) + `}}`, "nested deeper"},
		{strings.Repeat("[", 100000), "object of all ids"},
	} {
		_, err := gulp.Open(t.Context(), bytesReader([]byte(c.meta)), bytesReader(make([]byte, 100)), gulp.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%.80s: %v", c.meta, err)
		case c.want == "":
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%.80s: %v, want %q", c.meta, err, c.want)
		case !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported):
			t.Errorf("%.80s: %v", c.meta, err)
		}
	}
}

func TestLimits(t *testing.T) {
	meta := load(t, "chunks/append_gulpio23/meta_0.gmeta")
	data := load(t, "chunks/append_gulpio23/data_0.gulp")
	for name, l := range map[string]formats.Limits{
		"size": {MaxMeta: int64(len(meta)) - 1}, "kept": {MaxMeta: int64(len(meta)) + 1}, "entries": {MaxEntries: 10},
	} {
		_, err := gulp.Open(t.Context(), bytesReader(meta), bytesReader(data), gulp.Options{Limits: l})
		if !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// 3 ids and 8 frames are exactly what 11 entries allow; frames of 1550 and
	// 1960 bytes lie around a limit of 1600.
	c, err := gulp.Open(t.Context(), bytesReader(meta), bytesReader(data), gulp.Options{Limits: formats.Limits{MaxEntries: 11, MaxDecoded: 1600}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.AppendFrame(t.Context(), nil, "first", 0); err != nil {
		t.Error(err)
	}
	if _, err := c.AppendFrame(t.Context(), nil, "first", 1); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := c.AppendFrames(t.Context(), nil, "first", 0, 6, 1); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	if err := c.EachFrame(t.Context(), "second", 0, 2, 1, func(int, []byte) error { return nil }); err != nil {
		t.Error("windows follow the limit:", err)
	}
	if err := c.Each(t.Context(), func(string, int, []byte) error { return nil }); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := c.ExplainFrames(t.Context(), "first", 0, 6, 1); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
}

func TestNoEntry(t *testing.T) {
	c := open(t, load(t, "chunks/append_gulpio23/meta_0.gmeta"), load(t, "chunks/append_gulpio23/data_0.gulp"))
	if _, err := c.Frames("third"); !errors.Is(err, formats.ErrNoEntry) || errors.Is(err, gulp.ErrIndex) {
		t.Error(err)
	}
	for _, i := range []int{-1, 6} {
		if _, err := c.AppendFrame(t.Context(), nil, "first", i); !errors.Is(err, formats.ErrNoEntry) || !errors.Is(err, gulp.ErrIndex) {
			t.Error(i, err)
		}
	}
	const most, least = int(^uint(0) >> 1), -int(^uint(0)>>1) - 1
	for _, r := range [][3]int{{-1, 2, 1}, {0, 7, 1}, {7, 7, 1}, {0, 2, 0}, {6, 0, -1}, {5, -2, -1}, {least, most, 1}, {most, least, -1}, {most, most, most}, {least, least, least}} {
		if _, err := c.AppendFrames(t.Context(), nil, "first", r[0], r[1], r[2]); !errors.Is(err, gulp.ErrIndex) {
			t.Error(r, err)
		}
	}
	for _, r := range [][4]int{{0, 6, most, 1}, {5, -1, least, 1}, {6, 6, 1, 0}, {0, 0, 1, 0}, {-1, -1, -1, 0}, {5, -1, -5, 2}} {
		got, err := c.AppendFrames(t.Context(), nil, "first", r[0], r[1], r[2])
		if err != nil || len(got) != r[3] {
			t.Error(r, len(got), err)
		}
	}
}

// bigIndex is about size bytes of index, with the data object's size.
func bigIndex(size, framesPerID int) (meta []byte, data int64) {
	meta = append(make([]byte, 0, size+4096), '{')
	for id := 0; len(meta) < size; id++ {
		if id > 0 {
			meta = append(meta, ", "...)
		}
		meta = fmt.Appendf(meta, `"video_%07d": {"frame_info": [`, id)
		for f := range framesPerID {
			if f > 0 {
				meta = append(meta, ", "...)
			}
			n := int64(7000 + (id*31+f*17)%2000/4*4)
			meta = fmt.Appendf(meta, "[%d, %d, %d]", data, f%4, n)
			data += n
		}
		meta = fmt.Appendf(meta, `], "meta_data": [{"label": "something something", "id": %d}]}`, id)
	}
	return append(meta, '}'), data
}

// TestOpenMemory holds the opening of a 20 MB index to the memory that Open's comment
// promises, also in the worst case of one frame an id: about as much as the text is
// kept, and garbage on the way is a few times that, not 20 times.
func TestOpenMemory(t *testing.T) {
	for _, frames := range []int{200, 25, 1} {
		meta, size := bigIndex(20<<20, frames)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, err := gulp.Open(t.Context(), bytesReader(meta), sized{bytesReader(nil), size}, gulp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		total := after.TotalAlloc - before.TotalAlloc
		runtime.GC()
		runtime.GC() // a pool lets go of its buffers at the second
		runtime.ReadMemStats(&after)
		kept := after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc)
		t.Logf("%d MB of index, %d ids, %d frames: %d MB allocated in all, %d MB kept",
			len(meta)>>20, c.Len(), c.Totals().Frames, total>>20, kept>>20)
		if total > 5*uint64(len(meta)) || kept > 2*uint64(len(meta)) {
			t.Errorf("%d frames an id: %d bytes allocated, %d kept, for %d bytes of index", frames, total, kept, len(meta))
		}
		runtime.KeepAlive(c)
		runtime.KeepAlive(meta)
	}
}
