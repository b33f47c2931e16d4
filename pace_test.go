package farread

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// TestPaceOfEachStore: buckets of one host share what was learnt, others do not.
func TestPaceOfEachStore(t *testing.T) {
	t.Parallel()
	c := New(Config{NoHedge: true})
	web := func(base string) objstore.Bucket {
		b, err := httpstore.New(httpstore.Config{Base: base, Transport: c.trans})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	paces := map[*objstore.Pace]string{}
	for what, bs := range map[string][]objstore.Bucket{
		"a host":              {web("https://a/x/"), web("https://a/y/z/"), web("https://a/?signature=1"), web("https://a/x?signature=2")},
		"another port":        {web("https://a:8443/x/")},
		"another scheme":      {web("http://a/x/")},
		"a bucket of S3":      {memstore.New(memstore.Config{Name: "s3://b"}), memstore.New(memstore.Config{Name: "s3://b"})},
		"another one":         {memstore.New(memstore.Config{Name: "s3://c"})},
		"one that has no URL": {memstore.New(memstore.Config{Name: "mine"})},
	} {
		for _, b := range bs {
			p := c.pace(b)
			if other, ok := paces[p]; ok && other != what || p != c.pace(bs[0]) {
				t.Errorf("%s (%s) shares with %s", what, b.Name(), other)
			}
			paces[p] = what
		}
	}
}

// TestHedge: a client asks again beside what is slow unless it is told not to.
func TestHedge(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, b := remote(Config{NoHedge: !on})
			put(t, b, "k", bytes.Repeat([]byte("x"), 100), nil)
			if _, err := c.OpenObject(t.Context(), simstore.Latency(3*time.Second)(b), "k", objstore.OpenOptions{}); err != nil {
				t.Fatal(err)
			}
			if s := c.Stats(); on != (s.Hedged == 1) || on != (s.Requests == 2) {
				t.Errorf("on %v: %+v", on, s)
			}
		})
	}
}
