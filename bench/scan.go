package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A kind is how the array of a scan is encoded.
type kind struct {
	name  string
	level int
	// A stored array is compared with fetching its bytes, another one with fetching
	// and then decoding them.
	goal float64
}

func kinds() []kind { return []kind{{"stored", blosc.LevelStore, 0.8}, {"zstd 1", 1, 0.95}} }

func (k kind) stored() bool { return k.level == blosc.LevelStore }

// fullScan reads an array from afar in four ways: into memory, slab by slab as unpack does,
// to verify it, and its bytes as a stream. It compares that with a bare client that only
// fetches the bytes of the same object in ranges side by side, and with one that decodes
// them afterwards.
func fullScan(ctx context.Context, b *bench) ([]row, error) {
	c, err := b.newCube("scan", seriesOf("f64 walk"), pick(b, []int64{512, 256, 256}, []int64{16, 64, 64})...)
	if err != nil {
		return nil, err
	}
	// farread's own client takes its credentials from the environment.
	if err := b.s3server(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", b.stack.AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", b.stack.SecretKey)); err != nil {
		return nil, err
	}
	dst := make([]byte, c.nbytes)
	var rs []row
	for _, k := range kinds() {
		if err := c.pack(ctx, k.level, 2); err != nil {
			return nil, err
		}
		if err := b.uploadFile(ctx, "scan.b2nd", c.b2nd()); err != nil {
			return nil, err
		}
		info, err := os.Stat(c.b2nd())
		if err != nil {
			return nil, err
		}
		raw := make([]byte, info.Size())
		for _, p := range []profile{near(), rtt30(), busy()} {
			r, err := b.scan(ctx, c, k, p, dst, raw)
			if err != nil {
				return nil, err
			}
			rs = append(rs, r...)
		}
	}
	return rs, nil
}

// flights are how many ranges the bare client has in flight: it is measured at its best.
func flights() []int { return []int{8, 16, 32} }

// scanWays are the ways to read all of an array. memory is what a bare client does for the
// same result: it fetches into memory, or decodes as well.
func scanWays(client *farread.Client, uri string, dst []byte) []way {
	open := func(f func(ctx context.Context, a *farread.Array) error) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			a, err := client.OpenArray(ctx, uri, farread.FrameOptions{})
			if err != nil {
				return err
			}
			return f(ctx, a)
		}
	}
	return []way{
		{"full scan", true, open(func(ctx context.Context, a *farread.Array) error {
			return a.ReadSlice(ctx, dst, b2nd.Whole(a.Meta().Shape))
		})},
		{"unpack", true, open(func(ctx context.Context, a *farread.Array) error {
			n, err := a.CopyTo(ctx, io.Discard, b2nd.Whole(a.Meta().Shape), 0)
			if err == nil && n != int64(len(dst)) {
				err = fmt.Errorf("%d bytes of %d", n, len(dst))
			}
			return err
		})},
		{"verify", true, open(func(ctx context.Context, a *farread.Array) error {
			_, err := a.Frame().Verify(ctx, nil)
			return err
		})},
		{"stream of the object", false, func(ctx context.Context) error {
			o, err := client.Open(ctx, uri)
			if err != nil {
				return err
			}
			r := o.NewReader(ctx, objstore.ReadOptions{})
			defer r.Close()
			n, err := io.Copy(io.Discard, r)
			if err == nil && n != o.Size() {
				err = fmt.Errorf("%d bytes of %d", n, o.Size())
			}
			return err
		}},
	}
}

type way struct {
	name    string
	decodes bool
	run     func(ctx context.Context) error
}

