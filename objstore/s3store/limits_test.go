package s3store_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/internal/heaptest"
	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestEndlessErrors: of the body of an error 64 KiB are read, and its status counts.
func TestEndlessErrors(t *testing.T) {
	heap := heaptest.Start()
	for status, want := range map[int]error{403: objstore.ErrDenied, 404: objstore.ErrNotFound, 500: objstore.ErrUnavailable, 503: objstore.ErrThrottled, 302: objstore.ErrUnavailable} {
		for _, head := range []string{"", "<Error><Code>Odd</Code><Message>"} {
			for name, call := range calls {
				var n objstore.Counter
				b := fake(t, pipetest.Endless(status, head, "x<y>"), s3store.Config{Counter: &n, Attempts: 2})
				err := call(t.Context(), b)
				heap.Look()
				gone := name == "delete" && status == 404 // is what it wants
				if s := n.Stats(); gone != (err == nil) || !gone && !errors.Is(err, want) || s.Bytes > s.Requests*(64<<10) {
					t.Errorf("%s, %d %q: %v, %+v", name, status, head, err, s)
				}
			}
		}
	}
	if m := heap.Live(); m > 32<<20 {
		t.Errorf("%d bytes lived", m)
	}
}

// TestSlowErrors: an error whose body does not end is told by its status.
func TestSlowErrors(t *testing.T) {
	for status, want := range map[int]error{403: objstore.ErrDenied, 503: objstore.ErrThrottled} {
		took, err := virtual(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			pipetest.Slowly(r.Context(), w, strings.Repeat("<a>", 1000), 1, 1e9)
		}, calls["list"])
		if !errors.Is(err, want) || took > 5*5e9+1e9 {
			t.Errorf("%d: after %v: %v", status, took, err)
		}
	}
}

// page is one of a listing that goes on at next, if that is not empty.
func page(next string, keys ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<ListBucketResult><Name>one</Name><KeyCount>%d</KeyCount><IsTruncated>%t</IsTruncated>", len(keys), next != "")
	if next != "" {
		fmt.Fprintf(&b, "<NextContinuationToken>%s</NextContinuationToken>", next)
	}
	for _, k := range keys {
		fmt.Fprintf(&b, "<Contents><Key>%s</Key><Size>1</Size></Contents>", k)
	}
	return b.String() + "</ListBucketResult>"
}

// TestBadListings: an answer that is not a listing ends with an error, soon and in
// little memory.
func TestBadListings(t *testing.T) {
	xml := func(text string) http.HandlerFunc { return says(200, text, "Content-Type", "application/xml") }
	pages := func(f func(n int) string) http.HandlerFunc {
		n := 0 // of a listing whose requests follow each other
		return func(w http.ResponseWriter, r *http.Request) {
			n++
			xml(f(n))(w, r)
		}
	}
	heap := heaptest.Start()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		say  string
		most int64 // requests
	}{
		"nested":          {pipetest.Endless(200, "<ListBucketResult>", "<a>"), "nest deeper", 1},
		"elements":        {pipetest.Endless(200, "<ListBucketResult>", "<Contents/>"), "more than 131072 elements", 1},
		"long":            {pipetest.Endless(200, "<ListBucketResult><Name>", "x"), "longer than 8388608 bytes", 1},
		"spaces":          {pipetest.Endless(200, "", " "), "longer than 8388608 bytes", 1},
		"a document type": {xml("<!DOCTYPE html><html></html>"), "no XML", 1},
		"the same token":  {pages(func(n int) string { return page("t", strconv.Itoa(n)) }), "a continuation token came again", 3},
		"a ring of tokens": {pages(func(n int) string {
			return page("t"+strconv.Itoa(n%7), strconv.Itoa(n))
		}), "a continuation token came again", 30},
		"the same page":   {pages(func(n int) string { return page(strconv.Itoa(n), "a", "b") }), "a page came again", 3},
		"a ring of pages": {pages(func(n int) string { return page(strconv.Itoa(n), "a", strconv.Itoa(n%5)) }), "a page came again", 20},
		"empty for ever":  {pages(func(n int) string { return page(strconv.Itoa(n)) }), "1000 pages of the listing without a key", 1002},
	} {
		t.Run(name, func(t *testing.T) {
			var n objstore.Counter
			b := fake(t, c.h, s3store.Config{Counter: &n})
			err := list(t.Context(), b)
			heap.Look()
			if s := n.Stats(); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), c.say) || s.Requests > c.most {
				t.Errorf("%+v %v", s, err)
			}
		})
	}
	if m := heap.Live(); m > 64<<20 {
		t.Errorf("%d bytes lived", m)
	}
}

