package functions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/objstore"
)

// An Output names the objects that one kind of output of an upload consists of.
type Output struct {
	// Keys are in the order in which they are deleted. The first object commits the
	// output, the last is there as long as any of them is: of a pair the index, then the
	// data.
	Keys []string
	// Side are the keys of objects that are of use only together with the output, such as
	// an index. They do not decide anything, and are deleted first.
	Side []string
	// Below and Suffix are used if there are no Keys: the output is all objects whose
	// keys begin with Below and end in Suffix, such as those of an archive's members.
	// They are listed. Objects in Keep are skipped if the upload is the current one.
	Below, Suffix string
	Keep          map[string]bool
	// Same decides between this output and one of another kind that was made of the same
	// version of the upload: if the result is below 0, this output is deleted like an
	// older one; above 0 the other one is. If it is 0, or Same is nil, both stay.
	Same func(context.Context) (int, error)
}

// A Retirement sees to it that an upload whose content has become of another kind has
// one output, not two: once the new one stands, what was made of older versions
// is deleted. Every worker first writes its own output and then looks at the others, so
// that of two workers that meet at least one sees both outputs, and the older one is
// deleted, whoever wrote it. Only objects whose metadata say that they were made of this
// very upload are deleted, if their version is older (or if Output.Same says so), and on
// the condition that they are still the ones that were looked at.
//
// If the version of the upload was replaced and can be read no more, a worker calls
// Replaced instead of After. Errors of Bucket match ErrOutput, ErrBusy or ErrLeft.
type Retirement struct {
	Bucket objstore.Bucket
	Own    Output   // the new output
	Others []Output // all else that its versions may have been made into; for Replaced: all
}

// ErrLeft is matched if an old output could not be deleted, because a right is missing
// or the store has no conditional delete. The output stays.
var ErrLeft = errors.New("an output of an older version is left")

// After is called once the output of u stands. It looks at the other outputs and
// deletes those that are older. If one of them is newer, it deletes u's own output
// instead. If there is none, it costs a HEAD for each of Others, or a listing.
func (r Retirement) After(ctx context.Context, src objstore.Bucket, u Upload) error {
	others := slices.Clone(r.Others)
	for i := range others {
		if others[i].Keep == nil {
			continue
		}
		// If u has been replaced, objects in Keep may be of another version.
		is, err := (&clock{src: src}).isCurrent(ctx, u)
		if err != nil {
			return err
		}
		if !is {
			others[i].Keep = nil
		}
	}
	newest, gone, err := r.judge(ctx, &clock{src: src}, others, u)
	if err != nil {
		return err
	}
	if newest != nil {
		return r.remove(ctx, src, r.Own, *newest)
	}
	var errs []error
	for _, o := range gone {
		errs = append(errs, r.remove(ctx, src, o, u))
	}
	return errors.Join(errs...)
}

// Replaced is called for a version that was replaced before its worker came, or came
// again: an earlier try may have written an output and ended before it looked at the
// others. If one of Others is of a newer version than u, those that are older than that
// version are deleted. Own is not used.
func (r Retirement) Replaced(ctx context.Context, src objstore.Bucket, u Upload) error {
	newest, _, err := r.judge(ctx, &clock{src: src}, r.Others, u)
	if err != nil || newest == nil {
		return err
	}
	var errs []error
	for _, o := range r.Others {
		errs = append(errs, r.remove(ctx, src, o, *newest))
	}
	return errors.Join(errs...)
}

