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

// AnyOptions tune OpenAny. The zero value is right for most. The options of a format
// have an effect if the dataset has this format.
type AnyOptions struct {
	// Offset is the number of the byte at which the dataset begins in its object.
	Offset int64
	// AsFolder returns a folder as a *Folder, even if it is a dataset.
	AsFolder bool
	// Beside says that the index of a frame, a gulp chunk or a zoom-cache file probably lies
	// beside it; see GulpOptions and ZoomOptions.
	Beside bool
	// Numbered says that frames of a gulp chunk will be read by their number in the file; see
	// GulpOptions.
	Numbered bool
	// Cache keeps decoded blocks of arrays and stored chunks, for all datasets that are
	// opened with it. Nil means that nothing is kept.
	Cache *formats.Cache

	Frame     cframe.Options
	Gulp      gulp.Options
	Bloscpack bloscpack.Options // Open fetches its Item along with the head
	Zoom      zoomcache.Options
}

// An OffsetError says that AnyOptions.Offset is not a place in the opened object or
// folder. It matches objstore.ErrInvalid.
type OffsetError struct {
	Offset int64
	Reason string // end of the error text: " is negative", ": the object has 5 bytes"
}

func (e *OffsetError) Error() string { return fmt.Sprintf("offset %d%s", e.Offset, e.Reason) }

// Unwrap returns objstore.ErrInvalid.
func (e *OffsetError) Unwrap() error { return objstore.ErrInvalid }

// OpenAny opens the dataset that uri names with the Client of Open; see Client.OpenAny.
func OpenAny(ctx context.Context, uri string) (Dataset, error) {
	return shared().OpenAny(ctx, uri, AnyOptions{})
}

// OpenAny finds out the format of the dataset that uri names, by its bytes and its
// name, and opens the dataset. It costs as much as the opener of the format, unless the
// name promises another format. If there is no such key, it may be a folder named
// without its slash; to find that out costs one more listing. In a folder OpenAny looks
// for a gulp dataset and then for a sparse frame; if the name promises a frame, it
// looks for the frame first. If a folder is neither, OpenAny returns a *Folder, even if
// the folder is empty.
//
// If the bytes have no known format, the error is formats.ErrUnsupported. If o.Offset
// is not a place in the object, the error is an *OffsetError. Other errors are those of
// the opener of the format.
func (c *Client) OpenAny(ctx context.Context, uri string, o AnyOptions) (Dataset, error) {
	at, err := c.Place(ctx, uri)
	if err != nil {
		return nil, err
	}
	at.Offset = o.Offset
	return c.OpenPlace(ctx, at, o)
}

// Place returns the place that uri names, as Client.Bucket finds it. It makes no
// request.
func (c *Client) Place(ctx context.Context, uri string) (Place, error) {
	b, key, err := c.Bucket(ctx, uri)
	return Place{URI: uri, Bucket: b, Key: key}, err
}

// OpenKey is OpenAny for a key of a bucket, or for a prefix with its slash. The bucket
// comes from Client.Bucket, or is any other one; see OpenObject. OpenKey parses no
// text: a key may hold characters that have a meaning in a URI. If the bucket is a
// folder of this machine, it refuses keys that lead out of it by dots or links.
func (c *Client) OpenKey(ctx context.Context, b objstore.Bucket, key string, o AnyOptions) (Dataset, error) {
	return c.OpenPlace(ctx, Place{URI: strings.TrimSuffix(b.Name(), "/") + "/" + key, Bucket: b, Key: key, Offset: o.Offset}, o)
}

// An opening is the state of one call of OpenAny.
type opening struct {
	Place

	c *Client
	o AnyOptions
}

// OpenPlace is OpenAny for a known place: one that Client.Place returned, or the place
// of an earlier Dataset. It uses at.Offset and ignores o.Offset. It opens nothing by
// at.URI, which only names the Dataset.
func (c *Client) OpenPlace(ctx context.Context, at Place, o AnyOptions) (Dataset, error) {
	o.Offset, at.Bucket = at.Offset, c.ours(at.Bucket)
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
		g, err := c.GulpByIDIn(ctx, p.Bucket, p.Key, GulpOptions{Options: o.Gulp, Beside: o.Beside, Numbered: o.Numbered})
		if err != nil {
			return nil, err
		}
		return newGulp(p.Place, g), nil
	}
	return p.object(ctx)
}

func (p opening) offset(reason string) error { return &OffsetError{p.o.Offset, reason} }

// under returns the opening of the folder with the same name.
func (p opening) under() opening {
	p.Key += "/"
	p.URI += "/"
	return p
}

