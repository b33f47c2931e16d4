//go:build lambda.norpc

package sdkhttp

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Load makes the SDK's configuration, of the environment alone. Its errors are LoadErrors.
func Load(ctx context.Context, o LoadOptions) (aws.Config, error) { return loadEnv(ctx, o) }
