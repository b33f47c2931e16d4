package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Blocks of about 1 MiB, windows of 16 of them, and batches as a trainer takes them.
const (
	loadBlock  = 85
	loadWindow = 16 * loadBlock
	loadBatch  = 256

	fullLoaded, quickLoaded = 50_003, 1280 // frames
)

// gulpLoad reads a whole epoch of a dataset from afar: shuffled by blocks in batches, in
// file order, frame by frame in a full shuffle, and by threads of Python over obstore.
func gulpLoad(ctx context.Context, b *bench) ([]row, error) {
	l, data, meta, err := b.newLoaded(ctx)
	if err != nil {
		return nil, err
	}
	x := l.x
	defer x.close()
	sides := []side{l.batches(), l.each(), l.singly()}
	others, missing, err := l.others(ctx, data, meta, &sides)
	if err != nil {
		return nil, err
	}
	first := len(sides) - len(others)
	p, err := b.python(ctx, "load", "import obstore", loadScript)
	var skip *skipped
	var peer work
	obstore := len(sides)
	switch {
	case errors.As(err, &skip):
	case err != nil:
		return nil, err
	default:
		sides = append(sides, p.side(&peer, "load", x.url(), bucketName, "load/data_0.gulp", "load/meta_0.gmeta", b.stack.AccessKey, b.stack.SecretKey,
			strconv.Itoa(loadBlock), strconv.Itoa(loadWindow)))
	}
	d, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	if l.w[0] != l.w[1] || peer.frames > 0 && peer != l.w[0] {
		return nil, fmt.Errorf("the sides read different frames: %v, %v, %v", l.w[0], l.w[1], peer)
	}
	n := float64(l.w[0].frames)
	rs := []row{
		against("an epoch of 12.7 KB frames, shuffled by blocks, rtt30", "frames", n, d[0], d[1], 0.7),
		{job: "same, frames a second", goal: ">= 40 kframes/s", judged: true, met: n/d[0].Seconds() >= 40_000, ours: rate(n, d[0], "frames"),
			peer: rate(float64(l.single), d[2], "frames"), ratio: n / d[0].Seconds() / (float64(l.single) / d[2].Seconds()),
			note: "peer: our own full shuffle, a frame a call, one after the other"},
	}
	cost, err := l.order.text(l.stats.Requests, l.stats.Bytes)
	if err != nil {
		return nil, err
	}
	rs[0].note = fmt.Sprintf("peer: our own file order; %d phase, %s", l.stats.Phases, cost)
	if obstore < len(sides) {
		r := against("same, by obstore", "frames", n, d[0], d[obstore], 1)
		r.note = p.versions + ", 16 threads, the same blocks"
		rs = append(rs, r)
	}
	for i, o := range others {
		if o.w != l.w[0] {
			return nil, fmt.Errorf("%s read %v, ours %v", o.name, o.w, l.w[0])
		}
		r, err := o.row(n, d[0], d[first+i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.name, err)
		}
		rs = append(rs, r)
	}
	return append(rs, missing...), nil
}

// others adds the sides of loaders with formats of their own, or has a row that says why not.
func (l *loaded) others(ctx context.Context, data, meta string, sides *[]side) ([]*otherLoader, []row, error) {
	p, err := l.b.otherLoaders(ctx)
	if skip := (*skipped)(nil); errors.As(err, &skip) {
		return nil, []row{{job: "same, by other loaders", note: "not measured: " + skip.why}}, nil
	} else if err != nil {
		return nil, nil, err
	}
	others, err := l.b.others(ctx, p, l.x, data, meta)
	if err != nil {
		return nil, nil, err
	}
	dir, err := l.b.sub("orders")
	if err != nil {
		return nil, nil, err
	}
	for i, o := range others {
		*sides = append(*sides, o.side(p, l.x, filepath.Join(dir, strconv.Itoa(i))))
	}
	return others, nil, nil
}

