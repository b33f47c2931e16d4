package main

import (
	"context"
	"fmt"
	"os"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore/diskcache"
)

// diskCache scans an array from afar without the cache on disk, with one that is empty and
// gets all of its bytes, and with one that has them.
func diskCache(ctx context.Context, b *bench) ([]row, error) {
	c, err := b.newCube("cached", seriesOf("f64 walk"), pick(b, []int64{512, 256, 256}, []int64{16, 64, 64})...)
	if err != nil {
		return nil, err
	}
	if err := c.pack(ctx, blosc.LevelStore, 2); err != nil {
		return nil, err
	}
	if err := b.uploadFile(ctx, "cached.b2nd", c.b2nd()); err != nil {
		return nil, err
	}
	dst := make([]byte, c.nbytes)
	var rs []row
	for _, p := range []profile{near(), rtt30()} {
		x, err := b.before(ctx, p)
		if err != nil {
			return nil, err
		}
		r, err := b.cacheScans(ctx, x, dst)
		x.close()
		if err != nil {
			return nil, err
		}
		rs = append(rs, r...)
		if err := c.sameAs(dst); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

func (b *bench) cacheScans(ctx context.Context, x *proxy, dst []byte) ([]row, error) {
	full, err := b.sub("cache")
	if err != nil {
		return nil, err
	}
	scan := func(dir string) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			o := farread.Config{Endpoint: x.url(), Region: b.stack.Region, PathStyle: true, AccessKey: b.stack.AccessKey, SecretKey: b.stack.SecretKey}
			if dir != "" {
				cache, err := diskcache.Open(diskcache.Config{Dir: dir, MaxBytes: 1 << 30})
				if err != nil {
					return err
				}
				defer cache.Close() //nolint:errcheck // its bytes are in place
				o.DiskCache = cache
			}
			client := farread.New(o)
			defer client.CloseIdleConnections()
			a, err := client.OpenArray(ctx, "s3://"+bucketName+"/cached.b2nd", farread.FrameOptions{})
			if err != nil {
				return err
			}
			return a.ReadSlice(ctx, dst, b2nd.Whole(a.Meta().Shape))
		}
	}
	if err := scan(full)(ctx); err != nil {
		return nil, err
	}
	var none, empty, warm spent
	d, err := b.interleave(ctx, none.timed("no cache", scan("")), empty.timed("empty cache", func(ctx context.Context) error {
		dir, err := b.sub("empty")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir) //nolint:errcheck // temporary
		return scan(dir)(ctx)
	}), warm.timed("full cache", scan(full)))
	if err != nil {
		return nil, err
	}
	job := fmt.Sprintf("full scan, stored, %d MiB, %s, ", len(dst)>>20, x.p.name)
	r := []row{against(job+"into an empty cache on disk, to none", "B", float64(len(dst)), d[1], d[0], 0), against(job+"out of a full cache on disk, to none", "B", float64(len(dst)), d[2], d[0], 0)}
	r[0].note = fmt.Sprintf("CPU time of the client: %s, without a cache %s", ms(median(empty)), ms(median(none)))
	r[1].note = fmt.Sprintf("CPU time of the client: %s", ms(median(warm)))
	return r, nil
}
