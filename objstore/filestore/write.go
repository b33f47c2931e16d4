package filestore

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/farread/farread/objstore"
)

// bufferSize joins the headers and paddings of a few bytes that writers of formats
// write.
const bufferSize = 64 << 10

// Create makes the folders of key and starts a temporary file beside the object.
// Abort, the end of ctx and any error remove the file, and the folders if they are
// empty. A Patch or Rehead that returns ErrInvalid changes nothing.
func (b *Bucket) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	name, err := local(key)
	if err == nil && o.IfAbsent && o.IfMatch != "" {
		err = fmt.Errorf("both IfAbsent and IfMatch: %w", objstore.ErrInvalid)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, b.fail("put", key, err)
	}
	if err := os.MkdirAll(b.c.Dir, 0o777); err != nil { // data for others too, as the umask says
		return nil, b.fail("put", key, blocked(err))
	}
	root, err := os.OpenRoot(b.c.Dir)
	if err != nil {
		return nil, b.fail("put", key, err)
	}
	w := &writer{b: b, key: key, name: name, o: o, root: root, ended: ctx.Err}
	if err := w.open(); err != nil {
		err = b.fail("put", key, blocked(err))
		prune(root, name)
		_ = root.Close() // the first error counts
		return nil, err
	}
	w.mu.Lock() // the context may end before stop is set
	defer w.mu.Unlock()
	w.stop = context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.drop(ctx.Err()) //nolint:errcheck // kept for the next call
	})
	return w, nil
}

// blocked adds ErrInvalid to an error if a file is in a place where the key needs a
// folder, or the reverse.
func blocked(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) || errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("a file and a folder of one name: %w: %w", objstore.ErrInvalid, err)
	}
	return err
}

type writer struct {
	b         *Bucket
	key, name string
	o         objstore.PutOptions
	ended     func() error // Err of Create's context
	stop      func() bool  // stops watching the context

	mu    sync.Mutex // the end of the context may come at any time
	root  *os.Root
	temp  string
	f     *os.File
	buf   *bufio.Writer
	size  int64
	grown int64 // number of bytes that Rehead added to the head
	re    bool  // Rehead was called
	err   error // the error of all later calls
}

// open makes the folders and the temporary file. A Delete may remove a folder that is
// still empty, so open tries again; the last try holds the lock that Delete takes.
func (w *writer) open() error {
	err := w.tryOpen()
	if lost(err) {
		err = w.tryOpen()
	}
	for range 8 { // other processes take no lock
		if lost(err) {
			err = w.openLocked()
		}
	}
	return err
}

func (w *writer) openLocked() error {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	return w.tryOpen()
}

func (w *writer) tryOpen() error {
	dir := filepath.Dir(w.name)
	if err := w.root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var err error
	if w.f, w.temp, err = w.openTemp(); err == nil {
		w.buf = bufio.NewWriterSize(w.f, bufferSize)
	}
	return err
}

// openTemp makes a temporary file beside the object.
func (w *writer) openTemp() (*os.File, string, error) {
	name := filepath.Join(filepath.Dir(w.name), tempPrefix+rand.Text()+tempSuffix)
	f, err := w.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return f, name, w.named(err)
}

// named puts the name of the object into an error of the system about a temporary file:
// that one means nothing to anybody, and is gone when the error is read.
func (w *writer) named(err error) error {
	switch e := err.(type) { //nolint:errorlint // errors of the system, before anything wraps them
	case *fs.PathError:
		if base := filepath.Base(e.Path); strings.HasPrefix(base, tempPrefix) {
			return &fs.PathError{Op: e.Op, Path: w.name, Err: e.Err}
		}
	case *os.LinkError:
		return &fs.PathError{Op: e.Op, Path: w.name, Err: e.Err}
	}
	return err
}

// lost reports whether a folder may have been removed during the call. MkdirAll
// returns ErrExist for a file, and for a folder that was removed after MkdirAll
// found it.
func lost(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) }

// drop removes the temporary file. Later calls return err. The caller holds mu.
func (w *writer) drop(err error) error {
	if w.err == nil {
		w.err = w.b.fail("put", w.key, w.named(err))
		_ = w.f.Close() // it goes anyway
		if w.root.Remove(w.temp) == nil {
			prune(w.root, w.name)
		}
		w.close()
	}
	return w.err
}

func (w *writer) close() {
	_ = w.root.Close() // only read from, so errors do not matter
	w.buf = nil
	if w.stop != nil {
		w.stop()
	}
}

// begin takes the lock and says whether the call may go on.
func (w *writer) begin() error {
	w.mu.Lock()
	if w.err != nil {
		return w.err
	}
	if err := w.ended(); err != nil {
		return w.drop(err)
	}
	return nil
}

func (w *writer) Write(p []byte) (int, error) {
	err := w.begin()
	defer w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := w.buf.Write(p)
	w.size += int64(n)
	if err != nil {
		return n, w.drop(err)
	}
	return n, nil
}

func (w *writer) Patch(off int64, p []byte) error {
	err := w.begin()
	defer w.mu.Unlock()
	if err != nil {
		return err
	}
	head := w.head()
	if off < 0 || off > head || int64(len(p)) > head-off {
		return w.b.fail("put", w.key, fmt.Errorf("patch [%d, +%d) of a head of %d bytes: %w", off, len(p), head, objstore.ErrInvalid))
	}
	if err := w.buf.Flush(); err != nil {
		return w.drop(err)
	}
	if _, err := w.f.WriteAt(p, off); err != nil {
		return w.drop(err)
	}
	return nil
}

// head is how many bytes at the beginning may still be changed.
func (w *writer) head() int64 { return min(w.size-w.grown, objstore.HeadSize) + w.grown }