// newLoaded uploads a dataset of one pair, and puts a proxy before it.
func (b *bench) newLoaded(ctx context.Context) (l *loaded, data, meta string, err error) {
	if data, meta, err = b.makeGulp(pick(b, fullLoaded, quickLoaded)); err != nil {
		return nil, "", "", err
	}
	for key, file := range map[string]string{"load/data_0.gulp": data, "load/meta_0.gmeta": meta} {
		if err := b.uploadFile(ctx, key, file); err != nil {
			return nil, "", "", err
		}
	}
	if err := b.credentials(); err != nil {
		return nil, "", "", err
	}
	x, err := b.before(ctx, rtt30())
	return &loaded{b: b, x: x, single: pick(b, 300, 50)}, data, meta, err
}

// loaded has the sides of an epoch, and what they have read.
type loaded struct {
	b      *bench
	x      *proxy
	w      [2]work
	single int
	stats  rangeio.Stats // of the shuffled epoch
	order  order         // of that
}

// dataset opens the dataset with a client of its own, and reads its index.
func (l *loaded) dataset(ctx context.Context, count *objstore.Counter) (*farread.Client, *farread.GulpDataset, error) {
	c := farread.New(farread.Config{Endpoint: l.x.url(), Region: l.b.stack.Region, PathStyle: true, Counter: count})
	d, err := c.OpenGulpDataset(ctx, "s3://"+bucketName+"/load/", farread.GulpOptions{})
	if err == nil {
		err = d.Load(ctx)
	}
	return c, d, err
}

// timed measures read without the opening.
func (l *loaded) timed(read func(ctx context.Context, d *farread.GulpDataset) error) side {
	return func(ctx context.Context) (time.Duration, error) {
		count := &objstore.Counter{}
		c, d, err := l.dataset(ctx, count)
		if err != nil {
			return 0, err
		}
		defer c.CloseIdleConnections()
		before, start := count.Stats(), time.Now()
		err = read(ctx, d)
		took, now := time.Since(start), count.Stats()
		l.stats = rangeio.Stats{Requests: now.Requests - before.Requests, Phases: now.Phases - before.Phases, Bytes: now.Bytes - before.Bytes}
		return took, err
	}
}

func (l *loaded) batches() side {
	return l.timed(func(ctx context.Context, d *farread.GulpDataset) error {
		l.w[0], l.order = work{}, l.order[:0]
		order, err := d.Order(ctx, gulp.OrderOptions{Seed: 7, Frames: true, Block: loadBlock, Window: loadWindow})
		if err != nil {
			return err
		}
		for b, err := range d.Batches(ctx, order, loadBatch) {
			if err != nil {
				return err
			}
			for _, s := range b.Samples {
				l.w[0].frames++
				l.w[0].bytes += int64(len(s.Frames[0]))
				l.order = append(l.order, int32(s.N))
			}
		}
		return nil
	})
}

func (l *loaded) each() side {
	return l.quietly(func(ctx context.Context, d *farread.GulpDataset) error {
		l.w[1] = work{}
		return d.Each(ctx, func(_ string, _ int, p []byte) error {
			l.w[1].frames++
			l.w[1].bytes += int64(len(p))
			return nil
		})
	})
}

func (l *loaded) singly() side {
	return l.quietly(func(ctx context.Context, d *farread.GulpDataset) error {
		order, err := d.Order(ctx, gulp.OrderOptions{Seed: 7, Frames: true})
		if err != nil {
			return err
		}
		var p []byte
		for range l.single {
			s, _ := order.Next()
			if p, err = s.Chunk.AppendFrame(ctx, p[:0], s.ID, s.Frame); err != nil {
				return err
			}
		}
		return nil
	})
}

// quietly is timed, without noting requests.
func (l *loaded) quietly(read func(ctx context.Context, d *farread.GulpDataset) error) side {
	s := l.timed(read)
	return func(ctx context.Context) (time.Duration, error) {
		stats := l.stats
		defer func() { l.stats = stats }()
		return s(ctx)
	}
}
