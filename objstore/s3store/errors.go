package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// fail adds to err the place of the call and a sentinel.
func (b *Bucket) fail(ctx context.Context, op, key string, r objstore.Range, err error) error {
	if err == nil {
		return nil
	}
	e := &objstore.Error{Op: op, Bucket: b.Name(), Key: key, Range: r}
	var ae smithy.APIError
	var re *awshttp.ResponseError
	if errors.As(err, &re) {
		e.Status, e.RequestID = re.HTTPStatusCode(), re.ServiceRequestID()
	}
	if errors.As(err, &ae) {
		e.Code = ae.ErrorCode()
	}
	e.Err = b.cause(ctx, e.Status, e.Code, ae, err)
	return e
}

func (b *Bucket) cause(ctx context.Context, status int, code string, ae smithy.APIError, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s := sentinel(err); s != nil {
		return err // ours already
	}
	if errors.As(err, new(*sdkhttp.NoCredentials)) {
		return fmt.Errorf("%s; public buckets can be read without: %w", sdkhttp.SetCredentials, objstore.ErrDenied)
	}
	if wire.Limited(err) {
		return wire.Failure(ctx, err)
	}
	if status == 0 {
		return wire.Failure(ctx, last(err)) // nothing was answered
	}
	if status >= 300 && status < 400 && status != http.StatusNotModified {
		return fmt.Errorf("the endpoint redirects: %w", objstore.ErrUnavailable)
	}
	s, ok := byCode[code]
	if !ok {
		s = objstore.StatusError(status)
	}
	if status < 300 {
		s = objstore.ErrUnavailable // an answer that could not be read, or an error inside a 200
	}
	if ae != nil && ae.ErrorMessage() != "" && errors.Is(s, objstore.ErrInvalid) {
		return fmt.Errorf("%s: %w", ae.ErrorMessage(), s)
	}
	return s
}

// sentinel is the sentinel that err matches already, or nil.
func sentinel(err error) error {
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied,
		objstore.ErrThrottled, objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrCorrupt, objstore.ErrInvalid} {
		if errors.Is(err, s) {
			return s
		}
	}
	return nil
}

// errUnnamed is the error for a successful answer without the headers that S3 always
// sends, for example a page of a proxy. It does not tell that anything was stored.
var errUnnamed = fmt.Errorf("is no answer of S3: %w", objstore.ErrUnavailable)

// named is the name in an answer, or errUnnamed.
func named(name *string, what string) (string, error) {
	if aws.ToString(name) == "" {
		return "", fmt.Errorf("an answer without %s %w", what, errUnnamed)
	}
	return *name, nil
}

