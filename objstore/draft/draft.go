// Package draft changes objects of a store as if they were files.
//
// A [File] shows an object as it is, and keeps what is written to it in a temporary file of
// this machine. Commit makes a new version of the object out of both: bytes that did not
// change are copied by the store itself where it can do that (see [objstore.Splice]), the
// others are sent. The new version is published in one step, on the condition that the
// object is still the one that was opened. So readers see the old object or the new one,
// and of two that change an object at the same time one loses nothing but its work.
//
// What editors of formats (package formats, type File) write to local files, they can write
// to a File as well.
package draft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/farread/farread/objstore"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	// Dir is the folder of the temporary file, which has no name where the system allows
	// that. "" is that of os.TempDir. It takes as many bytes as are written.
	Dir string
}

// A File is an object that is being changed. It is for one goroutine. Close it.
type File struct {
	ctx   context.Context //nolint:containedctx // io.ReaderAt has no room for one
	o     *objstore.Object
	temp  *os.File
	name  string // of temp, if it still has one
	size  int64
	base  int64 // bytes of the object that may still show
	dirty extents
}

// Open begins to change the object o. It makes no request. ctx is for all reads of o. An
// object whose ETag does not name its bytes for certain cannot be changed: ErrInvalid.
func Open(ctx context.Context, o *objstore.Object, opts Options) (*File, error) {
	if err := Changeable(o); err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(opts.Dir, "farread-draft-")
	if err != nil {
		return nil, err
	}
	f := &File{ctx: ctx, o: o, temp: temp, size: o.Size(), base: o.Size()}
	if os.Remove(temp.Name()) != nil { // some systems remove no open file
		f.name = temp.Name()
	}
	return f, nil
}

// Changeable returns the error of Open for an object that cannot be changed, else nil.
func Changeable(o *objstore.Object) error {
	if tag := o.Info().ETag; tag == "" || strings.HasPrefix(tag, "W/") {
		return &objstore.Error{Op: "put", Bucket: o.Bucket().Name(), Key: o.Info().Key,
			Err: fmt.Errorf("the server gives no strong ETag, so an object cannot be changed safely: %w", objstore.ErrInvalid)}
	}
	return nil
}

// Size returns the length of the changed object.
func (f *File) Size() int64 { return f.size }

// ReadAt implements io.ReaderAt. Bytes that were not written are read from the object.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read at %d: %w", off, objstore.ErrInvalid)
	}
	want := p[:max(min(int64(len(p)), f.size-off), 0)]
	for n := 0; n < len(want); {
		at := off + int64(n)
		e, changed := f.dirty.run(at, off+int64(len(want)))
		part := want[n : n+int(e)]
		var err error
		if changed {
			_, err = f.temp.ReadAt(part, at)
		} else {
			_, err = f.o.WithContext(f.ctx).ReadAt(part, at)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		n += int(e)
	}
	if len(want) < len(p) {
		return len(want), io.EOF
	}
	return len(p), nil
}

// WriteAt implements io.WriterAt. A gap between the end and off is filled with zeros.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("write at %d: %w", off, objstore.ErrInvalid)
	}
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if off > f.size {
		if err := f.Truncate(off); err != nil {
			return 0, err
		}
	}
	n, err := f.temp.WriteAt(p, off)
	f.dirty.add(off, off+int64(n))
	f.size = max(f.size, off+int64(n))
	return n, err
}

// Truncate sets the length. New bytes are zeros.
func (f *File) Truncate(size int64) error {
	if size < 0 {
		return fmt.Errorf("truncate to %d: %w", size, objstore.ErrInvalid)
	}
	if size < f.size {
		f.dirty.cut(size)
		f.base = min(f.base, size)
		// Bytes that come back later are zeros.
		if err := f.temp.Truncate(size); err != nil {
			return err
		}
	}
	if size > f.size {
		f.dirty.add(f.size, size)
		if err := f.temp.Truncate(size); err != nil {
			return err
		}
	}
	f.size = size
	return nil
}

// A Cost tells how a Commit made the bytes of the new object.
type Cost struct {
	Sent   int64 // bytes that went from this machine to the store, read from there before if they did not change
	Copied int64 // bytes that the store copied
}

// Commit publishes the changed object, with the content type and the metadata of o. The
// conditions of o are ignored: the object must have the ETag that it had when it was opened,
// or the error is ErrChanged, and nothing is published. What Commit reads, sends and has
// copied takes bounded memory. The File can only be closed afterwards.
func (f *File) Commit(ctx context.Context, o objstore.PutOptions) (objstore.Info, Cost, error) {
	old := f.o.Info()
	o.IfAbsent, o.IfMatch = false, old.ETag
	w, err := f.o.Bucket().Create(ctx, old.Key, o)
	if err != nil {
		return objstore.Info{}, Cost{}, err
	}
	defer w.Abort()
	return f.CommitTo(ctx, w)
}

// CommitTo is Commit by a Writer of the object's bucket that has nothing yet; the condition is the
// caller's. The caller aborts w.
func (f *File) CommitTo(ctx context.Context, w objstore.Writer) (objstore.Info, Cost, error) {
	var c Cost
	var err error
	for at := int64(0); at < f.size; {
		n, changed := f.dirty.run(at, f.size)
		if changed {
			_, err = io.Copy(w, io.NewSectionReader(f.temp, at, n))
			c.Sent += n
		} else {
			var k int64
			k, err = objstore.Splice(ctx, w, f.o, objstore.Range{Off: at, Len: n})
			c.Copied += k
			c.Sent += n - k
		}
		if err != nil {
			return objstore.Info{}, c, err
		}
		at += n
	}
	info, err := w.Commit(ctx)
	return info, c, err
}

// Close drops what was written and not committed.
func (f *File) Close() error {
	err := f.temp.Close()
	if f.name != "" {
		err = errors.Join(err, os.Remove(f.name))
	}
	return err
}
