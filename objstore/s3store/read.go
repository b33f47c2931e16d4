package s3store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// maxKey is S3's limit in bytes of UTF-8.
const maxKey = 1024

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("empty key: %w", objstore.ErrInvalid)
	case len(key) > maxKey:
		return fmt.Errorf("key of %d bytes, more than %d: %w", len(key), maxKey, objstore.ErrInvalid)
	case !utf8.ValidString(key):
		return fmt.Errorf("key is not UTF-8: %w", objstore.ErrInvalid)
	}
	return nil
}

// Get opens a range of key: one request, or two if S3 refuses a range from 0 or from
// the end, as of an empty object.
func (b *Bucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	fail := func(err error) error { return b.fail(ctx, "get", key, o.Range, err) }
	rng, err := wire.CheckRange(o.Range)
	if err = errors.Join(checkKey(key), err); err != nil {
		return nil, objstore.Info{}, fail(err)
	}
	o.Range = rng
	in := &s3.GetObjectInput{Bucket: &b.cfg.Bucket, Key: &key, RequestPayer: b.payer,
		Range: opt(o.Range.HTTP()), IfMatch: opt(o.IfMatch), VersionId: opt(o.VersionID)}
	if !o.IfUnmod.IsZero() {
		in.IfUnmodifiedSince = &o.IfUnmod
	}
	clock, own := silence.Join(ctx, b.cfg.Timeout)
	under, stop := ctx, func() {} //nolint:contextcheck // the clock made it of ours
	if own {
		under, stop = clock.Context(), clock.Stop
	}
	var out *s3.GetObjectOutput
	err = b.within(httplimit.Payload(under), clock, func(ctx context.Context, with func(*s3.Options)) (err error) {
		out, err = b.client.GetObject(ctx, in, with, withChecksum)
		return err
	})
	if err != nil {
		stop()
		err = fail(err)
		if errors.Is(err, objstore.ErrBadRange) && o.Range.Off <= 0 {
			return b.noBytes(ctx, key, o, err)
		}
		return nil, objstore.Info{}, err
	}
	info := objstore.Info{Key: key, ETag: aws.ToString(out.ETag), VersionID: version(out.VersionId),
		ModTime: aws.ToTime(out.LastModified), ContentType: aws.ToString(out.ContentType), Meta: decodeMeta(out.Metadata),
		ContentEncoding: wire.Encoding(aws.ToString(out.ContentEncoding))}
	out.Body = wire.Ending(out.Body, stop)
	body, size, err := wire.Answer(ctx, o.Range, 0, said(out), func(err error) error {
		return &objstore.Error{Op: "get", Bucket: b.Name(), Key: key, Range: o.Range, Err: wire.Failure(ctx, err)}
	})
	if err == nil && o.IfMatch != "" && info.ETag != "" && info.ETag != o.IfMatch {
		err = fmt.Errorf("ETag %s, was %s: %w", info.ETag, o.IfMatch, objstore.ErrChanged) // some stores ignore If-Match
	}
	if err != nil {
		out.Body.Close()
		return nil, objstore.Info{}, fail(err)
	}
	info.Size = size
	if from, to := o.Range.Resolve(size); from == 0 && to == size {
		info.Checksum = wire.S3Checksum(said(out).Header)
	}
	return body, info, nil
}

// withChecksum asks the store for the checksum of an object. It hides this from the
// SDK: for a range some stores send the checksum of a part or of the whole object, and
// the SDK would compare the range with it.
func withChecksum(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Amz-Checksum-Mode", string(types.ChecksumModeEnabled)))
}

// said is the status and the range of the answer; the SDK hides the status.
func said(out *s3.GetObjectOutput) wire.Said {
	r := awsmiddleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response) // every operation of the SDK over HTTP stores it
	return wire.Said{Status: r.StatusCode, Header: r.Header, Length: r.ContentLength, Body: out.Body}
}

