// Package objstore reads and writes objects in a bucket.
//
// A [Bucket] is the narrow contract of a driver: a name and five operations. An [Object] is
// what readers use: opened with one ranged GET, pinned to the ETag or version
// that this GET saw, and read through planned ranges ([rangeio.Reader]) or as a
// plain [io.ReaderAt]. Drivers live one level down: s3store, filestore,
// memstore, httpstore; simstore has the misbehaving middlewares for tests.
package objstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// A Bucket is one bucket of an object store. Its methods are safe for
// concurrent use, and their errors match the sentinels of this package.
type Bucket interface {
	// Name says which bucket this is, for errors, caches and URIs:
	// "s3://frames", "https://host/data", "file:///data".
	Name() string
	// Get opens the range of key. The Info is that of the whole object. The
	// body holds exactly the asked range cut to the object's end, or fails:
	// a driver must compare the answer's range with what was asked and report
	// ErrBadRange. The caller closes the body. An empty object answers a range
	// from 0 with an empty body; a range that begins past the end is ErrBadRange.
	Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error)
	// Create starts an object of unknown size; nothing is visible before Commit.
	// Cancelling ctx aborts it.
	Create(ctx context.Context, key string, o PutOptions) (Writer, error)
	Head(ctx context.Context, key string) (Info, error)
	// List yields the objects under prefix in key order (bytewise), fetching
	// pages as needed. After an error it ends.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes key. Deleting an absent key is not an error, as in S3.
	Delete(ctx context.Context, key string) error
}

// A Writer streams an object. Memory is bounded: the head is held back (on S3
// it is part 1, at least 5 MiB unless it is the only part, and goes out last),
// later parts grow (8, 16, 32 MiB …) to stay under 10 000. A Writer is not safe
// for concurrent use.
type Writer interface {
	io.Writer
	// Patch overwrites bytes inside the held-back head: totals, offset tables.
	// The head is the first HeadSize bytes.
	Patch(off int64, p []byte) error
	// Rehead replaces the first n bytes, which must have been written and lie
	// in the head, by p, which is not shorter and as long as need be: a table
	// whose length was not known before. The head is longer by that much from
	// now on, for Patch, too. It is called at most once. p belongs to the
	// Writer then, whether there is an error or not; memory is that of p, but
	// drivers for files need room on the disk for a second copy while the call
	// lasts.
	Rehead(n int64, p []byte) error
	// Commit publishes in one atomic, conditional step. After an error nothing
	// was published, or, when the answer was lost, the whole object was.
	Commit(ctx context.Context) (Info, error)
	// Abort drops everything; it is safe after Commit.
	Abort()
}

// HeadSize is how much of an object's beginning every Writer holds back for
// Patch: the least size of a part of an S3 multipart upload.
const HeadSize = 5 << 20

// Range is a byte range. Len 0 means to the end; a negative Off counts from
// the end, runs to it, and may reach before the beginning: then it is the whole
// object.
type Range struct{ Off, Len int64 }

// String is the range as in traces: "0+65536", "-65536", "4096+".
func (r Range) String() string {
	switch {
	case r.Off < 0:
		return fmt.Sprint(r.Off)
	case r.Len == 0:
		return fmt.Sprintf("%d+", r.Off)
	default:
		return fmt.Sprintf("%d+%d", r.Off, r.Len)
	}
}

// GetOptions says which part of which version to get. The zero value is the
// whole current object.
type GetOptions struct {
	Range     Range
	IfMatch   string    // strong ETag the object must still have, else ErrChanged
	VersionID string    // versioned buckets
	IfUnmod   time.Time // If-Unmodified-Since, for servers without a strong ETag; zero: not sent
}

// PutOptions describes a new object and the conditions for publishing it.
type PutOptions struct {
	ContentType string
	Meta        map[string]string // user metadata, lower-case names
	IfAbsent    bool              // fail with ErrExists if key is taken
	IfMatch     string            // fail with ErrChanged if the object moved on
}

// Info describes one stored object.
type Info struct {
	Key         string
	Size        int64
	ETag        string // as sent, quotes included; opaque
	VersionID   string
	ModTime     time.Time
	ContentType string
	Meta        map[string]string // nil in listings

	// ContentEncoding is what the answer says has been done to the bytes, "" for
	// nothing; not in listings. They are read as they come, so an Object takes
	// no answer with another one than its first answer had.
	ContentEncoding string

	// Checksum is that of the whole object, where an answer to Get says it: HTTP
	// servers may, and S3 does of what it sends whole. An Object that is read from
	// front to end, or whole when it is opened, is held against it.
	Checksum Checksum
}

// Tagger is implemented by buckets that keep tags on objects (S3). Ask through
// Tags, which looks behind middlewares.
type Tagger interface {
	// Tags are the tags of key, or of one version of it.
	Tags(ctx context.Context, key, versionID string) (map[string]string, error)
}

// Tags are the tags of key; nil, without a request, where the bucket keeps none.
func Tags(ctx context.Context, b Bucket, key, versionID string) (map[string]string, error) {
	for b != nil {
		if t, ok := b.(Tagger); ok {
			return t.Tags(ctx, key, versionID)
		}
		u, ok := b.(interface{ Unwrap() Bucket })
		if !ok {
			break
		}
		b = u.Unwrap()
	}
	return nil, nil
}

// A ConditionalDeleter is implemented by buckets that can delete an object on the
// condition that it is still the one that was looked at (S3). Ask through DeleteIf,
// which looks behind middlewares.
type ConditionalDeleter interface {
	// DeleteIf removes key if its ETag is etag, else it fails with ErrChanged. That
	// key is absent is not an error.
	DeleteIf(ctx context.Context, key, etag string) error
}

// DeleteIf removes key if its ETag is etag; ErrChanged if it is another one now, and
// ErrInvalid, without a request, where the bucket knows no such condition. That key is
// absent is not an error.
func DeleteIf(ctx context.Context, b Bucket, key, etag string) error {
	for inner := b; inner != nil; {
		if d, ok := inner.(ConditionalDeleter); ok {
			return d.DeleteIf(ctx, key, etag)
		}
		u, ok := inner.(interface{ Unwrap() Bucket })
		if !ok {
			break
		}
		inner = u.Unwrap()
	}
	return &Error{Op: "delete", Bucket: b.Name(), Key: key, Err: fmt.Errorf("this store deletes without conditions only: %w", ErrInvalid)}
}

// Put is Create, copy, Commit. After an error nothing was published, or, when
// the answer to Commit was lost, the whole object was.
func Put(ctx context.Context, b Bucket, key string, r io.Reader, o PutOptions) (Info, error) {
	w, err := b.Create(ctx, key, o)
	if err != nil {
		return Info{}, err
	}
	defer w.Abort()
	if _, err := io.Copy(w, r); err != nil {
		return Info{}, err
	}
	return w.Commit(ctx)
}
