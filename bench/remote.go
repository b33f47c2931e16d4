package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
	"github.com/farread/farread/rangeio"
)

const bucketName = "bench"

// s3server starts the local cloud, once for all jobs.
func (b *bench) s3server(ctx context.Context) (*teststack.Stack, error) {
	if b.stack != nil {
		return b.stack, nil
	}
	dir, err := b.sub("s3")
	if err != nil {
		return nil, err
	}
	b.stack, err = teststack.Start(ctx, teststack.Options{Buckets: []string{bucketName, "packed"}, Dir: dir})
	return b.stack, err
}

func (b *bench) bucket(ctx context.Context, endpoint string, count *objstore.Counter) (*s3store.Bucket, error) {
	return s3store.New(ctx, s3store.Config{Bucket: bucketName, Endpoint: endpoint, Region: b.stack.Region,
		AccessKey: b.stack.AccessKey, SecretKey: b.stack.SecretKey, Counter: count})
}

// upload puts what f writes into the bench bucket.
func (b *bench) upload(ctx context.Context, key string, f func(io.Writer) error) error {
	if _, err := b.s3server(ctx); err != nil {
		return err
	}
	bk, err := b.bucket(ctx, b.stack.Endpoint, nil)
	if err != nil {
		return err
	}
	defer bk.CloseIdleConnections()
	r, w := io.Pipe()
	go func() { w.CloseWithError(f(w)) }()
	_, err = objstore.Put(ctx, bk, key, r, objstore.PutOptions{})
	return err
}

func (b *bench) uploadFile(ctx context.Context, key, file string) error {
	return b.upload(ctx, key, func(w io.Writer) error {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		return errors.Join(err, f.Close())
	})
}

// before starts a proxy of a profile before the S3 server.
func (b *bench) before(ctx context.Context, p profile) (*proxy, error) {
	return newProxy(ctx, strings.TrimPrefix(b.stack.Endpoint, "http://"), p)
}

// frameByID is A12: a frame by its id, out of an index of up to 256 KiB, with a
// client and connections of its own each time; then another frame.
func frameByID(ctx context.Context, b *bench) ([]row, error) {
	data, meta, err := b.makeGulp(pick(b, 9000, 640))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(meta)
	if err != nil {
		return nil, err
	}
	if info.Size() > 256<<10 {
		return nil, fmt.Errorf("the index has %d bytes, more than A12 speaks of", info.Size())
	}
	for key, file := range map[string]string{"data_0.gulp": data, "meta_0.gmeta": meta} {
		if err := b.uploadFile(ctx, key, file); err != nil {
			return nil, err
		}
	}
	local, err := farread.OpenGulp(ctx, data)
	if err != nil {
		return nil, err
	}
	// The AWS settings come from the environment for farread's own client.
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": b.stack.AccessKey, "AWS_SECRET_ACCESS_KEY": b.stack.SecretKey} {
		if err := os.Setenv(k, v); err != nil {
			return nil, err
		}
	}
	var rs []row
	for _, p := range []profile{rtt30(), busy()} {
		x, err := b.before(ctx, p)
		if err != nil {
			return nil, err
		}
		f, err := b.coldFrames(ctx, x, local)
		x.close()
		if err != nil {
			return nil, err
		}
		allow := 1.0
		if p.rate > 0 {
			allow = 1.3
		}
		cold, warm := time.Duration(75*allow)*time.Millisecond, time.Duration(40*allow)*time.Millisecond
		rs = append(rs, row{job: "one frame by id, cold, " + p.name, goal: fmt.Sprintf("<= 2 phases, %v", cold), judged: true,
			met: f.cold.Phases <= 2 && f.coldTime <= cold, ours: fmt.Sprintf("%s, %d phases, %d requests, %d kB", ms(f.coldTime), f.cold.Phases, f.coldSeen, f.cold.Bytes/1000),
			note: fmt.Sprintf("index of %d KiB", info.Size()>>10)},
			row{job: "another frame, warm, " + p.name, goal: fmt.Sprintf("1 request, <= %v", warm), judged: true,
				met: f.warmSeen == 1 && f.warmTime <= warm, ours: fmt.Sprintf("%s, %d request", ms(f.warmTime), f.warmSeen)})
	}
	return rs, nil
}

type frameCost struct {
	cold               rangeio.Stats
	coldTime, warmTime time.Duration
	coldSeen, warmSeen int64 // requests, counted at the server
}

func (b *bench) coldFrames(ctx context.Context, x *proxy, local *farread.Gulp) (frameCost, error) {
	var f frameCost
	var colds, warms []time.Duration
	n := local.Len()
	for i := range 4*b.rounds + 1 {
		count := &objstore.Counter{}
		c := farread.New(farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true, Counter: count})
		before := x.requests.Load()
		start := time.Now()
		g, err := c.OpenGulp(ctx, "s3://"+bucketName+"/data_0.gulp", farread.GulpOptions{})
		if err != nil {
			return f, err
		}
		id, other := local.ID(n/2+i%(n/2)), local.ID(n/4+i%(n/4))
		p, err := g.ReadFrame(ctx, nil, id, 7)
		if err != nil {
			return f, err
		}
		cold := time.Since(start)
		seen, cost := x.requests.Load()-before, count.Stats()
		start = time.Now()
		q, err := g.ReadFrame(ctx, nil, other, 9)
		if err != nil {
			return f, err
		}
		warm := time.Since(start)
		again := x.requests.Load() - before - seen
		c.CloseIdleConnections()
		for _, r := range []struct {
			id  string
			i   int
			got []byte
		}{{id, 7, p}, {other, 9, q}} {
			want, err := local.ReadFrame(ctx, nil, r.id, r.i)
			if err != nil {
				return f, err
			}
			if !bytes.Equal(want, r.got) {
				return f, fmt.Errorf("wrong bytes of %s", r.id)
			}
		}
		if i == 0 {
			continue // the process's own first time: tables of the SDK, page cache
		}
		colds, warms = append(colds, cold), append(warms, warm)
		f.cold.Phases, f.cold.Bytes = max(f.cold.Phases, cost.Phases), cost.Bytes
		f.coldSeen, f.warmSeen = max(f.coldSeen, seen), max(f.warmSeen, again)
	}
	f.coldTime, f.warmTime = median(colds), median(warms)
	return f, nil
}

