package httpstore_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

type replaced struct{ http.RoundTripper }

// TestDefaultTransportReplaced: programs replace it to trace requests. Not
// parallel: it changes what all share.
func TestDefaultTransportReplaced(t *testing.T) {
	old := http.DefaultTransport
	http.DefaultTransport = replaced{old}
	defer func() { http.DefaultTransport = old }()
	b := serve(t, files(map[string][]byte{"k": []byte("hello")}, true), httpstore.Config{})
	o, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{})
	if err != nil || o.Size() != 5 {
		t.Error(err)
	}
	if n := httpstore.NewTransport(100); n.MaxIdleConnsPerHost != 100 || !n.DisableCompression || n.TLSHandshakeTimeout <= 0 || n.IdleConnTimeout <= 0 {
		t.Errorf("%+v", n)
	}
}

// TestHeadersStayWithTheirHost: a redirect to another host brings the request's
// own headers along, and nothing that was configured or that names the URL.
func TestHeadersStayWithTheirHost(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789"), 50_000)
	names := []string{"X-Api-Key", "Authorization", "Cookie", "Referer", "Accept-Encoding"}
	for name, tc := range map[string]struct {
		to   func(r *http.Request) string // where the first answer sends to
		want []string
	}{
		"another name": {func(r *http.Request) string { return "http://" + strings.Replace(r.Host, "127.0.0.1", "localhost", 1) },
			[]string{"", "", "", "", "identity"}},
		"the same host": {func(r *http.Request) string { return "http://" + r.Host }, []string{"key", "secret", "c=1", "", "identity"}},
		"a path":        {func(*http.Request) string { return "" }, []string{"key", "secret", "c=1", "", "identity"}},
	} {
		var mu sync.Mutex
		var got [][]string
		serveIt := func(w http.ResponseWriter, r *http.Request) {
			var line []string
			for _, n := range names {
				line = append(line, r.Header.Get(n))
			}
			mu.Lock()
			got = append(got, line)
			mu.Unlock()
			w.Header().Set("ETag", `"a"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
		}
		b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/there" {
				serveIt(w, r)
				return
			}
			if r.Header.Get("X-Api-Key") != "key" || r.Header.Get("Authorization") != "secret" {
				t.Errorf("%s: the configured host gets %v", name, r.Header)
			}
			http.Redirect(w, r, tc.to(r)+"/there", http.StatusFound)
		}), httpstore.Config{Base: "?signature=s", Header: http.Header{"x-api-key": {"key"}, "Authorization": {"secret"}, "Cookie": {"c=1"},
			"Range": {"bytes=7-8"}, "Accept-Encoding": {"gzip"}}})
		o, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Tail: 100})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := make([]byte, 10)
		if _, err := o.ReadAt(p, 300_005); err != nil || string(p) != "5678901234" {
			t.Errorf("%s: %q, %v", name, p, err)
		}
		if d := cmp.Diff([][]string{tc.want, tc.want, tc.want}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestQueriesAreApart: objects of different queries or credentials share no cache, and
// the bucket's name discloses neither.
func TestQueriesAreApart(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		w.Header().Set("ETag", `"same"`)
		http.ServeContent(w, r, "", modified, bytes.NewReader(bytes.Repeat([]byte(r.URL.Query().Get("id")+user), 300<<10)))
	}))
	t.Cleanup(srv.Close)
	cache := objstore.NewCache(8<<20, 0)
	seen := map[string]string{}
	for _, c := range []struct{ base, want string }{
		{srv.URL + "/?id=A", "A"}, {srv.URL + "/?id=B", "B"}, {strings.Replace(srv.URL, "//", "//C:hidden@", 1), "C"},
		{strings.Replace(srv.URL, "//", "//D:hidden@", 1), "D"}, {srv.URL + "/?id=hidden", "h"},
	} {
		b, err := httpstore.New(httpstore.Config{Base: c.base})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.CloseIdleConnections)
		if first, ok := seen[b.Name()]; ok || strings.Contains(b.Name(), "hidden") || strings.Contains(b.Name(), "id=") {
			t.Errorf("%s is called %s, like %q", c.base, b.Name(), first)
		}
		seen[b.Name()] = c.base
		again, err := httpstore.New(httpstore.Config{Base: c.base})
		if err != nil || again.Name() != b.Name() {
			t.Errorf("%s: %s and %s, %v", c.base, b.Name(), again.Name(), err)
		}
		o, err := objstore.Open(t.Context(), b, "get", objstore.OpenOptions{Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 10)
		if _, err := o.ReadAt(p, 200<<10); err != nil || !strings.HasPrefix(string(p), c.want) && !strings.Contains(c.base, "=hidden") {
			t.Errorf("%s: %q, %v", c.base, p, err)
		}
	}
	plain, err := httpstore.New(httpstore.Config{Base: srv.URL + "/data/"})
	if err != nil || plain.Name() != srv.URL+"/data" {
		t.Errorf("%s, %v", plain.Name(), err)
	}
}
