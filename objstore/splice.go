package objstore

import (
	"context"
	"fmt"
	"io"
)

// A Splicer is a Writer that can have the store copy bytes of an object that is there
// already, so that they do not pass through this machine. Call it through Splice, which
// looks behind middlewares and has a way for Writers that are none.
type Splicer interface {
	Writer
	// Splice is as the function Splice.
	Splice(ctx context.Context, o *Object, r Range) (copied int64, err error)
}

// Splice appends the range r of o to what was written to w, as if the bytes had been read
// and written. It returns how many of them the store copied itself; the others were read
// from o and written. r must lie in o. If the object is another one now, the error is
// ErrChanged. After any error the caller has to abort w.
//
// S3 copies parts of 5 MiB or more of objects of the same store, by UploadPartCopy. The
// first HeadSize bytes of the new object are always sent, and so is what makes a part that
// was begun long enough.
func Splice(ctx context.Context, w Writer, o *Object, r Range) (copied int64, err error) {
	if r.Off < 0 || r.Len < 0 || r.Off > o.Size() || r.Len > o.Size()-r.Off {
		return 0, o.fail(o.info.Key, r, fmt.Errorf("splice of a range outside of %d bytes: %w", o.Size(), ErrInvalid))
	}
	if s, ok := w.(Splicer); ok {
		return s.Splice(ctx, o, r)
	}
	return 0, WriteRange(ctx, w, o, r)
}

// WriteRange reads the range r of o and writes it to w.
func WriteRange(ctx context.Context, w io.Writer, o *Object, r Range) error {
	if r.Len == 0 {
		return nil
	}
	body := o.NewReader(ctx, ReadOptions{Off: r.Off, Len: r.Len})
	defer body.Close()
	n, err := io.Copy(w, body)
	if err == nil && n != r.Len {
		err = o.fail(o.info.Key, r, io.ErrUnexpectedEOF)
	}
	return err
}

// Splice implements Splicer.
func (w *countedWriter) Splice(ctx context.Context, o *Object, r Range) (int64, error) {
	return Splice(ctx, w.Writer, o, r)
}

// Splice implements Splicer.
func (w *tracedWriter) Splice(ctx context.Context, o *Object, r Range) (int64, error) {
	n, err := Splice(ctx, w.Writer, o, r)
	if err == nil {
		w.e.Bytes += r.Len
	}
	return n, err
}
