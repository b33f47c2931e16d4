package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/teststack"
)

// rawBytes is bytes that no codec makes shorter.
func rawBytes(n int) []byte {
	r := rand.NewChaCha8([32]byte{1})
	p := make([]byte, n)
	_, _ = r.Read(p)
	return p
}

// TestCp: between files, S3 and a plain HTTP server the bytes, and the content type where
// there is one, are the same.
func TestCp(t *testing.T) {
	cloudHere(t, teststack.Options{Buckets: []string{"inbox", "outbox"}})
	dir := t.TempDir()
	at := func(name string) string { return dir + "/" + name }
	long, short := rawBytes(13<<20), []byte(`{"a":1}`)
	write(t, at("long.bin"), long)
	write(t, at("a.json"), short)
	write(t, at("empty"), nil)
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	bytesOf := func(uri string) ([]byte, string) {
		t.Helper()
		a := ready(t)
		ob, err := a.client.Open(t.Context(), uri)
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		p := make([]byte, ob.Size())
		if len(p) > 0 {
			if p, err = a.readSmall(t.Context(), uri, 1<<30); err != nil {
				t.Fatal(err)
			}
		}
		return p, ob.Info().ContentType
	}
	for _, c := range []struct {
		src, dst, out string
		want          []byte
		media         string
	}{
		{at("long.bin"), "s3://inbox/", "s3://inbox/long.bin", long, ""},
		{at("a.json"), "s3://inbox/x/b.json", "s3://inbox/x/b.json", short, "application/json"},
		{at("empty"), "s3://inbox/empty", "s3://inbox/empty", nil, ""},
		{"s3://inbox/long.bin", "s3://outbox/deep/", "s3://outbox/deep/long.bin", long, ""},
		{"s3://inbox/x/b.json", "s3://outbox/other.bin", "s3://outbox/other.bin", short, "application/json"},
		{"s3://inbox/long.bin", at("back/"), at("back/long.bin"), long, ""},
		{"s3://inbox/empty", at("e2"), at("e2"), nil, ""},
		{web.URL + "/long.bin", at("web.bin"), at("web.bin"), long, ""},
		{web.URL + "/a.json", "s3://outbox/w/", "s3://outbox/w/a.json", short, "application/json"},
		{web.URL + "/a.json?x=1", at("q/"), at("q/a.json"), short, ""},
	} {
		run(t, "cp", c.src, c.dst)
		got, media := bytesOf(c.out)
		if !bytes.Equal(got, c.want) || c.media != "" && media != c.media {
			t.Errorf("%s to %s: %d bytes of %q", c.src, c.dst, len(got), media)
		}
	}
	// One that exists stays, without --force.
	if r := (runner{}).run(t, "cp", at("a.json"), "s3://inbox/long.bin"); r.code != exitChanged || !strings.Contains(r.stderr, "--force") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	run(t, "cp", at("a.json"), "s3://inbox/long.bin", "--force")
	if got, _ := bytesOf("s3://inbox/long.bin"); !bytes.Equal(got, short) {
		t.Error("not replaced")
	}
	if got := stats(t, "cp", web.URL+"/a.json", at("once.json")); got.Requests != 3 { // HEAD of DST, GET of SRC, and the writing
		t.Errorf("a small object costs %+v", got)
	}
	// A folder.
	run(t, "cp", "-r", "s3://outbox/", at("all"))
	for name, want := range map[string][]byte{"deep/long.bin": long, "other.bin": short, "w/a.json": short} {
		if got := read(t, at("all/"+name)); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	if r := (runner{}).run(t, "cp", "-r", "s3://outbox", at("all")); r.code != exitChanged {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	for _, args := range [][]string{{"s3://outbox", at("n")}, {"s3://outbox/w", at("n")}, {dir, "s3://inbox/n"}, {"s3://outbox/w/", at("n")}} {
		if r := (runner{}).run(t, append([]string{"cp"}, args...)...); r.code != exitUsage || !strings.Contains(r.stderr, "add -r") {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
	for _, args := range [][]string{{at("nothing"), at("n")}, {"s3://inbox/nothing", at("n")}, {"-r", "s3://inbox/nothing/", at("n")}} {
		if r := (runner{}).run(t, append([]string{"cp"}, args...)...); r.code != exitNotFound {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if r := (runner{}).run(t, "cp", at("a.json"), web.URL+"/new.json"); r.code == 0 {
		t.Error("a web server was written to")
	}
	if _, err := os.Stat(at("n")); err == nil {
		t.Error("something was written")
	}
}

// TestCpEnds: what ends early leaves nothing behind: a body that breaks off, and a copy
// that is given up.
func TestCpEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := rawBytes(9 << 20)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "x.bin", time.Unix(1e9, 0), bytes.NewReader(long))
	}))
	defer broken.Close()
	out := filepath.Join(dir, "sub", "x.bin")
	if r := (runner{}).run(t, "cp", broken.URL+"/x.bin", out); r.code == 0 {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	src := filepath.Join(dir, "x.bin")
	write(t, src, long)
	c := copier{a: ready(t)}
	from, err := c.place(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	to, err := c.place(t.Context(), filepath.Join(dir, "y.bin"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := c.copy(ctx, from, to, func(int64) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("%d files stay", len(got))
	}
	if _, err := os.Stat(filepath.Join(dir, "sub")); err == nil {
		t.Error("an empty folder stays")
	}
}

// TestCpLinks: links to files in the folder are copied as these, and each other link and what is no file is named and
// passed over; a circle of links ends.
func TestCpLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	for _, name := range []string{"a/f", "a/sub/g", "elsewhere/h"} {
		write(t, in(name), []byte(name))
	}
	for name, to := range map[string]string{
		"a/file": "f", "a/sub/up": "../f", "a/folder": "sub", "a/sub/round": "..", "a/one/other": "../two", "a/two/one": "../one", "a/self": "self",
		"a/dead": "nothing", "a/out": "../elsewhere/h", "a/outer": "../elsewhere", "link": "a",
	} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.FromSlash(to), in(name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	want := map[string]string{
		"folder": "a symbolic link to a folder; ", "sub/round": "to a folder that it lies in", "one/other": "a symbolic link to a folder; ", "two/one": "a symbolic link to a folder; ",
		"self": "that leads to itself", "dead": "to what is not there", "out": "that leads out of the folder", "outer": "that leads out of the folder",
	}
	for _, src := range []string{"a", "a/", "link"} {
		out := in("copy of " + strings.TrimSuffix(src, "/") + fmt.Sprint(len(src)))
		r := runner{}.run(t, "cp", "-r", in(src), out, "--json")
		var rep copyReport
		if err := json.Unmarshal([]byte(r.stdout), &rep); err != nil || r.code != 0 || rep.Objects != 4 || len(rep.PassedOver) != len(want) {
			t.Fatalf("%s: exit %d: %s%s", src, r.code, r.stdout, r.stderr)
		}
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		for name, why := range want {
			if !slices.Contains(rep.PassedOver, name) || !slices.ContainsFunc(lines, func(l string) bool {
				return strings.Contains(l, "/"+name+": passed over: ") && strings.Contains(l, why)
			}) {
				t.Errorf("%s: no %s (%s) in %q", src, name, why, lines)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%s: %q", src, lines)
		}
		for name, text := range map[string]string{"f": "a/f", "file": "a/f", "sub/g": "a/sub/g", "sub/up": "a/f"} {
			if got := string(read(t, filepath.Join(out, filepath.FromSlash(name)))); got != text {
				t.Errorf("%s: %s is %q", src, name, got)
			}
		}
	}
	run(t, "cp", in("a/file"), in("one")+"/")
	if got := string(read(t, in("one/file"))); got != "a/f" {
		t.Errorf("a link alone: %q", got)
	}
	// Of many, ten are named.
	for i := range 12 {
		if err := os.Symlink("nothing", in(fmt.Sprintf("many/%d", i))); i == 0 {
			write(t, in("many/f"), nil)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if r := (runner{}).run(t, "cp", "-r", in("many"), in("m")); r.code != 0 || strings.Count(r.stderr, "\n") != 11 || !strings.Contains(r.stderr, "1 name more passed over") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}
