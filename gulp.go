package farread

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// GulpOptions tune OpenGulp, OpenGulpByID and OpenGulpDataset. The zero value is right
// for most: limits and windows follow the client's MaxMemory.
type GulpOptions struct {
	gulp.Options
	// Beside says to OpenGulpByID that there probably is an index beside the chunk. If
	// there is none, that costs one request and, as the .gmeta is then read later, one
	// phase.
	Beside bool
	// Numbered says to OpenGulpByID that frames will be read by their number in the file.
	// It then asks for 80 KiB of the end of the index in place of 40, unless the policy
	// saves bytes, so that a frame of up to about 20,000 costs one request in any order of
	// ids.
	Numbered bool
}

const (
	// metaHead is the number of bytes of a .gmeta that its first request asks for, so
	// that a small .gmeta arrives whole. At 80 MB/s these bytes take a tenth of a round
	// trip.
	metaHead = 256 << 10
	// minDataHead is the number of bytes of the data object that Open reads if the
	// policy saves bytes. The read only serves to learn the size and the ETag.
	minDataHead = 4 << 10
	// maxWindow is room for 16 requests of the longest range of the fast policy.
	maxWindow = 32 << 20
)

// Names of metadata. Package functions has the same names, but this layer does not
// import it; a test compares them.
const (
	metaDataETag  = "farread-data-etag"
	metaSource    = "farread-source"
	metaKey       = "farread-source-key"
	metaKey64     = "farread-source-key-b64"
	metaETag      = "farread-source-etag"
	metaVersion   = "farread-source-version"
	metaSequencer = "farread-source-sequencer"
	metaLayout    = "farread-layout"
)

// A Gulp is an open gulp chunk with its two objects.
type Gulp struct {
	*gulp.Chunk
	Meta, Data *objstore.Object

	c *Client
	o gulp.Options

	unused error // why an index beside the chunk that was found is not used
}

// OpenGulp opens the gulp chunk that uri names by either of its two objects. It opens
// both at the same time: two requests in one phase, if the .gmeta has at most 256 KiB.
// To read a frame then costs one more request.
//
// The .gmeta may name the ETag of its data; the pack job writes it so. If the data
// object has another ETag, somebody is just replacing the pair: OpenGulp opens the pair
// once more, and if that fails, too, returns objstore.ErrChanged. A copy of a pair has
// other ETags; OpenGulp accepts it if both objects were copied with their metadata, and
// these name the same source and layout.
func (c *Client) OpenGulp(ctx context.Context, uri string, o GulpOptions) (*Gulp, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.GulpIn(ctx, b, key, o)
}

// GulpIn is OpenGulp for the key of either object in a bucket. It parses no text.
func (c *Client) GulpIn(ctx context.Context, b objstore.Bucket, key string, o GulpOptions) (*Gulp, error) {
	return anyPair(ctx, b, key, func(p gulp.Pair) (*Gulp, error) {
		return c.openPair(ctx, rangeio.OnePhase(ctx), b, p, o)
	})
}

// anyPair opens the first pair that key may belong to, that exists, and whose objects
// belong together.
func anyPair[T any](ctx context.Context, b objstore.Bucket, key string, open func(p gulp.Pair) (T, error)) (g T, err error) {
	pairs := gulp.Pairs(key)
	if len(pairs) == 0 {
		return g, &objstore.Error{Op: "open", Bucket: b.Name(), Key: key,
			Err: fmt.Errorf("neither %s nor %s: %w", gulp.DataSuffix, gulp.MetaSuffix, formats.ErrUnsupported)}
	}
	err = objstore.Again(ctx, func() error {
		var first error
		for _, p := range pairs {
			var err error
			if g, err = open(p); err == nil || !errors.Is(err, objstore.ErrNotFound) && !errors.Is(err, objstore.ErrChanged) {
				return err
			}
			if first == nil || errors.Is(first, objstore.ErrNotFound) && errors.Is(err, objstore.ErrChanged) {
				first = err // an error about objects that do not belong together says more than a missing name
			}
		}
		return first
	})
	return g, err
}

// openPair opens the two objects of a pair under phase, which ends with ctx, and their
// index under ctx.
func (c *Client) openPair(ctx, phase context.Context, b objstore.Bucket, p gulp.Pair, o GulpOptions) (*Gulp, error) {
	g, err := c.openObjects(phase, b, p, false, 0, &objstore.Patience{})
	if err != nil {
		return nil, err
	}
	g.o = c.gulpOptions(o.Options)
	return g.Whole(ctx)
}

// dataHead is the number of bytes that a policy drops rather than makes another
// request, up to the default. So a small frame near the front costs no other request.
func (c *Client) dataHead() int64 {
	return min(max(c.c.Policy.Free, minDataHead), objstore.DefaultHead)
}

func (c *Client) gulpOptions(o gulp.Options) gulp.Options {
	if o.Window <= 0 {
		o.Window = min(max(c.c.MaxMemory/16, 1<<20), maxWindow)
	}
	if o.Limits.MaxMeta <= 0 {
		o.Limits.MaxMeta = c.c.MaxMemory / 2
	}
	if o.Limits.MaxDecoded <= 0 {
		o.Limits.MaxDecoded = min(c.c.MaxMemory/4, formats.DefaultLimits().MaxDecoded)
	}
	return o
}

// paired checks that a .gmeta and a data object belong together. A copy may have
// another ETag than the .gmeta names, because of parts of another size or another kind
// of encryption. The copy still belongs to the .gmeta if the metadata of both name the
// same version of the same upload and the same layout, since these determine every
// byte.
func paired(meta, data *objstore.Object) error {
	m, d := meta.Info().Meta, data.Info().Meta
	want, have := m[metaDataETag], data.Info().ETag
	if want == "" || want == have || sameSource(m, d) {
		return nil
	}
	return &objstore.Error{Op: "open", Bucket: data.Bucket().Name(), Key: data.Info().Key,
		Err: fmt.Errorf("ETag %s, but %s was written for %s, and they do not name the same source: data and index of two versions, "+
			"or a copy whose ETag became another one (then write the pair again, or copy the index without its %s): %w",
			have, path.Base(meta.Info().Key), want, metaDataETag, objstore.ErrChanged)}
}

// sameSource reports whether the metadata of two objects name the same version of the
// same upload, and the same layout.
func sameSource(a, b map[string]string) bool {
	equal := func(name string) bool { return a[name] == b[name] }
	return equal(metaSource) && a[metaSource] != "" &&
		equal(metaKey) && equal(metaKey64) && a[metaKey]+a[metaKey64] != "" &&
		equal(metaETag) && equal(metaVersion) && equal(metaSequencer) && a[metaETag]+a[metaSequencer] != "" &&
		equal(metaLayout) && a[metaLayout] != ""
}

// HeldBytes returns the memory of the Chunk and both objects, in bytes; see Dataset.
func (g *Gulp) HeldBytes() int64 {
	return g.Chunk.HeldBytes() + g.Meta.HeldBytes() + g.Data.HeldBytes()
}
