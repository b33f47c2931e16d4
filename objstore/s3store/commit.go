package s3store

import (
	"context"
	"crypto/md5" //nolint:gosec // S3's ETags are made of it; nothing here relies on its strength
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"sort"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// Commit publishes the object. When an answer was lost and the repeated request
// fails because the first one had succeeded, one HEAD tells so, and Commit
// succeeds. A good answer without the ETag that S3 always gives counts as lost. The Info
// lacks the ModTime, which S3 does not return.
func (w *writer) Commit(ctx context.Context) (objstore.Info, error) { //nolint:contextcheck // that of Create can end it too
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil {
		return objstore.Info{}, err
	}
	var tries int
	ctx, cancel := context.WithCancel(context.WithValue(ctx, attemptsKey{}, &tries))
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()

	info := objstore.Info{Key: w.key, Size: w.size, ContentType: w.o.ContentType, Meta: maps.Clone(w.o.Meta)}
	publish := w.put
	if w.upload != nil {
		publish = w.complete
	}
	err := publish(ctx, &info)
	if err != nil {
		if w.ctx.Err() != nil {
			ctx = w.ctx // the end of w.ctx reaches the derived context a moment later
		}
		err = w.lost(w.b.fail(ctx, "put", w.key, objstore.Range{}, err))
		if err = w.settle(ctx, tries, err, &info); err != nil {
			w.drop(err)
			return objstore.Info{}, err
		}
	}
	w.close(nil)
	return info, nil
}

func (w *writer) put(ctx context.Context, info *objstore.Info) error {
	if w.rehearsed("put", w.size) {
		return nil
	}
	in := &s3.PutObjectInput{Bucket: &w.b.cfg.Bucket, Key: &w.key, Body: w.whole(), ContentLength: &w.size,
		ContentType: opt(w.o.ContentType), Metadata: encodeMeta(w.o.Meta), IfMatch: opt(w.o.IfMatch), ChecksumCRC32: w.b.checksum(w.pieces()), RequestPayer: w.b.payer}
	if w.o.IfAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	ctx = silence.More(ctx, httplimit.Work(w.size), false)
	return w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
		in.Body = w.whole()
		out, err := w.b.client.PutObject(ctx, in, with)
		if err != nil {
			return err
		}
		info.VersionID = version(out.VersionId)
		info.ETag, err = named(out.ETag, "ETag")
		return err
	})
}

// pieces are the bytes of an object that is sent by one PUT.
func (w *writer) pieces() pieces { return pieces{w.lead, w.head, w.part} }

func (w *writer) whole() io.ReadSeeker { return w.pieces().reader() }

// joinTime limits the joining of parts while the store sends signs of life. The time
// for the size of the object is added.
const joinTime = 15 * time.Minute

// complete sends the last part and the head, then joins the parts.
func (w *writer) complete(ctx context.Context, info *objstore.Info) error {
	if len(w.part) > 0 {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	if err := w.wait(ctx, 1); err != nil {
		return err
	}
	w.start(1, w.head, w.lead)
	if err := w.wait(ctx, 0); err != nil {
		return err
	}
	if w.rehearsed("complete", 0) {
		return nil
	}
	sort.Slice(w.parts, func(i, j int) bool { return *w.parts[i].PartNumber < *w.parts[j].PartNumber })
	in := &s3.CompleteMultipartUploadInput{Bucket: &w.b.cfg.Bucket, Key: &w.key, UploadId: w.upload, IfMatch: opt(w.o.IfMatch),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}, RequestPayer: w.b.payer}
	if w.o.IfAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	// Joining the parts may take minutes. S3 sends white space during that time, other
	// stores send nothing.
	ctx, cancel := context.WithTimeout(ctx, joinTime+httplimit.Work(w.size))
	defer cancel()
	ctx = silence.More(ctx, httplimit.Work(w.size), true)
	return w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
		out, err := w.b.client.CompleteMultipartUpload(ctx, in, with)
		if err != nil {
			return err
		}
		info.VersionID = version(out.VersionId)
		info.ETag, err = named(out.ETag, "ETag")
		return err
	})
}

