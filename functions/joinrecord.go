package functions

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"

	"github.com/farread/farread/formats"
)

const (
	joinVersion = 1
	// maxJoints and maxJoinRecord bound the record of a Joined: uploads that are
	// remembered, and bytes of JSON. The record is written with each append, and read by it.
	maxJoints     = 8192
	maxJoinRecord = 1 << 20
)

// A joint is an upload that is a part of a dataset, or rows that somebody appended by other
// means: these have no id, and the key of the upload in front of them.
type joint struct {
	key, seq, id string
	rows         counts
}

// joints are the uploads of a dataset, in the order of their rows: that of their keys.
type joints struct {
	before joinBefore // uploads that are not remembered any more: those with the smallest keys
	list   []joint
}

// jointID tells one version of an upload, with the other inputs in layout, from another.
func jointID(u Upload, layout string) string {
	sum := sealOf(Upload{Bucket: u.Bucket, Key: u.Key, ETag: u.ETag, VersionID: u.VersionID}, layout)
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// joinJSON is the record as it is stored:
//
//	{"version": 1, "before": [uploads, rows, "greatest key"], "uploads": [["key", "sequencer", "id", rows], …]}
//
// rows is a number, or a list where the columns of the dataset have different ones.
type joinJSON struct {
	Version int        `json:"version"`
	Before  joinBefore `json:"before"`
	Uploads []joint    `json:"uploads"`
}

type joinBefore struct {
	uploads int64
	rows    counts
	key     string // the greatest of them
}

func (b joinBefore) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{b.uploads, b.rows, b.key})
}
func (b *joinBefore) UnmarshalJSON(p []byte) error {
	return fields(p, &b.uploads, &b.rows, &b.key)
}

func (j joint) MarshalJSON() ([]byte, error)  { return json.Marshal([]any{j.key, j.seq, j.id, j.rows}) }
func (j *joint) UnmarshalJSON(p []byte) error { return fields(p, &j.key, &j.seq, &j.id, &j.rows) }

// fields reads a JSON list into its members.
func fields(p []byte, members ...any) error {
	n := len(members)
	if err := json.Unmarshal(p, &members); err != nil {
		return err
	}
	if len(members) != n {
		return fmt.Errorf("%d members, not %d", len(members), n)
	}
	return nil
}

// parseJoints reads the record of a dataset of that many rows in each column. Rows behind
// those that the record tells become a joint without an id.
func parseJoints(p []byte, rows counts) (j joints, err error) {
	bad := func(why string, a ...any) (joints, error) {
		return joints{}, fmt.Errorf("record of appended uploads: %s: %w", fmt.Sprintf(why, a...), formats.ErrCorrupt)
	}
	var v joinJSON
	switch {
	case len(p) > maxJoinRecord:
		return bad("%d bytes, at most %d", len(p), maxJoinRecord)
	case json.Unmarshal(p, &v) != nil:
		return bad("not what farread writes")
	case v.Version != joinVersion:
		return joints{}, fmt.Errorf("record of appended uploads: version %d: %w", v.Version, formats.ErrUnsupported)
	case len(v.Uploads) == 0 || len(v.Uploads) > maxJoints+1 || v.Before.uploads < 0 || !v.Before.rows.fit(rows, len(rows)),
		v.Before.uploads == 0 && (v.Before.rows.most() > 0 || v.Before.key != ""):
		return bad("%d uploads behind %d of %d rows", len(v.Uploads), v.Before.uploads, v.Before.rows)
	}
	j.before = v.Before
	left, last := rows.less(j.before.rows), j.before.key
	for i, at := range v.Uploads {
		inOrder := at.key > last
		if at.id == "" {
			inOrder = at.key == last && (i > 0 || j.before.uploads > 0)
		}
		if !at.rows.fit(left, len(rows)) || !inOrder {
			return bad("upload %d, %q, of %d rows", i, at.key, at.rows)
		}
		left, last = left.less(at.rows), at.key
	}
	if j.list = v.Uploads; left.most() > 0 {
		j.list = append(j.list, joint{key: last, rows: left})
	}
	return j, nil
}

// encode returns the record. What does not fit is forgotten first: the uploads with the
// smallest keys, but never the last one.
func (j *joints) encode() ([]byte, error) {
	for {
		j.forget(len(j.list) - maxJoints)
		v := joinJSON{Version: joinVersion, Before: j.before, Uploads: j.list}
		text, err := json.Marshal(v)
		if err != nil || len(text) <= maxJoinRecord || len(j.list) == 1 {
			return text, err
		}
		j.forget(len(j.list)/8 + 1)
	}
}

// forget drops the first n uploads out of the list.
func (j *joints) forget(n int) {
	for ; n > 0 && len(j.list) > 1; n-- {
		first := j.list[0]
		j.before.rows = j.before.rows.plus(first.rows)
		j.before.key = first.key
		if first.id != "" {
			j.before.uploads++
		}
		j.list = j.list[1:]
	}
}

// find returns the number of the upload of that key in the list, or that of its place, and
// the row there. It is ErrForgotten if the key is not behind all that were forgotten.
func (j *joints) find(key string) (i int, row counts, there bool, err error) {
	if j.before.uploads > 0 && key <= j.before.key {
		return 0, nil, false, fmt.Errorf("%q does not come behind %q, and of the uploads up to there the dataset remembers only their number, %d: %w: %w",
			key, j.before.key, j.before.uploads, ErrForgotten, formats.ErrUnsupported)
	}
	i = sort.Search(len(j.list), func(i int) bool { return j.list[i].key >= key })
	there = i < len(j.list) && j.list[i].key == key && j.list[i].id != ""
	return i, j.rows(i), there, nil
}

// rows is how many there are before upload i.
func (j *joints) rows(i int) counts {
	n := j.before.rows
	for _, at := range j.list[:i] {
		n = n.plus(at.rows)
	}
	return n
}

// put enters an upload at i: in place of the one that is there, or before it.
func (j *joints) put(i int, there bool, at joint) error {
	if total := j.rows(len(j.list)); !at.rows.room(total) {
		return fmt.Errorf("%d rows behind %d: %w", at.rows, total, formats.ErrTooLarge)
	}
	if there {
		j.list[i] = at
		return nil
	}
	j.list = append(j.list, joint{})
	copy(j.list[i+1:], j.list[i:])
	j.list[i] = at
	return nil
}
