package flawedtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
)

// A Case is a flaw with what must come of it: the right bytes (nil), or an error
// of that kind. Open is that of an objstore.Open with a tail. Whoever opens
// without one, or opens again, may get along where it is an error.
type Case struct {
	Name       string
	Set        func(s *Server) // before the first read, for good
	Flaw       Flaw
	Replaced   bool          // by version 1 while the flaw is on
	Open, Read error         // of Open, of ReadAt and ReadRanges
	Pinned     bool          // what is opened by an answer with the flaw is pinned to it: once the server is well, it is another one
	Stall      time.Duration // the patience of the reader; 0: it is not asked for
	HTTP       bool          // S3 has another answer to it: the flaw is not tried over S3
}

// patience is long, so that reads which a second try makes quick can be told from those
// that wait for half of it. Such reads take a second for each stall.
var patience = slower(20 * time.Second)

// slower is a time on a machine that does other work, too: a well server answers within it.
func slower(d time.Duration) time.Duration {
	if racetest.On {
		return 3 * d
	}
	return d
}

// ErrEither stands in Case.Read: the right bytes or ErrChanged, depending on how
// many requests the read takes.
var ErrEither = errors.New("either")

// Start prepares s for the case.
func (c *Case) Start(s *Server) {
	if c.Set != nil {
		c.Set(s)
	}
}

// Spoil makes s misbehave.
func (c *Case) Spoil(s *Server) {
	if c.Replaced {
		s.Replace(1)
	}
	s.Set(c.Flaw)
}

// Mend makes s well again, with the objects as they were first.
func (*Case) Mend(s *Server) {
	s.Set(nil)
	s.Replace(0)
}

// Sampled are the flaws that a format is held against: all, and a fifth of them under
// the race detector, as the format's code is the same for each.
func Sampled() []Case {
	var some []Case
	for i, c := range Cases() {
		if racetest.Sampled(i) {
			some = append(some, c)
		}
	}
	return some
}

