package farread

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/s3store"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// silentReads open and read a file that has its index beside it.
var silentReads = map[string]func(ctx context.Context, c *Client, b objstore.Bucket) error{
	"an array": func(ctx context.Context, c *Client, b objstore.Bucket) error { return silentColumn(ctx, c, b, false) },
	"an array, its index believed": func(ctx context.Context, c *Client, b objstore.Bucket) error {
		return silentColumn(ctx, c, b, true)
	},
	"a series": func(ctx context.Context, c *Client, b objstore.Bucket) error { return silentSeries(ctx, c, b, false) },
	"a series, its index believed": func(ctx context.Context, c *Client, b objstore.Bucket) error {
		return silentSeries(ctx, c, b, true)
	},
	"frames": func(ctx context.Context, c *Client, b objstore.Bucket) error {
		g, err := c.GulpIn(ctx, b, "x.gulp", GulpOptions{})
		if err != nil {
			return err
		}
		_, err = g.AppendFrame(ctx, nil, clip(900), 3)
		return err
	},
	"frames by id": func(ctx context.Context, c *Client, b objstore.Bucket) error { return silentFrame(ctx, c, b, false) },
	"frames by id, the index believed": func(ctx context.Context, c *Client, b objstore.Bucket) error {
		return silentFrame(ctx, c, b, true)
	},
}

func silentColumn(ctx context.Context, c *Client, b objstore.Bucket, beside bool) error {
	d, err := c.OpenKey(ctx, b, "x.b2nd", AnyOptions{Beside: beside})
	if err != nil {
		return err
	}
	return d.Handle().(*Array).ReadSlice(ctx, make([]byte, 48), b2nd.Sub([]int64{0, 100, 100}, []int64{24, 101, 101}))
}

func silentSeries(ctx context.Context, c *Client, b objstore.Bucket, beside bool) error {
	d, err := c.OpenKey(ctx, b, "x.zoom", AnyOptions{Beside: beside})
	if err != nil {
		return err
	}
	n := 0
	err = d.Handle().(*Zoom).EachPacket(ctx, 1, 150_000, 151_000, func(*zoomcache.Packet) error { n++; return nil })
	if err == nil && n == 0 {
		err = errors.New("no packets")
	}
	return err
}

func silentFrame(ctx context.Context, c *Client, b objstore.Bucket, beside bool) error {
	g, err := c.GulpByIDIn(ctx, b, "x.gulp", GulpOptions{Beside: beside})
	if err != nil {
		return err
	}
	x, err := g.Select(ctx, clip(900), 3, 4)
	if err != nil {
		return err
	}
	_, err = x.AppendFrame(ctx, nil, clip(900), 3)
	return err
}

// aid is how long a silent index holds a read.
const aid = 2 * time.Second

