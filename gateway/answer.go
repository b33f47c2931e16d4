package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
)

// A job is an answer that is planned, not made.
type job struct {
	media string            // Content-Type; "": that of an image, by its bytes
	head  map[string]string // further headers
	text  bool              // bytes that an encoding makes shorter
	exact bool              // size is the length of the answer
	size  int64             // most bytes of the answer
	// absent says that there is nothing, which to Zarr clients is a chunk of the fill value.
	absent bool
	work   int64 // bytes of other buffers
	cheap  bool  // after make: the answer is a copy of what the cache has anyway
	// lead is, after make, what comes before the bytes that make returned, which have no
	// mark then and may belong to the cache. kept finds both if they cost no request and no
	// copy; lead is nil else.
	lead []byte
	kept func() (lead, rest []byte)
	// asks, if set, tells that a client wants the answer; done, that it has it.
	asks func() (done func())
	// read is an upper bound of the stored bytes that are read. If it is beyond the
	// limit, or below 0, cost tells more.
	read int64
	gaps int64 // most bytes between those that may be read, too
	hold int64 // most of these bytes that are held at a time, if that is less
	cost func(ctx context.Context) (farread.Cost, error)
	// learn, if set, reads little to find size, work and make, before memory is taken for them.
	learn func(ctx context.Context) error
	make  func(ctx context.Context) ([]byte, error)
}

// A product is an answer that is made.
type product struct {
	lead []byte // what comes before the body, which has no mark then
	body []byte
	loan *loan
}

func (p *product) size() int64 { return int64(len(p.lead) + len(p.body)) }

// pieces are the two parts of the answer, and whether it has the encoding asked for.
func (p *product) pieces() (lead, body []byte, coded bool) {
	if p.lead != nil {
		return p.lead, p.body, false
	}
	return nil, p.body[1:], p.body[0] == codedBody
}

// encodings are numbered; another number makes all ETags new, if answers get another
// form.
const encoding = "3"

// answer makes or finds the answer to a call, and sends it.
func (s *Server) answer(c *call, v verb, h *handle) error {
	j, err := v.plan(c.count(c.r.Context()), s, c, h)
	if err != nil {
		return err
	}
	names := c.names(h)
	coding := ""
	if j.text && c.r.Header.Get("Range") == "" {
		coding = accepted(listed(c.r.Header, "Accept-Encoding"))
	}
	hd := c.w.Header()
	if j.text {
		hd.Add("Vary", "Accept-Encoding")
	}
	s.caching(c, hd)
	if j.absent {
		if j.asks != nil {
			j.asks()()
		}
		tag(hd, names.of(""))
		hd.Set("X-Fill", "1")
		hd.Set("Server-Timing", s.timing(c))
		s.send(c, http.StatusNotFound, nil)
		return nil
	}
	if done, err := s.conditions(c, names, coding); done || err != nil {
		return err
	}
	for name, value := range j.head {
		hd.Set(name, value)
	}
	if j.size > s.c.MaxResponse {
		return tooLarge("an answer", j.size, s.c.MaxResponse)
	}
	if c.head() && j.exact && j.media != "" && coding == "" {
		if _, err := s.reads(c.count(c.r.Context()), j); err != nil {
			return err
		}
		return s.deliver(c, j, names.of(coding), "", j.size)
	}
	if j.asks != nil {
		defer j.asks()()
	}
	etag := names.of(coding)
	p, err := s.product(c, j, h, etag, coding)
	if err != nil {
		return err
	}
	defer p.loan.release()
	lead, body, coded := p.pieces()
	if j.media == "" {
		j.media = farread.MediaType(body)
	}
	if !coded && coding != "" {
		coding, etag = "", names.of("")
	}
	return s.deliver(c, j, etag, coding, int64(len(lead)+len(body)), lead, body)
}

// The first byte of what is kept of an answer says whether it has the encoding that was
// asked for: what gets no shorter is left as it is.
const (
	plainBody = 0
	codedBody = 1
)