// noBytes handles the refusal of a range that every object with bytes could answer. The
// object is empty, or the server is wrong; a HEAD tells, with the ETag.
func (b *Bucket) noBytes(ctx context.Context, key string, o objstore.GetOptions, refusal error) (io.ReadCloser, objstore.Info, error) {
	info, err := b.head(ctx, key, o)
	if err != nil {
		if errors.Is(err, objstore.ErrChanged) || ctx.Err() != nil {
			return nil, objstore.Info{}, err
		}
		return nil, objstore.Info{}, refusal
	}
	if info.Size != 0 {
		return nil, objstore.Info{}, refusal
	}
	return http.NoBody, info, nil
}

// Head describes the current version of key: one request.
func (b *Bucket) Head(ctx context.Context, key string) (objstore.Info, error) {
	return b.head(ctx, key, objstore.GetOptions{})
}

func (b *Bucket) head(ctx context.Context, key string, o objstore.GetOptions) (objstore.Info, error) {
	var out *s3.HeadObjectOutput
	err := checkKey(key)
	if err == nil {
		err = b.call(ctx, func(ctx context.Context, with func(*s3.Options)) (err error) {
			out, err = b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.cfg.Bucket, Key: &key, RequestPayer: b.payer,
				IfMatch: opt(o.IfMatch), VersionId: opt(o.VersionID)}, with)
			return err
		})
	}
	if err == nil && out.ContentLength == nil {
		err = fmt.Errorf("answer without a length: %w", objstore.ErrBadRange)
	}
	if err != nil {
		return objstore.Info{}, b.fail(ctx, "head", key, objstore.Range{}, err)
	}
	return objstore.Info{Key: key, Size: *out.ContentLength, ETag: aws.ToString(out.ETag), VersionID: version(out.VersionId),
		ModTime: aws.ToTime(out.LastModified), ContentType: aws.ToString(out.ContentType), Meta: decodeMeta(out.Metadata),
		ContentEncoding: wire.Encoding(aws.ToString(out.ContentEncoding))}, nil
}

// List yields the objects under prefix: one request for each 1000 keys. A listing
// that goes round in circles is ErrUnavailable.
func (b *Bucket) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return b.ListAfter(ctx, prefix, "")
}

// ListAfter implements objstore.Continuer: it is List without the keys up to and
// including after, which cost nothing.
func (b *Bucket) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		var token *string
		var turns loops
		for {
			page, err := b.page(ctx, prefix, "", after, token)
			if err != nil {
				yield(objstore.Info{}, b.fail(ctx, "list", prefix, objstore.Range{}, err))
				return
			}
			for _, o := range page.Contents {
				info, err := listed(o, page.EncodingType)
				if err != nil {
					yield(objstore.Info{}, b.fail(ctx, "list", prefix, objstore.Range{}, err))
					return
				}
				if !yield(info, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			token = page.NextContinuationToken
			if err := turns.next(page); err != nil {
				yield(objstore.Info{}, b.fail(ctx, "list", prefix, objstore.Range{}, err))
				return
			}
		}
	}
}

func (b *Bucket) page(ctx context.Context, prefix, delimiter, after string, token *string) (out *s3.ListObjectsV2Output, err error) {
	err = b.call(ctx, func(ctx context.Context, with func(*s3.Options)) (err error) {
		out, err = b.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.cfg.Bucket, Prefix: opt(prefix),
			Delimiter: opt(delimiter), StartAfter: opt(after), ContinuationToken: token, RequestPayer: b.payer,
			EncodingType: types.EncodingTypeUrl, // XML cannot carry every key
		}, with)
		return err
	})
	if err == nil && out.Name == nil && out.KeyCount == nil && len(out.Contents)+len(out.CommonPrefixes) == 0 {
		err = fmt.Errorf("answer is no listing: %w", objstore.ErrUnavailable) // a page of a proxy
	}
	return out, err
}

