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
	"github.com/aws/smithy-go/logging"
)

// loadEnv is Load of the environment alone: there Lambda puts region and credentials, which
// live as long as the process. Shared files, roles that are assumed, and the metadata of
// instances would add 1.5 MB to functions that may have 14, and 0.4 MB of it comes with the
// SDK's own reader of the environment.
func loadEnv(_ context.Context, o LoadOptions) (aws.Config, error) {
	env := environment{}
	if err := env.check(); err != nil {
		return aws.Config{}, err
	}
	c := aws.Config{Region: o.Region, Credentials: o.Credentials, Logger: o.Log, ConfigSources: []any{env}, AppID: os.Getenv("AWS_SDK_UA_APP_ID")}
	if c.Logger == nil {
		c.Logger = logging.Nop{}
	}
	if c.Region == "" {
		c.Region = firstOf("AWS_REGION", "AWS_DEFAULT_REGION")
	}
	if c.Credentials == nil {
		keys := env.keys()
		c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			if !keys.HasKeys() {
				return aws.Credentials{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
			}
			return keys, nil
		})
	}
	const defaultsMode = "AWS_DEFAULTS_MODE"
	if mode := os.Getenv(defaultsMode); mode != "" && !c.DefaultsMode.SetFromString(mode) {
		return aws.Config{}, &LoadError{defaultsMode, errors.New("no mode is called " + mode)}
	}
	if near := os.Getenv("AWS_ENDPOINT_URL"); near != "" {
		if ignored, _, _ := flag(ignoreEndpoints); !ignored {
			c.BaseEndpoint = &near
		}
	}
	return withCAs(c, os.Getenv(CABundle))
}

// withCAs is c with the CAs of a file in addition. If there is no file, it is c.
func withCAs(c aws.Config, file string) (aws.Config, error) {
	if file == "" {
		return c, nil
	}
	pem, err := os.ReadFile(file) //nolint:gosec // the file that its variable names
	pool := x509.NewCertPool()
	if err == nil && !pool.AppendCertsFromPEM(pem) {
		err = errors.New("no certificates in " + file)
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
