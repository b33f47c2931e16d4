package functions_test

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"iter"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// contentTags is a memory bucket whose ETags are hashes of content alone, as S3's are:
// if the same bytes are written again they have the same ETag.
type contentTags struct {
	b  *memstore.Bucket
	mu sync.Mutex
}

func cutTag(i objstore.Info) objstore.Info {
	if k := strings.LastIndexByte(i.ETag, '-'); k > 0 {
		i.ETag = i.ETag[:k] + `"`
	}
	return i
}

// inner is the ETag of the memory bucket for key, if the content still has the ETag
// tag.
func (c *contentTags) inner(ctx context.Context, key, version, tag string) (string, error) {
	if tag == "" || version != "" {
		return "", nil
	}
	i, err := c.b.Head(ctx, key)
	if err != nil {
		return "", err
	}
	if cutTag(i).ETag != tag {
		return "", fmt.Errorf("%s: %w", key, objstore.ErrChanged)
	}
	return i.ETag, nil
}

func (c *contentTags) Name() string { return c.b.Name() }

func (c *contentTags) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if o.IfMatch, err = c.inner(ctx, key, o.VersionID, o.IfMatch); err != nil {
		return nil, objstore.Info{}, err
	}
	r, i, err := c.b.Get(ctx, key, o)
	return r, cutTag(i), err
}

func (c *contentTags) Head(ctx context.Context, key string) (objstore.Info, error) {
	i, err := c.b.Head(ctx, key)
	return cutTag(i), err
}

func (c *contentTags) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for i, err := range c.b.List(ctx, prefix) {
			if !yield(cutTag(i), err) {
				return
			}
		}
	}
}

func (c *contentTags) Delete(ctx context.Context, key string) error { return c.b.Delete(ctx, key) }

func (c *contentTags) DeleteIf(ctx context.Context, key, etag string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	tag, err := c.inner(ctx, key, "", etag)
	if errors.Is(err, objstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.b.DeleteIf(ctx, key, tag)
}

func (c *contentTags) Create(_ context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	return &tagWriter{c: c, key: key, o: o}, nil
}

type tagWriter struct {
	bytes.Buffer

	c   *contentTags
	key string
	o   objstore.PutOptions
}

func (w *tagWriter) Patch(off int64, p []byte) error { copy(w.Bytes()[off:], p); return nil }
func (w *tagWriter) Rehead(n int64, p []byte) error {
	w.Buffer = *bytes.NewBuffer(append(p, w.Bytes()[n:]...))
	return nil
}
func (w *tagWriter) Abort() {}

func (w *tagWriter) Commit(ctx context.Context) (objstore.Info, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	var err error
	if w.o.IfMatch, err = w.c.inner(ctx, w.key, "", w.o.IfMatch); err != nil {
		return objstore.Info{}, err
	}
	i, err := objstore.Put(ctx, w.c.b, w.key, &w.Buffer, w.o)
	return cutTag(i), err
}

// jittery takes some time before and after every call, so that workers meet at every
// possible point.
type jittery struct{ objstore.Bucket }

func tarry() {
	if rand.IntN(3) == 0 {
		time.Sleep(time.Duration(rand.IntN(400)) * time.Microsecond)
	}
}

func (j jittery) Head(ctx context.Context, key string) (objstore.Info, error) {
	tarry()
	defer tarry()
	return j.Bucket.Head(ctx, key)
}

func (j jittery) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	w, err := j.Bucket.Create(ctx, key, o)
	return jitteryWriter{w}, err
}

// Unwrap lets conditional deletes be found.
func (j jittery) Unwrap() objstore.Bucket { return j.Bucket }

type jitteryWriter struct{ objstore.Writer }

func (j jitteryWriter) Commit(ctx context.Context) (objstore.Info, error) {
	tarry()
	defer tarry()
	return j.Writer.Commit(ctx)
}