func listed(o types.Object, enc types.EncodingType) (objstore.Info, error) {
	key, err := plainKey(aws.ToString(o.Key), enc)
	if err != nil {
		return objstore.Info{}, err
	}
	return objstore.Info{Key: key, Size: aws.ToInt64(o.Size), ETag: aws.ToString(o.ETag), ModTime: aws.ToTime(o.LastModified)}, nil
}

// plainKey decodes a key of a listing.
func plainKey(key string, enc types.EncodingType) (string, error) {
	if enc != types.EncodingTypeUrl {
		return key, nil
	}
	k, err := url.QueryUnescape(key) // S3 encodes a space as "+"
	if err != nil {
		return "", fmt.Errorf("listed key %q: %w", key, objstore.ErrUnavailable)
	}
	return k, nil
}

// Delete removes key, or puts a delete marker on it in a versioned bucket: one request.
func (b *Bucket) Delete(ctx context.Context, key string) error { return b.delete(ctx, key, "") }

// DeleteIf implements objstore.ConditionalDeleter: one request. A server that does not
// support the condition either refuses it, which is ErrInvalid, or ignores it and
// deletes the object.
func (b *Bucket) DeleteIf(ctx context.Context, key, etag string) error {
	if etag == "" {
		return b.fail(ctx, "delete", key, objstore.Range{}, fmt.Errorf("no ETag to match: %w", objstore.ErrInvalid))
	}
	return b.delete(ctx, key, etag)
}

func (b *Bucket) delete(ctx context.Context, key, etag string) error {
	err := checkKey(key)
	if err == nil {
		err = b.call(ctx, func(ctx context.Context, with func(*s3.Options)) error {
			out, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.cfg.Bucket, Key: &key, IfMatch: opt(etag), RequestPayer: b.payer}, with)
			if err != nil {
				return err
			}
			// S3 answers 204. Other stores may answer a plain 200, but not with a page.
			if r, ok := awsmiddleware.GetRawResponse(out.ResultMetadata).(*smithyhttp.Response); ok && r.StatusCode == http.StatusOK && r.ContentLength > 0 {
				return fmt.Errorf("an answer of %d bytes to a request to delete %w", r.ContentLength, errUnnamed)
			}
			return nil
		})
	}
	err = b.fail(ctx, "delete", key, objstore.Range{}, err)
	var e *objstore.Error
	if errors.As(err, &e) && errors.Is(err, objstore.ErrNotFound) && e.Code != "NoSuchBucket" {
		return nil // S3 itself gives no error for a missing key; some other stores do
	}
	return err
}

// Tags implements objstore.Tagger: one request. If the server knows no tags, the error
// is ErrInvalid.
func (b *Bucket) Tags(ctx context.Context, key, versionID string) (map[string]string, error) {
	var out *s3.GetObjectTaggingOutput
	err := checkKey(key)
	if err == nil {
		err = b.call(ctx, func(ctx context.Context, with func(*s3.Options)) (err error) {
			out, err = b.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: &b.cfg.Bucket, Key: &key,
				VersionId: opt(versionID), RequestPayer: b.payer}, with)
			return err
		})
	}
	tags := map[string]string{}
	if err != nil {
		err = b.fail(ctx, "tags", key, objstore.Range{}, err)
		var e *objstore.Error
		if errors.As(err, &e) {
			switch {
			case e.Code == "NoSuchTagSet":
				return tags, nil
			case e.Status == http.StatusMethodNotAllowed, e.Status == http.StatusNotImplemented:
				// For an object these statuses mean a delete marker; for its tags they
				// mean that the server has no tags.
				e.Err = fmt.Errorf("no tags here: %w", objstore.ErrInvalid)
			}
		}
		return nil, err
	}
	for _, t := range out.TagSet {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return tags, nil
}

// opt is a pointer to s, or nil if s is empty, so that the field is not sent.
func opt(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// version drops the name "null", which S3 gives to objects from before versioning.
func version(v *string) string {
	if s := aws.ToString(v); s != "null" {
		return s
	}
	return ""
}
