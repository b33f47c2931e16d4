package functions

import (
	"context"
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
	"github.com/farread/farread/rangeio"
)

// ErrForgotten is matched by the error for an upload of which a Joined can no longer tell
// whether it is in the dataset: see Joined. It is a permanent failure.
var ErrForgotten = errors.New("too late to be appended once")

const (
	// joinTries is how often an append that lost begins again. Of several workers that
	// append at the same time one wins each time.
	joinTries = 40
	// joinLayout stands in the metadata of a dataset of many uploads.
	joinLayout = "joined"
	maxPause   = 4 // doublings of the pause between tries
)

// A Joined is one dataset that many uploads become: their rows, one upload behind the
// other, in the order of their keys (as bytes), each once, in its newest version. What the
// dataset is does not depend on the order in which events come, nor on how often.
//
// The dataset itself holds the record of its uploads: key, sequencer, a hash of ETag and
// version, and number of rows of each. So record and rows change in one conditional step. An
// event that comes again finds its upload there, also if the worker before ended between
// the commit and its answer. An upload whose key comes before others that are there is put
// in its place, and the rows behind it move. A newer version of an upload takes the rows of
// the older one. The deletion of an upload changes nothing.
//
// A row is a row of an array, or what all tracks of a series have at a time; where columns
// of the dataset have different numbers of rows, the record tells that of each.
//
// The record has the last 8,192 uploads in the order of keys, as far as 1 MiB holds
// them. Of those before it keeps the number, and an upload that does not come behind
// them is ErrForgotten: it may be in the dataset, or be late.
type Joined struct {
	Bucket objstore.Bucket
	Key    string
	// Layout names what besides the upload's bytes decides its rows.
	Layout string
	// Moved, if not nil, is told how many rows lay behind the place of an upload that was
	// not the last one: in the column that has most.
	Moved func(rows int64)
}

// A Grower puts one upload into a Joined. Its methods may be called more than once. Their
// errors keep their identity, except those about the dataset itself.
type Grower interface {
	// Rows returns the number of rows of the upload in each column of a dataset that it
	// begins, or one number if all have as many.
	Rows() []int64
	// Begin streams a dataset of the upload alone, and the record, into w, and leaves the
	// commit to the caller.
	Begin(ctx context.Context, w objstore.Writer, record []byte) error
	// Open looks at a dataset. An upload that cannot join it is formats.ErrUnsupported.
	Open(ctx context.Context, o *objstore.Object) (Grown, error)
	// Replace writes the upload in place of the rows [row, row+drop) of each column of o, the
	// dataset that was opened last, and the record, into f, a draft of o. The caller commits it.
	Replace(ctx context.Context, o *objstore.Object, f *draft.File, row, drop []int64, record []byte) error
}

// Grown is what a Grower finds in a dataset.
type Grown struct {
	Record []byte  // of its uploads; nil: it has none
	Rows   []int64 // of each column
	Adds   []int64 // rows of the upload in each column, or one number if all have as many
}

// Publish makes u a part of the dataset and returns the dataset's object. If this or a newer
// version of u is in it, or u was replaced, Publish returns nothing. If other workers change
// the dataset meanwhile, Publish begins again, until ctx ends or, after 40 tries, with
// ErrBusy. Errors of g keep their identity; others match ErrOutput, ErrTaken, ErrForgotten
// or ErrBusy, or are those of src. An upload that is there costs the requests of g.Open.
func (j Joined) Publish(ctx context.Context, src objstore.Bucket, u Upload, g Grower) ([]objstore.Info, error) {
	for try := range joinTries {
		if err := pause(ctx, min(try, maxPause)); err != nil {
			return nil, err
		}
		infos, err := j.once(ctx, &clock{src: src}, u, g)
		if !errors.Is(err, errLost) {
			return infos, err
		}
	}
	return nil, fmt.Errorf("%s: %d tries: %w", j.Key, joinTries, ErrBusy)
}

