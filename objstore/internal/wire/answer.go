package wire

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/farread/farread/objstore"
)

// Said is an answer to a GET. Length is the Content-Length, or -1.
type Said struct {
	Status int
	Header http.Header
	Length int64
	Body   io.ReadCloser
}

// Answer compares s with the range that was asked for. It returns a body of exactly
// the bytes of that range, and the size of the whole object. If the body ends early,
// even if the answer announces that, the error is io.ErrUnexpectedEOF. All errors of
// the body pass through fail. After an error s.Body is the caller's to close.
//
// If s is the whole object of at most whole bytes instead of a range from 0, the body is
// all of it; see objstore.GetOptions.Whole. Ignored then reports true.
func Answer(ctx context.Context, asked objstore.Range, whole int64, s Said, fail func(error) error) (io.ReadCloser, int64, error) {
	if t, _, err := mime.ParseMediaType(s.Header.Get("Content-Type")); err == nil && s.Status == http.StatusPartialContent && t == "multipart/byteranges" {
		return nil, 0, fmt.Errorf("parts of several ranges (%s) instead of the range %s: %w", t, asked, objstore.ErrBadRange)
	}
	size, n, err := objstore.CheckAnswer(asked, s.Status, s.Header.Get("Content-Range"), s.Length)
	if err != nil {
		return nil, 0, err
	}
	from, to := asked.Resolve(size)
	if Ignored(asked, whole, s.Status, size) {
		n, to = size, size
	}
	return Body(ctx, cut{io.LimitReader(s.Body, n), s.Body}, to-from, fail), size, nil
}

// Ignored reports whether Answer gave the whole object of size bytes instead of a range.
func Ignored(asked objstore.Range, whole int64, status int, size int64) bool {
	_, to := asked.Resolve(size)
	return status == http.StatusOK && asked.Off == 0 && to < size && size <= whole
}

// cut reads at most the announced number of bytes of a body.
type cut struct {
	io.Reader
	io.Closer
}

// Encoding is the value of Content-Encoding fields in one spelling: "" if they name no
// coding but identity.
func Encoding(values ...string) string {
	var codings []string
	for _, c := range strings.Split(strings.ToLower(strings.Join(values, ",")), ",") {
		if c = strings.TrimSpace(c); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	return strings.Join(codings, ", ")
}
