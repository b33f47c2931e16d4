package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/objstore"
)

const methods = "GET, HEAD, OPTIONS"

// exposed are the headers that pages of other origins may read.
const exposed = "ETag, Content-Range, Content-Length, Accept-Ranges, Content-Encoding, X-Shape, X-Dtype, X-Slice, X-Fill, X-Utc-Origin, Server-Timing, Retry-After"

// cors says who may read the answer. It is on every answer, errors too: a client that
// cannot see a status takes an error for something absent. Pages of origins that may not
// read it may not embed it either: the size of an image tells something, too.
func (s *Server) cors(h http.Header, r *http.Request) {
	origin := ""
	switch from := r.Header.Get("Origin"); {
	case len(s.c.CORS) == 0:
		h["Cross-Origin-Resource-Policy"] = sameOrigin
		return
	case slices.Contains(s.c.CORS, "*"):
		origin = "*"
	case slices.Contains(s.c.CORS, from):
		origin = from
	}
	if origin != "*" {
		h.Add("Vary", "Origin")
	}
	if origin == "" {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposed)
	h.Set("Timing-Allow-Origin", origin)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// preflight answers OPTIONS.
func (s *Server) preflight(c *call) {
	h := c.w.Header()
	h.Set("Allow", methods)
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", "Range, If-None-Match, If-Match, If-Range, Authorization")
		h.Set("Access-Control-Max-Age", "86400")
	}
	c.verb = "options"
	s.begin200(c, http.StatusNoContent)
}

// checkHost refuses names that somebody else may have let point to this machine.
func (s *Server) checkHost(r *http.Request) error {
	if s.c.Hosts == nil {
		return nil
	}
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") {
		return nil
	}
	if slices.ContainsFunc(s.c.Hosts, func(h string) bool { return strings.EqualFold(h, name) }) {
		return nil
	}
	return refusef(http.StatusMisdirectedRequest, "bad-host", "this server does not answer for that host name")
}

// authorize asks for the token, or for a signature made with it.
func (s *Server) authorize(c *call) error {
	if s.c.Token == "" {
		return nil
	}
	scheme, got, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	a, b := sha256.Sum256([]byte(strings.TrimSpace(got))), sha256.Sum256([]byte(s.c.Token))
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(a[:], b[:]) == 1 {
		return nil
	}
	if signed(c.r.URL, s.c.Token, s.now()) {
		return nil
	}
	c.w.Header().Set("WWW-Authenticate", `Bearer realm="farread"`)
	return refusef(http.StatusUnauthorized, "unauthorized", "a bearer token is needed")
}

// checkOrigin refuses what a browser never sends as an Origin.
func checkOrigin(o string) error {
	u, err := url.Parse(o)
	if o == "*" || o == "null" || err == nil && u.Scheme != "" && u.Host != "" && o == strings.ToLower(u.Scheme+"://"+u.Host) {
		return nil
	}
	return fmt.Errorf("origin %q: want https://host, with a port if it has one, or *: %w", o, objstore.ErrInvalid)
}

// signing are the parameters of signed links.
var signing = []string{"expires", "signature"}

// Sign returns a link that a Server with this token answers until a time, without the
// token. It is for exactly this path and query; whoever has the link can use it. A query
// that url.ParseQuery refuses is an error: parts of it would be lost. So is an empty token,
// which no Server asks for.
func Sign(u *url.URL, token string, until time.Time) (*url.URL, error) {
	out := *u
	q, err := url.ParseQuery(out.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("sign: the query is not well formed: %w: %w", err, objstore.ErrInvalid)
	}
	if token == "" {
		return nil, fmt.Errorf("sign: no token: %w", objstore.ErrInvalid)
	}
	q.Set("expires", strconv.FormatInt(until.Unix(), 10))
	q.Del("signature")
	q.Set("signature", signature(out.EscapedPath(), q, token))
	out.RawQuery = q.Encode()
	return &out, nil
}

// signature signs a path and a query without its signature.
func signature(path string, q url.Values, token string) string {
	m := hmac.New(sha256.New, []byte("farread link\x00"+token))
	_, _ = m.Write([]byte(path + "?" + q.Encode())) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

// signed reports whether a URL was signed, and the link is still good.
func signed(u *url.URL, token string, now time.Time) bool {
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return false
	}
	got := q.Get("signature")
	q.Del("signature")
	until, err := strconv.ParseInt(q.Get("expires"), 10, 64)
	if got == "" || err != nil || now.Unix() > until {
		return false
	}
	return hmac.Equal([]byte(got), []byte(signature(u.EscapedPath(), q, token)))
}

// unsigned is a query without its signature, for the log.
func unsigned(raw string) string {
	if !strings.Contains(raw, "signature") {
		return raw
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		return ""
	}
	q.Del("signature")
	return q.Encode()
}
