package formats

import (
	"context"
	"io"
)

// An Output receives the file that a format writes: bytes in order, and at the end a
// change of the first bytes. Every objstore.Writer is an Output. The Close of a
// format's writer ends the file. The caller then commits or aborts the Output; readers
// see nothing before the commit. A writer to a SetOutput creates its objects itself,
// and its Close commits them, the index last.
type Output interface {
	io.Writer
	// Patch overwrites bytes that are already written. They must lie within the first
	// bytes of the output; each format has a constant for their number
	// (cframe.MaxHeader, bloscpack.MaxHead).
	Patch(off int64, p []byte) error
}

// A SetOutput creates the objects of a dataset of several objects: in a folder, or
// under a prefix of a bucket. A Set reads them.
type SetOutput interface {
	// Create starts the object of the given name, relative to the output, from several
	// goroutines at a time. Nothing is visible before Commit. It should refuse a name
	// that is taken, here or in Commit: objects that are replaced one by one would be
	// read under the index of the old ones.
	Create(ctx context.Context, name string) (Object, error)
}

// An Object of a SetOutput is being written, by one goroutine.
type Object interface {
	io.Writer
	// Commit publishes the object in one step.
	Commit(ctx context.Context) error
	// Abort drops the object. It is harmless after Commit.
	Abort()
}

// Progress is called during long work, with the amount that is done and the total,
// mostly in bytes. The method that takes a Progress says what it counts. A total of -1
// is unknown. The goroutine that called the method calls Progress, unless the method
// says otherwise. A nil Progress is not called.
type Progress func(done, total int64)

// Tell calls p, unless it is nil.
func (p Progress) Tell(done, total int64) {
	if p != nil {
		p(done, total)
	}
}
