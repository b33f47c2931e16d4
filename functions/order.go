package functions

import (
	"context"
	"errors"
	"strings"

	"github.com/farread/farread/objstore"
)

// An age says whether one version of an upload is older or newer than another of the
// same key.
type age int

const (
	older age = iota - 1
	same
	newer
)

// compareSequencers orders two sequencers of one key as S3 says: the shorter is
// padded on the right with zeros, then they compare as text. Hexadecimal digits
// may differ in case between stores.
func compareSequencers(a, b string) age {
	n := max(len(a), len(b))
	pad := func(s string) string { return strings.ToUpper(s) + strings.Repeat("0", n-len(s)) }
	return age(strings.Compare(pad(a), pad(b)))
}

// sameVersion reports whether a and b are the same bytes in the same version of
// the object. Without a version id the ETag alone decides.
func sameVersion(a, b Upload) bool { return a.ETag == b.ETag && a.VersionID == b.VersionID }

// A clock orders versions of one upload. If sequencers cannot, it asks the source
// bucket, once, which version is the current one.
type clock struct {
	src     objstore.Bucket
	asked   bool
	current objstore.Info // zero ETag: no such object now
}

// age reports whether a is older or newer than b. Sequencers decide if they differ.
// Else the object's current version is newer than any other; if neither is current, a
// counts as older.
func (c *clock) age(ctx context.Context, a, b Upload) (age, error) {
	if a.Sequencer != "" && b.Sequencer != "" {
		// S3 gives each version of a key another sequencer. Some emulations give all
		// versions the same one, which then says nothing.
		if s := compareSequencers(a.Sequencer, b.Sequencer); s != same {
			return s, nil
		}
	}
	if sameVersion(a, b) {
		return same, nil
	}
	is, err := c.isCurrent(ctx, a)
	if err != nil {
		return same, err
	}
	if is {
		return newer, nil
	}
	return older, nil
}

// isCurrent reports whether u is the version that its key holds now.
func (c *clock) isCurrent(ctx context.Context, u Upload) (bool, error) {
	if !c.asked {
		info, err := c.src.Head(ctx, u.Key)
		if err != nil && (!errors.Is(err, objstore.ErrNotFound) || !gone(err, u.Key)) {
			return false, err
		}
		c.current, c.asked = info, true
	}
	if c.current.ETag == "" {
		return false, nil
	}
	return u.ETag == c.current.ETag && (u.VersionID == "" || u.VersionID == c.current.VersionID), nil
}
