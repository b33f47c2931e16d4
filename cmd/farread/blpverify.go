package main

import (
	"context"
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// blpReport is the JSON of `verify` for Bloscpack files.
type blpReport struct {
	Format   string `json:"format"`
	URI      string `json:"uri"`
	OK       bool   `json:"ok"`
	Variable bool   `json:"variable_length"`
	Chunks   int64  `json:"chunks"`
	NBytes   int64  `json:"nbytes"` // decoded bytes
	CBytes   int64  `json:"cbytes"` // bytes of the chunks, without checksums
	Checksum string `json:"checksum"`
	Dead     int64  `json:"dead_bytes"` // bytes that are in no chunk, but between two
	After    int64  `json:"bytes_after"`
	// OtherTypeSize counts chunks whose item size differs from the one in the header.
	OtherTypeSize int64 `json:"other_typesize"`
	// WrongOffsets says that the table contradicts the offsets of the chunks, although
	// the chunks follow each other.
	WrongOffsets bool `json:"wrong_offsets"`
}

func (t *blpContent) verified(found farread.Report) (any, string) {
	h := t.in.Header
	r, _ := found.Detail.(bloscpack.Report)
	v := &blpReport{Format: bloscpack.Format, URI: t.uri, OK: true, Variable: h.Variable, Chunks: r.Chunks, NBytes: r.NBytes,
		CBytes: r.CBytes, Checksum: h.Checksum.String(), Dead: r.Gaps, After: r.After, OtherTypeSize: r.OtherTypeSize, WrongOffsets: r.WrongOffsets}
	return v, v.text()
}

func (v *blpReport) text() string {
	sums := "no checksums"
	if v.Checksum != bloscpack.None.String() {
		sums = "every " + v.Checksum + " is right"
	}
	text := fmt.Sprintf("ok: %s, %s decoded from %s, %s", human.Plural(v.Chunks, v.noun()), human.Size(v.NBytes), human.Size(v.CBytes), sums)
	if v.Dead > 0 {
		text += fmt.Sprintf("; %s between them belong to none", human.Size(v.Dead))
	}
	if v.After > 0 {
		text += fmt.Sprintf("; %s behind the last one belong to none", human.Size(v.After))
	}
	if v.OtherTypeSize > 0 {
		text += fmt.Sprintf("; the item size of %s is not that of the header", human.Plural(v.OtherTypeSize, v.noun()))
	}
	if v.WrongOffsets {
		text += "; the table of offsets is wrong, and was not needed"
	}
	return text
}

func (v *blpReport) noun() string {
	if v.Variable {
		return "item"
	}
	return "chunk"
}

// A repairer is a content whose whole parts can be saved from a damaged file.
type repairer interface {
	// repair writes the whole parts of the content to w. If it fails, it leaves nothing
	// in w.
	repair(ctx context.Context, w objstore.Writer) (repaired, error)
}

// repaired is the JSON of `verify --repair`.
type repaired struct {
	Format string `json:"format"`
	URI    string `json:"uri"`
	Output string `json:"output"`
	Saved  int64  `json:"saved"`
	Lost   *int64 `json:"lost"` // null: the file does not tell how many items there should be
	NBytes int64  `json:"nbytes"`
	Wrong  string `json:"wrong,omitempty"` // text of the first fault
	noun   string
}

func (r *repaired) text() string {
	text := fmt.Sprintf("saved %s, %s decoded, in %s", human.Plural(r.Saved, r.noun), human.Size(r.NBytes), human.Printable(r.Output))
	switch {
	case r.Lost == nil:
		text += "; how many there should have been is not known"
	case *r.Lost > 0:
		text += "; lost " + human.Count(*r.Lost)
	default:
		text += "; lost none"
	}
	if r.Wrong != "" {
		return text + "; what was wrong first: " + r.Wrong
	}
	return text + "; nothing was wrong"
}

// repair writes the whole chunks to out.
func (t *blpContent) repair(ctx context.Context, out objstore.Writer) (repaired, error) {
	b := t.a.newBar("repair", t.f.Object.Size()-t.off-t.f.Body())
	defer b.clear()
	s, err := t.f.Repair(ctx, out, b.set)
	if err != nil {
		return repaired{}, err
	}
	rep := repaired{Format: bloscpack.Format, URI: t.uri, Saved: s.Chunks, NBytes: s.Bytes, noun: (&blpReport{Variable: t.in.Variable}).noun()}
	if s.Lost >= 0 {
		rep.Lost = &s.Lost
	}
	switch {
	case s.Aborted:
		rep.Wrong = "aborted: its writing did not end"
	case s.Stop != nil:
		rep.Wrong = s.Stop.Error()
	}
	return rep, nil
}
