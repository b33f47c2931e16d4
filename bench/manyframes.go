package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
)

// afarFrames reads one frame by its id out of gulp chunks of 10^3 to 10^7 frames, from a
// server that is 30 ms away, cold, by the index beside the chunk and by its .gmeta: time,
// requests and bytes at the server, phases, and the memory that the open chunk holds.
func afarFrames(ctx context.Context, b *bench) ([]row, error) {
	var rs []row
	for _, n := range pick(b, []int{1000, 10_000, 100_000, 1_000_000, 10_000_000}, []int{1000, 20_000}) {
		dir, err := b.sparseGulp(ctx, n)
		if err != nil {
			return nil, err
		}
		r, err := b.framesRows(ctx, dir, n)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return nil, err
		}
		rs = append(rs, r...)
	}
	return rs, nil
}

// A hole takes bytes and keeps none of them.
type hole struct{ n int64 }

func (h *hole) Write(p []byte) (int, error) {
	h.n += int64(len(p))
	return len(p), nil
}

// sparseGulp makes a folder with a chunk of so many frames and its index. The frames have 7
// to 17 KB, all zeros, which take no room on the disk.
func (b *bench) sparseGulp(ctx context.Context, frames int) (string, error) {
	dir, err := b.sub(fmt.Sprintf("frames%d", frames))
	if err != nil {
		return "", err
	}
	var data hole
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	r := rand.New(rand.NewPCG(1, uint64(frames))) //nolint:gosec // sizes, no secrets
	p := make([]byte, 17<<10)
	for i := range frames {
		if err := w.WriteFrame(clipID(i/perClip), p[:7<<10+r.IntN(10<<10)]); err != nil {
			return "", err
		}
	}
	f, err := os.Create(filepath.Join(dir, "x"+gulp.DataSuffix))
	if err != nil {
		return "", err
	}
	if err := errors.Join(f.Truncate(data.n), f.Close()); err != nil {
		return "", err
	}
	store, err := filestore.New(filestore.Config{Dir: dir, NoSync: true})
	if err != nil {
		return "", err
	}
	out, err := store.Create(ctx, "x"+gulp.MetaSuffix, objstore.PutOptions{})
	if err != nil {
		return "", err
	}
	defer out.Abort()
	if err := w.WriteMeta(out); err != nil {
		return "", err
	}
	meta, err := out.Commit(ctx)
	if err != nil {
		return "", err
	}
	const etag = `"1"` // of every file of a farServer
	side, err := gulpindex.Build(w, gulpindex.Pair{Data: gulpindex.Version{Size: data.n, ETag: etag}, Meta: gulpindex.Version{Size: meta.Size, ETag: etag}})
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "x"+gulp.DataSuffix+index.Suffix), side, 0o600)
}

// framesRows measures one chunk with its index and without.
func (b *bench) framesRows(ctx context.Context, dir string, n int) ([]row, error) {
	s, err := newFarServer(ctx, dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	var rs []row
	for _, with := range []bool{true, false} {
		p, err := b.framePoint(ctx, s, n, with)
		if err != nil {
			return nil, err
		}
		r := row{job: fmt.Sprintf("one frame by id of %d, index %t", n, with), ours: ms(p.took),
			note: fmt.Sprintf("%d requests, %d phases, %d bytes beyond it; %d held, opened in %s", p.requests, p.phases, p.bytes, p.held, ms(p.opened))}
		if phases := int64(3); with {
			if n <= 20_000 {
				phases = 2
			}
			r.goal, r.judged, r.met = fmt.Sprintf("%d phases, <= 64 KB", phases), true, p.phases == phases && p.bytes <= 64_000
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// framePoint opens a chunk and reads a frame of it, each time with a client of its own.
func (b *bench) framePoint(ctx context.Context, s *farServer, n int, with bool) (out farPoint, err error) {
	var took, opened []time.Duration
	rounds := max(b.rounds, 1)
	if !with && n > 1e6 {
		rounds = 1 // hundreds of MB
	}
	for round := range rounds {
		client := farread.New(farread.Config{Counter: &objstore.Counter{}})
		id, k := clipID((n/perClip/3+round*7919)%(n/perClip)), (50+round)%perClip
		requests, sent := s.requests.Load(), s.bytes.Load()
		uri, start := "http://"+s.l.Addr().String()+"/x"+gulp.DataSuffix, time.Now()
		var chunk *gulp.Chunk
		var held func() int64
		if with {
			g, err := client.OpenGulpByID(ctx, uri, farread.GulpOptions{Beside: true})
			if err != nil {
				return out, err
			}
			opened = append(opened, time.Since(start))
			if chunk, err = g.Select(ctx, id, k, k+1); err != nil {
				return out, err
			}
			held = g.HeldBytes
		} else {
			g, err := client.OpenGulp(ctx, uri, farread.GulpOptions{})
			if err != nil {
				return out, err
			}
			opened = append(opened, time.Since(start))
			chunk, held = g.Chunk, g.HeldBytes
		}
		p, err := chunk.AppendFrame(ctx, nil, id, k)
		took = append(took, time.Since(start))
		if want, err2 := chunk.Frame(id, k); err == nil && (err2 != nil || int64(len(p)) != want.Size || strings.Trim(string(p), "\x00") != "") {
			err = errors.New("the frame is wrong")
		}
		client.CloseIdleConnections()
		if err != nil {
			return out, err
		}
		out.requests, out.bytes = max(out.requests, s.requests.Load()-requests), max(out.bytes, s.bytes.Load()-sent-int64(len(p)))
		out.phases, out.held = max(out.phases, client.Stats().Phases), max(out.held, held())
	}
	slices.Sort(took)
	slices.Sort(opened)
	out.took, out.opened = took[len(took)/2], opened[len(opened)/2]
	return out, nil
}
