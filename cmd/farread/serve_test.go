package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// serving is a server in a process of its own, and its address.
func serving(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	return showing(t, append([]string{"serve", "--ready-json", "--addr", "127.0.0.1:0"}, args...)...)
}

// fetched is the status and the body of an answer.
func fetched(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	p, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(p)
}

// TestServe: a folder, a file under its own name and under another one are answered for,
// with a log of JSON, until Ctrl-C, which is no error.
func TestServe(t *testing.T) {
	t.Parallel()
	p, url := serving(t, bloscDir, "one="+bloscDir+"/nd2.b2nd", bloscDir+"/dtype_struct.b2nd", "--metrics-addr", "127.0.0.1:0", "--cache", "1MiB", "--max-response", "2KiB", "--cors", "https://viewer.example")
	for path, want := range map[string]int{
		"/ls/": 200, "/slice/one?s=0,:5&format=json": 200, "/info/dtype_struct.b2nd": 200, "/slice/one": 413,
		"/info/" + filepath.Base(bloscDir) + "/nd2.b2nd": 200, "/raw/one/../nd2.b2nd": 400, "/metrics": 404, "/healthz": 200,
	} {
		if status, text := fetched(t, url+path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _ := fetched(t, url+"/ls/", "Host: evil.example"); status != http.StatusMisdirectedRequest {
		t.Errorf("a name of somebody else: %d", status)
	}
	if _, err := os.Stat("1MiB"); err == nil {
		t.Error("a size of memory became a folder")
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	for line := range strings.Lines(p.errs.String()) {
		var l struct {
			ID, Path string
			Status   int
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.ID == "" || l.Status == 0 {
			t.Errorf("log: %v %s", err, line)
		}
	}
}

// TestServeToken: with a token, requests bear it, or have a signed link.
func TestServeToken(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, []byte("s3cret\n"))
	p, url := serving(t, bloscDir, "--as", "b", "--token-file", file, "--quiet", "--no-raw")
	link := url + "/slice/b/nd2.b2nd?s=0,:5&format=json"
	signed := strings.TrimSpace(run(t, "share", link, "--token-file", file, "--for", "1h"))
	if status, _ := fetched(t, link); status != 401 {
		t.Errorf("without: %d", status)
	}
	if status, _ := fetched(t, link, "Authorization: Bearer s3cret"); status != 200 {
		t.Errorf("with: %d", status)
	}
	if status, text := fetched(t, signed); status != 200 {
		t.Errorf("%s: %d %s", signed, status, text)
	}
	if status, _ := fetched(t, url+"/raw/b/nd2.b2nd", "Authorization: Bearer s3cret"); status != 404 {
		t.Errorf("raw: %d", status)
	}
	p.signal(os.Interrupt)
	if code := p.wait(); code != exitOK || p.errs.String() != "" {
		t.Errorf("exit %d %s", code, p.errs.String())
	}
}

// TestServeRefuses: command lines that make no server.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "empty"), nil)
	write(t, filepath.Join(dir, "secret"), []byte("s3cret"))
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, exitUsage, "missing URI"},
		{[]string{"--any"}, exitUsage, "--token-file"},
		{[]string{"--any", "--public", "--addr", "unix:"}, exitUsage, "--public"},
		{[]string{"--any", "--addr", "0.0.0.0:0", "--token-file", filepath.Join(dir, "secret")}, exitUsage, "can be reached from elsewhere"},
		{[]string{dir, "--addr", "unix:", "--open"}, exitUsage, "no page"},
		{[]string{dir, "--token-file", "-"}, exitUsage, "no line"},
		{[]string{filepath.Join(dir, "none")}, exitNotFound, "not found"},
		{[]string{dir, dir}, exitUsage, "two roots are called"},
		{[]string{dir, "--as", "a", "--as", "b"}, exitUsage, "no root for it"},
		{[]string{dir, "--as", "a/b"}, exitUsage, "NAME=URI"},
		{[]string{dir, "--addr", "0.0.0.0:0"}, exitUsage, "--token-file"},
		{[]string{dir, "--addr", "127.0.0.1:99999"}, exitUnavailable, "--addr"},
		{[]string{dir, "--token-file", filepath.Join(dir, "empty")}, exitUsage, "one token"},
		{[]string{dir, "--tls-cert", "x"}, exitUsage, "want both"},
	} {
		r := runner{}.run(t, append([]string{"serve"}, x.args...)...)
		if r.code != x.code || !strings.Contains(r.stderr, x.want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d %s", x.args, r.code, r.stderr)
		}
	}
	good := filepath.Join(dir, "token")
	write(t, good, []byte("correct horse\n"))
	for _, args := range [][]string{{"x"}, {"http://h/x"}, {"http://h/x?s=0;y", "--token-file", good}, {"http://h/#/d/x", "--token-file", good}, {"http://h/x", "--token-file", filepath.Join(dir, "empty")}, {"http://h/x", "--token-file", "x", "--for", "-1s"}} {
		if r := (runner{}).run(t, append([]string{"share"}, args...)...); r.code != exitUsage {
			t.Errorf("share %q: exit %d %s", args, r.code, r.stderr)
		}
	}
}
