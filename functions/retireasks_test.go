package functions_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// asked is a bucket, and a list of the requests to it, sorted.
func asked(b objstore.Bucket) (objstore.Bucket, func() string) {
	var mu sync.Mutex
	var calls []string
	note := simstore.Replace(func(_ context.Context, c simstore.Call) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, c.Op+" "+c.Key)
		return nil
	})
	return note(b), func() string {
		slices.Sort(calls)
		return strings.Join(calls, ", ")
	}
}

// TestRetireLooks: which outputs of other kinds are looked for besides an upload's
// own. A rule that names a format leaves one kind. Members take a listing: they are
// looked for if the upload has some, or if its name says that it may have had some.
func TestRetireLooks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key, format string
		upload      func(testing.TB) []byte
		want        string
	}{
		"bytes":                      {"x.bin", "", of(2)[0], "head x.bin.b2nd, head x.bin.blp, head x.bin.gulp, put x.bin.blp"},
		"bytes, by rule":             {"x.bin", "bloscpack", of(2)[0], "head x.bin.blp, put x.bin.blp"},
		"an archive's name, by rule": {"x.zip", "bloscpack", of(3)[0], "head x.zip.blp, put x.zip.blp"},
		"images, by rule":            {"x.bin", "gulp", of(3)[0], "head x.bin.gmeta, head x.bin.gulp, head x.bin.gulp, put x.bin.gmeta, put x.bin.gulp"},
		"an array":                   {"x.bin", "", of(1)[0], "head x.bin.b2nd, head x.bin.blp, head x.bin.gulp, put x.bin.b2nd"},
		"an array, by rule":          {"x.bin", "b2nd", of(1)[0], "head x.bin.b2nd, put x.bin.b2nd"},
		"an archive's name":          {"x.ZIP", "", of(1)[0], "head x.ZIP.b2nd, head x.ZIP.blp, head x.ZIP.gulp, list x.ZIP/, put x.ZIP.b2nd"},
		"members":                    {"x.bin", "", zips("a b")[0], "head x.bin.b2nd, head x.bin.blp, head x.bin.gulp, head x.bin/a.b2nd, head x.bin/b.b2nd, list x.bin/, put x.bin/a.b2nd, put x.bin/b.b2nd"},
		"members, by rule":           {"x.npz", "b2nd", zips("a")[0], "head x.npz.b2nd, head x.npz/a.b2nd, list x.npz/, put x.npz/a.b2nd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
			b, calls := asked(out)
			h := handler(in, b)
			h.Rules[0].Format = c.format
			e := s3Event(record(c.key, put(t, in, c.key, c.upload(t), nil), 1))
			if r, err := h.Handle(t.Context(), e); err != nil || r.Packed != 1 {
				t.Errorf("%+v, %v", r, err)
			}
			if got := calls(); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestReplacedLooks: for a version that is gone, outputs of two kinds are compared. If
// a rule leaves only one kind, nothing is looked for.
func TestReplacedLooks(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"x.bin":           "head x.bin.b2nd, head x.bin.blp, head x.bin.gulp",
		"x.bin b2nd":      "",
		"x.bin gulp":      "",
		"x.bin bloscpack": "",
		"x.npz b2nd":      "head x.npz.b2nd, list x.npz/",
		"x.npz bloscpack": "",
	} {
		key, format, _ := strings.Cut(name, " ")
		in := memstore.New(memstore.Config{Name: "mem://uploads"})
		b, calls := asked(memstore.New(memstore.Config{Name: "mem://datasets"}))
		h := handler(in, b)
		h.Rules[0].Format = format
		old := s3Event(record(key, put(t, in, key, anything(t, 1), nil), 1))
		put(t, in, key, anything(t, 2), nil)
		if r, err := h.Handle(t.Context(), old); err != nil || r.Dropped != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		if got := calls(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
