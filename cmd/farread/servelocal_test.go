package main

import (
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// anyPath is the path of a verb for any URI.
func anyPath(verb, uri string) string {
	return "/" + verb + "/~" + base64.RawURLEncoding.EncodeToString([]byte(uri))
}

// TestServeAlone: a socket for its user alone, which answers for any URI, and is gone with
// its folder once standard input has ended.
func TestServeAlone(t *testing.T) {
	t.Parallel()
	whole, err := filepath.Abs(bloscDir + "/nd2.b2nd")
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, "serve", "--any", "--addr", "unix:", "--exit-with-stdin", "--ready-json", "--quiet")
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, at := p.listening(t)
	socket, ok := strings.CutPrefix(at, "unix:")
	if !ok {
		t.Fatal(at)
	}
	for name, want := range map[string]os.FileMode{socket: 0o600, filepath.Dir(socket): 0o700} {
		if is, err := os.Stat(name); err != nil || is.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, is.Mode(), err, want)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for path, want := range map[string]int{
		anyPath("slice", whole) + "?s=0,:5&format=json": 200, anyPath("info", bloscDir) + "/nd2.b2nd": 200, anyPath("info", whole+"x"): 404,
		anyPath("info", "ftp://x"): 400, "/info/~%25": 400, "/info/nd2.b2nd": 404,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		if a.Body.Close(); err != nil || a.StatusCode != want {
			t.Errorf("%s: %d %s %v", path, a.StatusCode, text, err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := p.wait(); code != exitOK || p.errs.String() != "" {
		t.Errorf("exit %d %s", code, p.errs.String())
	}
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the socket: %v", err)
	}
}

// TestServeSecret: a token that comes on standard input, which is in no file and no command
// line.
func TestServeSecret(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "serve", "--any", "--addr", "127.0.0.1:0", "--token-file", "-", "--exit-with-stdin", "--ready-json", "--quiet")
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "s3cret\n"); err != nil { // a pipe holds that before the program starts
		t.Fatal(err)
	}
	p, url := p.listening(t)
	whole, err := filepath.Abs(bloscDir + "/nd2.b2nd")
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := fetched(t, url+anyPath("info", whole)); status != http.StatusUnauthorized {
		t.Errorf("without: %d", status)
	}
	if status, text := fetched(t, url+anyPath("info", whole), "Authorization: Bearer s3cret"); status != http.StatusOK {
		t.Errorf("with: %d %s", status, text)
	}
	_ = in.Close()
	if code := p.wait(); code != exitOK {
		t.Errorf("exit %d %s", code, p.errs.String())
	}
}
