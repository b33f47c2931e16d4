package farread_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/internal/flawedtest"
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
