package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// bareServer serves the files of a folder by GET with ranges, and nothing else: no HEAD, no listing, no ETag, no dates.
func bareServer(t *testing.T, dir string) (uri string, requests func() []string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.Path)
		mu.Unlock()
		p, err := os.Open(filepath.Join(dir, filepath.FromSlash(r.URL.Path)))
		if err == nil {
			defer p.Close()
		}
		if in, serr := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err != nil || serr != nil || in.IsDir() || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, p)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := slices.Sorted(slices.Values(seen))
		seen = nil
		return out
	}
}

// TestGroupUnlisted: on a server that lists nothing the index tells what is in a folder, and each array what it is.
func TestGroupUnlisted(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	all["group v2"].writeTo(t, in("g.zarr"))
	run(t, "pack", in("g.zarr"), in("g/"), "--format", "b2nd")
	uri, requests := bareServer(t, dir)
	near, far := run(t, "info", in("g/")), run(t, "info", uri+"/g/")
	if _, rest, _ := strings.Cut(near, "arrays"); rest == "" || !strings.HasSuffix(far, "arrays"+rest) {
		t.Errorf("%s\n%s", near, far)
	}
	got := requests()
	arrays := 0
	for _, r := range got {
		if !strings.HasPrefix(r, "GET /g/") {
			t.Error(r)
		}
		if strings.HasSuffix(r, ".b2nd") {
			arrays++
		}
	}
	got = slices.DeleteFunc(got, func(r string) bool { return r == "GET /g/chunks.b2frame" }) // is it a sparse frame? one of two requests may be given up
	if n := len(all["group v2"].Arrays); !slices.Contains(got, "GET /g/farread.group.json") || arrays > 2*n || len(got) != arrays+1 {
		t.Errorf("%d arrays: %q", n, got)
	}
	if text := run(t, "ls", uri+"/g/"); strings.Count(text, "\n") != 2+len(all["group v2"].Arrays) || strings.Contains(text, "0001") {
		t.Error(text)
	}
	run(t, "unpack", in("g/"), in("near.zarr"))
	run(t, "unpack", uri+"/g/", in("far.zarr"))
	if a, b := files(t, in("near.zarr")), files(t, in("far.zarr")); len(a) != len(b) || len(a) < 4 {
		t.Errorf("%d files, want %d", len(b), len(a))
	} else {
		for name := range a {
			if a[name] != b[name] {
				t.Errorf("%s is other", name)
			}
		}
	}

	// What the index says of an array that was replaced, or went, does not count.
	keys := slices.Sorted(func(yield func(string) bool) {
		for key := range all["group v2"].Arrays {
			if !yield(key) {
				return
			}
		}
	})
	write(t, in("new.raw"), make([]byte, 24))
	run(t, "pack", in("new.raw"), in("g/"+keys[0]+".b2nd"), "--dtype", "<f8", "--shape", "3", "--force")
	if err := os.Remove(in("g/" + keys[1] + ".b2nd")); err != nil {
		t.Fatal(err)
	}
	r := runner{}.run(t, "info", uri+"/g/")
	if r.code != 0 || !strings.Contains(r.stdout, keys[0]+".b2nd <f8 (3,)") || strings.Contains(r.stdout, keys[1]+".b2nd") || !strings.Contains(r.stderr, "not there: "+keys[1]+".b2nd") {
		t.Errorf("%+v", r)
	}

	refused(t, exitUsage, "name an object in it", "info", uri+"/")
	refused(t, exitUsage, "name an object in it", "slice", uri+"/g/", "0")
	for name, text := range map[string]string{
		"out":   `{"farread_group":1,"arrays":{"../g/x.b2nd":{"size":1,"etag":"a","dtype":"<f8","shape":[1]}}}`,
		"no":    `[]`,
		"other": `{"farread_group":2}`,
	} {
		if err := os.MkdirAll(in("bad/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, in("bad/"+name+"/farread.group.json"), []byte(text))
		requests()
		if r := (runner{}).run(t, "info", uri+"/bad/"+name+"/"); r.code == 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "farread.group.json") && !strings.Contains(r.stderr, "group") {
			t.Errorf("%s: %+v", name, r)
		}
		if got := requests(); slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "x.b2nd") }) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
