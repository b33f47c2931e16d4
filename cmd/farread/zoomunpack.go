package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/render"
)

// A zoomColumns is all samples of a file whose tracks are in step. The source of such a
// file was a WAV of several channels, or an array of two axes.
type zoomColumns struct {
	t    *zoomContent
	rows int64
	d    dtype.DType
}

var _ selection = (*zoomColumns)(nil)

// unpack writes the samples of the only track, or the samples of tracks in step as the
// columns of a .npy.
func (t *zoomContent) unpack(ctx context.Context, dst string, force bool) error {
	if len(t.v.Header().Tracks) > 1 {
		x, err := t.columns(ctx, dst)
		if err != nil {
			return err
		}
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	x, err := t.pick(ctx, selector{})
	if err != nil {
		return err
	}
	return t.a.unpackBytes(ctx, x, dst, force)
}

// columns returns the tracks as columns if they have one type, no stamps, and the same
// number of samples. Otherwise it returns an error.
func (t *zoomContent) columns(ctx context.Context, dst string) (*zoomColumns, error) {
	tracks := t.v.Header().Tracks
	alone := func(why string) (*zoomColumns, error) {
		return nil, usagef("%d tracks %s: take one at a time with farread get --track", len(tracks), why)
	}
	if !isNpy(dst) {
		return alone("become the columns of a .npy only")
	}
	first := &tracks[0]
	for i := range tracks {
		k := &tracks[i]
		switch {
		case k.Variable:
			return alone("of which some have stamps")
		case k.Codec.Channels > 0 || k.Codec.Kind == zoomcache.Unit:
			return alone("of which some have other than one value a sample")
		case k.Codec.Kind.ItemType() != first.Codec.Kind.ItemType():
			return alone("of several types")
		case k.Rate != first.Rate:
			return alone("of several rates")
		}
	}
	counts, err := t.known(ctx)
	if err != nil {
		return nil, err
	}
	for i := range counts {
		c, first := &counts[i], &counts[0]
		if c.Samples != first.Samples || c.Samples > 0 && c.Entry != first.Entry {
			return alone("that begin or end apart")
		}
	}
	d, err := dtype.Parse(first.Codec.Kind.ItemType())
	return &zoomColumns{t, counts[0].Samples, d}, err
}

func (x *zoomColumns) total() int64 { return -1 }

func (x *zoomColumns) sink(out string) (sink.Sink, error) { return x.t.a.byteSink(out) }

func (x *zoomColumns) plan(context.Context) error { return nil }

// copy makes one pass over the file.
func (x *zoomColumns) copy(ctx context.Context, w sink.Sink, b bar) error {
	o := render.RowOptions{Type: x.d, Rows: x.rows, Memory: int64(x.t.a.flags.maxMemory) / 4, Wrote: b.add}
	err := render.Rows(w, x.t.v.Header().Tracks, o, func(put func(track int32, v *zoomcache.Values) error) error {
		return x.t.v.EachPacketOfAll(ctx, func(p *zoomcache.Packet) error { return put(p.Track, &p.Values) })
	})
	if errors.Is(err, render.ErrOutOfStep) {
		err = fmt.Errorf("%w: take one at a time with farread get --track", err)
	}
	return err
}
