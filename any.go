package farread

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// AnyOptions tune OpenAny. The zero value is right for most; options of formats count
// if the dataset is of theirs.
type AnyOptions struct {
	// Offset is where the dataset begins in its object.
	Offset int64
	// AsFolder takes a folder as it is, dataset or not.
	AsFolder bool
	// Cache keeps decoded blocks of arrays and stored chunks, for all datasets that
	// are opened with it; nil: nothing is kept.
	Cache *formats.Cache

	Frame     cframe.Options
	Gulp      gulp.Options
	Bloscpack bloscpack.Options // its Item is fetched along with the head
	Zoom      zoomcache.Options
}

// An OffsetError says that AnyOptions.Offset names no place in what was to be opened.
// It matches objstore.ErrInvalid.
type OffsetError struct {
	Offset int64
	Reason string // " is negative", ": the object has 5 bytes"
}

func (e *OffsetError) Error() string { return fmt.Sprintf("offset %d%s", e.Offset, e.Reason) }

// Unwrap gives errors.Is the sentinel.
func (e *OffsetError) Unwrap() error { return objstore.ErrInvalid }

// OpenAny opens what uri names with the Client of Open; see Client.OpenAny.
func OpenAny(ctx context.Context, uri string) (Dataset, error) {
	return shared().OpenAny(ctx, uri, AnyOptions{})
}

// OpenAny finds out what uri names, by its bytes and its name, and opens it. It costs
// what the opener of its format costs, as long as the name does not promise another
// one. A key that is not there may be a folder named without its slash: that is one
// listing more. In a folder a gulp dataset is looked for, then a sparse frame, in the
// other order if the name promises a frame; a folder that is neither is a *Folder,
// whether anything lies in it or not.
//
// Bytes of no known format are formats.ErrUnsupported, an offset that is none is an
// *OffsetError, and all else fails as in the opener of the format.
func (c *Client) OpenAny(ctx context.Context, uri string, o AnyOptions) (Dataset, error) {
	at, err := c.Place(ctx, uri)
	if err != nil {
		return nil, err
	}
	at.Offset = o.Offset
	return c.OpenPlace(ctx, at, o)
}

// Place is where uri points, as Client.Bucket finds it: no request.
func (c *Client) Place(ctx context.Context, uri string) (Place, error) {
	b, key, err := c.Bucket(ctx, uri)
	return Place{URI: uri, Bucket: b, Key: key}, err
}

// OpenKey is OpenAny for a key, or a prefix with its slash, of a bucket, which is one
// of Client.Bucket's. No text is parsed: a key may hold what would mean something else
// in a URI, and a folder of this machine as a bucket refuses keys that lead out of it,
// by dots or by links.
func (c *Client) OpenKey(ctx context.Context, b objstore.Bucket, key string, o AnyOptions) (Dataset, error) {
	return c.OpenPlace(ctx, Place{URI: strings.TrimSuffix(b.Name(), "/") + "/" + key, Bucket: b, Key: key, Offset: o.Offset}, o)
}

// An opening is one call of OpenAny.
type opening struct {
	Place

	c *Client
	o AnyOptions
}

// OpenPlace is OpenAny for a place that is known: that of Client.Place, or of a Dataset
// that was open before. Its Offset counts, not that of o; its URI is taken for the name
// alone, and is what the Dataset tells.
func (c *Client) OpenPlace(ctx context.Context, at Place, o AnyOptions) (Dataset, error) {
	o.Offset = at.Offset
	p := opening{at, c, o}
	switch {
	case o.Offset < 0:
		return nil, p.offset(" is negative")
	case p.Key == "" || strings.HasSuffix(p.Key, "/"):
		return p.folder(ctx)
	case len(gulp.Pairs(p.Key)) > 0:
		if o.Offset != 0 {
			return nil, p.offset(": a gulp chunk begins at byte 0")
		}
		g, err := c.GulpIn(ctx, p.Bucket, p.Key, GulpOptions{o.Gulp})
		if err != nil {
			return nil, err
		}
		return newGulp(p.Place, g), nil
	}
	return p.object(ctx)
}

func (p opening) offset(reason string) error { return &OffsetError{p.o.Offset, reason} }

// under is the same opening of the folder of that name.
func (p opening) under() opening {
	p.Key += "/"
	p.URI += "/"
	return p
}

// folder opens a dataset that is a folder, or else the folder itself. What the name
// promises is tried first.
func (p opening) folder(ctx context.Context) (Dataset, error) {
	if p.o.Offset != 0 {
		return nil, p.offset(fmt.Sprintf(": %s is a folder, not a place in an object", p.URI))
	}
	if p.o.AsFolder {
		return newFolder(p.Place), nil
	}
	name := strings.TrimSuffix(p.URI, "/") // the key of a local folder is empty
	frameFirst := all.ByName(name) != "" && all.ByName(name) != gulp.Format || sparseName(name)
	if frameFirst {
		if d, err := p.sparse(ctx); !errors.Is(err, objstore.ErrNotFound) {
			return d, err
		}
	}
	set, err := p.c.GulpDatasetIn(ctx, p.Bucket, p.Key, GulpOptions{p.o.Gulp})
	if err == nil && set.Len() > 0 {
		return newGulpSet(p.Place, set), nil
	}
	sick := errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrThrottled) // each request was repeated already
	if !frameFirst && !sick {
		if d, err := p.sparse(ctx); !errors.Is(err, objstore.ErrNotFound) {
			return d, err
		}
	}
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return nil, err
	}
	return newFolder(p.Place), nil // no dataset, but perhaps other things
}

// sparseName: names that python-blosc2's users give to sparse frames.
func sparseName(name string) bool { return strings.HasSuffix(name, "dir") }

