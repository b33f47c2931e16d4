package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/internal/render"
	"github.com/farread/farread/rangeio"
)

// An itemSelection is a box of an array, or one member of its items.
type itemSelection struct {
	t     *frameContent
	box   b2nd.Box
	field *dtype.Field
	dtype dtype.DType // type of the selected items
	shape []int64     // shape of the selected items
	// fortran says that the whole array is written with the first axis running fastest.
	fortran bool
	format  string   // format of the output file
	columns int      // of the screen, on which a person reads it at once; 0: the output is none
	corners *corners // the items that a screen shows of too many; nil: all are read
	s       selector
}

var _ selection = (*itemSelection)(nil)

// items resolves a selector against an array.
func (t *frameContent) items(ctx context.Context, s selector) (selection, error) {
	x, err := t.selected(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.has("where") {
		return x.search()
	}
	return x, nil
}

// selected resolves a selector but for --where.
func (t *frameContent) selected(ctx context.Context, s selector) (*itemSelection, error) {
	box, err := t.box(ctx, s)
	if err != nil {
		return nil, err
	}
	x := &itemSelection{t: t, box: box, dtype: t.arr.DType(), shape: slices.Clone(box.OutShape), s: s}
	// If items have no members, --dtype may give them members, and applies before
	// --field. Otherwise --dtype applies to the member.
	first := s.has("dtype") && x.dtype.Kind() != dtype.Struct
	if first {
		if err := x.view(); err != nil {
			return nil, err
		}
	}
	if s.has("field") {
		f, ok := x.dtype.Field(s.field)
		if !ok {
			return nil, &formats.Error{Format: b2nd.Format, Part: fmt.Sprintf("field %q", s.field), Off: -1,
				Err: fmt.Errorf("items are %s: %w", x.dtype, formats.ErrNoEntry)}
		}
		x.field, x.dtype = &f, f.Type
		for _, n := range f.Shape {
			x.shape = append(x.shape, int64(n))
		}
	}
	if s.has("dtype") && !first {
		if err := x.view(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// box resolves the slice of a selector, by coordinates if it has labels.
func (t *frameContent) box(ctx context.Context, s selector) (b2nd.Box, error) {
	if !arraymeta.HasLabels(s.sliceText) {
		return boxOf(s.slice, t.arr.Shape())
	}
	l, ok := t.arr.(farread.Labeler)
	if !ok {
		return b2nd.Box{}, usagef("a %s has no coordinates: select by position, or pack it with --dims and --coord", t.d.Format())
	}
	return l.Select(ctx, s.sliceText, farread.SelectOptions{Nearest: s.nearest})
}

// view changes the type of the items to the one of --dtype.
func (x *itemSelection) view() error {
	as, err := dtype.Parse(x.s.dtype)
	if err != nil {
		return usagef("--dtype %q: %s", x.s.dtype, err)
	}
	if x.dtype, err = x.dtype.View(as); err != nil {
		return usagef("--dtype %s: %s", x.s.dtype, err)
	}
	return nil
}

// itemSize returns the bytes of a selected item: of its type, or of the whole member.
func (x *itemSelection) itemSize() int64 {
	if x.field != nil {
		return int64(x.field.Size())
	}
	return x.whole()
}

// whole returns the bytes of a stored item.
func (x *itemSelection) whole() int64 { return int64(x.t.arr.DType().ItemSize()) }

func (x *itemSelection) size(box b2nd.Box) int64 {
	n, err := box.Items()
	if err != nil {
		return -1
	}
	return n * x.itemSize()
}

func (x *itemSelection) total() int64 { return x.size(x.box) }

// sink makes the file OUT. The name of OUT or --format determines its format.
func (x *itemSelection) sink(out string) (sink.Sink, error) {
	if x.s.slice == nil {
		if err := notArrayNamed(out); err != nil {
			return nil, err
		}
	} else if err := notForeign(out, sliceGoes()); err != nil {
		return nil, err
	}
	var err error
	if x.format, err = formatOf(out, x.s); err != nil {
		return nil, err
	}
	if x.s.slice == nil && x.t.a.columns(out) > 0 && x.s.format == "" { // bytes tell a person nothing
		x.format = render.Text
	}
	if given := changed(x.s.picture.flags); len(given) > 0 && x.format != render.PNG {
		return nil, usagef("--%s goes with .png and --format png", given[0])
	}
	x.columns = x.t.a.columns(out)
	if err := x.abridge(); err != nil {
		return nil, err
	}
	return x.t.a.byteSink(out)
}

// slab returns the number of bytes of items that are read at a time. Usually it is a
// window. Blocks may lie across the order of the items in such a way that every read of
// a window would read each block again; then slab returns more, if memory has room.
func (x *itemSelection) slab() int64 {
	most, window := int64(x.t.a.flags.maxMemory), x.t.a.window()
	need := x.row()
	switch all := x.all(); {
	case need <= window:
		return window
	case need <= most/4: // another slab is written at the same time
		return need
	case all <= most/2:
		return all
	}
	return window
}

// row returns the bytes of the smallest run of whole rows that cuts no block. Shorter
// reads would decode blocks twice.
func (x *itemSelection) row() int64 {
	counts := x.box.Counts()
	row := x.whole()
	_, block := x.t.arr.Cells()
	need := row
	for i := len(counts) - 1; i >= 0; i-- {
		step := x.box.Step[i]
		if several := min((int64(block[i])-1)/max(step, -step)+1, counts[i]); several > 1 {
			need = times(row, several)
		}
		row = times(row, max(counts[i], 1))
	}
	return need
}

// times multiplies sizes. If the product is beyond int64, it returns the largest int64.
func times(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// all returns the bytes of the selected items with all of their members.
func (x *itemSelection) all() int64 {
	n, err := x.box.Items()
	if err != nil {
		return math.MaxInt64
	}
	return times(x.whole(), max(n, 1))
}

func (x *itemSelection) copy(ctx context.Context, w sink.Sink, b bar) error {
	o := render.ArrayOptions{Format: x.format, Fortran: x.fortran, Columns: x.columns, Picture: x.s.picture.options(), Memory: int64(x.t.a.flags.maxMemory) / 4}
	if o.Format == render.B2nd {
		var err error
		if o.Layers, err = x.layers(ctx); err != nil {
			return err
		}
	}
	shape := x.shape
	if x.corners != nil {
		o.Short, shape = true, x.corners.shape(x.shape, len(x.box.OutShape))
	}
	err := render.Array(w, x.dtype, shape, o, func(put func(p []byte) error) error {
		if x.total() <= 0 {
			return nil
		}
		if x.corners != nil {
			p, err := x.corners.read(ctx, x)
			if err != nil {
				return err
			}
			return put(p)
		}
		return x.each(ctx, func(p []byte) error {
			b.add(int64(len(p)))
			return put(p)
		})
	})
	if err == nil && x.corners == nil {
		x.remark()
	}
	return err
}

// A slice is remarked on if so many times the bytes of its items were read, and at least so many
// bytes, which take about a tenth of a second.
const (
	wasteful     = 1000
	worthARemark = 8 << 20
)

// remark says so if a slice took far more bytes than it has: the chunks are cut for others. With
// --stats the numbers tell, and programs read that line alone.
func (x *itemSelection) remark() {
	a := x.t.a
	read, has := a.counter.Stats().Bytes, x.total()
	if x.s.slice == nil || has <= 0 || read < worthARemark || read/wasteful < has || a.flags.json || a.flags.stats {
		return
	}
	a.warn(x.t.uri, fmt.Sprintf("read %s for %s: see farread advise %s %s", human.Size(read), human.Size(has), quoted(x.t.uri), quoted(strings.TrimSpace(x.s.sliceText))))
}

// layers returns the metalayers that say what the selected items mean.
func (x *itemSelection) layers(ctx context.Context) ([]cframe.Metalayer, error) {
	l, ok := x.t.arr.(farread.Labeler)
	if !ok {
		return nil, nil
	}
	m, err := l.Meaning(ctx)
	if err != nil {
		return nil, err
	}
	m = m.Cut(x.t.arr.Shape(), x.box)
	if x.field != nil && x.field.Shape != nil {
		m.Dims, m.Coords = nil, nil
	}
	if x.field != nil || x.s.has("dtype") {
		m.Fill = nil
	}
	if m.Empty() {
		return nil, nil
	}
	data, err := m.Append(nil)
	return []cframe.Metalayer{{Name: arraymeta.Layer, Data: data}}, err
}

// each reads the items in the order of the file, in bounded memory.
func (x *itemSelection) each(ctx context.Context, fn func(p []byte) error) error {
	if !x.fortran {
		return x.t.arr.EachSlab(ctx, x.box, x.slab(), x.field, func(_ b2nd.Box, p []byte) error { return fn(p) })
	}
	chunk, _ := x.t.arr.Cells()
	return pull.Ahead(rangeio.OnePhase(ctx), render.Columns(x.shape, chunk, x.itemSize(), x.t.a.window()), 0, x.size,
		func(ctx context.Context, box b2nd.Box, p []byte) error {
			return render.ReadColumns(ctx, x.t.arr, x.t.arr.DType().ItemSize(), box, p)
		}, fn)
}

func (x *itemSelection) plan(ctx context.Context) error {
	if x.total() == 0 {
		return nil
	}
	p, err := x.t.arr.ExplainSlabs(ctx, x.box, x.slab())
	x.t.follow(p)
	return err
}

// formatOf returns the format of the items: the one of --format, or else the one of
// OUT's suffix. get writes plain bytes into every file except a .npy.
func formatOf(out string, s selector) (string, error) {
	ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	switch {
	case s.format != "":
		return s.format, nil
	case s.slice == nil:
		if ext == render.Npy {
			return ext, nil
		}
		return render.Raw, nil
	case out == "-":
		return render.Text, nil
	case slices.Contains(render.Arrays(), ext):
		return ext, nil
	}
	return "", usagef("-o %s: %s, or --format", human.Printable(out), sliceGoes())
}

// sliceGoes says what slice writes.
func sliceGoes() string { return "want a name that ends in ." + strings.Join(render.Arrays(), ", .") }
