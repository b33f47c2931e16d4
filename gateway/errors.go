package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// A refusal is an error that a client is told as it is.
type refusal struct {
	status     int
	code, text string
	head       [2]string // a header of the answer
}

func (e *refusal) Error() string { return e.text }

func refusef(status int, code, format string, a ...any) error {
	return &refusal{status: status, code: code, text: fmt.Sprintf(format, a...)}
}

// badf refuses a path, an option or a parameter.
func badf(what, format string, a ...any) error {
	return refusef(http.StatusBadRequest, "bad-"+what, format, a...)
}

// tooLarge refuses an answer by its size.
func tooLarge(what string, n, allowed int64) error {
	return refusef(http.StatusRequestEntityTooLarge, "too-large", "%s of %d bytes, %d allowed", what, n, allowed)
}

// beyondf refuses a parameter that is more than any request may ask for.
func beyondf(format string, a ...any) error {
	return refusef(http.StatusRequestEntityTooLarge, "too-large", format, a...)
}

// statusGone is the status, in logs and counters, of a client that went away.
const statusGone = 499

// explain finds the refusal for an error. Text of stores does not reach clients, since
// it names buckets, endpoints and paths.
func explain(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	is := func(list ...error) bool {
		for _, e := range list {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	told := func(status int, code, text string) *refusal {
		if own := spoken(err); own != "" {
			text = own
		}
		return &refusal{status: status, code: code, text: text}
	}
	plain := func(status int, code, text string) *refusal { return &refusal{status: status, code: code, text: text} }
	switch {
	case is(context.Canceled):
		return plain(statusGone, "canceled", "the request was given up")
	case is(context.DeadlineExceeded):
		return plain(http.StatusGatewayTimeout, "timeout", "the answer took too long")
	case is(nd.ErrSyntax, nd.ErrIndex, nd.ErrOverflow):
		return plain(http.StatusBadRequest, "bad-slice", err.Error())
	case is(gulp.ErrIndex):
		return plain(http.StatusNotFound, "no-entry", "the id has no such frame")
	case is(zoomcache.ErrMoment):
		return plain(http.StatusBadRequest, "bad-time", err.Error())
	case is(formats.ErrTooLarge):
		return told(http.StatusRequestEntityTooLarge, "too-large", "the answer exceeds a limit")
	case is(formats.ErrNoEntry):
		return told(http.StatusNotFound, "no-entry", "no such entry")
	case is(objstore.ErrNotFound):
		return plain(http.StatusNotFound, "not-found", "no such object")
	case is(objstore.ErrDenied):
		return plain(http.StatusFailedDependency, "denied", "the source denies it to the gateway")
	case is(objstore.ErrChanged):
		return plain(http.StatusConflict, "changed", "the object changed")
	case is(formats.ErrCorrupt, objstore.ErrCorrupt):
		return told(http.StatusUnprocessableEntity, "corrupt", "the stored bytes are damaged")
	case is(formats.ErrUnsupported, errors.ErrUnsupported):
		return told(http.StatusUnprocessableEntity, "unsupported", "stored in a way that this version does not read")
	case is(objstore.ErrInvalid):
		return plain(http.StatusBadRequest, "invalid", "the source does not take this request")
	case is(objstore.ErrThrottled, objstore.ErrUnavailable):
		return &refusal{http.StatusServiceUnavailable, "unavailable", "the source does not answer now", [2]string{"Retry-After", "1"}}
	case is(objstore.ErrBadRange):
		return plain(http.StatusBadGateway, "bad-source", "the source gave a wrong answer")
	}
	return plain(http.StatusInternalServerError, "internal", "an error of the gateway")
}

// spoken is the text of an error of a format, which says where in the data it is. It is
// "" if a store has a part in the error.
func spoken(err error) string {
	if _, store := errors.AsType[*objstore.Error](err); store {
		return ""
	}
	if f, ok := errors.AsType[*formats.Error](err); ok {
		return f.Error()
	}
	return ""
}

// fail answers with an error.
func (s *Server) fail(c *call, err error) {
	r := explain(err)
	if _, own := errors.AsType[*refusal](err); s.c.Any && !own && r.code != "internal" {
		r.text = strings.Join(strings.Fields(err.Error()), " ") // who can ask is who may know
	}
	if c.zarr.chunk && r.status == http.StatusNotFound {
		// Zarr clients take a chunk that is not found for the fill value.
		r = &refusal{http.StatusGone, r.code, r.text, r.head}
	}
	c.status, c.err, c.code = r.status, err, r.code
	if r.status == statusGone || c.begun {
		return
	}
	h := c.w.Header()
	for _, name := range []string{"ETag", "Content-Encoding", "Content-Range", "Last-Modified", "X-Shape", "X-Dtype", "X-Slice", "Accept-Ranges"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if r.head[0] != "" {
		h.Set(r.head[0], r.head[1])
	}
	p, _ := json.Marshal(struct { //nolint:errchkjson // texts only
		Code    string `json:"code"`
		Message string `json:"message"`
		ID      string `json:"id"`
	}{r.code, r.text, c.id()})
	s.send(c, r.status, append(p, '\n'))
}