// sparse opens the sparse frame in a folder.
func (p opening) sparse(ctx context.Context) (Dataset, error) {
	f, err := p.c.openSparse(ctx, p.Bucket, p.Key, FrameOptions{Options: p.o.Frame})
	if err != nil {
		return nil, err
	}
	return newFrame(p.Place, f, p.o.Cache)
}

// sparseOverHTTP tries the folder of a sparse frame that was named without its
// slash, where an object of that name has failed with err: a plain HTTP server
// lists nothing, and may answer with an error or with a page about the folder.
func (p opening) sparseOverHTTP(ctx context.Context, err error) (Dataset, error) {
	format := all.ByName(p.Key)
	if !strings.HasPrefix(p.Bucket.Name(), "http") || format != all.CFrame && format != all.B2ND || p.o.Offset != 0 || unanswered(err) {
		return nil, err
	}
	if d, serr := p.under().sparse(ctx); serr == nil {
		return d, nil
	}
	return nil, err
}

// unanswered says that there was no server to answer, so that it need not be asked again.
func unanswered(err error) bool {
	var e *objstore.Error
	return errors.As(err, &e) && e.Status == 0 && errors.Is(err, objstore.ErrUnavailable)
}

// isPrefix: there are objects below folder.
func isPrefix(ctx context.Context, b objstore.Bucket, folder string) bool {
	for _, err := range b.List(ctx, folder) {
		return err == nil
	}
	return false
}

// object looks at the bytes of an object. What is not there may be a folder that was
// named without its slash.
func (p opening) object(ctx context.Context) (Dataset, error) {
	zoom := ZoomOptions{Options: p.o.Zoom, Offset: p.o.Offset}
	ob, err := p.bytes(ctx, &zoom)
	if errors.Is(err, objstore.ErrNotFound) && (isPrefix(ctx, p.Bucket, p.Key+"/") || sparseName(p.Key)) {
		return p.under().folder(ctx)
	}
	if err != nil {
		return p.sparseOverHTTP(ctx, err)
	}
	rest := ob.Size() - p.o.Offset
	if p.o.Offset > 0 && rest <= 0 {
		return nil, p.offset(fmt.Sprintf(": the object has %d bytes", ob.Size()))
	}
	head := make([]byte, min(headLen, rest))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: p.o.Offset, P: head}}); err != nil {
		return nil, err
	}
	format := p.detect(head, rest)
	if format == all.CFrame || format == all.B2ND {
		f, err := p.c.FrameOf(ctx, ob, FrameOptions{p.o.Frame, p.o.Offset})
		if err != nil {
			return p.sparseOverHTTP(ctx, err)
		}
		return newFrame(p.Place, f, p.o.Cache)
	}
	return p.in(ctx, ob, format, zoom)
}

// in opens what is no frame in an open object.
func (p opening) in(ctx context.Context, ob *objstore.Object, format string, zoom ZoomOptions) (Dataset, error) {
	switch format {
	case all.Bloscpack:
		f, err := p.c.BloscpackOf(ctx, ob, BloscpackOptions{p.o.Bloscpack, p.o.Offset})
		if err != nil {
			return nil, err
		}
		return newBloscpack(p.Place, f), nil
	case all.Zoomcache:
		f, err := p.c.ZoomOf(ctx, ob, zoom)
		if err != nil {
			return nil, err
		}
		return newZoom(p.Place, f), nil
	case all.Blosc:
		k, err := p.c.ChunkOf(ctx, ob, FrameOptions{p.o.Frame, p.o.Offset})
		if err != nil {
			return nil, err
		}
		return newChunk(p.Place, k), nil
	case npy.Format:
		a, err := p.c.NpyOf(ctx, ob, p.o.Offset)
		if err != nil {
			return nil, err
		}
		return newNpy(p.Place, a), nil
	case all.Gulp:
		return nil, fmt.Errorf("the index of a gulp chunk, but its name does not end in %s: %w", gulp.MetaSuffix, formats.ErrUnsupported)
	}
	if store := all.Store(p.Key); store != "" {
		return nil, fmt.Errorf("%s: %w", store, formats.ErrUnsupported)
	}
	if kind := all.Foreign(p.Key); kind != "" {
		return nil, fmt.Errorf("%s, which this version does not read: %w", kind, formats.ErrUnsupported)
	}
	return nil, errNoFormat
}

var errNoFormat = fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)

// bytes opens an object by the requests that its name lets expect. What is called a
// zoom-cache file is opened as Client.OpenZoom does; zoom is then for ZoomOf.
func (p opening) bytes(ctx context.Context, zoom *ZoomOptions) (ob *objstore.Object, err error) {
	switch format, item := all.ByName(p.Key), p.o.Bloscpack.Item; {
	case format == all.Zoomcache:
		ob, *zoom, err = p.c.beginZoom(ctx, p.Bucket, p.Key, *zoom)
		return ob, err
	case format == all.Bloscpack, format == "" && item > 0:
		return p.c.OpenObject(ctx, p.Bucket, p.Key, p.c.OpenForItem(item, p.o.Offset))
	default:
		return p.c.OpenObject(ctx, p.Bucket, p.Key, p.c.OpenFor(format))
	}
}

// headLen is enough of an object to tell its format.
const headLen = 4 << 10

// detect tells the format of what begins with head. Where Offset says that something
// begins there, more may follow it.
func (p opening) detect(head []byte, rest int64) string {
	if npy.Sniff(head) {
		return npy.Format
	}
	if format := all.Detect(p.Key, head, rest); format != "" || p.o.Offset == 0 {
		return format
	}
	if h, err := blosc.ParseHeader(head); err == nil {
		return all.Detect("", head, min(rest, int64(h.CBytes)))
	}
	return ""
}
