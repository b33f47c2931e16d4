// Package functions turns uploads into derived objects: it decodes events,
// matches them against rules, runs idempotent jobs and answers the queue. Jobs
// are in its subpackages. They publish outputs by [Pair], [Single] and
// [Retirement]. A [Transform] makes a job of one function.
package functions

import (
	"context"

	"github.com/farread/farread/objstore"
)

// An Upload is one created object. Key is URL-decoded, ETag is quoted as in HTTP.
// VersionID is empty if the bucket keeps no versions. If only the name of an
// upload is known, it has no ETag and no Sequencer, and Size is 0; Handle fills
// them in.
type Upload struct {
	Bucket, Key, ETag, VersionID, Sequencer string

	Size int64
}

// A Job turns one upload into derived objects. It is harmless to run a job twice. src
// is the bucket of the upload; the job was made with the place of its outputs. A job
// returns the objects that it wrote. It returns none if the output of this version, or
// of a newer one, already exists.
//
// The error says what happens to the event. ErrSkip acknowledges the event. A sentinel
// of formats (ErrCorrupt, ErrUnsupported, ErrTooLarge, ErrNoEntry) is a permanent
// failure. An objstore.Error that says that u.Key was deleted or replaced drops the
// event, unless it matches ErrOutput. After any other error the event comes again.
type Job interface {
	Run(ctx context.Context, src objstore.Bucket, u Upload) ([]objstore.Info, error)
}
