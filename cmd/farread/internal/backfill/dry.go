package backfill

import (
	"context"

	"github.com/farread/farread/objstore"
)

// A dryBucket can be read, and refuses to be written to.
type dryBucket struct{ objstore.Bucket }

// Unwrap lets optional interfaces be found.
func (b dryBucket) Unwrap() objstore.Bucket { return b.Bucket }

// Create refuses, with the name of the output.
func (b dryBucket) Create(_ context.Context, key string, _ objstore.PutOptions) (objstore.Writer, error) {
	return nil, &dryError{b.Name(), key}
}

// Delete refuses as well.
func (b dryBucket) Delete(_ context.Context, key string) error { return &dryError{b.Name(), key} }

// DeleteIf deletes nothing and succeeds: a job that calls it has written its output,
// or found it unchanged, and a dry run tells that.
func (dryBucket) DeleteIf(context.Context, string, string) error { return nil }

type dryError struct{ bucket, key string }

func (e *dryError) Error() string { return e.bucket + "/" + e.key + " would be written" }
