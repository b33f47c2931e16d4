package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// The parts of the array that clients read: all of it, a plane, a point.
var zarrParts = []struct{ name, at string }{{"full read", ":,:,:"}, {"plane", "100,:,:"}, {"point", "100:101,200:201,300:301"}}

// zarrRun is what one reader took of one part, in each round.
type zarrRun struct {
	cold, again []time.Duration
	cpu         time.Duration // of the gateway, the least
	requests    int64         // at the source, of the last round
	more        int64         // of the second read
	work        work
}

// servedZarr: zarr-python reads an array through the gateway, beside a Zarr store of the
// same array in the same chunks at the same source, 30 ms away.
func servedZarr(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.zarr(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("zarr")
	if err != nil {
		return nil, err
	}
	shape, chunks := pick(b, "256,512,512", "128,512,512"), "8,512,512"
	var made work
	if _, err := p.side(&made, "make", filepath.Join(dir, "v.b2nd"), filepath.Join(dir, "v.zarr"), shape, chunks)(ctx); err != nil && made.bytes == 0 {
		return nil, err
	}
	o, err := newOrigin(ctx, dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer o.close()
	if _, err := b.buildCommand(ctx); err != nil {
		return nil, err
	}
	var rs []row
	for _, part := range zarrParts {
		for _, reader := range []string{"fsspec", "obstore"} {
			var ours, store zarrRun
			for n := range b.rounds + 1 {
				for k := range 2 {
					if (k+n)%2 == 0 {
						err = b.zarrThrough(ctx, p, o, reader, part.at, &ours)
					} else {
						err = store.read(ctx, p, o, reader, o.url()+"/v.zarr", part.at, func() error { return nil })
					}
					if err != nil {
						return nil, err
					}
				}
			}
			if ours.work != store.work {
				return nil, errors.New("the gateway and the store give different items")
			}
			rs = append(rs, zarrRows(reader, part.name, &ours, &store)...)
		}
	}
	return rs, nil
}

// zarrThrough reads through a gateway that has seen nothing yet.
func (b *bench) zarrThrough(ctx context.Context, p *python, o *origin, reader, at string, r *zarrRun) error {
	gw, err := b.startGateway(ctx, o.url()+"/")
	if err != nil {
		return err
	}
	err = r.read(ctx, p, o, reader, gw.url+"/zarr/d/v.b2nd", at, func() error {
		cpu, err := gw.cpu()
		if r.cpu == 0 || cpu < r.cpu {
			r.cpu = cpu
		}
		return err
	})
	return errors.Join(err, gw.stop())
}

func (r *zarrRun) read(ctx context.Context, p *python, o *origin, reader, url, at string, between func() error) error {
	before := o.requests.Load()
	cold, err := p.side(&r.work, "read", reader, url, at)(ctx)
	if err != nil {
		return err
	}
	r.requests = o.requests.Load() - before
	if err := between(); err != nil {
		return err
	}
	before = o.requests.Load()
	again, err := p.side(&r.work, "again", reader, at)(ctx)
	r.cold, r.again, r.more = append(r.cold, cold), append(r.again, again), o.requests.Load()-before
	return err
}

func zarrRows(reader, part string, ours, store *zarrRun) []row {
	o, s := median(ours.cold[1:]), median(store.cold[1:])
	name := fmt.Sprintf("zarr-python by %s through the gateway, rtt30, %s, open included, to a Zarr store there", reader, part)
	seen := func(d time.Duration, n int64) string { return fmt.Sprintf("%s, %d requests", ms(d), n) }
	r := row{job: name, ours: seen(o, ours.requests), peer: seen(s, store.requests), ratio: s.Seconds() / o.Seconds(), judged: true}
	if part == zarrParts[0].name {
		gib := float64(ours.work.bytes) / (1 << 30)
		perGiB := ours.cpu.Seconds() / gib
		r.goal, r.met = "<= 0.7 of its time", o.Seconds() <= 0.7*s.Seconds()
		r.note = fmt.Sprintf("%.2f of its time; best %.2f, %s and %s; again, from the gateway's memory %s, from the store %s", o.Seconds()/s.Seconds(),
			slices.Min(ours.cold).Seconds()/slices.Min(store.cold).Seconds(), ms(slices.Min(ours.cold)), ms(slices.Min(store.cold)), ms(slices.Min(ours.again)), ms(slices.Min(store.again)))
		return []row{r, {job: "same, CPU time of the gateway, passed through", goal: "<= 1.1 s/GiB", judged: true, met: perGiB <= 1.1,
			ours: fmt.Sprintf("%.2f s/GiB", perGiB), note: "from its start, of decoded items, the least of all rounds"}}
	}
	r.goal, r.met = "<= its time + 1 phase", o <= s+30*time.Millisecond
	o, s = median(ours.again[1:]), median(store.again[1:])
	return []row{r, {job: "same, again", goal: "<= 0.5 of its time, 0 requests", judged: true, met: o.Seconds() <= 0.5*s.Seconds() && ours.more == 0,
		ours: seen(o, ours.more), peer: seen(s, store.more), ratio: s.Seconds() / o.Seconds()}}
}
