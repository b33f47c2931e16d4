//go:build !lambda.norpc

package sdkhttp

import (
	"context"
	"errors"
	"io/fs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// Load makes the SDK's configuration, of the environment, shared files and roles. Its errors
// are LoadErrors, or those of ctx.
func Load(ctx context.Context, o LoadOptions) (aws.Config, error) {
	log := o.Log
	if log == nil {
		log = logging.Nop{}
	}
	with := []func(*config.LoadOptions) error{config.WithLogger(log)}
	if o.Region != "" {
		with = append(with, config.WithRegion(o.Region))
	}
	if o.Profile != "" {
		with = append(with, config.WithSharedConfigProfile(o.Profile))
	}
	if o.Credentials != nil {
		with = append(with, config.WithCredentialsProvider(o.Credentials))
	}
	c, err := config.LoadDefaultConfig(ctx, with...)
	if e := (config.SharedConfigProfileNotExistError{}); o.Credentials != nil && o.Profile == "" && errors.As(err, &e) {
		// If a key is given, the profile of the environment does not count, and need
		// not exist. Only the shared files are left out here.
		return aws.Config{Region: o.Region, Credentials: o.Credentials, Logger: log}, nil
	}
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return aws.Config{}, ctx.Err()
	}
	part := allOfIt
	if file, shared := (*fs.PathError)(nil), (config.SharedConfigLoadError{}); errors.As(err, &file) && !errors.As(err, &shared) {
		part = CABundle // the only other file that the SDK opens here
	}
	return aws.Config{}, &LoadError{part, err}
}
