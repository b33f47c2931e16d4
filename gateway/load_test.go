package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

// A gate holds the gets of a source back while it is shut.
type gate struct {
	mu      sync.Mutex
	open    chan struct{} // nil: open
	held    atomic.Int64  // gets that wait
	dropped atomic.Int64  // gets whose context ended while they waited
}

func (x *gate) middleware() objstore.Middleware {
	return simstore.Replace(func(ctx context.Context, c simstore.Call) error {
		x.mu.Lock()
		open := x.open
		x.mu.Unlock()
		if open == nil || c.Op != "get" {
			return nil
		}
		x.held.Add(1)
		defer x.held.Add(-1)
		select {
		case <-open:
			return nil
		case <-ctx.Done():
			x.dropped.Add(1)
			return ctx.Err()
		}
	})
}

func (x *gate) shut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.open = make(chan struct{})
}

func (x *gate) lift() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open != nil {
		close(x.open)
		x.open = nil
	}
}

// until waits for something that will come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 10_000 {
		if is() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

// begin makes a request in the background.
func (g *ground) begin(ctx context.Context, path string) <-chan *httptest.ResponseRecorder {
	done := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost"+path, nil).WithContext(ctx))
		done <- w
	}()
	return done
}

// waiting is how many callers wait for answers that are being made.
func (g *ground) waiting() (n int) {
	g.flights.mu.Lock()
	defer g.flights.mu.Unlock()
	for _, l := range g.flights.m {
		n += l.waiting
	}
	return n
}

