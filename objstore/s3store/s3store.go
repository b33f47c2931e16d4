// Package s3store reads and writes one bucket of S3, or of a store that speaks
// its protocol, through the AWS SDK.
//
// Credentials, region, endpoint and profile come from where the SDK finds them
// (environment, shared files, roles) unless the configuration says otherwise.
// Requests that got no usable answer are repeated here, by the SDK; bodies that
// break are not: objstore.Object continues those. The costs that methods name leave
// out these repetitions, and those after an answer that names another region.
// Objects are read as stored, also those with Content-Encoding gzip.
package s3store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// Checksum decides when uploads have a checksum, besides the ones of transport
// and signature.
type Checksum string

// The modes. In both modes, TLS protects the bytes of uploads in transit; without TLS,
// a SHA-256 in the signature does. In both modes, Get asks for the checksum of an
// object that is sent whole, which objstore.Object compares.
const (
	// WhenRequired is the default: only for operations that S3 refuses without.
	WhenRequired Checksum = "required"
	// Always sends a CRC-32 with uploads.
	Always Checksum = "always"
)

// Config says which bucket and how to reach it. Only Bucket is needed.
type Config struct {
	Bucket string
	// Endpoint is the URL of another store than AWS; "": AWS_ENDPOINT_URL and
	// its like, else AWS.
	Endpoint string
	// Region "" means the region of the environment or profile, or else us-east-1. If
	// an answer names another region for the bucket, that one is used from then on.
	Region        string
	Profile       string        // profile of the shared files; "": AWS_PROFILE
	PathStyle     bool          // bucket in the path; always for endpoints on an IP address or a host without a dot, as localhost
	Anonymous     bool          // send no credentials, for public buckets
	RequesterPays bool          // agree to be billed
	Checksum      Checksum      // "": WhenRequired
	Concurrency   int           // requests in flight that connections are kept for, without a Transport; below 64: 64
	Attempts      int           // tries of one request; 0: 5
	MaxWait       time.Duration // most between two tries, also when the store asks for more; 0: 5 s, or a quarter of Timeout
	// Timeout bounds the silence of the store. A call, with all its tries, ends if
	// the store has neither sent nor received 1 KiB for this time. A single try ends
	// after half of it if not a byte was transferred. The store gets more time to
	// process what it has received. The Stall of an Object replaces Timeout. 0 means
	// 20 s, a negative value no limit.
	Timeout time.Duration
	Counter *objstore.Counter // gets requests, repetitions and bytes received; nil: none
	Logger  *slog.Logger      // the SDK's messages at debug, uploads that could not be aborted at warn; nil: none

	// AccessKey and SecretKey are used instead of the SDK's search, both or none.
	AccessKey, SecretKey string
	// Transport carries the requests; nil: one of the bucket's own. One that is given
	// must not decompress.
	Transport http.RoundTripper
}

func (c Config) withDefaults() Config {
	if c.Checksum == "" {
		c.Checksum = WhenRequired
	}
	if c.Attempts == 0 {
		c.Attempts = 5 // the SDK's 3 do not outlast three errors in a row
	}
	c.Timeout = silence.Limit(c.Timeout)
	if c.MaxWait <= 0 {
		c.MaxWait = httplimit.MaxWait(c.Timeout)
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	no := func(format string, a ...any) {
		errs = append(errs, fmt.Errorf(format+": %w", append(a, objstore.ErrInvalid)...))
	}
	if c.Bucket == "" || strings.ContainsAny(c.Bucket, "/?# ") {
		no("bucket name %q", c.Bucket)
	}
	if c.Checksum != WhenRequired && c.Checksum != Always {
		no("checksum mode %q is neither %q nor %q", c.Checksum, WhenRequired, Always)
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		no("access key and secret key belong together")
	}
	if c.Anonymous && c.AccessKey != "" {
		no("anonymous, but with an access key")
	}
	if c.Attempts < 0 {
		no("%d attempts", c.Attempts)
	}
	return errors.Join(errs...)
}

// A Bucket is one bucket. It implements objstore.Bucket, objstore.Tagger,
// objstore.Continuer and objstore.ConditionalDeleter. Its methods are safe for
// concurrent use. It needs no Close; CloseIdleConnections ends its connections.
type Bucket struct {
	cfg    Config
	client *s3.Client
	http   *http.Client
	payer  types.RequestPayer

	credentials aws.CredentialsProvider

	mu     sync.Mutex
	region string // configured, or learned from an answer
}

var (
	_ objstore.Bucket = (*Bucket)(nil)
	_ objstore.Tagger = (*Bucket)(nil)
)

// New reads the SDK's configuration; if that is wrong, it returns ErrInvalid. It makes
// no request to the store. Some sources of credentials make requests of their own
// before the first request.
func New(ctx context.Context, c Config) (*Bucket, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	ac, err := load(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &Bucket{cfg: c, http: client(ac, c), credentials: ac.Credentials}
	if c.RequesterPays {
		b.payer = types.RequestPayerRequester
	}
	b.region = ac.Region
	if b.region == "" {
		b.region = "us-east-1" // answers for buckets elsewhere name their region
	}
	var bad error
	b.client = s3.NewFromConfig(ac, func(o *s3.Options) {
		o.Region = b.region
		o.HTTPClient = sdkhttp.Guard(b.http)
		o.EndpointResolverV2 = newEndpoints()
		if c.Endpoint != "" {
			o.BaseEndpoint = &c.Endpoint
		}
		o.UsePathStyle = c.PathStyle
		if o.BaseEndpoint != nil {
			var near bool
			near, bad = local(*o.BaseEndpoint)
			o.UsePathStyle = near || c.PathStyle
		}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		// The SDK compares only at the end of a body, which is often not read, and
		// confuses the checksum of an object with one of a range.
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff = c.Attempts, c.MaxWait
			r.Backoff = sdkhttp.Backoff(c.MaxWait)
			r.Retryables = append(r.Retryables, retry.RetryableHTTPStatusCode{Codes: map[int]struct{}{http.StatusTooManyRequests: {}}})
		})
	})
	if bad != nil {
		return nil, bad
	}
	return b, nil
}

