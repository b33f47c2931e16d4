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

// Said is what an answer to a GET says, and its body. Length is the
// Content-Length, or -1.
type Said struct {
	Status int
	Header http.Header
	Length int64
	Body   io.ReadCloser
}

// Answer holds what was said against the range that was asked, and returns a body
// of exactly the bytes of that range, and the size of the whole object. A body that
// ends before, also where the answer says that it will, is io.ErrUnexpectedEOF; its
// errors pass through fail, as those of Body do.
func Answer(ctx context.Context, asked objstore.Range, s Said, fail func(error) error) (io.ReadCloser, int64, error) {
	if t, _, err := mime.ParseMediaType(s.Header.Get("Content-Type")); err == nil && s.Status == http.StatusPartialContent && t == "multipart/byteranges" {
		return nil, 0, fmt.Errorf("parts of several ranges (%s) instead of the range %s: %w", t, asked, objstore.ErrBadRange)
	}
	size, n, err := objstore.CheckAnswer(asked, s.Status, s.Header.Get("Content-Range"), s.Length)
	if err != nil {
		return nil, 0, err
	}
	from, to := asked.Resolve(size)
	return Body(ctx, cut{io.LimitReader(s.Body, n), s.Body}, to-from, fail), size, nil
}

// cut reads no more of a body than the answer says that it holds.
type cut struct {
	io.Reader
	io.Closer
}

// Encoding is what Content-Encoding says, in one spelling: "" where nothing was
// done to the bytes.
func Encoding(values ...string) string {
	var codings []string
	for _, c := range strings.Split(strings.ToLower(strings.Join(values, ",")), ",") {
		if c = strings.TrimSpace(c); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	return strings.Join(codings, ", ")
}
