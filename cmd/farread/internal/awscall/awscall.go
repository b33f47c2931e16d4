// Package awscall is what the clients of AWS's services besides S3 have in common: where
// they take their configuration from, how long they wait, and how their errors read.
package awscall

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/sdkhttp"
	"github.com/farread/farread/objstore"
)

// Options are options for requests to a service. The environment and the configuration
// files of AWS fill in empty fields.
type Options struct {
	Region, Profile, Endpoint string
	Silence                   time.Duration // limit for the silence of the service; see package silence
}

// Load makes the configuration of a client, all but the endpoint, which the client has to be
// told: the SDK prefers the environment's to a configuration's. It sends no request. Answers may have up to
// most bytes; place is what says where the service is, for errors about that.
func (o Options) Load(ctx context.Context, most int64, place string) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(o.Region), config.WithSharedConfigProfile(o.Profile))
	if err != nil {
		return aws.Config{}, fmt.Errorf("aws configuration: %w: %w", objstore.ErrInvalid, err)
	}
	if cfg.Region == "" {
		cfg.Region = "us-east-1" // services outside of AWS have no region
	}
	cfg.Credentials = sdkhttp.Credentials(cfg.Credentials)
	own, ok := cfg.HTTPClient.(*awshttp.BuildableClient) // the SDK makes such a client for AWS_CA_BUNDLE
	if !ok {
		own = awshttp.NewBuildableClient()
	}
	cfg.HTTPClient = sdkhttp.Guard(&http.Client{
		Transport:     httplimit.New(own.GetTransport(), httplimit.Options{MaxAnswer: most, Roots: sdkhttp.CABundle, Place: place}),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	cfg.APIOptions = append(cfg.APIOptions, sdkhttp.Within(o.Silence))
	cfg.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(r *retry.StandardOptions) { r.Backoff = sdkhttp.Backoff(httplimit.MaxWait(o.Silence)) })
	}
	return cfg, nil
}