// load makes the SDK's configuration. Missing credentials give an error that differs
// from other errors.
func load(ctx context.Context, c Config) (aws.Config, error) {
	o := sdkhttp.LoadOptions{Region: c.Region, Profile: c.Profile}
	if c.Logger != nil {
		o.Log = logging.LoggerFunc(func(class logging.Classification, format string, v ...any) {
			c.Logger.Debug(fmt.Sprintf(format, v...), "from", "aws sdk", "class", string(class))
		})
	}
	switch {
	case c.Anonymous:
		o.Credentials = aws.AnonymousCredentials{}
	case c.AccessKey != "":
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey, Source: "configuration"}, nil
		})
	}
	ac, err := sdkhttp.Load(ctx, o)
	if wrong := (*sdkhttp.LoadError)(nil); errors.As(err, &wrong) {
		return aws.Config{}, fmt.Errorf("%s: %w: %w", wrong.Part, objstore.ErrInvalid, wrong.Err)
	}
	if err != nil {
		return aws.Config{}, err
	}
	if !c.Anonymous {
		ac.Credentials = sdkhttp.Credentials(ac.Credentials)
	}
	return ac, nil
}

// client is the SDK's own HTTP client (with AWS_CA_BUNDLE, if set), tuned. It counts
// requests as they leave.
func client(ac aws.Config, c Config) *http.Client {
	t := c.Transport
	if t == nil {
		own, ok := ac.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			own = awshttp.NewBuildableClient()
		}
		tr := own.GetTransport()
		wire.Tune(tr, c.Concurrency)
		t = tr
	}
	limited := httplimit.New(t, httplimit.Options{XML: true, Roots: sdkhttp.CABundle, Place: "endpoint (AWS_ENDPOINT_URL) and the region"})
	return &http.Client{
		Transport:     attempts{wire.Counting(limited, c.Counter, repeated)},
		CheckRedirect: redirect,
	}
}

// redirect follows only redirects that keep the method (new buckets answer 307), and
// sends no session token to another host.
func redirect(r *http.Request, via []*http.Request) error {
	s := r.Response.StatusCode
	if s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	if r.URL.Host != via[len(via)-1].URL.Host {
		r.Header.Del("X-Amz-Security-Token")
	}
	return nil
}

// local reports whether the host of an endpoint is an IP address or a name without a
// dot, such as localhost. Names such as bucket.127.0.0.1 cannot be looked up. Text
// that is not an endpoint is ErrInvalid.
func local(endpoint string) (bool, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false, fmt.Errorf("endpoint %q is not a URL such as http://127.0.0.1:9000: %w", endpoint, objstore.ErrInvalid)
	}
	h := u.Hostname()
	return net.ParseIP(h) != nil || !strings.Contains(h, "."), nil
}

// Name is "s3://" and the bucket's name.
func (b *Bucket) Name() string { return "s3://" + b.cfg.Bucket }

// Endpoint is the URL of the store without credentials and query, from Config.Endpoint or
// from where the SDK finds it; "" means AWS.
func (b *Bucket) Endpoint() string {
	base := b.client.Options().BaseEndpoint
	if base == nil {
		return ""
	}
	u, err := url.Parse(*base)
	if err != nil {
		return "" // New has refused it
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Timeout returns Config.Timeout, or 20 s if that is 0. An Object that is opened
// without a Stall uses it.
func (b *Bucket) Timeout() time.Duration { return b.cfg.Timeout }

// Counter is Config.Counter.
func (b *Bucket) Counter() *objstore.Counter { return b.cfg.Counter }

// CloseIdleConnections closes the connections of the bucket's transport that no
// request uses. The bucket stays usable.
func (b *Bucket) CloseIdleConnections() { b.http.CloseIdleConnections() }

// repeated reads the SDK's own count of tries: "attempt=2; max=5". A call with renewed
// credentials begins to count anew.
func repeated(r *http.Request) bool {
	if r.Context().Value(renewedKey{}) != nil {
		return true
	}
	h := r.Header.Get("Amz-Sdk-Request")
	return h != "" && !strings.HasPrefix(h, "attempt=1;") && h != "attempt=1"
}

// attempts counts the tries of a call, and tells the call: a write that was tried twice
// may have lost against itself.
type attempts struct{ t http.RoundTripper }

type attemptsKey struct{}

func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	if n, ok := r.Context().Value(attemptsKey{}).(*int); ok {
		*n++ // the tries of a call do not overlap
	}
	return a.t.RoundTrip(r)
}

// CloseIdleConnections lets http.Client reach the transport inside.
func (a attempts) CloseIdleConnections() {
	if c, ok := a.t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
