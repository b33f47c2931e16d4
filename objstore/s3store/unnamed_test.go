package s3store_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestPages: a proxy that answers everything with a page of its own has stored and
// deleted nothing, and it holds nothing.
func TestPages(t *testing.T) {
	const page = "<html><body><p>Please sign in.</p></body></html>"
	conditions := map[string]objstore.PutOptions{"": {}, ", if absent": {IfAbsent: true}, ", if match": {IfMatch: `"x"`}}
	for name, h := range map[string]http.HandlerFunc{
		"a page":           says(200, page, "Content-Type", "text/html"),
		"a page in pieces": func(w http.ResponseWriter, r *http.Request) { pipetest.Slowly(r.Context(), w, page, 10, 0) },
		"nothing":          func(http.ResponseWriter, *http.Request) {},
		"an empty ETag":    says(200, "", "ETag", ""),
	} {
		for _, size := range []int{0, len(page), 14 << 20} {
			for cond, o := range conditions {
				t.Run(fmt.Sprintf("%s, %d bytes%s", name, size, cond), func(t *testing.T) {
					b := fake(t, func() http.HandlerFunc {
						return func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); h(w, r) }
					}(), s3store.Config{Attempts: 1})
					info, err := objstore.Put(t.Context(), b, "k", bytes.NewReader(make([]byte, size)), o)
					if !errors.Is(err, objstore.ErrUnavailable) || errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrChanged) || !strings.Contains(err.Error(), "is no answer of S3") {
						t.Errorf("%+v, %v", info, err)
					}
				})
			}
		}
	}
	b := fake(t, says(200, page, "Content-Type", "text/html"), s3store.Config{Attempts: 1})
	if err := b.Delete(t.Context(), "k"); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("delete: %v", err)
	}
	if err := list(t.Context(), b); !errors.Is(err, objstore.ErrUnavailable) {
		t.Errorf("list: %v", err)
	}
	if err := fake(t, says(200, ""), s3store.Config{}).Delete(t.Context(), "k"); err != nil {
		t.Errorf("a store that deletes with 200: %v", err)
	}
}

// TestUnnamedParts: a single part without an ETag, or a joining without one, is no upload.
func TestUnnamedParts(t *testing.T) {
	for name, c := range map[string]struct{ begin, part, join string }{
		"no upload id": {`<InitiateMultipartUploadResult></InitiateMultipartUploadResult>`, `"e"`, `"e"`},
		"a part":       {`<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`, "", `"e"`},
		"the joining":  {`<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>`, `"e"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				_, _ = io.Copy(io.Discard, r.Body)
				switch {
				case q.Has("uploads"):
					_, _ = io.WriteString(w, c.begin)
				case q.Has("partNumber"):
					w.Header().Set("ETag", c.part)
				case r.Method == http.MethodPost:
					_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><ETag>"+c.join+"</ETag></CompleteMultipartUploadResult>")
				default:
					fault(404, "NoSuchUpload")(w, r)
				}
			}), s3store.Config{Attempts: 1})
			_, err := objstore.Put(t.Context(), b, "k", bytes.NewReader(make([]byte, 14<<20)), objstore.PutOptions{})
			if !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), "is no answer of S3") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestLostETag: if the object was stored and only its ETag was lost on the way, a HEAD
// tells.
func TestLostETag(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	for _, size := range []int{1000, 14 << 20} {
		heads := 0
		b := open(t, s, s3store.Config{Transport: &tamper{f: func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if r.Method == http.MethodHead {
				heads++
			}
			resp, err := send()
			if err != nil || !publishes(r) {
				return resp, err
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			return answer(r, 200, ""), nil
		}}})
		data := bytes.Repeat([]byte("x"), size)
		info, err := objstore.Put(context.Background(), b, fmt.Sprintf("k%d", size), bytes.NewReader(data), objstore.PutOptions{IfAbsent: true})
		if err != nil || info.Size != int64(size) || heads != 1 || size == 1000 && info.ETag != fmt.Sprintf(`"%x"`, md5.Sum(data)) {
			t.Errorf("%d bytes, %d heads: %+v, %v", size, heads, info, err)
		}
	}
}
