package farread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// kinds are files of the reference tools, and what they are to be taken for.
var kinds = []struct {
	path, format, can string
	typed             func(ctx context.Context, c *Client, uri string) error
}{
	{"formats/b2nd/testdata/nd3.b2nd", "b2nd", "slice search chunks ranges", openArray},
	{"formats/b2nd/testdata/sparse_dir.b2nddir/", "b2nd", "slice search chunks", openArray},
	{"formats/cframe/testdata/fixtures/cframe/metalayers.b2frame", "cframe", "chunks ranges", openFrame},
	{"formats/cframe/testdata/fixtures/cframe/sparse_plain.b2dir/", "sframe", "chunks", openFrame},
	{"formats/cframe/testdata/fixtures/upstream/vlblocks-lz4-fixed-3.0.0.b2frame", "cframe", "items chunks ranges", openFrame},
	{"formats/cframe/testdata/fixtures/upstream/varchunks-lz4-3.0.0.b2frame", "cframe", "items chunks ranges", openFrame},
	{"formats/all/testdata/chunk.blosc", "blosc", "chunks ranges", func(ctx context.Context, c *Client, uri string) error {
		_, err := c.OpenChunk(ctx, uri, FrameOptions{})
		return err
	}},
	{"formats/bloscpack/testdata/fixtures/bloscpack/append_meta.blp", "bloscpack", "items ranges", func(ctx context.Context, c *Client, uri string) error {
		_, err := c.OpenBloscpack(ctx, uri, BloscpackOptions{})
		return err
	}},
	{"formats/zoomcache/testdata/original/p-codec-f32-vbr.zoom", "zoomcache", "view ranges", func(ctx context.Context, c *Client, uri string) error {
		_, err := c.OpenZoom(ctx, uri, ZoomOptions{})
		return err
	}},
	{"formats/gulp/testdata/chunks/ingest_gulpio2_gray5/data_1.gulp", "gulp", "images", func(ctx context.Context, c *Client, uri string) error {
		_, err := c.OpenGulp(ctx, uri, GulpOptions{})
		return err
	}},
	{"formats/gulp/testdata/chunks/ingest_gulpio2_gray5/", "gulp", "images", func(ctx context.Context, c *Client, uri string) error {
		_, err := c.OpenGulpDataset(ctx, uri, GulpOptions{})
		return err
	}},
	{"made/c.npy", "npy", "slice ranges", openNpy},
	{"made/f.npy", "npy", "slice ranges", openNpy},
}

func openArray(ctx context.Context, c *Client, uri string) error {
	_, err := c.OpenArray(ctx, uri, FrameOptions{})
	return err
}

func openFrame(ctx context.Context, c *Client, uri string) error {
	_, err := c.OpenFrame(ctx, uri, FrameOptions{})
	return err
}

func openNpy(ctx context.Context, c *Client, uri string) error {
	_, err := c.OpenNpy(ctx, uri)
	return err
}

// npyFileOf is a .npy of 5 x 4 numbers, which count in C order.
func npyFileOf(t *testing.T, fortran bool) []byte {
	t.Helper()
	d, err := dtype.Parse("'<i4'")
	if err != nil {
		t.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{5, 4}, Fortran: fortran})
	if err != nil {
		t.Fatal(err)
	}
	for k := range 20 {
		n := k
		if fortran {
			n = k%5*4 + k/5
		}
		p = append(p, byte(n), 0, 0, 0)
	}
	return p
}

