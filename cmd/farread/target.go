package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A target is what a URI turned out to name: one gulp chunk, a folder of them,
// or any other folder.
type target struct {
	uri    string
	bucket objstore.Bucket
	key    string // or prefix, ending in a slash unless it is empty

	pair *farread.Gulp        // one gulp chunk
	set  *farread.GulpDataset // a dataset of gulp chunks
	// with neither, a folder
}

// aim says how a command looks at a URI.
type aim struct {
	offset int64
	folder bool // folders that are no dataset are welcome
	raw    bool // folders are taken as they are, datasets or not
	wrap   func(*objstore.Object) rangeio.Reader
}

// open finds out what uri names and opens it.
func (a *app) open(ctx context.Context, uri string, how aim) (*target, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	t := &target{uri: uri, bucket: b, key: key}
	o := farread.GulpOptions{Wrap: how.wrap}
	switch {
	case how.offset < 0:
		return nil, usagef("--offset %d is negative", how.offset)
	case key == "" || strings.HasSuffix(key, "/"):
		return t, a.openFolder(ctx, t, how, o)
	case len(gulp.Pairs(key)) > 0:
		if how.offset != 0 {
			return nil, usagef("--offset %d: a gulp chunk begins at byte 0", how.offset)
		}
		t.pair, err = a.client.OpenGulp(ctx, uri, o)
		return t, err
	}
	return t, a.openOther(ctx, t, how, o)
}

// openFolder opens a dataset, or leaves t as a plain folder.
func (a *app) openFolder(ctx context.Context, t *target, how aim, o farread.GulpOptions) error {
	if how.raw {
		return nil
	}
	d, err := a.client.OpenGulpDataset(ctx, t.uri, o)
	if err != nil {
		return unlisted(err)
	}
	if d.Len() > 0 {
		t.set = d
		return d.Load(ctx)
	}
	if !how.folder {
		return fmt.Errorf("a folder without gulp chunks (data_0.gulp, meta_0.gmeta …): %w", formats.ErrUnsupported)
	}
	return nil
}

// unlisted says of a server that has no listings what a URI must name there.
func unlisted(err error) error {
	if errors.Is(err, objstore.ErrInvalid) && errors.Is(err, errors.ErrUnsupported) {
		return usagef("a plain HTTP server lists nothing: name an object in it; folders are listed in S3 and on this machine")
	}
	return err
}

// openOther looks at the bytes of an object whose name says nothing. What is
// not there may be a folder that was named without its slash.
func (a *app) openOther(ctx context.Context, t *target, how aim, o farread.GulpOptions) error {
	ob, err := a.client.Open(ctx, t.uri)
	if errors.Is(err, objstore.ErrNotFound) {
		for _, listErr := range t.bucket.List(ctx, t.key+"/") {
			if listErr != nil {
				break
			}
			t.key += "/"
			t.uri += "/"
			return a.openFolder(ctx, t, how, o)
		}
	}
	if err != nil {
		return err
	}
	if how.offset >= ob.Size() && how.offset > 0 {
		return usagef("--offset %d: the object has %d bytes", how.offset, ob.Size())
	}
	head := make([]byte, min(objstore.DefaultHead, ob.Size()-how.offset))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: how.offset, P: head}}); err != nil {
		return err
	}
	if f := all.Detect("", head); f == gulp.Format {
		return fmt.Errorf("the index of a gulp chunk, but its name does not end in %s: %w", gulp.MetaSuffix, formats.ErrUnsupported)
	}
	return fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)
}

// chunks yields the open gulp chunks of the target in order.
func (t *target) chunks(ctx context.Context, fn func(c *gulp.Chunk, k int) error) error {
	if t.pair != nil {
		return fn(t.pair.Chunk, 0)
	}
	for k := range t.set.Len() {
		c, err := t.set.Chunk(ctx, k)
		if err != nil {
			return err
		}
		if err := fn(c, k); err != nil {
			return t.inChunk(k, err)
		}
	}
	return nil
}

// inChunk names the chunk of a dataset that an error comes from.
func (t *target) inChunk(k int, err error) error {
	if err == nil || t.set == nil {
		return err
	}
	return fmt.Errorf("%s: %w", t.set.Pair(k).Meta, err)
}

// find is the chunk that holds id.
func (t *target) find(ctx context.Context, id string) (*gulp.Chunk, error) {
	if t.pair != nil {
		_, err := t.pair.Frames(id)
		return t.pair.Chunk, err
	}
	c, _, err := t.set.Find(ctx, id)
	return c, err
}

// totals sums up all chunks.
func (t *target) totals(ctx context.Context) (sum gulp.Totals, err error) {
	err = t.chunks(ctx, func(c *gulp.Chunk, _ int) error {
		n := c.Totals()
		sum.IDs += n.IDs
		sum.Frames += n.Frames
		sum.Bytes += n.Bytes
		sum.Padding += n.Padding
		sum.DataBytes += n.DataBytes
		return nil
	})
	return sum, err
}

// again runs f, and once more if the object changed under it: the second time
// it meets the new one from the start.
func again(ctx context.Context, f func() error) error {
	err := f()
	if errors.Is(err, objstore.ErrChanged) && ctx.Err() == nil {
		err = f()
	}
	return err
}