// names are the ETags of the answer to a call, by encoding. They are "" if nothing tells
// that the answer is still right.
func (c *call) names(h *handle) names {
	if h.loose {
		return names{}
	}
	q := c.query
	for _, name := range signing {
		q.Del(name)
	}
	return namesOf(digest(h.id, encoding, c.verb, q.Encode(), c.part), h.weak)
}

// namesOf are the ETags of a hash.
func namesOf(hash string, weak bool) names {
	if weak {
		return names{begin: `W/"` + hash}
	}
	return names{begin: `"` + hash}
}

// names are the ETags of one answer: as it is, with gzip, with zstd. They begin alike, or
// there is only one.
type names struct{ begin, only string }

// of is the ETag for an encoding.
func (n names) of(coding string) string {
	switch {
	case n.begin == "":
		return n.only
	case coding == "gzip":
		return n.begin + `-g"`
	case coding == "zstd":
		return n.begin + `-z"`
	}
	return n.begin + `"`
}

// all are the ETags for all encodings.
func (n names) all() []string { return []string{n.of(""), n.of("gzip"), n.of("zstd")} }

// tag sets the ETag, if there is one.
func tag(h http.Header, etag string) {
	if etag != "" {
		h["Etag"] = []string{etag}
	}
}

// caching says who may keep the answer, and for how long.
func (s *Server) caching(c *call, h http.Header) {
	if c.version != "" {
		h["Cache-Control"] = s.pinned
		return
	}
	h["Cache-Control"] = s.passing
}

// cachings are the two values of Cache-Control: of a pinned version, and of what may
// change.
func cachings(c *Config) (pinned, passing []string) {
	who := "public"
	if c.Token != "" {
		who = "private"
	}
	return []string{who + ", max-age=31536000, immutable"}, []string{who + ", max-age=" + strconv.Itoa(int(max(c.TTL, 0).Seconds()))}
}

// conditions answers If-Match and If-None-Match, by the ETags of all encodings. Without
// an ETag the answer may be another one than the client has.
func (s *Server) conditions(c *call, names names, coding string) (done bool, err error) {
	if m := listed(c.r.Header, "If-Match"); m != "" {
		ok := false
		for _, name := range names.all() {
			ok = ok || matches(m, name, true)
		}
		if !ok {
			return false, refusef(http.StatusPreconditionFailed, "precondition", "the answer has another ETag")
		}
	}
	m := listed(c.r.Header, "If-None-Match")
	if m == "" || names.of(coding) == "" {
		return false, nil
	}
	for _, as := range [...]string{coding, "", "gzip", "zstd"} {
		if name := names.of(as); matches(m, name, false) {
			tag(c.w.Header(), name)
			s.begin200(c, http.StatusNotModified)
			return true, nil
		}
	}
	return false, nil
}

// listed is a header that is a list, which may stand in several lines. Its name is spelled
// as net/http spells it.
func listed(h http.Header, name string) string {
	switch list := h[name]; len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		return strings.Join(list, ",")
	}
}

// matches reports whether a list of ETags has a name.
func matches(list, name string, strong bool) bool {
	for t := range strings.SplitSeq(list, ",") {
		t = strings.TrimSpace(t)
		switch {
		case t == "*":
			return true
		case name == "":
			return false
		case strong && t == name && !strings.HasPrefix(t, "W/"):
			return true
		case !strong && strings.TrimPrefix(t, "W/") == strings.TrimPrefix(name, "W/"):
			return true
		}
	}
	return false
}

