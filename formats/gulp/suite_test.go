package gulp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

// everything is the content of a chunk: ids, meta_data and payloads, in file order.
func everything(ctx context.Context, c *gulp.Chunk) ([]byte, error) {
	var out []byte
	for it := range c.All() {
		out = fmt.Appendf(out, "%q %d %d %s\n", it.ID, it.Frames, it.Bytes, it.MetaData)
	}
	err := c.Each(ctx, func(id string, i int, frame []byte) error {
		out = fmt.Appendf(out, "%q %d %d\n", id, i, len(frame))
		out = append(out, frame...)
		return nil
	})
	return out, err
}

func suite(o gulp.Options, objects ...formattest.Object) formattest.Suite {
	size := 0
	for _, x := range objects {
		size += len(x.Data)
	}
	return formattest.Suite{
		Objects: objects,
		Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
			c, err := gulp.Open(ctx, r[0], r[1], o)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) ([]byte, error) { return everything(ctx, c) }, nil
		},
		// GulpIO has no checksums: a flipped bit may make another valid index. But no
		// byte may be given twice.
		Check: func(got []byte) error {
			if len(got) > 4*size {
				return fmt.Errorf("%d bytes out of %d", len(got), size)
			}
			return nil
		},
		Stride: 3, // odd, so that every bit of a byte has its turn
	}
}

func TestSuite(t *testing.T) {
	for _, name := range []string{"append_gulpio23", "nested_gulpio21", "empty_gulpio22"} {
		t.Run(name, func(t *testing.T) {
			formattest.Run(t, suite(gulp.Options{},
				formattest.Object{Name: "gmeta", Data: load(t, "chunks/"+name+"/meta_0.gmeta")},
				formattest.Object{Name: "gulp", Data: load(t, "chunks/"+name+"/data_0.gulp"), Index: []formattest.Range{}}))
		})
	}
	// Windows of a few bytes: every token is cut somewhere.
	t.Run("windows", func(t *testing.T) {
		s := suite(gulp.Options{Window: 7},
			formattest.Object{Name: "gmeta", Data: load(t, "chunks/nested_gulpio7/meta_0.gmeta")},
			formattest.Object{Name: "gulp", Data: load(t, "chunks/nested_gulpio7/data_0.gulp"), Index: []formattest.Range{}})
		s.Stride = 13 // every bit of a byte, but fewer bytes, since each takes a hundred reads
		formattest.Run(t, s)
	})
}

// TestWindows scans every fixture, good and bad, through windows of all small sizes.
// Borders of windows must not change the results or their places.
func TestWindows(t *testing.T) {
	metas, err := filepath.Glob(filepath.Join("testdata", "*", "*", "*.gmeta"))
	if err != nil {
		t.Fatal(err)
	}
	bad, err := filepath.Glob(filepath.Join("testdata", "malformed", "*.gmeta"))
	if err != nil || len(bad) == 0 || len(metas) == 0 {
		t.Fatal(len(bad), len(metas), err)
	}
	for _, name := range append(metas, bad...) {
		rel, _ := filepath.Rel("testdata", name)
		meta := load(t, filepath.ToSlash(rel))
		if len(meta) > 4096 {
			continue // the deeply nested one is slow in windows of a byte
		}
		data := bytes.Repeat([]byte{1}, 1<<15)
		want := outcome(t.Context(), meta, data, 0)
		for window := int64(1); window < 40; window++ {
			if got := outcome(t.Context(), meta, data, window); got != want {
				t.Errorf("%s in windows of %d:\n%s\nwant\n%s", rel, window, got, want)
			}
		}
	}
}

func outcome(ctx context.Context, meta, data []byte, window int64) string {
	c, err := gulp.Open(ctx, bytesReader(meta), bytesReader(data), gulp.Options{Window: window})
	if err != nil {
		if strings.Contains(err.Error(), "invalid UTF-8") {
			return "invalid UTF-8" // found window by window, so other errors may come first in their ids
		}
		return err.Error()
	}
	var out strings.Builder
	for it := range c.All() {
		fmt.Fprintf(&out, "%q %d %d %s\n", it.ID, it.Frames, it.Bytes, it.MetaData)
	}
	return out.String()
}

func TestTraces(t *testing.T) {
	meta, data := load(t, "chunks/append_gulpio23/meta_0.gmeta"), load(t, "chunks/append_gulpio23/data_0.gulp")
	var tr formattest.Trace
	c, err := gulp.Open(t.Context(), tr.Wrap("gmeta", bytesReader(meta)), tr.Wrap("gulp", bytesReader(data)), gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr.Step("open append_gulpio23")
	for _, sel := range []struct{ id, frames string }{
		{"first", ":"}, {"first", "0:4"}, {"first", "::2"}, {"first", "::-1"}, {"first", "-1"}, {"second", ":"}, {"noframes", ":"},
	} {
		s, err := gulp.ParseSlice(sel.frames)
		if err != nil {
			t.Fatal(err)
		}
		n, _ := c.Frames(sel.id)
		from, to, step, err := s.Resolve(n)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := c.AppendFrames(t.Context(), nil, sel.id, from, to, step)
		if err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("frames %s of %q", sel.frames, sel.id), fmt.Sprintf("%d frames, sha256 %.16s", len(frames), digest(bytes.Join(frames, nil))))

		plan, err := c.ExplainFrames(t.Context(), sel.id, from, to, step)
		if err != nil {
			t.Fatal(err)
		}
		var spans []rangeio.Span
		for _, q := range plan {
			spans = append(spans, rangeio.Span{Off: q.Off, P: make([]byte, q.Len)})
		}
		if len(spans) > 0 {
			if err := tr.Wrap("gulp", bytesReader(data)).ReadRanges(t.Context(), spans); err != nil {
				t.Fatal(err)
			}
		}
		tr.Step("its plan")
	}
	if _, err := c.AppendFrame(t.Context(), nil, "second", 1); err != nil {
		t.Fatal(err)
	}
	tr.Step(`frame 1 of "second"`)
	if _, err := c.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	tr.Step("verify")
	tr.Golden(t, filepath.Join("testdata", "read.trace"))
}