// Cases are all flaws.
func Cases() []Case {
	return []Case{
		{Name: "403 with XML", Flaw: Page(403), Open: objstore.ErrDenied, Read: objstore.ErrDenied},
		{Name: "404 with XML", Flaw: Page(404), Open: objstore.ErrNotFound, Read: objstore.ErrNotFound},
		{Name: "400", Flaw: Page(400), Open: objstore.ErrInvalid, Read: objstore.ErrInvalid},
		{Name: "412", Flaw: Page(412), Open: objstore.ErrChanged, Read: objstore.ErrChanged},
		{Name: "416", Flaw: Page(416), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "an error page that says 200", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") && Page(200)(s, n, w, r)
		}, Open: objstore.ErrChanged, Read: objstore.ErrBadRange}, // the tail seems to be of a shorter object
		{Name: "200 with the whole object", Flaw: Whole, Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "suffix ranges ignored", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return isSuffix(r) && Whole(s, n, w, r)
		}},
		{Name: "suffix ranges refused", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return isSuffix(r) && Page(416)(s, n, w, r)
		}},
		{Name: "206 with another range", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			x, y, size := contentRange(a)
			a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", x+1, y+1, size+1))
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "206 with a shorter range", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			x, y, size := contentRange(a)
			a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", x, y-1, size))
			a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()-1))
			a.Body.Truncate(a.Body.Len() - 1)
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange}, // the client asks for the missing byte, and that answer is empty
		{Name: "206 a byte short, once", Flaw: First(1, Shorter(-1))},
		{Name: "206 of the first half, once", Flaw: First(1, Shorter(Half))},
		{Name: "206 of one byte, twice", Flaw: First(2, Shorter(1))},
		{Name: "206 of the first half, with more behind it, once", Flaw: First(1, func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			s.Bend(w, r, func(a *httptest.ResponseRecorder) {
				n := a.Body.Len()
				shorten(a, n/2)
				a.Header().Del("Content-Length")
				a.Body.Write(bytes.Repeat([]byte("?"), 100_000))
			})
			return true
		})},
		{Name: "206 of several ranges", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			part := fmt.Sprintf("--b\r\nContent-Type: application/octet-stream\r\nContent-Range: %s\r\n\r\n%s\r\n--b--\r\n", a.Header().Get("Content-Range"), a.Body.Bytes())
			a.Header().Set("Content-Type", "multipart/byteranges; boundary=b")
			a.Header().Del("Content-Length")
			a.Body.Reset()
			a.Body.WriteString(part)
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "no Content-Range", Flaw: Bent(func(a *httptest.ResponseRecorder) { a.Header().Del("Content-Range") }), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "Content-Range with another size", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Range", strings.Replace(a.Header().Get("Content-Range"), "/", "/1", 1))
		}), Open: objstore.ErrBadRange, Read: objstore.ErrChanged},
		{Name: "Content-Range of no size", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Range", "bytes 0-10/*")
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "Content-Range of garbage", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Range", "bytes 99999999999999999999-1/-5")
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "less announced than asked", Flaw: Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()-1))
			a.Body.Truncate(a.Body.Len() - 1)
		}), Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable},
		{Name: "less announced than asked, once", Flaw: First(1, Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()-1))
			a.Body.Truncate(a.Body.Len() - 1)
		}))},
		{Name: "half announced, once", Flaw: First(1, Bent(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()/2))
			a.Body.Truncate(a.Body.Len() / 2)
		}))},
		{Name: "cut at once, once", Flaw: First(1, CutAt(0))},
		{Name: "cut after 1 byte, once", Flaw: First(1, CutAt(1))},
		{Name: "cut in the middle, once", Flaw: First(1, CutAt(Half))},
		{Name: "one byte short, once", Flaw: First(1, CutAt(-1))},
		{Name: "cut in the middle, three times", Flaw: First(3, CutAt(Half))},
		{Name: "cut at once, always", Flaw: CutAt(0), Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable},
		{Name: "no answer, once", Flaw: First(1, func(*Server, int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })},
		{Name: "no answer, ever", Flaw: func(*Server, int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable},
		{Name: "more bytes than the range, in chunks", Flaw: func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			s.Bend(w, r, func(a *httptest.ResponseRecorder) {
				a.Header().Del("Content-Length")
				a.Body.Write(make([]byte, 100_000))
			})
			return true
		}},
		{Name: "more bytes than announced", Flaw: func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			a := httptest.NewRecorder()
			s.Good(a, r)
			conn, buf, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close() //nolint:errcheck // the client sees what came
			fmt.Fprintf(buf, "HTTP/1.1 %d OK\r\n", a.Code)
			a.Header().Set("Connection", "close")
			_ = a.Header().Write(buf)
			fmt.Fprintf(buf, "\r\n%s%s", a.Body.Bytes(), make([]byte, 5000))
			_ = buf.Flush()
			return true
		}},
		{Name: "replaced", Replaced: true, Read: objstore.ErrChanged},
		{Name: "replaced, conditions ignored", Replaced: true, Flaw: Unconditional, Read: objstore.ErrChanged},
		{Name: "replaced by a longer one", Set: func(s *Server) { s.grow = 1000 }, Replaced: true, Flaw: Unconditional, Read: objstore.ErrChanged},
		{Name: "replaced after the first answer", Flaw: func(s *Server, n int, _ http.ResponseWriter, _ *http.Request) bool {
			if n == 2 {
				s.replaceMeanwhile(1)
			}
			return false
		}, Read: ErrEither},
		{Name: "replaced between break and resume", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				defer s.replaceMeanwhile(1)
				s.Cut(w, r, Half)
			}
			return false
		}, Read: objstore.ErrChanged},
		{Name: "replaced between break and resume, conditions ignored", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				defer s.replaceMeanwhile(1)
				s.Cut(w, r, Half)
			}
			return Unconditional(s, n, w, r)
		}, Read: objstore.ErrChanged},
		{Name: "another object in each answer", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			s.replaceMeanwhile(n)
			unconditional(r)
			s.good(n, w, r) // not what another answer has put there meanwhile
			return true
		}, Open: objstore.ErrChanged, Read: objstore.ErrChanged},
		{Name: "no ETag", Set: func(s *Server) { s.tag = func(int) string { return "" } }},
		{Name: "no ETag, cut", Set: func(s *Server) { s.tag = func(int) string { return "" } }, Flaw: First(1, CutAt(Half))},
		{Name: "no ETag, replaced", Set: func(s *Server) { s.tag = func(int) string { return "" } }, Replaced: true, Read: objstore.ErrChanged},
		{Name: "no ETag, replaced, conditions ignored", Set: func(s *Server) { s.tag = func(int) string { return "" } }, Replaced: true, Flaw: Unconditional, Read: objstore.ErrChanged},
		{Name: "weak ETag", Set: func(s *Server) { s.tag = func(v int) string { return fmt.Sprintf(`W/"v%d"`, v) } }},
		{Name: "weak ETag, replaced", Set: func(s *Server) { s.tag = func(v int) string { return fmt.Sprintf(`W/"v%d"`, v) } }, Replaced: true, Flaw: Unconditional, Read: objstore.ErrChanged},
		{Name: "neither ETag nor date", Set: func(s *Server) { s.tag, s.noDate = func(int) string { return "" }, true }},
		{Name: "neither ETag nor date, replaced by a longer one", Set: func(s *Server) {
			s.tag, s.noDate, s.grow = func(int) string { return "" }, true, 10
		}, Replaced: true, Read: objstore.ErrChanged},
		{Name: "the ETag goes away", Flaw: Bent(func(a *httptest.ResponseRecorder) { a.Header().Del("ETag") }), Read: objstore.ErrChanged, Pinned: true},
		{Name: "429, then good", Flaw: First(2, Page(429, "Retry-After", "1"))},
		{Name: "503, then good", Flaw: First(2, Page(503, "Retry-After", "7200"))},
		{Name: "429, never good", Flaw: Page(429, "Retry-After", "1"), Open: objstore.ErrThrottled, Read: objstore.ErrThrottled},
		{Name: "503, never good", Flaw: Page(503, "Retry-After", "1"), Open: objstore.ErrThrottled, Read: objstore.ErrThrottled},
		{Name: "500 three times", Flaw: First(3, Page(500))},
		{Name: "500 always", Flaw: Page(500), Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable},
		{Name: "stalls before the answer, once", Flaw: First(1, Hang), Stall: patience},
		{Name: "stalls in the body, once", Flaw: First(1, HangInBody), Stall: patience},
		{Name: "stalls before the answer and in the body, once each", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return n == 1 && Hang(s, n, w, r) || n == 2 && HangInBody(s, n, w, r)
		}, Stall: patience},
		{Name: "503 storm while a slow answer is hedged", Flaw: First(4, func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return n > 1 && Page(503, "Retry-After", "1")(s, n, w, r) || Late(Page(503))(s, n, w, r)
		}), Stall: patience},
		{Name: "late, and the hedge gets 503", Flaw: Late(Page(503, "Retry-After", "1")), Stall: patience},
		{Name: "late, and the hedge finds its credentials expired", Flaw: Late(Page(403)), Stall: patience},
		{Name: "stalls once, and then the credentials have expired", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			return n == 1 && HangInBody(s, n, w, r) || Page(403)(s, n, w, r)
		}, Stall: patience, Open: objstore.ErrDenied, Read: objstore.ErrDenied},
		{Name: "stalls always", Flaw: Hang, Stall: slower(time.Second), Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable},
		{Name: "Content-Encoding gzip", Flaw: Bent(func(a *httptest.ResponseRecorder) { a.Header().Set("Content-Encoding", "gzip") }),
			Read: objstore.ErrBadRange, Pinned: true},
		{Name: "Content-Encoding gzip from the second answer on", Flaw: Behind(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Content-Encoding", "gzip")
			squeeze(a)
		}), Open: objstore.ErrBadRange, Read: objstore.ErrBadRange, Pinned: true},
		{Name: "Content-Encoding gzip between break and resume", Flaw: func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				s.Cut(w, r, Half)
			}
			return Behind(func(a *httptest.ResponseRecorder) {
				a.Header().Set("Content-Encoding", "gzip")
				squeeze(a)
			})(s, n, w, r)
		}, Open: objstore.ErrBadRange, Read: objstore.ErrBadRange},
		{Name: "Content-Encoding identity", Flaw: Bent(func(a *httptest.ResponseRecorder) { a.Header().Set("Content-Encoding", "identity") })},
		{Name: "another representation from the second answer on", Flaw: Behind(func(a *httptest.ResponseRecorder) {
			a.Header().Set("Vary", "Accept-Encoding")
			a.Header().Set("Content-Encoding", "gzip")
			a.Header().Set("ETag", strings.TrimSuffix(a.Header().Get("ETag"), `"`)+`-gzip"`)
			squeeze(a)
		}), Open: objstore.ErrChanged, Read: objstore.ErrChanged, Pinned: true},
		{Name: "redirect", Flaw: func(_ *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			name, ok := strings.CutPrefix(r.URL.Path, "/data/")
			if ok {
				http.Redirect(w, r, "/elsewhere/"+name, http.StatusFound)
			}
			return ok
		}, HTTP: true},
		{Name: "redirect in a circle", Flaw: func(_ *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
			return true
		}, Open: objstore.ErrUnavailable, Read: objstore.ErrUnavailable, HTTP: true},
		{Name: "trickle", Flaw: func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
			a := httptest.NewRecorder()
			s.Good(a, r)
			for key, v := range a.Header() {
				w.Header()[key] = v
			}
			w.WriteHeader(a.Code)
			for a.Body.Len() > 0 {
				_, _ = w.Write(a.Body.Next(a.Body.Len()/8 + 1))
				w.(http.Flusher).Flush()
			}
			return true
		}},
	}
}
