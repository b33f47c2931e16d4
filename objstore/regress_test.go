package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// TestCacheWithoutRoom: a read whose blocks do not all fit the cache costs one
// request, and ends.
func TestCacheWithoutRoom(t *testing.T) {
	data := randomBytes(1 << 20)
	for _, size := range []int64{0, 1, 4096, 5000, 3 * 4096} {
		obj, _ := open(t, data, objstore.OpenOptions{Head: 1, Cache: objstore.NewCache(size, 4096)})
		p := make([]byte, 3*4096)
		for range 3 {
			if _, err := obj.ReadAt(p[:10], 2*4096-5); err != nil {
				t.Fatal(err)
			}
			if _, err := obj.ReadAt(p, 4096-5); err != nil || !bytes.Equal(p, data[4096-5:4*4096-5]) {
				t.Fatalf("cache of %d bytes: %v", size, err)
			}
		}
		if n := obj.Stats().Requests; n > 13 {
			t.Errorf("cache of %d bytes: %d requests for 6 reads", size, n)
		}
	}
}

// bare is a bucket whose answers carry nothing that names a version.
type bare struct {
	objstore.Bucket
	etag string
}

func (b bare) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	o.IfMatch, o.IfUnmod = "", time.Time{}
	rc, in, err := b.Bucket.Get(ctx, key, o)
	in.ETag, in.ModTime = b.etag, time.Time{}
	return rc, in, err
}

func TestSharedCacheNeedsAStrongName(t *testing.T) {
	for _, etag := range []string{"", `W/"1"`} {
		mem := memstore.New(memstore.Config{})
		cache := objstore.NewCache(1<<20, 4096)
		for _, data := range [][]byte{randomBytes(100_000), make([]byte, 100_000)} {
			put(t, mem, "k", data)
			obj, err := objstore.Open(t.Context(), bare{mem, etag}, "k", objstore.OpenOptions{Head: 1, Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 100)
			if _, err := obj.ReadAt(p, 50_000); err != nil || !bytes.Equal(p, data[50_000:50_100]) {
				t.Errorf("ETag %q: a fresh handle got blocks of a replaced object: %v", etag, err)
			}
		}
	}
}

// TestWaitingIsNoStall: a place in the queue may take longer than a stall.
func TestWaitingIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1000))
		b := objstore.Chain(mem, objstore.Limit(1))
		slow, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(4*time.Minute, func() { _ = slow.Close() })
		start := time.Now()
		if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{}); err != nil || time.Since(start) != 4*time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// patient is a driver that asks again, as the store wants it, for longer than a stall.
type patient struct{ objstore.Bucket }

func (b patient) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	for range 5 {
		objstore.Alive(ctx)
		select {
		case <-time.After(15 * time.Second):
		case <-ctx.Done():
			return nil, objstore.Info{}, ctx.Err()
		}
	}
	return nil, objstore.Info{}, objstore.ErrThrottled
}

func TestRetriesDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c objstore.Counter
		b := objstore.Chain(patient{memstore.New(memstore.Config{})}, objstore.Count(&c))
		_, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{})
		if n := c.Stats().Requests; !errors.Is(err, objstore.ErrThrottled) || n != 1 {
			t.Errorf("%d calls, %v; want 1 and ErrThrottled", n, err)
		}
	})
}

// unversioned refuses reads by version, as S3 does without s3:GetObjectVersion.
type unversioned struct{ objstore.Bucket }

func (b unversioned) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if o.VersionID != "" {
		return nil, objstore.Info{}, &objstore.Error{Op: "get", Key: key, Status: 403, Err: objstore.ErrDenied}
	}
	return b.Bucket.Get(ctx, key, o)
}

func TestVersionDenied(t *testing.T) {
	mem := memstore.New(memstore.Config{Versioned: true})
	data := randomBytes(200_000)
	put(t, mem, "k", data)
	obj, err := objstore.Open(t.Context(), unversioned{mem}, "k", objstore.OpenOptions{Head: 1})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 100)
	for range 2 {
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 1000, P: p}}); err != nil || !bytes.Equal(p, data[1000:1100]) {
			t.Fatal(err)
		}
	}
	if n := obj.Stats().Requests; n != 4 {
		t.Errorf("%d requests: open, one refusal, two reads are 4", n)
	}
	put(t, mem, "k", make([]byte, 200_000))
	if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 1000, P: p}}); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("replaced: %v, want ErrChanged", err)
	}
}

func TestOneSentinel(t *testing.T) {
	all := []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrInvalid, context.Canceled, context.DeadlineExceeded}
	check := func(name string, err, want error) {
		t.Helper()
		var e *objstore.Error
		if !errors.Is(err, want) || !errors.As(err, &e) {
			t.Errorf("%s: %v, want %v with a place", name, err, want)
		}
		for _, s := range all {
			if s != want && errors.Is(err, s) {
				t.Errorf("%s: %v also matches %v", name, err, s)
			}
		}
	}
	obj, _ := open(t, randomBytes(1000), objstore.OpenOptions{})
	check("outside", obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 990, P: make([]byte, 20)}}), objstore.ErrInvalid)
	for _, s := range []error{objstore.ErrDenied, objstore.ErrChanged, objstore.ErrThrottled} {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1000))
		_, err := objstore.Open(t.Context(), broken{mem, s}, "k", objstore.OpenOptions{})
		check("body", err, s)
	}
	mem := memstore.New(memstore.Config{})
	put(t, mem, "k", randomBytes(1000))
	_, err := objstore.Open(t.Context(), objstore.Chain(mem, simstore.Cut(1, 10)), "k", objstore.OpenOptions{Resumes: -1})
	check("cut", err, objstore.ErrUnavailable)
}

// broken is a bucket whose bodies fail in a way that its driver can name.
type broken struct {
	objstore.Bucket
	err error
}

func (b broken) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	rc, in, err := b.Bucket.Get(ctx, key, o)
	if err == nil {
		rc = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(rc, 10), failing{b.err}), rc}
	}
	return rc, in, err
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
