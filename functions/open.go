package functions

import (
	"context"
	"errors"

	"github.com/farread/farread/objstore"
)

// Open opens the version of src's object that u names. It sets o.IfMatch and
// o.VersionID. If u has an ETag and a VersionID, Open first asks for the present object
// of the key, on the condition that it has u's ETag. If a delete marker hides all
// versions, the error is objstore.ErrNotFound, although the version could be read. If
// the version was replaced, Open reads it by a second request. If u has no VersionID
// and the object was replaced, the error is objstore.ErrChanged.
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
