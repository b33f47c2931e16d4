package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"
)

// newBench is a bench with small inputs whose sides are run by testing.B.
func newBench(b *testing.B) *bench {
	b.Helper()
	root, err := checkout()
	if err != nil {
		b.Fatal(err)
	}
	x := &bench{root: root, dir: b.TempDir(), rounds: 1, quick: true, log: io.Discard}
	b.Cleanup(x.close)
	return x
}

// loop runs one side as a benchmark of n somethings a time.
func loop(b *testing.B, name, unit string, n float64, s side) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		var total time.Duration
		for b.Loop() {
			d, err := s(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			total += d
		}
		b.ReportMetric(n*float64(b.N)/total.Seconds(), unit+"/s")
	})
}

// peer is GulpIO2's process, or nil.
func peer(b *testing.B, x *bench) *python {
	b.Helper()
	return orNil(b, x.gulpio)
}

// orNil is a peer's process; nil where its library is missing.
func orNil(b *testing.B, start func(context.Context) (*python, error)) *python {
	b.Helper()
	p, err := start(context.WithoutCancel(b.Context()))
	if skip := (*skipped)(nil); errors.As(err, &skip) {
		return nil
	} else if err != nil {
		b.Fatal(err)
	}
	return p
}

func BenchmarkGulpRead(b *testing.B) {
	x := newBench(b)
	data, meta, err := x.makeGulp(1280)
	if err != nil {
		b.Fatal(err)
	}
	f, err := openPair(b.Context(), data, meta)
	if err != nil {
		b.Fatal(err)
	}
	defer f.close()
	var w work
	loop(b, "by=id/side=farread", "frames", 1280, readIDs(f.Chunk, &w))
	loop(b, "by=frame/side=farread", "frames", randomFrames, readFrames(f.Chunk, &w))
	if p := peer(b, x); p != nil {
		loop(b, "by=id/side=gulpio2", "frames", 1280, p.side(&w, "read", data, meta))
		loop(b, "by=frame/side=gulpio2", "frames", randomFrames, p.side(&w, "random", data, meta))
	}
}

func BenchmarkTarToGulp(b *testing.B) {
	x := newBench(b)
	t, err := x.newTar(1280)
	if err != nil {
		b.Fatal(err)
	}
	var w work
	loop(b, "side=farread", "frames", 1280, t.ours())
	if p := peer(b, x); p != nil {
		loop(b, "side=gulpio2", "frames", 1280, t.theirs(p, &w))
	}
}

func BenchmarkDownload(b *testing.B) {
	x := newBench(b)
	const size = 24 << 20
	if err := x.uploadLarge(b.Context(), size); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, size)
	for _, p := range []profile{near(), rtt30()} {
		d, err := x.newDownload(b.Context(), p)
		if err != nil {
			b.Fatal(err)
		}
		loop(b, "profile="+p.name+"/to=memory/side=farread", "MB", size/1e6, wholeObject(d.bucket, buf))
		loop(b, "profile="+p.name+"/to=memory/side=transfermanager", "MB", size/1e6, managed(d.client, buf, 0))
		loop(b, "profile="+p.name+"/to=stream/side=farread", "MB", size/1e6, streamObject(d.bucket, size))
		loop(b, "profile="+p.name+"/to=stream/side=transfermanager", "MB", size/1e6, managedStream(d.client, size, 0))
		d.close()
	}
}

// BenchmarkFrameByID opens a pair with connections of its own and reads a frame.
func BenchmarkFrameByID(b *testing.B) {
	x := newBench(b)
	local, _, err := x.uploadPair(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []profile{rtt30(), busy()} {
		b.Run("profile="+p.name, func(b *testing.B) {
			via, err := x.before(b.Context(), p)
			if err != nil {
				b.Fatal(err)
			}
			defer via.close()
			for b.Loop() {
				c, err := x.coldFrame(b.Context(), via, local, 1)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(c.cold.Phases), "phases")
				b.ReportMetric(float64(c.coldSeen), "requests")
			}
		})
	}
}

func BenchmarkFunctionStart(b *testing.B) {
	x := newBench(b)
	bin, err := x.buildFunction(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	loop(b, "first=next", "starts", 1, func(ctx context.Context) (time.Duration, error) {
		d, _, err := startOnce(ctx, bin)
		return d, err
	})
}

func BenchmarkCachedRead(b *testing.B) {
	o, buf, err := cachedObject(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(buf)))
	for b.Loop() {
		if _, err := o.ReadAt(buf, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoader reads a shuffled epoch of a small dataset that is 30 ms away.
func BenchmarkLoader(b *testing.B) {
	x := newBench(b)
	l, data, meta, err := x.newLoaded(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer l.x.close()
	loop(b, "side=farread", "frames", quickLoaded, l.batches())
	p := orNil(b, x.otherLoaders)
	if p == nil {
		return
	}
	others, err := x.others(b.Context(), p, l.x, data, meta)
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range others {
		loop(b, "side="+o.args[0], "frames", quickLoaded, o.side(p, l.x, filepath.Join(x.dir, "order")))
		if o.w != l.w[0] {
			b.Errorf("%s read %v, ours %v", o.name, o.w, l.w[0])
		}
		if _, _, err := o.order.quality(); err != nil {
			b.Errorf("%s: %v", o.name, err)
		}
	}
}
