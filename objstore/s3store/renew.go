package s3store

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/farread/farread/internal/sdkhttp"
)

// renewing is run, and run once more if the store says that the credentials have expired
// and their source has others by now. The SDK asks the source in time, as far as the
// clocks agree; but a process that was suspended, a revoked session and a source that did
// not tell the end come to this. The second run is a repetition, of a hedge, too.
func (b *Bucket) renewing(run func(ctx context.Context, in func(*s3.Options)) error) func(ctx context.Context, in func(*s3.Options)) error {
	return func(ctx context.Context, in func(*s3.Options)) error {
		var used aws.Credentials
		err := run(sdkhttp.Noting(ctx, &used), in)
		var ae smithy.APIError
		if err == nil || ctx.Err() != nil || !errors.As(err, &ae) || !expired[ae.ErrorCode()] || !sdkhttp.Renew(ctx, b.credentials, used) {
			return err
		}
		return run(context.WithValue(ctx, renewedKey{}, true), in)
	}
}

// expired are the codes of stores that refuse credentials as expired.
var expired = map[string]bool{ //nolint:gochecknoglobals // a constant table
	"ExpiredToken": true, "ExpiredTokenException": true, "TokenRefreshRequired": true, "RequestExpired": true, "InvalidToken": true,
}

type renewedKey struct{}
