package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/diskcache"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// A keptRun opens objects of a memory bucket with a cache on disk, as new runs of a
// program do, and notes the requests.
type keptRun struct {
	bucket objstore.Bucket
	dir    string

	mu   sync.Mutex
	gets []string
}

func (k *keptRun) open(t *testing.T, key string, o objstore.OpenOptions) (*objstore.Object, error) {
	t.Helper()
	c, err := diskcache.Open(diskcache.Config{Dir: k.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	o.Keep = c.Place("mem")
	return objstore.Open(t.Context(), objstore.Trace(func(e objstore.Event) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.gets = append(k.gets, e.Range.String())
	})(k.bucket), key, o)
}

// took returns the ranges of the requests since the last call.
func (k *keptRun) took() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := strings.Join(k.gets, " ")
	k.gets = nil
	return s
}

func newKeptRun(t *testing.T) (*keptRun, []byte) {
	t.Helper()
	p := make([]byte, 1<<20)
	for i := range p {
		p[i] = byte(i ^ i>>8 ^ i>>16)
	}
	k := &keptRun{bucket: memstore.New(memstore.Config{}), dir: t.TempDir()}
	if _, err := objstore.Put(t.Context(), k.bucket, "x", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	return k, p
}

func mustOpen(t *testing.T, k *keptRun, o objstore.OpenOptions) *objstore.Object {
	t.Helper()
	o.Head = 1000
	obj, err := k.open(t, "x", o)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestKeepAsksForTheRest: a span of which parts are kept takes requests for the other
// parts alone; it is done once, when the last of them has come. The plan says the same.
func TestKeepAsksForTheRest(t *testing.T) {
	t.Parallel()
	k, p := newKeptRun(t)
	o := mustOpen(t, k, objstore.OpenOptions{})
	spans := []rangeio.Span{{Off: 200_000, P: make([]byte, 50_000)}, {Off: 400_000, P: make([]byte, 50_000)}}
	if err := o.ReadRanges(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	if got := k.took(); got != "0+1000 200000+50000 400000+50000" && got != "0+1000 400000+50000 200000+50000" {
		t.Errorf("first run: %s", got)
	}
	o = mustOpen(t, k, objstore.OpenOptions{Policy: rangeio.Policy{Free: 100}})
	spans = []rangeio.Span{{Off: 210_000, P: make([]byte, 1000)}, {Off: 100_000, P: make([]byte, 500_000)}, {Off: 440_000, P: make([]byte, 20_000)}, {Off: 900_000, P: make([]byte, 10)}}
	planned := map[string]bool{}
	for _, r := range o.Plan(spans) {
		planned[objstore.Range{Off: r.Off, Len: r.Len}.String()] = true
	}
	var mu sync.Mutex
	done := map[int]int{}
	err := o.ReadEach(t.Context(), spans, func(i int) error {
		mu.Lock()
		defer mu.Unlock()
		done[i]++
		if s := spans[i]; !bytes.Equal(s.P, p[s.Off:s.End()]) {
			t.Errorf("span %d is done with other bytes", i)
		}
		return nil
	})
	if err != nil || len(done) != 4 || done[0] != 1 || done[1] != 1 || done[2] != 1 || done[3] != 1 {
		t.Errorf("done %v, %v", done, err)
	}
	gets := strings.Fields(k.took())
	want := map[string]bool{"0+1": true, "100000+100000": true, "250000+150000": true, "450000+150000": true, "900000+10": true}
	for _, g := range gets {
		if !want[g] || g != "0+1" && !planned[g] {
			t.Errorf("request %s; planned %v", g, planned)
		}
	}
	if len(gets) != len(want) || len(planned) != len(want)-1 {
		t.Errorf("requests %v, planned %v", gets, planned)
	}
	if s := o.Stats(); s.KeptBytes != 1000+1000+100_000+10_000 {
		t.Errorf("%+v", s)
	}
}

// TestKeepReaders: bytes that any way of reading has read are kept for all others.
func TestKeepReaders(t *testing.T) {
	t.Parallel()
	ways := map[string]func(t *testing.T, o *objstore.Object, p []byte){
		"NewReader": func(t *testing.T, o *objstore.Object, p []byte) {
			t.Helper()
			r := o.NewReader(t.Context(), objstore.ReadOptions{Part: 100_000})
			defer r.Close()
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, p) {
				t.Errorf("NewReader: %v", err)
			}
		},
		"long ReadAt": func(t *testing.T, o *objstore.Object, p []byte) {
			t.Helper()
			got := make([]byte, len(p))
			if _, err := o.ReadAt(got, 0); err != nil || !bytes.Equal(got, p) {
				t.Errorf("ReadAt: %v", err)
			}
		},
		"short ReadAt": func(t *testing.T, o *objstore.Object, p []byte) {
			t.Helper()
			got := make([]byte, 4096)
			for off := 0; off < len(p); off += len(got) {
				if _, err := o.ReadAt(got, int64(off)); err != nil || !bytes.Equal(got, p[off:off+len(got)]) {
					t.Errorf("ReadAt: %v", err)
				}
			}
		},
		"ReadRanges": func(t *testing.T, o *objstore.Object, p []byte) {
			t.Helper()
			s := []rangeio.Span{{P: make([]byte, len(p))}}
			if err := o.ReadRanges(t.Context(), s); err != nil || !bytes.Equal(s[0].P, p) {
				t.Errorf("ReadRanges: %v", err)
			}
		},
	}
	for name, first := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, p := newKeptRun(t)
			first(t, mustOpen(t, k, objstore.OpenOptions{}), p)
			k.took()
			for next, second := range ways {
				second(t, mustOpen(t, k, objstore.OpenOptions{}), p)
				if got := k.took(); got != "0+1" {
					t.Errorf("%s after %s: requests %s", next, name, got)
				}
			}
		})
	}
}

