package farread

import (
	"context"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// BloscpackOptions tune OpenBloscpack. The zero value is right for most: limits follow
// the client's MaxMemory.
type BloscpackOptions struct {
	bloscpack.Options
	// Offset is the number of the byte at which the file begins in the object.
	Offset int64
}

// A Bloscpack is an open Bloscpack file with its object.
type Bloscpack struct {
	*bloscpack.File
	Object *objstore.Object
}

// OpenBloscpack opens the Bloscpack file that uri names. It costs one request. If
// o.Item names an item whose offset stands far behind the head of the file, it makes a
// second request at the same time; both are one phase. To read this item then costs one
// more request, and so does any item whose offset is in the head:
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

// OpenForItem returns the options with which OpenWith opens an object to read one item
// of a Bloscpack file. The file begins at offset in the object. If item is 0, the
// options are for no special item.
func (c *Client) OpenForItem(item, offset int64) objstore.OpenOptions {
	o := objstore.OpenOptions{Head: c.endLen()}
	off, n := bloscpack.Hint(far(item, o.Head))
	if n == 0 && offset > 0 { // the head of the object is not the head of the file
		n = o.Head
	}
	if from, end := max(off+offset, o.Head), off+offset+n; from < end {
		o.Also = objstore.Range{Off: from, Len: end - from}
	}
	return o
}

// far returns item if its offset may stand behind the head, and 0 otherwise. It assumes
// that the metadata take less than 4 KiB, as they usually do.
func far(item, head int64) int64 {
	if off, _ := bloscpack.Hint(item); off+4<<10 <= head {
		return 0
	}
	return item
}

// BloscpackOf opens the Bloscpack file that begins at o.Offset in an open object. Bytes
// that the object already holds cost nothing.
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
		o.Head = c.endLen()
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

// HeldBytes returns the memory of the file and its object, in bytes; see Dataset.
func (f *Bloscpack) HeldBytes() int64 { return f.File.HeldBytes() + f.Object.HeldBytes() }
