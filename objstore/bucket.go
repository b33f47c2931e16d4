// Package objstore reads and writes objects in a bucket.
//
// A [Bucket] is the narrow contract of a driver: a name and five operations.
// Readers use an [Object]: opened with one ranged GET, pinned to the ETag,
// version or date that this GET saw, and read through planned ranges
// ([rangeio.Reader]) or as a plain [io.ReaderAt]. Drivers live one level down:
// s3store, filestore, memstore, httpstore; objstoretest tests them, and simstore
// has middlewares that make them slow or faulty. Package diskcache keeps what was
// read for the next run of a program.
package objstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"
)

// A Bucket is one bucket of an object store. Its methods are safe for
// concurrent use, and their errors match the sentinels of this package, or the
// reason why ctx ended.
type Bucket interface {
	// Name says which bucket this is, for errors, caches and URIs:
	// "s3://frames", "https://host/data", "file:///data".
	Name() string
	// Get opens the range of key. The Info describes the whole object. The body
	// has exactly the requested range, cut at the object's end, or fails: a driver
	// must compare the answer's range with what was asked and report ErrBadRange.
	// The caller closes the body; closing it twice is safe. Reads of the body fail
	// once ctx has ended. A range that begins at the end or past it is
	// ErrBadRange. For an empty object, a range from 0 or from its end gives an
	// empty body.
	Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error)
	// Create starts an object of unknown size; nothing is visible before Commit.
	// Cancelling ctx aborts it.
	Create(ctx context.Context, key string, o PutOptions) (Writer, error)
	// Head describes the current object.
	Head(ctx context.Context, key string) (Info, error)
	// List yields the objects whose keys begin with prefix in key order
	// (bytewise), fetching pages as needed. After an error it ends. The sequence
	// may be used again, and then lists again.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Delete removes key. Deleting an absent key is not an error, as in S3.
	Delete(ctx context.Context, key string) error
}

// A Writer streams an object. Memory is bounded, but in memstore: on S3 the head
// is held back as part 1, which goes out last, and later parts grow (8, 16, 32 MiB
// …) to stay within 10 000. It keeps no buffer that Write or Patch got. End it by
// Commit or Abort. A Writer is not safe for concurrent use.
type Writer interface {
	io.Writer
	// Patch overwrites bytes of the head that are already written, such as totals or
	// tables of offsets. The head is the first HeadSize bytes. If other bytes are
	// meant, the error is ErrInvalid; then nothing changes, and the Writer can still be
	// used.
	Patch(off int64, p []byte) error
	// Rehead replaces the first n bytes by p, for example by a table whose length
	// was unknown before. The n bytes must be written already and be part of the
	// head. p is not shorter than n, and may be longer than the head. From now on
	// the head is longer by len(p)-n, for Patch, too. Rehead succeeds once; a
	// second call, an n outside the head or a shorter p is ErrInvalid and changes
	// nothing. p belongs to the Writer after the call, whether there is an error or
	// not. Memory is that of p, but drivers for files need room on the disk for a
	// second copy while the call lasts.
	Rehead(n int64, p []byte) error
	// Commit publishes in one atomic, conditional step, also an object of no bytes.
	// After an error nothing was published, or, if the answer was lost, the whole
	// object was; the Writer has then ended. The Info may lack the ModTime, which
	// S3 does not send.
	Commit(ctx context.Context) (Info, error)
	// Abort drops everything. After Commit, and a second time, it does nothing.
	Abort()
}

// HeadSize is how many bytes from an object's beginning on Patch and Rehead can
// change in every Writer: the least size of a part of an S3 multipart upload.
const HeadSize = 5 << 20

// Range is a byte range. Len 0 means to the end. A negative Off counts from the
// end; the range then runs to the end, and Len is ignored. If it begins before
// the beginning, it is the whole object. Get refuses a negative Len with
// ErrInvalid.
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
	VersionID string    // "": the newest; ErrNotFound or ErrInvalid if the bucket keeps no versions
	IfUnmod   time.Time // If-Unmodified-Since, for servers without a strong ETag, else ErrChanged; zero: not sent

	// Whole is for readers that can take more than Range, which must begin at 0. If the
	// server ignores the range, and the object has at most Whole bytes, the body is the
	// whole object, and Info.Whole is set. Drivers may do without.
	Whole int64
}

// PutOptions describes a new object and the conditions for publishing it, which
// Commit checks. Both conditions together are ErrInvalid.
type PutOptions struct {
	ContentType string            // not kept by filestore
	Meta        map[string]string // user metadata, lower-case names; not kept by filestore
	IfAbsent    bool              // fail with ErrExists if key is taken
	IfMatch     string            // fail with ErrChanged if the object has another ETag, or is gone
}

// Info describes one stored object.
type Info struct {
	Key         string
	Size        int64
	ETag        string // ETag as the store sent it, with quotes; opaque
	VersionID   string // "" if the bucket keeps no versions, and in listings of S3
	ModTime     time.Time
	ContentType string            // "" in listings
	Meta        map[string]string // nil in listings

	// ContentEncoding is the encoding of the answer; "" means none or "identity".
	// Listings do not have it. Bodies are not decoded, so an Object refuses an
	// answer whose ContentEncoding differs from the one of its first answer.
	ContentEncoding string

	// Whole tells that the body is the whole object instead of the range, since the server
	// ignores ranges. It is set only if GetOptions.Whole allows it.
	Whole bool

	// Checksum is the checksum of the whole object, if the answer has it. HTTP
	// servers may send it; S3 does if Get asks for the whole object. Open compares
	// it with the bytes if the head or tail is the whole object, and the reader of
	// Object.NewReader does if it reads the whole object.
	Checksum Checksum
}

// A ConditionalDeleter is implemented by buckets that can delete an object on the
// condition that its ETag is still the same (S3). Ask through the function DeleteIf,
// which looks behind middlewares.
type ConditionalDeleter interface {
	// DeleteIf removes key if its ETag is etag, else it fails with ErrChanged.
	// Deleting an absent key is not an error; an etag of "" is ErrInvalid.
	DeleteIf(ctx context.Context, key, etag string) error
}

// DeleteIf removes key if its ETag is etag, else it fails with ErrChanged. Deleting an
// absent key is not an error. If the bucket is not a ConditionalDeleter, or etag is "",
// DeleteIf sends no request and fails with ErrInvalid.
func DeleteIf(ctx context.Context, b Bucket, key, etag string) error {
	if d, ok := As[ConditionalDeleter](b); ok {
		return d.DeleteIf(ctx, key, etag)
	}
	return &Error{Op: "delete", Bucket: b.Name(), Key: key, Err: fmt.Errorf("this store deletes without conditions only: %w", ErrInvalid)}
}

// Put is Create, copy, Commit. After an error nothing was published, or, if the
// answer to Commit was lost, the whole object was. Errors of r are returned as they
// are.
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
