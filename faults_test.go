package farread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
)

// faulty is a gulp chunk on a server that misbehaves. The index of each version
// fits the frames of any other, and says in meta_data which it is.
type faulty struct {
	s    *flawedtest.Server
	c    *Client
	k    *flawedtest.Case
	base string // URI of its folder
}

const (
	faultyFrames = 30
	faultySize   = 10_000
	anID         = "an id"
)

// faultyFrame is frame i in one version.
func faultyFrame(version, i int) []byte {
	return payload(fmt.Sprintf("version %d", version), i, faultySize)
}

func newFaulty(t *testing.T, k *flawedtest.Case, note string, overS3 bool) *faulty {
	t.Helper()
	var mu sync.Mutex
	made := map[int][2][]byte{}
	chunkOf := func(version int) (data, meta []byte) {
		mu.Lock()
		defer mu.Unlock()
		if c, ok := made[version]; ok {
			return c[0], c[1]
		}
		var d, m bytes.Buffer
		w := gulp.NewWriter(&d, gulp.WriteOptions{})
		err := w.AddMeta(anID, json.RawMessage(fmt.Sprintf(`{"version": %2d, "note": "%s"}`, version, note)))
		for i := range faultyFrames {
			err = errors.Join(err, w.WriteFrame(anID, faultyFrame(version, i)))
		}
		if err = errors.Join(err, w.WriteMeta(&m)); err != nil {
			panic(err)
		}
		made[version] = [2][]byte{slices.Clip(d.Bytes()), slices.Clip(m.Bytes())}
		return made[version][0], made[version][1]
	}
	f := &faulty{k: k, c: New(Config{NoHedge: true})}
	f.s = flawedtest.New(t, func(name string, version int) []byte {
		data, meta := chunkOf(version)
		if strings.HasSuffix(name, gulp.MetaSuffix) {
			return meta
		}
		return data
	}, func(name, etag string) http.Header {
		if etag == "" || !strings.HasSuffix(name, gulp.MetaSuffix) {
			return nil
		}
		return http.Header{"X-Amz-Meta-Farread-Data-Etag": {etag}}
	})
	k.Start(f.s)
	b := f.s.Open(t, overS3)
	if f.base = f.s.Base(); overS3 {
		f.base = "s3://data/"
	}
	f.c.buckets[strings.TrimSuffix(f.base, "/")], f.c.buckets[f.base] = store{b, b}, store{b, b}
	return f
}

// open is Client.OpenGulp; where an answer may stall, by hand, for a shorter
// patience than the client has.
func (f *faulty) open(ctx context.Context) (*gulp.Chunk, error) {
	if f.k.Stall == 0 {
		g, err := f.c.OpenGulp(ctx, f.base+"x.gulp", GulpOptions{})
		if err != nil {
			return nil, err
		}
		return g.Chunk, nil
	}
	o := objstore.OpenOptions{Stall: f.k.Stall, Resumes: 1}
	b := objstore.Hedge(&objstore.Pace{})(f.c.buckets[f.base].bucket)
	meta, err := objstore.Open(ctx, b, "x.gmeta", o)
	if err != nil {
		return nil, err
	}
	data, err := objstore.Open(ctx, b, "x.gulp", o)
	if err != nil {
		return nil, err
	}
	return gulp.Open(ctx, meta, data, gulp.Options{})
}

// faultyReads are the ways of reading frames behind those that opening brings.
var faultyReads = map[string]func(ctx context.Context, c *gulp.Chunk) (map[int][]byte, error){
	"AppendFrame": func(ctx context.Context, c *gulp.Chunk) (map[int][]byte, error) {
		p, err := c.AppendFrame(ctx, nil, anID, 20)
		return map[int][]byte{20: p}, err
	},
	"AppendFrames": func(ctx context.Context, c *gulp.Chunk) (map[int][]byte, error) {
		all, err := c.AppendFrames(ctx, nil, anID, 0, faultyFrames, 1)
		got := map[int][]byte{}
		for i, p := range all {
			got[i] = p
		}
		return got, err
	},
	"ReadFrames": func(ctx context.Context, c *gulp.Chunk) (map[int][]byte, error) {
		var buf gulp.Buffer
		all, err := c.ReadFrames(ctx, &buf, anID, 8, faultyFrames, 7)
		got := map[int][]byte{}
		for i, p := range all {
			got[8+7*i] = bytes.Clone(p)
		}
		return got, err
	},
	"Each": func(ctx context.Context, c *gulp.Chunk) (map[int][]byte, error) {
		got := map[int][]byte{}
		err := c.Each(ctx, func(_ string, i int, p []byte) error {
			got[i] = bytes.Clone(p)
			return nil
		})
		return got, err
	},
}

