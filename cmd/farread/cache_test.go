package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/objstore/diskcache"
	"github.com/farread/farread/rangeio"
)

// TestCacheInEveryFormat: with --cache the second run asks for one byte of each object,
// and with --cache-ttl the third one for none. The output is the same.
func TestCacheInEveryFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, sel := range everyFormat(t, dir, 400) {
		for _, scheme := range []string{"http", "s3"} {
			t.Run(file+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				s := serve(t, dir)
				cache, out := t.TempDir(), t.TempDir()
				uri, flags := s.Base()+file, []string{"--stats", "--quiet", "--no-hedge", "--cache", cache}
				if scheme == "s3" {
					uri, flags = "s3://data/"+file, append(flags, "--endpoint-url", s.URL, "--no-sign-request", "--path-style", "--region", "us-east-1")
				}
				get := func(to string, more ...string) (n rangeio.Stats) {
					t.Helper()
					r := getFrom(t, uri, filepath.Join(out, to), sel, append(flags, more...))
					if err := json.Unmarshal([]byte(r.stderr), &n); r.code != exitOK || err != nil {
						t.Fatalf("exit %d %q", r.code, r.stderr)
					}
					return n
				}
				first, second, third := get("want"), get("got"), get("third", "--cache-ttl", "1h")
				if second.Bytes > 4 || second.Bytes > second.Requests || second.Requests > first.Requests || second.KeptBytes == 0 || first.Bytes < 100 {
					t.Errorf("first %+v, second %+v", first, second)
				}
				if third.Bytes != 0 || third.Requests != second.Requests-second.Bytes || third.KeptBytes != second.KeptBytes {
					t.Errorf("second %+v, third %+v", second, third)
				}
				t.Logf("first %+v, second %+v, third %+v", first, second, third)
				wrote := files(t, out)
				for name, p := range wrote {
					if rest, ok := strings.CutPrefix(name, "want"); ok && (wrote["got"+rest] != p || wrote["third"+rest] != p) {
						t.Errorf("%s differs", name)
					}
				}
			})
		}
	}
}

// TestCacheCommand: the folder is reported, compared and emptied; wrong uses are said.
func TestCacheCommand(t *testing.T) {
	t.Parallel()
	src, dir := t.TempDir(), filepath.Join(t.TempDir(), "new", "cache")
	name := filepath.Base(sample(t, src))
	s := serve(t, src)
	withCache := runner{env: map[string]string{cacheVariable: dir}}
	if r := withCache.run(t, "info", s.Base()+name); r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	var u cacheReport
	if r := withCache.run(t, "cache", "info", "--json"); r.code != exitOK || json.Unmarshal([]byte(r.stdout), &u) != nil || u.Objects < 1 || u.Bytes == 0 || u.Dir != dir || u.Max != diskcache.DefaultMaxBytes {
		t.Errorf("%+v", r)
	}
	if text := run(t, "cache", "info", "--cache", dir, "--cache-size", "1MiB"); !strings.Contains(text, " of 1.0 MiB") || !strings.Contains(text, "oldest") {
		t.Errorf("%q", text)
	}
	for path, p := range files(t, dir) {
		if strings.HasSuffix(path, ".seg") {
			if err := os.WriteFile(filepath.Join(dir, path), []byte(p[:len(p)-1]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if text := run(t, "cache", "verify", "--cache", dir); !strings.Contains(text, " damaged and removed") || strings.Contains(text, "; 0 ") {
		t.Errorf("%q", text)
	}
	var v diskcache.Verification
	if err := json.Unmarshal([]byte(run(t, "cache", "verify", "--cache", dir, "--json")), &v); err != nil || v.Damaged != 0 {
		t.Errorf("%+v, %v", v, err)
	}
	run(t, "cache", "clear", "--cache", dir)
	if err := json.Unmarshal([]byte(run(t, "cache", "info", "--cache", dir, "--json")), &u); err != nil || u.Objects != 0 || u.Bytes != 0 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, args := range [][]string{
		{"cache", "info"}, {"cache", "clear", "x"}, {"cache", "emty"},
		{"info", s.Base() + name, "--cache", src},      // a folder with files of others
		{"info", s.Base() + name, "--cache", "256MiB"}, // of a server alone
		{"info", s.Base() + name, "--cache", dir, "--cache-size", "1kB"},
		{"serve", src, "--addr", "127.0.0.1:0", "--max-response", "0"},
		{"info", s.Base() + name, "--cache", dir, "--cache-ttl", "-1s"},
	} {
		if r := (runner{}).run(t, args...); r.code != exitUsage {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if r := (runner{env: map[string]string{cacheVariable: src}}).run(t, "version"); r.code != exitOK {
		t.Errorf("a command that reads nothing looks at the cache: %+v", r)
	}
}

// TestCacheFlagsAlone: flags of a cache that is not named are refused.
func TestCacheFlagsAlone(t *testing.T) {
	t.Parallel()
	uri := countingFolder(t, bloscDir).URL + "/nd2.b2nd"
	for _, flag := range []string{"--cache-size=1GiB", "--cache-ttl=1h"} {
		r := runner{}.run(t, "info", uri, flag)
		if r.code != exitUsage || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "--cache or FARREAD_CACHE") {
			t.Errorf("%s: %+v", flag, r)
		}
		run(t, "info", uri, flag, "--cache", t.TempDir())
	}
}
