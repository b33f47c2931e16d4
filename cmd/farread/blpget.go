package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/npy"
)

// A blpSelection is a run of chunks or items of a Bloscpack file.
type blpSelection struct {
	t        *blpContent
	from, to int64
	n        int64  // decoded bytes; -1: unknown
	all      bool   // items were not selected by number or name
	head     []byte // bytes written before the items: the header of a .npy
	want     int64  // bytes of items that head announces; -1: none
}

var _ selection = (*blpSelection)(nil)

// pick selects chunks or items, by number or by name.
func (t *blpContent) pick(_ context.Context, s selector) (selection, error) {
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
	if err := refusal(t.d); err != nil {
		return nil, err
	}
	x := &blpSelection{t: t, to: t.count(), n: -1, want: -1}
	var err error
	switch {
	case len(given) == 0:
		x.n, x.all = t.n, true
		return x, nil
	case s.has("id"):
		x.from, err = t.itemOf(s.id)
		x.to = x.from + 1
	case s.has("item") && !t.in.Variable:
		return nil, usagef("--item: these are chunks of one size; select them with --chunk and --chunks")
	case s.has("item"):
		x.from, err = s.index("item", s.item, t.count())
		x.to = x.from + 1
	default:
		x.from, x.to, err = s.chunkRange(t.count())
	}
	if err != nil {
		return nil, err
	}
	if x.from == x.to {
		x.n = 0
	}
	return x, nil
}

// index resolves a number against the number of items. A negative number counts from
// the end.
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

// sink makes the file OUT. If OUT is a .npy and the selection is a whole array, the
// file has a header and then the chunks of the array in order.
func (x *blpSelection) sink(out string) (sink.Sink, error) {
	var err error
	switch kind := x.t.in.Contents.Kind; { // items of other kinds may have any type
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

// asNpy sets the header of a .npy, which is written before the chunks of the array.
func (x *blpSelection) asNpy() (err error) {
	if x.t.arr == nil {
		return x.t.in.ArrayErr
	}
	if x.want, err = x.t.npyHeader().NBytes(); err != nil {
		return err
	}
	x.head, err = npy.AppendHeader(nil, x.t.npyHeader())
	return err
}

// npyHeader returns the header of the array's .npy.
func (t *blpContent) npyHeader() npy.Header {
	return npy.Header{DType: t.arr.DType, Shape: t.arr.Shape, Fortran: t.arr.Fortran}
}

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

// each reads the items in order. It reads a single item alone. Many items come through
// a writer that gathers them.
func (x *blpSelection) each(ctx context.Context, fn func(i int64, p []byte) error) error {
	if x.to-x.from != 1 {
		return x.t.items.EachItem(ctx, x.from, x.to, fn)
	}
	p, err := x.t.items.AppendItem(ctx, nil, x.from)
	if err != nil {
		return err
	}
	return fn(x.from, p)
}

// plan notes the requests that copy would make, after the requests that were made.
func (x *blpSelection) plan(ctx context.Context) error {
	p, err := x.t.items.ExplainItems(ctx, x.from, x.to)
	x.t.follow(p)
	return err
}

// blpOptions returns the options for opening a Bloscpack file.
func blpOptions(how aim) bloscpack.Options {
	return bloscpack.Options{NoVerify: how.noVerify, Item: how.item}
}
