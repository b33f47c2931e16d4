package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

// A zoomColumns is all samples of a file whose tracks are in step: its source was a
// WAV of several channels, or an array of two axes.
type zoomColumns struct {
	t    *zoomContent
	rows int64
	d    dtype.DType
}

var _ selection = (*zoomColumns)(nil)

// unpack writes the samples of the only track, or the samples of tracks in step as the
// columns of a .npy.
func (t *zoomContent) unpack(ctx context.Context, dst string, force bool) error {
	if len(t.f.Header().Tracks) > 1 {
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

// columns says whether the tracks can be columns: of one type, without stamps, and of
// as many samples each.
func (t *zoomContent) columns(ctx context.Context, dst string) (*zoomColumns, error) {
	tracks := t.f.Header().Tracks
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
		case zoomDType(k.Codec.Kind) != zoomDType(first.Codec.Kind):
			return alone("of several types")
		case k.Rate != first.Rate:
			return alone("of several rates")
		}
	}
	counts, ok, err := t.counts(ctx, false)
	if err == nil && !ok {
		counts, _, err = t.counts(ctx, true)
	}
	if err != nil {
		return nil, err
	}
	for i := range counts {
		c, first := &counts[i], &counts[0]
		if c.Samples != first.Samples || c.Samples > 0 && c.Entry != first.Entry {
			return alone("that begin or end apart")
		}
	}
	d, err := dtype.Parse(zoomDType(first.Codec.Kind))
	return &zoomColumns{t, counts[0].Samples, d}, err
}

func (x *zoomColumns) shape() []int64 {
	return []int64{x.rows, int64(len(x.t.f.Header().Tracks))}
}

func (x *zoomColumns) total() int64 { return -1 }

func (x *zoomColumns) sink(out string) (sink.Sink, error) { return x.t.a.byteSink(out) }

func (x *zoomColumns) plan(context.Context) error { return nil }

// copy goes once over the file. Samples wait for those of the other tracks: a packet
// of each if the tracks were written in step.
func (x *zoomColumns) copy(ctx context.Context, s sink.Sink, b bar) error {
	head, err := npy.AppendHeader(nil, npy.Header{DType: x.d, Shape: x.shape()})
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(s, fileBuffer)
	if _, err := w.Write(head); err != nil {
		return err
	}
	j := &joiner{w: w, bar: b, item: x.d.ItemSize(), most: int64(x.t.a.flags.maxMemory) / 4, place: map[int32]int{}}
	for i, k := range x.t.f.Header().Tracks {
		j.place[k.Number] = i
		j.wait = append(j.wait, nil)
	}
	var p zoomcache.Packet
	err = x.t.f.EachBlock(ctx, func(blk zoomcache.Block, k *zoomcache.Track, content []byte) error {
		if k == nil || blk.Summary {
			return nil
		}
		if err := k.DecodePacket(&p, blk, content, x.t.f.Limits()); err != nil {
			return err
		}
		return j.add(k.Number, &p)
	})
	if err != nil {
		return err
	}
	if j.rows != x.rows {
		return &formats.Error{Format: zoomcache.Format, Off: -1, Err: fmt.Errorf("%d rows of samples, and counted were %d: %w", j.rows, x.rows, formats.ErrCorrupt)}
	}
	return w.Flush()
}

// A joiner makes rows of the samples of several tracks.
type joiner struct {
	w     *bufio.Writer
	bar   bar
	item  int
	most  int64 // bytes that may wait
	place map[int32]int
	wait  [][]byte // of each track
	held  int64
	rows  int64
}

// add takes the samples of a packet, and writes all complete rows.
func (j *joiner) add(track int32, p *zoomcache.Packet) error {
	i := j.place[track]
	before := len(j.wait[i])
	j.wait[i] = appendValues(j.wait[i], &p.Values)
	if j.held += int64(len(j.wait[i]) - before); j.held > j.most {
		return fmt.Errorf("tracks so far out of step: %w: take one at a time with farread get --track", formats.ErrTooLarge)
	}
	whole := len(j.wait[0])
	for _, q := range j.wait {
		whole = min(whole, len(q))
	}
	for at := 0; at < whole; at += j.item {
		for _, q := range j.wait {
			if _, err := j.w.Write(q[at : at+j.item]); err != nil {
				return err
			}
		}
	}
	if whole == 0 {
		return nil
	}
	for k, q := range j.wait {
		j.wait[k] = append(q[:0], q[whole:]...)
	}
	n := int64(whole) * int64(len(j.wait))
	j.held -= n
	j.rows += int64(whole / j.item)
	j.bar.add(n)
	return nil
}
