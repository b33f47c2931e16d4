package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"
)

// afarPython reads from Python with farread and with the peers, all in one process of Python, cold: a
// plane, a column through all chunks, everything; then a plane by a Python that is started for it. The
// program behind the package runs before, but for the last.
func afarPython(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.farPython(ctx)
	if err != nil {
		return nil, err
	}
	program, err := b.buildCommand(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := p.side(new(work), "use", program, filepath.Join(b.root, "python"))(ctx); err != nil {
		return nil, err
	}
	n := pick(b, int64(200), 40)
	cube, err := b.farCube(ctx, p, n)
	if err != nil {
		return nil, err
	}
	s, err := newFarServer(ctx, cube.dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer s.close()
	plane := fmt.Sprintf("[%d, null, null]", n/2)
	var times atomic.Int64 // of ours
	var rs []row
	for _, read := range []struct{ what, job, index string }{
		{"a plane", "read", plane},
		{fmt.Sprintf("a column through %d chunks", n), "read", "[null, 100, 100]"},
		{"all of it", "read", "[null, null, null]"},
		{"a plane by a Python that starts for it", "fresh", plane},
	} {
		some, err := b.farPythonRows(ctx, p, s, &times, read.what+", from Python, cold, rtt30", read.job, read.index)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", read.what, err)
		}
		rs = append(rs, some...)
	}
	return rs, nil
}

// farPythonRows measures one read. Ours names another URL each time, so that the program opens it anew.
func (b *bench) farPythonRows(ctx context.Context, p *python, s *farServer, times *atomic.Int64, what, job, index string) ([]row, error) {
	var w work
	our := &farSide{}
	our.do = func(ctx context.Context) (time.Duration, error) {
		took, err := p.side(&w, job, "farread", fmt.Sprintf("http://%s/x.b2nd?read=%d", s.l.Addr(), times.Add(1)), index)(ctx)
		our.sum, our.n = w.sum, w.bytes
		return took, err
	}
	rs, err := b.farBeside(ctx, s, what, our, func(w *work, reader, url string) side { return p.side(w, job, reader, url, index) })
	for i := range rs {
		rs[i].goal, rs[i].judged, rs[i].met = ">= 1x", true, rs[i].ratio >= 1
	}
	return rs, err
}
