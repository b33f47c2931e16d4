package sdkhttp

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// loadEnv is Load of the environment alone: there Lambda puts region and credentials, which
// live as long as the process. Shared files, roles that are assumed, and the metadata of
// instances would add 1.5 MB to functions that may have 14.
func loadEnv(_ context.Context, o LoadOptions) (aws.Config, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return aws.Config{}, &LoadError{allOfIt, err}
	}
	c := aws.Config{Region: o.Region, Credentials: o.Credentials, Logger: o.Log, ConfigSources: []any{env}, DefaultsMode: env.DefaultsMode, AppID: env.AppID}
	if c.Logger == nil {
		c.Logger = logging.Nop{}
	}
	if c.Region == "" {
		c.Region = env.Region
	}
	if c.Credentials == nil {
		c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if !env.Credentials.HasKeys() {
				return aws.Credentials{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
			}
			return env.Credentials, nil
		})
	}
	if ignore := env.IgnoreConfiguredEndpoints; env.BaseEndpoint != "" && (ignore == nil || !*ignore) {
		c.BaseEndpoint = &env.BaseEndpoint
	}
	if env.CustomCABundle == "" {
		return c, nil
	}
	pem, err := os.ReadFile(env.CustomCABundle)
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(pem) {
		err = errors.New("no certificates in " + env.CustomCABundle)
	}
	if err != nil {
		return aws.Config{}, &LoadError{CABundle, err}
	}
	c.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		if tr.TLSClientConfig == nil {
			tr.TLSClientConfig = &tls.Config{}
		}
		tr.TLSClientConfig.RootCAs = pool
	})
	return c, nil
}