// folder opens the dataset that a folder is, or else the folder itself. It first tries
// the format that the name promises.
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
	set, err := p.c.GulpDatasetIn(ctx, p.Bucket, p.Key, GulpOptions{Options: p.o.Gulp})
	if err == nil && set.Len() > 0 {
		return newGulpSet(p.Place, set), nil
	}
	sick := errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrThrottled) // each request has already been repeated
	if !frameFirst && !sick {
		if d, err := p.sparse(ctx); !errors.Is(err, objstore.ErrNotFound) {
			return d, err
		}
	}
	if err != nil && !errors.Is(err, objstore.ErrNotFound) {
		return nil, err
	}
	return newFolder(p.Place), nil // the folder is no dataset, but it may hold other things
}

// sparseName reports whether name is one that users of python-blosc2 give to sparse
// frames.
func sparseName(name string) bool { return strings.HasSuffix(name, "dir") }

// sparse opens a folder as a sparse frame.
func (p opening) sparse(ctx context.Context) (Dataset, error) {
	f, err := p.c.openSparse(ctx, p.Bucket, p.Key, FrameOptions{Options: p.o.Frame})
	if err != nil {
		return nil, err
	}
	return p.frame(f)
}

// sparseOverHTTP tries to open a folder as a sparse frame, if its name has no slash and
// the object of that name has failed with err. A plain HTTP server lists nothing; for a
// folder it may answer with an error, or with a page about the folder.
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

// unanswered reports whether no server answered. Then another request is of no use.
func unanswered(err error) bool {
	var e *objstore.Error
	return errors.As(err, &e) && e.Status == 0 && errors.Is(err, objstore.ErrUnavailable)
}

// isPrefix reports whether there are objects below folder.
func isPrefix(ctx context.Context, b objstore.Bucket, folder string) bool {
	for _, err := range b.List(ctx, folder) {
		return err == nil
	}
	return false
}

// object opens a dataset that is one object. If there is no such object, the name may
// be that of a folder without its slash.
func (p opening) object(ctx context.Context) (Dataset, error) {
	zoom := ZoomOptions{Options: p.o.Zoom, Offset: p.o.Offset, Beside: p.o.Beside}
	frame := FrameOptions{Options: p.o.Frame, Offset: p.o.Offset, Beside: p.o.Beside}
	ob, err := p.bytes(ctx, &zoom, &frame)
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
	if name := NameOf(p.Key); rest == 0 && name != "" {
		return p.sparseOverHTTP(ctx, &formats.Error{Format: name, Part: "file", Off: 0, Err: fmt.Errorf("it is empty: %w", formats.ErrCorrupt)})
	}
	head := make([]byte, min(headLen, rest))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: p.o.Offset, P: head}}); err != nil {
		return nil, err
	}
	format := p.detect(head, rest)
	if format == all.CFrame || format == all.B2ND {
		f, err := p.c.FrameOf(ctx, ob, frame)
		if err != nil {
			return p.sparseOverHTTP(ctx, err)
		}
		return p.frame(f)
	}
	return p.in(ctx, ob, format, zoom)
}

// in opens a dataset in an open object. The dataset is not a frame.
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
		k, err := p.c.ChunkOf(ctx, ob, FrameOptions{Options: p.o.Frame, Offset: p.o.Offset})
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

// bytes opens an object by the requests that suit its name. If the name is that of a
// zoom-cache file or of a frame, it opens the object as Client.OpenZoom or OpenFrame does,
// and sets zoom or frame to the options for ZoomOf or FrameOf.
func (p opening) bytes(ctx context.Context, zoom *ZoomOptions, frame *FrameOptions) (ob *objstore.Object, err error) {
	switch format, item := all.ByName(p.Key), p.o.Bloscpack.Item; {
	case format == all.Zoomcache:
		ob, *zoom, err = p.c.beginZoom(ctx, p.Bucket, p.Key, *zoom)
		return ob, err
	case format == all.CFrame, format == all.B2ND:
		return p.c.openFrame(ctx, p.Bucket, p.Key, p.c.OpenFor(format), frame)
	case format == all.Bloscpack, format == "" && item > 0:
		return p.c.OpenObject(ctx, p.Bucket, p.Key, p.c.OpenForItem(item, p.o.Offset))
	default:
		return p.c.OpenObject(ctx, p.Bucket, p.Key, p.c.OpenFor(format))
	}
}

// NameOf names the format that a name promises: one of package formats/all, "npy", or "".
func NameOf(name string) string {
	if strings.HasSuffix(name, ".npy") {
		return npy.Format
	}
	return all.ByName(name)
}

// headLen is the number of bytes of an object that tell its format.
const headLen = 4 << 10

// detect returns the format of the data that begin with head. If Offset is set, other
// data may follow the dataset.
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