func (j Joined) once(ctx context.Context, c *clock, u Upload, g Grower) ([]objstore.Info, error) {
	o, err := objstore.Open(ctx, j.Bucket, j.Key, objstore.OpenOptions{Policy: rangeio.Few(), Ahead: -1})
	if errors.Is(err, objstore.ErrNotFound) {
		return j.begin(ctx, c, u, g)
	}
	if err != nil {
		return nil, output(err)
	}
	var was Grown
	if IsDerived(o.Info().Meta) {
		if was, err = g.Open(ctx, o); err != nil {
			return nil, j.mine(err)
		}
	}
	if was.Record == nil {
		return nil, fmt.Errorf("%s is no dataset that a rule with append has begun: name another one: %w: %w", j.Key, ErrTaken, formats.ErrUnsupported)
	}
	list, err := parseJoints(was.Record, was.Rows)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.Key, err)
	}
	i, row, there, err := list.find(u.Key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.Key, err)
	}
	at := joint{key: u.Key, seq: u.Sequencer, id: jointID(u, j.Layout), rows: counts(was.Adds).short()}
	have, drop := joint{}, counts{}
	if there {
		have = list.list[i]
		drop = have.rows
	}
	if want, err := at.wanted(ctx, c, u, have); err != nil || !want {
		return nil, err
	}
	if err := list.put(i, there, at); err != nil {
		return nil, err
	}
	record, err := list.encode()
	if err != nil {
		return nil, err
	}
	info, err := j.change(ctx, o, func(f *draft.File) error {
		return g.Replace(ctx, o, f, row.all(len(was.Rows)), drop.all(len(was.Rows)), record)
	})
	if err != nil {
		return nil, err
	}
	if behind := counts(was.Rows).less(row).less(drop).most(); behind > 0 && j.Moved != nil {
		j.Moved(behind)
	}
	return []objstore.Info{info}, nil
}

// wanted reports whether the upload at has to be put into the dataset, of which have is a
// part, if it has an id.
func (at joint) wanted(ctx context.Context, c *clock, u Upload, have joint) (bool, error) {
	if have.id == "" {
		if u.Sequencer != "" {
			return true, nil
		}
		return c.isCurrent(ctx, u)
	}
	if at.seq != "" && have.seq != "" {
		if a := compareSequencers(have.seq, at.seq); a != same {
			return a == older, nil
		}
	}
	if at.id == have.id {
		return false, nil
	}
	return c.isCurrent(ctx, u)
}

// begin makes the dataset of u alone.
func (j Joined) begin(ctx context.Context, c *clock, u Upload, g Grower) ([]objstore.Info, error) {
	at := joint{key: u.Key, seq: u.Sequencer, id: jointID(u, j.Layout), rows: counts(g.Rows()).short()}
	if want, err := at.wanted(ctx, c, u, joint{}); err != nil || !want {
		return nil, err
	}
	record, err := (&joints{list: []joint{at}}).encode()
	if err != nil {
		return nil, err
	}
	info, err := put(ctx, j.Bucket, j.Key, half{}, j.options(), func(w objstore.Writer) error { return g.Begin(ctx, w, record) })
	if err != nil {
		return nil, err
	}
	return []objstore.Info{info}, nil
}

func (j Joined) options() objstore.PutOptions {
	return objstore.PutOptions{ContentType: "application/octet-stream", Meta: map[string]string{MetaMarker: "1", MetaLayout: joinLayout}}
}

// change publishes a draft of the dataset o.
func (j Joined) change(ctx context.Context, o *objstore.Object, fill func(*draft.File) error) (objstore.Info, error) {
	f, err := draft.Open(ctx, o, draft.Options{})
	if err != nil {
		return objstore.Info{}, output(err)
	}
	defer f.Close() //nolint:errcheck // a temporary file
	if err := fill(f); err != nil {
		return objstore.Info{}, j.mine(err)
	}
	info, _, err := f.Commit(ctx, j.options())
	if err != nil {
		return objstore.Info{}, lost(err, true)
	}
	return info, nil
}

// mine tells errors of the dataset's store from others: they say nothing about the upload,
// and one that says that the dataset was replaced lets the append begin again.
func (j Joined) mine(err error) error {
	var e *objstore.Error
	if errors.As(err, &e) && e.Bucket == j.Bucket.Name() && e.Key == j.Key {
		return lost(err, true)
	}
	return err
}
