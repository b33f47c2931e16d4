// Package origin finds what package analyze reduces in datasets that are open, and opens
// what the plans of analyses name.
package origin

import (
	"context"
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

// Of says which bytes a dataset has. A dataset of gulp chunks is pinned: see
// farread.GulpDataset.Pin.
func Of(ctx context.Context, d farread.Dataset) (analyze.Source, error) {
	at := d.Place()
	var src farread.Source
	var err error
	if g, ok := d.Handle().(*farread.GulpDataset); ok {
		src, err = g.Pin()
	} else {
		src, err = d.Source(ctx)
	}
	return analyze.Source{URI: at.URI, ETag: src.ETag, Version: src.Version, Time: src.Time, Size: src.Size, Offset: at.Offset}, err
}

// Items returns the items of a dataset that has some of their own lengths, or nil.
func Items(ctx context.Context, d farread.Dataset) (analyze.ItemReader, error) {
	switch f := d.Handle().(type) {
	case *farread.Bloscpack:
		if !f.Header().Variable {
			return nil, fmt.Errorf("analyze takes a Bloscpack file of items of any length, and this one has chunks of one size: %w", formats.ErrUnsupported)
		}
		if f.Aborted() {
			return nil, &formats.Error{Format: bloscpack.Format, Off: -1, Err: fmt.Errorf("its writing did not end; farread verify --repair saves the items that are there: %w", formats.ErrCorrupt)}
		}
		return f.File, nil
	case *farread.Frame:
		if items, is := d.(farread.Itemer); is && f.Info().VLBlocks {
			err := items.EachItem(ctx, 0, 0, nil) // which counts them
			return frameLines{items}, err
		}
	}
	return nil, nil
}

// frameLines are the items of a frame.
type frameLines struct{ farread.Itemer }

func (f frameLines) Len() int64 { return f.Items() }

func (f frameLines) Each(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	return f.EachItem(ctx, i, j, fn)
}

func (f frameLines) ExplainItems(ctx context.Context, i, j int64) ([]rangeio.Planned, error) {
	p, err := f.Itemer.ExplainItems(ctx, i, j)
	return p.Requests, err
}

// Gulp returns the chunks of a gulp, or nil.
func Gulp(d farread.Dataset) analyze.GulpReader {
	switch g := d.Handle().(type) {
	case *farread.GulpDataset:
		return g.Dataset
	case *farread.Gulp:
		return oneGulp{func(context.Context) (*gulp.Chunk, error) { return g.Chunk, nil }}
	case *farread.GulpByID:
		return oneGulp{func(ctx context.Context) (*gulp.Chunk, error) {
			whole, err := g.Whole(ctx)
			if err != nil {
				return nil, err
			}
			return whole.Chunk, nil
		}}
	}
	return nil
}

// oneGulp is a gulp chunk as a dataset.
type oneGulp struct {
	chunk func(ctx context.Context) (*gulp.Chunk, error)
}

func (oneGulp) Len() int { return 1 }

func (g oneGulp) Chunk(ctx context.Context, _ int) (*gulp.Chunk, error) { return g.chunk(ctx) }

// Open opens the source of a plan and plans the same Work again, with so many bytes of
// memory for states of cells. Another source matches analyze.ErrOtherSource, another
// outcome analyze.ErrOtherPlan, and less memory than it takes formats.ErrTooLarge.
func Open(ctx context.Context, c *farread.Client, p *analyze.Plan, memory int64) (analyze.Work, error) {
	if p.Kind == analyze.KindArray {
		return openArray(ctx, c, p, memory)
	}
	d, err := c.OpenAny(ctx, p.Source.URI, farread.AnyOptions{Offset: p.Source.Offset})
	if err != nil {
		return nil, err
	}
	now, err := Of(ctx, d)
	if err != nil {
		return nil, err
	}
	now.URI = p.Source.URI
	switch p.Kind {
	case analyze.KindSeries:
		if z, ok := d.Handle().(*farread.Zoom); ok {
			return p.OpenSeries(ctx, z.File, now, memory)
		}
	case analyze.KindItems:
		r, err := Items(ctx, d)
		if err != nil {
			return nil, err
		}
		if r != nil {
			return p.OpenItems(r, now, memory)
		}
	case analyze.KindGulp:
		if r := Gulp(d); r != nil {
			return p.OpenGulp(r, now, memory)
		}
	}
	return nil, fmt.Errorf("a plan of kind %.40q, and %s: %w", p.Kind, d.Format(), analyze.ErrOtherSource)
}

// openArray opens an array, with fewer requests than any dataset takes.
func openArray(ctx context.Context, c *farread.Client, p *analyze.Plan, memory int64) (analyze.Work, error) {
	a, err := c.OpenArray(ctx, p.Source.URI, farread.FrameOptions{Offset: p.Source.Offset})
	if err != nil {
		return nil, err
	}
	in := a.Source.Object.Info()
	return p.OpenArray(ctx, a.Array, analyze.Source{
		URI: p.Source.URI, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, Size: in.Size, Offset: p.Source.Offset,
	}, memory)
}