// product finds an answer among those kept, or makes it, together with all who wait for
// the same.
func (s *Server) product(c *call, j *job, h *handle, name, coding string) (*product, error) {
	if j.kept != nil {
		if lead, rest := j.kept(); lead != nil {
			c.hit = true
			s.meter.hits.Add(1)
			l, err := s.memory.take(c.r.Context(), int64(len(lead)+len(rest)), s.c.Wait)
			if err != nil {
				return nil, err
			}
			return &product{lead, rest, l}, nil
		}
	}
	key := formats.CacheKey{File: name, Kind: "answer"}
	if p := s.cache.Get(key); p != nil {
		c.hit = true
		s.meter.hits.Add(1)
		l, err := s.memory.take(c.r.Context(), int64(len(p)), s.c.Wait)
		if err != nil {
			return nil, err
		}
		return &product{body: p, loan: l}, nil
	}
	s.meter.misses.Add(1)
	p, joined, err := s.flights.do(c.r.Context(), s.base, s.c.Deadline, s.alone("answer "+name, h.loose), func(ctx context.Context) (*product, error) {
		p, err := s.produce(c.count(ctx), j, coding)
		// A store that does not tell versions apart has no name for what is kept.
		if err == nil && !h.weak && !j.cheap && p.lead == nil && p.size() <= s.cache.Max()/8 {
			s.cache.Put(key, p.body)
		}
		return p, err
	}, func(p *product, callers int) { p.loan.held(callers) })
	c.joined = c.joined || joined
	return p, err
}

// reads returns how many stored bytes an answer needs, or an error if they are too many.
func (s *Server) reads(ctx context.Context, j *job) (int64, error) {
	switch {
	case j.read >= 0 && j.read+j.gaps <= s.c.MaxRead, j.read < 0 && j.cost == nil:
		return j.read, nil
	case j.cost == nil:
		return 0, tooMuch(j.read, s.c.MaxRead)
	}
	cost, err := j.cost(ctx)
	if err == nil && cost.Bytes > s.c.MaxRead {
		err = refusef(http.StatusRequestEntityTooLarge, "too-much", "%d bytes in %d requests to read for it, %d bytes allowed", cost.Bytes, cost.Requests, s.c.MaxRead)
	}
	return cost.Bytes, err
}

// produce makes an answer within the limits.
func (s *Server) produce(ctx context.Context, j *job, coding string) (*product, error) {
	read, err := s.reads(ctx, j)
	if err != nil {
		return nil, err
	}
	if j.learn != nil {
		if err := j.learn(ctx); err != nil {
			return nil, err
		}
		if j.size > s.c.MaxResponse {
			return nil, tooLarge("an answer", j.size, s.c.MaxResponse)
		}
	}
	hold := int64(mostWindows)
	if j.hold > 0 {
		hold = min(hold, j.hold)
	}
	need := j.size + 1 + j.work + min(max(read, 0), hold)
	if more := j.size + codecMemory; coding != "" && need+more <= s.memory.all {
		need += more
	} else { // there will never be enough to make it shorter
		coding = ""
	}
	l, err := s.memory.take(ctx, need, s.c.Wait)
	if err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made { // an error, or a panic
			l.release()
		}
	}()
	body, err := j.make(ctx)
	if err != nil {
		return nil, err
	}
	p := &product{j.lead, body, l}
	if p.size()-1 > s.c.MaxResponse {
		return nil, tooLarge("an answer", p.size()-1, s.c.MaxResponse)
	}
	if coding != "" && len(body) > leastCoded {
		short, err := encode(coding, j.media, body[1:])
		if err != nil {
			return nil, err
		}
		if short != nil {
			p.body = short
		}
	}
	l.shrink(int64(len(p.lead) + cap(p.body)))
	made = true
	return p, nil
}

// unknown is the room for an answer whose length only its making tells: a part of the
// memory, beyond which it is refused.
func (s *Server) unknown() int64 { return min(s.c.MaxResponse, s.c.Memory/4) }

// mostWindows is what a read holds of stored bytes at a time: the budget of a scan of a
// frame.
const mostWindows = 40 << 20

// chunks is the memory that decoding takes, of a chunk for each goroutine.
func chunks(n int64) int64 { return int64(runtime.GOMAXPROCS(0)) * n }

