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
	"io/fs"
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
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/logging"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// Checksum says when checksums beyond those of transport and signature go with
// uploads.
type Checksum string

// The modes. In both, TLS protects the bytes of uploads on their way, and without
// TLS a SHA-256 in the signature does. In both, Get asks for the checksum of an object
// that is sent whole, for objstore.Object to compare.
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
	// Region "" is that of the environment or profile, or us-east-1. Whichever it is,
	// the bucket's own is learned from the first answer that names another.
	Region        string
	Profile       string        // of the shared files; "": AWS_PROFILE
	PathStyle     bool          // bucket in the path; always for endpoints on an IP address or a host without a dot, as localhost
	Anonymous     bool          // no credentials: public buckets
	RequesterPays bool          // agree to be billed
	Checksum      Checksum      // "": WhenRequired
	Concurrency   int           // requests in flight that connections are kept for, without a Transport; below 64: 64
	Attempts      int           // tries of one request; 0: 5
	MaxWait       time.Duration // most between two tries, also when the store asks for more; 0: 5 s, or a quarter of Timeout
	// Timeout bounds the silence of the store: a call, all its tries together, ends
	// when the store has neither brought nor taken 1 KiB for so long. A single try
	// without any byte ends after half of it. Work on what was sent is granted more.
	// The Stall of an Object takes its place. 0: 20 s, negative: never.
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

	mu     sync.Mutex
	region string // as configured, or as learned
}

var (
	_ objstore.Bucket = (*Bucket)(nil)
	_ objstore.Tagger = (*Bucket)(nil)
)

// New reads the SDK's configuration; a wrong one is ErrInvalid. It makes no request to
// the store; some sources of credentials make their own later, with the first one.
func New(ctx context.Context, c Config) (*Bucket, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	ac, err := load(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &Bucket{cfg: c, http: client(ac, c)}
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
		// The SDK would compare only at the end of a body, which is often not read, and
		// would take the checksum of an object for that of a range.
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
	var with []func(*config.LoadOptions) error
	if c.Region != "" {
		with = append(with, config.WithRegion(c.Region))
	}
	if c.Profile != "" {
		with = append(with, config.WithSharedConfigProfile(c.Profile))
	}
	log := logging.Logger(logging.Nop{})
	if c.Logger != nil {
		log = logging.LoggerFunc(func(class logging.Classification, format string, v ...any) {
			c.Logger.Debug(fmt.Sprintf(format, v...), "from", "aws sdk", "class", string(class))
		})
	}
	with = append(with, config.WithLogger(log))
	switch {
	case c.Anonymous:
		with = append(with, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	case c.AccessKey != "":
		with = append(with, config.WithCredentialsProvider(aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey, Source: "configuration"}, nil
			})))
	}
	ac, err := config.LoadDefaultConfig(ctx, with...)
	if e := (config.SharedConfigProfileNotExistError{}); c.AccessKey != "" && c.Profile == "" && errors.As(err, &e) {
		// If a key is given, the profile of the environment does not count, and need
		// not exist. Only the shared files are left out here.
		own := config.LoadOptions{}
		for _, f := range with {
			if err := f(&own); err != nil {
				return aws.Config{}, err
			}
		}
		ac, err = aws.Config{Region: own.Region, Credentials: own.Credentials, Logger: log}, nil
	}
	if err != nil {
		if ctx.Err() != nil {
			return aws.Config{}, ctx.Err()
		}
		what := "aws configuration"
		if file, shared := (*fs.PathError)(nil), (config.SharedConfigLoadError{}); errors.As(err, &file) && !errors.As(err, &shared) {
			what = caBundle // the only other file that the SDK opens here
		}
		return aws.Config{}, fmt.Errorf("%s: %w: %w", what, objstore.ErrInvalid, err)
	}
	if !c.Anonymous {
		ac.Credentials = sdkhttp.Credentials(ac.Credentials)
	}
	return ac, nil
}

// caBundle is the variable that names additional CAs for the SDK.
const caBundle = "AWS_CA_BUNDLE"

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
	limited := httplimit.New(t, httplimit.Options{XML: true, Roots: caBundle, Place: "endpoint (AWS_ENDPOINT_URL) and the region"})
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

// local says whether the host of an endpoint is an IP address or a name without a dot,
// such as localhost. Names such as bucket.127.0.0.1 cannot be looked up. Text that is
// not an endpoint is ErrInvalid.
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

// Timeout is that of the configuration, 20 s if that was 0: the Stall of Objects that
// are opened on the bucket without one.
func (b *Bucket) Timeout() time.Duration { return b.cfg.Timeout }

// CloseIdleConnections closes the connections of the bucket's transport that no
// request uses. The bucket stays usable.
func (b *Bucket) CloseIdleConnections() { b.http.CloseIdleConnections() }

// repeated reads the SDK's own count of tries: "attempt=2; max=5".
func repeated(r *http.Request) bool {
	h := r.Header.Get("Amz-Sdk-Request")
	return h != "" && !strings.HasPrefix(h, "attempt=1;") && h != "attempt=1"
}

// attempts counts the tries of a call, and tells the call: a write that was tried twice
// may have lost against itself.
type attempts struct{ t http.RoundTripper }

type attemptsKey struct{}

func (a attempts) RoundTrip(r *http.Request) (*http.Response, error) {
	if n, ok := r.Context().Value(attemptsKey{}).(*int); ok {
		*n++ // one call tries one after the other
	}
	return a.t.RoundTrip(r)
}

// CloseIdleConnections lets http.Client reach the transport inside.
func (a attempts) CloseIdleConnections() {
	if c, ok := a.t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
