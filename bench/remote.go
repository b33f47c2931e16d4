package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
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
func (b *bench) s3server(ctx context.Context) error {
	if b.stack != nil {
		return nil
	}
	dir, err := b.sub("s3")
	if err != nil {
		return err
	}
	b.stack, err = teststack.Start(ctx, teststack.Options{Buckets: []string{bucketName, "packed"}, Dir: dir})
	return err
}

func (b *bench) bucket(ctx context.Context, endpoint string) (*s3store.Bucket, error) {
	return s3store.New(ctx, s3store.Config{Bucket: bucketName, Endpoint: endpoint, Region: b.stack.Region,
		AccessKey: b.stack.AccessKey, SecretKey: b.stack.SecretKey})
}

// upload puts what f writes into the bench bucket.
func (b *bench) upload(ctx context.Context, key string, f func(io.Writer) error) error {
	if err := b.s3server(ctx); err != nil {
		return err
	}
	bk, err := b.bucket(ctx, b.stack.Endpoint)
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

// uploadPair puts a pair into the bucket; it returns the local one and the size
// of its index.
func (b *bench) uploadPair(ctx context.Context) (*farread.Gulp, int64, error) {
	data, meta, err := b.makeGulp(pick(b, 9000, 640))
	if err != nil {
		return nil, 0, err
	}
	info, err := os.Stat(meta)
	if err != nil {
		return nil, 0, err
	}
	if info.Size() > 256<<10 {
		return nil, 0, fmt.Errorf("the index has %d bytes, more than this row is about", info.Size())
	}
	for key, file := range map[string]string{"data_0.gulp": data, "meta_0.gmeta": meta} {
		if err := b.uploadFile(ctx, key, file); err != nil {
			return nil, 0, err
		}
	}
	if err := b.credentials(); err != nil {
		return nil, 0, err
	}
	local, err := farread.OpenGulp(ctx, data)
	return local, info.Size(), err
}

// credentials puts those of the local cloud where farread's own client takes them from.
func (b *bench) credentials() error {
	return errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", b.stack.AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", b.stack.SecretKey))
}

// frameByID reads a frame by its id, out of an index of up to 256 KiB, with a
// client and connections of its own each time; then another frame.
func frameByID(ctx context.Context, b *bench) ([]row, error) {
	local, index, err := b.uploadPair(ctx)
	if err != nil {
		return nil, err
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
			note: fmt.Sprintf("index of %d KiB", index>>10)},
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

// coldFrames repeats coldFrame: times are medians, counts the largest seen.
func (b *bench) coldFrames(ctx context.Context, x *proxy, local *farread.Gulp) (frameCost, error) {
	var f frameCost
	var colds, warms []time.Duration
	for i := range 4*b.rounds + 1 {
		one, err := b.coldFrame(ctx, x, local, i)
		if err != nil {
			return f, err
		}
		if i == 0 {
			continue // the process's own first time: tables of the SDK, page cache
		}
		colds, warms = append(colds, one.coldTime), append(warms, one.warmTime)
		f.cold.Phases, f.cold.Bytes = max(f.cold.Phases, one.cold.Phases), max(f.cold.Bytes, one.cold.Bytes)
		f.coldSeen, f.warmSeen = max(f.coldSeen, one.coldSeen), max(f.warmSeen, one.warmSeen)
	}
	f.coldTime, f.warmTime = median(colds), median(warms)
	return f, nil
}

// coldFrame opens the pair with a new client, reads one frame, then another.
func (b *bench) coldFrame(ctx context.Context, x *proxy, local *farread.Gulp, i int) (frameCost, error) {
	var f frameCost
	count := &objstore.Counter{}
	c := farread.New(farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true, Counter: count})
	defer c.CloseIdleConnections()
	n := local.Len()
	id, other := local.ID(n/2+i%(n/2)), local.ID(n/4+i%(n/4))
	before, start := x.requests.Load(), time.Now()
	g, err := c.OpenGulp(ctx, "s3://"+bucketName+"/data_0.gulp", farread.GulpOptions{})
	if err != nil {
		return f, err
	}
	p, err := g.AppendFrame(ctx, nil, id, 7)
	if err != nil {
		return f, err
	}
	f.coldTime, f.coldSeen, f.cold = time.Since(start), x.requests.Load()-before, count.Stats()
	start = time.Now()
	q, err := g.AppendFrame(ctx, nil, other, 9)
	if err != nil {
		return f, err
	}
	f.warmTime, f.warmSeen = time.Since(start), x.requests.Load()-before-f.coldSeen
	return f, errors.Join(equalFrame(ctx, local, id, 7, p), equalFrame(ctx, local, other, 9, q))
}

