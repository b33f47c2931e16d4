package check

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A guard is IAM in front of an S3 server: it lets through what the policy allows,
// answers 403 to the rest, and keeps in mind what was used. Like S3 it says 404
// only to who may list the key.
type guard struct {
	policy Policy
	next   http.RoundTripper
	// after is called once, after the first answer that it returns true for was
	// read.
	after func(*http.Request) bool

	mu     sync.Mutex
	used   map[string]map[string]bool // by statement, action
	denied map[string]bool
	faults []string
}

func newGuard(p Policy) *guard {
	return &guard{policy: p, next: &http.Transport{}, used: map[string]map[string]bool{}, denied: map[string]bool{}}
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	needs, err := Needs(r, 0)
	if err != nil {
		g.fault(err.Error())
		return g.next.RoundTrip(r)
	}
	if !g.may(needs) {
		return refuse(r), nil
	}
	resp, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	g.watch(r)
	// What an answer gives away takes rights, too.
	if needs, err = Needs(r, resp.StatusCode); err == nil && !g.may(needs) {
		resp.Body.Close()
		resp = refuse(r)
	}
	return resp, err
}

// may says whether all of it is allowed, and remembers by what.
func (g *guard) may(needs []Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range needs {
		by := g.policy.Allows(n)
		if len(by) == 0 {
			g.denied[fmt.Sprintf("%s of %s %v", n.Action, n.Resource, n.Context)] = true
			return false
		}
		for _, sid := range by {
			if g.used[sid] == nil {
				g.used[sid] = map[string]bool{}
			}
			g.used[sid][n.Action] = true
		}
	}
	return true
}

func (g *guard) watch(r *http.Request) {
	g.mu.Lock()
	f := g.after
	g.after = nil
	g.mu.Unlock()
	if f != nil && !f(r) {
		g.mu.Lock()
		if g.after == nil {
			g.after = f
		}
		g.mu.Unlock()
	}
}

// then sets what is called after requests, until it returns true.
func (g *guard) then(f func(*http.Request) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.after = f
}

func (g *guard) fault(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faults = append(g.faults, s)
}

// nothingMissing reports what was refused or is unknown.
func (g *guard) nothingMissing(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, d := range slices.Sorted(maps.Keys(g.denied)) {
		t.Errorf("missing: %s", d)
	}
	for _, f := range g.faults {
		t.Error(f)
	}
}

func refuse(r *http.Request) *http.Response {
	body := `<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`
	if r.Method == http.MethodHead {
		body = ""
	}
	if r.Body != nil {
		io.Copy(io.Discard, r.Body) // as a server that answers at its end
		r.Body.Close()
	}
	return &http.Response{StatusCode: http.StatusForbidden, Status: "403 Forbidden", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}
