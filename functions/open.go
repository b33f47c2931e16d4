package functions

import (
	"context"
	"errors"

	"github.com/farread/farread/objstore"
)

// Open opens the version of src's object that u names; o.IfMatch and o.VersionID are
// set by it. If u has an ETag and a VersionID, Open first asks for what the key holds
// now, on the condition that its ETag is u's: if a delete marker hides all
// versions the error is objstore.ErrNotFound, though they could be read. A version
// that was replaced is read all the same, by a second request. If u has no VersionID, a
// replaced object is objstore.ErrChanged.
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