func equalFrame(ctx context.Context, local *farread.Gulp, id string, i int, got []byte) error {
	want, err := local.AppendFrame(ctx, nil, id, i)
	if err == nil && !bytes.Equal(want, got) {
		err = fmt.Errorf("wrong bytes of %s, frame %d", id, i)
	}
	return err
}

// download: one large object into memory and as a stream, against the SDK's
// transfer manager with its own settings and with as many requests as ours.
func download(ctx context.Context, b *bench) ([]row, error) {
	size := pick(b, 256<<20, 24<<20)
	if err := b.uploadLarge(ctx, size); err != nil {
		return nil, err
	}
	buf := make([]byte, size)
	var rs []row
	for _, p := range []profile{near(), rtt30()} {
		d, err := b.newDownload(ctx, p)
		if err != nil {
			return nil, err
		}
		some, err := b.downloads(ctx, d, buf)
		d.close()
		if err != nil {
			return nil, err
		}
		rs = append(rs, some...)
	}
	return rs, nil
}

// uploadLarge puts an object of size bytes, no two blocks of it alike.
func (b *bench) uploadLarge(ctx context.Context, size int) error {
	return b.upload(ctx, "large", func(w io.Writer) error {
		block := make([]byte, 1<<20)
		for n := 0; n < size; n += len(block) {
			fillBlock(block, n)
			if _, err := w.Write(block[:min(len(block), size-n)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// fillBlock makes the bytes that stand at off: every word is its own offset.
func fillBlock(p []byte, off int) {
	for i := 0; i+8 <= len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], uint64(off+i))
	}
}

// checkLarge compares downloaded bytes with the uploaded ones.
func checkLarge(got []byte) error {
	want := make([]byte, 1<<20)
	for off := 0; off < len(got); off += len(want) {
		fillBlock(want, off)
		if n := min(len(want), len(got)-off); !bytes.Equal(want[:n], got[off:off+n]) {
			return fmt.Errorf("wrong bytes in the MiB at %d", off)
		}
	}
	return nil
}

// A downloader reaches the server through a proxy, by either side's client.
type downloader struct {
	x      *proxy
	bucket *s3store.Bucket
	client *s3.Client
}

func (b *bench) newDownload(ctx context.Context, p profile) (*downloader, error) {
	x, err := b.before(ctx, p)
	if err != nil {
		return nil, err
	}
	bk, err := b.bucket(ctx, x.url())
	if err != nil {
		x.close()
		return nil, err
	}
	d := &downloader{x: x, bucket: bk}
	d.client = s3.New(s3.Options{BaseEndpoint: aws.String(x.url()), Region: b.stack.Region, UsePathStyle: true, HTTPClient: awshttp.NewBuildableClient(),
		Credentials: credentials.NewStaticCredentialsProvider(b.stack.AccessKey, b.stack.SecretKey, "")})
	return d, nil
}

func (d *downloader) close() {
	d.bucket.CloseIdleConnections()
	d.x.close()
}

func (b *bench) downloads(ctx context.Context, dl *downloader, buf []byte) ([]row, error) {
	bk, client, x := dl.bucket, dl.client, dl.x
	memory := []int{5, 16, 32} // 5 is the transfer manager's own choice
	sides := append(make([]side, 0, 1+len(memory)), wholeObject(bk, buf))
	for _, n := range memory {
		sides = append(sides, managed(client, buf, n))
	}
	d, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	for _, s := range sides[:2] { // check the bytes, too
		clear(buf)
		if _, err := s(ctx); err != nil {
			return nil, err
		}
		if err := checkLarge(buf); err != nil {
			return nil, err
		}
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

// drained reads r to its end with the same large buffer on both sides: the
// transfer manager is many times slower with small ones.
func drained(r io.Reader, size int64) error {
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 1<<20))
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
