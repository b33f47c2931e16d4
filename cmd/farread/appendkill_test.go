package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/teststack"
)

// killedKinds are all formats that grow, with a SRC for the object that is there and one for the append.
func killedKinds(t *testing.T) []killedKind {
	t.Helper()
	dir := t.TempDir()
	var out []killedKind
	for _, k := range grownKinds() {
		first, more := filepath.Join(dir, k.name+"0"+k.src), filepath.Join(dir, k.name+"1"+k.src)
		write(t, first, k.part(0, 12<<20))
		write(t, more, k.part(1, 1<<20))
		out = append(out, killedKind{k.name, k.suffix, append([]string{first}, k.flags...), []string{more}})
	}
	first, more := filepath.Join(dir, "rows0.raw"), filepath.Join(dir, "rows1.raw")
	write(t, first, noisyBytes(11<<20, 1))
	write(t, more, noisyBytes(2<<20, 2))
	flags := func(src, rows string, more ...string) []string {
		return append([]string{src, "--dtype", "|u1", "--shape", rows + ",65536"}, more...)
	}
	return append(out, killedKind{"array", ".b2nd", flags(first, "176", "--chunk-shape", "16,65536"), flags(more, "32")})
}

type killedKind struct {
	name, suffix string
	first, more  []string // SRC and flags
}

// A killer passes requests on to a store, and kills a process at one of those that write.
type killer struct {
	to    *httputil.ReverseProxy
	count atomic.Int32
	at    int32    // the number of the request, from 1; 0: none
	after bool     // once the store has answered
	kill  func()   // once
	lines []string // what was asked
	mu    sync.Mutex
}

func (k *killer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		k.to.ServeHTTP(w, r)
		return
	}
	k.mu.Lock()
	k.lines = append(k.lines, r.Method+" "+r.URL.RawQuery)
	k.mu.Unlock()
	now := k.count.Add(1) == k.at
	if now && !k.after {
		k.kill()
		panic(http.ErrAbortHandler)
	}
	if !now {
		k.to.ServeHTTP(w, r)
		return
	}
	k.to.ServeHTTP(httptest.NewRecorder(), r)
	k.kill()
	panic(http.ErrAbortHandler)
}

// TestAppendKilled: a process that is killed while it appends, at any of its requests, leaves
// the old object or the new one, byte for byte, and the next append works.
func TestAppendKilled(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"grown"}})
	for k, v := range cloudEnv(s) {
		t.Setenv(k, v)
	}
	back, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Pointer[killer]
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	t.Cleanup(proxy.Close)
	for _, c := range killedKinds(t) {
		t.Run(c.name, func(t *testing.T) {
			uri := "s3://grown/x" + c.suffix
			local := filepath.Join(t.TempDir(), "x"+c.suffix)
			run(t, append([]string{"pack", c.first[0], uri}, c.first[1:]...)...)
			old := objectBytes(t, uri, local)
			var grown []byte
			var writes int32
			attempt := func(at int32, after bool) {
				k := &killer{at: at, after: after, to: &httputil.ReverseProxy{ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), Rewrite: func(r *httputil.ProxyRequest) {
					r.SetURL(back)
					r.Out.Host = r.In.Host
				}}}
				p := newProcess(t, append([]string{"pack", "--append", "--endpoint-url", proxy.URL, c.more[0], uri}, c.more[1:]...)...)
				k.kill = func() { p.signal(syscall.SIGKILL); <-p.ended }
				now.Store(k)
				p.start(t)
				code := p.wait()
				got := objectBytes(t, uri, local)
				switch {
				case at == 0:
					if code != 0 {
						t.Fatalf("exit %d %q", code, p.errs.String())
					}
					grown, writes = got, k.count.Load()
				case code != -1:
					t.Errorf("request %d: exit %d, not killed", at, code)
				case !bytes.Equal(got, old) && !bytes.Equal(got, grown):
					t.Errorf("killed at request %d of %d: %d bytes, neither the old ones nor the new ones: %q", at, writes, len(got), k.lines)
				case bytes.Equal(got, grown) != (at == writes && after):
					t.Errorf("killed at request %d of %d, after its answer: %v; the append was made: %v", at, writes, after, bytes.Equal(got, grown))
				}
				if !bytes.Equal(got, old) {
					restore(t, old, local, uri)
				}
			}
			attempt(0, false)
			if writes < 3 {
				t.Fatalf("%d requests that write", writes)
			}
			for at := int32(1); at <= writes; at++ {
				if at > 1 && at < writes-1 { // parts: one is as another
					continue
				}
				attempt(at, at == writes || at == 1)
			}
			attempt(writes, false)
			attempt(0, false) // and the next one works
			restore(t, grown, local, uri)
			run(t, "verify", uri)
		})
	}
}

// objectBytes returns the bytes of an object.
func objectBytes(t *testing.T, uri, local string) []byte {
	t.Helper()
	run(t, "cp", uri, local, "--force")
	p, err := os.ReadFile(local)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func restore(t *testing.T, p []byte, local, uri string) {
	t.Helper()
	write(t, local, p)
	run(t, "cp", local, uri, "--force")
}

// TestAppendKilledOnDisk: the same with files, whenever the process is killed.
func TestAppendKilledOnDisk(t *testing.T) {
	t.Parallel()
	for _, c := range killedKinds(t) {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			dst := filepath.Join(dir, "x"+c.suffix)
			run(t, append([]string{"pack", c.first[0], dst}, c.first[1:]...)...)
			old := read(t, dst)
			args := append([]string{"pack", "--append", c.more[0], dst}, c.more[1:]...)
			from := time.Now()
			if p := newProcess(t, args...).start(t); p.wait() != 0 {
				t.Fatal(p.errs.String())
			}
			long := time.Since(from)
			grown := read(t, dst)
			moments := racetest.Share(4, 2)
			for i := range moments {
				write(t, dst, old)
				p := newProcess(t, args...).start(t)
				time.Sleep(long * time.Duration(2*i+3) / time.Duration(2*moments+2))
				p.signal(syscall.SIGKILL)
				p.wait()
				if got := read(t, dst); !bytes.Equal(got, old) && !bytes.Equal(got, grown) {
					t.Errorf("killed at moment %d of %d: %d bytes, neither the old ones nor the new ones", i, moments, len(got))
				}
			}
			if list := run(t, "ls", dir+"/"); strings.Count(list, "x"+c.suffix) != 1 || strings.Contains(list, ".tmp") {
				t.Errorf("ls: %s", list)
			}
			write(t, dst, old)
			run(t, args...)
			if !bytes.Equal(read(t, dst), grown) {
				t.Error("the next append gave other bytes")
			}
		})
	}
}
