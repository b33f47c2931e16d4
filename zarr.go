package farread

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/rangeio"
)

// OpenZarr opens the array or group of Zarr that uri names: a folder, a prefix of a bucket, or
// a folder of a plain HTTP server, with or without the slash. It costs one request for version
// 3; package zarr has the cost of version 2 and of reads. Limits follow the client's MaxMemory.
// If there is none, the error matches formats.ErrNoEntry. A URL with a query names one object,
// and is refused.
func (c *Client) OpenZarr(ctx context.Context, uri string, o zarr.Options) (*zarr.Node, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(b.Name(), "http") && strings.Contains(uri, "?") {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: key, Err: fmt.Errorf("a query names one object, Zarr has many: %w", objstore.ErrInvalid)}
	}
	if key != "" && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	if o.Limits.MaxDecoded <= 0 {
		o.Limits.MaxDecoded = min(c.c.MaxMemory/4, formats.DefaultLimits().MaxDecoded)
	}
	if o.Limits.MaxMeta <= 0 {
		o.Limits.MaxMeta = c.c.MaxMemory / 4
	}
	return zarr.Open(ctx, c.ZarrStore(b, key), o)
}

// ZarrStore returns what package zarr reads: the objects below a prefix, which is "" or ends in
// a slash.
func (c *Client) ZarrStore(b objstore.Bucket, prefix string) zarr.Store {
	return zarrStore{c, c.ours(b), prefix}
}

type zarrStore struct {
	c      *Client
	b      objstore.Bucket
	prefix string
}

// Open implements zarr.Store. Objects that were opened by a head of their length hold all of it.
func (s zarrStore) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	o := objstore.OpenOptions{Head: head, Tail: tail}
	if head == 0 {
		o.Head = -1
	}
	ob, err := s.c.open(ctx, s.b, s.prefix+key, o)
	if errors.Is(err, filestore.ErrLink) || errors.Is(err, filestore.ErrIrregular) { // a dead link, or a folder, is not the fill value
		return nil, notFollowed(err)
	}
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, fmt.Errorf("%w: %w", err, formats.ErrNoEntry)
	}
	if e, ok := errors.AsType[*objstore.Error](err); ok && e.Status == 403 && (e.Code == "" || e.Code == "AccessDenied") {
		return nil, fmt.Errorf("%w: %w", err, zarr.ErrMaybeAbsent)
	}
	if err != nil {
		return nil, err
	}
	return ob, nil
}

// Folders implements zarr.Store. Links to folders in the store are followed.
func (s zarrStore) Folders(ctx context.Context, folder string) ([]zarr.Folder, error) {
	var out []zarr.Folder
	for e, err := range objstore.ListFolder(ctx, s.b, s.prefix+folder, "") {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, fmt.Errorf("a group without consolidated metadata on a server that lists nothing: name an array in it: %w: %w", formats.ErrUnsupported, err)
		}
		if err != nil {
			return nil, err
		}
		if e.Folder {
			out = append(out, zarr.Folder{Name: strings.TrimSuffix(strings.TrimPrefix(e.Key, s.prefix+folder), "/")})
		}
	}
	l, ok := objstore.As[objstore.Linker](s.b)
	if !ok {
		return out, nil
	}
	links, err := l.Links(ctx, s.prefix+folder)
	for _, k := range links {
		if k.Err != nil {
			k.Err = notFollowed(k.Err)
		}
		out = append(out, zarr.Folder(k))
	}
	return out, err
}

// notFollowed is the error about a link, or what is no file. It is refused by name, and is not absent.
func notFollowed(err error) error {
	return &formats.Error{Format: zarr.Format, Off: -1, Err: fmt.Errorf("%w: %w", err, formats.ErrUnsupported)}
}
