package httpstore

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// maxErrorBody is how much of an error's body is searched for the code that S3 and
// similar stores put there; theirs are below 1 KiB.
const maxErrorBody = 64 << 10

// Get opens a range of key: one request, or two if a server refuses a range from 0
// or from the end and does not describe an empty object in its refusal. A VersionID
// is ErrInvalid.
func (b *Bucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	at := &objstore.Error{Op: "get", Bucket: b.name, Key: key, Range: o.Range}
	rng, err := wire.CheckRange(o.Range)
	if err == nil && o.VersionID != "" {
		err = fmt.Errorf("versions cannot be asked for: %w", objstore.ErrInvalid)
	}
	if err != nil {
		at.Err = err
		return nil, objstore.Info{}, at
	}
	o.Range = rng
	resp, err := b.do(ctx, http.MethodGet, key, conditions(o))
	if err != nil {
		at.Err = err
		return nil, objstore.Info{}, at
	}
	body, info, err := b.answer(ctx, key, o, resp, at)
	if err != nil {
		resp.Body.Close()
		return nil, objstore.Info{}, err
	}
	return body, info, nil
}

func conditions(o objstore.GetOptions) http.Header {
	h := http.Header{}
	if r := o.Range.HTTP(); r != "" {
		h.Set("Range", r)
	}
	if o.IfMatch != "" {
		h.Set("If-Match", o.IfMatch)
	}
	if !o.IfUnmod.IsZero() {
		h.Set("If-Unmodified-Since", o.IfUnmod.UTC().Format(http.TimeFormat))
	}
	return h
}

// answer makes a body of exactly the asked bytes, or an error. It closes resp.Body only
// if it returns another body and no error.
func (b *Bucket) answer(ctx context.Context, key string, o objstore.GetOptions, resp *http.Response, at *objstore.Error) (io.ReadCloser, objstore.Info, error) {
	if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && o.Range.Off <= 0 {
		return b.noBytes(ctx, key, o, resp, at)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
		return nil, objstore.Info{}, b.refused(ctx, resp, at)
	}
	info := infoOf(key, resp.Header)
	if err := moved(o, info); err != nil {
		at.Err, at.Status = err, resp.StatusCode
		return nil, objstore.Info{}, at
	}
	total := resp.Header.Get("Content-Range")
	if strings.HasSuffix(total, "/0") && resp.ContentLength == 0 && o.Range.Off <= 0 {
		resp.Body.Close()
		return http.NoBody, info, nil // Go's file server says "bytes 0--1/0" to a suffix of an empty file
	}
	body, size, err := wire.Answer(ctx, o.Range, o.Whole, wire.Said{Status: resp.StatusCode, Header: resp.Header, Length: resp.ContentLength, Body: resp.Body}, func(err error) error {
		e := *at
		e.Err = wire.Failure(ctx, err)
		return &e
	})
	if err != nil {
		at.Err, at.Status = err, resp.StatusCode
		return nil, objstore.Info{}, at
	}
	info.Size = size
	info.Whole = wire.Ignored(o.Range, o.Whole, resp.StatusCode, size)
	return body, info, nil
}

// noBytes handles a 416 for a range that every object with bytes could answer: the
// object is empty, or the server is wrong.
func (b *Bucket) noBytes(ctx context.Context, key string, o objstore.GetOptions, resp *http.Response, at *objstore.Error) (io.ReadCloser, objstore.Info, error) {
	info := infoOf(key, resp.Header)
	total := strings.TrimSpace(resp.Header.Get("Content-Range"))
	if total != "bytes */0" || info.ETag == "" && info.ModTime.IsZero() {
		// The refusal need not describe the object; HEAD does.
		h, err := b.head(ctx, key)
		if err != nil || h.Size != 0 {
			return nil, objstore.Info{}, b.refused(ctx, resp, at)
		}
		info = h
	}
	if err := moved(o, info); err != nil {
		at.Err = err
		return nil, objstore.Info{}, at
	}
	resp.Body.Close()
	return http.NoBody, info, nil
}

// moved compares an answer with the conditions of its request, since not every server
// obeys them.
func moved(o objstore.GetOptions, in objstore.Info) error {
	switch {
	case o.IfMatch != "" && in.ETag != "" && in.ETag != o.IfMatch:
		return fmt.Errorf("ETag %s, was %s: %w", in.ETag, o.IfMatch, objstore.ErrChanged)
	case !o.IfUnmod.IsZero() && in.ModTime.After(o.IfUnmod.Truncate(time.Second)):
		return fmt.Errorf("modified %s: %w", in.ModTime.UTC().Format(time.RFC3339), objstore.ErrChanged)
	}
	return nil
}

// Head describes key: one request, or two if the server does not answer HEAD
// as it answers GET, as with a URL signed for GET.
func (b *Bucket) Head(ctx context.Context, key string) (objstore.Info, error) {
	info, err := b.head(ctx, key)
	var e *objstore.Error
	if err == nil || !errors.As(err, &e) {
		return info, err
	}
	if !errors.Is(err, objstore.ErrDenied) && !errors.Is(err, objstore.ErrBadRange) &&
		e.Status != http.StatusMethodNotAllowed && e.Status != http.StatusNotImplemented {
		return info, err
	}
	body, info, err := b.Get(ctx, key, objstore.GetOptions{Range: objstore.Range{Len: 1}})
	if err != nil {
		if errors.As(err, &e) {
			e.Op = "head"
		}
		return objstore.Info{}, err
	}
	return info, body.Close()
}

func (b *Bucket) head(ctx context.Context, key string) (objstore.Info, error) {
	at := &objstore.Error{Op: "head", Bucket: b.name, Key: key}
	resp, err := b.do(ctx, http.MethodHead, key, nil)
	if err != nil {
		at.Err = err
		return objstore.Info{}, at
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return objstore.Info{}, b.refused(ctx, resp, at)
	}
	info := infoOf(key, resp.Header)
	if info.Size = resp.ContentLength; info.Size < 0 {
		at.Err, at.Status = fmt.Errorf("answer without a length: %w", objstore.ErrBadRange), resp.StatusCode
		return objstore.Info{}, at
	}
	return info, nil
}

// refused classifies an answer that brings no object.
func (b *Bucket) refused(ctx context.Context, resp *http.Response, at *objstore.Error) error {
	var said struct {
		Code      string
		RequestID string `xml:"RequestId"`
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		at.Err = ctx.Err()
		return at
	}
	// Only S3's XML says more than the status.
	if xml.Unmarshal(text, &said) == nil {
		at.Code, at.RequestID = said.Code, said.RequestID
	}
	if at.RequestID == "" {
		at.RequestID = resp.Header.Get("X-Amz-Request-Id")
	}
	at.Status, at.Err = resp.StatusCode, objstore.StatusError(resp.StatusCode)
	return at
}

// infoOf returns the Info in the header of an answer, without the size.
func infoOf(key string, h http.Header) objstore.Info {
	in := objstore.Info{Key: key, ETag: h.Get("ETag"), ContentType: h.Get("Content-Type"), ContentEncoding: wire.Encoding(h.Values("Content-Encoding")...),
		Checksum: wire.HTTPChecksum(h)}
	if t, err := http.ParseTime(h.Get("Last-Modified")); err == nil {
		in.ModTime = t
	}
	for k, v := range h {
		if name, ok := strings.CutPrefix(strings.ToLower(k), "x-amz-meta-"); ok && len(v) > 0 {
			if in.Meta == nil {
				in.Meta = map[string]string{}
			}
			in.Meta[name] = v[0]
		}
	}
	return in
}
