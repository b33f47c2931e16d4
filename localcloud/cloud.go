package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/farread/farread/localcloud/delivery"
	"github.com/farread/farread/localcloud/furl"
	"github.com/farread/farread/localcloud/lambda"
	"github.com/farread/farread/localcloud/notify"
	"github.com/farread/farread/localcloud/s3srv"
	"github.com/farread/farread/localcloud/spool"
)

// stopGrace is how long requests in flight may take after the order to stop.
const stopGrace = 1500 * time.Millisecond

// cloud is everything that runs.
type cloud struct {
	log     *slog.Logger
	out     *output
	ready   ready
	spool   *spool.Spool
	store   *s3srv.Server
	deliver *delivery.Delivery
	pools   []*lambda.Pool
	fronts  []*http.Server
	pending []spool.Entry
}

// newCloud puts the parts together. Functions run until ctx ends or close.
func newCloud(ctx context.Context, o options, f *folder, out *output, log *slog.Logger) (_ *cloud, err error) {
	c := &cloud{log: log, out: out}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	paths, err := o.binaries()
	if err != nil {
		return nil, err
	}
	secret, err := f.secret()
	if err != nil {
		return nil, err
	}
	addr, err := s3srv.FreeAddr(ctx, o.addr)
	if err != nil {
		return nil, err
	}
	c.ready = ready{Endpoint: "http://" + addr, AccessKey: accessKey, SecretKey: secret, Region: o.region, Buckets: o.allBuckets(), Dir: f.path}
	if c.spool, c.pending, err = spool.Open(filepath.Join(f.path, "spool"), o.region, notify.NewClock(nil)); err != nil {
		return nil, err
	}
	invoke, err := c.startPools(ctx, o, paths)
	if err != nil {
		return nil, err
	}
	c.deliver, err = delivery.New(ctx, delivery.Config{
		Rules: o.rules, Functions: invoke, Spool: c.spool, DeadLetters: filepath.Join(f.path, "dead-letters.jsonl"),
		Tries: o.tries, RetryDelay: o.retryDelay, BatchWindow: o.window, Concurrency: o.concurrency, Region: o.region,
		Report: func(i delivery.Invocation) { out.line(i) }, Log: log,
	})
	if err != nil {
		return nil, err
	}
	c.store, err = s3srv.New(ctx, s3srv.Config{
		Dir: f.path, Addr: addr, AccessKey: accessKey, SecretKey: secret, Region: o.region,
		Versioning: o.versioning, Buckets: c.ready.Buckets, Emit: c.emit, Routes: c.routes(),
	})
	if err != nil {
		return nil, err
	}
	return c, c.findLost(ctx)
}

// startPools starts a pool of processes for each function.
func (c *cloud) startPools(ctx context.Context, o options, paths map[string]string) (map[string]delivery.Invoke, error) {
	env := append([]string{
		"AWS_ENDPOINT_URL=" + c.ready.Endpoint,
		"AWS_ACCESS_KEY_ID=" + c.ready.AccessKey, "AWS_SECRET_ACCESS_KEY=" + c.ready.SecretKey,
	}, o.env...)
	invoke := map[string]delivery.Invoke{}
	rules, err := json.Marshal(o.rules) // one document for all, as in the cloud
	if err != nil {
		return nil, err
	}
	for name, path := range paths {
		p, err := lambda.NewPool(lambda.Config{
			Name: name, Path: path, Env: append(slices.Clip(env), "FARREAD_RULES="+string(rules)), Timeout: o.timeout, Memory: o.memory << 20,
			Concurrency: o.concurrency, Region: o.region, Log: c.log,
		})
		if err != nil {
			return nil, err
		}
		c.pools = append(c.pools, p)
		invoke[name] = p.Invoke
		if slices.Contains(o.urls, name) {
			if err := c.startFront(ctx, name, p); err != nil {
				return nil, err
			}
		}
	}
	return invoke, nil
}

