package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
)

// A call is a request that is being answered.
type call struct {
	target

	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	name  string        // the answer to id, once somebody asked
	at    farread.Place // where the target lies
	place string        // root and key, the name of the handle
	part  string        // what the path names in the dataset, for the ETag
	zarr  zarrKey
	of    *call // the call that this one is a part of
	start time.Time

	patient time.Time // when the client was last given time

	source objstore.Counter // requests and bytes that this request caused
	joined bool             // another request began some of the work
	hit    bool             // the answer was kept
	ahead  bool             // the bytes were asked for before the request came

	begun  bool // the header is sent
	status int
	sent   int64
	code   string // of an error
	err    error
}

// count returns a context whose requests to sources count for the call.
func (c *call) count(ctx context.Context) context.Context {
	if c.of != nil {
		return c.of.count(ctx)
	}
	return objstore.WithCounter(ctx, &c.source)
}

// head reports whether the request is a HEAD.
func (c *call) head() bool { return c.r.Method == http.MethodHead }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{w: w, r: r, start: time.Now()}
	s.meter.active.Add(1)
	if r.ProtoMajor < 2 { // there a deadline is that of the connection, and may be that of an answer before
		s.patience(c)
	}
	aborted := false
	defer func() { //nolint:contextcheck // the log is written if the client has gone, too
		if p := recover(); p != nil {
			aborted = c.begun // what was sent is not all of it
			if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
				s.fail(c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}
		s.meter.active.Add(-1)
		s.end(r.Context(), c)
		if aborted && r.Context().Value(http.ServerContextKey) != nil {
			panic(http.ErrAbortHandler) // net/http then ends the connection; elsewhere a panic may end the process
		}
	}()
	if err := s.serve(c); err != nil { //nolint:contextcheck // flights outlive a request that began them
		if s.base.Err() != nil && r.Context().Err() == nil {
			err = &refusal{http.StatusServiceUnavailable, "closing", "the gateway ends", [2]string{"Retry-After", "1"}}
		}
		s.fail(c, err)
	}
}

// id names the request in errors and in the log.
func (c *call) id() string {
	if c.name == "" {
		var p [8]byte
		_, _ = rand.Read(p[:]) // never fails
		c.name = hex.EncodeToString(p[:])
	}
	return c.name
}

// Headers that many answers have. Their names are spelled as net/http spells them, so that
// no answer has to look that up.
var (
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"}
	byBytes    = []string{"bytes"}
)

// greet sets the headers that every answer has.
func (s *Server) greet(h http.Header, r *http.Request) {
	h["X-Content-Type-Options"] = noSniff
	s.cors(h, r)
}

func (s *Server) serve(c *call) error {
	h := c.w.Header()
	s.greet(h, c.r)
	if err := s.checkHost(c.r); err != nil {
		return err
	}
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		s.preflight(c)
		return nil
	default:
		h.Set("Allow", methods)
		return refusef(http.StatusMethodNotAllowed, "method", "only %s", methods)
	}
	escaped := c.r.URL.EscapedPath()
	switch {
	case escaped == "/healthz":
		c.verb = "healthz"
		h.Set("Cache-Control", "no-store")
		return s.text(c, "text/plain; charset=utf-8", []byte("ok\n"))
	case s.c.Viewer != nil && (escaped == "/" || strings.HasPrefix(escaped, "/ui/")):
		c.verb = "ui"
		s.c.Viewer.ServeHTTP(counting{c.w, c}, c.r)
		return nil
	}
	var err error
	if c.target, err = parsePath(escaped); err != nil {
		c.target = target{verb: otherVerb}
		return err
	}
	v, ok := s.verbs[c.verb]
	metrics := c.verb == "metrics" && !s.c.NoMetrics && escaped == "/metrics"
	if !ok && !metrics {
		c.verb = otherVerb
		return refusef(http.StatusNotFound, "no-route", "no such path: want /VERB/ROOT/KEY")
	}
	for _, o := range c.options {
		if !slices.Contains(v.options, o) {
			return badf("option", "option ~%s: want %s", clip(o), strings.Join(append([]string{"~v-VERSION"}, v.options...), ", ~"))
		}
	}
	if err := s.authorize(c); err != nil {
		return err
	}
	if metrics {
		s.Metrics().ServeHTTP(counting{c.w, c}, c.r)
		return nil
	}
	if c.query, err = parseQuery(c.r.URL.RawQuery, v.params); err != nil {
		return err
	}
	if c.root == "" && c.verb == "ls" {
		return s.listRoots(c)
	}
	if v.path != nil {
		if done, err := v.path(s, c); done || err != nil {
			return err
		}
	}
	if c.at, err = s.place(c.r.Context(), c.target); err != nil {
		return err
	}
	if c.place = c.at.URI; c.verb == "raw" {
		c.place += "\x00raw" // opened without a look at its format; no key has this byte
	}
	if v.serve != nil {
		return v.serve(s, c)
	}
	return s.again(c, func(h *handle) error { return s.answer(c, v, h) })
}

// again calls fn with the dataset of a call, and once more with it opened anew if it
// changed while fn read it. No header of the first try is sent with the second.
func (s *Server) again(c *call, fn func(h *handle) error) error {
	tries, vary := 0, slices.Clone(c.w.Header()["Vary"])
	return objstore.Again(c.r.Context(), func() error {
		if tries++; tries > 1 && !c.begun {
			head := c.w.Header()
			clear(head)
			s.greet(head, c.r)
			if vary != nil {
				head["Vary"] = vary
			}
		}
		h, err := s.dataset(c.r.Context(), c)
		if err != nil {
			return err
		}
		err = fn(h)
		if errors.Is(err, objstore.ErrChanged) {
			s.open.drop(c.place, h)
		}
		return err
	})
}