// TestSilentIndexesOfDataset: indexes that are silent, one after the other, take the patience with one
// of them in all, and a little for each.
func TestSilentIndexesOfDataset(t *testing.T) {
	t.Parallel()
	m := [3]gulpMade{clips(t, 5, 10, 20), clipsFrom(t, 5, 5, 10, 20), clipsFrom(t, 10, 5, 10, 20)}
	synctest.Test(t, func(t *testing.T) {
		c, mem := remote(Config{})
		for k, m := range m {
			putIndexed(t, mem, fmt.Sprintf("data_%d", k), m)
		}
		b := objstore.Chain(mem, simstore.Replace(func(ctx context.Context, call simstore.Call) error {
			if strings.HasSuffix(call.Key, index.Suffix) {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}))
		d, err := c.GulpDatasetIn(t.Context(), b, "", GulpOptions{Options: gulp.Options{Parallel: 1}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		x, at, err := d.Select(t.Context(), clip(7), 3, 4)
		took := time.Since(start)
		if err != nil || at != 1 || took < aid || took > aid+aid/20*2 {
			t.Fatalf("in chunk %d after %v: %v", at, took, err)
		}
		if p, err := x.AppendFrame(t.Context(), nil, clip(7), 3); err != nil || len(p) == 0 {
			t.Error(err)
		}
	})
}

// TestSilentIndexVerified: verify of a gulp chunk whose index is never answered for reads all of
// the chunk, and remarks the index. An end by the caller is an error.
func TestSilentIndexVerified(t *testing.T) {
	t.Parallel()
	m := clips(t, 5, 10, 20)
	synctest.Test(t, func(t *testing.T) {
		c, mem := remote(Config{})
		putIndexed(t, mem, "x", m)
		b := objstore.Chain(mem, simstore.Replace(func(ctx context.Context, call simstore.Call) error {
			if strings.HasSuffix(call.Key, index.Suffix) {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}))
		d, err := c.OpenKey(t.Context(), b, "x.gulp", AnyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := d.Verify(t.Context(), nil)
		detail, ok := r.Detail.(GulpReport)
		if err != nil || !ok || r.Entries != 5 || detail.Index == nil || detail.Index.Bytes != 0 || detail.Index.Unusable == "" {
			t.Errorf("%+v, %+v, %v", r, detail.Index, err)
		}
		if d, err = c.OpenKey(t.Context(), b, "x.gulp", AnyOptions{}); err != nil { // with patience of its own
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := d.Verify(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended by the caller: %v", err)
		}
	})
}

// silentFiles are the files of silentReads.
func silentFiles(t *testing.T) map[string][]byte {
	t.Helper()
	const etag = `"v"`
	m := clips(t, 1000, 65, 20)
	if len(m.meta) < lookForIndex {
		t.Fatalf(".gmeta of %d bytes: no index is looked for", len(m.meta))
	}
	pair, err := gulpindex.Build(m.c, gulpindex.Pair{Data: gulpindex.Version{Size: int64(len(m.data)), ETag: etag}, Meta: gulpindex.Version{Size: int64(len(m.meta)), ETag: etag}})
	if err != nil {
		t.Fatal(err)
	}
	cube, tracks := cubeOf(t, 24, 64, cframe.NoIndex), twoTracks(t, 200_000, false)
	z, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(tracks), int64(len(tracks))), zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	series, err := z.BuildIndex(t.Context(), etag, zoomindex.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"x.gulp": m.data, "x.gmeta": m.meta, "x.gulp" + index.Suffix: pair,
		"x.b2nd": cube, "x.b2nd" + index.Suffix: besideOf(t, cube, etag),
		"x.zoom": tracks, "x.zoom" + index.Suffix: series,
	}
}

// silentStores make a bucket of each scheme over a server in memory.
var silentStores = map[string]func(ctx context.Context, srv *pipetest.Server) (objstore.Bucket, func(), error){
	"http": func(_ context.Context, srv *pipetest.Server) (objstore.Bucket, func(), error) {
		b, err := httpstore.New(httpstore.Config{Base: "http://store/data", Transport: srv.Transport})
		return b, b.CloseIdleConnections, err
	},
	"s3": func(ctx context.Context, srv *pipetest.Server) (objstore.Bucket, func(), error) {
		b, err := s3store.New(ctx, s3store.Config{Bucket: "data", Endpoint: "http://127.0.0.1:9", AccessKey: "AK", SecretKey: "SK", Transport: srv.Transport})
		return b, b.CloseIdleConnections, err
	},
}

// TestSilentInAll: whatever of a file and its index falls silent, and when, opening and
// reading it takes no longer than one time limit in all, and if it is the index alone, 2 s.
func TestSilentInAll(t *testing.T) {
	t.Parallel()
	files := silentFiles(t)
	const most, little = silence.Default, silence.Default / 20
	try := func(t *testing.T, scheme string, hedge bool, read func(context.Context, *Client, objstore.Bucket) error, silent func(n int64, name string) bool) (time.Duration, error) {
		t.Helper()
		var n atomic.Int64
		return pipetest.Virtual(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := path.Base(r.URL.Path)
			p, ok := files[name]
			switch {
			case silent(n.Add(1), name):
				<-r.Context().Done()
			case !ok:
				http.NotFound(w, r)
			default:
				w.Header().Set("Etag", `"v"`)
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p))
			}
		}), func(t *testing.T, srv *pipetest.Server) error {
			t.Helper()
			b, idle, err := silentStores[scheme](t.Context(), srv)
			if err != nil {
				t.Fatal(err)
			}
			defer idle()
			c := New(Config{NoHedge: !hedge})
			if hedge {
				b = objstore.Hedge(&objstore.Pace{})(b)
			}
			return read(t.Context(), c, b)
		})
	}
	for name, read := range silentReads {
		for scheme := range silentStores {
			for _, hedge := range []bool{false, true} {
				if hedge && (racetest.On || scheme != "http") {
					continue // the same code
				}
				t.Run(fmt.Sprintf("%s, %s, hedged %t", name, scheme, hedge), func(t *testing.T) {
					t.Parallel()
					inIndex := func(_ int64, name string) bool { return strings.HasSuffix(name, index.Suffix) }
					if took, err := try(t, scheme, hedge, read, inIndex); err != nil || took > aid+aid/20 {
						t.Errorf("the index is silent: after %v: %v", took, err)
					}
					failed := 0
					for from := int64(1); ; from += max(from/4, 1) {
						if from > 200 {
							t.Fatal("more than 200 requests")
						}
						took, err := try(t, scheme, hedge, read, func(n int64, _ string) bool { return n >= from })
						if took > most+little {
							t.Errorf("silent from request %d on: after %v: %v", from, took, err)
						}
						if err == nil {
							break
						}
						if failed++; !errors.Is(err, objstore.ErrUnavailable) || !silence.Is(err) {
							t.Errorf("silent from request %d on: %v", from, err)
						}
						took, err = try(t, scheme, hedge, read, func(n int64, name string) bool { return n >= from || inIndex(n, name) })
						if took > most+little {
							t.Errorf("the index is silent, and all from request %d on: after %v: %v", from, took, err)
						}
					}
					if failed == 0 {
						t.Error("nothing failed")
					}
				})
			}
		}
	}
}
