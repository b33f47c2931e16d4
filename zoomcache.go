package farread

import (
	"context"
	"errors"
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
	// Offset is the number of the byte at which the file begins in the object.
	Offset int64
	// Beside says that the index probably lies beside the file, not inside it. It is
	// then opened at the same time as the head, and if it can be used, the end of the
	// file is not read. If Beside is not set, a Client expects an index beside the file
	// if the last file that it read in the same folder had one.
	Beside bool

	early *earlySide // result of beginZoom
}

// A Zoom is an open zoom-cache file with its object.
type Zoom struct {
	*zoomindex.File
	Object *objstore.Object

	beside atomic.Pointer[objstore.Object]
}

// Beside returns the object of the index beside the file, after a read has opened it.
// It is nil if no read has opened one.
func (z *Zoom) Beside() *objstore.Object { return z.beside.Load() }

// HeldBytes returns the memory of the file, its object and the object of the index
// beside the file, in bytes; see Dataset.
func (z *Zoom) HeldBytes() int64 {
	n := z.File.HeldBytes() + z.Object.HeldBytes()
	if side := z.Beside(); side != nil {
		n += side.HeldBytes()
	}
	return n
}

// OpenZoom opens the zoom-cache file that uri names. It costs one phase, two requests
// at the same time, if the headers take less than 8 KiB. The second request reads the
// end of the file, which has the beginning of its index. With ZoomOptions.Beside it
// reads the index beside the file instead. If there is an index beside the file and
// none was expected, it costs one more request when it is first needed. To find out
// that there is no such index costs one request, too.
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

// beginZoom is the first half of OpenZoom, for objects whose format is not known yet.
// It makes all requests of OpenZoom. If the object is a zoom-cache file, the second
// half is ZoomOf with the returned options, which are for this object only.
func (c *Client) beginZoom(ctx context.Context, b objstore.Bucket, key string, o ZoomOptions) (*objstore.Object, ZoomOptions, error) {
	if o.Offset != 0 || !o.Beside && !c.expectBeside(b, key) {
		ob, err := c.OpenObject(ctx, b, key, c.OpenFor(all.Zoomcache))
		return ob, o, err
	}
	ob, early, err := c.openBoth(ctx, b, key, objstore.OpenOptions{Head: zoomHead})
	if err != nil {
		return nil, o, err
	}
	o.Beside, o.early = early.likely(), early
	return ob, o, nil
}

// openBoth opens an object, and at the same time the index beside it.
func (c *Client) openBoth(ctx context.Context, b objstore.Bucket, key string, o objstore.OpenOptions) (*objstore.Object, *earlySide, error) {
	one, cancel := context.WithCancel(rangeio.OnePhase(ctx))
	defer cancel()
	var side *objstore.Object
	var sideErr error
	var wg sync.WaitGroup
	o.Patience = &objstore.Patience{}
	wg.Go(func() { side, sideErr = c.openSide(one, b, key, index.Tail, o.Patience) })
	ob, err := c.OpenObject(one, b, key, o)
	if err != nil {
		cancel()
	}
	wg.Wait()
	if err != nil {
		return ob, nil, err
	}
	return ob, &earlySide{object: side, err: sideErr}, nil
}

// An earlySide is the index that openBoth found beside a file. Its object is nil if
// there was no index, or none that could be opened.
type earlySide struct {
	object *objstore.Object
	err    error
	used   atomic.Bool
}

// likely reports whether there is an index.
func (s *earlySide) likely() bool { return s == nil || s.object != nil || s.err != nil }

// open returns what openBoth found, the first time, and calls again after that, or if s is
// nil.
func (s *earlySide) open(again func() (*objstore.Object, error)) (*objstore.Object, error) {
	if s != nil && s.used.CompareAndSwap(false, true) {
		return s.object, s.err
	}
	return again()
}

// ZoomOf opens the zoom-cache file that begins at o.Offset in an open object. Bytes
// that the object already holds cost nothing.
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
		side, err := o.early.open(func() (*objstore.Object, error) {
			return c.openSide(ctx, ob.Bucket(), ob.Info().Key, index.Tail, ob.Patience())
		})
		if err != nil {
			return besideFailed(ctx, err, c.besideETag(ob))
		}
		return z.taken(c, side)
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

// taken keeps side, the index beside a file, and returns a reader of it. side may be
// nil.
func (z *Zoom) taken(c *Client, side *objstore.Object) (rangeio.Reader, string, error) {
	if side == nil {
		return nil, "", nil
	}
	z.beside.Store(side)
	return besideReader{side}, c.besideETag(z.Object), nil
}

// besideETag returns the ETag of an object for the index beside it. If it is of no use for
// that, the Client does not expect such indexes in the folder.
func (c *Client) besideETag(ob *objstore.Object) string {
	etag := ob.Info().ETag
	if index.Weakness("", etag) != "" {
		c.learnBeside(ob.Bucket(), ob.Info().Key, false)
	}
	return etag
}

// expectBeside reports whether the index of a file probably lies beside the file.
func (c *Client) expectBeside(b objstore.Bucket, key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.besides[folderOf(b, key)]
}

// learnBeside notes whether the index of a file lay beside the file.
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

// openSide opens the index beside a file, and reads tail bytes of its end. It returns
// nil if there is no index, or it may not be read. p is that of the file.
func (c *Client) openSide(ctx context.Context, b objstore.Bucket, key string, tail int64, p *objstore.Patience) (*objstore.Object, error) {
	side, err := c.open(ctx, b, key+index.Suffix, objstore.OpenOptions{Head: -1, Tail: tail, Patience: p, Aid: true})
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

// zoomHead is the number of bytes at the beginning of a file that Open reads. They hold
// the headers of some hundred tracks. A view needs the end of the file and one more
// place, so a longer head would be wasted.
const zoomHead = 8 << 10

// zoomEnds returns how many bytes of a file to fetch when it is opened.
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

// OpenZoom opens a zoom-cache file with the Client of Open; see Client.OpenZoom.
func OpenZoom(ctx context.Context, uri string) (*Zoom, error) {
	return shared().OpenZoom(ctx, uri, ZoomOptions{})
}
