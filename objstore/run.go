package objstore

import (
	"context"

	"github.com/farread/farread/rangeio"
)

// Runs implements rangeio.Runner, for the requests of Long that ask a store for what is not
// kept.
func (o *Object) Runs(off, n int64) bool {
	if n <= max(wholeBlocks*o.cache.block, joinMost) || n > o.long+o.long/8 || off < 0 || off+n > o.info.Size {
		return false
	}
	if o.fill != nil || o.disk != nil {
		return false
	}
	if also := o.o.Also.Off; len(o.also) > 0 && also < off+n && also+int64(len(o.also)) > off {
		return false
	}
	return off >= int64(len(o.head)) && off+n <= o.info.Size-int64(len(o.tail))
}

// ReadRun implements rangeio.Runner.
func (o *Object) ReadRun(ctx context.Context, r *rangeio.Run) error {
	defer o.begin(ctx)()
	err := o.fetch(ctx, r.Request())
	if err != nil && err == ctx.Err() { //nolint:errorlint // only the bare error, which says no place yet
		return o.fail(o.info.Key, Range{}, err)
	}
	return err
}
