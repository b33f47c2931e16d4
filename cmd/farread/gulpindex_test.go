package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
)

// manyFrames writes a gulp chunk by a Writer alone, so that it has no index, and returns
// the path of its data. There are 50 ids.
func manyFrames(t *testing.T, frames int) string {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	for i := range frames {
		if err := w.WriteFrame(fmt.Sprintf("c%03d", i*50/frames), fmt.Appendf(nil, "frame %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.gulp")
	for path, p := range map[string][]byte{name: data.Bytes(), strings.TrimSuffix(name, ".gulp") + ".gmeta": meta.Bytes()} {
		if err := os.WriteFile(path, p, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

// TestGulpIndex: index writes the index beside a chunk, whichever object names it; info
// and verify tell of it, and of one that is stale or damaged, which hurts no reader.
func TestGulpIndex(t *testing.T) {
	name := manyFrames(t, 5000)
	side := name + ".fri"
	state := func(command string) *farread.GulpIndex {
		t.Helper()
		var r struct {
			Beside *farread.GulpIndex `json:"index_beside"`
		}
		if err := json.Unmarshal([]byte(run(t, command, name, "--json")), &r); err != nil {
			t.Fatal(err)
		}
		return r.Beside
	}
	check := func(what string, there bool, unusable string) {
		t.Helper()
		for _, command := range []string{"info", "verify"} {
			x := state(command)
			if (x != nil) != there || x != nil && (unusable == "") != (x.Unusable == "") {
				t.Errorf("%s: %s says %+v", what, command, x)
			}
			if text := run(t, command, name); strings.Contains(text, "index beside") != there || !strings.Contains(text, unusable) {
				t.Errorf("%s: %s says %s", what, command, text)
			}
		}
		if got := run(t, "get", name, "--id", "c007", "--frames", "3", "-o", "-"); got != "frame 703" {
			t.Errorf("%s: frame %q", what, got)
		}
	}
	check("none", false, "")
	if got := run(t, "index", strings.TrimSuffix(name, ".gulp")+".gmeta"); !strings.Contains(got, "x.gulp.fri: ") {
		t.Error(got)
	}
	check("written", true, "")
	if got := run(t, "index", name); !strings.Contains(got, "up to date") {
		t.Error(got)
	}
	p, err := os.ReadFile(filepath.Clean(side))
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)-80] ^= 1
	if err := os.WriteFile(side, p, 0o600); err != nil {
		t.Fatal(err)
	}
	check("damaged", true, "not used")
	if got := run(t, "index", name); !strings.Contains(got, "x.gulp.fri: ") {
		t.Error(got)
	}
	check("written anew", true, "")
	p[len(p)-80] ^= 1
	p[40] ^= 1 // in a page, which only a read of all of the index shows
	if err := os.WriteFile(side, p, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "index", name); !strings.Contains(got, "x.gulp.fri: ") {
		t.Errorf("a damaged page: %s", got)
	}
	check("written anew again", true, "")
	meta, err := os.ReadFile(filepath.Clean(strings.TrimSuffix(name, ".gulp") + ".gmeta"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(name, ".gulp")+".gmeta", append(meta, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	check("stale", true, "another version")
	if got := run(t, "index", name, "--json"); !strings.Contains(got, `"written":true`) {
		t.Error(got)
	}
	check("made for the new one", true, "")
}

// TestPackIndex: pack writes the index beside a chunk with many frames. A chunk of few
// frames in its place has none.
func TestPackIndex(t *testing.T) {
	dir := t.TempDir()
	jpeg := photo(t, 1)
	for i := range 4000 {
		path := filepath.Join(dir, "in", fmt.Sprintf("c%02d", i%20), fmt.Sprintf("%04d.jpg", i))
		if i < 20 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, jpeg, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "x.gulp")
	run(t, "pack", filepath.Join(dir, "in"), out)
	if got := run(t, "index", out); !strings.Contains(got, "up to date") {
		t.Error(got)
	}
	if got := run(t, "verify", out); !strings.Contains(got, "index beside") || strings.Contains(got, "not used") {
		t.Error(got)
	}
	few := filepath.Join(dir, "few", "c")
	if err := errors.Join(os.MkdirAll(few, 0o700), os.WriteFile(filepath.Join(few, "0.jpg"), jpeg, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(t, "pack", filepath.Dir(few), out, "--force")
	if _, err := os.Stat(out + ".fri"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old index is still there: %v", err)
	}
}

// TestGulpByIDInS3: one frame by its id, cold, through the whole program: two phases and
// less than 64 KB beyond the frame, if there is an index. explain tells the same
// requests.
func TestGulpByIDInS3(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"frames"}})
	put := func(stem string, frames int, index bool) string {
		t.Helper()
		name := manyFrames(t, frames)
		uri := "s3://frames/" + stem + ".gulp"
		for from, to := range map[string]string{name: uri, strings.TrimSuffix(name, ".gulp") + ".gmeta": "s3://frames/" + stem + ".gmeta"} {
			p, err := os.ReadFile(filepath.Clean(from))
			if err != nil {
				t.Fatal(err)
			}
			upload(t, to, p)
		}
		if index {
			run(t, "index", uri)
		}
		return uri
	}
	for _, tc := range []struct {
		stem             string
		frames           int
		index            bool
		policy           string
		requests, phases int64
		bytes            int64
	}{
		{"indexed", 20_000, true, "fast", 4, 2, 64_000},
		{"indexed", 20_000, true, "lean", 4, 2, 64_000},
		{"few", 20_000, true, "few", 4, 3, 1 << 20},
		{"none", 20_000, false, "fast", 5, 3, 1 << 20},
		{"some", 4000, false, "fast", 5, 3, 1 << 20}, // 2 phases, if nobody hoped for an index
		{"some", 4000, false, "few", 3, 2, 1 << 20},
		{"short", 200, false, "fast", 4, 2, 16_000},
	} {
		uri := put(tc.stem, tc.frames, tc.index)
		args := []string{uri, "--id", "c007", "--frames", "3", "--policy", tc.policy}
		if got := run(t, append([]string{"get", "-o", "-"}, args...)...); got != fmt.Sprintf("frame %d", 7*tc.frames/50+3) {
			t.Errorf("%+v: frame %q", tc, got)
		}
		_, s := planAndRead(t, []string{"get"}, args...)
		if s.Requests > tc.requests || s.Phases > tc.phases || s.Bytes > tc.bytes {
			t.Errorf("%+v: %+v", tc, s)
		}
		explained(t, args...)
		args = []string{uri, "--frames", fmt.Sprintf("%d:%d", tc.frames/2, tc.frames/2+3), "--policy", tc.policy} // by number
		if got := run(t, append([]string{"get", "-o", "-"}, args...)...); got != fmt.Sprintf("frame %dframe %dframe %d", tc.frames/2, tc.frames/2+1, tc.frames/2+2) {
			t.Errorf("%+v: by number, %q", tc, got)
		}
		if _, s := planAndRead(t, []string{"get"}, args...); s.Requests > tc.requests || s.Phases > tc.phases || s.Bytes > tc.bytes {
			t.Errorf("%+v: by number, %+v", tc, s)
		}
		explained(t, args...)
	}
}

// TestGulpCopied: the index of a pair that was packed into a folder and copied into a bucket is about
// other ETags. index makes it anew of the .gmeta; nothing of the data is read.
func TestGulpCopied(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"frames"}})
	name := manyFrames(t, 20_000)
	run(t, "index", name)
	stem, size := strings.TrimSuffix(name, ".gulp"), int64(0)
	for _, suffix := range []string{".gulp", ".gmeta", ".gulp.fri"} {
		p, err := os.ReadFile(filepath.Clean(stem + suffix))
		if err != nil {
			t.Fatal(err)
		}
		upload(t, "s3://frames/x"+suffix, p)
		if suffix == ".gmeta" {
			size = int64(len(p))
		}
	}
	const uri = "s3://frames/x.gulp"
	if got := run(t, "info", uri); !strings.Contains(got, "not used: it is about another version") {
		t.Error(got)
	}
	frame := []string{"get", uri, "--id", "c007", "--frames", "3", "-o", "-"}
	if got := run(t, frame...); got != "frame 2803" {
		t.Errorf("by a stale index: %q", got)
	}
	// The .gmeta, the head of the data, the end of the stale index, and what is put.
	if s := stats(t, "index", uri); s.Bytes > size+objstore.DefaultHead+(41<<10) || s.Phases > 5 {
		t.Errorf("index: %+v, of a .gmeta of %d", s, size)
	}
	if s := stats(t, frame...); s.Requests != 4 || s.Phases != 2 || s.Bytes > 64_000 {
		t.Errorf("%+v", s)
	}
}

// TestIndexNoETag: index says the same of arrays and series.
func TestIndexNoETag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := filepath.Join(dir, "x.npy")
	write(t, src, noisy(9))
	packNoisy(t, src, filepath.Join(dir, "x.b2nd"), "--index=false")
	makeZoom(t, filepath.Join(dir, "x.zoom"), time.Unix(0, 0))
	for _, etag := range []string{"", `W/"e"`} {
		files := http.FileServer(http.Dir(dir))
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if etag != "" {
				w.Header().Set("ETag", etag)
			}
			files.ServeHTTP(w, r)
		}))
		t.Cleanup(srv.Close)
		for _, name := range []string{"x.b2nd", "x.zoom"} {
			r := runner{}.run(t, "index", "--force", srv.URL+"/"+name)
			if r.code != 7 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "ETag, so nothing would tell") {
				t.Errorf("%s, ETag %q: exit %d: %s", name, etag, r.code, r.stderr)
			}
		}
	}
}

// TestGulpIndexNoETag: of a server without ETags index says why there is none, in a line, and
// an index that lies there is not used.
func TestGulpIndexNoETag(t *testing.T) {
	t.Parallel()
	name := manyFrames(t, 5000)
	srv := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(name))))
	t.Cleanup(srv.Close)
	uri := srv.URL + "/x.gulp"
	r := runner{}.run(t, "index", uri)
	if r.code != 7 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "has no ETag") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	run(t, "index", name)
	if got := run(t, "get", uri, "--id", "c007", "--frames", "3", "-o", "-"); got != "frame 703" {
		t.Errorf("frame %q", got)
	}
	if got := run(t, "info", uri); !strings.Contains(got, "not used: the data object has no ETag") {
		t.Error(got)
	}
}
