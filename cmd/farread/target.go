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

// A target is where a URI points.
type target struct {
	uri    string
	bucket objstore.Bucket
	key    string // or prefix, ending in a slash unless it is empty
}

// A content is what a target turned out to be, open. Each kind of dataset is one
// implementation; the commands know nothing else of it.
type content interface {
	// info describes it from its headers and index alone.
	info(ctx context.Context) (description, error)
	// ls tells l what is inside.
	ls(ctx context.Context, l *listing) error
	// pick holds a selector against it. No payload is read.
	pick(ctx context.Context, s selector) (selection, error)
	// verify reads everything and returns what it found, as JSON and in words.
	verify(ctx context.Context) (report any, text string, err error)
	// unpack writes it to files under the local name dst.
	unpack(ctx context.Context, dst string, force bool) error
}

// A selection is what a selector selects: the payload that get writes.
type selection interface {
	// total is the number of bytes that copy will write, -1 where nobody knows.
	total() int64
	// sink decides what OUT is, a file or a folder, and makes it.
	sink(out string) (sink, error)
	// copy reads the payload into s, in bounded memory.
	copy(ctx context.Context, s sink, b bar) error
	// plan goes the way of copy, but its reads are noted instead of made; see aim.
	plan(ctx context.Context) error
}

// A description is what info tells: as JSON, and for people.
type description struct {
	json  any
	table *table
}

// aim says how a command looks at a URI.
type aim struct {
	offset int64
	raw    bool // folders are taken as they are, datasets or not
	// wrap stands between what is opened and the object that its payload lies
	// in; nil: nothing does.
	wrap func(*objstore.Object) rangeio.Reader
}

// open finds out what uri names and opens it.
func (a *app) open(ctx context.Context, uri string, how aim) (content, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	t := target{uri: uri, bucket: b, key: key}
	switch {
	case how.offset < 0:
		return nil, usagef("--offset %d is negative", how.offset)
	case key == "" || strings.HasSuffix(key, "/"):
		return a.openFolder(ctx, t, how)
	case len(gulp.Pairs(key)) > 0:
		if how.offset != 0 {
			return nil, usagef("--offset %d: a gulp chunk begins at byte 0", how.offset)
		}
		g, err := a.client.OpenGulp(ctx, uri, farread.GulpOptions{Wrap: how.wrap})
		return &gulpContent{a: a, target: t, pair: g}, err
	}
	return a.openObject(ctx, t, how)
}

// openFolder opens a dataset that is a folder, or else the folder itself.
func (a *app) openFolder(ctx context.Context, t target, how aim) (content, error) {
	if how.raw {
		return &folderContent{a: a, target: t}, nil
	}
	d, err := a.client.OpenGulpDataset(ctx, t.uri, farread.GulpOptions{Wrap: how.wrap})
	if err != nil {
		return nil, unlisted(err)
	}
	if d.Len() > 0 {
		return &gulpContent{a: a, target: t, set: d}, d.Load(ctx)
	}
	return &folderContent{a: a, target: t}, nil
}

// unlisted says of a server that has no listings what a URI must name there.
func unlisted(err error) error {
	if errors.Is(err, objstore.ErrInvalid) && errors.Is(err, errors.ErrUnsupported) {
		return usagef("a plain HTTP server lists nothing: name an object in it; folders are listed in S3 and on this machine")
	}
	return err
}

// openObject looks at the bytes of an object. What is not there may be a folder
// that was named without its slash.
func (a *app) openObject(ctx context.Context, t target, how aim) (content, error) {
	ob, err := a.client.Open(ctx, t.uri)
	if errors.Is(err, objstore.ErrNotFound) && isPrefix(ctx, t.bucket, t.key+"/") {
		t.key += "/"
		t.uri += "/"
		return a.openFolder(ctx, t, how)
	}
	if err != nil {
		return nil, err
	}
	if how.offset >= ob.Size() && how.offset > 0 {
		return nil, usagef("--offset %d: the object has %d bytes", how.offset, ob.Size())
	}
	head := make([]byte, min(objstore.DefaultHead, ob.Size()-how.offset))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: how.offset, P: head}}); err != nil {
		return nil, err
	}
	if f := all.Detect("", head); f == gulp.Format {
		return nil, fmt.Errorf("the index of a gulp chunk, but its name does not end in %s: %w", gulp.MetaSuffix, formats.ErrUnsupported)
	}
	return nil, fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)
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
