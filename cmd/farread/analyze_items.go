package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
	"github.com/farread/farread/rangeio"
)

// An itemsQuestion is the flags of analyze that only items with fields have.
type itemsQuestion struct {
	match string
	group []string
	set   *pflag.FlagSet
}

func (q *itemsQuestion) register(f *pflag.FlagSet) {
	q.set = newFlags()
	q.set.StringVar(&q.match, "match", "", "only items, such as lines, in which `REGEXP` is found, in the syntax of Go")
	q.set.StringSliceVar(&q.group, "group", nil, "answers for each value of these fields of items: `PATHS` such as .path or .req.host,.status")
	f.AddFlagSet(q.set)
}

// onlyArrays and onlyItems are the flags of analyze that suit one kind of data.
var (
	onlyArrays = []string{"over", "every", "coarsen", "nearest"}
	onlyItems  = []string{"match", "group"}
)

// unfit refuses flags that do not suit what is analyzed.
func (x *analysis) unfit(names []string, what string) error {
	for _, name := range names {
		if x.flags.Changed(name) {
			return usagef("--%s does not suit %s", name, what)
		}
	}
	return nil
}

// whereFields parses --where for fields of items.
func (x *analysis) whereFields() (*predicate.Values, error) {
	if !x.sel.has("where") {
		return nil, nil
	}
	v, err := predicate.ParseValues(x.sel.where)
	if err != nil {
		return nil, ofWhere(err)
	}
	return v, nil
}

// grouped checks what is asked of items or images.
func (x *analysis) grouped(what, format string) error {
	if err := x.unfit(onlyArrays, what); err != nil {
		return err
	}
	if x.sel.slice != nil {
		return usagef("a SLICE does not suit %s", what)
	}
	if len(x.items.group) > 0 && slices.Contains([]string{render.Npy, render.B2nd}, format) {
		return usagef("--group: arrays have no names for groups; want json, csv or text")
	}
	return nil
}

// lines plans the analysis of the items of a Bloscpack file, or of a frame.
func (x *analysis) lines(ctx context.Context, d farread.Dataset, r analyze.ItemReader, list []analyze.Stat, format string) (analyze.Work, error) {
	if err := x.grouped("items", format); err != nil {
		return nil, err
	}
	src, err := d.Source(ctx)
	if err != nil {
		return nil, err
	}
	o := analyze.ItemsOptions{
		Stats: list, Group: x.items.group, Bytes: src.Size, PartBytes: int64(x.part), Memory: int64(x.a.flags.maxMemory) / 2,
		Source: x.sourceOf(d.Place().URI, src).String(),
	}
	if o.Where, err = x.whereFields(); err != nil {
		return nil, err
	}
	if o.Match, err = x.matching(); err != nil {
		return nil, err
	}
	j, err := analyze.NewItems(r, o)
	return j, ofGroups(err)
}

// images plans the analysis of the images of a gulp, by what its indexes say.
func (x *analysis) images(ctx context.Context, t *gulpContent, list []analyze.Stat, format string) (analyze.Work, error) {
	if err := x.grouped("images", format); err != nil {
		return nil, err
	}
	src, err := t.d.Source(ctx)
	if err != nil {
		return nil, err
	}
	o := analyze.GulpOptions{
		Stats: list, Group: x.items.group, Bytes: t.n.MetaBytes, Memory: int64(x.a.flags.maxMemory) / 2, Source: x.sourceOf(t.uri, src).String(),
	}
	if o.Where, err = x.whereFields(); err != nil {
		return nil, err
	}
	if o.Match, err = x.matching(); err != nil {
		return nil, err
	}
	var r analyze.GulpReader
	switch g := t.d.Handle().(type) {
	case *farread.GulpDataset:
		r = g.Dataset
	case *farread.Gulp:
		r = oneGulp{func(context.Context) (*gulp.Chunk, error) { return g.Chunk, nil }}
	case *farread.GulpByID:
		r = oneGulp{func(ctx context.Context) (*gulp.Chunk, error) {
			whole, err := g.Whole(ctx)
			if err != nil {
				return nil, err
			}
			return whole.Chunk, nil
		}}
	default:
		return nil, fmt.Errorf("a gulp without chunks: %w", formats.ErrUnsupported)
	}
	j, err := analyze.NewGulp(r, o)
	return j, ofGroups(err)
}

// oneGulp is a gulp chunk as a dataset.
type oneGulp struct {
	chunk func(ctx context.Context) (*gulp.Chunk, error)
}

func (oneGulp) Len() int { return 1 }

func (g oneGulp) Chunk(ctx context.Context, _ int) (*gulp.Chunk, error) { return g.chunk(ctx) }

// matching parses --match.
func (x *analysis) matching() (*regexp.Regexp, error) {
	if x.items.match == "" {
		return nil, nil
	}
	m, err := regexp.Compile(x.items.match)
	if err != nil {
		return nil, usagef("--match: %s", human.Printable(err.Error()))
	}
	return m, nil
}

// sourceOf names the bytes that are analyzed.
func (x *analysis) sourceOf(uri string, src farread.Source) analyze.Source {
	return analyze.Source{URI: uri, ETag: src.ETag, Version: src.Version, Time: src.Time, Size: src.Size, Offset: x.how.offset}
}

// ofGroups words an error about --stats and --group.
func ofGroups(err error) error {
	switch {
	case errors.Is(err, analyze.ErrQuestion):
		return usagef("--stats, --group: %s", human.Printable(strings.TrimPrefix(err.Error(), analyze.ErrQuestion.Error()+": ")))
	case errors.Is(err, analyze.ErrGroups):
		return fmt.Errorf("%w; a field with fewer values, --where, or more --max-memory would help", err)
	}
	return err
}

// itemsOf returns the items of a dataset that has some of their own lengths, or nil.
func itemsOf(ctx context.Context, c content) (analyze.ItemReader, error) {
	switch t := c.(type) {
	case *blpContent:
		if h := t.f.Header(); !h.Variable {
			return nil, fmt.Errorf("analyze takes a Bloscpack file of items of any length, and this one has chunks of one size: %w", formats.ErrUnsupported)
		}
		if t.f.Aborted() {
			return nil, &formats.Error{Format: bloscpack.Format, Off: -1, Err: fmt.Errorf("its writing did not end; farread verify --repair saves the items that are there: %w", formats.ErrCorrupt)}
		}
		return t.f.File, nil
	case *frameContent:
		f, ok := t.d.Handle().(*farread.Frame)
		if items, is := t.d.(farread.Itemer); ok && is && f.Info().VLBlocks {
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

// skipped tells that items were passed over.
func (x *analysis) skipped(uri string, a *analyze.Answers) {
	switch {
	case a == nil: // a stream of an array
	case a.Skipped == 1:
		x.a.warn(uri, "1 item is no JSON, and was passed over")
	case a.Skipped > 1:
		x.a.warn(uri, human.Count(a.Skipped)+" items are no JSON, and were passed over")
	}
}
