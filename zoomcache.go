package farread

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// ZoomOptions tune OpenZoom. The zero value is right for most: limits follow the
// client's MaxMemory.
type ZoomOptions struct {
	zoomcache.Options
	// Offset is where the file begins in the object.
	Offset int64
	// Beside says that the index is believed to lie beside the file, as that of a file
	// from elsewhere does: it is opened side by side with the head, and the end of the
	// file is left alone where it is of use. A Client believes so by itself of files in
	// a folder, while there was one beside the file that it read last there.
	Beside bool

	early *earlySide // of beginZoom
}

// A Zoom is an open zoom-cache file with the object it lies in.
type Zoom struct {
	*zoomindex.File
	Object *objstore.Object

	beside atomic.Pointer[objstore.Object]
}

// Beside is the object with the index beside the file, once a reading has opened
// it; nil where there was none to be opened.
func (z *Zoom) Beside() *objstore.Object { return z.beside.Load() }

// OpenZoom opens the zoom-cache file that uri names: one phase, two requests side
// by side, where its headers take less than 8 KiB. The second one brings the end of
// the file, which has the beginning of its index; or that of the index beside the
// file, where ZoomOptions.Beside says so. An index that is beside the file against
// expectation costs one request, when it is first needed; so does one that is not.
//
//	f, err := client.OpenZoom(ctx, "s3://bucket/x.zoom", farread.ZoomOptions{})
//	err = f.EachPacket(ctx, 1, 60_000, 119_999, func(p *zoomcache.Packet) error { … })
func (c *Client) OpenZoom(ctx context.Context, uri string, o ZoomOptions) (*Zoom, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	ob, o, err := c.beginZoom(ctx, b, key, o)
	if err != nil {
		return nil, err
	}
	return c.ZoomOf(ctx, ob, o)
}

// beginZoom is the first half of OpenZoom, for objects that may be something else: it
// makes all its requests. If the object proves to be a zoom-cache file, ZoomOf with the
// options that beginZoom gives, for this object only, is the other half.
func (c *Client) beginZoom(ctx context.Context, b objstore.Bucket, key string, o ZoomOptions) (*objstore.Object, ZoomOptions, error) {
	if o.Offset != 0 || !o.Beside && !c.expectBeside(b, key) {
		ob, err := c.OpenObject(ctx, b, key, c.OpenFor(all.Zoomcache))
		return ob, o, err
	}
	one, cancel := context.WithCancel(rangeio.OnePhase(ctx))
	defer cancel()
	var side *objstore.Object
	var sideErr error
	var wg sync.WaitGroup
	wg.Go(func() { side, sideErr = c.openSide(one, b, key) })
	ob, err := c.OpenObject(one, b, key, objstore.OpenOptions{Head: zoomHead})
	if err != nil {
		cancel()
	}
	wg.Wait()
	if err != nil {
		return nil, o, err
	}
	if o.Beside = true; sideErr == nil { // else asked for again, and told, when it is needed
		o.Beside = side != nil
		o.early = &earlySide{object: side}
	}
	return ob, o, nil
}

// An earlySide is what was found beside a file while it was opened: the index, or nil.
type earlySide struct {
	object *objstore.Object
	used   atomic.Bool
}

// ZoomOf opens the zoom-cache file in an object that is open already, at
// o.Offset. What the object has kept of its opening costs nothing.
func (c *Client) ZoomOf(ctx context.Context, ob *objstore.Object, o ZoomOptions) (*Zoom, error) {
	r, err := section(ob, FrameOptions{Offset: o.Offset})
	if err != nil {
		return nil, err
	}
	f, err := zoomindex.Open(ctx, r, c.zoomOptions(o))
	if err != nil {
		return nil, err
	}
	z := &Zoom{File: f, Object: ob}
	side := func(ctx context.Context) (rangeio.Reader, string, error) {
		if o.early != nil && o.early.used.CompareAndSwap(false, true) {
			return z.taken(o.early.object)
		}
		side, err := c.openSide(ctx, ob.Bucket(), ob.Info().Key)
		if err != nil {
			return nil, "", err
		}
		return z.taken(side)
	}
	switch {
	case o.Offset != 0:
	case o.Beside:
		f.SidecarFirst(side)
	default:
		f.Sidecar(side)
	}
	return z, nil
}

// taken makes use of the index beside a file, which may be nil.
func (z *Zoom) taken(side *objstore.Object) (rangeio.Reader, string, error) {
	if side == nil {
		return nil, "", nil
	}
	z.beside.Store(side)
	return besideReader{side}, z.Object.Info().ETag, nil
}

// expectBeside says whether the index of a file is believed to lie beside it.
func (c *Client) expectBeside(b objstore.Bucket, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.besides[folderOf(b, key)]
}

// learnBeside notes whether there was one.
func (c *Client) learnBeside(b objstore.Bucket, key string, was bool) {
	const most = 1 << 10
	c.mu.Lock()
	defer c.mu.Unlock()
	switch folder := folderOf(b, key); {
	case !was:
		delete(c.besides, folder)
	case len(c.besides) < most:
		c.besides[folder] = true
	}
}

func folderOf(b objstore.Bucket, key string) string { return b.Name() + "\x00" + path.Dir(key) }

// openSide opens the index beside a file; nil: there is none that may be read.
func (c *Client) openSide(ctx context.Context, b objstore.Bucket, key string) (*objstore.Object, error) {
	side, err := c.open(ctx, b, key+index.Suffix, objstore.OpenOptions{Head: -1, Tail: index.Tail})
	switch {
	case errors.Is(err, objstore.ErrNotFound), errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalid):
		c.learnBeside(b, key, false)
		return nil, nil
	case err != nil:
		return nil, err
	}
	c.learnBeside(b, key, true)
	return side, nil
}

// A besideReader reads an index beside a file. One that was replaced or removed
// since is of no use, and no fault of the file.
type besideReader struct{ *objstore.Object }

func (r besideReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	err := r.Object.ReadRanges(ctx, spans)
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

// OpenZoom opens a zoom-cache file with the Client of Open; see
// Client.OpenZoom.
func OpenZoom(ctx context.Context, uri string) (*Zoom, error) {
	return shared().OpenZoom(ctx, uri, ZoomOptions{})
}
