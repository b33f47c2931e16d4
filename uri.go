package farread

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/s3store"
)

// Bucket returns the bucket and the key, or prefix, that uri names. It makes no request
// to a store. The bucket has the client's limit, counter, connections and middlewares.
// All URIs of one place get the same bucket. Exceptions are a URL with a query, and a
// client with very many places, since the client keeps only a bounded number. A local
// path names a key in the bucket of its folder. An existing folder names the empty
// prefix of its own bucket.
func (c *Client) Bucket(ctx context.Context, uri string) (b objstore.Bucket, key string, err error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok {
		return c.local(uri)
	}
	switch strings.ToLower(scheme) {
	case "s3":
		name, key, _ := strings.Cut(rest, "/")
		b, err = c.bucket("s3://"+name, func() (objstore.Bucket, error) { return c.s3(ctx, name) })
		return b, key, err
	case "http", "https":
		return c.http(uri)
	case "file":
		path, err := filePath(uri)
		if err != nil {
			return nil, "", err
		}
		return c.local(path)
	}
	return nil, "", fmt.Errorf("scheme %q: want s3, https, http, file or a local path: %w", scheme, objstore.ErrInvalid)
}

// maxPlaces is the most folders and servers that a client remembers. S3 buckets, which
// keep connections of their own, do not count. A place costs about 1 KiB.
const maxPlaces = 1024

// bucket returns the bucket for a place, and makes it if it is not known yet.
func (c *Client) bucket(place string, driver func() (objstore.Bucket, error)) (objstore.Bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.buckets[place]; ok {
		return s.bucket, nil
	}
	d, err := driver()
	if err != nil {
		return nil, err
	}
	b := c.dress(d)
	if !isS3(place) {
		c.makeRoom()
	}
	c.buckets[place] = store{d, b}
	return b, nil
}

// dress adds the client's limit, counter and middlewares to the bucket of a driver, and
// lets its objects hedge.
func (c *Client) dress(d objstore.Bucket) objstore.Bucket {
	m := slices.Clone(c.c.Middleware)
	if !isLocal(d) { // a disk needs no queue in front of it
		m = append(m, c.limit)
		if !c.c.NoHedge {
			m = append(m, objstore.Hedge(c.pace(d)))
		}
	}
	return objstore.Chain(d, m...)
}

// ours adds the client's limit, counter and middlewares to a caller's bucket. If the
// client's counter already counts the bucket, ours returns it as it is: it is a bucket
// of the client, or has them already.
func (c *Client) ours(b objstore.Bucket) objstore.Bucket {
	if objstore.Counted(b, c.c.Counter) {
		return b
	}
	return c.dress(objstore.Count(c.c.Counter)(b))
}

// makeRoom forgets any place if there are too many. Nothing is lost: the bucket of the
// place still works, and all its connections are the client's.
func (c *Client) makeRoom() {
	if len(c.buckets) < maxPlaces {
		return
	}
	for place := range c.buckets {
		if !isS3(place) {
			delete(c.buckets, place)
			return
		}
	}
}

// pace returns what the client has measured of the store behind b.
func (c *Client) pace(b objstore.Bucket) *objstore.Pace {
	origin := b.Name()
	if scheme, rest, ok := strings.Cut(origin, "://"); ok {
		if i := strings.IndexAny(rest, "/?"); i >= 0 {
			rest = rest[:i]
		}
		origin = origin[:len(scheme)+len("://")+len(rest)]
	}
	c.pacing.Lock()
	defer c.pacing.Unlock()
	p := c.paces[origin]
	if p == nil {
		if len(c.paces) >= maxPlaces {
			clear(c.paces)
		}
		p = &objstore.Pace{}
		c.paces[origin] = p
	}
	return p
}

// keeper returns what the cache on disk has of a bucket. Only buckets of the drivers for
// remote stores are kept. The endpoint belongs to the name of the place, since stores other than AWS
// may have buckets of the same name.
func (c *Client) keeper(b objstore.Bucket) objstore.Keeper {
	if c.c.DiskCache == nil {
		return nil
	}
	if s, ok := objstore.As[*s3store.Bucket](b); ok {
		return c.c.DiskCache.Place(b.Name() + " at " + s.Endpoint())
	}
	if _, ok := objstore.As[*httpstore.Bucket](b); ok {
		return c.c.DiskCache.Place(b.Name())
	}
	return nil
}

func isS3(place string) bool { return strings.HasPrefix(place, "s3://") }

func (c *Client) s3(ctx context.Context, name string) (objstore.Bucket, error) {
	return s3store.New(ctx, s3store.Config{Bucket: name, Endpoint: c.c.Endpoint, Region: c.c.Region, Profile: c.c.Profile,
		PathStyle: c.c.PathStyle, Anonymous: c.c.Anonymous, Concurrency: c.c.Concurrency, Counter: c.c.Counter, Logger: c.c.Logger,
		AccessKey: c.c.AccessKey, SecretKey: c.c.SecretKey, Timeout: c.c.Timeout})
}

// http makes one bucket for each server. A URL with a query gets a bucket of its own: a
// presigned URL is seldom used again, and its bucket holds nothing but the text.
func (c *Client) http(uri string) (objstore.Bucket, string, error) {
	base, key := uri, ""
	u, err := url.Parse(uri)
	if err != nil || !strings.HasSuffix(u.Path, "/") {
		if base, key, err = httpstore.Split(uri); err != nil {
			return nil, "", err
		}
	}
	driver := func() (objstore.Bucket, error) {
		return httpstore.New(httpstore.Config{Base: base, Transport: c.trans, Concurrency: c.c.Concurrency, Counter: c.c.Counter, Logger: c.c.Logger, Timeout: c.c.Timeout})
	}
	if u != nil && u.RawQuery != "" {
		d, err := driver()
		if err != nil {
			return nil, "", err
		}
		return c.dress(d), key, nil
	}
	b, err := c.bucket(base, driver)
	return b, key, err
}

// local splits a path into folder and name. It follows links, since the bucket of a
// folder refuses links that lead out of the folder.
func (c *Client) local(path string) (objstore.Bucket, string, error) {
	if path == "" {
		return nil, "", fmt.Errorf("empty URI: %w", objstore.ErrInvalid)
	}
	dir, key := filestore.Locate(path)
	if key != "" {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			dir, key = filepath.Split(target)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w: %w", path, objstore.ErrInvalid, err)
	}
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	b, err := c.bucket("file://"+filepath.ToSlash(dir), func() (objstore.Bucket, error) {
		d, err := filestore.New(filestore.Config{Dir: dir})
		if err != nil {
			return nil, err
		}
		return objstore.Count(c.c.Counter)(d), nil
	})
	return b, key, err
}

// filePath returns the path of a file URL.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", fmt.Errorf("file URL: want file:///path: %w", objstore.ErrInvalid)
	}
	return filepath.FromSlash(u.Path), nil
}

// isLocal reports whether a bucket is a folder of this machine.
func isLocal(b objstore.Bucket) bool { return strings.HasPrefix(b.Name(), "file://") }