// upload is a tar of a few frames whose content depends on seed.
func upload(tb testing.TB, seed int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range 1 + seed%3 {
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range 64 {
			m.Set(k%8, k/8, color.Gray{uint8(seed*37 + i*5 + k)})
		}
		var p bytes.Buffer
		if err := jpeg.Encode(&p, m, nil); err != nil {
			tb.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("c/%d.jpg", i), Mode: 0o644, Size: int64(p.Len())}); err != nil {
			tb.Fatal(err)
		}
		w.Write(p.Bytes())
	}
	// The label differs even if the frames do not: another index over the same data.
	label := fmt.Sprintf("id,label\nc,%d\n", seed%7)
	if err := w.WriteHeader(&tar.Header{Name: "labels.csv", Mode: 0o644, Size: int64(len(label))}); err != nil {
		tb.Fatal(err)
	}
	w.Write([]byte(label))
	w.Close()
	return b.Bytes()
}

func record(key string, info objstore.Info, seq int) json.RawMessage {
	obj := map[string]any{"key": strings.ReplaceAll(url.QueryEscape(key), "%2F", "/"), "size": info.Size, "eTag": strings.Trim(info.ETag, `"`)}
	if info.VersionID != "" {
		obj["versionId"] = info.VersionID
	}
	if seq > 0 {
		obj["sequencer"] = fmt.Sprintf("%06X", seq)
	}
	b, _ := json.Marshal(map[string]any{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": map[string]any{"bucket": map[string]any{"name": "uploads"}, "object": obj}})
	return b
}

func s3Event(records ...json.RawMessage) []byte {
	b, _ := json.Marshal(map[string]any{"Records": records})
	return b
}

func sqsEvent(bodies ...[]byte) []byte {
	var rs []any
	for i, body := range bodies {
		rs = append(rs, map[string]any{"eventSource": "aws:sqs", "messageId": fmt.Sprint("m", i), "body": string(body)})
	}
	b, _ := json.Marshal(map[string]any{"Records": rs})
	return b
}

func handler(in, out objstore.Bucket) *functions.Handler {
	return &functions.Handler{
		Rules: functions.Rules{{Bucket: "uploads", Job: "pack", Format: "gulp", Out: functions.Out{Bucket: "datasets"}}},
		Jobs:  map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
		Buckets: func(name string) (objstore.Bucket, error) {
			switch name {
			case "uploads":
				return in, nil
			case "datasets":
				return out, nil
			}
			return nil, fmt.Errorf("bucket %s: %w", name, objstore.ErrNotFound)
		},
	}
}

// TestStorm (docs/reliability.md, E1): one event 100 times, shuffled with those of 20
// overwrites, for 32 workers, while the overwrites go on. In the end there is one
// output, whole and made of the newest upload, and no message was lost.
func TestStorm(t *testing.T) {
	t.Parallel()
	rounds := rounds(40)
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"content tags, unique outputs": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				in, out := stores()
				storm(t, tars(), in, jittery{out}, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// rounds is how often a test tries its luck: n times; a tenth of that with -short; a
// quarter under the race detector, which finds races without luck; or the number in
// FARREAD_STORM_ROUNDS.
func rounds(n int) int {
	if v, err := strconv.Atoi(os.Getenv("FARREAD_STORM_ROUNDS")); err == nil {
		return v
	}
	switch {
	case testing.Short():
		return n / 10
	case racetest.On:
		return n / 4
	}
	return n
}

const stormKey = "clips/a b+c.tar"

// A play is a kind of upload for a storm, with its output and a check.
type play struct {
	key, format string
	upload      func(tb testing.TB, n int) []byte
	check       func(t *testing.T, in, out objstore.Bucket)
}

func tars() play { return play{stormKey, "gulp", upload, checkNewest} }

func storm(t *testing.T, play play, in, out objstore.Bucket, seed uint64) {
	t.Helper()
	const copies, overwrites, workers, receives = 100, 20, 32, 30
	rng := rand.New(rand.NewPCG(seed, 1))
	contents := []int{5, 2, 1}[seed%3] // with one, nothing but the sequencer changes
	type message struct {
		body     []byte
		receives int
	}
	queue := make(chan message, (copies+overwrites)*2)
	var open sync.WaitGroup
	send := func(body []byte) { open.Add(1); queue <- message{body, 0} }
	put := func(n int) []byte {
		info, err := objstore.Put(context.Background(), in, play.key, bytes.NewReader(play.upload(t, n%contents)), objstore.PutOptions{}) // contents come back
		if err != nil {
			t.Error(err)
		}
		return s3Event(record(play.key, info, n+1))
	}
	// Some uploads are there before the first worker; some come meanwhile, and
	// every event is shuffled among the copies of the first.
	first := put(0)
	bodies := [][]byte{}
	for range copies {
		bodies = append(bodies, first)
	}
	early := rng.IntN(overwrites)
	for n := range early {
		bodies = append(bodies, put(n+1))
	}
	rng.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
	var dead atomic.Int64
	h := handlerOf(play, in, out)
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for m := range queue {
				r, err := h.Handle(context.Background(), sqsEvent(m.body))
				m.receives++
				switch {
				case err != nil:
					t.Error(err)
				case len(r.Failures) > 0 && m.receives < receives:
					if !errors.Is(r.Err, functions.ErrBusy) {
						t.Error(r.Err)
					}
					queue <- m
					continue
				case len(r.Failures) > 0:
					dead.Add(1)
					t.Error(r.Err)
				case r.Failed+r.Unmatched+r.Own+r.Ignored > 0:
					t.Errorf("%+v", r)
				}
				open.Done()
			}
		})
	}
	for i, b := range bodies {
		send(b)
		if late := early + i*(overwrites-early)/len(bodies); i > 0 && late > early+(i-1)*(overwrites-early)/len(bodies) {
			send(put(late))
		}
	}
	send(put(overwrites))
	open.Wait()
	close(queue)
	pool.Wait()
	if dead.Load() > 0 {
		t.Errorf("%d messages lost", dead.Load())
	}
	play.check(t, in, out)
}

// checkNewest: there is one whole pair, made of the version that the source holds now.
func checkNewest(t *testing.T, in, out objstore.Bucket) {
	t.Helper()
	ctx := context.Background()
	var keys []string
	for i, err := range out.List(ctx, "") {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, i.Key)
	}
	if strings.Join(keys, " ") != stormKey+".gmeta "+stormKey+".gulp" {
		t.Fatalf("outputs %q", keys)
	}
	src, err := objstore.Open(ctx, in, stormKey, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := out.Head(ctx, stormKey+".gulp")
	if err != nil {
		t.Fatal(err)
	}
	meta, err := objstore.Open(ctx, out, stormKey+".gmeta", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := functions.SourceOf(meta.Info().Meta); of.ETag != src.Info().ETag || of.VersionID != src.Info().VersionID || of.Key != stormKey {
		t.Errorf("made of %+v, not of %+v", of, src.Info())
	}
	if named := meta.Info().Meta[functions.MetaDataETag]; named != data.ETag {
		t.Errorf("the index names data %s, there is %s", named, data.ETag)
	}
	// The bytes are those that packing the newest upload gives.
	s, err := pack.Archive(ctx, src, pack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var wantData, wantMeta bytes.Buffer
	w := gulp.NewWriter(&wantData, gulp.WriteOptions{})
	if _, err := pack.Stream(ctx, s, w, pack.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMeta(&wantMeta); err != nil {
		t.Fatal(err)
	}
	if got := body(t, out, stormKey+".gulp"); !bytes.Equal(got, wantData.Bytes()) {
		t.Errorf("%d bytes of data, want %d", len(got), wantData.Len())
	}
	if got := body(t, out, stormKey+".gmeta"); !bytes.Equal(bytes.TrimSpace(got), wantMeta.Bytes()) {
		t.Errorf("index %s, want %s", got, wantMeta.Bytes())
	}
}

func body(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	r, _, err := b.Get(context.Background(), key, objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
