package farread

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A besideReader reads an index beside a file. If the index was replaced or removed
// meanwhile, or its reads fail, it cannot be used, but the file is not at fault.
type besideReader struct{ *objstore.Object }

func (r besideReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return unreadable(ctx, r.Object.ReadRanges(ctx, spans))
}

func (r besideReader) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	var own error
	err := r.Object.ReadEach(ctx, spans, func(i int) error {
		own = done(i)
		return own
	})
	if own != nil {
		return err
	}
	return unreadable(ctx, err)
}

// A failedReader stands for an index beside a file that cannot be opened.
type failedReader struct{ err error }

func (r failedReader) Size() int64 { return index.Tail }

func (r failedReader) ReadRanges(context.Context, []rangeio.Span) error { return r.err }

func (r failedReader) ReadEach(context.Context, []rangeio.Span, func(i int) error) error {
	return r.err
}

// besideFailed is what the opener of an index returns if that failed: the file goes without.
func besideFailed(ctx context.Context, err error, etag string) (rangeio.Reader, string, error) {
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	return failedReader{unreadable(ctx, err)}, etag, nil
}

// unreadable makes the error of a read one that matches index.ErrUnusable, unless the caller
// has ended the read.
func unreadable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || index.Unusable(err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, index.ErrUnusable)
}
