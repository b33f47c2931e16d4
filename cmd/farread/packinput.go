package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// An input is one SRC of pack.
type input struct {
	uri    string
	source pack.Source
	bucket objstore.Bucket
	key    string            // key of an object, or a prefix
	upload *functions.Upload // object of S3 at the opened version; for a folder, its marker
	job    *pack.Job         // job that a worker would run for upload, if its output is DST
}

// inputs opens every SRC. Local images that follow each other are one input. own
// reports whether an object must not be packed.
func (a *app) inputs(ctx context.Context, srcs []string, own func(place string) bool) ([]input, error) {
	var out []input
	for i := 0; i < len(srcs); {
		n := 0
		for i+n < len(srcs) && isLocalImage(srcs[i+n]) {
			n++
		}
		if n > 0 {
			s, err := newImages(srcs[i : i+n])
			if err != nil {
				return nil, err
			}
			out = append(out, input{uri: srcs[i], source: s})
			i += n
			continue
		}
		in, err := a.input(ctx, srcs[i], own)
		if err != nil {
			return nil, at(srcs[i], err)
		}
		out = append(out, in)
		i++
	}
	return out, nil
}

func (a *app) input(ctx context.Context, uri string, own func(place string) bool) (input, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return input{}, err
	}
	in := input{uri: uri, bucket: b, key: key}
	if key != "" && !strings.HasSuffix(key, "/") {
		ob, err := a.client.Open(ctx, uri)
		if errors.Is(err, objstore.ErrNotFound) && isPrefix(ctx, b, key+"/") {
			return a.input(ctx, uri+"/", own)
		}
		if err != nil {
			return input{}, err
		}
		if name, ok := strings.CutPrefix(b.Name(), "s3://"); ok {
			i := ob.Info()
			in.upload = &functions.Upload{Bucket: name, Key: key, ETag: i.ETag, VersionID: i.VersionID, Size: i.Size}
		}
		if isImageName(key) {
			in.source, err = imageObject(ctx, ob)
			if in.source != nil || err != nil {
				in.upload = nil // no rule makes a gulp of it
				return in, err
			}
		}
		in.source, err = pack.Archive(ctx, ob, pack.Options{})
		return in, err
	}
	if isLocal(b) {
		return a.localFolder(in, own)
	}
	in.source, err = pack.Prefix(ctx, ownlessBucket{b, own}, key, pack.Options{})
	return in, unlisted(err)
}

// isPrefix reports whether there are objects below folder.
func isPrefix(ctx context.Context, b objstore.Bucket, folder string) bool {
	for _, err := range b.List(ctx, folder) {
		return err == nil
	}
	return false
}

// ownFiles returns a function that recognizes, by their places, the objects that pack
// writes for DST. DST may lie in SRC.
func ownFiles(b objstore.Bucket, key string, pair gulp.Pair, isPair bool) func(place string) bool {
	if isPair {
		data, meta := place(b.Name(), pair.Data), place(b.Name(), pair.Meta)
		return func(place string) bool { return place == data || place == meta }
	}
	folder := strings.TrimSuffix(place(b.Name(), key), "/") + "/"
	return func(place string) bool {
		name, ok := strings.CutPrefix(place, folder)
		_, chunk := gulp.PairOf(name)
		return ok && chunk && !strings.Contains(name, "/")
	}
}

// place returns one name for an object, whatever the form of the bucket's name.
func place(bucket, key string) string { return strings.TrimSuffix(bucket, "/") + "/" + key }

// An ownlessBucket is a bucket without the objects of DST.
type ownlessBucket struct {
	objstore.Bucket

	own func(place string) bool
}

// List implements objstore.Bucket.
func (b ownlessBucket) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for in, err := range b.Bucket.List(ctx, prefix) {
			if err == nil && b.own(place(b.Name(), in.Key)) {
				continue
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// An ownless is a folder of this machine without the files that farread writes, or has
// written, there.
type ownless struct {
	fs.FS

	dir string // absolute path of the folder, without links
	own func(place string) bool
}

// ReadDir implements fs.ReadDirFS.
func (f ownless) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		n := e.Name()
		return sink.IsTemp(n) || f.own(place(f.dir, path.Join(name, n)))
	}), err
}

