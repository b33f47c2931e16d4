package main

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
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
	// dataset is what is open.
	dataset() farread.Dataset
	// info describes it from its headers and index alone.
	info(ctx context.Context) (description, error)
	// ls tells l what is inside.
	ls(ctx context.Context, l *listing) error
	// pick holds a selector against it. No payload is read.
	pick(ctx context.Context, s selector) (selection, error)
	// verified tells what Dataset.Verify has found, as JSON and in words.
	verified(r farread.Report) (report any, text string)
	// unpack writes it to files under the local name dst.
	unpack(ctx context.Context, dst string, force bool) error
}

// An opened is what all contents have.
type opened struct {
	target

	a *app
	d farread.Dataset
}

func (o *opened) dataset() farread.Dataset { return o.d }

// A selection is what a selector selects: the payload that get writes.
type selection interface {
	// total is the number of bytes that copy will write, -1 where nobody knows.
	total() int64
	// sink decides what OUT is, a file or a folder, and makes it.
	sink(out string) (sink.Sink, error)
	// copy reads the payload into s, in bounded memory.
	copy(ctx context.Context, s sink.Sink, b bar) error
	// plan goes the way of copy, but its reads are noted instead of made; see aim.
	plan(ctx context.Context) error
}

// A description is what info tells: as JSON, and for people.
type description struct {
	json  any
	table *human.Table
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
	at, err := a.client.Place(ctx, uri)
	if err != nil {
		return nil, err
	}
	if name := path.Base(at.Key); isLocal(at.Bucket) && sink.IsTemp(name) {
		return nil, usagef("%s is what an interrupted writer left; give it another name to read it", human.Printable(uri))
	}
	at.Offset = how.offset
	d, err := a.client.OpenPlace(ctx, at, farread.AnyOptions{AsFolder: how.raw, Bloscpack: blpOptions(how), Zoom: a.zoomOptions(how)})
	if e, ok := errors.AsType[*farread.OffsetError](err); ok {
		return nil, usagef("--%s", human.Printable(e.Error()))
	}
	if err != nil {
		return nil, unlisted(err)
	}
	return a.take(ctx, d, how)
}

// take makes a content of an open dataset.
func (a *app) take(ctx context.Context, d farread.Dataset, how aim) (content, error) {
	at := d.Place()
	o := opened{target{at.URI, at.Bucket, at.Key}, a, d}
	switch h := d.Handle().(type) {
	case *farread.Array:
		return &frameContent{opened: o, f: h.Source, arr: h, off: at.Offset}, nil
	case *farread.Frame:
		return &frameContent{opened: o, f: h, off: at.Offset}, nil
	case *farread.Gulp:
		return &gulpContent{opened: o, pair: h}, nil
	case *farread.GulpDataset:
		return &gulpContent{opened: o, set: h}, h.Load(ctx)
	case *farread.Bloscpack:
		return newBlp(o, h, how), nil
	case *farread.Zoom:
		return &zoomContent{opened: o, f: h, off: at.Offset, scan: how.scan, plan: how.plan}, nil
	case *farread.Chunk:
		return &chunkContent{opened: o, k: h, off: at.Offset}, nil
	case *farread.Folder:
		return &folderContent{o}, nil
	case *farread.Npy:
		return nil, fmt.Errorf("a .npy, which farread pack makes an array of: %w", formats.ErrUnsupported)
	}
	return nil, fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)
}

// unlisted says of a server that has no listings what a URI must name there.
func unlisted(err error) error {
	if errors.Is(err, objstore.ErrInvalid) && errors.Is(err, errors.ErrUnsupported) {
		return usagef("a plain HTTP server lists nothing: name an object in it; folders are listed in S3 and on this machine")
	}
	return err
}