// startFront lets a function answer HTTP at an address of its own.
func (c *cloud) startFront(ctx context.Context, name string, p *lambda.Pool) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: furl.Handler(p, c.log.With("function", name)), ReadHeaderTimeout: time.Minute}
	c.fronts = append(c.fronts, s)
	go func() { _ = s.Serve(l) }() // it ends by Close
	if c.ready.URLs == nil {
		c.ready.URLs = map[string]string{}
	}
	c.ready.URLs[name] = "http://" + l.Addr().String() + "/"
	return nil
}

// emit spools a change and queues it. The client waits for it.
func (c *cloud) emit(ch notify.Change) error {
	e, err := c.spool.Append(ch)
	if err != nil {
		c.log.Error("event not spooled", "bucket", ch.Bucket, "key", ch.Key, "error", err)
		return err
	}
	return c.deliver.Add(e)
}

// findLost spools events for objects whose own events a crash has cut off.
func (c *cloud) findLost(ctx context.Context) error {
	return c.store.EachObject(ctx, func(ch notify.Change, modified time.Time) error {
		if c.spool.Knows(ch.Bucket, ch.Key, ch.ETag, ch.VersionID, modified) {
			return nil
		}
		c.log.Info("object without an event", "bucket", ch.Bucket, "key", ch.Key)
		e, err := c.spool.Append(ch)
		c.pending = append(c.pending, e)
		return err
	})
}

// routes are the pages for people who run the cloud.
func (c *cloud) routes() []s3srv.Route {
	return []s3srv.Route{
		{Method: "GET", Path: "/_localcloud/status", Serve: func() (any, error) { return c.deliver.Status() }},
		{Method: "POST", Path: "/_localcloud/redrive", Serve: func() (any, error) {
			n, err := c.deliver.Redrive()
			return map[string]int{"redriven": n}, err
		}},
	}
}

// run serves until ctx ends and returns at most stopGrace later. Functions are
// dead by then.
func (c *cloud) run(ctx context.Context, redrive bool) error {
	ctx, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	listening := make(chan struct{})
	go func() { served <- c.store.Serve(ctx, sync.OnceFunc(func() { close(listening) })) }()
	err := c.until(ctx, redrive, served, listening)
	cancel()
	closed := make(chan struct{})
	go func() { defer close(closed); c.close() }()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	// A request in flight, or a report that is not read, may take for ever.
	for range 2 {
		select {
		case <-closed:
			closed = nil
		case e := <-served:
			err = errors.Join(err, e)
		case <-grace.C:
			c.log.Warn("stopped with requests in flight")
			return err
		}
	}
	return err
}

// until returns when ctx ends or something fails. It puts the server's result back
// into served, from which run takes it.
func (c *cloud) until(ctx context.Context, redrive bool, served chan error, listening <-chan struct{}) error {
	again := func(err error) error { served <- err; return nil }
	select {
	case err := <-served:
		return again(err)
	case <-listening:
	}
	if err := c.begin(redrive); err != nil {
		return err
	}
	c.out.start(c.ready) // after begin: a status that says nothing is pending is then true
	select {
	case err := <-served:
		if ctx.Err() == nil {
			err = errors.Join(errors.New("the S3 server ended"), err)
		}
		return again(err)
	case <-ctx.Done():
		return nil
	}
}

// begin delivers the events that were left over: functions need the server for it.
func (c *cloud) begin(redrive bool) error {
	for _, e := range c.pending {
		if err := c.deliver.Add(e); err != nil {
			return err
		}
	}
	c.pending = nil
	if !redrive {
		return nil
	}
	n, err := c.deliver.Redrive()
	if err != nil {
		return fmt.Errorf("redrive: %w", err)
	}
	c.log.Info("dead letters delivered again", "count", n)
	return nil
}

// close kills the functions, then waits for deliveries to end. The spool stays
// open for requests in flight.
func (c *cloud) close() {
	for _, s := range c.fronts {
		_ = s.Close() // what it waits for ends with the functions
	}
	var wg sync.WaitGroup
	for _, p := range c.pools {
		wg.Go(p.Close)
	}
	wg.Wait()
	if c.deliver != nil {
		c.deliver.Close()
	}
}
