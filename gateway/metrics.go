package gateway

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/objstore"
)

// meter counts requests.
type meter struct {
	active       atomic.Int64
	hits, misses atomic.Int64
	ahead        objstore.Counter // requests of chunks that nobody had asked for

	mu    sync.Mutex
	calls map[asked]int64
	times map[string]*histogram
	bytes int64
}

type asked struct {
	verb   string
	status int
}

// bounds are the upper ends, in seconds, of the classes of times.
var bounds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60}

type histogram struct {
	counts [len(bounds) + 1]int64
	sum    float64
}

// otherVerb is what is counted in place of words that are no verb.
const otherVerb = "other"

// counted is the name under which a verb is counted. A word of a client is none, or
// counters would grow by it for ever.
func (s *Server) counted(verb string) string {
	if _, ok := s.verbs[verb]; ok || verb == "healthz" || verb == "ui" || verb == "metrics" {
		return verb
	}
	return otherVerb
}

// end counts a request.
func (m *meter) end(c *call, verb string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls, m.times = map[asked]int64{}, map[string]*histogram{}
	}
	m.calls[asked{verb, c.status}]++
	m.bytes += c.sent
	h := m.times[verb]
	if h == nil {
		h = &histogram{}
		m.times[verb] = h
	}
	s := took.Seconds()
	i, _ := slices.BinarySearch(bounds[:], s)
	h.counts[i]++
	h.sum += s
}

// Metrics returns a handler that answers in the text format of Prometheus. It asks for no
// token: put it on a listener of its own if others can reach it, and set
// Config.NoMetrics.
func (s *Server) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		s.metrics(&b)
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(b.Bytes()) // the client may have gone
	})
}

func (s *Server) metrics(b *bytes.Buffer) {
	one := func(name, kind, help string, v any) {
		fmt.Fprintf(b, "# HELP farread_%s %s\n# TYPE farread_%s %s\nfarread_%s %v\n", name, help, name, kind, name, v)
	}
	m := &s.meter
	m.mu.Lock()
	fmt.Fprintf(b, "# HELP farread_requests_total Requests answered.\n# TYPE farread_requests_total counter\n")
	for _, k := range slices.SortedFunc(maps.Keys(m.calls), func(a, b asked) int {
		if a.verb != b.verb {
			return cmpText(a.verb, b.verb)
		}
		return a.status - b.status
	}) {
		fmt.Fprintf(b, "farread_requests_total{verb=%q,status=\"%d\"} %d\n", k.verb, k.status, m.calls[k])
	}
	fmt.Fprintf(b, "# HELP farread_request_seconds Time of requests.\n# TYPE farread_request_seconds histogram\n")
	for _, verb := range slices.Sorted(maps.Keys(m.times)) {
		h, n := m.times[verb], int64(0)
		for i, top := range bounds {
			n += h.counts[i]
			fmt.Fprintf(b, "farread_request_seconds_bucket{verb=%q,le=\"%g\"} %d\n", verb, top, n)
		}
		n += h.counts[len(bounds)]
		fmt.Fprintf(b, "farread_request_seconds_bucket{verb=%q,le=\"+Inf\"} %d\nfarread_request_seconds_sum{verb=%q} %g\nfarread_request_seconds_count{verb=%q} %d\n", verb, n, verb, h.sum, verb, n)
	}
	sent := m.bytes
	m.mu.Unlock()
	st := s.c.Client.Stats()
	open, held := s.open.size()
	one("response_bytes_total", "counter", "Bytes of bodies sent.", sent)
	one("source_requests_total", "counter", "Requests to sources.", st.Requests)
	one("source_bytes_total", "counter", "Bytes received from sources.", st.Bytes)
	one("source_retries_total", "counter", "Requests to sources that were repeated.", st.Retries)
	early := s.meter.ahead.Stats()
	one("ahead_requests_total", "counter", "Requests to sources for chunks before a client asked for them.", early.Requests)
	one("ahead_bytes_total", "counter", "Bytes received for these.", early.Bytes)
	one("answer_hits_total", "counter", "Answers that were kept.", m.hits.Load())
	one("answer_misses_total", "counter", "Answers that were made.", m.misses.Load())
	one("active_requests", "gauge", "Requests in progress.", m.active.Load())
	one("cache_bytes", "gauge", "Bytes of chunks and answers that are kept.", s.cache.Size())
	one("buffer_bytes", "gauge", "Bytes of buffers of answers in progress.", s.memory.used.Load())
	one("waiting_requests", "gauge", "Requests that wait for memory.", s.memory.waiting.Load())
	one("open_datasets", "gauge", "Datasets that are kept open.", open)
	one("open_bytes", "gauge", "Bytes of memory of datasets that are kept open.", held)
	one("goroutines", "gauge", "Goroutines of the process.", runtime.NumGoroutine())
}

func cmpText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// size is the number of open datasets, and the memory they hold.
func (o *handles) size() (n int, held int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.all.All() {
		held += k.h.held()
	}
	return o.all.Len(), held
}
