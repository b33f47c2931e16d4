// Package filestore serves a folder as a bucket: a key is a slash-separated path
// below it.
//
// What differs from S3:
//   - Content type, user metadata and versions are not kept, and there are no
//     tags. A key cannot be a folder of another: with "a/b" there, a write of "a"
//     is ErrInvalid, and a read ErrNotFound.
//   - An ETag is made of the file's inode, size and time of modification, not of
//     its bytes. Bytes changed in place, to the same length and within one tick of
//     the file system's clock, go unseen; every write through a Bucket is seen.
//   - A write goes to a temporary file ".farread-*.tmp" in the object's own
//     folder, with Rehead to a second one, and is renamed. Such names are no keys
//     and never listed. Those that a killed process left behind can be deleted once
//     no writer runs: find DIR -name '.farread-*.tmp' -mmin +1440 -delete
//   - IfAbsent is exact among all processes, by link(2) (best effort, like
//     IfMatch, on file systems without links). IfMatch is exact among all processes
//     that write through this package, by flock(2) of the folder (elsewhere, and where a
//     file system has no such locks, among the users of one Bucket); others can come
//     between the check and the rename.
//   - Symbolic links are followed while they stay inside the folder; listings
//     show those to files and pass over those to folders, unless the prefix goes
//     through one; Links names them. An error by a link that is not followed is ErrLink. Files whose names are not UTF-8 are not listed.
package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Config describes a bucket.
type Config struct {
	Dir    string // the folder; made by the first Create if it is missing, and empty until then
	Name   string // default "file://" and the absolute path of Dir
	NoSync bool   // do not wait until a committed object is on the disk
}

// Bucket implements objstore.Bucket and objstore.Filler. It is safe for concurrent
// use. No key and no link leads out of its folder; either is ErrInvalid.
//
// It keeps up to 16 files open that were read a short while ago, except on
// Windows, where an open file cannot be removed. They are closed 5 to 10 s after
// their last Get, by CloseIdleConnections, or by a write or Delete of their key.
// It needs no Close.
type Bucket struct {
	c    Config
	kept keeper
	disk *rangeio.Disk

	mu    sync.Mutex // held from the check of a condition to the rename
	stamp time.Time  // time of the last commit
}

// New returns the bucket in c.Dir, which may be missing. It touches nothing on the
// disk. An empty c.Dir is ErrInvalid.
func New(c Config) (*Bucket, error) {
	if c.Dir == "" {
		return nil, fmt.Errorf("no folder: %w", objstore.ErrInvalid)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("folder %q: %w", c.Dir, err)
	}
	c.Dir = dir
	if c.Name == "" {
		c.Name = "file:///" + strings.TrimPrefix(filepath.ToSlash(dir), "/")
	}
	return &Bucket{c: c, disk: rangeio.NewDisk(), kept: keeper{open: lru.Cache[string, *kept]{Max: keepFiles, Gone: gone}}}, nil
}

// Locate splits the path of a file, which may be missing, into a folder to serve and
// a key in it. The key is "" if the path names an existing folder, or ends in a
// slash.
func Locate(name string) (dir, key string) {
	if name == "" {
		return ".", ""
	}
	if i, err := os.Stat(name); err == nil && i.IsDir() || os.IsPathSeparator(name[len(name)-1]) {
		return filepath.Clean(name), ""
	}
	switch base := filepath.Base(name); base {
	case ".", "..", string(filepath.Separator):
		return filepath.Clean(name), ""
	default:
		return filepath.Dir(name), base
	}
}

// Name is the name given to New, or "file://" and the absolute path of the folder.
func (b *Bucket) Name() string { return b.c.Name }

const tempPrefix, tempSuffix = ".farread-", ".tmp"

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// local is the path of key below the folder, in the system's own spelling.
func local(key string) (string, error) {
	name, err := filepath.Localize(key) // no "..", no empty parts, not absolute, no NUL; UTF-8
	if err != nil || key == "." || isTemp(path.Base(key)) {
		return "", fmt.Errorf("the key %q is not a file in a folder: %w", key, objstore.ErrInvalid)
	}
	return name, nil
}

// fail adds the place of the call and turns the system's error into a sentinel.
func (b *Bucket) fail(op, key string, err error) error {
	return &objstore.Error{Op: op, Bucket: b.c.Name, Key: key, Err: classify(err)}
}

func classify(err error) error {
	var errno syscall.Errno
	sentinel := objstore.ErrUnavailable // the disk: full, broken, too many files open
	switch {
	case isOurs(err):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		sentinel = objstore.ErrNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		sentinel = objstore.ErrDenied
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP):
		sentinel = objstore.ErrInvalid
	case !errors.As(err, &errno): // os.Root: a link leads out of the folder
		sentinel = objstore.ErrInvalid
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}

func isOurs(err error) bool {
	for _, s := range []error{
		objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrBadRange, objstore.ErrInvalid,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// within opens the folder for one call. The Root keeps every path inside it.
func (b *Bucket) within(ctx context.Context, f func(*os.Root) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := os.OpenRoot(b.c.Dir)
	if err != nil {
		return err
	}
	return cmp.Or(f(root), root.Close())
}

// stat is the Info of a regular file.
func stat(root *os.Root, key, name string) (objstore.Info, error) {
	i, err := root.Stat(name)
	if err != nil {
		return objstore.Info{}, linked(root, name, err)
	}
	if err := regular(i); err != nil {
		return objstore.Info{}, err
	}
	return describe(key, i, etag(i)), nil
}

func describe(key string, i fs.FileInfo, tag string) objstore.Info {
	return objstore.Info{Key: key, Size: i.Size(), ETag: tag, ModTime: i.ModTime().UTC()}
}

func etag(i fs.FileInfo) string {
	return fmt.Sprintf(`"%x-%x-%x"`, inode(i), i.Size(), i.ModTime().UnixNano())
}

// Head describes the file.
func (b *Bucket) Head(ctx context.Context, key string) (objstore.Info, error) {
	var info objstore.Info
	name, err := local(key)
	if err == nil {
		err = b.within(ctx, func(root *os.Root) error {
			info, err = stat(root, key, name)
			return err
		})
	}
	if err != nil {
		return objstore.Info{}, b.fail("head", key, err)
	}
	return info, nil
}

// Delete removes the file, and the folders above it that are then empty, since
// an object store has none. A symbolic link is removed itself.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	name, err := local(key)
	if err == nil {
		err = b.within(ctx, func(root *os.Root) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if i, err := root.Lstat(name); err != nil || i.IsDir() {
				return err // a folder is not an object
			}
			if err := root.Remove(name); err != nil {
				return err
			}
			b.kept.drop(key, nil)
			prune(root, name)
			return nil
		})
	}
	if err != nil {
		if err = b.fail("delete", key, err); errors.Is(err, objstore.ErrNotFound) {
			return nil
		}
	}
	return err
}

// prune removes the folders above name that are empty. The slash at the end of the path
// protects a file that has just replaced a folder.
func prune(root *os.Root, name string) {
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if i, err := root.Lstat(dir); err != nil || !i.IsDir() {
			return
		}
		if root.Remove(dir+string(filepath.Separator)) != nil { // the folder is not empty
			return
		}
	}
}

// isMissing reports whether there is nothing of this name.
func isMissing(err error) bool { return errors.Is(err, objstore.ErrNotFound) }
