// Package functions turns uploads into derived objects: it decodes events,
// matches them against rules, runs idempotent jobs and answers the queue.
package functions

import (
	"context"

	"github.com/farread/farread/objstore"
)

// An Upload is one created object, its key already URL-decoded.
type Upload struct {
	Bucket, Key, ETag, VersionID, Sequencer string

	Size int64
}

// A Job turns one upload into derived objects. Running it twice is harmless.
// src is the upload's bucket; results go where the job was built to put them.
// A permanent failure matches formats.Err*; anything else may be retried.
type Job interface {
	Run(ctx context.Context, src objstore.Bucket, u Upload) ([]objstore.Info, error)
}
