package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
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
	// of Bloscpack files
	noVerify bool  // checksums are not looked at
	scan     bool  // info looks at each chunk
	item     int64 // that will be wanted: its place is read along with the head; 0: none
	resync   bool  // of zoom-cache files: damage is passed over
	plan     bool  // reads are to be planned
}

// open finds out what uri names and opens it.
func (a *app) open(ctx context.Context, uri string, how aim) (content, error) {
	b, key, err := a.client.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	t := target{uri: uri, bucket: b, key: key}
	switch name := path.Base(key); {
	case isLocal(b) && strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix):
		return nil, usagef("%s is what an interrupted writer left; give it another name to read it", printable(uri))
	case how.offset < 0:
		return nil, usagef("--offset %d is negative", how.offset)
	case key == "" || strings.HasSuffix(key, "/"):
		return a.openFolder(ctx, t, how)
	case len(gulp.Pairs(key)) > 0:
		if how.offset != 0 {
			return nil, usagef("--offset %d: a gulp chunk begins at byte 0", how.offset)
		}
		g, err := a.client.OpenGulp(ctx, uri, farread.GulpOptions{})
		return &gulpContent{a: a, target: t, pair: g}, err
	}
	return a.openObject(ctx, t, how)
}

// openFolder opens a dataset that is a folder, or else the folder itself. What
// the name promises is tried first.
func (a *app) openFolder(ctx context.Context, t target, how aim) (content, error) {
	if how.offset != 0 {
		return nil, usagef("--offset %d: %s is a folder, not a place in an object", how.offset, printable(t.uri))
	}
	if how.raw {
		return &folderContent{a: a, target: t}, nil
	}
	name := strings.TrimSuffix(t.uri, "/") // the key of a local folder is empty
	frameFirst := all.ByName(name) != "" && all.ByName(name) != gulp.Format || sparseName(name)
	if frameFirst {
		if c, err := a.openSparse(ctx, t, how); !errors.Is(err, objstore.ErrNotFound) {
			return c, err
		}
	}
	d, err := a.client.OpenGulpDataset(ctx, t.uri, farread.GulpOptions{})
	if err == nil && d.Len() > 0 {
		return &gulpContent{a: a, target: t, set: d}, d.Load(ctx)
	}
	sick := errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrThrottled) // each request was repeated already
	if !frameFirst && !sick {
		if c, err := a.openSparse(ctx, t, how); !errors.Is(err, objstore.ErrNotFound) {
			return c, err
		}
	}
	if errors.Is(err, objstore.ErrNotFound) {
		err = nil // no dataset, but perhaps other things
	}
	return &folderContent{a: a, target: t}, unlisted(err)
}

// sparseName: names that python-blosc2's users give to sparse frames.
func sparseName(name string) bool { return strings.HasSuffix(name, "dir") }

// openSparse opens the sparse frame in a folder.
func (a *app) openSparse(ctx context.Context, t target, how aim) (content, error) {
	f, err := a.client.OpenFrame(ctx, t.uri, farread.FrameOptions{Offset: how.offset})
	if err != nil {
		return nil, err
	}
	return a.newFrame(t, f, 0)
}

// sparseOverHTTP tries the folder of a sparse frame that was named without its
// slash, where an object of that name has failed with err: a plain HTTP server
// lists nothing, and may answer with an error or with a page about the folder.
func (a *app) sparseOverHTTP(ctx context.Context, t target, how aim, err error) (content, error) {
	format := all.ByName(t.key)
	if !strings.HasPrefix(t.bucket.Name(), "http") || format != all.CFrame && format != all.B2ND || how.offset != 0 || unanswered(err) {
		return nil, err
	}
	t.key += "/"
	t.uri += "/"
	if c, serr := a.openSparse(ctx, t, how); serr == nil {
		return c, nil
	}
	return nil, err
}

// unanswered says that there was no server to answer, so that it need not be asked again.
func unanswered(err error) bool {
	var e *objstore.Error
	return errors.As(err, &e) && e.Status == 0 && errors.Is(err, objstore.ErrUnavailable)
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
	zoom := a.zoomOptions(how)
	ob, err := a.openBytes(ctx, t, how, &zoom)
	if errors.Is(err, objstore.ErrNotFound) && (isPrefix(ctx, t.bucket, t.key+"/") || sparseName(t.key)) {
		t.key += "/"
		t.uri += "/"
		return a.openFolder(ctx, t, how)
	}
	if err != nil {
		return a.sparseOverHTTP(ctx, t, how, err)
	}
	rest := ob.Size() - how.offset
	if how.offset > 0 && rest <= 0 {
		return nil, usagef("--offset %d: the object has %d bytes", how.offset, ob.Size())
	}
	head := make([]byte, min(headLen, rest))
	if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: how.offset, P: head}}); err != nil {
		return nil, err
	}
	o := farread.FrameOptions{Offset: how.offset}
	switch format := a.detect(t, head, rest, how); format {
	case all.CFrame, all.B2ND:
		f, err := a.client.FrameIn(ctx, ob, o)
		if err != nil {
			return a.sparseOverHTTP(ctx, t, how, err)
		}
		return a.newFrame(t, f, how.offset)
	case all.Bloscpack:
		f, err := a.client.BloscpackIn(ctx, ob, blpOptions(how))
		if err != nil {
			return nil, err
		}
		return a.newBlp(t, f, how)
	case all.Zoomcache:
		f, err := a.client.ZoomIn(ctx, ob, zoom)
		if err != nil {
			return nil, err
		}
		return a.newZoom(t, f, how), nil
	case all.Blosc:
		k, err := a.client.ChunkIn(ctx, ob, o)
		return &chunkContent{a: a, target: t, k: k, off: how.offset}, err
	case all.Gulp:
		return nil, fmt.Errorf("the index of a gulp chunk, but its name does not end in %s: %w", gulp.MetaSuffix, formats.ErrUnsupported)
	}
	if store := all.Store(t.key); store != "" {
		return nil, fmt.Errorf("%s: %w", store, formats.ErrUnsupported)
	}
	if kind := all.Foreign(t.key); kind != "" {
		return nil, fmt.Errorf("%s, which this version does not read: %w", kind, formats.ErrUnsupported)
	}
	return nil, fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)
}

// openBytes opens an object by the requests that its name lets expect. What is called
// a zoom-cache file is opened as Client.OpenZoom does; zoom is then for ZoomIn.
func (a *app) openBytes(ctx context.Context, t target, how aim, zoom *farread.ZoomOptions) (ob *objstore.Object, err error) {
	if all.ByName(t.key) != all.Zoomcache {
		return a.client.OpenWith(ctx, t.uri, a.openFor(t, how))
	}
	ob, *zoom, err = a.client.BeginZoom(ctx, t.uri, *zoom)
	return ob, err
}

// openFor says how much of an object its first requests fetch, by its name.
func (a *app) openFor(t target, how aim) objstore.OpenOptions {
	format := all.ByName(t.key)
	if format == all.Bloscpack || format == "" && how.item > 0 {
		return a.client.OpenForItem(how.item, how.offset)
	}
	return a.client.OpenFor(format)
}

// headLen is enough of an object to tell its format.
const headLen = 4 << 10

// detect tells the format of what begins with head. Where --offset says that
// something begins there, more may follow it.
func (a *app) detect(t target, head []byte, rest int64, how aim) string {
	if format := all.Detect(t.key, head, rest); format != "" || how.offset == 0 {
		return format
	}
	if h, err := blosc.ParseHeader(head); err == nil {
		return all.Detect("", head, min(rest, int64(h.CBytes)))
	}
	return ""
}
