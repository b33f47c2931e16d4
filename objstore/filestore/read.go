package filestore

import (
	"context"
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
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/farread/farread/objstore"
)

// Get opens a range of a file. The body reads the opened file, even if another file
// is renamed over it. After each Read it checks that size and time of modification
// still match the ETag: if the file was written in place or cut short, Read returns
// ErrChanged.
//
// A file that an earlier Get opened may still be open. Get then looks at each folder
// in the key and at the file, and opens the key anew unless it is the same file.
func (b *Bucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	r, info, err := b.get(ctx, key, o)
	if err != nil {
		return nil, objstore.Info{}, b.failGet(key, o.Range, err)
	}
	return r, info, nil
}

func (b *Bucket) failGet(key string, rng objstore.Range, err error) error {
	return &objstore.Error{Op: "get", Bucket: b.c.Name, Key: key, Range: rng, Err: classify(err)}
}

func (b *Bucket) get(ctx context.Context, key string, o objstore.GetOptions) (*body, objstore.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, objstore.Info{}, err
	}
	if o.Range.Len < 0 {
		return nil, objstore.Info{}, fmt.Errorf("length %d: %w", o.Range.Len, objstore.ErrInvalid)
	}
	k, i, err := b.file(ctx, key, o)
	if err != nil {
		return nil, objstore.Info{}, err
	}
	tag := k.tag(i)
	if err := refuse(i, tag, o); err != nil {
		_ = b.kept.release(k) // only read from
		return nil, objstore.Info{}, err
	}
	from, to := o.Range.Resolve(i.Size())
	r := &body{b: b, key: key, rng: o.Range, k: k, info: i, pos: from, end: to, ended: ctx.Err}
	return r, describe(key, i, tag), nil
}

// file opens the file of key and describes it as it is now. The caller releases it.
func (b *Bucket) file(ctx context.Context, key string, o objstore.GetOptions) (*kept, fs.FileInfo, error) {
	if o.VersionID == "" {
		if k := b.kept.take(key); k != nil {
			if i, ok := k.look(); ok {
				return k, i, nil
			}
			b.kept.drop(key, k)
			_ = b.kept.release(k) // only read from
		}
	}
	name, err := local(key)
	if err != nil {
		return nil, nil, err
	}
	if o.VersionID != "" {
		return nil, nil, fmt.Errorf("version %q, but a folder keeps none: %w", o.VersionID, objstore.ErrNotFound)
	}
	var k *kept
	err = b.within(ctx, func(root *os.Root) error {
		k, err = open(root, name)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if keeps {
		b.keep(key, name, k)
	}
	return k, k.info, nil
}

// open opens a regular file.
func open(root *os.Root, name string) (*kept, error) {
	i, err := root.Stat(name) // opening a pipe would wait for its writer
	if err != nil {
		return nil, linked(root, name, err)
	}
	if err := regular(i); err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	i, err = f.Stat()
	if err == nil {
		err = regular(i)
	}
	if err != nil {
		_ = f.Close() // only read from
		return nil, err
	}
	return &kept{f: f, info: i, etag: etag(i), refs: 1}, nil
}

func regular(i fs.FileInfo) error {
	if !i.Mode().IsRegular() {
		return irregular{}
	}
	return nil
}

// refuse is the error if the opened file does not meet the conditions of o.
func refuse(i fs.FileInfo, tag string, o objstore.GetOptions) error {
	switch {
	case o.IfMatch != "" && o.IfMatch != tag:
		return fmt.Errorf("ETag %s, not %s: %w", tag, o.IfMatch, objstore.ErrChanged)
	case !o.IfUnmod.IsZero() && i.ModTime().Truncate(time.Second).After(o.IfUnmod):
		return fmt.Errorf("written %s: %w", i.ModTime(), objstore.ErrChanged)
	case o.Range.Off > 0 && o.Range.Off >= i.Size():
		return fmt.Errorf("object of %d bytes: %w", i.Size(), objstore.ErrBadRange)
	}
	return nil
}

// body reads [pos, end) of an open file that must stay as it was. It shares the
// file with other bodies, hence ReadAt.
type body struct {
	b        *Bucket
	key      string
	rng      objstore.Range
	k        *kept
	info     fs.FileInfo // expected state of the file
	pos, end int64
	ended    func() error // the context's Err
	closed   atomic.Bool
}

func (r *body) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, r.fail(err)
	}
	if r.closed.Load() {
		return 0, r.fail(fmt.Errorf("read of a closed body: %w", objstore.ErrInvalid))
	}
	if len(p) == 0 {
		return 0, nil
	}
	if r.pos >= r.end {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.end-r.pos)]
	n, err := r.k.f.ReadAt(p, r.pos)
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("the file ends at %d: %w", r.pos+int64(n), objstore.ErrChanged)
	}
	if err == nil {
		err = r.check() // after the read, so that no changed byte passes
	}
	if err != nil {
		return 0, r.fail(err)
	}
	r.pos += int64(n)
	return n, nil
}

