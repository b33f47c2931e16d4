package farread

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/objstore"
)

// OpenSupposed opens an array that does not exist, so that reads of it can be planned as
// those of any other array: its methods of Explain tell what they would take from a store, and
// the client's counter what the reads of its index take, which are made of memory. Items that are
// read fail or are wrong. Each call opens it anew.
func (c *Client) OpenSupposed(ctx context.Context, s *b2nd.Supposed) (Slicer, error) {
	d, err := c.OpenKey(ctx, supposedBucket{s}, "array.b2nd", AnyOptions{})
	if err != nil {
		return nil, err
	}
	x, ok := d.(Slicer)
	if !ok {
		return nil, fmt.Errorf("a supposed array is opened as %s", d.Format()) // cannot be: a Supposed is an array
	}
	return x, nil
}

// A supposedBucket has one object, which does not exist.
type supposedBucket struct{ s *b2nd.Supposed }

const supposedETag = `"supposed"`

func (b supposedBucket) Name() string { return "supposed://array" }

func (b supposedBucket) info(key string) objstore.Info {
	return objstore.Info{Key: key, Size: b.s.Size(), ETag: supposedETag}
}

func (b supposedBucket) fail(op, key string, err error) error {
	return &objstore.Error{Op: op, Bucket: b.Name(), Key: key, Err: err}
}

func (b supposedBucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, objstore.Info{}, context.Cause(ctx)
	}
	in := b.info(key)
	off, n := o.Range.Off, o.Range.Len
	if off < 0 {
		off, n = max(in.Size+off, 0), 0
	}
	if off >= in.Size || n < 0 {
		return nil, in, b.fail("get", key, objstore.ErrBadRange)
	}
	if n == 0 || n > in.Size-off {
		n = in.Size - off
	}
	return io.NopCloser(io.NewSectionReader(b, off, n)), in, nil
}

// ReadAt implements io.ReaderAt.
func (b supposedBucket) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), b.s.Size()-off))
	b.s.Read(p[:n], off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (b supposedBucket) Head(_ context.Context, key string) (objstore.Info, error) {
	return b.info(key), nil
}

// List yields nothing, and says so: nothing lies beside an array that does not exist.
func (b supposedBucket) List(context.Context, string) iter.Seq2[objstore.Info, error] {
	return func(func(objstore.Info, error) bool) {}
}

func (b supposedBucket) Create(_ context.Context, key string, _ objstore.PutOptions) (objstore.Writer, error) {
	return nil, b.fail("create", key, errors.ErrUnsupported)
}

func (b supposedBucket) Delete(_ context.Context, key string) error {
	return b.fail("delete", key, errors.ErrUnsupported)
}