// fixtures are the objects of kinds, by key.
func fixtures(t *testing.T) map[string][]byte {
	t.Helper()
	objects := map[string][]byte{"made/c.npy": npyFileOf(t, false), "made/f.npy": npyFileOf(t, true)}
	for _, k := range kinds {
		if strings.HasPrefix(k.path, "made/") {
			continue
		}
		folder := path.Dir(k.path)
		err := filepath.WalkDir(filepath.FromSlash(folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			key := filepath.ToSlash(name)
			if key != k.path && !strings.Contains(folder, "gulp") && !strings.HasSuffix(folder, "dir") {
				return nil
			}
			objects[key], err = os.ReadFile(name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// sites are places with the objects of kinds, each with a client: base is what a key is
// put behind for a URI.
func sites(t *testing.T) map[string]func() (c *Client, base string) {
	t.Helper()
	objects := fixtures(t)
	dir := t.TempDir()
	for key, p := range objects {
		write(t, filepath.Join(dir, filepath.FromSlash(key)), p)
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(srv.Close)
	local := func(base string) func() (*Client, string) {
		return func() (*Client, string) {
			c := New(Config{NoHedge: true, Counter: &objstore.Counter{}})
			t.Cleanup(c.CloseIdleConnections)
			return c, base
		}
	}
	return map[string]func() (*Client, string){
		"file": local(dir + "/"),
		"http": local(srv.URL + "/"),
		"s3": func() (*Client, string) {
			c, b := remote(Config{NoHedge: true})
			for key, p := range objects {
				put(t, b, key, p, nil)
			}
			return c, "s3://b/"
		},
	}
}

// TestOpenAny: every kind is taken for what it is, wherever it lies, by URI and by key,
// and costs no more than the opener of its format.
func TestOpenAny(t *testing.T) {
	t.Parallel()
	for site, client := range sites(t) {
		for _, k := range kinds {
			if site == "http" && k.path == "formats/gulp/testdata/chunks/ingest_gulpio2_gray5/" {
				continue // lists nothing
			}
			t.Run(site+"/"+k.path, func(t *testing.T) {
				t.Parallel()
				c, base := client()
				before := c.Stats()
				d, err := c.OpenAny(t.Context(), base+k.path, AnyOptions{})
				if err != nil {
					t.Fatal(err)
				}
				cost := minus(c.Stats(), before)
				if d.Format() != k.format || strings.Join(capabilities(d), " ") != k.can {
					t.Errorf("%s %q, want %s %q", d.Format(), capabilities(d), k.format, k.can)
				}
				other, base := client()
				before = other.Stats()
				if err := k.typed(t.Context(), other, base+k.path); err != nil {
					t.Fatal(err)
				}
				if typed := minus(other.Stats(), before); cost.Requests > typed.Requests || cost.Phases > typed.Phases {
					t.Errorf("costs %+v, the typed opener %+v", cost, typed)
				}
				b, key, err := c.Bucket(t.Context(), base)
				if err != nil {
					t.Fatal(err)
				}
				byKey, err := c.OpenKey(t.Context(), b, key+k.path, AnyOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if d.Format() != byKey.Format() {
					t.Errorf("by key: %s", byKey.Format())
				}
				again, err := c.OpenPlace(t.Context(), d.Place(), AnyOptions{Offset: 3})
				if err != nil || again.Place() != d.Place() || again.Format() != d.Format() {
					t.Errorf("by place: %+v, %v", again, err)
				}
				checkDataset(t, byKey)
			})
		}
	}
}

// checkDataset asks a dataset all that every dataset answers.
func checkDataset(t *testing.T, d Dataset) {
	t.Helper()
	ctx := t.Context()
	in, err := d.Describe(ctx, DescribeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(in); err != nil || !bytes.Contains(text, []byte(`"format":"`+d.Format()+`"`)) {
		t.Errorf("describe: %s, %v", text, err)
	}
	if in.Format != d.Format() || !slices.Equal(in.Can, capabilities(d)) || in.Place.URI == "" {
		t.Errorf("describe: %+v", in)
	}
	s, err := d.Source(ctx)
	if err != nil || s.Size <= 0 || !s.Time.Equal(in.Source.Time) || s.ID != in.Source.ID {
		t.Errorf("source: %+v, %v", s, err)
	}
	if is, err := d.Current(ctx); !is || err != nil {
		t.Errorf("current: %t, %v", is, err)
	}
	entries := entriesOf(t, d, "")
	if in.Entries >= 0 && int64(len(entries)) != in.Entries {
		t.Errorf("%d entries, described are %d", len(entries), in.Entries)
	}
	for i, e := range entries {
		if rest := entriesOf(t, d, e.Cursor); cmp.Diff(entries[i+1:], rest) != "" && len(rest)+len(entries[i+1:]) > 0 {
			t.Errorf("behind %q: %+v", e.Cursor, rest)
		}
	}
	for _, bad := range []string{"x", "-1", "01", "9999999999999999999"} {
		if err := firstError(ctx, d, bad); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
	var last, total int64
	r, err := d.Verify(ctx, func(done, all int64) {
		if done < last || done > all {
			t.Errorf("progress: %d after %d of %d", done, last, all)
		}
		last, total = done, all
	})
	if err != nil || r.CBytes < 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	if total > 0 && last == 0 {
		t.Error("verify told nothing")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := d.Verify(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("verify under an ended context: %v", err)
	}
}

func entriesOf(t *testing.T, d Dataset, after string) (list []Entry) {
	t.Helper()
	for e, err := range d.Entries(t.Context(), EntriesOptions{After: after}) {
		if err != nil {
			t.Fatalf("entries after %q: %v", after, err)
		}
		list = append(list, e)
	}
	return list
}

func firstError(ctx context.Context, d Dataset, after string) error {
	for _, err := range d.Entries(ctx, EntriesOptions{After: after}) {
		return err
	}
	return nil
}

// TestOpenAnyTrace: the golden requests of opening each kind.
func TestOpenAnyTrace(t *testing.T) {
	t.Parallel()
	objects := fixtures(t)
	log := &tracetest.Log{}
	for _, k := range kinds {
		c, b := remote(Config{NoHedge: true})
		for key, p := range objects {
			put(t, b, key, p, nil)
		}
		c.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware())}
		for _, uri := range []string{"s3://b/" + k.path, "s3://b/" + strings.TrimSuffix(k.path, "/")} {
			if _, err := c.OpenAny(t.Context(), uri, AnyOptions{}); err != nil {
				t.Fatal(err)
			}
			log.Step(uri)
			if !strings.HasSuffix(k.path, "/") {
				break
			}
		}
	}
	log.Golden(t, "testdata/any.trace")
}

// TestOpenAnyRefuses: what is nothing, what is no place, what is unknown.
func TestOpenAnyRefuses(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	put(t, b, "x.bin", []byte("no format"), nil)
	put(t, b, "x.h5", []byte("no format"), nil)
	put(t, b, "x.npy", npyFileOf(t, false)[:100], nil)
	data, meta := chunk(t, 1, 10, "a")
	put(t, b, "g.gulp", data, nil)
	put(t, b, "g.gmeta", meta, nil)
	put(t, b, "d/e/f", nil, nil)
	var off *OffsetError
	for _, tc := range []struct {
		key    string
		o      AnyOptions
		want   error
		offset bool
	}{
		{key: "x.bin", want: formats.ErrUnsupported},
		{key: "x.h5", want: formats.ErrUnsupported},
		{key: "x.npy", want: formats.ErrCorrupt},
		{key: "none", want: objstore.ErrNotFound},
		{key: "x.bin", o: AnyOptions{Offset: -1}, want: objstore.ErrInvalid, offset: true},
		{key: "x.bin", o: AnyOptions{Offset: 9}, want: objstore.ErrInvalid, offset: true},
		{key: "g.gulp", o: AnyOptions{Offset: 1}, want: objstore.ErrInvalid, offset: true},
		{key: "d/", o: AnyOptions{Offset: 1}, want: objstore.ErrInvalid, offset: true},
		{key: "d", o: AnyOptions{Offset: 1}, want: objstore.ErrInvalid, offset: true},
	} {
		_, err := c.OpenAny(t.Context(), "s3://b/"+tc.key, tc.o)
		if !errors.Is(err, tc.want) || errors.As(err, &off) != tc.offset {
			t.Errorf("%s, %+v: %v", tc.key, tc.o.Offset, err)
		}
	}
}

// TestOpenKeyParsesNothing: a key that would be a query, a fragment or another folder in
// a URI is a key, and a folder keeps to itself.
func TestOpenKeyParsesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery+"#"+r.URL.Path)
		http.NotFound(w, r)
	}))
	defer srv.Close()
	c := New(Config{NoHedge: true})
	defer c.CloseIdleConnections()
	b, prefix, err := c.Bucket(t.Context(), srv.URL+"/root/")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"x?y=1", "x#y", "x%3fy", "http://elsewhere/x"} {
		asked = nil
		if _, err := c.OpenKey(t.Context(), b, prefix+key, AnyOptions{}); err == nil {
			t.Fatal("opened")
		}
		if len(asked) == 0 || asked[0] != "#/root/"+key {
			t.Errorf("%q asked for %q", key, asked)
		}
	}
	write(t, filepath.Join(dir, "secret.npy"), npyFileOf(t, false))
	write(t, filepath.Join(dir, "root", "own.npy"), npyFileOf(t, false))
	if err := os.Symlink(filepath.Join(dir, "secret.npy"), filepath.Join(dir, "root", "link.npy")); err != nil {
		t.Skip(err)
	}
	b, prefix, err = c.Bucket(t.Context(), filepath.Join(dir, "root")+"/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.OpenKey(t.Context(), b, prefix+"own.npy", AnyOptions{}); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"link.npy", "../secret.npy", "/etc/passwd", "../"} {
		d, err := c.OpenKey(t.Context(), b, prefix+key, AnyOptions{})
		if err == nil {
			_, err = d.Describe(t.Context(), DescribeOptions{}) // a folder is not looked into before
		}
		if err == nil {
			t.Errorf("%q is opened", key)
		}
	}
}

// TestOpenAnyFaults: a replaced object is ErrChanged, and a new opening has it whole.
func TestOpenAnyFaults(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	mem := memstore.New(memstore.Config{Name: "s3://b"})
	c.buckets["s3://b"] = store{b, objstore.Chain(mem, simstore.Latency(1))}
	p, err := os.ReadFile("formats/b2nd/testdata/nd3.b2nd")
	if err != nil {
		t.Fatal(err)
	}
	put(t, mem, "x.b2nd", append(p, make([]byte, 200_000)...), nil) // so that no head holds all
	d, err := c.OpenAny(t.Context(), "s3://b/x.b2nd", AnyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r, ok := d.(Ranger)
	if !ok {
		t.Fatal("no Ranger")
	}
	put(t, mem, "x.b2nd", append(bytes.Clone(p), make([]byte, 200_001)...), nil)
	if err := r.ReadRange(t.Context(), make([]byte, 100), 100_000); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("read of a replaced object: %v", err)
	}
	if is, err := d.Current(t.Context()); is || err != nil {
		t.Errorf("current: %t, %v", is, err)
	}
	if d, err = c.OpenAny(t.Context(), "s3://b/x.b2nd", AnyOptions{}); err != nil {
		t.Fatal(err)
	}
	if is, err := d.Current(t.Context()); !is || err != nil {
		t.Errorf("current: %t, %v", is, err)
	}
}
