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

// Bucket gives the bucket and the key, or prefix, that uri names, without any
// request to a store. The bucket has the client's limit, counter, connections and
// middlewares, and is the same one for all URIs of one place, unless that is a URL
// with a query or one of very many places: what a client keeps is bounded. A local path names a key in
// the bucket of its folder; an existing folder names the empty prefix of its own.
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

// maxPlaces bounds how many folders and servers a client remembers; S3 buckets,
// which keep connections of their own, come on top. A place costs about 1 KiB.
const maxPlaces = 1024

// bucket finds or makes the bucket for a place.
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

// dress gives a driver's bucket what all buckets of the client have.
func (c *Client) dress(d objstore.Bucket) objstore.Bucket {
	m := slices.Clone(c.c.Middleware)
	if !isLocal(d) { // a disk needs no queue in front of it
		m = append(m, c.limit)
	}
	return objstore.Chain(d, m...)
}

// makeRoom forgets some place or other when there are too many. Nothing is lost:
// its bucket works on, and has no connections that are not the client's.
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

func isS3(place string) bool { return strings.HasPrefix(place, "s3://") }

func (c *Client) s3(ctx context.Context, name string) (objstore.Bucket, error) {
	return s3store.New(ctx, s3store.Config{Bucket: name, Endpoint: c.c.Endpoint, Region: c.c.Region, Profile: c.c.Profile,
		PathStyle: c.c.PathStyle, Anonymous: c.c.Anonymous, Concurrency: c.c.Concurrency, Counter: c.c.Counter, Logger: c.c.Logger,
		AccessKey: c.c.AccessKey, SecretKey: c.c.SecretKey, Timeout: c.c.Timeout})
}

// http makes no bucket twice, except for URLs with a query: a presigned one is
// seldom seen again, and its bucket holds nothing but the text.
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

// local splits a path into folder and name. Links are followed here, since a
// folder as a bucket keeps to itself.
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

// filePath is the path of a file URL.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return "", fmt.Errorf("file URL: want file:///path: %w", objstore.ErrInvalid)
	}
	return filepath.FromSlash(u.Path), nil
}

// isLocal says whether a bucket is a folder of this machine.
func isLocal(b objstore.Bucket) bool { return strings.HasPrefix(b.Name(), "file://") }
