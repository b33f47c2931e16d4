package analyze

import (
	"fmt"
	"regexp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
)

// A FieldsPlan says what is asked of fields: Stats, Where, Match and Group of ItemsOptions.
type FieldsPlan struct {
	Stats string   `json:"stats"`
	Where string   `json:"where,omitempty"`
	Match string   `json:"match,omitempty"`
	Group []string `json:"group,omitempty"`
}

// An ItemsPlan is the part of a Plan that says what is asked of items: ItemsOptions, of
// which Bytes are those of the Plan.
type ItemsPlan struct {
	FieldsPlan

	PartBytes int64 `json:"part_bytes"`
	Memory    int64 `json:"memory"`
}

// A GulpPlan is the part of a Plan that says what is asked of images: GulpOptions, of which
// Bytes are those of the Plan.
type GulpPlan struct {
	FieldsPlan

	Memory int64 `json:"memory"`
}

// Plan returns the plan as data. src is what NewItems was given as a string.
func (j *Items) Plan(src Source) *Plan {
	p := newPlan(KindItems, src, j)
	p.Items = &ItemsPlan{fieldsPlan(j.o.Stats, j.o.Where, j.o.Match, j.o.Group), j.o.PartBytes, j.o.Memory}
	return p
}

// Plan returns the plan as data. src is what NewGulp was given as a string: with many chunks
// its ETag is a hash of theirs.
func (j *Gulp) Plan(src Source) *Plan {
	p := newPlan(KindGulp, src, j)
	p.Gulp = &GulpPlan{fieldsPlan(j.o.Stats, j.o.Where, j.o.Match, j.o.Group), j.o.Memory}
	return p
}

func fieldsPlan(list []Stat, w *predicate.Values, m *regexp.Regexp, group []string) FieldsPlan {
	where, match := spelled(w, m)
	return FieldsPlan{spelledStats(list), where, match, group}
}

// OpenItems plans again what the plan is of, as OpenArray does. Groups that take more than
// memory are an error that matches ErrGroups, even if there were room where the plan was
// made.
func (p *Plan) OpenItems(r ItemReader, now Source, memory int64) (*Items, error) {
	if err := p.suits(KindItems, now); err != nil {
		return nil, err
	}
	q := p.Items
	o := ItemsOptions{Group: q.Group, Bytes: p.Bytes, PartBytes: q.PartBytes, Memory: q.Memory, Source: now.String(), room: max(memory, 1)}
	var err error
	if o.Stats, o.Where, o.Match, err = p.fields(&q.FieldsPlan); err != nil {
		return nil, err
	}
	if len(o.Group) > 0 {
		if err := roomFor(2*(o.Memory/partShare), memory); err != nil { // two parts
			return nil, err
		}
	}
	j, err := NewItems(r, o)
	if err != nil {
		return nil, err
	}
	return j, p.same(j)
}

// OpenGulp plans again what the plan is of, as OpenItems does. It opens no chunk.
func (p *Plan) OpenGulp(r GulpReader, now Source, memory int64) (*Gulp, error) {
	if err := p.suits(KindGulp, now); err != nil {
		return nil, err
	}
	q := p.Gulp
	o := GulpOptions{Group: q.Group, Bytes: p.Bytes, Memory: q.Memory, Source: now.String(), room: max(memory, 1)}
	var err error
	if o.Stats, o.Where, o.Match, err = p.fields(&q.FieldsPlan); err != nil {
		return nil, err
	}
	j, err := NewGulp(r, o)
	if err != nil {
		return nil, err
	}
	return j, p.same(j)
}

// fields parses what is asked of fields.
func (p *Plan) fields(q *FieldsPlan) (list []Stat, w *predicate.Values, m *regexp.Regexp, err error) {
	if list, err = p.stats(q.Stats); err != nil {
		return nil, nil, nil, err
	}
	if q.Where != "" {
		if w, err = predicate.ParseValues(q.Where); err != nil {
			return nil, nil, nil, fmt.Errorf("where %.80q: %w: %w", q.Where, err, formats.ErrCorrupt)
		}
	}
	if q.Match != "" {
		if m, err = regexp.Compile(q.Match); err != nil {
			return nil, nil, nil, fmt.Errorf("match %.80q: no regular expression: %w", q.Match, formats.ErrCorrupt)
		}
	}
	return list, w, m, nil
}