// judge says which of others are older than u, and from which newer version one of
// them is made, if any.
func (r Retirement) judge(ctx context.Context, c *clock, others []Output, u Upload) (newest *Upload, gone []Output, err error) {
	seen := make([][]stood, len(others))
	g, gctx := errgroup.WithContext(ctx)
	for i, o := range others {
		g.Go(func() (err error) {
			seen[i], err = r.look(gctx, o, u)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	for i, all := range seen {
		is, by, err := r.verdict(ctx, c, others[i], all, u)
		if err != nil {
			return nil, nil, err
		}
		switch is {
		case newer:
			newest = by
		case older:
			gone = append(gone, others[i])
		case same:
		}
	}
	return newest, gone, nil
}

// stood is an object of an output, as it stood when it was looked at.
type stood struct {
	key string
	half
}

// look finds the objects of an output that were made of u's key.
func (r Retirement) look(ctx context.Context, o Output, u Upload) ([]stood, error) {
	keys := o.Keys
	if len(o.Keys) == 0 {
		for info, err := range r.Bucket.List(ctx, o.Below) {
			if err != nil {
				return nil, output(err)
			}
			if strings.HasSuffix(info.Key, o.Suffix) && !o.Keep[info.Key] {
				keys = append(keys, info.Key)
			}
		}
	}
	var all []stood
	for _, key := range slices.Backward(keys) { // for a pair, the data come first
		h, err := lookAt(ctx, r.Bucket, key, u)
		if errors.Is(err, ErrTaken) {
			continue // somebody else's object
		}
		if err != nil {
			return nil, err
		}
		if h.there {
			all = append(all, stood{key, h})
		} else if len(o.Keys) > 0 {
			break // the output has no object
		}
	}
	return all, nil
}

// verdict compares an output with u. The output is newer if readers find a newer
// version there. It is older if all of its objects are older; for a row, some of them
// are enough. Otherwise it must not be touched. For a pair the index decides, since its
// data may come from an earlier version with the same bytes.
func (r Retirement) verdict(ctx context.Context, c *clock, o Output, all []stood, u Upload) (is age, by *Upload, err error) {
	olds := 0
	for _, s := range all {
		a, err := o.stands(ctx, c, s.of, u)
		if err != nil {
			return same, nil, err
		}
		switch {
		case a == newer && (len(o.Keys) == 0 || s.key == o.Keys[0]):
			return newer, &s.of, nil
		case a == older:
			olds++
		}
	}
	if olds > 0 && (olds == len(all) || len(o.Keys) == 0) {
		return older, nil, nil
	}
	return same, nil, nil
}

// stands compares of, the version that an object of the output was made from, with
// u, as clock.surely does. If the two count as the same, Same decides.
func (o Output) stands(ctx context.Context, c *clock, of, u Upload) (age, error) {
	a, err := c.surely(ctx, of, u)
	if err != nil || a != same || o.Same == nil || !sameVersion(of, u) {
		return a, err
	}
	n, err := o.Same(ctx)
	return age(max(-1, min(1, n))), err
}

// remove deletes the objects of an output that were made before the version by. It
// ends at an object that is not older: that belongs to somebody else's work.
func (r Retirement) remove(ctx context.Context, src objstore.Bucket, o Output, by Upload) error {
	keys := o.Keys
	if len(keys) == 0 {
		all, err := r.look(ctx, o, by)
		if err != nil {
			return err
		}
		for _, s := range all {
			keys = append(keys, s.key)
		}
	}
	for _, key := range slices.Concat(o.Side, keys) {
		stop, err := r.removeOne(ctx, src, o, key, by)
		if err != nil {
			return err
		}
		if stop && len(o.Keys) > 0 {
			return nil
		}
	}
	return nil
}

func (r Retirement) removeOne(ctx context.Context, src objstore.Bucket, o Output, key string, by Upload) (stop bool, err error) {
	for try := range maxTries {
		if err := pause(ctx, try); err != nil {
			return true, err
		}
		h, err := lookAt(ctx, r.Bucket, key, by)
		if errors.Is(err, ErrTaken) || err == nil && !h.there {
			return false, nil
		}
		if err != nil {
			return true, err
		}
		// The current version is asked for after that look, or it might be out of
		// date.
		if a, err := o.stands(ctx, &clock{src: src}, h.of, by); err != nil || a != older {
			return true, err
		}
		switch err := objstore.DeleteIf(ctx, r.Bucket, key, h.info.ETag); {
		case err == nil:
			return false, nil
		case errors.Is(err, objstore.ErrDenied), errors.Is(err, objstore.ErrInvalid):
			return true, fmt.Errorf("%w: %w", ErrLeft, err)
		case !errors.Is(err, objstore.ErrChanged):
			return true, output(err)
		}
	}
	return true, fmt.Errorf("%s: %d tries: %w", key, maxTries, ErrBusy)
}

// surely is age without a guess. It returns older or newer only if sequencers say so,
// or if one of the two is the version that the key holds now. Else the two count as
// the same.
func (c *clock) surely(ctx context.Context, a, b Upload) (age, error) {
	if sameVersion(a, b) && (a.Sequencer == b.Sequencer || a.Sequencer == "" || b.Sequencer == "") {
		return same, nil
	}
	if a.Sequencer != "" && b.Sequencer != "" {
		if s := compareSequencers(a.Sequencer, b.Sequencer); s != same {
			return s, nil
		}
	}
	if is, err := c.isCurrent(ctx, a); err != nil || is {
		return newer, err
	}
	if is, err := c.isCurrent(ctx, b); err != nil || is {
		return older, err
	}
	return same, nil
}