// localFolder opens a folder of this machine. No link leads out of it.
func (a *app) localFolder(in input, own func(place string) bool) (input, error) {
	dir := in.uri
	if strings.Contains(dir, "://") {
		dir, _ = sink.Local(in.bucket)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return input{}, err
	}
	if !info.IsDir() {
		return input{}, fmt.Errorf("not a folder: %w", objstore.ErrNotFound)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return input{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return input{}, err
	}
	target := abs
	if followed, err := filepath.EvalSymlinks(abs); err == nil {
		target = followed
	}
	fsys := ownless{FS: root.FS(), dir: "file://" + filepath.ToSlash(target), own: own}
	in.source = pack.Folder(fsys, filepath.Base(abs), pack.Options{})
	return in, nil
}

func isLocalImage(src string) bool { return isImageName(src) && !strings.Contains(src, "://") }

func isImageName(name string) bool {
	ext := strings.ToLower(path.Ext(filepath.ToSlash(name)))
	return ext == ".jpg" || ext == ".jpeg" || isImageSuffix(ext) && ext != ".bmp"
}

// images is a source of local files that were named one by one.
type images struct {
	paths []string
	size  int64
}

func newImages(paths []string) (*images, error) {
	s := &images{paths: paths}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: not a file: %w", human.Printable(p), formats.ErrUnsupported)
		}
		s.size += info.Size()
	}
	return s, nil
}

// An imageAlone is a source of one object of a store, an image.
type imageAlone struct{ ob *objstore.Object }

// imageObject is an object as a source, if it begins as an image does; else nil.
func imageObject(ctx context.Context, ob *objstore.Object) (pack.Source, error) {
	head := make([]byte, min(64, ob.Size()))
	if len(head) == 0 {
		return nil, nil //nolint:nilnil // who reads it as an archive has the error
	}
	if err := ob.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil || pack.ImageKind(head) == "" {
		return nil, err
	}
	return imageAlone{ob}, nil
}

// About implements pack.Source.
func (s imageAlone) About() pack.About {
	return pack.About{Format: "files", Name: "frames", Size: s.ob.Size()}
}

// Names implements pack.Lister.
func (s imageAlone) Names(context.Context) ([]string, error) { //nolint:unparam // a method of pack.Lister
	return []string{path.Base(s.ob.Info().Key)}, nil
}

// Each implements pack.Source.
func (s imageAlone) Each(ctx context.Context, f func(pack.File, io.Reader) error) error {
	r := s.ob.NewReader(ctx, objstore.ReadOptions{})
	defer r.Close()
	return f(pack.File{Name: path.Base(s.ob.Info().Key), Size: s.ob.Size(), Off: -1}, r)
}

// About implements pack.Source.
func (s *images) About() pack.About {
	return pack.About{Format: "files", Name: "frames", Size: s.size}
}

// Names implements pack.Lister.
func (s *images) Names(context.Context) ([]string, error) { //nolint:unparam // a method of pack.Lister
	names := make([]string, len(s.paths))
	for i, p := range s.paths {
		names[i] = filepath.Base(p)
	}
	return names, nil
}

// Each implements pack.Source.
func (s *images) Each(ctx context.Context, f func(pack.File, io.Reader) error) error {
	for _, p := range s.paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := one(p, f); err != nil {
			return err
		}
	}
	return nil
}

func one(name string, f func(pack.File, io.Reader) error) error {
	r, err := os.Open(name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	info, err := r.Stat()
	if err != nil {
		return err
	}
	return f(pack.File{Name: filepath.Base(name), Size: info.Size(), Off: -1}, io.LimitReader(r, info.Size()))
}

// A guard refuses an id that two inputs have, since their frames would be mixed.
type guard struct {
	w           pack.Frames
	before, now map[string]bool
}

func (g *guard) next() {
	for id := range g.now {
		g.before[id] = true
	}
	clear(g.now)
}

// WriteFrame implements pack.Frames.
func (g *guard) WriteFrame(id string, payload []byte) error {
	if !g.now[id] {
		if g.before[id] {
			return fmt.Errorf("id %s is in an earlier SRC too: %w", human.Printable(id), objstore.ErrExists)
		}
		g.now[id] = true
	}
	return g.w.WriteFrame(id, payload)
}

// AddMeta implements pack.Frames.
func (g *guard) AddMeta(id string, meta json.RawMessage) error { return g.w.AddMeta(id, meta) }

// Reorder is for writers that can list frames in an order that differs from the order
// of writing.
func (g *guard) Reorder(id string, order []int) error {
	if w, ok := g.w.(reorderer); ok {
		return w.Reorder(id, order)
	}
	return fmt.Errorf("id %s: frames out of the order of their names: %w", human.Printable(id), formats.ErrUnsupported)
}

type reorderer interface {
	Reorder(id string, order []int) error
}