// copyPiece is the number of bytes that are copied between two looks at the context.
const copyPiece = 64 << 20

// Rehead writes a second temporary file: p, and the rest of the first one, which
// systems that can do so copy without a detour, or share. The first one stays
// until the second is whole, so that there is always one file with all that was
// written.
func (w *writer) Rehead(n int64, p []byte) error {
	err := w.begin()
	defer w.mu.Unlock()
	if err != nil {
		return err
	}
	if head := w.head(); w.re || n < 0 || n > head || int64(len(p)) < n {
		return w.b.fail("put", w.key, fmt.Errorf("%d bytes for the first %d of a head of %d: %w", len(p), n, head, objstore.ErrInvalid))
	}
	if err := w.buf.Flush(); err != nil {
		return w.drop(err)
	}
	more := int64(len(p)) - n
	if more == 0 {
		_, err = w.f.WriteAt(p, 0)
	} else {
		err = w.shift(n, p)
	}
	if err != nil {
		return w.drop(err)
	}
	w.size, w.grown, w.re = w.size+more, more, true
	return nil
}

// shift replaces the first n bytes by p, in a new temporary file.
func (w *writer) shift(n int64, p []byte) error {
	f, temp, err := w.openTemp()
	if err != nil {
		return err
	}
	if _, err = f.Write(p); err == nil {
		err = w.copyTo(f, n)
	}
	if err != nil {
		_ = f.Close() // it goes anyway
		return errors.Join(w.named(err), w.named(w.root.Remove(temp)))
	}
	old, oldTemp := w.f, w.temp
	w.f, w.temp = f, temp
	w.buf.Reset(f)
	_ = old.Close() // the old file is removed
	return w.root.Remove(oldTemp)
}

// copyTo appends the bytes written from byte n on to f.
func (w *writer) copyTo(f *os.File, n int64) error {
	if _, err := w.f.Seek(n, io.SeekStart); err != nil {
		return err
	}
	for n < w.size {
		if err := w.ended(); err != nil {
			return err
		}
		k, err := io.Copy(f, &io.LimitedReader{R: w.f, N: copyPiece})
		if err == nil && k == 0 {
			err = io.ErrUnexpectedEOF // somebody cut it off
		}
		if err != nil {
			return err
		}
		n += k
	}
	return nil
}

func (w *writer) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(fmt.Errorf("aborted: %w", objstore.ErrInvalid)) //nolint:errcheck // kept for later calls
}

func (w *writer) Commit(ctx context.Context) (objstore.Info, error) {
	err := w.begin()
	defer w.mu.Unlock()
	if err != nil {
		return objstore.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return objstore.Info{}, w.drop(err)
	}
	if err := w.settle(); err != nil {
		return objstore.Info{}, w.drop(err)
	}
	info, err := w.publish()
	if err != nil {
		return objstore.Info{}, w.drop(err)
	}
	w.err = w.b.fail("put", w.key, fmt.Errorf("already committed: %w", objstore.ErrInvalid))
	w.close()
	return info, nil
}

// settle flushes all bytes to the disk.
func (w *writer) settle() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	if w.b.c.NoSync {
		return nil
	}
	return w.f.Sync()
}

// publish gives the temporary file its name if the conditions hold.
func (w *writer) publish() (objstore.Info, error) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	// The time is this process's own. The clock of file systems ticks every few
	// milliseconds and inode numbers are soon used again, so two objects written in one
	// tick could get the same ETag.
	now := time.Now()
	if !now.After(w.b.stamp) {
		now = w.b.stamp.Add(time.Nanosecond)
	}
	w.b.stamp = now
	if err := w.root.Chtimes(w.temp, now, now); err != nil {
		return objstore.Info{}, err
	}
	i, err := w.f.Stat()
	if err != nil {
		return objstore.Info{}, err
	}
	if err := w.f.Close(); err != nil { // some systems rename no open file
		return objstore.Info{}, err
	}
	if err := w.rename(); err != nil {
		return objstore.Info{}, err
	}
	w.b.kept.drop(w.key, nil) // an open file would keep the old bytes on the disk
	w.syncFolder()
	return describe(w.key, i, etag(i)), nil
}

// rename is the one atomic step.
func (w *writer) rename() error {
	if !w.o.IfAbsent {
		defer lockFolder(w.root, filepath.Dir(w.name))()
	}
	old, err := stat(w.root, w.key, w.name)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, objstore.ErrNotFound) && !errors.Is(err, fs.ErrNotExist):
		return err
	case errors.Is(err, objstore.ErrNotFound):
		return fmt.Errorf("a folder has this name: %w", objstore.ErrInvalid)
	case w.o.IfAbsent && there:
		return objstore.ErrExists
	case w.o.IfMatch != "" && !there:
		return fmt.Errorf("the object is gone: %w", objstore.ErrChanged)
	case w.o.IfMatch != "" && old.ETag != w.o.IfMatch:
		return fmt.Errorf("ETag %s, not %s: %w", old.ETag, w.o.IfMatch, objstore.ErrChanged)
	}
	if w.o.IfAbsent {
		err := w.named(w.root.Link(w.temp, w.name))
		switch {
		case err == nil:
			w.root.Remove(w.temp) //nolint:errcheck // the object is there; a second name of it is never listed
			return nil
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%w: %w", objstore.ErrExists, err)
		} // else: no links here
	}
	return blocked(w.named(w.root.Rename(w.temp, w.name)))
}

// syncFolder makes the new name survive a crash. Its errors are ignored: the object is
// visible already, and some systems cannot sync a folder.
func (w *writer) syncFolder() {
	if w.b.c.NoSync {
		return
	}
	if d, err := w.root.Open(filepath.Dir(w.name)); err == nil {
		d.Sync() //nolint:errcheck // see above
		_ = d.Close()
	}
}
