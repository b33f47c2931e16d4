package furl_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/goleak"

	"github.com/farread/farread/localcloud/furl"
	"github.com/farread/farread/localcloud/internal/testfn"
	"github.com/farread/farread/localcloud/lambda"
)

func TestMain(m *testing.M) {
	testfn.Main()
	goleak.VerifyTestMain(m)
}

// lines are written by one goroutine and read by another.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// front is a function URL of the test function, and a folder that it sees.
func front(t *testing.T) (address, dir string, log *lines) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, log = t.TempDir(), &lines{}
	p, err := lambda.NewPool(lambda.Config{Name: "fn-test", Path: self, Env: []string{testfn.Env, "TEST_DIR=" + dir}, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s := httptest.NewServer(furl.Handler(p, slog.New(slog.NewTextHandler(log, nil))))
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL, dir, log
}

// An answered request, whose body is closed.
type answered struct{ *http.Response }

func ask(t *testing.T, method, address, body string) (answered, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Add("X-Two", "a")
	r.Header.Add("X-Two", "b")
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	p, err := io.ReadAll(a.Body)
	return answered{a}, string(p), err
}

// TestEvent: a request as the function sees it, and its answer as the client does.
func TestEvent(t *testing.T) {
	at, _, _ := front(t)
	a, text, err := ask(t, "POST", at+"/a%20b//%2e%2e/%C3%BC+?x=%2C&y", "\x00body")
	if err != nil {
		t.Fatal(err)
	}
	var e events.LambdaFunctionURLRequest
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(text, err)
	}
	if e.Version != "2.0" || e.RawPath != "/a%20b//%2e%2e/%C3%BC+" || e.RawQueryString != "x=%2C&y" || e.Headers["x-two"] != "a,b" || e.Headers["host"] != strings.TrimPrefix(at, "http://") ||
		e.RequestContext.HTTP.Method != "POST" || e.RequestContext.HTTP.SourceIP != "127.0.0.1" || !e.IsBase64Encoded || e.Body != base64.StdEncoding.EncodeToString([]byte("\x00body")) {
		t.Errorf("%+v", e)
	}
	if h := a.Header; a.StatusCode != 201 || h.Get("X-Own") != "yes" || h.Get("Content-Length") != "" || h.Get("X-Amzn-Remapped-Content-Length") != "7" || len(h["Set-Cookie"]) != 2 {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	if a, text, err := ask(t, "HEAD", at+"/", ""); a.StatusCode != 201 || text != "" || err != nil {
		t.Errorf("HEAD: %d %q %v", a.StatusCode, text, err)
	}
	if a, text, err := ask(t, "GET", at+"/empty", ""); a.StatusCode != 204 || text != "" || err != nil {
		t.Errorf("no body: %d %q %v", a.StatusCode, text, err)
	}
	if a, _, _ := ask(t, "PUT", at+"/", strings.Repeat("x", 7<<20)); a.StatusCode != 413 {
		t.Errorf("a long request: %d", a.StatusCode)
	}
}

// TestAnswers: long answers, and answers that fail before or after they have begun.
func TestAnswers(t *testing.T) {
	at, dir, log := front(t)
	if _, text, err := ask(t, "GET", at+"/long", ""); len(text) != 20<<20 || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	for _, path := range []string{"/poison", "/plain", "/coded", "/status"} {
		if a, _, err := ask(t, "GET", at+path, ""); a.StatusCode != 502 || err != nil {
			t.Errorf("%s: %d %v", path, a.StatusCode, err)
		}
	}
	for _, path := range []string{"/cut", "/exit"} {
		if a, text, err := ask(t, "GET", at+path, ""); a.StatusCode != 502 && (err == nil || len(text) > 100_000) { // nothing may have come yet
			t.Errorf("%s: %d, %d bytes, %v: it looks whole", path, a.StatusCode, len(text), err)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 6 {
		t.Errorf("%d errors are logged\n%s", n, log)
	}
	// What is written comes at once.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if _, err := io.ReadFull(a.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := io.ReadAll(a.Body); len(p) != 5 || err != nil {
		t.Errorf("the rest: %q %v", p, err)
	}
}

// TestGone: a client that goes away does not end the function.
func TestGone(t *testing.T) {
	at, dir, _ := front(t)
	pid := func() string {
		a, _, err := ask(t, "GET", at+"/", "")
		if err != nil || a.Header.Get("X-Pid") == "" {
			t.Fatal(a.Status, err)
		}
		return a.Header.Get("X-Pid")
	}
	before := pid()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/slow", nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if after := pid(); after != before {
		t.Error("another process answers")
	}
}
