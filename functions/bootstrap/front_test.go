package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// through sends one request through a function of h, and takes its stream apart.
func through(ctx context.Context, t *testing.T, h http.HandlerFunc, e *events.LambdaFunctionURLRequest) (status int, head map[string]string, body string, err error) {
	t.Helper()
	a, err := Front(h, slog.New(slog.DiscardHandler))(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	p, err := io.ReadAll(a)
	document, rest, ok := bytes.Cut(p, make([]byte, 8))
	var d struct {
		StatusCode int
		Headers    map[string]string
	}
	if json.Unmarshal(document, &d) != nil || !ok {
		t.Fatalf("%q", p)
	}
	return d.StatusCode, d.Headers, string(rest), err
}

func asked(method, path, query string) *events.LambdaFunctionURLRequest {
	e := &events.LambdaFunctionURLRequest{RawPath: path, RawQueryString: query, Headers: map[string]string{"host": "x.lambda-url.eu-central-1.on.aws", "range": "bytes=0-1", "accept-encoding": "gzip"}}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.SourceIP = method, "192.0.2.1"
	return e
}

// TestFrontRequest: paths arrive as they were sent, also those that nobody escaped.
func TestFrontRequest(t *testing.T) {
	for sent, want := range map[string]struct{ escaped, path string }{
		"/raw/d/a%20b+c%2541":  {"/raw/d/a%20b+c%2541", "/raw/d/a b+c%41"},
		"/raw/d/a b":           {"/raw/d/a%20b", "/raw/d/a b"},
		"/raw/d/größe?#":       {"/raw/d/gr%C3%B6%C3%9Fe%3F%23", "/raw/d/größe?#"},
		"/raw/d/%2e%2e/%00":    {"/raw/d/%2e%2e/%00", "/raw/d/../\x00"},
		"//evil.example/raw/d": {"//evil.example/raw/d", "//evil.example/raw/d"},
		"":                     {"", ""},
		"/a\r\nb":              {"/a%0D%0Ab", "/a\r\nb"},
	} {
		status, _, body, err := through(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.EscapedPath() != want.escaped || r.URL.Path != want.path || r.URL.RawQuery != "s=1%2C2" {
				t.Errorf("%q: %q %q %q", sent, r.URL.EscapedPath(), r.URL.Path, r.URL.RawQuery)
			}
			if r.Method != http.MethodHead || r.Host != "x.lambda-url.eu-central-1.on.aws" || r.RemoteAddr != "192.0.2.1" || r.Header.Get("Range") != "bytes=0-1" || r.Header.Get("Accept-Encoding") != "" {
				t.Errorf("%+v", r)
			}
			w.WriteHeader(http.StatusTeapot)
		}, asked("HEAD", sent, "s=1%2C2"))
		if status != http.StatusTeapot || body != "" || err != nil {
			t.Errorf("%q: %d %q %v", sent, status, body, err)
		}
	}
	if status, head, body, err := through(t.Context(), t, func(http.ResponseWriter, *http.Request) { t.Error("called") }, asked("GET", "/raw/%zz", "")); status != 400 || head["Content-Type"] != "application/json" || !strings.Contains(body, "bad-path") || err != nil {
		t.Errorf("%d %s %v", status, body, err)
	}
}

// TestFrontEnds: what a handler that gives up, or does nothing, looks like to the client.
func TestFrontEnds(t *testing.T) {
	part := func(w http.ResponseWriter) {
		w.Header().Add("Vary", "Origin")
		w.Header().Add("Vary", "Accept")
		_, _ = io.WriteString(w, "part")
	}
	for name, c := range map[string]struct {
		h      http.HandlerFunc
		status int
		body   string
		cut    bool
	}{
		"nothing":          {func(http.ResponseWriter, *http.Request) {}, 200, "", false},
		"a whole answer":   {func(w http.ResponseWriter, _ *http.Request) { part(w) }, 200, "part", false},
		"a panic":          {func(http.ResponseWriter, *http.Request) { panic("on purpose") }, 500, "", true},
		"a panic midway":   {func(w http.ResponseWriter, _ *http.Request) { part(w); panic("on purpose") }, 200, "part", true},
		"an abort midway":  {func(w http.ResponseWriter, _ *http.Request) { part(w); panic(http.ErrAbortHandler) }, 200, "part", true},
		"zeros in a body":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100)) }, 200, string(make([]byte, 100)), false},
		"an aborted start": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 500, "", true},
	} {
		status, head, body, err := through(t.Context(), t, c.h, asked("GET", "/", ""))
		if status != c.status || body != c.body || errors.Is(err, errCut) != c.cut || err != nil && !c.cut {
			t.Errorf("%s: %d %q %v", name, status, body, err)
		}
		if c.body == "part" && head["Vary"] != "Origin, Accept" {
			t.Errorf("%s: %v", name, head)
		}
	}
}

// TestFrontDeadline: a handler has a second less than the invocation.
func TestFrontDeadline(t *testing.T) {
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	_, _, _, err := through(ctx, t, func(_ http.ResponseWriter, r *http.Request) {
		if d, ok := r.Context().Deadline(); !ok || !d.Equal(end.Add(-spare)) {
			t.Errorf("%v %v", d, ok)
		}
	}, asked("GET", "/", ""))
	if err != nil {
		t.Error(err)
	}
}

// TestFrontLeft: if the runtime takes no more, the handler's writes fail.
func TestFrontLeft(t *testing.T) {
	failed := make(chan error, 1)
	a, err := Front(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 1000))
		}
		failed <- err
	}), slog.New(slog.DiscardHandler))(t.Context(), asked("GET", "/", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(a, make([]byte, 5000)); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func FuzzFrontPath(f *testing.F) {
	for _, s := range []string{"/raw/d/a b", "/%zz", "/a?b#c", "/ü%41", "\x00", "//"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := request(t.Context(), asked("GET", path, ""))
		if err != nil {
			return
		}
		if again := asSent(r.URL.EscapedPath()); again != r.URL.EscapedPath() {
			t.Errorf("%q: %q is escaped once more: %q", path, r.URL.EscapedPath(), again)
		}
		if r.URL.EscapedPath() != asSent(path) {
			t.Errorf("%q became %q", path, r.URL.EscapedPath())
		}
	})
}
