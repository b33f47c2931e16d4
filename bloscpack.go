package farread

import (
	"context"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// BloscpackOptions tune OpenBloscpack. The zero value is right for most: limits
// follow the client's MaxMemory.
type BloscpackOptions struct {
	bloscpack.Options
	// Offset is where the file begins in the object.
	Offset int64
}

// A Bloscpack is an open Bloscpack file with the object it lies in.
type Bloscpack struct {
	*bloscpack.File
	Object *objstore.Object
}

// OpenBloscpack opens the Bloscpack file that uri names: one request, and a
// second one beside it, in the same phase, where o.Item says which item will be
// wanted and its place stands far behind the head of the file. That item, or any
// whose place the head tells, is one request more:
//
//	f, err := client.OpenBloscpack(ctx, "s3://bucket/x.blp", farread.BloscpackOptions{})
//	record, err := f.AppendItem(ctx, nil, 17)
func (c *Client) OpenBloscpack(ctx context.Context, uri string, o BloscpackOptions) (*Bloscpack, error) {
	ob, err := c.OpenWith(ctx, uri, c.OpenForItem(o.Item, o.Offset))
	if err != nil {
		return nil, err
	}
	return c.BloscpackOf(ctx, ob, o)
}

// OpenForItem are the options by which OpenWith opens an object for the sake of
// one item of the Bloscpack file that begins at offset in it; 0: of none.
func (c *Client) OpenForItem(item, offset int64) objstore.OpenOptions {
	o := objstore.OpenOptions{Head: c.frameEnds().Head}
	off, n := bloscpack.Hint(far(item, o.Head))
	if n == 0 && offset > 0 { // the head of the object is not that of the file
		n = o.Head
	}
	if from, end := max(off+offset, o.Head), off+offset+n; from < end {
		o.Also = objstore.Range{Off: from, Len: end - from}
	}
	return o
}

// far is the item if its place may stand behind the head, else 0. Usual metadata
// take less than these 4 KiB.
func far(item, head int64) int64 {
	if off, _ := bloscpack.Hint(item); off+4<<10 <= head {
		return 0
	}
	return item
}

// BloscpackOf opens the Bloscpack file in an object that is open already, at
// o.Offset. What the object has kept of its opening costs nothing.
func (c *Client) BloscpackOf(ctx context.Context, ob *objstore.Object, o BloscpackOptions) (*Bloscpack, error) {
	r, err := section(ob, FrameOptions{Offset: o.Offset})
	if err != nil {
		return nil, err
	}
	f, err := bloscpack.Open(ctx, r, c.bloscpackOptions(o, ob))
	if err != nil {
		return nil, err
	}
	return &Bloscpack{File: f, Object: ob}, nil
}

func (c *Client) bloscpackOptions(o BloscpackOptions, ob *objstore.Object) bloscpack.Options {
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = ob.Policy()
	}
	if o.Head <= 0 {
		o.Head = c.frameEnds().Head
	}
	o.Item = far(o.Item, o.Head)
	if o.Window <= 0 {
		o.Window = min(c.c.MaxMemory/16, maxWindow)
	}
	if o.Limits.MaxMeta <= 0 {
		o.Limits.MaxMeta = c.c.MaxMemory / 2
	}
	if o.Limits.MaxDecoded <= 0 {
		o.Limits.MaxDecoded = min(c.c.MaxMemory/2, formats.DefaultLimits().MaxDecoded)
	}
	return o.Options
}

// OpenBloscpack opens a Bloscpack file with the Client of Open; see
// Client.OpenBloscpack.
func OpenBloscpack(ctx context.Context, uri string) (*Bloscpack, error) {
	return shared().OpenBloscpack(ctx, uri, BloscpackOptions{})
}
