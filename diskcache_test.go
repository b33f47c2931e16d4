package farread_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/diskcache"
	"github.com/farread/farread/rangeio"
)

// scattered reads a few spans of an object, and some bytes by ReadAt.
func scattered(t *testing.T, o *objstore.Object, want []byte) {
	t.Helper()
	var spans []rangeio.Span
	for off := int64(70_000); off < 290_000; off += 20_000 {
		spans = append(spans, rangeio.Span{Off: off, P: make([]byte, 700)})
	}
	if err := o.ReadRanges(t.Context(), spans); err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		if !bytes.Equal(s.P, want[s.Off:s.End()]) {
			t.Fatalf("other bytes at %d", s.Off)
		}
	}
	p := make([]byte, 50_000)
	if _, err := o.ReadAt(p, 200_000); err != nil || !bytes.Equal(p, want[200_000:250_000]) {
		t.Fatalf("ReadAt: %v", err)
	}
}

// TestDiskCacheSecondRun: a second run reads one byte of each object, to see that it is
// the same, and none if it need not ask.
func TestDiskCacheSecondRun(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"http", "s3"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := flawedtest.New(t, flawedtest.Content, nil)
			dir := t.TempDir()
			run := func(c diskcache.Config, o objstore.OpenOptions) rangeio.Stats {
				t.Helper()
				c.Dir = dir
				cache, err := diskcache.Open(c)
				if err != nil {
					t.Fatal(err)
				}
				defer cache.Close()
				client := farread.New(farread.Config{Endpoint: s.URL, Region: "us-east-1", AccessKey: "AK", SecretKey: "SK", DiskCache: cache})
				defer client.CloseIdleConnections()
				uri := s.Base() + "x"
				if scheme == "s3" {
					uri = "s3://data/x"
				}
				obj, err := client.OpenWith(t.Context(), uri, o)
				if err != nil {
					t.Fatal(err)
				}
				scattered(t, obj, s.Current("x"))
				return client.Stats()
			}
			for _, o := range []objstore.OpenOptions{{}, {Tail: 10_000}, {Head: -1, Tail: 10_000}, {Also: objstore.Range{Off: 100_000, Len: 5_000}}, {Head: 1 << 20}, {Buf: make([]byte, 1<<17)}} {
				first := run(diskcache.Config{}, o)
				second := run(diskcache.Config{}, o)
				if second.Requests != 1 || second.Bytes != 1 || second.Phases != 1 || second.KeptBytes < 40_000 {
					t.Errorf("%+v: first %+v, second %+v", o, first, second)
				}
				third := run(diskcache.Config{MaxAge: 1 << 50}, o)
				if third.Requests != 0 || third.Bytes != 0 || third.Phases != 0 || third.KeptBytes != second.KeptBytes {
					t.Errorf("%+v: third %+v", o, third)
				}
			}
			s.Replace(1)
			changed := run(diskcache.Config{}, objstore.OpenOptions{})
			if changed.Bytes < 100_000 || changed.KeptBytes != 0 {
				t.Errorf("after a replacement %+v", changed)
			}
			if again := run(diskcache.Config{}, objstore.OpenOptions{}); again.Requests != 1 || again.Bytes != 1 {
				t.Errorf("after that %+v", again)
			}
		})
	}
}

// TestDiskCacheOnS3: a server of S3 that keeps versions. A handle goes on reading its
// version out of the cache and of the store; the next one reads the new version.
func TestDiskCacheOnS3(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"data"}, Versioning: true})
	cache, err := diskcache.Open(diskcache.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	client := func() *farread.Client {
		c := farread.New(farread.Config{Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey, DiskCache: cache})
		t.Cleanup(c.CloseIdleConnections)
		return c
	}
	put := func(version int) {
		t.Helper()
		b, key, err := client().Bucket(t.Context(), "s3://data/x")
		if err != nil {
			t.Fatal(err)
		}
		meta := map[string]string{"version": strconv.Itoa(version)}
		if _, err := objstore.Put(t.Context(), b, key, bytes.NewReader(flawedtest.Content("", version)), objstore.PutOptions{Meta: meta}); err != nil {
			t.Fatal(err)
		}
	}
	run := func(version int) (*objstore.Object, rangeio.Stats) {
		t.Helper()
		c := client()
		o, err := c.Open(t.Context(), "s3://data/x")
		if err != nil || o.Info().Meta["version"] != strconv.Itoa(version) {
			t.Fatalf("%+v, %v", o, err)
		}
		scattered(t, o, flawedtest.Content("", version))
		return o, c.Stats()
	}
	put(0)
	o, first := run(0)
	_, second := run(0)
	if o.Info().VersionID == "" || first.KeptBytes != 0 || second.Requests != 1 || second.Bytes != 1 {
		t.Errorf("first %+v, second %+v", first, second)
	}
	put(1)
	if _, third := run(1); third.Bytes < 100_000 || third.KeptBytes != 0 {
		t.Errorf("third %+v", third)
	}
	scattered(t, o, flawedtest.Content("", 0))
	if _, fourth := run(1); fourth.Requests != 1 || fourth.Bytes != 1 {
		t.Errorf("fourth %+v", fourth)
	}
}