// lost adds its sentinel to the error of a conditional write.
func (w *writer) lost(err error) error {
	var e *objstore.Error
	if !errors.As(err, &e) {
		return err
	}
	gone := errors.Is(e.Err, objstore.ErrNotFound) && e.Code != "NoSuchBucket"
	switch {
	case e.Code == "NoSuchUpload":
		e.Err = fmt.Errorf("the upload is gone: %w", objstore.ErrUnavailable)
	case w.o.IfAbsent && errors.Is(e.Err, objstore.ErrChanged):
		e.Err = objstore.ErrExists
	case w.o.IfMatch != "" && gone:
		e.Err = objstore.ErrChanged
	}
	return err
}

// settle finds out whether a Commit published although its answer was lost; it returns
// nil if so. It makes no request if the result is certain. The object must have the
// size, the metadata and the ETag that this writer would produce. If ETags are not MD5
// (SSE-KMS), settle cannot tell and returns the error. A store that refuses a
// conditional write may hang up before the body was sent; then settle compares the
// condition itself.
func (w *writer) settle(ctx context.Context, tries int, err error, info *objstore.Info) error {
	var e *objstore.Error
	if !errors.As(err, &e) || ctx.Err() != nil || tries == 0 {
		return err
	}
	gone := e.Code == "NoSuchUpload"
	refused := gone || errors.Is(err, objstore.ErrExists) || errors.Is(err, objstore.ErrChanged)
	unanswered := !gone && errors.Is(err, objstore.ErrUnavailable)
	if !unanswered && (!refused || tries <= 1) {
		return err
	}
	if silence.Is(err) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.b.brief())
		defer cancel()
	}
	there, herr := w.b.Head(ctx, w.key)
	absent := errors.Is(herr, objstore.ErrNotFound)
	switch {
	case herr == nil && w.mine(there):
		*info = there
		return nil
	case errors.Is(err, errUnnamed): // the answer to the HEAD may be about an object of another writer
	case !unanswered || herr != nil && !absent:
	case w.o.IfAbsent && !absent:
		e.Err = objstore.ErrExists
	case w.o.IfMatch != "" && (absent || there.ETag != w.o.IfMatch):
		e.Err = objstore.ErrChanged
	}
	return err
}

func (w *writer) mine(in objstore.Info) bool {
	etag := w.etag()
	return etag != "" && in.Size == w.size && in.ETag == etag && maps.Equal(in.Meta, w.o.Meta) &&
		(w.o.ContentType == "" || in.ContentType == w.o.ContentType)
}

// etag is the ETag that S3 gives these bytes: their MD5, or the MD5 of the MD5s of all
// parts.
func (w *writer) etag() string {
	h := md5.New() //nolint:gosec // see the import
	if w.upload == nil {
		io.Copy(h, w.whole()) //nolint:errcheck // memory to memory
		return fmt.Sprintf(`"%x"`, h.Sum(nil))
	}
	for _, p := range w.parts {
		sum, err := hex.DecodeString(strings.Trim(aws.ToString(p.ETag), `"`))
		if err != nil || len(sum) != md5.Size {
			return ""
		}
		h.Write(sum)
	}
	return fmt.Sprintf(`"%x-%d"`, h.Sum(nil), len(w.parts))
}

// checkMeta refuses names that are not valid in a header, or that come back under
// another name.
func checkMeta(meta map[string]string) error {
	for k := range meta {
		if k == "" || strings.Trim(k, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			return fmt.Errorf("metadata name %q: %w", k, objstore.ErrInvalid)
		}
	}
	return nil
}

// encodeMeta encodes values that a header cannot hold, as S3 itself does (RFC 2047).
func encodeMeta(meta map[string]string) map[string]string {
	if len(meta) == 0 {
		return nil
	}
	out := make(map[string]string, len(meta))
	for k, v := range meta {
		odd := func(r rune) bool { return r < ' ' || r > '~' }
		if strings.IndexFunc(v, odd) >= 0 || strings.Contains(v, "=?") || strings.TrimSpace(v) != v || strings.Contains(v, "  ") {
			v = "=?utf-8?b?" + base64.StdEncoding.EncodeToString([]byte(v)) + "?="
		}
		out[k] = v
	}
	return out
}

// decodeMeta undoes encodeMeta. A value that does not decode stays as it is.
func decodeMeta(meta map[string]string) map[string]string {
	var d mime.WordDecoder
	for k, v := range meta {
		if s, err := d.DecodeHeader(v); err == nil {
			meta[k] = s
		}
	}
	return meta
}
