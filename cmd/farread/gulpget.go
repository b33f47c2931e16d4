package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/human"
)

// A gulpSelection is the images of a gulp that a selector selects.
type gulpSelection struct {
	t     *gulpContent
	m     imager
	whole bool // all ids are selected
	id    string
	from, to, step,
	frames int
	single bool
	bytes  int64  // bytes of the selected images
	why    string // description for explain
}

// An imager is the images of a gulp by id and number, or all of a chunk by number.
type imager interface {
	Images(ctx context.Context, id string) (int, error)
	EachImage(ctx context.Context, id string, from, to, step int, fn func(i int, p []byte) error) error
	ExplainImages(ctx context.Context, id string, from, to, step int) (farread.Plan, error)
	EachImageOfAll(ctx context.Context, fn func(id string, i int, p []byte) error) error
	ExplainImagesOfAll(ctx context.Context) (farread.Plan, error)
}

func (t *gulpContent) pick(ctx context.Context, s selector) (selection, error) {
	if err := s.only(gulp.Format, "id", "frames"); err != nil {
		return nil, err
	}
	return t.frames(ctx, s)
}

func (t *gulpContent) frames(ctx context.Context, s selector) (x gulpSelection, err error) {
	x = gulpSelection{t: t, id: s.id, whole: !s.byID(), single: s.frameRange.Single && s.frames != "", why: s.why()}
	if x.m, err = able[farread.Imager](&t.opened); err != nil {
		return x, err
	}
	what := "id " + human.Printable(s.id)
	if !x.whole && !s.has("id") {
		if t.several() {
			return x, usagef("--frames without --id is for one chunk, not for a dataset; name a chunk, or an id")
		}
		n, err := able[farread.Numberer](&t.opened)
		if err != nil {
			return x, err
		}
		x.m, what = n.ByNumber(), "all ids"
	}
	if x.whole {
		x.bytes, x.frames = t.in.NBytes, int(t.in.Images)
		return x, nil
	}
	n, err := x.m.Images(ctx, s.id)
	if err != nil {
		return x, err
	}
	if x.from, x.to, x.step, err = s.frameRange.Resolve(n); err != nil {
		return x, fmt.Errorf("%s: %w", what, err)
	}
	for i := x.from; x.step > 0 && i < x.to || x.step < 0 && i > x.to; i += x.step {
		x.frames++
	}
	p, err := x.explained(ctx)
	x.bytes = p.Size
	return x, err
}

func (x gulpSelection) total() int64 { return x.bytes }

func (x gulpSelection) explained(ctx context.Context) (farread.Plan, error) {
	if x.whole {
		return x.m.ExplainImagesOfAll(ctx)
	}
	return x.m.ExplainImages(ctx, x.id, x.from, x.to, x.step)
}

// plan notes the requests that copy would make, after the requests that were made.
func (x gulpSelection) plan(ctx context.Context) error {
	p, err := x.explained(ctx)
	for i := range p.Requests {
		p.Requests[i].Why = x.why
	}
	x.t.follow(p)
	return err
}

// each reads the selected frames in order.
func (x gulpSelection) each(ctx context.Context, fn func(id string, i int, p []byte) error) error {
	if x.whole {
		return x.m.EachImageOfAll(ctx, fn)
	}
	return x.m.EachImage(ctx, x.id, x.from, x.to, x.step, func(i int, p []byte) error { return fn(x.id, i, p) })
}

// copy writes the selected frames, one after the other or as files.
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
		if ctx.Err() != nil { // small frames come from memory, and nothing else looks at ctx
			return context.Cause(ctx)
		}
		b.add(int64(len(p)))
		return put(id, i, p)
	})
}

// file writes a frame to a file named by its index. If all ids are written, each id has
// a folder.
func (x gulpSelection) file(f *sink.Folder, id string, i int, p []byte) error {
	name := fmt.Sprintf("%04d%s", i, imageSuffix(p))
	if x.whole {
		dir, err := gulp.SafePath(id)
		if err != nil {
			return err
		}
		name = path.Join(dir, name)
	}
	return f.File(name, p)
}