func (r *body) fail(err error) error { return r.b.failGet(r.key, r.rng, err) }

func (r *body) check() error {
	i, err := r.k.f.Stat()
	if err != nil {
		return err
	}
	if !unchanged(i, r.info) {
		return fmt.Errorf("ETag %s, not %s: %w", etag(i), etag(r.info), objstore.ErrChanged)
	}
	return nil
}

func (r *body) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	return r.b.kept.release(r.k)
}

// List yields the files below the folder, in bytewise order of their keys. It
// holds the names of one folder at a time, and of those above it. Files that
// come or go while it runs may be listed or not.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		dir := path.Dir(prefix + "x") // the folder in which all matches lie; "." for the top
		if !fs.ValidPath(dir) {
			dir, prefix = ".", "/" // no key begins like this
		}
		err := b.within(ctx, func(root *os.Root) error {
			l := lister{ctx: ctx, root: root, prefix: prefix, yield: yield}
			_, err := l.folder(strings.TrimPrefix(dir+"/", "./"))
			return err
		})
		if err == nil {
			return
		}
		if err = b.fail("list", prefix, err); !isMissing(err) {
			yield(objstore.Info{}, err)
		}
	}
}

// ListFolder implements objstore.FolderLister: it reads one folder of the disk. A
// folder may be empty, or have only files that are being written.
func (b *Bucket) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[objstore.FolderEntry, error] {
	return func(yield func(objstore.FolderEntry, error) bool) {
		if prefix != "" && (!strings.HasSuffix(prefix, "/") || !fs.ValidPath(strings.TrimSuffix(prefix, "/"))) {
			objstore.Fold(b.List(ctx, prefix), prefix, after)(yield)
			return
		}
		err := b.within(ctx, func(root *os.Root) error {
			l := lister{ctx: ctx, root: root, flat: true}
			l.yield = func(info objstore.Info, err error) bool {
				if err == nil && info.Key <= after {
					return true
				}
				return yield(objstore.FolderEntry{Info: info, Folder: strings.HasSuffix(info.Key, "/")}, err)
			}
			_, err := l.folder(prefix)
			return err
		})
		if err == nil {
			return
		}
		if err = b.fail("list", prefix, err); !isMissing(err) {
			yield(objstore.FolderEntry{}, err)
		}
	}
}

//nolint:containedctx // lives as long as one call
type lister struct {
	ctx    context.Context
	root   *os.Root
	prefix string
	flat   bool // folders are listed, and not looked into
	yield  func(objstore.Info, error) bool
}

// folder lists one folder: "" for the top, else with a slash at its end.
func (l lister) folder(dir string) (more bool, err error) {
	names, err := l.names(dir)
	if err != nil {
		if isMissing(classify(err)) {
			return true, nil // it was removed, or is not a folder
		}
		return false, err
	}
	for _, name := range names {
		if err := l.ctx.Err(); err != nil {
			return false, err
		}
		key := dir + name
		switch {
		case l.flat && strings.HasSuffix(name, "/"):
			more = l.yield(objstore.Info{Key: key}, nil)
		case strings.HasSuffix(name, "/"):
			more = true
			if strings.HasPrefix(key, l.prefix) || strings.HasPrefix(l.prefix, key) {
				more, err = l.folder(key)
			}
		case strings.HasPrefix(key, l.prefix):
			more = l.file(key)
		default:
			more = true
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

func (l lister) file(key string) (more bool) {
	info, err := stat(l.root, key, filepath.FromSlash(key))
	if err != nil {
		return true // it was removed, or is a dead link, or a link to a folder or to a place outside
	}
	return l.yield(info, nil)
}

// names are the entries of a folder in the order of the keys below them, so
// folders sort with the slash that follows them.
func (l lister) names(dir string) ([]string, error) {
	name := filepath.FromSlash(rooted(dir))
	if i, err := l.root.Stat(name); err != nil { // opening a pipe would wait for its writer
		return nil, err
	} else if !i.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	f, err := l.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		switch {
		case !utf8.ValidString(name) || isTemp(name):
		case e.IsDir():
			names = append(names, name+"/")
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// rooted is how a Root calls a folder.
func rooted(dir string) string {
	if dir == "" {
		return "."
	}
	return strings.TrimSuffix(dir, "/")
}