// TestKeepFollowsTheObject: a handle stays with its version; the next one sees the new
// object; one that is gone is gone.
func TestKeepFollowsTheObject(t *testing.T) {
	t.Parallel()
	k, p := newKeptRun(t)
	read := func(o *objstore.Object, off int64) ([]byte, error) {
		s := []rangeio.Span{{Off: off, P: make([]byte, 1000)}}
		return s[0].P, o.ReadRanges(t.Context(), s)
	}
	o := mustOpen(t, k, objstore.OpenOptions{})
	if _, err := read(o, 5000); err != nil {
		t.Fatal(err)
	}
	q := bytes.ToUpper(append([]byte("new"), p...))
	if _, err := objstore.Put(t.Context(), k.bucket, "x", bytes.NewReader(q), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err := read(o, 5000); err != nil || !bytes.Equal(got, p[5000:6000]) {
		t.Errorf("kept bytes of the pinned version: %v", err)
	}
	if _, err := read(o, 9000); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("other bytes of it: %v", err)
	}
	if _, err := read(o, 5000); !errors.Is(err, objstore.ErrChanged) { // dropped
		t.Errorf("and then: %v", err)
	}
	k.took()
	o = mustOpen(t, k, objstore.OpenOptions{})
	if got, err := read(o, 5000); err != nil || !bytes.Equal(got, q[5000:6000]) {
		t.Errorf("the new object: %v", err)
	}
	if got := k.took(); got != "0+1000 5000+1000" {
		t.Errorf("requests of the new object: %s", got)
	}
	if _, err := k.open(t, "x", objstore.OpenOptions{IfMatch: `"other"`}); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("with another ETag: %v", err)
	}
	if _, err := k.open(t, "x", objstore.OpenOptions{Head: 1000, IfMatch: o.Info().ETag}); err != nil {
		t.Errorf("with its ETag: %v", err)
	}
	if err := k.bucket.Delete(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := k.open(t, "x", objstore.OpenOptions{Head: 1000}); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// unnamed hides what names the bytes of an object.
type unnamed struct {
	objstore.Bucket
	etag string
}

func (b unnamed) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	o.IfMatch = ""
	r, in, err := b.Bucket.Get(ctx, key, o)
	in.ETag = b.etag
	return r, in, err
}

// TestKeepNeedsAName: without a strong ETag or a version nothing is kept.
func TestKeepNeedsAName(t *testing.T) {
	t.Parallel()
	for _, etag := range []string{"", `W/"1"`} {
		k, _ := newKeptRun(t)
		k.bucket = unnamed{k.bucket, etag}
		for range 2 {
			mustOpen(t, k, objstore.OpenOptions{})
			if got := k.took(); got != "0+1000" {
				t.Errorf("ETag %q: %s", etag, got)
			}
		}
	}
}
