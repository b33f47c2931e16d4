package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// mute accepts connections, reads everything, and never answers.
func mute(t *testing.T) (url string, accepted <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			seen <- struct{}{}
			wg.Go(func() { _, _ = io.Copy(io.Discard, c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String(), seen
}

// silentCommands are command lines that call a server at %s, or buckets there.
func silentCommands(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	file := func(name string, n int, text string) string {
		p := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{}).Read(p) // it never fails; noise does not compress
		write(t, filepath.Join(dir, name), append([]byte(text), p...))
		return filepath.Join(dir, name)
	}
	rules := file("rules.json", 0, `[{"job":"pack","bucket":"uploads","out":{"bucket":"outputs"}}]`)
	event := file("event.json", 0, `{"bucket":"uploads","key":"a.tar"}`)
	return map[string][]string{
		"info":         {"info", "s3://uploads/x.b2nd"},
		"info gulp":    {"info", "s3://uploads/x.gulp"},
		"info http":    {"info", "%s/x.b2nd"},
		"ls":           {"ls", "s3://uploads/p/"},
		"ls frame":     {"ls", "s3://uploads/x.b2nd"},
		"get":          {"get", "s3://uploads/x.b2nd", "-o", filepath.Join(dir, "out")},
		"get http":     {"get", "%s/x.blp", "--item", "3", "-o", filepath.Join(dir, "out")},
		"verify":       {"verify", "s3://uploads/x.zoom"},
		"index":        {"index", "s3://uploads/x.zoom"},
		"pack up":      {"pack", file("small.bin", 1000, "x"), "s3://uploads/x.blp"},
		"pack up long": {"pack", file("long.bin", 20<<20, "x"), "s3://uploads/x.blp", "--force"},
		"pack down":    {"pack", "s3://uploads/x.npy", filepath.Join(dir, "out.b2nd")},
		"unpack http":  {"unpack", "%s/x.gulp", filepath.Join(dir, "out")},
		"backfill":     {"backfill", "s3://uploads/", "--rules", rules},
		"worker":       {"worker", "--event", event, "--rules", rules},
		"queue":        {"replay-dlq", "--queue", "%s/1/dlq"},
		"queue to":     {"replay-dlq", "--queue", "%s/1/dlq", "--to", "%s/1/q"},
		"file to":      {"replay-dlq", "--file", event, "--to", "%s/1/q"},
		"local":        {"replay-dlq", "--local", "%s"},
	}
}

// silentEnv keeps the machine's own configuration out.
func silentEnv(t *testing.T) {
	t.Helper()
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK", "AWS_REGION": "us-east-1",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(k, v)
	}
}

func reaching(url string, args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = strings.ReplaceAll(a, "%s", url)
	}
	return append(out, "--endpoint-url", url)
}

// TestSilentServer: commands that wait for a server that never answers end, with one
// line that names the silent server and the option.
func TestSilentServer(t *testing.T) {
	silentEnv(t)
	for name, args := range silentCommands(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := mute(t)
			r := runner{}.run(t, append(reaching(url, args), "--timeout", "1s")...)
			who := "no answer from " + strings.TrimPrefix(url, "http://")
			if r.code != exitUnavailable || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, who) || !strings.Contains(r.stderr, "--timeout") {
				t.Errorf("exit %d: %q", r.code, r.stderr)
			}
		})
	}
}

// TestSilentInterrupt: Ctrl-C ends each of them.
func TestSilentInterrupt(t *testing.T) {
	silentEnv(t)
	for name, args := range silentCommands(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, accepted := mute(t)
			p := newProcess(t, append(reaching(url, args), "--timeout", "0")...).start(t)
			select {
			case <-accepted:
			case <-p.ended:
				t.Fatalf("before it was interrupted: %v %q", p.err, p.errs.String())
			}
			p.signal(syscall.SIGINT)
			p.interrupted(t, name)
		})
	}
}

// TestStalledListing: a listing that stops in the middle of a page ends, and so does
// one without an end.
func TestStalledListing(t *testing.T) {
	silentEnv(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<ListBucketResult><Name>uploads</Name><Contents><Key>a</Key></Contents>")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	cmds := silentCommands(t)
	for _, name := range []string{"ls", "backfill"} {
		r := runner{}.run(t, append(reaching(srv.URL, cmds[name]), "--timeout", "1s")...)
		if r.code != exitUnavailable || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "--timeout") {
			t.Errorf("%s: exit %d: %q", name, r.code, r.stderr)
		}
	}
}

// TestSickListing: if the answer to a listing makes no sense, the store is not asked
// what else a folder may be.
func TestSickListing(t *testing.T) {
	silentEnv(t)
	var listings, others atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("list-type") {
			listings.Add(1)
		} else {
			others.Add(1)
		}
		_, _ = io.WriteString(w, "<!DOCTYPE html>") // such an answer is not tried again
	}))
	defer srv.Close()
	r := runner{}.run(t, "ls", "s3://uploads/p/", "--endpoint-url", srv.URL)
	if r.code != exitUnavailable || listings.Load() != 1 || others.Load() != 0 {
		t.Errorf("exit %d after %d listings and %d other requests: %s", r.code, listings.Load(), others.Load(), r.stderr)
	}
}