// TestGoodListings: long ones, with empty pages and with all that XML may have.
func TestGoodListings(t *testing.T) {
	n := 0
	b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		text := page(strconv.Itoa(n), fmt.Sprintf("k%05d", n))
		switch {
		case n == 300:
			text = `<?xml version="1.0"?><!-- > " <a> -->` + strings.Replace(page("", "last"), "<Key>last", "<Owner a='>' b=\"/>\"/><Key><![CDATA[last]]>", 1)
		case n%3 == 0:
			text = page(strconv.Itoa(n))
		}
		says(200, text, "Content-Type", "application/xml")(w, r)
	}), s3store.Config{})
	var last string
	keys := 0
	for in, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		last = in.Key
		keys++
	}
	if keys != 201 || last != "last" {
		t.Errorf("%d keys, the last one %q", keys, last)
	}
}

// TestRedirects: an endpoint that only redirects is an error.
func TestRedirects(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var n objstore.Counter
		b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), status) }), s3store.Config{Counter: &n})
		for name, call := range calls {
			if err := call(t.Context(), b); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), "the endpoint redirects") {
				t.Errorf("%d, %s: %v", status, name, err)
			}
		}
	}
}

// TestUnreachable: if waiting cannot help, there are two tries at most.
func TestUnreachable(t *testing.T) {
	const refused = "http://127.0.0.1:1" // a port that was free a moment ago may be another test's server by now
	secure := httptest.NewTLSServer(http.HandlerFunc(good))
	defer secure.Close()
	plain := httptest.NewServer(http.HandlerFunc(good))
	defer plain.Close()
	unknown := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}}
	}}
	for name, c := range map[string]struct {
		endpoint string
		t        http.RoundTripper
		say      string
		most     int64
	}{
		"refused":      {refused, nil, "connection refused", 2},
		"not trusted":  {secure.URL, nil, "AWS_CA_BUNDLE", 1},
		"no TLS":       {strings.Replace(plain.URL, "http:", "https:", 1), nil, "no TLS with", 1},
		"unknown host": {"http://nowhere.example", unknown, "unknown host nowhere.example: check the endpoint (AWS_ENDPOINT_URL)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			for what, call := range calls {
				var n objstore.Counter
				b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: c.endpoint, AccessKey: "AK", SecretKey: "SK", Counter: &n, Transport: c.t})
				if err != nil {
					t.Fatal(err)
				}
				err = call(t.Context(), b)
				b.CloseIdleConnections()
				most := c.most
				switch what {
				case "open", "put": // two requests side by side; one more to ask whether it is there
					most *= 2
				}
				if s := n.Stats(); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), c.say) || s.Requests > most {
					t.Errorf("%s: %v, %+v", what, err, s)
				}
			}
		})
	}
}

// TestOwnCA: AWS_CA_BUNDLE is what makes a private CA trusted.
func TestOwnCA(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(good))
	defer srv.Close()
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(bundle, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", bundle)
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: srv.URL, AccessKey: "AK", SecretKey: "SK"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.CloseIdleConnections()
	in, err := b.Head(t.Context(), "k")
	if err != nil || in.Size != int64(len(text)) {
		t.Errorf("%+v %v", in, err)
	}
	t.Setenv("AWS_CA_BUNDLE", filepath.Join(t.TempDir(), "none"))
	if _, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: srv.URL}); !errors.Is(err, objstore.ErrInvalid) || !strings.HasPrefix(err.Error(), "AWS_CA_BUNDLE: ") {
		t.Errorf("a bundle that is not there: %v", err)
	}
}
