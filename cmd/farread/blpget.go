package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/npy"
)

// A blpSelection is a run of chunks or items of a Bloscpack file.
type blpSelection struct {
	t        *blpContent
	from, to int64
	n        int64  // decoded bytes, -1: nobody knows
	all      bool   // items were not selected by number or name
	head     []byte // written before the items: the header of a .npy
	want     int64  // bytes that head announces; -1: none
}

var _ selection = (*blpSelection)(nil)

// pick selects chunks or items, by number or by name.
func (t *blpContent) pick(ctx context.Context, s selector) (selection, error) {
	if s.has("slice") && t.arr != nil {
		return nil, fmt.Errorf("slices of arrays in Bloscpack files (unpack to a .npy, pack that to a .b2nd): %w", formats.ErrUnsupported)
	}
	if err := s.only(bloscpack.Format, "item", "chunk", "chunks", "id"); err != nil {
		return nil, err
	}
	given := s.given()
	if len(given) > 1 {
		return nil, usagef("--%s and --%s: only one of them", given[0], given[1])
	}
	if err := t.readable(ctx); err != nil {
		return nil, err
	}
	h := t.f.Header()
	x := &blpSelection{t: t, to: t.f.Len(), n: -1, want: -1}
	var err error
	switch {
	case len(given) == 0:
		x.n, x.all = t.f.NBytes(), true
		return x, nil
	case s.has("id"):
		x.from, err = t.itemOf(s.id)
		x.to = x.from + 1
	case s.has("item") && !h.Variable:
		return nil, usagef("--item: these are chunks of one size; select them with --chunk and --chunks")
	case s.has("item"):
		x.from, err = s.index("item", s.item, t.f.Len())
		x.to = x.from + 1
	default:
		var from, to int
		from, to, err = s.chunkRange(int(t.f.Len()))
		x.from, x.to = int64(from), int64(to)
	}
	if err != nil {
		return nil, err
	}
	if x.from == x.to {
		x.n = 0
	}
	return x, nil
}

// index resolves a number against the number of items; negative ones count from the
// end.
func (s selector) index(what string, i, n int64) (int64, error) {
	at := i
	if at < 0 {
		at += n
	}
	if at < 0 || at >= n {
		return 0, fmt.Errorf("%s %d of %d: %w", what, i, n, formats.ErrNoEntry)
	}
	return at, nil
}

func (x *blpSelection) total() int64 { return x.n }

// sink makes the file OUT. A whole array goes behind a header into a .npy, in the
// order of its chunks.
func (x *blpSelection) sink(out string) (sink.Sink, error) {
	var err error
	switch kind := x.t.f.Contents().Kind; { // other items may have any type
	case x.t.arr != nil:
		err = notArrayNamed(out)
	case kind == bloscpack.KindLines, kind == bloscpack.KindJSONL:
		err = notNamed(out, linesGo)
	}
	if err != nil {
		return nil, err
	}
	if isNpy(out) && x.all {
		if err := x.asNpy(); err != nil {
			return nil, err
		}
	}
	return x.t.a.byteSink(out)
}

// asNpy puts the header of a .npy before the chunks of an array.
func (x *blpSelection) asNpy() (err error) {
	if x.t.arr == nil {
		return x.t.arrErr
	}
	if x.want, err = x.t.npyHeader().NBytes(); err != nil {
		return err
	}
	x.head, err = npy.AppendHeader(nil, x.t.npyHeader())
	return err
}

// npyHeader is the header of the array's .npy.
func (t *blpContent) npyHeader() npy.Header {
	return npy.Header{DType: t.arr.DType, Shape: t.arr.Shape, Fortran: t.arr.Fortran}
}

const fileBuffer = 256 << 10 // items may be short

func (x *blpSelection) copy(ctx context.Context, s sink.Sink, b bar) error {
	w := bufio.NewWriterSize(s, fileBuffer)
	if _, err := w.Write(x.head); err != nil {
		return err
	}
	var n int64
	err := x.each(ctx, func(_ int64, p []byte) error {
		n += int64(len(p))
		b.add(int64(len(p)))
		_, err := w.Write(p)
		return err
	})
	if err == nil && x.want >= 0 && n != x.want {
		err = &formats.Error{Format: bloscpack.Format, Part: "metadata", Off: -1,
			Err: fmt.Errorf("an array of %d bytes, the chunks have %d: %w", x.want, n, formats.ErrCorrupt)}
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// each reads the items in order. A single one is read alone; many come through
// a writer that gathers them.
func (x *blpSelection) each(ctx context.Context, fn func(i int64, p []byte) error) error {
	if x.to-x.from != 1 {
		return x.t.f.Each(ctx, x.from, x.to, fn)
	}
	p, err := x.t.f.AppendItem(ctx, nil, x.from)
	if err != nil {
		return err
	}
	return fn(x.from, p)
}

// plan notes the requests that copy would make, behind those that were really made.
func (x *blpSelection) plan(ctx context.Context) error {
	items, err := able[farread.Itemer](&x.t.opened)
	if err != nil {
		return err
	}
	p, err := items.ExplainItems(ctx, x.from, x.to)
	x.t.follow(p)
	return err
}

// blpOptions are how a Bloscpack file is opened.
func blpOptions(how aim) bloscpack.Options {
	return bloscpack.Options{NoVerify: how.noVerify, Item: how.item}
}
