package functions_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestTransform: a version is made once, a replaced upload and another layout anew; what
// is too large, derived or refused by Do leaves nothing.
func TestTransform(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	src, out := memstore.New(memstore.Config{Name: "in"}), memstore.New(memstore.Config{Name: "out"})
	runs, last, fault := 0, "", error(nil)
	upper := functions.Transform{Suffix: ".up", Most: 10, ContentType: "text/plain", Do: func(_ context.Context, u functions.Upload, in []byte) ([]byte, error) {
		runs++
		if u.Key != "a/x" || u.Size != int64(len(in)) || u.ETag == "" {
			t.Errorf("%+v for %d bytes", u, len(in))
		}
		return bytes.ToUpper(in), fault
	}}
	run := func(text string, o objstore.PutOptions) (int, error) {
		t.Helper()
		if text != last { // else the event of the same version comes again
			if _, err := objstore.Put(ctx, src, "a/x", strings.NewReader(text), o); err != nil {
				t.Fatal(err)
			}
		}
		last = text
		j, err := upper.Job(functions.Rule{Out: functions.Out{Prefix: "p/"}}, out)
		if err != nil {
			t.Fatal(err)
		}
		infos, err := j.Run(ctx, src, functions.Upload{Bucket: "in", Key: "a/x"})
		return len(infos), err
	}
	for i, step := range []struct {
		text, layout string
		infos, runs  int
	}{{"one", "", 1, 1}, {"one", "", 0, 1}, {"one", "b", 1, 2}, {"two", "b", 1, 3}, {"", "b", 1, 4}} {
		upper.Layout = step.layout
		if n, err := run(step.text, objstore.PutOptions{}); n != step.infos || runs != step.runs || err != nil {
			t.Errorf("step %d: %d outputs of %d runs, %v", i, n, runs, err)
		}
		body, info, err := out.Get(ctx, "p/a/x.up", objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var p bytes.Buffer
		if _, err := p.ReadFrom(body); err != nil || p.String() != strings.ToUpper(step.text) || info.ContentType != "text/plain" || !functions.IsDerived(info.Meta) {
			t.Errorf("step %d: %q, %+v, %v", i, p.String(), info, err)
		}
	}
	if n, err := run(strings.Repeat("x", 11), objstore.PutOptions{}); n != 0 || !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("too large: %d, %v", n, err)
	}
	if n, err := run("x", objstore.PutOptions{Meta: map[string]string{functions.MetaMarker: "1"}}); n != 0 || !errors.Is(err, functions.ErrOwn) {
		t.Errorf("its own output: %d, %v", n, err)
	}
	fault = fmt.Errorf("no text: %w", functions.ErrSkip)
	if n, err := run("y", objstore.PutOptions{}); n != 0 || !errors.Is(err, functions.ErrSkip) {
		t.Errorf("refused: %d, %v", n, err)
	}
	if info, err := out.Head(ctx, "p/a/x.up"); err != nil || info.Size != 0 {
		t.Errorf("the last good output: %+v, %v", info, err)
	}
	if _, err := (functions.Transform{Suffix: ".up"}).Job(functions.Rule{}, nil); err == nil {
		t.Error("without Do")
	}
}
