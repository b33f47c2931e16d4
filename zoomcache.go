package farread

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// ZoomOptions tune OpenZoom. The zero value is right for most: limits follow the
// client's MaxMemory.
type ZoomOptions struct {
	zoomcache.Options
	// Offset is where the file begins in the object.
	Offset int64
}

// A Zoom is an open zoom-cache file with the object it lies in.
type Zoom struct {
	*zoomcache.File
	Object *objstore.Object

	beside atomic.Pointer[objstore.Object]
}

// Beside is the object with the index beside the file, once a reading has opened
// it; nil where there was none to be opened.
func (z *Zoom) Beside() *objstore.Object { return z.beside.Load() }

// OpenZoom opens the zoom-cache file that uri names: one phase, two requests side
// by side, where its headers take less than 8 KiB. The second one brings the end of
// the file, which has the beginning of its index. An index beside the file costs
// one request, when it is first needed.
//
//	f, err := client.OpenZoom(ctx, "s3://bucket/x.zoom", farread.ZoomOptions{})
//	err = f.Samples(ctx, 1, 60_000, 119_999, func(p *zoomcache.Packet) error { … })
func (c *Client) OpenZoom(ctx context.Context, uri string, o ZoomOptions) (*Zoom, error) {
	ob, err := c.OpenWith(ctx, uri, c.OpenFor(all.Zoomcache))
	if err != nil {
		return nil, err
	}
	return c.ZoomIn(ctx, ob, o)
}

// ZoomIn opens the zoom-cache file in an object that is open already, at
// o.Offset. What the object has kept of its opening costs nothing.
func (c *Client) ZoomIn(ctx context.Context, ob *objstore.Object, o ZoomOptions) (*Zoom, error) {
	r, err := section(ob, FrameOptions{Offset: o.Offset})
	if err != nil {
		return nil, err
	}
	f, err := zoomcache.Open(ctx, r, c.zoomOptions(o))
	if err != nil {
		return nil, err
	}
	z := &Zoom{File: f, Object: ob}
	if o.Offset == 0 {
		f.Sidecar(func(ctx context.Context) (rangeio.Reader, string, error) { return c.zoomIndex(ctx, z) })
	}
	return z, nil
}

// zoomIndex opens the index beside a file, if there is one that may be read.
func (c *Client) zoomIndex(ctx context.Context, z *Zoom) (rangeio.Reader, string, error) {
	ob := z.Object
	side, err := c.open(ctx, ob.Bucket(), ob.Info().Key+index.Suffix, objstore.OpenOptions{Head: -1, Tail: index.Tail})
	switch {
	case errors.Is(err, objstore.ErrNotFound), errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalid):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	}
	z.beside.Store(side)
	return besideReader{side}, ob.Info().ETag, nil
}

// A besideReader reads an index beside a file. One that was replaced or removed
// since is of no use, and no fault of the file.
type besideReader struct{ rangeio.Reader }

func (r besideReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	err := r.Reader.ReadRanges(ctx, spans)
	if errors.Is(err, objstore.ErrChanged) || errors.Is(err, objstore.ErrNotFound) {
		return fmt.Errorf("%w: %w", index.ErrUnusable, err)
	}
	return err
}

// zoomHead holds the headers of some hundred tracks. What a view needs lies at the
// end of the file and in one more place: more of the head would be wasted.
const zoomHead = 8 << 10

// zoomEnds says how much of a file is fetched when it is opened.
func zoomEnds() objstore.OpenOptions { return objstore.OpenOptions{Head: zoomHead, Tail: index.Tail} }

func (c *Client) zoomOptions(o ZoomOptions) zoomcache.Options {
	if o.Head <= 0 {
		o.Head = zoomHead
	}
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

// OpenZoom opens a zoom-cache file with a Client of its own; see
// Client.OpenZoom.
func OpenZoom(ctx context.Context, uri string) (*Zoom, error) {
	return New(Config{}).OpenZoom(ctx, uri, ZoomOptions{})
}
