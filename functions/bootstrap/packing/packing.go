// Package packing wires the function that packs by parts: plans name their sources, and a
// client opens them.
package packing

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/bootstrap"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/packs"
	"github.com/farread/farread/functions/parts"
)

// A packer makes the Work of plans.
type packer struct {
	client  *farread.Client
	buckets *bootstrap.Buckets
	memory  int64
}

// Function makes the function. It makes no request.
func Function(c bootstrap.CallConfig, log *slog.Logger) *parts.Function {
	b := &bootstrap.Buckets{Log: log, NoHedge: c.NoHedge}
	x := packer{farread.New(farread.Config{MaxMemory: c.Memory / 4, NoHedge: c.NoHedge, Logger: log}), b, c.Memory}
	return &parts.Function{Buckets: b.Open, Log: log, Open: x.open}
}

// open makes the Work of a plan of any kind.
func (x packer) open(ctx context.Context, dir parts.Folder, head *parts.Plan) (parts.Work, error) {
	switch head.Kind {
	case packs.KindArray:
		return x.array(ctx, dir, head)
	case pack.KindChunks:
		return x.chunks(dir, head) //nolint:contextcheck // the clients of buckets outlive the call
	default:
		return nil, fmt.Errorf("a plan of kind %.40q: %w", head.Kind, formats.ErrUnsupported)
	}
}

// array opens the source of one array.
func (x packer) array(ctx context.Context, dir parts.Folder, head *parts.Plan) (parts.Work, error) {
	p, err := packs.ParseArrayPlan(head)
	if err != nil {
		return nil, err
	}
	a, now, err := x.source(ctx, p)
	if err != nil {
		return nil, err
	}
	o := p.Array.Write()
	o.Write.MaxMemory = x.memory / 4 // two parts are made at a time
	d, err := a.Divide(o)
	if err != nil {
		return nil, err
	}
	out, err := x.buckets.Open(p.Array.Bucket) //nolint:contextcheck // the clients of buckets outlive the call
	if err != nil {
		return nil, err
	}
	return p.Open(d, now, dir, out)
}

// source opens what is packed.
func (x packer) source(ctx context.Context, p *packs.ArrayPlan) (a pack.Array, now analyze.Source, err error) {
	uri := p.Source.URI
	switch q := &p.Array; {
	case q.Items != nil:
		ob, err := x.client.Open(ctx, uri)
		if err != nil {
			return a, now, err
		}
		now = packs.SourceOf(uri, ob.Info())
		if err := p.Source.Check(now); err != nil { // else the error would be about where items lie
			return a, now, err
		}
		a, err = pack.ArrayAt(ob, *q.Items)
		return a, now, err
	case q.Zarr:
		n, err := x.client.OpenZarr(ctx, uri, zarr.Options{DeniedIsAbsent: q.DeniedIsAbsent})
		if err == nil && n.Array == nil {
			err = fmt.Errorf("%s: a group now: %w", uri, analyze.ErrOtherSource)
		}
		if err != nil {
			return a, now, err
		}
		return pack.ZarrArray("", n.Array), analyze.Source{URI: uri}, nil
	}
	arr, err := x.client.OpenArray(ctx, uri, farread.FrameOptions{})
	if err != nil {
		return a, now, err
	}
	layers, err := arr.Source.VLMetalayers(ctx)
	return pack.StoredArray(arr.Array, layers), packs.SourceOf(uri, arr.Source.Object.Info()), err
}