// TestDiskCacheOfPlaces: the same names in different stores, and under different
// queries, are different objects. No secret of a URL is written.
func TestDiskCacheOfPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cache, err := diskcache.Open(diskcache.Config{Dir: dir, MaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	one := flawedtest.New(t, flawedtest.Content, nil)
	other := flawedtest.New(t, func(_ string, v int) []byte { return flawedtest.Content("", v+3) }, nil) // with the same ETag
	for _, s := range []*flawedtest.Server{one, other} {
		c := farread.New(farread.Config{Endpoint: s.URL, Region: "us-east-1", AccessKey: "AKIDNAME", SecretKey: "SK-SECRET", PathStyle: true, DiskCache: cache})
		t.Cleanup(c.CloseIdleConnections)
		secret := strings.Replace(s.Base(), "http://", "http://user:pass-secret@", 1) + "x?X-Amz-Signature=sig-secret"
		for _, uri := range []string{"s3://data/x", s.Base() + "x", secret} {
			o, err := c.Open(t.Context(), uri)
			if err != nil {
				t.Fatal(err)
			}
			scattered(t, o, s.Current("x"))
		}
		if n := c.Stats(); n.KeptBytes != 0 {
			t.Errorf("%+v", n)
		}
	}
	if u := cache.Usage(); u.Objects != 6 {
		t.Errorf("%+v", u)
	}
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(name)
		for _, text := range []string{"secret", "SECRET", "AKID", "user", "Signature"} {
			if strings.Contains(name[len(dir):], text) || bytes.Contains(p, []byte(text)) {
				t.Errorf("%s has %q", name, text)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDiskCacheFlaws: with a cache that has a part of an object, a server that misbehaves
// gives the right bytes or an error, and never is a wrong byte kept.
func TestDiskCacheFlaws(t *testing.T) {
	t.Parallel()
	for i, k := range flawedtest.Sampled() {
		for _, overS3 := range []bool{false, true} {
			if k.HTTP && overS3 || overS3 != (i%2 == 1) && !k.HTTP { // the drivers are held to all cases by tests of their own
				continue
			}
			t.Run(fmt.Sprint(k.Name, "/", overS3), func(t *testing.T) {
				t.Parallel()
				s := flawedtest.New(t, flawedtest.Content, nil)
				dir := t.TempDir()
				read := func(limit time.Duration) error {
					cache, err := diskcache.Open(diskcache.Config{Dir: dir})
					if err != nil {
						t.Fatal(err)
					}
					defer cache.Close()
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					o, err := objstore.Open(ctx, s.Open(t, overS3), "x", objstore.OpenOptions{Keep: cache.Place("p")})
					if err != nil {
						return err
					}
					p := make([]byte, 200_000)
					if err := o.ReadRanges(ctx, []rangeio.Span{{Off: 90_000, P: p}}); err != nil {
						return err
					}
					for v := range 3 {
						if want := flawedtest.Content("", v); bytes.Equal(p, want[90_000:290_000]) {
							return nil
						}
					}
					t.Error("bytes of no version")
					return nil
				}
				first := func() {
					cache, err := diskcache.Open(diskcache.Config{Dir: dir})
					if err != nil {
						t.Fatal(err)
					}
					defer cache.Close()
					o, err := objstore.Open(t.Context(), s.Open(t, overS3), "x", objstore.OpenOptions{Keep: cache.Place("p")})
					if err == nil {
						err = o.ReadRanges(t.Context(), []rangeio.Span{{Off: 150_000, P: make([]byte, 30_000)}})
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				first()
				k.Start(s)
				_ = read(time.Minute) // its error is that of the case
				k.Spoil(s)
				_ = read(700 * time.Millisecond)
				k.Mend(s)
				s.Set(nil)
				if err := read(time.Minute); err != nil {
					t.Errorf("when the server is well: %v", err)
				}
				if err := read(time.Minute); err != nil {
					t.Errorf("once more: %v", err)
				}
			})
		}
	}
}

// TestDiskCacheStaleGulp: within MaxAge a pair of which one object was replaced, or of
// which parts are missing in the cache, is asked for anew.
func TestDiskCacheStaleGulp(t *testing.T) {
	t.Parallel()
	frame := func(version, i int) []byte { return bytes.Repeat([]byte{byte(version*16 + i)}, 200_000) }
	var pair [2][2][]byte // by version: data and index
	for v := range pair {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for i := range 3 {
			if err := w.WriteFrame("id", frame(v, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteMeta(&meta); err != nil {
			t.Fatal(err)
		}
		pair[v] = [2][]byte{data.Bytes(), meta.Bytes()}
	}
	s := flawedtest.New(t, func(name string, v int) []byte {
		if strings.HasSuffix(name, ".gmeta") {
			return pair[v][1]
		}
		return pair[v][0]
	}, func(name, etag string) http.Header {
		if !strings.HasSuffix(name, ".gmeta") {
			return nil
		}
		return http.Header{"X-Amz-Meta-Farread-Data-Etag": {etag}}
	})
	dir := t.TempDir()
	read := func(version, i int) {
		t.Helper()
		cache, err := diskcache.Open(diskcache.Config{Dir: dir, MaxAge: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		c := farread.New(farread.Config{DiskCache: cache})
		defer c.CloseIdleConnections()
		var got []byte
		err = objstore.Again(t.Context(), func() error {
			g, err := c.OpenGulp(t.Context(), s.Base()+"x.gulp", farread.GulpOptions{})
			if err == nil {
				got, err = g.AppendFrame(t.Context(), nil, "id", i)
			}
			return err
		})
		if err != nil || !bytes.Equal(got, frame(version, i)) {
			t.Errorf("frame %d of version %d: %v", i, version, err)
		}
	}
	read(0, 1)
	s.Replace(1)
	read(0, 1) // nobody asks
	read(1, 2) // the data are asked for, and have changed
	read(1, 1)
}
