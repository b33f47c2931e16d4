// Package formats has the parts that format packages share: the sentinels of
// errors, the limits that are checked before memory is allocated, and the
// interfaces through which formats edit files in place or open sets of objects.
package formats

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/rangeio"
)

// The sentinels answer "what should the caller do?". Match with errors.Is.
var (
	ErrCorrupt     = errors.New("corrupt data")        // bytes break the format's rules
	ErrUnsupported = errors.New("unsupported feature") // valid, but not handled here
	ErrTooLarge    = errors.New("exceeds limit")       // refused before it was allocated
	ErrNoEntry     = errors.New("no such entry")       // id, track, frame or chunk
)

// Error locates a failure inside a file.
type Error struct {
	Format string // "gulp", "b2nd"
	Part   string // "chunk 17", "id \"702766\" frame 3", "metalayer"
	Off    int64  // position in the object, negative if there is none
	Err    error  // wraps one of the sentinels, or is the error of a read
}

// Error reads outside-in: format, part, position, cause.
func (e *Error) Error() string {
	s := e.Format
	if e.Part != "" {
		s += ": " + e.Part
	}
	if e.Off >= 0 {
		s += fmt.Sprintf(" at %d", e.Off)
	}
	return s + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Limits bound the memory that a reader allocates because of numbers in a file.
// A field of 0 means the value of DefaultLimits.
type Limits struct {
	MaxDecoded int64 // bytes of one decoded chunk, frame or record
	MaxEntries int64 // ids, chunks, packets or frames of an index
	MaxMeta    int64 // bytes of headers, indexes and metadata kept in memory
}

// DefaultLimits is the meaning of a zero Limits. 2 GiB is the largest Blosc chunk
// (int32 sizes) and far above any image; 1<<28 entries and 1 GiB of metadata are
// the most that a reader can keep in a process of a few GiB.
func DefaultLimits() Limits {
	return Limits{MaxDecoded: 2<<30 - 1, MaxEntries: 1 << 28, MaxMeta: 1 << 30}
}

// WithDefaults fills zero fields from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	if l.MaxDecoded == 0 {
		l.MaxDecoded = d.MaxDecoded
	}
	if l.MaxEntries == 0 {
		l.MaxEntries = d.MaxEntries
	}
	if l.MaxMeta == 0 {
		l.MaxMeta = d.MaxMeta
	}
	return l
}

// File is a local file that a format edits in place. *os.File implements it.
type File interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
}

// A Syncer is a File whose changes are on the disk when Sync returns, as with *os.File.
// Editors sync a Syncer before and after the write that makes their changes visible.
type Syncer interface {
	File
	Sync() error
}

// Sync syncs f if it is a Syncer.
func Sync(f File) error {
	if s, ok := f.(Syncer); ok {
		return s.Sync()
	}
	return nil
}

// Set is a folder or a prefix whose objects form one dataset. Its methods are
// safe for concurrent use.
type Set interface {
	// Open opens the object of the given name, relative to the set.
	Open(ctx context.Context, name string) (rangeio.Reader, error)
	// List names all objects of the set, in name order.
	List(ctx context.Context) ([]string, error)
}
