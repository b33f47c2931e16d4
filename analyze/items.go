package analyze

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/farread/farread/analyze/internal/groups"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/rangeio"
)

// An ItemReader has items, such as lines of JSON. A *bloscpack.File of variable length is
// one. Its methods may be called from several goroutines.
type ItemReader interface {
	// Len returns the number of items.
	Len() int64
	// Each calls fn for the items [i, j) in order, one call at a time. p is valid during
	// the call.
	Each(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error
	// ExplainItems lists the requests of Each.
	ExplainItems(ctx context.Context, i, j int64) ([]rangeio.Planned, error)
}

// ItemsOptions say what is asked of items.
type ItemsOptions struct {
	// Stats name fields, such as sum(.bytes) or quantiles(.req.ms,0.5). The count of no
	// field is that of items. Numbers are float64; nan counts items whose field is no
	// number. argmin and argmax are numbers of items.
	Stats []Stat
	// Where, if not nil, is a text about fields: of other items nothing is asked.
	Where *predicate.Values
	// Match, if not nil, is found in the bytes of each item of which something is asked.
	Match *regexp.Regexp
	// Group names fields, such as .path: the answers have a cell for each of their values,
	// in the order of predicate.CompareValues.
	Group []string
	// Bytes is how many bytes all items have, as they are stored, or about so.
	Bytes int64
	// PartBytes is how many of Bytes a part has. 0 means DefaultPartBytes.
	PartBytes int64
	// Memory bounds the states of groups. 0 means DefaultMemory.
	Memory int64
	// Source identifies the bytes of the items: a checkpoint of another Source is refused.
	Source string

	room int64 // for groups on the machine that opens a plan; 0: Memory bounds them
}

// Items is the [Work] that reduces items.
type Items struct {
	work[*groups.Table]

	r       ItemReader
	o       ItemsOptions
	plan    *groups.Plan
	perPart int64 // items
	total   *groups.Table
}

// ErrGroups is matched by the error for more groups than fit into memory, which matches
// formats.ErrTooLarge as well.
var ErrGroups = errors.New("too many groups")

// partShare is how large a part of the memory its groups may take, if each of its items is
// one of its own.
const partShare = 32

// NewItems plans the job. Items are texts of JSON if Stats, Where or Group name a field:
// those that are none are passed over and counted as Skipped.
//
// If groups take more than half of Memory, the run ends with an error that matches
// ErrGroups. It comes at the same place for any number of goroutines.
func NewItems(r ItemReader, o ItemsOptions) (*Items, error) {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.PartBytes <= 0 {
		o.PartBytes = DefaultPartBytes
	}
	j := &Items{r: r, o: o}
	var err error
	if j.plan, err = newGroups(o.Group, o.Stats, groupRoom(o.Memory, o.room)); err != nil {
		return nil, err
	}
	n := r.Len()
	j.perPart = max(1, int64(float64(o.PartBytes)*float64(n)/float64(max(o.Bytes, 1))))
	if len(o.Group) > 0 {
		j.perPart = min(j.perPart, max(1, o.Memory/partShare/j.plan.GroupBytes()))
	}
	j.perPart = min(j.perPart, max(n, 1))
	j.total = j.plan.NewTable()
	j.job = Job[*groups.Table]{
		ID: j.identify(n), Parts: int((n + j.perPart - 1) / j.perPart), Map: j.part,
		Merge:  func(_ int, t *groups.Table) error { return ofGroups(j.total.Merge(t)) },
		Encode: func(t *groups.Table) ([]byte, error) { return t.MarshalJSON() },
		Decode: j.plan.ParseTable,
	}
	j.finish = func(context.Context) (*Answers, error) { return groupAnswers(j.total) }
	return j, nil
}

// groupRoom is how many bytes all groups may take.
func groupRoom(memory, room int64) int64 {
	if room > 0 {
		return min(memory/2, room)
	}
	return memory / 2
}

// newGroups makes the plan of groups, whose tables take at most so many bytes.
func newGroups(keys []string, list []Stat, most int64) (*groups.Plan, error) {
	p, err := groups.NewPlan(keys, list, most)
	switch {
	case errors.Is(err, formats.ErrUnsupported):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrQuestion, err)
	case p.GroupBytes() > most:
		return nil, fmt.Errorf("a group takes about %d bytes, and %d are allowed: %w", p.GroupBytes(), most, formats.ErrTooLarge)
	}
	return p, nil
}

// groupAnswers returns the answers of all groups.
func groupAnswers(total *groups.Table) (*Answers, error) {
	skipped := total.Others
	list, axes, err := total.Answers()
	if err != nil {
		return nil, err
	}
	out := &Answers{Shape: []int64{}, Results: list, Skipped: skipped}
	for i, a := range axes {
		axis := Axis{Name: a.Name, Labels: a.Labels}
		if i == 0 {
			out.Shape, out.Axes = []int64{int64(len(a.Labels))}, []Axis{axis}
		} else {
			out.Axes[0].With = append(out.Axes[0].With, axis)
		}
	}
	return out, nil
}

// ofGroups marks an error of a table that is full.
func ofGroups(err error) error {
	if errors.Is(err, formats.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrGroups, err)
	}
	return err
}

// spelled returns what identifies the choice of items; "" stands for none.
func spelled(w *predicate.Values, m *regexp.Regexp) (where, match string) {
	if w != nil {
		where = w.String()
	}
	if m != nil {
		match = m.String()
	}
	return where, match
}

// identify returns a hash of all that the results of parts depend on.
func (j *Items) identify(n int64) string {
	where, match := spelled(j.o.Where, j.o.Match)
	return digest.JSON(struct {
		Version        int
		Kind, Source   string
		Stats          []Stat
		Group          [][]string
		Where, Match   string
		Items, PerPart int64
	}{checkpointVersion, "items", j.o.Source, j.o.Stats, j.plan.Keys, where, match, n, j.perPart})
}

// Bytes returns ItemsOptions.Bytes.
func (j *Items) Bytes() int64 { return j.o.Bytes }

// span returns the items of a part.
func (j *Items) span(part int) (from, to int64) {
	from = int64(part) * j.perPart
	return from, min(from+j.perPart, j.r.Len())
}

// Explain lists the requests that Run would make, by the code of Run.
func (j *Items) Explain(ctx context.Context) ([]rangeio.Planned, error) {
	var out []rangeio.Planned
	for part := range j.Parts() {
		from, to := j.span(part)
		list, err := j.r.ExplainItems(ctx, from, to)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// part reduces the items of a part.
func (j *Items) part(ctx context.Context, n int) (*groups.Table, error) {
	f := newFinder(j.plan, j.o.Where)
	t := j.plan.NewTable()
	from, to := j.span(n)
	err := j.r.Each(ctx, from, to, func(i int64, p []byte) error {
		if j.o.Match != nil && !j.o.Match.Match(p) {
			return nil
		}
		return f.add(t, i, p)
	})
	return t, err
}