// rightFrames: got is at least one frame, and all are of that version.
func rightFrames(t *testing.T, what string, got map[int][]byte, version int) {
	t.Helper()
	good := len(got) > 0
	for i, p := range got {
		good = good && bytes.Equal(p, faultyFrame(version, i))
	}
	if !good {
		t.Errorf("%s: wrong frames (%d), or not of version %d", what, len(got), version)
	}
}

// indexVersion is the version of the index that c was opened with.
func indexVersion(t *testing.T, c *gulp.Chunk) int {
	t.Helper()
	text, err := c.MetaData(anID)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Version int }
	if err := json.Unmarshal(text, &list); err != nil || len(list) != 1 {
		t.Fatalf("%.40s: %v", text, err)
	}
	return list[0].Version
}

// TestGulpFaults: whatever the server does, opening a gulp chunk and reading its
// frames gives the right ones or one error that can be classified, never frames
// of a version under the index of another; and once the server is well again the
// same chunk reads right.
func TestGulpFaults(t *testing.T) {
	t.Parallel()
	t.Run("http", func(t *testing.T) { gulpFaults(t, false) })
	t.Run("s3", func(t *testing.T) {
		racetest.Skip(t, racetest.Large)
		gulpFaults(t, true)
	})
}

func gulpFaults(t *testing.T, overS3 bool) {
	t.Helper()
	for _, k := range flawedtest.Sampled() {
		if overS3 && k.HTTP {
			continue
		}
		for name, read := range faultyReads {
			if (k.Stall > 0 || overS3) && name != "AppendFrames" {
				continue // a second or two each, for what AppendFrames shows
			}
			t.Run(k.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				faultyRead(t, newFaulty(t, &k, "", overS3), read)
			})
		}
		for size, note := range map[string]string{"short index": "", "long index": strings.Repeat("x", metaHead)} {
			t.Run(k.Name+"/"+size, func(t *testing.T) {
				t.Parallel()
				faultyOpen(t, newFaulty(t, &k, note, overS3))
			})
		}
	}
}

func faultyRead(t *testing.T, f *faulty, read func(context.Context, *gulp.Chunk) (map[int][]byte, error)) {
	t.Helper()
	c, err := f.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.k.Spoil(f.s)
	start := time.Now()
	got, err := read(t.Context(), c)
	f.k.Quick(t, start)
	switch {
	case err == nil && (f.k.Read == nil || errors.Is(f.k.Read, flawedtest.ErrEither)):
		rightFrames(t, "flawed", got, 0)
	case errors.Is(f.k.Read, flawedtest.ErrEither):
		flawedtest.OneKind(t, "flawed", err, objstore.ErrChanged)
	case err == nil || f.k.Read == nil:
		t.Errorf("got %v, want %v", err, f.k.Read)
	default:
		flawedtest.OneKind(t, "flawed", err, f.k.Read)
	}
	f.k.Mend(f.s)
	for name, again := range faultyReads {
		got, err := again(t.Context(), c)
		if err != nil {
			t.Errorf("%s, the server is well again: %v", name, err)
			continue
		}
		rightFrames(t, name+", the server is well again", got, 0)
	}
}

func faultyOpen(t *testing.T, f *faulty) {
	t.Helper()
	f.k.Spoil(f.s)
	start := time.Now()
	c, err := f.open(t.Context())
	f.k.Quick(t, start)
	f.s.Set(nil)
	switch {
	case err != nil && f.k.Open == nil && f.k.Read == nil:
		t.Errorf("open: %v", err)
	case err != nil:
		flawedtest.OneKind(t, "open", err, nil)
	default:
		version := indexVersion(t, c)
		for name, read := range faultyReads {
			got, err := read(t.Context(), c)
			if err != nil {
				want := objstore.ErrChanged // it was replaced since, or has an ETag again
				if errors.Is(err, objstore.ErrBadRange) && f.k.Pinned {
					want = objstore.ErrBadRange
				}
				flawedtest.OneKind(t, name, err, want)
				continue
			}
			rightFrames(t, name, got, version)
		}
	}
	f.k.Mend(f.s)
	if c, err = f.open(t.Context()); err != nil {
		t.Fatalf("the server is well again: %v", err)
	}
	for name, read := range faultyReads {
		got, err := read(t.Context(), c)
		if err != nil {
			t.Errorf("%s, the server is well again: %v", name, err)
			continue
		}
		rightFrames(t, name+", the server is well again", got, 0)
	}
}
