package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/teststack"
)

// A tripwire stands between a process and S3. When the n-th PUT has arrived there,
// before it is answered, it calls pull. With mute that PUT is never answered.
type tripwire struct {
	to   *url.URL
	mu   sync.Mutex
	left int
	mute bool
	last bool // no other PUT follows
	pull func()
}

func (p *tripwire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = p.to.Scheme, p.to.Host
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	out := httptest.NewRecorder()
	// The request arrives even if the process ends meanwhile.
	proxy.ServeHTTP(out, r.WithContext(context.WithoutCancel(r.Context())))
	if r.Method == http.MethodPut {
		p.mu.Lock()
		p.left--
		now := p.left == 0
		p.mu.Unlock()
		if now {
			p.pull()
		}
		if now && p.mute {
			<-r.Context().Done()
			return
		}
	}
	for k, v := range out.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes()) // the process may be gone
}

// TestPackInterrupted: a dataset that is appended to stays whole, whenever an
// interrupt comes.
func TestPackInterrupted(t *testing.T) {
	s := cloudHere(t, teststack.Options{Buckets: []string{"sets"}})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old", "was", "0.jpg"), photo(t, 99))
	const chunks = 30
	for i := range chunks {
		write(t, filepath.Join(dir, "new", fmt.Sprintf("id%03d", i), "0.jpg"), photo(t, i))
	}
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, put := range []int{1, 15, chunks, chunks + 1, chunks + 2, chunks + 17, 2 * chunks} {
		for _, mute := range []bool{false, true} {
			t.Run(fmt.Sprintf("put %d of %d, mute %v", put, 2*chunks, mute), func(t *testing.T) {
				t.Parallel() // the tests mostly wait
				set := fmt.Sprintf("s3://sets/%d-%v/", put, mute)
				run(t, "pack", filepath.Join(dir, "old"), set, "--format", "gulp")
				want := contents(t, set)
				packInterrupted(t, &tripwire{to: to, left: put, mute: mute, last: put == 2*chunks}, filepath.Join(dir, "new"), set)
				var v verifyReport
				if err := json.Unmarshal([]byte(run(t, "verify", set, "--json")), &v); err != nil || !v.OK {
					t.Errorf("%v %+v", err, v)
				}
				if put < chunks && v.Chunks != 1 || put == 2*chunks && !mute && v.Chunks != 1+chunks {
					t.Errorf("%d chunks", v.Chunks)
				}
				got := contents(t, set)
				for name, p := range want {
					if got[name] != p {
						t.Errorf("%s was there before and is not the same any more", name)
					}
				}
			})
		}
	}
}

// packInterrupted packs in a process of its own that is interrupted by p.
func packInterrupted(t *testing.T, p *tripwire, src, set string) {
	t.Helper()
	c := newProcess(t, "pack", src, set, "--format", "gulp", "--chunk", "1")
	p.pull = func() { c.signal(os.Interrupt) }
	srv := httptest.NewServer(p)
	defer srv.Close()
	c.start(t, "--endpoint-url", srv.URL)
	if c.wait() == exitOK && p.last {
		return // the last answer of all won the race against the signal
	}
	c.interrupted(t, set)
}

// TestInterruptGet: get of a frame is interrupted hundreds of times, at any moment of
// its run. Exit 130 leaves nothing, and exit 0 the whole output.
func TestInterruptGet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	selectors := everyFormat(t, dir, 64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		http.ServeFile(w, r, filepath.Join(dir, filepath.Base(r.URL.Path)))
	}))
	t.Cleanup(s.Close)
	want := map[string]map[string]string{}
	var took time.Duration
	for file, sel := range selectors {
		out := t.TempDir()
		start := time.Now()
		if r := getFrom(t, s.URL+"/"+file, out, sel, nil); r.code != 0 {
			t.Fatal(r.stderr)
		}
		took = max(took, time.Since(start))
		want[file] = files(t, out)
	}
	rounds := racetest.Share(100, 4) // of five formats
	if testing.Short() {
		rounds = 10
	}
	ends := map[int]int{}
	for round := range rounds {
		for file, sel := range selectors {
			out := t.TempDir()
			var errs strings.Builder
			a := &app{stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &errs, env: func(string) string { return "" }}
			interrupts := make(chan os.Signal, 1)
			if round == 0 {
				interrupts <- os.Interrupt
			} else {
				time.AfterFunc(took*time.Duration(round)/time.Duration(2*rounds), func() { interrupts <- os.Interrupt })
			}
			code := a.main(append([]string{"get", s.URL + "/" + file, "-o", filepath.Join(out, "out")}, sel...), interrupts, time.Hour)
			ends[code]++
			left := files(t, out)
			switch d := cmp.Diff(want[file], left); {
			case code == exitInterrupted && len(left) == 0 && errs.String() == "interrupted\n":
			case code == exitOK && d == "" && errs.String() == "":
			default:
				t.Fatalf("%s, round %d: exit %d %q, left %d files", file, round, code, errs.String(), len(left))
			}
		}
	}
	if ends[exitInterrupted] == 0 {
		t.Errorf("no run was interrupted: %v", ends)
	}
}