// TestJoined: clients that ask for the same at once share its requests, and all memory
// comes back.
func TestJoined(t *testing.T) {
	var x gate
	g := newGround(t, Config{}, x.middleware())
	g.get(t, "/info/d/v.b2nd")
	g.took()
	x.shut()
	const path, clients = "/slice/d/v.b2nd?s=40:42&format=raw", 32
	var all []<-chan *httptest.ResponseRecorder
	for range clients {
		all = append(all, g.begin(t.Context(), path))
	}
	until(t, "the wait of all", func() bool { return g.waiting() == clients && x.held.Load() == 1 })
	x.lift()
	joined := 0
	for _, done := range all {
		w := <-done
		if w.Code != 200 || w.Body.Len() != 2*96*128*2 {
			t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
		}
		if strings.Contains(w.Header().Get("Server-Timing"), `desc="joined"`) {
			joined++
		}
	}
	if got := g.took(); got != "get" || joined != clients-1 {
		t.Errorf("requests %q, %d joined", got, joined)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}

// TestJoinedOpening: clients that ask for parts of one dataset at once open it once, and
// look once after the time to live.
func TestJoinedOpening(t *testing.T) {
	var x gate
	g := newGround(t, Config{TTL: time.Second}, x.middleware())
	for _, want := range []string{"get get get", "head"} {
		x.shut()
		var all []<-chan *httptest.ResponseRecorder
		for i := range 16 {
			all = append(all, g.begin(t.Context(), fmt.Sprintf("/slice/d/v.b2nd?s=1,%d,:&format=raw", i)))
		}
		if want != "head" {
			until(t, "the wait of all", func() bool {
				g.open.flights.mu.Lock()
				defer g.open.flights.mu.Unlock()
				for _, l := range g.open.flights.m {
					return l.waiting == 16
				}
				return false
			})
		}
		x.lift()
		for _, done := range all {
			if w := <-done; w.Code != 200 || w.Body.Len() != 256 {
				t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
			}
		}
		if got := g.took(); want == "head" && !strings.HasPrefix(want, got) || want != "head" && !strings.HasPrefix(got, "get get") {
			t.Errorf("requests %q", got)
		}
		g.pass(2 * time.Second)
	}
}

// TestLeaving: if all clients have left, the requests to the source end; while one is
// there, whoever came first, they go on.
func TestLeaving(t *testing.T) {
	var x gate
	g := newGround(t, Config{}, x.middleware())
	g.get(t, "/info/d/v.b2nd")
	g.took()
	const path = "/slice/d/v.b2nd?s=40&format=raw"
	x.shut()
	first, leave := context.WithCancel(t.Context())
	one := g.begin(first, path)
	until(t, "the read", func() bool { return x.held.Load() == 1 })
	two := g.begin(t.Context(), path)
	until(t, "the second", func() bool { return g.waiting() == 2 })
	leave()
	if w := <-one; w.Body.Len() != 0 {
		t.Errorf("the first got %d bytes", w.Body.Len())
	}
	if x.dropped.Load() != 0 {
		t.Error("the read ended with the first client")
	}
	x.lift()
	if w := <-two; w.Code != 200 || w.Body.Len() != 96*128*2 || g.took() != "get" {
		t.Errorf("the second: %d, %d bytes", w.Code, w.Body.Len())
	}
	x.shut()
	const other = "/slice/d/v.b2nd?s=1&format=raw"
	first, leave = context.WithCancel(t.Context())
	one, two = g.begin(first, other), g.begin(first, other)
	until(t, "both", func() bool { return g.waiting() == 2 && x.held.Load() == 1 })
	leave()
	<-one
	<-two
	until(t, "the end of the read", func() bool { return x.dropped.Load() == 1 && x.held.Load() == 0 && g.memory.used.Load() == 0 })
	x.lift()
	if w := g.get(t, other); w.Body.Len() != 96*128*2 {
		t.Errorf("anew: %d bytes", w.Body.Len())
	}
	until(t, "the memory", func() bool { return g.memory.used.Load() == 0 })
}

// TestDeadline: an answer that takes too long is given up, for all who wait.
func TestDeadline(t *testing.T) {
	var x gate
	g := newGround(t, Config{Deadline: 50 * time.Millisecond}, x.middleware())
	x.shut()
	for _, path := range []string{"/slice/d/v.b2nd?s=0", "/raw/d/v.npy", "/info/d/clips"} {
		if w := g.ask("GET", path); w.Code != 504 || code(t, w) != "timeout" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	x.lift()
	g.Deadline(time.Minute)
	if w := g.ask("GET", "/slice/d/v.b2nd?s=0"); w.Code != 200 {
		t.Errorf("later: %d %s", w.Code, w.Body)
	}
}

// Deadline sets the time for answers.
func (g *ground) Deadline(d time.Duration) { g.c.Deadline = d }

// TestMemory: answers wait for memory in turn, for a time; an answer that could never have
// enough is refused with both numbers.
func TestMemory(t *testing.T) {
	var x gate
	g := newGround(t, Config{Memory: 900 << 10, Wait: 50 * time.Millisecond}, x.middleware())
	g.get(t, "/slice/d/v.b2nd?s=0,0")
	if w := g.ask("GET", "/slice/d/v.b2nd?s=:40&format=raw"); w.Code != 413 || !strings.Contains(w.Body.String(), "921600 allowed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	x.shut()
	first := g.begin(t.Context(), "/slice/d/v.b2nd?s=16:20&format=raw")
	until(t, "the read", func() bool { return x.held.Load() == 1 })
	w := g.ask("GET", "/slice/d/v.b2nd?s=32:36&format=raw")
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || code(t, w) != "busy" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	g.c.Wait = time.Minute
	second := g.begin(t.Context(), "/slice/d/v.b2nd?s=32:36&format=raw")
	until(t, "the queue", func() bool { return g.memory.waiting.Load() == 1 })
	x.lift()
	for _, done := range []<-chan *httptest.ResponseRecorder{first, second} {
		if w := <-done; w.Code != 200 || w.Body.Len() != 4*96*128*2 {
			t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
		}
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}

// TestCrowd: whatever clients ask for together, buffers stay within their bound, nobody
// gets wrong bytes, and who is refused is told to come again.
func TestCrowd(t *testing.T) {
	g := newGround(t, Config{Memory: 3 << 20, Wait: time.Minute, Cache: 1 << 20}, simstore.Latency(time.Millisecond))
	want := values()
	var most atomic.Int64
	var wg sync.WaitGroup
	for n := range 24 {
		wg.Go(func() {
			for k := range 8 {
				z := (n*5 + k*11) % 60
				w := g.ask("GET", fmt.Sprintf("/slice/d/v.b2nd?s=%d:%d&format=raw", z, z+4))
				for now := g.memory.used.Load(); ; {
					was := most.Load()
					if now <= was || most.CompareAndSwap(was, now) {
						break
					}
				}
				p := w.Body.Bytes()
				if w.Code != 200 || len(p) != 4*96*128*2 || p[2] != byte(want[z*96*128+1]) || p[len(p)-2] != byte(want[(z+4)*96*128-1]) {
					t.Errorf("%d: %d, %d bytes", z, w.Code, len(p))
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > 3<<20 || g.memory.used.Load() != 0 {
		t.Errorf("%d bytes at most, %d at the end", most.Load(), g.memory.used.Load())
	}
	if n := g.cache.Size(); n > 1<<20 {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestManyDatasets: only so many are kept open.
func TestManyDatasets(t *testing.T) {
	g := newGround(t, Config{})
	small := samples()["v.npy"][:npyHead+200*50]
	small = bytes.Replace(small, []byte("(1000, 50), }"), []byte("(50, 50), }  "), 1)
	for i := range maxOpen + 50 {
		g.put(t, fmt.Sprintf("many/%d.npy", i), small)
		g.get(t, fmt.Sprintf("/slice/d/many/%d.npy?s=0", i))
	}
	if n, held := g.open.size(); n > maxOpen || n < maxOpen/4 || held > g.open.most {
		t.Errorf("%d datasets are open, %d bytes", n, held)
	}
}

// TestFaults: what goes wrong at the source is told as what a client can do about it.
func TestFaults(t *testing.T) {
	for _, x := range []struct {
		fault  error
		status int
		want   string
	}{
		{objstore.ErrDenied, 424, "denied"}, {objstore.ErrThrottled, 503, "unavailable"}, {objstore.ErrUnavailable, 503, "unavailable"},
		{objstore.ErrBadRange, 502, "bad-source"}, {objstore.ErrCorrupt, 422, "corrupt"}, {errors.New("dial tcp 10.1.2.3: secret"), 500, "internal"},
	} {
		var on atomic.Bool
		g := newGround(t, Config{}, simstore.Replace(func(context.Context, simstore.Call) error {
			if on.Load() {
				return &objstore.Error{Op: "get", Bucket: "s3://secret", Key: "secret", Status: 418, Code: "Secret", Err: x.fault}
			}
			return nil
		}))
		g.get(t, "/info/d/v.b2nd")
		on.Store(true)
		paths := []string{"/slice/d/v.b2nd?s=40", "/get/d/v.b2nd?chunk=7", "/info/d/v.npy", "/raw/d/v.npy", "/ls/d/", "/view/d/day.zoom?track=1"}
		if errors.Is(x.fault, objstore.ErrCorrupt) { // is read again for a while
			paths = paths[:1]
		}
		for _, path := range paths {
			w := g.ask("GET", path)
			if w.Code != x.status || code(t, w) != x.want || strings.Contains(w.Body.String(), "ecret") || (w.Code == 503) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("%v: %s: %d %s", x.fault, path, w.Code, w.Body)
			}
		}
		on.Store(false)
		g.get(t, "/slice/d/v.b2nd?s=40")
	}
}

// TestPanic: a panic is an error of one request.
func TestPanic(t *testing.T) {
	g := newGround(t, Config{Viewer: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { panic("secret " + r.URL.Path) })})
	g.verbs["boom"] = verb{serve: func(*Server, *call) error { panic("secret") }}
	g.verbs["late"] = verb{plan: func(context.Context, *Server, *call, *handle) (*job, error) {
		return &job{media: "x/y", size: 1, make: func(context.Context) ([]byte, error) { panic("secret") }}, nil
	}}
	for _, path := range []string{"/boom/d/v.npy", "/late/d/v.npy"} {
		if w := g.ask("GET", path); w.Code != 500 || code(t, w) != "internal" || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	g.ask("GET", "/ui/x.js")
	g.get(t, "/raw/d/v.npy")
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}

// TestClose: requests in progress are told that the gateway ends.
func TestClose(t *testing.T) {
	var x gate
	g := newGround(t, Config{}, x.middleware())
	x.shut()
	done := g.begin(t.Context(), "/slice/d/v.b2nd?s=0")
	until(t, "the read", func() bool { return x.held.Load() > 0 })
	must(g.Close())
	if w := <-done; w.Code != 503 || code(t, w) != "closing" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// longObject is more than raw reads before it answers.
func longObject() []byte {
	p := make([]byte, 3*rawPart+1000)
	for i := range p {
		p[i] = byte(i >> 8)
	}
	return p
}

// TestLongAnswers: over real connections, stored bytes come whole; if the source fails in
// the middle, or another object comes in its place, the connection ends, and no short
// answer looks whole.
func TestLongAnswers(t *testing.T) {
	want := longObject()
	for _, fault := range []string{"", "fails", "replaced"} {
		var g *ground
		begun := make(chan struct{}) // the client has the head of the answer
		g = newGround(t, Config{}, simstore.Replace(func(ctx context.Context, c simstore.Call) error {
			if !strings.HasSuffix(c.Key, "long") || c.Range.Off < 2*rawPart || c.Op != "get" {
				return nil
			}
			select {
			case <-begun:
			case <-ctx.Done():
				return ctx.Err()
			}
			switch fault {
			case "fails":
				return objstore.ErrDenied
			case "replaced":
				_, err := objstore.Put(ctx, g.mem, c.Key, bytes.NewReader(make([]byte, len(want))), objstore.PutOptions{})
				return err
			}
			return nil
		}))
		g.put(t, "long", want)
		s := httptest.NewServer(g)
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/raw/d/long", nil)
		must(err)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		close(begun)
		p, err := io.ReadAll(a.Body)
		a.Body.Close()
		if whole := fault == ""; (err == nil) != whole || a.StatusCode != 200 || !bytes.HasPrefix(want, p) || whole != (len(p) == len(want)) {
			t.Errorf("%s: %d, %d bytes, %v", fault, a.StatusCode, len(p), err)
		}
		s.Close()
		if n := g.memory.used.Load(); n != 0 {
			t.Errorf("%s: %d bytes are still lent", fault, n)
		}
	}
}

// TestSlowClients: a client that takes nothing is given up, and its memory comes back.
func TestSlowClients(t *testing.T) {
	g := newGround(t, Config{Stall: 50 * time.Millisecond})
	g.put(t, "long", longObject())
	s := httptest.NewServer(g)
	defer s.Close()
	for _, path := range []string{"/raw/d/long", "/raw/d/long"} {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the answers", func() bool { return g.meter.active.Load() == 2 })
	until(t, "their end", func() bool { return g.meter.active.Load() == 0 && g.memory.used.Load() == 0 })
}

// TestConnectionKept: the time that one answer had is not that of the next one on the
// same connection.
func TestConnectionKept(t *testing.T) {
	g := newGround(t, Config{Stall: 100 * time.Millisecond})
	s := httptest.NewServer(g)
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	tag := ""
	for _, want := range []int{200, 304, 304} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+"/slice/d/v.npy?s=0", nil)
		must(err)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, a.Body)
		a.Body.Close()
		if tag = a.Header.Get("ETag"); a.StatusCode != want || err != nil {
			t.Errorf("%d, want %d, %v", a.StatusCode, want, err)
		}
		time.Sleep(150 * time.Millisecond)
	}
}

// TestHeap: what lives on the heap stays within the buffers and the cache that are
// allowed, under many clients of the largest answers, half of which take nothing for a
// while.
func TestHeap(t *testing.T) {
	racetest.Skip(t, racetest.Measures)
	const memory, cache, slack = 12 << 20, 4 << 20, 12 << 20
	g := newGround(t, Config{Memory: memory, Cache: cache, Wait: time.Minute})
	g.get(t, "/slice/d/v.b2nd?s=0") // what is made once
	m := heaptest.Start()
	var wg sync.WaitGroup
	for n := range 24 {
		wg.Go(func() {
			path := fmt.Sprintf("/slice/d/v.b2nd?s=%d:%d", n%4, 60+n%4) // 1.4 MiB
			if n%3 == 0 {
				path += "&format=raw"
			}
			r := httptest.NewRequest("GET", "http://localhost"+path, nil)
			w := &sleepy{h: http.Header{}, m: m, slow: n%2 == 0}
			g.ServeHTTP(w, r)
			if w.status != 200 || w.n < 60*96*128*2 {
				t.Errorf("%s: %d, %d bytes", path, w.status, w.n)
			}
		})
	}
	wg.Wait()
	if most, looks := m.Live(), m.Looks(); most > memory+cache+slack || looks == 0 {
		t.Errorf("%d MiB live at most, %d looks", most>>20, looks)
	} else {
		t.Logf("%d MiB live at most, %d are allowed", most>>20, (memory+cache+slack)>>20)
	}
}

// A sleepy client looks at the heap while an answer is sent, and may take it slowly.
type sleepy struct {
	h      http.Header
	m      *heaptest.Meter
	slow   bool
	status int
	n      int
}

func (w *sleepy) Header() http.Header    { return w.h }
func (w *sleepy) WriteHeader(status int) { w.status = status }
func (w *sleepy) Write(p []byte) (int, error) {
	if w.slow {
		time.Sleep(5 * time.Millisecond)
	}
	if w.slow && w.n/piece%4 == 1 {
		w.m.Look()
	}
	w.n += len(p)
	return len(p), nil
}
