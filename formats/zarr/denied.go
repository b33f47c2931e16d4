package zarr

import (
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
)

// ErrMaybeAbsent is the error of a Store that was refused an object, and by that was not told
// whether there is one: S3 answers 403 for what is not there to those who may not list the bucket.
var ErrMaybeAbsent = errors.New("the store does not say whether it is there: that takes permission to list the bucket (s3:ListBucket)")

// absent reports whether an object is taken for one that is not there: that is proven, or it may
// be so and the caller has said that such are not there.
func (o Options) absent(err error) bool {
	return errors.Is(err, formats.ErrNoEntry) || o.DeniedIsAbsent && errors.Is(err, ErrMaybeAbsent)
}

// A probe looks for metadata under several keys, and remembers those of which the store does not
// say whether they are there.
type probe struct {
	denied []string
	err    error // about the first of them
}

// none reports whether there is no document under the key, as far as can be known.
func (p *probe) none(key string, err error) bool {
	if errors.Is(err, ErrMaybeAbsent) {
		if p.denied = append(p.denied, key); p.err == nil {
			p.err = err
		}
		return true
	}
	return errors.Is(err, formats.ErrNoEntry)
}

// nothing is the error about a place without any metadata.
func (p *probe) nothing() error {
	if p.err == nil {
		return fail("", formats.ErrNoEntry, "no %s, %s or %s here", doc3, array2Key, group2Key)
	}
	return within("", fmt.Errorf("none of %s can be read: %w", strings.Join(p.denied, ", "), p.err))
}
