package functions

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/objstore"
)

// A Single is an output of one object. Publish commits it in one conditional
// step, so that in the end the newest version of the upload is there, in any
// order of events.
type Single struct {
	Bucket objstore.Bucket
	Key    string
	// Layout names what besides the upload's bytes decides the object's. An object of
	// the same version and another layout is replaced.
	Layout      string
	ContentType string // "": application/octet-stream
	// If Replace is set, an object that was made from something else counts as an older
	// one, and is replaced. It stays as it is until the new object is complete. If
	// Replace is not set, the error is ErrTaken.
	Replace bool
}

// A Filler streams the object made of u into w and leaves the commit to the caller. It
// may run more than once. The seal, 32 bytes that differ for every version of the upload
// and every layout, has to become part of the object's bytes and must not be changed: on
// S3, ETags are hashes of content. Without the seal, two versions of equal content would
// give outputs with the same ETag, and a late worker could replace the newer one.
type Filler func(ctx context.Context, u Upload, w objstore.Writer, seal []byte) error

// Publish makes the object from u and returns it. If the object of u or of a newer
// version is there already, or u was replaced, it returns nothing. src is asked which
// version is the current one if sequencers do not tell. Errors of fill keep
// their identity; others match ErrOutput, ErrTaken or ErrBusy, or are those of src.
// Finding the object costs one HEAD.
func (s Single) Publish(ctx context.Context, src objstore.Bucket, u Upload, fill Filler) ([]objstore.Info, error) {
	o := objstore.PutOptions{ContentType: s.ContentType, Meta: u.meta(s.Layout)}
	if o.ContentType == "" {
		o.ContentType = "application/octet-stream"
	}
	sum := sealOf(u, s.Layout)
	for try := range maxTries {
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
		old, err := lookOver(ctx, s.Bucket, s.Key, u, s.Replace)
		if err != nil {
			return nil, err
		}
		if want, err := s.wanted(ctx, &clock{src: src}, u, old); err != nil || !want {
			return nil, err
		}
		info, err := put(ctx, s.Bucket, s.Key, old, o, func(w objstore.Writer) error { return fill(ctx, u, w, sum[:]) })
		if err == nil {
			return []objstore.Info{info}, nil
		}
		if !errors.Is(err, errLost) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %d tries: %w", s.Key, maxTries, ErrBusy)
}

// wanted reports whether the object has to be made: it is missing, or of an older
// version or another layout, and u is not known to be out of date.
func (s Single) wanted(ctx context.Context, c *clock, u Upload, old half) (bool, error) {
	made := old.there && sameVersion(old.of, u) && old.info.Meta[MetaLayout] == s.Layout // then it makes no difference whether u is the current version
	if u.Sequencer == "" && !made {
		if is, err := c.isCurrent(ctx, u); err != nil || !is {
			return false, err
		}
	}
	if !old.there || old.other {
		return true, nil
	}
	a, err := c.age(ctx, old.of, u)
	return a == older || a == same && old.info.Meta[MetaLayout] != s.Layout, err
}
