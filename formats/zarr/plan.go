package zarr

import (
	"context"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

const (
	// maxPlanned bounds the chunks that a plan counts one by one.
	maxPlanned = 1 << 20
	planSides  = 16 // objects that are looked at side by side
)

// A Plan is what a client of Zarr takes for a read.
type Plan struct {
	// Requests has one for each chunk that is met; of shards first one for the index of each, and then one for
	// each chunk that its index has. Chunks that are not there take a request without bytes.
	Requests []rangeio.Planned
	// Estimated tells that not each of them was looked at: the others have the mean length of those that were.
	Estimated bool
}

// Explain returns the requests by which a client of Zarr reads a box, chunk by chunk. Of up to
// probes objects, evenly spread over those that are met, it asks for the length, by a request of
// one byte each, or for the index of the shard. A box that meets more than a million chunks is formats.ErrTooLarge.
func (a *Array) Explain(ctx context.Context, box nd.Box, probes int) (Plan, error) {
	var objects []met
	if err := a.meet(box, &objects); err != nil {
		return Plan{}, err
	}
	looked, err := a.look(ctx, objects, probes)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Estimated: len(looked) < len(objects)}
	sharded := a.meta.ShardShape != nil
	bytes, chunks := int64(0), int64(0)
	for i, l := range looked {
		bytes += l.bytes
		chunks += int64(len(objects[i].inner))
	}
	mean := int64(0)
	if chunks > 0 {
		mean = bytes / chunks
	}
	var second []rangeio.Planned
	for i, o := range objects {
		l, known := looked[i]
		switch {
		case sharded:
			index := rangeio.Planned{Phase: 1, Len: a.meta.enc.shard.indexLen(), Why: "index of a shard"}
			if known && l.lens == nil {
				index.Len = 0
			}
			p.Requests = append(p.Requests, index)
			for k := range o.inner {
				n := mean
				if known {
					if l.lens == nil || l.lens[k] < 0 {
						continue
					}
					n = l.lens[k]
				}
				second = append(second, rangeio.Planned{Phase: 2, Len: n, Why: "chunk", Estimated: !known})
			}
		case known:
			p.Requests = append(p.Requests, rangeio.Planned{Phase: 1, Len: l.bytes, Why: "chunk"})
		default:
			p.Requests = append(p.Requests, rangeio.Planned{Phase: 1, Len: mean, Why: "chunk", Estimated: true})
		}
	}
	p.Requests = append(p.Requests, second...)
	return p, nil
}

// Stored returns how many bytes all chunks take: exactly if there are at most probes objects, else by the mean
// of so many, evenly spread.
func (a *Array) Stored(ctx context.Context, probes int) (n int64, exact bool, err error) {
	grid := a.grid
	if a.meta.ShardShape != nil {
		if grid, err = nd.NewGrid(a.meta.Shape, a.meta.ShardShape); err != nil {
			return 0, false, corrupt("", "%v", err)
		}
	}
	k := int(min(int64(max(probes, 1)), grid.Total))
	objects := make([]met, k)
	for i := range objects {
		at := int64(float64(i) / float64(k) * float64(grid.Total))
		outer := make([]int64, len(grid.Count))
		for d := len(outer) - 1; d >= 0; d-- {
			outer[d] = at % grid.Count[d]
			at /= grid.Count[d]
		}
		objects[i] = met{key: a.meta.keys.of(outer)}
	}
	looked, err := a.look(ctx, objects, k)
	if err != nil || k == 0 {
		return 0, err == nil, err
	}
	for _, l := range looked {
		n += l.bytes
	}
	if exact = int64(k) == grid.Total; !exact {
		n = int64(min(float64(n)/float64(k)*float64(grid.Total), 1<<62))
	}
	return n, exact, nil
}

// A met is an object that a read meets.
type met struct {
	key   string
	inner []int64 // of a shard: numbers of the chunks that are met; nil: all
}

// meet finds the objects that a box meets.
func (a *Array) meet(box nd.Box, objects *[]met) error {
	zero := make([]int64, len(a.meta.Shape))
	at := map[string]int{}
	n := 0
	for _, origin := range a.grid.Meet(box, zero, a.meta.Shape) {
		if n++; n > maxPlanned {
			return fail("", formats.ErrTooLarge, "a slice of more than %d chunks", maxPlanned)
		}
		cell := make([]int64, len(origin))
		for i, o := range origin {
			cell[i] = o / a.meta.ChunkShape[i]
		}
		if a.meta.ShardShape == nil {
			*objects = append(*objects, met{a.meta.keys.of(cell), []int64{0}})
			continue
		}
		s := a.meta.enc.shard
		inner := make([]int64, len(cell))
		for i, c := range cell {
			cell[i], inner[i] = c/s.grid.Count[i], c%s.grid.Count[i]
		}
		key := a.meta.keys.of(cell)
		i, ok := at[key]
		if !ok {
			i = len(*objects)
			at[key] = i
			*objects = append(*objects, met{key: key})
		}
		(*objects)[i].inner = append((*objects)[i].inner, s.number(inner))
	}
	return nil
}

// A looked is an object that was looked at.
type looked struct {
	bytes int64   // that chunks take which are met
	lens  []int64 // of a shard: of each of them, -1 if it is not there; nil: there is no shard
}

// look looks at up to probes objects, evenly spread, and returns them by their numbers.
func (a *Array) look(ctx context.Context, objects []met, probes int) (map[int]looked, error) {
	n := min(len(objects), max(probes, 1))
	list := make([]looked, n)
	number := func(i int) int { return int(int64(i) * int64(len(objects)) / int64(n)) }
	err := par.Do(ctx, n, planSides, func(ctx context.Context, i int) (err error) {
		list[i], err = a.lookAt(ctx, objects[number(i)])
		return err
	})
	if err != nil {
		return nil, err
	}
	out := map[int]looked{}
	for i, l := range list {
		out[number(i)] = l
	}
	return out, nil
}

func (a *Array) lookAt(ctx context.Context, o met) (l looked, err error) {
	if a.meta.ShardShape == nil {
		r, err := a.s.Open(ctx, o.key, 1, 0)
		if a.o.absent(err) {
			return l, nil
		}
		if err != nil {
			return l, within(a.chunkName(o.key), err)
		}
		return looked{bytes: r.Size()}, nil
	}
	r, places, err := a.openShard(ctx, o.key)
	if err != nil || r == nil {
		return l, within(a.chunkName(o.key), err)
	}
	l.lens = []int64{}
	put := func(p place) error {
		if p == nowhere {
			l.lens = append(l.lens, -1)
			return nil
		}
		if err := p.check(r.Size(), r.Size()); err != nil {
			return within(a.chunkName(o.key), err)
		}
		l.lens = append(l.lens, p.n)
		l.bytes += p.n
		return nil
	}
	if o.inner == nil {
		for _, p := range places {
			if err := put(p); err != nil {
				return l, err
			}
		}
		return l, nil
	}
	for _, k := range o.inner {
		if err := put(places[k]); err != nil {
			return l, err
		}
	}
	return l, nil
}
