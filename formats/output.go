package formats

import (
	"context"
	"io"
)

// An Output takes a file that a format writes: bytes in order, and at the end a change
// of its first ones. Every objstore.Writer is an Output. The Close of a format's writer
// ends the file; the caller then commits the Output, or aborts it, and nothing of it is
// seen before. A writer of a SetOutput makes its objects itself, and its Close commits
// them, the index last.
type Output interface {
	io.Writer
	// Patch overwrites bytes that were written, within the first bytes that the
	// format's writer names (cframe.MaxHeader, bloscpack.MaxHead).
	Patch(off int64, p []byte) error
}

// A SetOutput makes the objects of a dataset of several: a folder, or a prefix of a
// bucket. What it makes is read as a Set.
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

// Progress is told how much of long work is done, and how much it is in all, mostly in
// bytes; the method that takes one says of what. A total of -1 is not known. It is
// called by the goroutine that called the method, unless the method says otherwise.
// A nil Progress is told nothing.
type Progress func(done, total int64)

// Tell calls p, unless it is nil.
func (p Progress) Tell(done, total int64) {
	if p != nil {
		p(done, total)
	}
}
