package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// A searchSelection is the items of a box of an array that match a comparison. It is
// written as records: the index of an item in the array, and the item.
type searchSelection struct {
	*itemSelection

	arr    farread.Searcher
	p      *predicate.Predicate
	record dtype.DType
}

var _ selection = (*searchSelection)(nil)

func (s *itemSelector) ofLabels(f *pflag.FlagSet) {
	f.BoolVar(&s.nearest, "nearest", false, "the nearest item of NAME=LABEL in a slice, where none is equal")
}

func (s *itemSelector) ofValues(f *pflag.FlagSet) {
	s.ofLabels(f)
	f.StringVar(&s.where, "where", "", "only items that match `EXPR`, with their indexes: 'v > 3', 'temp < -5 and not flag == 0'; see slice --help")
}

// search selects the items of x that match --where.
func (x *itemSelection) search() (*searchSelection, error) {
	if x.s.has("dtype") {
		return nil, usagef("--where compares items as they are stored: it takes no --dtype")
	}
	e, err := predicate.Parse(x.s.where)
	if err != nil {
		return nil, ofWhere(err)
	}
	s := &searchSelection{itemSelection: x}
	if s.arr, err = able[farread.Searcher](&x.t.opened); err != nil {
		return nil, err
	}
	if s.p, err = e.Bind(s.arr.DType()); err != nil {
		return nil, ofWhere(err)
	}
	s.record, err = render.HitType(len(x.box.Start), x.dtype, x.field)
	return s, err
}

// ofWhere words an error about the text of --where.
func ofWhere(err error) error {
	if errors.Is(err, predicate.ErrSyntax) {
		return usagef("--%s", human.Printable(err.Error()))
	}
	return fmt.Errorf("--%w", err)
}

func (s *searchSelection) total() int64 { return -1 }

func (s *searchSelection) sink(out string) (sink.Sink, error) {
	format, err := formatOf(out, s.s)
	if err != nil {
		return nil, err
	}
	if s.format = format; format != render.Text && !slices.Contains(render.HitFormats(), format) {
		return nil, usagef("items that match --where are written as %s or text, not as %s", strings.Join(render.HitFormats(), ", "), format)
	}
	if given := changed(s.s.picture.flags); len(given) > 0 {
		return nil, usagef("--%s goes with .png and --format png", given[0])
	}
	s.columns = s.t.a.columns(out)
	return s.t.a.byteSink(out)
}

// options returns the memory of a search: half of what two windows take elsewhere, since
// what matches is held beside what was read.
func (s *searchSelection) options() b2nd.SearchOptions {
	return b2nd.SearchOptions{Memory: s.t.a.window()}
}

func (s *searchSelection) copy(ctx context.Context, w sink.Sink, b bar) error {
	o := render.HitOptions{Format: s.format, Columns: s.columns, Off: 8 * len(s.box.Start), Memory: int64(s.t.a.flags.maxMemory) / 4}
	if f, ok := w.(*sink.File); ok {
		o.Again = f.Again()
	}
	err := render.Hits(w, s.record, o, func(put func(p []byte) error) error {
		var buf []byte
		r, err := s.arr.Search(ctx, s.box, s.p, s.options(), func(h b2nd.Hit) error {
			buf = render.AppendHits(buf[:0], s.box, h, int(s.whole()), s.field)
			b.add(int64(len(buf)))
			return put(buf)
		})
		s.t.a.searched(r)
		return err
	})
	if errors.Is(err, render.ErrManyHits) {
		return fmt.Errorf("%w: write a file, or --format csv", err)
	}
	return err
}

func (s *searchSelection) plan(ctx context.Context) error {
	p, r, err := s.arr.ExplainSearch(ctx, s.box, s.p, s.options())
	s.t.follow(p)
	s.t.a.searched(r)
	return err
}

// searched notes what a search has read, for --stats and explain. It tells a person if there
// are statistics that could not be used.
func (a *app) searched(r b2nd.SearchReport) {
	a.search = &r
	if r.Unused == "" || a.flags.quiet {
		return
	}
	todo := "farread index --ranges --force makes them anew"
	if x := farread.FindUnusedIndex(a.opened); x != nil {
		todo = a.remedy(x)
	} else if arr, ok := a.opened.Handle().(*farread.Array); ok && arr.Source.KnownIndex().Inside {
		todo = "they lie inside: pack the array anew"
	}
	fmt.Fprintf(a.stderr, "the statistics are not used, and everything is read: %s; %s\n", human.Printable(r.Unused), todo)
}

// searchText says in words what a search reads.
func searchText(r b2nd.SearchReport) string {
	if !r.Statistics {
		return "no statistics: everything is read (farread index --ranges makes them)"
	}
	return fmt.Sprintf("by statistics %s of %s and %s of %s", human.Count(r.ChunksRead), human.Plural(r.Chunks, "chunk"),
		human.Count(r.BlocksRead), human.Plural(r.Blocks, "block"))
}
