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
	"github.com/farread/farread/analyze/origin"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
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
		return usagef("--group: arrays have no names for groups; want json, csv, parquet or text")
	}
	return nil
}

// lines plans the analysis of the items of a Bloscpack file, or of a frame.
func (x *analysis) lines(ctx context.Context, d farread.Dataset, r analyze.ItemReader, list []analyze.Stat, format string) (analyze.Work, error) {
	if err := x.grouped("items", format); err != nil {
		return nil, err
	}
	err := x.identify(ctx, d)
	if err != nil {
		return nil, err
	}
	o := analyze.ItemsOptions{
		Stats: list, Group: x.items.group, Bytes: x.source.Size, PartBytes: int64(x.part), Memory: int64(x.a.flags.maxMemory) / 2,
		Source: x.source.String(),
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
	err := x.identify(ctx, t.d)
	if err != nil {
		return nil, err
	}
	o := analyze.GulpOptions{
		Stats: list, Group: x.items.group, Bytes: t.n.MetaBytes, Memory: int64(x.a.flags.maxMemory) / 2, Source: x.source.String(),
	}
	if o.Where, err = x.whereFields(); err != nil {
		return nil, err
	}
	if o.Match, err = x.matching(); err != nil {
		return nil, err
	}
	r := origin.Gulp(t.d)
	if r == nil {
		return nil, fmt.Errorf("a gulp without chunks: %w", formats.ErrUnsupported)
	}
	j, err := analyze.NewGulp(r, o)
	return j, ofGroups(err)
}

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

// identify notes which bytes of a dataset are analyzed.
func (x *analysis) identify(ctx context.Context, d farread.Dataset) (err error) {
	x.source, err = origin.Of(ctx, d)
	return err
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
