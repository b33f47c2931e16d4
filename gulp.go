package farread

import (
	"context"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// GulpOptions tune OpenGulp and OpenGulpDataset. The zero value is right for
// most: limits and windows follow the client's MaxMemory.
type GulpOptions struct {
	gulp.Options
}

const (
	// metaHead is how much of a .gmeta its first request asks for, so that a
	// small one arrives whole: at 80 MB/s a tenth of a round trip.
	metaHead = 256 << 10
	// minDataHead is what Open takes of the data object when every byte
	// counts; its only purpose is to learn size and ETag.
	minDataHead = 4 << 10
	// maxWindow keeps 16 requests of the fast policy's longest range busy.
	maxWindow = 32 << 20
)

// Names of metadata, as in functions, which this layer does not import; a test
// holds the two together.
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

// A Gulp is an open gulp chunk with the objects it lies in.
type Gulp struct {
	*gulp.Chunk
	Meta, Data *objstore.Object
}

// OpenGulp opens the gulp chunk that uri names by either of its two objects. Both
// are opened side by side: two requests, one phase, where the .gmeta is at most
// 256 KiB; a frame is then one request more. Where the .gmeta names the ETag of
// its data (as the pack job writes it) and another data object is found, the
// pair was being replaced: it is opened once more, and then fails with
// objstore.ErrChanged. A copy of a pair, with other ETags, is taken where the
// metadata of both objects came along and name the same source and layout.
func (c *Client) OpenGulp(ctx context.Context, uri string, o GulpOptions) (*Gulp, error) {
	b, key, err := c.Bucket(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.GulpIn(ctx, b, key, o)
}

// GulpIn is OpenGulp for a key of a bucket, that of either object. No text is
// parsed.
func (c *Client) GulpIn(ctx context.Context, b objstore.Bucket, key string, o GulpOptions) (*Gulp, error) {
	pairs := gulp.Pairs(key)
	if len(pairs) == 0 {
		return nil, &objstore.Error{Op: "open", Bucket: b.Name(), Key: key,
			Err: fmt.Errorf("neither %s nor %s: %w", gulp.DataSuffix, gulp.MetaSuffix, formats.ErrUnsupported)}
	}
	var g *Gulp
	err := objstore.Again(ctx, func() (err error) {
		g, err = c.openPairs(ctx, b, pairs, o)
		return err
	})
	return g, err
}

// openPairs opens the first of the pairs that exists and belongs together.
func (c *Client) openPairs(ctx context.Context, b objstore.Bucket, pairs []gulp.Pair, o GulpOptions) (*Gulp, error) {
	var first error
	for _, p := range pairs {
		g, err := c.openPair(ctx, rangeio.OnePhase(ctx), b, p, o)
		if err == nil || !errors.Is(err, objstore.ErrNotFound) && !errors.Is(err, objstore.ErrChanged) {
			return g, err
		}
		if first == nil || errors.Is(first, objstore.ErrNotFound) && errors.Is(err, objstore.ErrChanged) {
			first = err // halves of different pairs say more than a name that is not there
		}
	}
	return nil, first
}

// openPair opens two objects under phase, which ends with ctx, and their index
// under ctx.
func (c *Client) openPair(ctx, phase context.Context, b objstore.Bucket, p gulp.Pair, o GulpOptions) (*Gulp, error) {
	g := &Gulp{}
	eg, ectx := errgroup.WithContext(phase)
	eg.Go(func() (err error) {
		g.Meta, err = c.open(ectx, b, p.Meta, objstore.OpenOptions{Head: metaHead})
		return err
	})
	eg.Go(func() (err error) {
		g.Data, err = c.open(ectx, b, p.Data, objstore.OpenOptions{Head: c.dataHead()})
		return err
	})
	err := eg.Wait()
	if err != nil {
		return nil, err
	}
	if err := paired(g.Meta, g.Data); err != nil {
		return nil, err
	}
	g.Chunk, err = gulp.Open(ctx, g.Meta, g.Data, c.gulpOptions(o.Options))
	if err != nil {
		return nil, err
	}
	return g, nil
}

// dataHead is the policy's own limit of bytes that may be dropped, up to the
// default, so that small frames near the front cost nothing more.
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

// paired holds a .gmeta against its data object. A copy may have another ETag
// than the object that the .gmeta names (parts of another size, another kind of
// encryption); it still belongs to it where both say that they were made of the
// same version of the same upload in the same layout, which fixes every byte.
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

// sameSource says whether two objects' metadata name the same version of the
// same upload, and the same layout.
func sameSource(a, b map[string]string) bool {
	equal := func(name string) bool { return a[name] == b[name] }
	return equal(metaSource) && a[metaSource] != "" &&
		equal(metaKey) && equal(metaKey64) && a[metaKey]+a[metaKey64] != "" &&
		equal(metaETag) && equal(metaVersion) && equal(metaSequencer) && a[metaETag]+a[metaSequencer] != "" &&
		equal(metaLayout) && a[metaLayout] != ""
}
