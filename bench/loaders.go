package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The settings of the other loaders: the best of 0, 1, 2 and 4 processes, and of py1e and py1br.
const (
	tarShard   = 1000       // samples of a tar of WebDataset
	tarBuffer  = loadWindow // samples that each process mixes
	tarWorkers = 4
	mdsShard   = 16 << 20 // bytes of a shard of StreamingDataset
	mdsShuffle = "py1br"
	mdsWorkers = 2
)

// otherLoaders starts the loaders of Python that have formats of their own, or says why it cannot.
func (b *bench) otherLoaders(ctx context.Context) (*python, error) {
	return b.python(ctx, "loaders", "import boto3, gulpio2, snappy, webdataset; from importlib.metadata import version; version('mosaicml-streaming')", loaderScript)
}

// An otherLoader reads an epoch of the same frames in its own format.
type otherLoader struct {
	name, how string
	goal      float64
	args      []string

	w               work
	order           order
	requests, bytes int64
}

// An order is the numbers of frames in the order in which they came.
type order []int32

// quality says how far a frame has moved, as a part of the dataset, and how often the one
// after it lies less than loadBlock away. Every frame must have come once.
func (o order) quality() (moved, near float64, err error) {
	seen := make([]bool, len(o))
	last := int32(math.MinInt32 / 2)
	for i, n := range o {
		if n < 0 || int(n) >= len(o) || seen[n] {
			return 0, 0, fmt.Errorf("frame %d is not one of %d, or came twice", n, len(o))
		}
		seen[n] = true
		moved += math.Abs(float64(int(n) - i))
		if gap := n - last; -loadBlock < gap && gap < loadBlock {
			near++
		}
		last = n
	}
	n := float64(len(o))
	return moved / n / n, near / n, nil
}

// text is the cost of an epoch and its quality in words.
func (o order) text(requests, bytes int64) (string, error) {
	moved, near, err := o.quality()
	return fmt.Sprintf("%d requests, %.0f MB, moved by %.2f, %.1f %% follow a neighbour", requests, float64(bytes)/1e6, moved, 100*near), err
}

// others uploads the frames of a pair in the formats of the other loaders.
func (b *bench) others(ctx context.Context, p *python, x *proxy, data, meta string) ([]*otherLoader, error) {
	n := pick(b, fullLoaded, quickLoaded)
	urls, err := b.tarShards(ctx, x, n)
	if err != nil {
		return nil, err
	}
	if err := b.mdsShards(ctx, p, data, meta, n); err != nil {
		return nil, err
	}
	cache, err := b.sub("streaming")
	if err != nil {
		return nil, err
	}
	return []*otherLoader{
		{name: "WebDataset", goal: 1, how: fmt.Sprintf("%d tars by curl, %d processes, each mixes %d frames", len(urls), tarWorkers, tarBuffer),
			args: []string{"webdataset", jsonText(urls), strconv.Itoa(tarWorkers), strconv.Itoa(tarBuffer)}},
		{name: "MosaicML StreamingDataset", goal: 1, how: fmt.Sprintf("shards of %d MiB by boto3 into a folder, %s, %d processes", mdsShard>>20, mdsShuffle, mdsWorkers),
			args: []string{"streaming", x.url(), "s3://" + bucketName + "/mds", b.stack.AccessKey, b.stack.SecretKey, filepath.Join(cache, "local"), strconv.Itoa(mdsWorkers), mdsShuffle}},
		{name: "GulpIO2, from local files in the page cache", how: "it reads no others; frame by frame, all shuffled",
			args: []string{"gulpio2", filepath.Dir(data)}},
	}, nil
}

func jsonText(v any) string {
	t, _ := json.Marshal(v) // texts
	return string(t)
}

// side reads an epoch, and notes what it took at the proxy and the order of frames.
func (l *otherLoader) side(p *python, x *proxy, numbers string) side {
	do := p.side(&l.w, append([]string{l.args[0], numbers}, l.args[1:]...)...)
	return func(ctx context.Context) (time.Duration, error) {
		requests, bytes := x.requests.Load(), x.bytes.Load()
		took, err := do(ctx)
		if err != nil {
			return 0, err
		}
		l.requests, l.bytes = x.requests.Load()-requests, x.bytes.Load()-bytes
		text, err := os.ReadFile(filepath.Clean(numbers))
		l.order = make(order, len(text)/4)
		_, e := binary.Decode(text, binary.LittleEndian, l.order)
		return took, errors.Join(err, e)
	}
}

// row is the row of a loader beside ours.
func (l *otherLoader) row(n float64, ours, took time.Duration) (row, error) {
	r := against("same, by "+l.name, "frames", n, ours, took, l.goal)
	cost, err := l.order.text(l.requests, l.bytes)
	r.note = l.how + "; " + cost
	return r, err
}

// tarShards uploads n frames as tars of numbered files, and returns their addresses behind the
// proxy, signed for an hour: what reads them is curl.
func (b *bench) tarShards(ctx context.Context, x *proxy, n int) ([]string, error) {
	js, err := jpegs()
	if err != nil {
		return nil, err
	}
	presign := s3.NewPresignClient(s3.New(s3.Options{BaseEndpoint: aws.String(x.url()), Region: b.stack.Region, UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(b.stack.AccessKey, b.stack.SecretKey, "")}), s3.WithPresignExpires(time.Hour))
	dir, err := b.sub("tars")
	if err != nil {
		return nil, err
	}
	shard := pick(b, tarShard, 160)
	var urls []string
	for from := 0; from < n; from += shard {
		key := fmt.Sprintf("tars/%06d.tar", from/shard)
		file := filepath.Join(dir, filepath.Base(key))
		if err := numberedTar(file, js, from, min(from+shard, n)); err != nil {
			return nil, err
		}
		if err := errors.Join(b.uploadFile(ctx, key, file), os.Remove(file)); err != nil {
			return nil, err
		}
		u, err := presign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(bucketName), Key: aws.String(key)})
		if err != nil {
			return nil, err
		}
		urls = append(urls, u.URL)
	}
	return urls, nil
}

// numberedTar writes the frames from on and below to.
func numberedTar(file string, js [][]byte, from, to int) error {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := from; i < to; i++ {
		p := js[i%len(js)]
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%09d.jpg", i), Size: int64(len(p)), Mode: 0o644, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = w.Write(p)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), os.WriteFile(file, out.Bytes(), 0o600))
}

// mdsShards lets StreamingDataset's writer make its shards of a pair, and uploads them.
func (b *bench) mdsShards(ctx context.Context, p *python, data, meta string, n int) error {
	dir, err := b.sub("mds")
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "mds") // the writer wants to make it
	var w work
	if _, err := p.side(&w, "make-streaming", "", dir, data, meta, strconv.Itoa(pick(b, mdsShard, 2<<20)))(ctx); err != nil {
		return err
	}
	if w.frames != int64(n) {
		return fmt.Errorf("StreamingDataset's writer wrote %d frames of %d", w.frames, n)
	}
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return b.uploadFile(ctx, "mds/"+filepath.ToSlash(strings.TrimPrefix(file, dir+string(filepath.Separator))), file)
	})
	return errors.Join(err, os.RemoveAll(dir))
}
