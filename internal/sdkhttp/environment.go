package sdkhttp

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// An environment answers what the clients of services ask of a source of configuration. The
// methods are named by the SDK, as are the variables
// (https://docs.aws.amazon.com/sdkref/latest/guide/environment-variables.html).
type environment struct{}

const (
	ignoreEndpoints = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
	useDualStack    = "AWS_USE_DUALSTACK_ENDPOINT"
	useFIPS         = "AWS_USE_FIPS_ENDPOINT"
	useARNRegion    = "AWS_S3_USE_ARN_REGION"
	noMultiRegion   = "AWS_S3_DISABLE_MULTIREGION_ACCESS_POINTS"
	noExpress       = "AWS_S3_DISABLE_EXPRESS_SESSION_AUTH"
)

// flags are the variables that are true or false.
func flags() []string {
	return []string{ignoreEndpoints, useDualStack, useFIPS, useARNRegion, noMultiRegion, noExpress}
}

// check says which variable has no value that can be used, as a LoadError.
func (environment) check() error {
	for _, name := range flags() {
		if _, _, err := flag(name); err != nil {
			return err
		}
	}
	return nil
}

// keys are the credentials, or none if one of both keys is not set.
func (environment) keys() aws.Credentials {
	keys := aws.Credentials{
		AccessKeyID:     firstOf("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY"),
		SecretAccessKey: firstOf("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY"),
		SessionToken:    os.Getenv("AWS_SESSION_TOKEN"),
		AccountID:       os.Getenv("AWS_ACCOUNT_ID"),
		Source:          "environment",
	}
	if !keys.HasKeys() {
		return aws.Credentials{}
	}
	return keys
}

// GetServiceBaseEndpoint is where a service alone is asked.
func (environment) GetServiceBaseEndpoint(_ context.Context, service string) (string, bool, error) {
	at := os.Getenv("AWS_ENDPOINT_URL_" + strings.ReplaceAll(strings.ToUpper(service), " ", "_"))
	return at, at != "", nil
}

func (environment) GetIgnoreConfiguredEndpoints(context.Context) (value, ok bool, err error) {
	return flag(ignoreEndpoints)
}

func (environment) GetS3UseARNRegion(context.Context) (value, ok bool, err error) {
	return flag(useARNRegion)
}

func (environment) GetS3DisableMultiRegionAccessPoints(context.Context) (value, ok bool, err error) {
	return flag(noMultiRegion)
}

func (environment) GetS3DisableExpressAuth() (value, ok bool) {
	value, ok, _ = flag(noExpress)
	return value, ok
}

func (environment) GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error) {
	return stateOf(useDualStack, aws.DualStackEndpointStateEnabled, aws.DualStackEndpointStateDisabled)
}

func (environment) GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error) {
	return stateOf(useFIPS, aws.FIPSEndpointStateEnabled, aws.FIPSEndpointStateDisabled)
}

// stateOf is a variable as a state of the SDK, whose zero value is the one that is not set.
func stateOf[T any](name string, on, off T) (state T, ok bool, err error) {
	use, ok, err := flag(name)
	switch {
	case !ok:
		return state, false, err
	case use:
		return on, true, nil
	}
	return off, true, nil
}

// flag is a variable that is true or false, and if it is set. Its errors are LoadErrors.
func flag(name string) (value, ok bool, err error) {
	switch v := os.Getenv(name); {
	case v == "":
		return false, false, nil
	case strings.EqualFold(v, "true"):
		return true, true, nil
	case strings.EqualFold(v, "false"):
		return false, true, nil
	default:
		return false, false, &LoadError{name, errors.New("has to be true or false, not " + v)}
	}
}

// firstOf is the value of the first variable that is set.
func firstOf(names ...string) string {
	for _, name := range names {
		if v := os.Getenv(name); v != "" {
			return v
		}
	}
	return ""
}
