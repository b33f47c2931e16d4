package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keeper is a server as S3 is one to those who may not list a bucket: what is not there is 403.
func keeper(t *testing.T, dir string) *httptest.Server {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if in, err := os.Stat(filepath.Join(dir, filepath.FromSlash(r.URL.Path))); err != nil || in.IsDir() {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"))
			return
		}
		w.Header().Set("ETag", `"1"`)
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// TestZarrOf403: where what is not there is refused, metadata of both versions are found; a chunk
// that is refused is an error that names it and the permission, and the fill value only if asked.
func TestZarrOf403(t *testing.T) {
	t.Parallel()
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	srv := keeper(t, dir)
	for file, name := range map[string]string{"three.zarr": "blosc lz4 shuffle v3", "two.zarr": "blosc lz4 shuffle v2", "g.zarr": "group consolidated v3", "gone.zarr": "no chunks v3", "gone2.zarr": "no chunks v2", "shards.zarr": "shards index end"} {
		if len(all[name].Objects) == 0 {
			t.Fatal(name)
		}
		all[name].writeTo(t, in(file))
	}
	run(t, "pack", srv.URL+"/three.zarr", in("three.b2nd"))
	run(t, "pack", srv.URL+"/g.zarr", in("g/"), "--format", "b2nd")
	r := runner{}.run(t, "pack", srv.URL+"/two.zarr", in("two.b2nd"))
	if _, err := os.Stat(in("two.zarr/.zattrs")); r.code != exitOK || os.IsNotExist(err) != strings.Contains(r.stderr, ".zattrs is taken for absent") {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
	for file, name := range map[string]string{"three": "blosc lz4 shuffle v3", "two": "blosc lz4 shuffle v2"} {
		if itemsSum(t, in(file+".b2nd")) != all[name].SHA256 {
			t.Errorf("%s: other items", file)
		}
	}
	if err := os.RemoveAll(in("shards.zarr/c")); err != nil {
		t.Fatal(err)
	}
	for file, key := range map[string]string{"gone.zarr": "c/", "gone2.zarr": "0", "shards.zarr": "c/"} {
		r := runner{}.run(t, "pack", srv.URL+"/"+file, in("no.b2nd"))
		if r.code != exitDenied || !strings.Contains(r.stderr, `chunk "`+key) || !strings.Contains(r.stderr, "s3:ListBucket") || !strings.Contains(r.stderr, "--denied-is-absent") || strings.Count(r.stderr, "\n") != 1+strings.Count(r.stderr, "taken for absent") {
			t.Errorf("%s: exit %d %s", file, r.code, r.stderr)
		}
		if _, err := os.Stat(in("no.b2nd")); err == nil {
			t.Fatal("an output is there")
		}
		r = runner{}.run(t, "pack", srv.URL+"/"+file, in(file+".b2nd"), "--denied-is-absent")
		if r.code != 0 || strings.Count(r.stderr, "chunks are not there, or refused, and their items are the fill value") != 1 {
			t.Errorf("%s: exit %d %s", file, r.code, r.stderr)
		}
	}
	if itemsSum(t, in("gone.zarr.b2nd")) != all["no chunks v3"].SHA256 {
		t.Error("other items")
	}
	r = runner{}.run(t, "pack", srv.URL+"/nothing.zarr", in("no.b2nd"))
	if r.code != exitDenied || !strings.Contains(r.stderr, "none of zarr.json, .zarray, .zattrs, .zgroup, .zmetadata can be read") || !strings.Contains(r.stderr, "s3:ListBucket") {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
}

// TestZarrOf403InS3: the same through the driver of S3, whose answers have a code.
func TestZarrOf403InS3(t *testing.T) {
	all, dir := zarrFixtures(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	srv := keeper(t, dir)
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": srv.URL, "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		t.Setenv(k, v)
	}
	all["lz4 v2"].writeTo(t, in("hold/two.zarr"))
	all["no chunks v2"].writeTo(t, in("hold/gone.zarr"))
	run(t, "pack", "s3://hold/two.zarr", in("two.b2nd"))
	if itemsSum(t, in("two.b2nd")) != all["lz4 v2"].SHA256 {
		t.Error("other items")
	}
	r := runner{}.run(t, "pack", "s3://hold/gone.zarr", in("no.b2nd"))
	if r.code != exitDenied || !strings.Contains(r.stderr, "403 AccessDenied") || !strings.Contains(r.stderr, `chunk "0`) || !strings.Contains(r.stderr, "s3:ListBucket") {
		t.Errorf("exit %d %s", r.code, r.stderr)
	}
	run(t, "pack", "s3://hold/gone.zarr", in("gone.b2nd"), "--denied-is-absent", "--quiet")
}
