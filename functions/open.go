package functions

import (
	"context"
	"errors"

	"github.com/farread/farread/objstore"
)

// Open opens the version of src's object that u names. The version that a key holds
// now is asked for first, on the condition that it is that one: where a delete marker
// hides all of them the answer is ErrNotFound, though older versions could be read. A
// version that was replaced is read all the same; that is a second request.
func Open(ctx context.Context, src objstore.Bucket, u Upload, o objstore.OpenOptions) (*objstore.Object, error) {
	o.IfMatch, o.VersionID = u.ETag, u.VersionID
	if u.VersionID == "" || u.ETag == "" {
		return objstore.Open(ctx, src, u.Key, o)
	}
	now := o
	now.VersionID = ""
	obj, err := objstore.Open(ctx, src, u.Key, now)
	if err == nil && obj.Info().VersionID == u.VersionID || err != nil && !errors.Is(err, objstore.ErrChanged) {
		return obj, err
	}
	return objstore.Open(ctx, src, u.Key, o)
}
