package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// buildFunction builds fn-pack as it is released; arch "" is this machine's.
func (b *bench) buildFunction(ctx context.Context, arch string) (string, error) {
	if arch == "" {
		arch = runtime.GOARCH
	}
	bin := filepath.Join(b.dir, "fn-pack-"+arch, "bootstrap")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-tags", "lambda.norpc,nethttpomithttp2", "-o", bin, "./cmd/fn-pack")
	cmd.Dir = b.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build fn-pack: %w\n%s", err, text)
	}
	return bin, nil
}

// function: from the start of the process to its first call for work, the size of
// the program, and what it holds while it waits.
func function(ctx context.Context, b *bench) ([]row, error) {
	if runtime.GOOS != "linux" {
		return nil, &skipped{"functions run on Linux"}
	}
	var sizes string
	var largest int64
	for _, arch := range []string{"arm64", "amd64"} {
		bin, err := b.buildFunction(ctx, arch)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(bin)
		if err != nil {
			return nil, err
		}
		sizes += fmt.Sprintf("%s %.1f MB ", arch, float64(info.Size())/1e6)
		largest = max(largest, info.Size())
	}
	bin, err := b.buildFunction(ctx, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	var starts []time.Duration
	var rss int64
	for i := range 4*b.rounds + 1 {
		d, held, err := startOnce(ctx, bin)
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first one brings the file into memory
			starts, rss = append(starts, d), max(rss, held)
		}
	}
	d := median(starts)
	return []row{
		{job: "fn-pack: process start to first `next`", goal: "<= 10 ms", judged: true, met: d <= 10*time.Millisecond, ours: ms(d)},
		{job: "fn-pack: program", goal: "<= 14 MB", judged: true, met: largest <= 14e6, ours: sizes},
		{job: "fn-pack: resident while it waits", goal: "<= 20 MiB", judged: true, met: rss <= 20<<20, ours: mib(rss)},
	}, nil
}

func startOnce(ctx context.Context, bin string) (time.Duration, int64, error) {
	w, start, err := startWorker(ctx, bin)
	if err != nil {
		return 0, 0, err
	}
	defer w.close()
	at, err := w.ready(ctx)
	if err != nil {
		return 0, 0, err
	}
	wait(ctx, 50*time.Millisecond) // what it does beside the first call is part of what it holds
	rss, err := w.memory("VmRSS")
	return at.Sub(start), rss, err
}

// packMemory: the function's own binary packs a tar of 4 GB from S3 to S3.
func packMemory(ctx context.Context, b *bench) ([]row, error) {
	if runtime.GOOS != "linux" {
		return nil, &skipped{"functions run on Linux"}
	}
	bin, err := b.buildFunction(ctx, runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	size := pick(b, int64(4e9), int64(16e6))
	js, err := jpegs()
	if err != nil {
		return nil, err
	}
	var all int64
	for _, p := range js {
		all += 512 + int64(len(p)+511)&^511 // header and whole blocks
	}
	frames := int(size / (all / int64(len(js))))
	var total int64
	if err := b.upload(ctx, "large.tar", func(w io.Writer) error {
		var err error
		total, err = makeTar(w, frames)
		return err
	}); err != nil {
		return nil, err
	}
	s := b.stack
	w, _, err := startWorker(ctx, bin, "AWS_ENDPOINT_URL="+s.Endpoint, "AWS_ACCESS_KEY_ID="+s.AccessKey,
		"AWS_SECRET_ACCESS_KEY="+s.SecretKey, "AWS_REGION="+s.Region)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if _, err := w.ready(ctx); err != nil {
		return nil, err
	}
	info, err := b.head(ctx, bucketName, "large.tar")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := w.invoke(ctx, created(info)); err != nil {
		return nil, err
	}
	took := time.Since(start)
	peak, err := w.memory("VmHWM")
	if err != nil {
		return nil, err
	}
	out, err := b.head(ctx, "packed", "large.tar.gulp")
	if err != nil {
		return nil, err
	}
	if out.Size < total {
		return nil, errors.New("the function packed less than the whole archive")
	}
	return []row{{job: fmt.Sprintf("fn-pack: peak resident, tar of %.1f GB, %d frames, S3 to S3", float64(info.Size)/1e9, frames), goal: "<= 256 MiB",
		judged: true, met: peak <= 256<<20, ours: mib(peak), note: fmt.Sprintf("%s, beside the server on this machine", rate(float64(info.Size), took, "B"))}}, nil
}

func (b *bench) head(ctx context.Context, bucket, key string) (objstore.Info, error) {
	bk, err := s3store.New(ctx, s3store.Config{Bucket: bucket, Endpoint: b.stack.Endpoint, Region: b.stack.Region, AccessKey: b.stack.AccessKey, SecretKey: b.stack.SecretKey})
	if err != nil {
		return objstore.Info{}, err
	}
	defer bk.CloseIdleConnections()
	return bk.Head(ctx, key)
}

// created is S3's event for a new object.
func created(in objstore.Info) any {
	type m = map[string]any
	return m{"Records": []m{{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:CompleteMultipartUpload",
		"eventTime": "2026-01-01T00:00:00.000Z", "awsRegion": "us-east-1",
		"s3": m{"bucket": m{"name": bucketName}, "object": m{"key": in.Key, "size": in.Size, "eTag": in.ETag, "sequencer": "0A"}}}}}
}
