package gulp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
)

// TestVerify damages bytes that no index describes: padding, and the look of payloads.
func TestVerify(t *testing.T) {
	meta, good := load(t, "chunks/append_gulpio23/meta_0.gmeta"), load(t, "chunks/append_gulpio23/data_0.gulp")
	verify := func(meta, data []byte) (gulp.Report, error) {
		var last, total int64
		rep, err := open(t, meta, data).Verify(t.Context(), func(d, n int64) {
			if d <= last {
				t.Errorf("progress went from %d to %d", last, d)
			}
			last, total = d, n
		})
		if err == nil && (last != total || last != int64(len(good))) {
			t.Errorf("progress ended at %d of %d", last, total)
		}
		return rep, err
	}
	if rep, err := verify(meta, good); err != nil || rep.JPEG != 8 || rep.Bytes+rep.Padding != 14748 {
		t.Errorf("%+v, %v", rep, err)
	}

	data := bytes.Clone(good)
	data[1551] = 7 // the last of two bytes of padding of the first frame
	_, err := verify(meta, data)
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), `id "first" frame 0 at 1551`) {
		t.Error(err)
	}
	// Padding that is one too large cuts the end marker, and shows.
	_, err = verify(bytes.Replace(meta, []byte("[0, 2, 1552]"), []byte("[0, 3, 1552]"), 1), good)
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "padding is 0xd9") {
		t.Error(err)
	}

	data = bytes.Clone(good)
	data[7724] = 0 // no JPEG any more
	data[1549] = 0 // no end marker any more
	rep, err := verify(meta, data)
	if err != nil || rep.JPEG != 7 || rep.Other != 1 || rep.Unended != 1 || rep.FirstOther != `id "second" frame 0` {
		t.Errorf("%+v, %v", rep, err)
	}
	if rep.Unsafe != 0 || rep.FirstUnsafe != "" {
		t.Errorf("%+v", rep)
	}
	rep, err = verify(bytes.Replace(meta, []byte(`"second"`), []byte(`"../ond"`), 1), good)
	if err != nil || rep.Unsafe != 1 || rep.FirstUnsafe != "../ond" {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestEachStops(t *testing.T) {
	c := open(t, load(t, "chunks/append_gulpio23/meta_0.gmeta"), load(t, "chunks/append_gulpio23/data_0.gulp"))
	boom := errors.New("boom")
	n := 0
	if err := c.Each(t.Context(), func(string, int, []byte) error { n++; return boom }); !errors.Is(err, boom) || n != 1 {
		t.Errorf("%d calls, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Each(ctx, func(string, int, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.EachFrame(t.Context(), "third", 0, 1, 1, nil); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	if err := c.EachFrame(t.Context(), "first", 0, 7, 1, nil); !errors.Is(err, gulp.ErrIndex) {
		t.Error(err)
	}
}

// TestUnclaimed reads a data object with a hole and a rest that no frame covers: an
// append that never wrote its index leaves them.
func TestUnclaimed(t *testing.T) {
	c := open(t, []byte(`{"a": {"frame_info": [[4, 1, 4], [12, 0, 4]], "meta_data": []}}`), []byte("....abc\x00....defgrest"))
	it, err := c.Item("a")
	if err != nil || it.Bytes != 7 || it.Frames != 2 || c.Totals().Unclaimed() != 12 {
		t.Errorf("%+v, %+v, %v", it, c.Totals(), err)
	}
	frames, err := c.AppendFrames(t.Context(), nil, "a", 0, 2, 1)
	if err != nil || string(bytes.Join(frames, []byte{'|'})) != "abc|defg" {
		t.Errorf("%q, %v", frames, err)
	}
	// Frames do not reach into each other's memory.
	if _ = append(frames[0], '!'); string(frames[1]) != "defg" {
		t.Error("appending to one frame changed the next")
	}
}

func TestDatasetWriterStreams(t *testing.T) {
	f := newFolder()
	w := gulp.NewDatasetWriter(t.Context(), f, gulp.DatasetOptions{First: 5})
	if err := w.Begin("a"); err != nil {
		t.Fatal(err)
	}
	if n, err := w.CopyFrame(strings.NewReader("12345")); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := w.CopyFrame(strings.NewReader("")); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
	w.Abort()
	w.Abort()
	if _, err := w.Close(); err == nil || len(f.objects) != 0 {
		t.Errorf("after Abort: %v, %v", err, f.log)
	}
	if _, err := w.CopyFrame(io.LimitReader(strings.NewReader("x"), 1)); err == nil {
		t.Error("after Abort")
	}
}