// last is the cause of a failure that came before any answer. The SDK wraps it in the
// operation, the endpoint and the number of tries, which the error says already.
func last(err error) error {
	var send *smithyhttp.RequestSendError
	if errors.As(err, &send) {
		return send.Err
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// byCode lists the codes whose HTTP status alone would mislead.
var byCode = map[string]error{ //nolint:gochecknoglobals // a constant table
	"NoSuchKey": objstore.ErrNotFound, "NoSuchBucket": objstore.ErrNotFound, "NoSuchVersion": objstore.ErrNotFound,
	"NoSuchUpload": objstore.ErrNotFound, "NotFound": objstore.ErrNotFound, "MethodNotAllowed": objstore.ErrNotFound, // the version is a delete marker
	"PreconditionFailed": objstore.ErrChanged, "ConditionalRequestConflict": objstore.ErrChanged, "OperationAborted": objstore.ErrChanged,
	"InvalidRange": objstore.ErrBadRange, "NotImplemented": objstore.ErrInvalid,
	"SlowDown": objstore.ErrThrottled, "RequestLimitExceeded": objstore.ErrThrottled, "Throttling": objstore.ErrThrottled,
	"ThrottlingException": objstore.ErrThrottled, "TooManyRequests": objstore.ErrThrottled, "BandwidthLimitExceeded": objstore.ErrThrottled,
	"InvalidAccessKeyId": objstore.ErrDenied, "XAdminUserNotFound": objstore.ErrDenied, // the gateway's 404 for an unknown access key
	"SignatureDoesNotMatch": objstore.ErrDenied, "ExpiredToken": objstore.ErrDenied, "ExpiredTokenException": objstore.ErrDenied, "RequestExpired": objstore.ErrDenied, "InvalidToken": objstore.ErrDenied, "TokenRefreshRequired": objstore.ErrDenied,
	"RequestTimeout": objstore.ErrUnavailable, "InternalError": objstore.ErrUnavailable, "ServiceUnavailable": objstore.ErrThrottled,
	"IncompleteBody": objstore.ErrUnavailable, "BadDigest": objstore.ErrUnavailable,
}

// call runs one operation in the bucket's region and ends it if the store falls silent.
// If the answer names another region, the bucket moves there for good and the operation
// runs once more.
func (b *Bucket) call(ctx context.Context, run func(ctx context.Context, in func(*s3.Options)) error) error { //nolint:contextcheck // the clock made it of ours
	clock, own := silence.Join(ctx, b.cfg.Timeout)
	if own {
		defer clock.Stop()
		ctx = clock.Context()
	}
	return b.within(ctx, clock, run)
}

// within does what call does, under a clock of the caller, which goes on for the body
// of the answer.
func (b *Bucket) within(ctx context.Context, clock *silence.Clock, run func(ctx context.Context, in func(*s3.Options)) error) error {
	clock.Run() // looking for credentials may take requests, too
	if clock.OnlyTry() {
		run = once(run)
	}
	err := b.moving(ctx, b.renewing(run))
	if err == nil || !clock.Over() {
		return err
	}
	if errors.As(err, new(*sdkhttp.NoCredentials)) {
		return fmt.Errorf("the source of the credentials did not answer for %v: %w", b.cfg.Timeout, objstore.ErrUnavailable)
	}
	return clock.Err()
}

// once is run without repetitions by the SDK.
func once(run func(context.Context, func(*s3.Options)) error) func(context.Context, func(*s3.Options)) error {
	return func(ctx context.Context, in func(*s3.Options)) error {
		return run(ctx, func(o *s3.Options) {
			in(o)
			o.RetryMaxAttempts = 1
		})
	}
}

func (b *Bucket) moving(ctx context.Context, run func(ctx context.Context, in func(*s3.Options)) error) error {
	region := b.where()
	err := run(ctx, func(o *s3.Options) { o.Region = region })
	if err == nil {
		return nil
	}
	other := b.elsewhere(ctx, region, err)
	if other == "" || other == region {
		return err
	}
	b.mu.Lock()
	b.region = other
	b.mu.Unlock()
	return run(ctx, func(o *s3.Options) { o.Region = other })
}

func (b *Bucket) where() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.region
}

const regionHeader = "X-Amz-Bucket-Region"

// expecting is how S3 words a signature for the wrong region.
var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

// elsewhere reads the bucket's region from an error. If the error says only that the
// bucket is not here, it asks once.
func (b *Bucket) elsewhere(ctx context.Context, region string, err error) string {
	var re *awshttp.ResponseError
	if !errors.As(err, &re) || re.Response == nil {
		return ""
	}
	status := re.HTTPStatusCode()
	if status != http.StatusMovedPermanently && status != http.StatusTemporaryRedirect &&
		status != http.StatusBadRequest && status != http.StatusForbidden {
		return ""
	}
	if h := re.Response.Header.Get(regionHeader); h != "" {
		return h
	}
	var ae smithy.APIError
	if !errors.As(err, &ae) {
		return ""
	}
	switch ae.ErrorCode() {
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException", "TemporaryRedirect":
	default:
		return ""
	}
	if m := expecting.FindStringSubmatch(ae.ErrorMessage()); m != nil {
		return m[1]
	}
	out, err := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.cfg.Bucket}, func(o *s3.Options) { o.Region = region })
	switch {
	case err == nil && out.BucketRegion != nil:
		return *out.BucketRegion
	case errors.As(err, &re) && re.Response != nil:
		return re.Response.Header.Get(regionHeader)
	}
	return ""
}
