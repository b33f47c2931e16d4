package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A target is the place that a URI names.
type target struct {
	uri    string
	bucket objstore.Bucket
	key    string // key, or a prefix that ends in a slash; "": the whole bucket
}

// A content is the open dataset, or folder, of a target. There is one implementation
// for each kind of dataset; the commands use only these methods.
type content interface {
	// dataset returns the open dataset.
	dataset() farread.Dataset
	// info describes the content by its headers and index alone.
	info(ctx context.Context) (description, error)
	// pick resolves a selector against the content. It reads no payload.
	pick(ctx context.Context, s selector) (selection, error)
	// verified describes a report of Dataset.Verify, as JSON and in words.
	verified(r farread.Report) (report any, text string)
	// unpack writes the content to files under the local name dst.
	unpack(ctx context.Context, dst string, force bool) error
}

// An opened has the fields that all contents have.
type opened struct {
	target

	a *app
	d farread.Dataset
}

func (o *opened) dataset() farread.Dataset { return o.d }

// A selection is the payload that a selector selects and get writes.
type selection interface {
	// total returns the number of bytes that copy will write, or -1 if it is unknown.
	total() int64
	// sink makes OUT, as a file or as a folder.
	sink(out string) (sink.Sink, error)
	// copy reads the payload into s, in bounded memory.
	copy(ctx context.Context, s sink.Sink, b bar) error
	// plan notes the reads that copy would make, and makes none of them; see aim.
	plan(ctx context.Context) error
}

// A description is the result of info, as JSON and as a table for people.
type description struct {
	json  any
	table *human.Table
}

// aim says what a command is going to do with a URI.
type aim struct {
	offset int64
	raw    bool // take a folder as it is, even if it is a dataset
	// Fields of Bloscpack files.
	noVerify bool  // do not check checksums
	scan     bool  // info looks at each chunk
	item     int64 // number of the item that will be read; its place is read together with the head; 0: none
	resync   bool  // zoom-cache files: skip damage
	bignum   bool  // zoom-cache files: read integers of any length
	plan     bool  // reads are planned, not made
	byID     bool  // gulp chunks: frames of one id, or by number, are read
	numbered bool  // gulp chunks: frames are read by number
	listed   bool  // gulp datasets: their chunks are not opened

	shard shapeFlag // unpack of an array as Zarr: shape of the shards; nil: none
}

// expectsIndex reports whether the index beside a gulp chunk is asked for along with the
// chunk, before anything is known of either. It saves a phase and the .gmeta where it is
// there, and costs a request where not; docs/design.md has the numbers. The policy few
// saves the request. A cache on disk would keep both.
func (a *app) expectsIndex(at farread.Place, how aim) bool {
	return how.byID && len(gulp.Pairs(at.Key)) > 0 && a.flags.policy != "few" && a.cacheDir() == "" && !isLocal(at.Bucket)
}

// open finds out the format of the dataset that uri names, and opens it.
func (a *app) open(ctx context.Context, uri string, how aim) (content, error) {
	at, err := a.client.Place(ctx, uri)
	if err != nil {
		return nil, err
	}
	if name := path.Base(at.Key); isLocal(at.Bucket) && sink.IsTemp(name) {
		return nil, usagef("%s is what an interrupted writer left; give it another name to read it", human.Printable(uri))
	}
	at.Offset = how.offset
	d, err := a.client.OpenPlace(ctx, at, farread.AnyOptions{AsFolder: how.raw, Beside: a.expectsIndex(at, how), Numbered: how.numbered, Bloscpack: blpOptions(how), Zoom: a.zoomOptions(how)})
	if e, ok := errors.AsType[*farread.OffsetError](err); ok {
		return nil, usagef("--%s", human.Printable(e.Error()))
	}
	if unlisting(err) && (at.Key == "" || strings.HasSuffix(at.Key, "/")) { // its index may tell what is in it
		d, err = a.client.OpenPlace(ctx, at, farread.AnyOptions{AsFolder: true})
	}
	if err != nil {
		return nil, unlisted(err)
	}
	return a.take(ctx, d, how)
}

// take makes the content of an open dataset.
func (a *app) take(ctx context.Context, d farread.Dataset, how aim) (content, error) {
	a.opened = d
	at := d.Place()
	o := opened{target{at.URI, at.Bucket, at.Key}, a, d}
	switch h := d.Handle().(type) {
	case *farread.Array:
		arr, err := able[farread.Slicer](&o)
		return &frameContent{opened: o, arr: arr, off: at.Offset, shard: how.shard}, err
	case *farread.Frame:
		return &frameContent{opened: o, off: at.Offset}, nil
	case *farread.Gulp, *farread.GulpByID, *farread.GulpDataset:
		return newGulp(ctx, o, how)
	case *farread.Bloscpack:
		return newBlp(ctx, o, h, how)
	case *farread.Zoom:
		v, err := able[farread.Viewer](&o)
		return &zoomContent{opened: o, f: h, v: v, off: at.Offset, scan: how.scan, plan: how.plan}, err
	case *farread.Chunk:
		in, err := d.Source(ctx)
		return &chunkContent{opened: o, off: at.Offset, size: in.Size}, err
	case *farread.Folder:
		return &folderContent{o}, nil
	case *farread.Npy:
		return nil, fmt.Errorf("a .npy, which farread pack makes an array of: %w", formats.ErrUnsupported)
	}
	return nil, fmt.Errorf("no format that this version knows: %w", formats.ErrUnsupported)
}

// unlisted adds to the error of a server without listings what kind of URI such a
// server needs.
func unlisted(err error) error {
	if unlisting(err) {
		return usagef("a plain HTTP server lists nothing: name an object in it; folders are listed in S3 and on this machine, and info, ls and unpack take those with a farread.group.json anywhere")
	}
	return err
}
