package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions/zoom"
)

// servedAnswers: a point of an array 30 ms away, cold and again, beside the library's own
// time; a view of 2,000 points; and the start of the program.
func servedAnswers(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.zarr(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("served")
	if err != nil {
		return nil, err
	}
	var made work
	if _, err := p.side(&made, "make", filepath.Join(dir, "v.b2nd"), filepath.Join(dir, "v.zarr"), "64,512,512", "8,512,512")(ctx); err != nil && made.bytes == 0 {
		return nil, err
	}
	if err := writeWAV(filepath.Join(dir, "day.wav"), 1, 1000, pick(b, 24*3600*1000, 600*1000)); err != nil {
		return nil, err
	}
	if _, err := packWAV(ctx, dir, "day.wav", "day.zoom", zoom.WriteOptions{}); err != nil {
		return nil, err
	}
	o, err := newOrigin(ctx, dir, rtt30())
	if err != nil {
		return nil, err
	}
	defer o.close()
	var s served
	f := b.finer()
	for n := range f.rounds + 1 {
		if err := s.round(ctx, b, o, dir, n > 0); err != nil {
			return nil, err
		}
	}
	own, cold, warm, view, start := median(s.own), median(s.cold), slices.Min(s.warm), slices.Min(s.view), median(s.start)
	const most = 5 * time.Millisecond
	return []row{
		{job: "/slice of a point, cold, rtt30, to the library's own time", goal: "<= its time + 10 ms", judged: true, met: cold <= own+10*time.Millisecond,
			ours: ms(cold), peer: ms(own), ratio: own.Seconds() / cold.Seconds(), note: fmt.Sprintf("%d requests", s.requests)},
		{job: "same, again", goal: "<= 5 ms, 0 requests", judged: true, met: warm <= most && s.more == 0, ours: ms(warm), note: "the least of all rounds"},
		{job: "/view of 2,000 points of a day at 1 kHz, warm", goal: "<= 5 ms", judged: true, met: view <= most, ours: ms(view), note: "the least of all rounds, made anew each time"},
		{job: "farread serve: process start to its first answer", goal: "<= 30 ms", judged: true, met: start <= 30*time.Millisecond, ours: ms(start), note: "zarr.json of a local file"},
		{job: "farread serve: resident then", goal: "<= 25 MiB", judged: true, met: s.rss <= 25<<20, ours: mib(s.rss)},
	}, nil
}

type served struct {
	own, cold, warm, view, start []time.Duration
	requests, more, rss          int64
}

func (s *served) round(ctx context.Context, b *bench, o *origin, dir string, counts bool) error {
	own, err := ownPoint(ctx, o.url()+"/v.b2nd")
	if err != nil {
		return err
	}
	far, err := b.startGateway(ctx, o.url()+"/")
	if err != nil {
		return err
	}
	defer func() { _ = far.stop() }()
	before := o.requests.Load()
	cold, err := timedFetch(ctx, far.url+"/slice/d/v.b2nd?s=20,200,300&format=raw")
	if err != nil {
		return err
	}
	s.requests = o.requests.Load() - before
	warm, err := timedFetch(ctx, far.url+"/slice/d/v.b2nd?s=20,200,301&format=raw")
	if err != nil {
		return err
	}
	s.more = o.requests.Load() - before - s.requests
	begun := time.Now()
	near, err := b.startGateway(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = near.stop() }()
	if _, _, err := fetch(ctx, near.url+"/zarr/d/v.b2nd/zarr.json"); err != nil {
		return err
	}
	start := time.Since(begun)
	rss, err := processMemory(near.cmd.Process.Pid, "VmRSS")
	if err != nil {
		return err
	}
	var view time.Duration
	for i := range 4 { // other points each time
		if view, err = timedFetch(ctx, fmt.Sprintf("%s/view/d/day.zoom?track=1&width=%d&format=npy", near.url, 2000+i)); err != nil {
			return err
		}
	}
	if counts {
		s.own, s.cold, s.warm, s.view, s.start = append(s.own, own), append(s.cold, cold), append(s.warm, warm), append(s.view, view), append(s.start, start)
		s.rss = max(s.rss, rss)
	}
	return nil
}

// ownPoint reads the point by the library, with connections of its own.
func ownPoint(ctx context.Context, uri string) (time.Duration, error) {
	client := farread.New(farread.Config{})
	defer client.CloseIdleConnections()
	start := time.Now()
	a, err := client.OpenArray(ctx, uri, farread.FrameOptions{})
	if err != nil {
		return 0, err
	}
	sl, err := b2nd.ParseSlice("20,200,300")
	if err != nil {
		return 0, err
	}
	box, err := sl.Resolve(a.Shape())
	if err != nil {
		return 0, err
	}
	err = a.ReadSlice(ctx, make([]byte, 2), box)
	return time.Since(start), err
}

// timedFetch reads one answer.
func timedFetch(ctx context.Context, url string) (time.Duration, error) {
	start := time.Now()
	_, _, err := fetch(ctx, url)
	return time.Since(start), err
}

// servedMemory: what the program holds with 512 MiB of --max-memory, while 200 clients ask
// for the largest slices, half of which take their time.
func servedMemory(ctx context.Context, b *bench) ([]row, error) {
	if runtime.GOOS != "linux" {
		return nil, &skipped{"no /proc here"}
	}
	p, err := b.zarr(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.sub("memory")
	if err != nil {
		return nil, err
	}
	var made work
	if _, err := p.side(&made, "make", filepath.Join(dir, "v.b2nd"), filepath.Join(dir, "v.zarr"), "256,512,512", "8,512,512")(ctx); err != nil && made.bytes == 0 {
		return nil, err
	}
	gw, err := b.startGateway(ctx, dir, "--max-memory", "512MiB")
	if err != nil {
		return nil, err
	}
	defer func() { _ = gw.stop() }()
	const limit = 512 << 20
	var whole, busy, other atomic.Int64
	var wg sync.WaitGroup
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	clients := pick(b, 200, 16)
	for n := range clients {
		wg.Go(func() { largest(ctx, &http.Client{Transport: transport}, gw.url, n, &whole, &busy, &other) })
	}
	wg.Wait()
	peak, err := processMemory(gw.cmd.Process.Pid, "VmHWM")
	if err != nil {
		return nil, err
	}
	return []row{{job: fmt.Sprintf("farread serve --max-memory 512MiB: peak resident, %d clients of slices of 60 MiB, half of them slow", clients), goal: "<= 512 + 64 MiB, none wrong",
		judged: true, met: peak <= limit+64<<20 && other.Load() == 0, ours: mib(peak), note: fmt.Sprintf("%d answers, %d told to come again", whole.Load(), busy.Load())}}, nil
}

// largest asks for 120 planes, and takes them slowly if its number is odd.
func largest(ctx context.Context, client *http.Client, url string, n int, whole, busy, other *atomic.Int64) {
	from := n % 136
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/slice/d/v.b2nd?s=%d:%d&format=raw", url, from, from+120), nil)
	if err != nil {
		other.Add(1)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		other.Add(1)
		return
	}
	defer resp.Body.Close()
	size, err := int64(0), error(nil)
	for p := make([]byte, 256<<10); err == nil; {
		var k int
		k, err = resp.Body.Read(p)
		size += int64(k)
		if n%2 == 1 && !wait(ctx, 2*time.Millisecond) {
			err = ctx.Err()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	switch {
	case err == nil && resp.StatusCode == http.StatusOK && size == 120*512*512*2:
		whole.Add(1)
	case resp.StatusCode == http.StatusServiceUnavailable:
		busy.Add(1)
	default:
		other.Add(1)
	}
}
