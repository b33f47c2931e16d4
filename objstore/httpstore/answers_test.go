package httpstore_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// closing counts bodies that are open.
type closing struct{ open atomic.Int64 }

func (c *closing) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		c.open.Add(1)
		resp.Body = &closingBody{ReadCloser: resp.Body, open: &c.open}
	}
	return resp, err
}

type closingBody struct {
	io.ReadCloser

	open   *atomic.Int64
	closed atomic.Bool
}

func (b *closingBody) Close() error {
	if !b.closed.Swap(true) {
		b.open.Add(-1)
	}
	return b.ReadCloser.Close()
}

// TestAnswers: conditions are sent, answers that say nothing of them are taken, those
// of another object are not; metadata are those of the header that are called so; and
// every body is closed, also of what is refused.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header http.Header // of the answer
		status int
		err    error
	}{
		"no ETag":      {http.Header{}, 200, nil},
		"its ETag":     {http.Header{"Etag": {`"e"`}}, 200, nil},
		"another":      {http.Header{"Etag": {`"f"`}}, 200, objstore.ErrChanged},
		"bad range":    {http.Header{"Content-Range": {"bytes 5-9/10"}}, 206, objstore.ErrBadRange},
		"gone":         {http.Header{}, 404, objstore.ErrNotFound},
		"empty":        {http.Header{"Content-Range": {"bytes 0--1/0"}}, 206, nil},
		"precondition": {http.Header{}, 412, objstore.ErrChanged},
	} {
		bodies := &closing{}
		b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("If-Match"); got != `"e"` {
				t.Errorf("%s: If-Match %q", name, got)
			}
			maps.Copy(w.Header(), c.header)
			w.Header().Set("X-Amz-Meta-One", "1")
			w.Header().Set("X-Amz-Meta-Two", "2")
			if name == "empty" {
				w.Header().Set("Content-Length", "0")
			} else {
				w.Header().Set("Content-Length", "10")
			}
			w.WriteHeader(c.status)
			if name != "empty" {
				_, _ = io.WriteString(w, "0123456789")
			}
		}), httpstore.Config{Transport: bodies, Retries: -1})
		rc, info, err := b.Get(t.Context(), "k", objstore.GetOptions{IfMatch: `"e"`})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if !maps.Equal(info.Meta, map[string]string{"one": "1", "two": "2"}) {
				t.Errorf("%s: metadata %q", name, info.Meta)
			}
			if err := rc.Close(); err != nil {
				t.Error(err)
			}
		}
		if n := bodies.open.Load(); n != 0 {
			t.Errorf("%s: %d bodies are open", name, n)
		}
	}
}
