package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// What S3 allows, by its page "Amazon S3 multipart upload limits": every part but the
// last has 5 MiB or more.
const (
	leastPart = 5 << 20
	// copyPart is about how many bytes one request copies. S3 copies some 100 MB/s within
	// one part, so parts are copied side by side.
	copyPart = 256 << 20
	// copies is how many parts are copied at the same time: they take no memory here.
	copies = 32
)

// Splice implements objstore.Splicer. Bytes of another store, or of an object whose ETag
// is weak, are read and written; so are all in the mode Always, since not every store gives
// a checksum for a part that it has copied. Each copied part is one request, conditional on the ETag;
// 32 are under way at a time.
func (w *writer) Splice(ctx context.Context, o *objstore.Object, r objstore.Range) (int64, error) {
	lead := r
	from, ok := objstore.As[*Bucket](o.Bucket())
	if ok && from.akin(w.b) && strong(o.Info().ETag) && w.b.cfg.Checksum != Always {
		if short := w.short(); r.Len-short >= leastPart {
			lead.Len = short
		}
	}
	if err := objstore.WriteRange(ctx, w, o, lead); err != nil || lead.Len == r.Len {
		return 0, err
	}
	rest := objstore.Range{Off: r.Off + lead.Len, Len: r.Len - lead.Len}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.usable(); err != nil { //nolint:contextcheck // that of Create ends it
		return 0, err
	}
	if err := w.copyRange(from.cfg.Bucket, o.Info(), rest); err != nil {
		w.drop(w.fail(err)) //nolint:contextcheck // the same
		return 0, w.err
	}
	w.size += rest.Len
	return rest.Len, nil
}

// akin reports whether two buckets are of one store, for one user.
func (b *Bucket) akin(c *Bucket) bool {
	return b.cfg.Endpoint == c.cfg.Endpoint && b.cfg.Profile == c.cfg.Profile && b.cfg.Anonymous == c.cfg.Anonymous &&
		b.cfg.AccessKey == c.cfg.AccessKey && b.cfg.SecretKey == c.cfg.SecretKey
}

func strong(etag string) bool { return etag != "" && !strings.HasPrefix(etag, "W/") }

// short is how many bytes must be written before a part of another origin may follow.
func (w *writer) short() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch head := objstore.HeadSize - w.taken - len(w.head); {
	case head > 0:
		return int64(head)
	case len(w.part) == 0:
		return 0
	default:
		return int64(max(leastPart-len(w.part), 0))
	}
}

// copyRange sends what waits, then has S3 copy the range r of src in a bucket, in parts of
// equal length.
func (w *writer) copyRange(bucket string, src objstore.Info, r objstore.Range) error {
	if len(w.part) > 0 {
		if err := w.flush(w.ctx); err != nil {
			return err
		}
	}
	if w.upload == nil {
		if err := w.begin(w.ctx); err != nil {
			return err
		}
	}
	n := max((r.Len+copyPart-1)/copyPart, 1)
	n = min(n, int64(maxParts-w.n)) // longer parts, if there are few numbers left
	if n < 1 || (r.Len+n-1)/n > maxPart {
		return fmt.Errorf("more than %d parts: %w", maxParts, objstore.ErrInvalid)
	}
	for i := range n {
		if err := w.wait(w.ctx, copies-1); err != nil {
			return err
		}
		from, to := r.Off+r.Len*i/n, r.Off+r.Len*(i+1)/n
		w.startCopy(w.n, bucket, src, objstore.Range{Off: from, Len: to - from})
		w.n++
	}
	return nil
}

func (w *writer) startCopy(n int32, bucket string, src objstore.Info, r objstore.Range) {
	w.running++
	go func() {
		p, err := w.copy(w.sending, n, bucket, src, r)
		w.done <- sent{p, nil, err}
	}()
}

// escaped is key for the header that names the source. Some stores take a plus sign for a
// space there, so all that means something anywhere is escaped, but "/".
func escaped(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(key), "+", "%20"), "%2F", "/")
}

func (w *writer) copy(ctx context.Context, n int32, bucket string, src objstore.Info, r objstore.Range) (types.CompletedPart, error) {
	if w.rehearsed("copy", r.Len) {
		return types.CompletedPart{PartNumber: &n}, nil
	}
	from := bucket + "/" + escaped(src.Key)
	if src.VersionID != "" {
		from += "?versionId=" + url.QueryEscape(src.VersionID)
	}
	p := types.CompletedPart{PartNumber: &n}
	ctx = silence.More(ctx, httplimit.Work(r.Len), true)
	err := w.b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
		out, err := w.b.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{Bucket: &w.b.cfg.Bucket, Key: &w.key, UploadId: w.upload, PartNumber: &n,
			CopySource: &from, CopySourceIfMatch: opt(src.ETag), CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", r.Off, r.Off+r.Len-1)), RequestPayer: w.b.payer}, with)
		if err != nil {
			return err
		}
		if out.CopyPartResult == nil {
			return fmt.Errorf("an answer to a copy without %w", errUnnamed)
		}
		p.ETag = out.CopyPartResult.ETag
		_, err = named(p.ETag, "ETag")
		return err
	})
	if err != nil {
		err = w.b.fail(ctx, "copy", src.Key, r, err)
		if e, ok := errors.AsType[*objstore.Error](err); ok && errors.Is(err, objstore.ErrNotFound) && e.Code != "NoSuchUpload" && e.Code != "NoSuchBucket" {
			e.Err = objstore.ErrChanged // it was there when it was opened
		}
	}
	return p, err
}