// deliver sends an answer of so many bytes, or the part of it that is asked for.
func (s *Server) deliver(c *call, j *job, etag, coding string, size int64, pieces ...[]byte) error {
	h := c.w.Header()
	tag(h, etag)
	h["Content-Type"] = []string{j.media}
	if j.media == "image/svg+xml" { // a document that could run scripts
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	}
	if coding != "" {
		h.Set("Content-Encoding", coding)
		s.send(c, http.StatusOK, pieces[len(pieces)-1])
		return nil
	}
	h["Accept-Ranges"] = byBytes
	from, n, part, err := s.part(c, size, etag)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if part {
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size))
	}
	h["Content-Length"] = []string{strconv.FormatInt(n, 10)}
	s.begin200(c, status)
	if c.head() {
		return nil
	}
	for _, p := range pieces {
		k := int64(len(p))
		if to := min(from+n, k); from < to {
			s.write(c, p[from:to])
			n -= to - from
		}
		from = max(from-k, 0)
	}
	return nil
}

// part is the part of size bytes that a request asks for. What is no range, or several,
// or of another version, is answered in full.
func (s *Server) part(c *call, size int64, etag string) (from, n int64, part bool, err error) {
	text := c.r.Header.Get("Range")
	if since := c.r.Header.Get("If-Range"); text != "" && since != "" {
		if !matches(since, etag, true) { // a date is too coarse: two versions may have the same
			text = ""
		}
	}
	from, n, part, ok := parseRange(text, size)
	if !ok {
		return 0, 0, false, &refusal{http.StatusRequestedRangeNotSatisfiable, "bad-range",
			fmt.Sprintf("no byte of the range among %d", size), [2]string{"Content-Range", fmt.Sprintf("bytes */%d", size)}}
	}
	return from, n, part, nil
}

// parseRange reads a Range header: "bytes=A-B", "bytes=A-" or "bytes=-N". ok is false if
// no byte of the range exists.
func parseRange(text string, size int64) (from, n int64, part, ok bool) {
	spec, is := strings.CutPrefix(text, "bytes=")
	first, last, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !is || !dash || strings.Contains(spec, ",") {
		return 0, size, false, true
	}
	a, errA := parseCount(first)
	b, errB := parseCount(last)
	switch {
	case first == "" && errB == nil:
		if b == 0 || size == 0 {
			return 0, 0, false, false
		}
		n = min(b, size)
		return size - n, n, true, true
	case errA != nil || last != "" && (errB != nil || b < a):
		return 0, size, false, true
	case a >= size:
		return 0, 0, false, false
	case last == "":
		return a, size - a, true, true
	}
	return a, min(b, size-1) - a + 1, true, true
}

// parseCount reads digits alone. A number beyond int64 is the largest one.
func parseCount(s string) (int64, error) {
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0, strconv.ErrSyntax
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && s != "" {
		return n, nil // digits alone: it is too large, and n the largest number
	}
	return n, err
}

// A page gathers an answer whose length is known only when it is made. The first byte is
// for the mark of the encoding.
type page struct {
	bytes.Buffer
	most int64
}

// newPage makes room for an answer of about size bytes, and refuses more than most.
func newPage(size, most int64) *page {
	p := &page{most: most}
	p.Grow(int(size) + 1 + bytes.MinRead)
	_ = p.WriteByte(plainBody) // a Buffer takes all
	return p
}

func (p *page) Write(b []byte) (int, error) {
	if int64(p.Len()+len(b))-1 > p.most {
		return 0, tooLarge("an answer", int64(p.Len()+len(b))-1, p.most)
	}
	return p.Buffer.Write(b)
}

// Patch overwrites bytes that are there, which makes a page a formats.Output.
func (p *page) Patch(off int64, b []byte) error {
	if off < 0 || off > int64(p.Len()-1-len(b)) {
		return fmt.Errorf("a patch of %d bytes at %d of %d: %w", len(b), off, p.Len()-1, formats.ErrCorrupt)
	}
	copy(p.Bytes()[1+off:], b)
	return nil
}

var (
	_ io.Writer      = (*page)(nil)
	_ formats.Output = (*page)(nil)
)
