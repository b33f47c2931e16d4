package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A profile is how far away a server is made to be.
type profile struct {
	name  string
	first time.Duration // before the first byte of each answer
	rate  float64       // bytes a second of one connection; 0: as fast as it goes
	slow  float64       // share of requests that are slower still
	extra time.Duration // delay
}

// The profiles: "rtt30" is a quiet region away, "real" is the same on a real day.
func near() profile  { return profile{name: "no delay"} }
func rtt30() profile { return profile{name: "rtt30", first: 30 * time.Millisecond} }
func busy() profile {
	return profile{name: "real", first: 30 * time.Millisecond, rate: 80e6, slow: 0.02, extra: 300 * time.Millisecond}
}

// A proxy stands before a server and delays. It works on connections, below
// HTTP, and lets the kernel move the bytes, so that it costs both sides little.
// A request is what arrives in one piece after an answer: right for GETs without
// pipelining, which is what it is used for.
type proxy struct {
	l        net.Listener
	to       string
	p        profile
	requests atomic.Int64
	bytes    atomic.Int64 // of answers, headers too; of open connections up to spliced late
	wg       sync.WaitGroup
	stop     context.CancelFunc
	mu       sync.Mutex
	rand     *rand.Rand
}

// spliced is how many bytes the kernel moves before they are counted.
const spliced = 64 << 10

func newProxy(ctx context.Context, to string, p profile) (*proxy, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	x := &proxy{l: l, to: to, p: p, stop: stop, rand: rand.New(rand.NewPCG(11, 13))} //nolint:gosec // delays
	x.wg.Add(1)
	go func() {
		defer x.wg.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			x.wg.Add(1)
			go func() {
				defer x.wg.Done()
				x.serve(ctx, c)
			}()
		}
	}()
	return x, nil
}

func (x *proxy) url() string { return "http://" + x.l.Addr().String() }

func (x *proxy) close() {
	x.stop()
	_ = x.l.Close()
	x.wg.Wait()
}

func (x *proxy) serve(ctx context.Context, c net.Conn) {
	defer hangUp(c)
	var d net.Dialer
	s, err := d.DialContext(ctx, "tcp", x.to)
	if err != nil {
		return
	}
	defer hangUp(s)
	end := context.AfterFunc(ctx, func() { hangUp(c); hangUp(s) })
	defer end()
	done := make(chan struct{})
	go func() {
		defer close(done)
		x.answers(ctx, c, s)
		hangUp(c)
	}()
	x.asks(ctx, s, c)
	hangUp(s)
	<-done
}

// asks passes requests on, each after its delay.
func (x *proxy) asks(ctx context.Context, to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		x.requests.Add(1)
		if !wait(ctx, x.delay()) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (x *proxy) delay() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rand.Float64() < x.p.slow {
		return x.p.first + x.p.extra
	}
	return x.p.first
}

// answers passes bodies on, at the profile's rate.
func (x *proxy) answers(ctx context.Context, to, from net.Conn) {
	t, ok := to.(*net.TCPConn)
	if !ok {
		return
	}
	if x.p.rate == 0 {
		for { // ends with either connection
			n, err := t.ReadFrom(io.LimitReader(from, spliced))
			if x.bytes.Add(n); err != nil || n == 0 {
				return
			}
		}
	}
	buf := make([]byte, 128<<10)
	next := time.Now()
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if now := time.Now(); next.Before(now) {
			next = now
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		x.bytes.Add(int64(n))
		next = next.Add(time.Duration(float64(n) / x.p.rate * 1e9))
		if d := time.Until(next); d > time.Millisecond && !wait(ctx, d) { // shorter ones are made up for later
			return
		}
	}
}

// wait reports whether d has passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hangUp closes a connection; errors do not matter any more.
func hangUp(c net.Conn) { _ = c.Close() }