// sameFrame returns the error for two ids with the same file: they differ only in case,
// or one id is also the name of a frame or labelsFile.
func sameFrame(name string) error {
	if name == labelsFile || strings.HasPrefix(name, labelsFile+"/") {
		return fmt.Errorf("an id has the name of the file that labels go to, %s: %w", labelsFile, formats.ErrUnsupported)
	}
	return fmt.Errorf("two ids want the file %s: %w", human.Printable(name), formats.ErrUnsupported)
}

// emptyIDs makes the folders of ids without frames. It refuses hostile ids before
// anything is read.
func emptyIDs(ctx context.Context, t *gulpContent, f *sink.Folder) error {
	return t.ids(ctx, func(e *farread.Entry) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		dir, err := gulp.SafePath(e.Name)
		if err != nil || e.Images > 0 {
			return err
		}
		return f.Dir(dir)
	})
}

// sink makes OUT as a file or a folder; getLong says which.
func (x gulpSelection) sink(out string) (sink.Sink, error) {
	if out == "-" {
		return sink.NewStream(x.t.a.stdout), nil
	}
	asFile := x.single
	if !asFile && !x.whole && x.frames == 1 {
		ext := strings.ToLower(filepath.Ext(out))
		asFile = ext == ".jpg" || ext == ".jpeg" || isImageSuffix(ext)
	}
	if os.IsPathSeparator(out[len(out)-1]) {
		asFile = false
	} else if info, err := os.Stat(out); err == nil && info.IsDir() {
		asFile = false
	}
	if asFile {
		if isImageSuffix(strings.ToLower(filepath.Ext(out))) { // the frame decides
			f, err := sink.NewFile(&x.t.a.trash, out)
			return &imageFile{f, out}, err
		}
		if err := notNamed(out, frameGoes); err != nil {
			return nil, err
		}
		return sink.NewFile(&x.t.a.trash, out)
	}
	return x.t.a.folderSink(out, sameFrame)
}

// An imageFile is a file that is called like an image of another kind than JPEG. It takes
// such images alone.
type imageFile struct {
	*sink.File

	out string
}

// Write takes a whole frame.
func (f *imageFile) Write(p []byte) (int, error) {
	if ext := strings.ToLower(filepath.Ext(f.out)); imageSuffix(p) != ext {
		return 0, notNamed(f.out, fmt.Sprintf("a frame is a .jpg, unless it is of another kind; this one is a %s", imageSuffix(p)))
	}
	return f.File.Write(p)
}

// imageSuffix returns the suffix for a frame, by its bytes. Frames of no kind that is
// known get that of the others.
func imageSuffix(p []byte) string {
	switch farread.MediaType(p) {
	case "image/png":
		return ".png"
	case "image/webp":
		return ".webp"
	case "image/gif":
		return ".gif"
	case "image/avif":
		return ".avif"
	case "image/bmp":
		return ".bmp"
	}
	return ".jpg"
}

// isImageSuffix reports whether imageSuffix may return ext, and it is not that of JPEGs.
func isImageSuffix(ext string) bool {
	return ext == ".png" || ext == ".webp" || ext == ".gif" || ext == ".avif" || ext == ".bmp"
}

// why describes the selection in `explain`.
func (s selector) why() string {
	switch {
	case !s.byID():
		return "every frame"
	case !s.has("id") && s.frameRange.Single:
		return fmt.Sprintf("frame %s of all ids", s.frames)
	case !s.has("id"):
		return fmt.Sprintf("frames %s of all ids", s.frames)
	case s.frames == "":
		return fmt.Sprintf("frames of %q", s.id)
	case s.frameRange.Single:
		return fmt.Sprintf("frame %s of %q", s.frames, s.id)
	}
	return fmt.Sprintf("frames %s of %q", s.frames, s.id)
}
