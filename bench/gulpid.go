package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// gulpFromAfar reads one frame by its id, with a client of its own each time, out of
// chunks of 20,000 and ten million frames: by the index beside the chunk, and by its
// .gmeta. The frames of the large one are small, which neither index minds.
func gulpFromAfar(ctx context.Context, b *bench) ([]row, error) {
	var rs []row
	for _, n := range []struct{ frames, phases int }{{pick(b, 20_000, 2000), 2}, {pick(b, 10_000_000, 100_000), 3}} {
		key, err := b.uploadIndexed(ctx, n.frames)
		if err != nil {
			return nil, err
		}
		x, err := b.before(ctx, rtt30())
		if err != nil {
			return nil, err
		}
		r, err := b.indexedRow(ctx, x, key, n.frames, n.phases)
		x.close()
		if err != nil {
			return nil, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// perClip is the frames of an id.
const perClip = 100

func clipID(k int) string { return fmt.Sprintf("clip-%08d", k) }

// uploadIndexed puts a chunk of so many frames into the bench bucket, and its index. It
// returns the key of the data.
func (b *bench) uploadIndexed(ctx context.Context, frames int) (string, error) {
	dir, err := b.sub("gulpid")
	if err != nil {
		return "", err
	}
	stem := fmt.Sprintf("n%d", frames)
	key := stem + gulp.DataSuffix
	name := filepath.Join(dir, key)
	f, err := os.Create(filepath.Clean(name))
	if err != nil {
		return "", err
	}
	w := gulp.NewWriter(f, gulp.WriteOptions{})
	if err := errors.Join(writeClips(w, frames), f.Close()); err != nil {
		return "", err
	}
	if err := b.uploadFile(ctx, key, name); err != nil {
		return "", err
	}
	if err := b.upload(ctx, stem+gulp.MetaSuffix, func(to io.Writer) error { return w.WriteMeta(to) }); err != nil {
		return "", err
	}
	c := farread.New(farread.Config{Endpoint: b.stack.Endpoint, Region: b.stack.Region, PathStyle: true})
	defer c.CloseIdleConnections()
	if err := b.credentials(); err != nil {
		return "", err
	}
	g, err := c.OpenGulp(ctx, "s3://"+bucketName+"/"+key, farread.GulpOptions{})
	if err != nil {
		return "", err
	}
	side, err := g.BuildIndex()
	if err != nil {
		return "", err
	}
	return key, b.upload(ctx, key+index.Suffix, func(to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(side))
		return err
	})
}

// writeClips writes frames of 7 to 17 KB, or of a few bytes where there are millions.
func writeClips(w *gulp.Writer, frames int) error {
	least, most := 7<<10, 17<<10
	if frames > 1e6 {
		least, most = 1, 16
	}
	r := rand.New(rand.NewPCG(1, uint64(frames))) //nolint:gosec // sizes, no secrets
	p := make([]byte, most)
	for i := range frames {
		if err := w.WriteFrame(clipID(i/perClip), p[:least+r.IntN(most-least)]); err != nil {
			return err
		}
	}
	return nil
}

// indexedRow measures one frame by the index, and by the .gmeta.
func (b *bench) indexedRow(ctx context.Context, x *proxy, key string, frames, phases int) (row, error) {
	var ours, plain []time.Duration
	var most, whole rangeio.Stats
	times := 4 * b.rounds
	for i := range times + 1 {
		id, k := clipID((i*7919+5)%(frames/perClip)), i%perClip
		took, s, err := b.coldByID(ctx, x, key, id, k, true)
		if err != nil {
			return row{}, err
		}
		if i == 0 {
			continue // the first time of the process
		}
		ours = append(ours, took)
		most.Phases, most.Requests, most.Bytes = max(most.Phases, s.Phases), max(most.Requests, s.Requests), max(most.Bytes, s.Bytes)
		if i > 1 && frames > 1e6 {
			continue // hundreds of MB
		}
		if took, whole, err = b.coldByID(ctx, x, key, id, k, false); err != nil {
			return row{}, err
		}
		plain = append(plain, took)
	}
	o, p := median(ours), median(plain)
	limit := time.Duration(75+30*(phases-2)) * time.Millisecond
	many := strconv.Itoa(frames)
	if frames >= 1e6 {
		many = fmt.Sprintf("%d million", frames/1e6) // another row than that of fewer, by its name without sizes
	}
	return row{job: fmt.Sprintf("one frame by id of %s, cold, by its index, rtt30", many), goal: fmt.Sprintf("%d phases, <= %v, 64 KB beyond it", phases, limit),
		judged: true, met: most.Phases <= int64(phases) && o <= limit && most.Bytes <= 64_000,
		ours: fmt.Sprintf("%s, %d phases, %d requests, %.1f kB", ms(o), most.Phases, most.Requests, float64(most.Bytes)/1000),
		peer: fmt.Sprintf("%s, %d phases, %d requests, %d kB", ms(p), whole.Phases, whole.Requests, whole.Bytes/1000), ratio: p.Seconds() / o.Seconds(),
		note: "peer: our own reader without the index; bytes beyond the frame"}, nil
}

// coldByID opens a chunk with a new client and reads one frame. Bytes are those beyond
// the frame.
func (b *bench) coldByID(ctx context.Context, x *proxy, key, id string, k int, indexed bool) (time.Duration, rangeio.Stats, error) {
	count := &objstore.Counter{}
	c := farread.New(farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true, Counter: count})
	defer c.CloseIdleConnections()
	uri, start := "s3://"+bucketName+"/"+key, time.Now()
	var chunk *gulp.Chunk
	if indexed {
		g, err := c.OpenGulpByID(ctx, uri, farread.GulpOptions{Beside: true})
		if err == nil {
			chunk, err = g.Select(ctx, id, k, k+1)
		}
		if err != nil {
			return 0, rangeio.Stats{}, err
		}
	} else {
		g, err := c.OpenGulp(ctx, uri, farread.GulpOptions{})
		if err != nil {
			return 0, rangeio.Stats{}, err
		}
		chunk = g.Chunk
	}
	p, err := chunk.AppendFrame(ctx, nil, id, k)
	took, s := time.Since(start), count.Stats()
	s.Bytes -= int64(len(p))
	return took, s, err
}
