package soak_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A proxy stands between the functions and the S3 server. It counts their
// requests and lets some of them fail.
type proxy struct {
	URL string

	mu     sync.Mutex
	target *url.URL
	rng    *rand.Rand
	share  float64 // of calls that fail
	ill    fault   // "": any kind, of any call; else this one, of GETs only
	counts map[string]int64
	faults map[string]int64
	read   map[string]int64 // bytes of bodies sent to the functions, by bucket
	next   *httputil.ReverseProxy
	begun  map[string]chan struct{} // closed at the first request for a path
	// unheard, if not nil, is asked about each call. If it returns a function, the call is
	// done, nobody hears of its result, and the function is called.
	unheard func(r *http.Request) func()
}

// begins is closed when a function next asks for an upload: then its work begins.
func (p *proxy) begins(key string) <-chan struct{} {
	c := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun["/"+uploads+"/"+key] = c
	return c
}

// fault is a way in which a call goes wrong.
type fault string

const (
	internal fault = "500"
	slowDown fault = "503"
	slow     fault = "slow"
	lost     fault = "done, but answered 500"
	cut      fault = "body cut off"
	hang     fault = "no answer for half a minute"
)

func newProxy(tb testing.TB, seed uint64) *proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{URL: "http://" + ln.Addr().String(), rng: rand.New(rand.NewPCG(seed, 20)),
		counts: map[string]int64{}, faults: map[string]int64{}, read: map[string]int64{}, begun: map[string]chan struct{}{}}
	p.next = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			p.mu.Lock()
			defer p.mu.Unlock()
			r.SetURL(p.target)
			r.Out.Host = r.In.Host // the signature covers the host
		},
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else the function was killed
				http.Error(w, err.Error(), http.StatusBadGateway)
			}
		},
	}
	srv := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = srv.Serve(ln) }()
	tb.Cleanup(func() { srv.Close() })
	return p
}

func (p *proxy) to(endpoint string) {
	u, err := url.Parse(endpoint)
	if err != nil {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = u
}

// fail lets that share of calls fail from now on.
func (p *proxy) fail(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share, p.ill = share, ""
}

// failGets lets that share of GETs fail with f.
func (p *proxy) failGets(share float64, f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.share, p.ill = share, f
}

// call is the kind of request that S3 bills, or the part of a multipart upload that it
// is.
func call(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && q.Has("list-type"), r.Method == http.MethodGet && q.Has("uploads"):
		return "LIST"
	case r.Method == http.MethodGet && q.Has("tagging"):
		return "GET TAGS"
	case r.Method == http.MethodPost && q.Has("uploads"):
		return "CREATE UPLOAD"
	case r.Method == http.MethodPost:
		return "COMPLETE UPLOAD"
	case r.Method == http.MethodPut && q.Has("partNumber"):
		return "PUT PART"
	}
	return r.Method
}

func bucketOf(r *http.Request) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return name
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.counts[bucketOf(r)+" "+call(r)]++
	if c := p.begun[r.URL.Path]; c != nil {
		close(c)
		delete(p.begun, r.URL.Path)
	}
	var f fault
	var frac float64
	if (p.ill == "" || r.Method == http.MethodGet) && p.rng.Float64() < p.share {
		kinds := []fault{internal, slowDown, slow, lost}
		if r.Method == http.MethodGet {
			kinds = append(kinds, cut)
		}
		if p.ill != "" {
			kinds = []fault{p.ill}
		}
		f, frac = kinds[p.rng.IntN(len(kinds))], p.rng.Float64()
		p.faults[string(f)]++
	}
	unheard := p.unheard
	p.mu.Unlock()
	if unheard != nil {
		if then := unheard(r); then != nil {
			p.next.ServeHTTP(&dropped{head: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
			then()
			panic(http.ErrAbortHandler)
		}
	}
	cw := &counted{ResponseWriter: w}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.read[bucketOf(r)] += cw.n
	}()
	switch f {
	case internal, slowDown:
		io.Copy(io.Discard, r.Body)
		refuse(w, f)
	case slow, hang:
		d := time.Duration((0.2 + 1.3*frac) * float64(time.Second))
		if f == hang {
			d = 30 * time.Second
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			p.next.ServeHTTP(cw, r)
		case <-r.Context().Done():
		}
	case lost:
		// The function may go away; its request is done all the same.
		p.next.ServeHTTP(&dropped{head: http.Header{}}, r.WithContext(context.WithoutCancel(r.Context())))
		refuse(w, internal)
	case cut:
		cw.most = 1 + int64(frac*float64(1<<20))
		p.next.ServeHTTP(cw, r)
		panic(http.ErrAbortHandler)
	default:
		p.next.ServeHTTP(cw, r)
	}
}

func refuse(w http.ResponseWriter, f fault) {
	w.Header().Set("Content-Type", "application/xml")
	code, status := "InternalError", http.StatusInternalServerError
	if f == slowDown {
		code, status = "SlowDown", http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>simulated</Message></Error>`, code)
}

// counted counts a body, and cuts it off after most bytes.
type counted struct {
	http.ResponseWriter

	n, most int64
}

func (c *counted) Write(p []byte) (int, error) {
	if c.most > 0 && c.n+int64(len(p)) > c.most {
		p = p[:c.most-c.n]
		c.ResponseWriter.Write(p)
		c.n = c.most
		http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// dropped is an answer that nobody gets.
type dropped struct{ head http.Header }

func (d *dropped) Header() http.Header         { return d.head }
func (d *dropped) Write(p []byte) (int, error) { return len(p), nil }
func (d *dropped) WriteHeader(int)             {}

// seen are the counts since the last call of seen.
func (p *proxy) seen() (counts, faults, read map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	counts, faults, read = maps.Clone(p.counts), maps.Clone(p.faults), maps.Clone(p.read)
	clear(p.counts)
	clear(p.faults)
	clear(p.read)
	return counts, faults, read
}

func sum(m map[string]int64) (n int64) {
	for _, v := range m {
		n += v
	}
	return n
}

// listed is "a 1, b 2".
func listed(m map[string]int64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(out, ", ")
}