// download: one large object into memory and as a stream, against the SDK's
// transfer manager with its own settings and with as many requests as ours.
func download(ctx context.Context, b *bench) ([]row, error) {
	size := pick(b, 512<<20, 24<<20)
	if err := b.upload(ctx, "large", func(w io.Writer) error {
		block := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		for n := 0; n < size; n += len(block) {
			if _, err := w.Write(block[:min(len(block), size-n)]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	buf := make([]byte, size)
	var rs []row
	for _, p := range []profile{near(), rtt30()} {
		x, err := b.before(ctx, p)
		if err != nil {
			return nil, err
		}
		some, err := b.downloads(ctx, x, buf)
		x.close()
		if err != nil {
			return nil, err
		}
		rs = append(rs, some...)
	}
	return rs, nil
}

func (b *bench) downloads(ctx context.Context, x *proxy, buf []byte) ([]row, error) {
	bk, err := b.bucket(ctx, x.url(), nil)
	if err != nil {
		return nil, err
	}
	defer bk.CloseIdleConnections()
	client := s3.New(s3.Options{BaseEndpoint: aws.String(x.url()), Region: b.stack.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(b.stack.AccessKey, b.stack.SecretKey, "")})
	if t, ok := client.Options().HTTPClient.(interface{ GetTransport() *http.Transport }); ok {
		defer t.GetTransport().CloseIdleConnections()
	}
	memory := []int{5, 16, 32} // 5 is the transfer manager's own choice
	sides := []side{wholeObject(bk, buf)}
	for _, n := range memory {
		sides = append(sides, managed(client, buf, n))
	}
	d, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	stream, err := b.interleave(ctx, streamObject(bk, int64(len(buf))), managedStream(client, int64(len(buf)), 0), managedStream(client, int64(len(buf)), 16))
	if err != nil {
		return nil, err
	}
	goal := 1.0
	if x.p.first > 0 {
		goal = 1.2
	}
	size, best := float64(len(buf)), 0
	for k := range memory {
		if d[1+k] < d[1+best] {
			best = k
		}
	}
	rs := []row{
		against(fmt.Sprintf("download of %d MiB into memory, %s, to the transfer manager as it comes", len(buf)>>20, x.p.name), "B", size, d[0], d[1], goal),
		against("same, to its best of 5, 16, 32 at a time", "B", size, d[0], d[1+best], 0),
		against(fmt.Sprintf("download of %d MiB as a stream, %s, both as they come", len(buf)>>20, x.p.name), "B", size, stream[0], stream[1], 0),
		against("same, the peer 16 at a time", "B", size, stream[0], stream[2], 0),
	}
	rs[1].note = fmt.Sprintf("best at %d", memory[best])
	return rs, nil
}

func wholeObject(bk objstore.Bucket, buf []byte) side {
	return timed(func(ctx context.Context) error {
		o, err := objstore.Open(ctx, bk, "large", objstore.OpenOptions{})
		if err != nil {
			return err
		}
		if o.Size() != int64(len(buf)) {
			return fmt.Errorf("size %d", o.Size())
		}
		return o.ReadRanges(ctx, []rangeio.Span{{Off: 0, P: buf}})
	})
}

func streamObject(bk objstore.Bucket, size int64) side {
	return timed(func(ctx context.Context) error {
		o, err := objstore.Open(ctx, bk, "large", objstore.OpenOptions{})
		if err != nil {
			return err
		}
		r := o.NewReader(ctx, objstore.ReadOptions{})
		defer r.Close()
		return drained(r, size)
	})
}

func drained(r io.Reader, size int64) error {
	n, err := io.Copy(io.Discard, r)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes of %d", n, size)
	}
	return err
}

func manager(client *s3.Client, n int) *transfermanager.Client {
	return transfermanager.New(client, func(o *transfermanager.Options) { o.Concurrency = n })
}

func managed(client *s3.Client, buf []byte, n int) side {
	m := manager(client, n)
	return timed(func(ctx context.Context) error {
		out, err := m.DownloadObject(ctx, &transfermanager.DownloadObjectInput{Bucket: aws.String(bucketName), Key: aws.String("large"),
			WriterAt: types.NewWriteAtBuffer(buf)})
		if err == nil && aws.ToInt64(out.ContentLength) != int64(len(buf)) {
			err = fmt.Errorf("%d bytes", aws.ToInt64(out.ContentLength))
		}
		return err
	})
}

func managedStream(client *s3.Client, size int64, n int) side {
	m := manager(client, n)
	return timed(func(ctx context.Context) error {
		out, err := m.GetObject(ctx, &transfermanager.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String("large")})
		if err != nil {
			return err
		}
		if c, ok := out.Body.(io.Closer); ok {
			defer c.Close()
		}
		return drained(out.Body, size)
	})
}