// send writes a whole answer, whose length it tells.
func (s *Server) send(c *call, status int, body []byte) {
	c.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	s.begin200(c, status)
	if !c.head() {
		s.write(c, body)
	}
}

// begin200 sends the header.
func (s *Server) begin200(c *call, status int) {
	c.begun, c.status = true, status
	s.patience(c) // a deadline of an answer before, on the same connection, may be over
	if status < 400 {
		c.w.Header()["Server-Timing"] = []string{s.timing(c)}
	}
	c.w.WriteHeader(status)
}

// timing tells what the answer took so far.
func (s *Server) timing(c *call) string {
	n := c.source.Stats()
	what := "made"
	switch {
	case c.ahead:
		what = "ahead"
	case c.hit:
		what = "kept"
	case c.joined:
		what = "joined"
	}
	took, waited := time.Since(c.start), c.source.Waited()
	p := append(make([]byte, 0, 128), `src;desc="`...)
	p = append(strconv.AppendInt(p, n.Requests, 10), " req, "...)
	p = append(strconv.AppendInt(p, n.Bytes, 10), " B, "...)
	p = append(strconv.AppendInt(p, n.Phases, 10), ` phases";dur=`...)
	p = append(appendMillis(p, waited), `, make;desc="`...)
	p = append(append(p, what...), `";dur=`...)
	p = append(appendMillis(p, took), `, decode;dur=`...)
	return string(appendMillis(p, max(took-waited, 0)))
}

// appendMillis appends milliseconds with a tenth of them.
func appendMillis(p []byte, d time.Duration) []byte {
	tenths := (max(d, 0) + 50*time.Microsecond) / (100 * time.Microsecond)
	return append(strconv.AppendInt(p, int64(tenths/10), 10), '.', byte('0'+tenths%10))
}

// piece is how many bytes are written before a client has to have taken some.
const piece = 256 << 10

// write sends bytes of a body. A client that takes none for a while is given up.
func (s *Server) write(c *call, body []byte) {
	for len(body) > 0 {
		p := body[:min(len(body), piece)]
		s.patience(c)
		n, err := c.w.Write(p)
		c.sent += int64(n)
		if err != nil {
			c.err = fmt.Errorf("the client: %w", err)
			return
		}
		body = body[len(p):]
	}
}

// patience gives the client the time of Stall from now on, or nearly that: a deadline that
// was set a moment ago stays.
func (s *Server) patience(c *call) {
	now := time.Now()
	if now.Sub(c.patient) < s.c.Stall/16 {
		return
	}
	c.patient = now
	_ = http.NewResponseController(c.w).SetWriteDeadline(now.Add(s.c.Stall)) // not every server has one
}

// unhurried takes the time of Stall back while the source is waited for: over HTTP/2 it
// ends the answer even if nobody writes.
func (s *Server) unhurried(c *call) {
	if c.begun && c.r.ProtoMajor >= 2 {
		_ = http.NewResponseController(c.w).SetWriteDeadline(time.Time{}) // not every server has one
		c.patient = time.Time{}
	}
}

// text answers with bytes that cost nothing.
func (s *Server) text(c *call, media string, p []byte) error {
	c.w.Header().Set("Content-Type", media)
	s.send(c, http.StatusOK, p)
	return nil
}

// counting notes what a handler of others answers.
type counting struct {
	http.ResponseWriter
	c *call
}

func (w counting) WriteHeader(status int) {
	w.c.begun, w.c.status = true, status
	w.ResponseWriter.WriteHeader(status)
}

func (w counting) Write(p []byte) (int, error) {
	if w.c.status == 0 {
		w.c.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.c.sent += int64(n)
	return n, err
}

func (w counting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// end counts and logs a request.
func (s *Server) end(ctx context.Context, c *call) {
	took := time.Since(c.start)
	n := c.source.Stats()
	s.meter.end(c, s.counted(c.verb), took)
	level := slog.LevelInfo
	if c.status >= 500 {
		level = slog.LevelError
	}
	if !s.c.Log.Enabled(ctx, level) {
		return
	}
	ctx = context.WithoutCancel(ctx) // the client may have gone
	list := []slog.Attr{slog.String("id", c.id()), slog.String("method", c.r.Method), slog.String("path", clipPath(c.r.URL.EscapedPath())),
		slog.String("query", clipPath(unsigned(c.r.URL.RawQuery))), slog.Int("status", c.status), slog.Int64("bytes", c.sent),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("source_requests", n.Requests), slog.Int64("source_bytes", n.Bytes),
		slog.Bool("hit", c.hit), slog.Bool("joined", c.joined), slog.String("client", c.r.RemoteAddr)}
	if trace := traceOf(c.r.Header); trace != "" {
		list = append(list, slog.String("trace_id", trace))
	}
	if c.err != nil {
		list = append(list, slog.String("error", c.err.Error()))
	}
	s.c.Log.LogAttrs(ctx, level, "request", list...)
}

// traceOf is the id of the trace that a request belongs to, as W3C's traceparent tells it,
// or "".
func traceOf(h http.Header) string {
	list := h.Values("Traceparent")
	if len(list) != 1 {
		return ""
	}
	parts := strings.Split(list[0], "-") // version, trace, parent, flags, and more in later versions
	if len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 {
		return ""
	}
	for i, n := range []int{2, 32, 16, 2} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" || (i == 1 || i == 2) && strings.Trim(parts[i], "0") == "" {
			return ""
		}
	}
	return parts[1]
}

func clipPath(p string) string {
	const most = 2048
	if len(p) > most {
		return p[:most] + "…"
	}
	return p
}
