package farread

import (
	"archive/zip"
	"bytes"
	"fmt"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio/rangeiotest"
)

// TestOpenByName: an object with its directory at the end is opened by its end, and then
// the directory costs nothing; options that say which part to fetch are obeyed.
func TestOpenByName(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := range 1000 {
		f, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%06d.bin", i), Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(payload("a", i, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c, b := remote(Config{})
	for _, key := range []string{"a.zip", "a.bin"} {
		put(t, b, key, buf.Bytes(), nil)
	}
	for _, tc := range []struct {
		key      string
		o        objstore.OpenOptions
		opened   int64 // requests
		requests int64 // of the directory
	}{
		{"a.zip", objstore.OpenOptions{}, 2, 0},
		{"a.bin", objstore.OpenOptions{}, 1, 3},
		{"a.zip", objstore.OpenOptions{Head: 100}, 1, 3},
	} {
		before := c.Stats()
		ob, err := c.OpenWith(t.Context(), "s3://b/"+tc.key, tc.o)
		if err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Requests-before.Requests != tc.opened || s.Phases-before.Phases != 1 {
			t.Errorf("%s %+v: %+v after %+v", tc.key, tc.o, s, before)
		}
		rangeiotest.MaxRequests(t, ob, tc.requests)
		z, err := zip.NewReader(ob.WithContext(t.Context()), ob.Size())
		if err != nil || len(z.File) != 1000 {
			t.Error(err)
		}
	}
}

// TestAheadOfClient: the client's option holds for its objects.
func TestAheadOfClient(t *testing.T) {
	t.Parallel()
	for ahead, most := range map[int64]int64{0: 12, -1: 33} {
		c, b := remote(Config{Ahead: ahead})
		data := payload("a", 1, 2<<20)
		put(t, b, "x", data, nil)
		ob, err := c.Open(t.Context(), "s3://b/x")
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4<<10)
		for off := int64(0); off < ob.Size(); off += int64(len(p)) {
			if n, err := ob.WithContext(t.Context()).ReadAt(p, off); n < len(p) || !bytes.Equal(p, data[off:off+int64(n)]) {
				t.Fatal(off, err)
			}
		}
		if n := ob.Stats().Requests; n > most || ahead < 0 && n < 32 {
			t.Errorf("Ahead %d: %d requests, want about %d", ahead, n, most)
		}
	}
}
