// Package functions turns uploads into derived objects: it decodes events,
// matches them against rules, runs idempotent jobs and answers the queue.
// Jobs are in its subpackages; [Pair], [Single] and [Retirement] are what they
// publish outputs with.
package functions

import (
	"context"

	"github.com/farread/farread/objstore"
)

// An Upload is one created object. Key is URL-decoded, ETag is quoted as in HTTP.
// VersionID is empty if the bucket keeps no versions. An upload that is known by
// its name alone has neither ETag nor Sequencer, and Size 0; Handle completes it.
type Upload struct {
	Bucket, Key, ETag, VersionID, Sequencer string

	Size int64
}

// A Job turns one upload into derived objects. Running a job twice is harmless.
// src is the upload's bucket; results go where the job was built to put them. A
// job returns what it wrote: nothing if the output of this version, or of a newer
// one, was there.
//
// An error decides what becomes of the event. ErrSkip acknowledges it. A sentinel of
// formats (ErrCorrupt, ErrUnsupported, ErrTooLarge, ErrNoEntry) is a permanent failure.
// An objstore.Error that says of u.Key itself that it is gone or replaced drops the
// event, unless it matches ErrOutput. After any other error the event comes again.
type Job interface {
	Run(ctx context.Context, src objstore.Bucket, u Upload) ([]objstore.Info, error)
}
