package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

// A gulpSelection is a selector held against gulp chunks.
type gulpSelection struct {
	t     *gulpContent
	whole bool // every id
	id    string
	chunk *gulp.Chunk
	data  string // the name of its data in a dataset
	from, to, step,
	frames int
	single bool
	bytes  int64  // payload
	why    string // for explain
}

func (t *gulpContent) pick(ctx context.Context, s selector) (selection, error) {
	if err := s.only(gulp.Format, "id", "frames"); err != nil {
		return nil, err
	}
	return t.frames(ctx, s)
}

func (t *gulpContent) frames(ctx context.Context, s selector) (gulpSelection, error) {
	x := gulpSelection{t: t, id: s.id, whole: !s.has("id"), single: s.frameRange.Single && s.frames != "", why: s.why()}
	if x.whole {
		n, err := t.totals(ctx)
		x.bytes, x.frames = n.Bytes, int(n.Frames)
		return x, err
	}
	c, data, err := t.find(ctx, s.id)
	if err != nil {
		return x, err
	}
	n, err := c.Frames(s.id)
	if err != nil {
		return x, err
	}
	x.chunk, x.data = c, data
	if x.from, x.to, x.step, err = s.frameRange.Resolve(n); err != nil {
		return x, fmt.Errorf("id %s: %w", human.Printable(s.id), err)
	}
	for i := x.from; x.step > 0 && i < x.to || x.step < 0 && i > x.to; i += x.step {
		f, err := c.Frame(s.id, i)
		if err != nil {
			return x, err
		}
		x.frames++
		x.bytes += f.Size
	}
	return x, nil
}

func (x gulpSelection) total() int64 { return x.bytes }

// plan notes the requests that copy would make, behind those that were really made.
func (x gulpSelection) plan(ctx context.Context) (err error) {
	var plan []rangeio.Planned
	switch {
	case !x.whole:
		plan, err = x.chunk.ExplainFrames(ctx, x.id, x.from, x.to, x.step)
	case x.t.set != nil:
		plan, err = x.t.set.ExplainEach(ctx)
	default:
		plan, err = x.t.pair.ExplainEach(ctx)
	}
	for i := range plan {
		plan[i].Why = x.why
	}
	x.t.a.planned(x.t.target, plan, func(r rangeio.Planned) (string, int64) {
		return x.t.dataKey(cmp.Or(r.Object, x.data)), r.Off
	})
	return err
}

// each reads the selected frames in order.
func (x gulpSelection) each(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	switch {
	case x.whole && x.t.set != nil:
		return x.t.set.Each(ctx, fn)
	case x.whole:
		return x.t.pair.Each(ctx, fn)
	}
	return x.chunk.EachFrame(ctx, x.id, x.from, x.to, x.step, func(i int, p []byte) error { return fn(x.id, i, p) })
}

// copy writes the selected frames, back to back or as files.
func (x gulpSelection) copy(ctx context.Context, to sink.Sink, b bar) error {
	put := func(_ string, _ int, p []byte) error {
		_, err := to.Write(p)
		return err
	}
	if f, ok := to.(*sink.Folder); ok {
		if x.whole {
			if err := emptyIDs(ctx, x.t, f); err != nil {
				return err
			}
		}
		put = func(id string, i int, p []byte) error { return x.file(f, id, i, p) }
	}
	return x.each(ctx, func(id string, i int, p []byte) error {
		if ctx.Err() != nil { // small frames come from memory, where nothing else looks at ctx
			return context.Cause(ctx)
		}
		b.add(int64(len(p)))
		return put(id, i, p)
	})
}

// file writes a frame under its index. If every id is written, each has a folder.
func (x gulpSelection) file(f *sink.Folder, id string, i int, p []byte) error {
	name := fmt.Sprintf("%04d.jpg", i)
	if x.whole {
		dir, err := gulp.SafePath(id)
		if err != nil {
			return err
		}
		name = path.Join(dir, name)
	}
	return f.File(name, p)
}

// sameFrame is the error for two ids that want the same file: they differ only in
// case, or one of them is also a frame's name, or labelsFile.
func sameFrame(name string) error {
	if name == labelsFile || strings.HasPrefix(name, labelsFile+"/") {
		return fmt.Errorf("an id has the name of the file that labels go to, %s: %w", labelsFile, formats.ErrUnsupported)
	}
	return fmt.Errorf("two ids want the file %s: %w", human.Printable(name), formats.ErrUnsupported)
}

// emptyIDs makes the folders of ids without frames, and refuses hostile ids before
// anything is read.
func emptyIDs(ctx context.Context, t *gulpContent, f *sink.Folder) error {
	return t.chunks(ctx, func(c *gulp.Chunk, _ int) error {
		for it := range c.All() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			dir, err := gulp.SafePath(it.ID)
			if err != nil {
				return err
			}
			if it.Frames == 0 {
				if err := f.Dir(dir); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// sink decides whether OUT is a file or a folder: see getLong.
func (x gulpSelection) sink(out string) (sink.Sink, error) {
	if out == "-" {
		return sink.NewStream(x.t.a.stdout), nil
	}
	asFile := x.single
	if !asFile && !x.whole && x.frames == 1 {
		ext := strings.ToLower(filepath.Ext(out))
		asFile = ext == ".jpg" || ext == ".jpeg"
	}
	if os.IsPathSeparator(out[len(out)-1]) {
		asFile = false
	} else if info, err := os.Stat(out); err == nil && info.IsDir() {
		asFile = false
	}
	if asFile {
		if err := notNamed(out, frameGoes); err != nil {
			return nil, err
		}
		return sink.NewFile(&x.t.a.trash, out)
	}
	return x.t.a.folderSink(out, sameFrame)
}

// why names the selection in `explain`.
func (s selector) why() string {
	switch {
	case !s.has("id"):
		return "every frame"
	case s.frames == "":
		return fmt.Sprintf("frames of %q", s.id)
	case s.frameRange.Single:
		return fmt.Sprintf("frame %s of %q", s.frames, s.id)
	}
	return fmt.Sprintf("frames %s of %q", s.frames, s.id)
}