func (b *bench) scan(ctx context.Context, c *cube, k kind, p profile, dst, raw []byte) ([]row, error) {
	x, err := b.before(ctx, p)
	if err != nil {
		return nil, err
	}
	defer x.close()
	client := farread.New(farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true})
	defer client.CloseIdleConnections()
	ways := scanWays(client, "s3://"+bucketName+"/scan.b2nd", dst)
	spents := make([]spent, len(ways)+2)
	var sides []side
	for i, w := range ways {
		sides = append(sides, spents[i].timed(w.name, w.run))
	}
	fetch, both := &spents[len(ways)], &spents[len(ways)+1]
	var last *bare
	for _, n := range flights() {
		last = b.newBare(x.url()+"/"+bucketName+"/scan.b2nd", n)
		defer last.client.CloseIdleConnections() //nolint:revive // a few
		fetcher := last
		sides = append(sides, fetch.timed("bare", func(ctx context.Context) error { return fetcher.fetch(ctx, raw) }))
	}
	sides = append(sides, both.timed("bare and decode", func(ctx context.Context) error { return last.fetchAndDecode(ctx, raw, dst) }))
	clear(dst)
	if err := ways[0].run(ctx); err != nil {
		return nil, err
	}
	if err := c.sameAs(dst); err != nil {
		return nil, err
	}
	d, err := b.interleave(ctx, sides...)
	if err != nil {
		return nil, err
	}
	best := len(ways)
	for k := range flights() {
		if d[len(ways)+k] < d[best] {
			best = len(ways) + k
		}
	}
	bare := fmt.Sprintf("the bare client at its best with %d ranges in flight", flights()[best-len(ways)])
	var rs []row
	for i, w := range ways {
		job := fmt.Sprintf("%s, %s, %d MiB in %d MiB, %s, against ", w.name, k.name, len(dst)>>20, len(raw)>>20, p.name)
		if w.decodes && !k.stored() {
			r := against(job+"fetching and then decoding", "B", float64(len(raw)), d[i], d[len(d)-1], k.goal)
			r.note = fmt.Sprintf("CPU time of the client: %s, of fetching and decoding %s; only fetching is %.2fx", ms(median(spents[i])), ms(median(*both)), d[best].Seconds()/d[i].Seconds())
			rs = append(rs, r)
			continue
		}
		r := against(job+"fetching", "B", float64(len(raw)), d[i], d[best], 0.8)
		r.note = fmt.Sprintf("%s; CPU time of the client: %s, of the bare one %s", bare, ms(median(spents[i])), ms(median(*fetch)))
		rs = append(rs, r)
	}
	return rs, nil
}

// spent is the processor time of each call of a side.
type spent []time.Duration

// timed measures f. name is its label in a CPU profile.
func (s *spent) timed(name string, f func(ctx context.Context) error) side {
	return timed(func(ctx context.Context) (err error) {
		start := cpuTime()
		pprof.Do(ctx, pprof.Labels("side", name), func(ctx context.Context) { err = f(ctx) })
		*s = append(*s, cpuTime()-start)
		return err
	})
}

// fetchAndDecode does one after the other what a scan does at the same time.
func (c *bare) fetchAndDecode(ctx context.Context, raw, dst []byte) error {
	if err := c.fetch(ctx, raw); err != nil {
		return err
	}
	a, err := b2nd.Open(ctx, rangeio.FromReaderAt(bytes.NewReader(raw), int64(len(raw))), b2nd.Options{})
	if err != nil {
		return err
	}
	return a.ReadSlice(ctx, dst, b2nd.Whole(a.Meta().Shape))
}

// sameAs compares items with the items of the .npy.
func (c *cube) sameAs(items []byte) error {
	f, err := os.Open(c.npy())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Seek(info.Size()-c.nbytes, io.SeekStart); err != nil {
		return err
	}
	h := crc32.NewIEEE()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if h.Sum32() != crc32.ChecksumIEEE(items) {
		return errors.New("the scan gave other items")
	}
	return nil
}

// A bare client knows nothing but one object's ranges.
type bare struct {
	url    string
	flight int
	client *http.Client
	creds  aws.Credentials
	region string
}

// bareRange is how many bytes the bare client of the comparison fetches at a time.
const bareRange = 8 << 20

func (b *bench) newBare(url string, flight int) *bare {
	return &bare{url: url, flight: flight, region: b.stack.Region, creds: aws.Credentials{AccessKeyID: b.stack.AccessKey, SecretAccessKey: b.stack.SecretKey},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flight, DisableCompression: true}}}
}

// emptyHash is the SHA-256 of no body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func (c *bare) fetch(ctx context.Context, p []byte) error {
	n := (len(p) + bareRange - 1) / bareRange
	return par.Do(ctx, n, c.flight, func(ctx context.Context, i int) error {
		part := p[i*bareRange : min((i+1)*bareRange, len(p))]
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, http.NoBody)
		if err != nil {
			return err
		}
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", i*bareRange, i*bareRange+len(part)-1))
		req.Header.Set("X-Amz-Content-Sha256", emptyHash)
		if err := v4.NewSigner().SignHTTP(ctx, c.creds, req, emptyHash, "s3", c.region, time.Now()); err != nil {
			return err
		}
		resp, err := c.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusPartialContent {
			return fmt.Errorf("status %s", resp.Status)
		}
		_, err = io.ReadFull(resp.Body, part)
		return err
	})
}
