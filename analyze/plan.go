package analyze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
)

// planVersion is that of plans and of stored answers.
const planVersion = 1

// KindArray is the kind of plans that Array.Plan makes.
const KindArray = "array"

// ErrOtherSource is matched by the error for a source that is not the one of the plan.
var ErrOtherSource = errors.New("the source is not the one that was planned")

// A Source says which bytes a plan is about.
type Source struct {
	URI     string    `json:"uri"`
	ETag    string    `json:"etag,omitempty"`
	Version string    `json:"version,omitempty"`
	Time    time.Time `json:"modified,omitzero"`
	Size    int64     `json:"size"`
	Offset  int64     `json:"offset,omitempty"` // of the dataset in its object
}

// String is for ArrayOptions.Source.
func (s Source) String() string {
	return strings.Join([]string{s.URI, s.ETag, s.Version, s.Time.UTC().String(), strconv.FormatInt(s.Size, 10), strconv.FormatInt(s.Offset, 10)}, "\n")
}

// A Plan is a Work as data: another machine makes the same Work of it. Lines of parts and
// answers are stored with its ID, and those of another plan are refused.
type Plan struct {
	Version int        `json:"farread_plan"`
	ID      string     `json:"id"` // that of the Work
	Kind    string     `json:"kind"`
	Source  Source     `json:"source"`
	Parts   int        `json:"parts"`
	Bytes   int64      `json:"bytes"` // decoded, of all parts
	Array   *ArrayPlan `json:"array,omitempty"`
}

// An ArrayPlan is the part of a Plan that says what is asked of an array: resolved
// ArrayOptions.
type ArrayPlan struct {
	Box       b2nd.Box `json:"box"`
	Stats     string   `json:"stats"` // as ParseStats reads them
	Over      []int    `json:"over"`  // null means all
	Every     []int64  `json:"every,omitempty"`
	Where     string   `json:"where,omitempty"`
	PartBytes int64    `json:"part_bytes"`
	Memory    int64    `json:"memory"`
}

// Plan returns the plan as data. src is what NewArray was given as a string.
func (j *Array) Plan(src Source) *Plan {
	o := &j.o
	src.Time = src.Time.UTC()
	q := &ArrayPlan{Box: o.Box, Over: o.Over, Every: o.Every, PartBytes: o.PartBytes, Memory: o.Memory}
	texts := make([]string, len(o.Stats))
	for i := range o.Stats {
		texts[i] = o.Stats[i].String()
	}
	q.Stats = strings.Join(texts, ",")
	if o.Where != nil {
		q.Where = o.Where.String()
	}
	return &Plan{Version: planVersion, ID: j.ID(), Kind: KindArray, Source: src, Parts: j.Parts(), Bytes: j.Bytes(), Array: q}
}

// ParsePlan reads what json.Marshal wrote of a Plan. A plan of another version or kind
// matches formats.ErrUnsupported, what is no plan formats.ErrCorrupt.
func ParsePlan(text []byte) (*Plan, error) {
	var head struct {
		Version int    `json:"farread_plan"`
		Kind    string `json:"kind"`
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Version == 0 {
		return nil, fmt.Errorf("no plan: %w", formats.ErrCorrupt)
	}
	if head.Version != planVersion {
		return nil, fmt.Errorf("a plan of version %d, this program has %d: %w", head.Version, planVersion, formats.ErrUnsupported)
	}
	if head.Kind != KindArray {
		return nil, fmt.Errorf("a plan of kind %.40q: %w", head.Kind, formats.ErrUnsupported)
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil || p.ID == "" || p.Parts < 0 || p.Array == nil {
		return nil, fmt.Errorf("no plan: %w", formats.ErrCorrupt)
	}
	return &p, nil
}

// OpenArray plans again what the plan is of. a was opened as the plan's Source says, and
// now is what it was then; another one matches ErrOtherSource. If another plan comes out,
// for example since an index beside the array was made meanwhile, the error matches
// ErrOtherPlan. memory is what this machine has for the states of all cells; fewer than
// they take is formats.ErrTooLarge.
func (p *Plan) OpenArray(ctx context.Context, a *b2nd.Array, now Source, memory int64) (*Array, error) {
	if err := p.Source.Check(now); err != nil {
		return nil, err
	}
	q := p.Array
	if p.Kind != KindArray || q == nil {
		return nil, fmt.Errorf("a plan of kind %.40q, and no array: %w", p.Kind, formats.ErrUnsupported)
	}
	if !fits(q.Box, a.Shape()) {
		return nil, fmt.Errorf("no box of this array: %w", formats.ErrCorrupt)
	}
	list, err := ParseStats(q.Stats)
	if err != nil {
		return nil, fmt.Errorf("stats %.80q: %w: %w", q.Stats, err, formats.ErrCorrupt)
	}
	o := ArrayOptions{Box: q.Box, Stats: list, Over: q.Over, Every: q.Every, PartBytes: q.PartBytes, Memory: q.Memory, Source: now.String()}
	if q.Where != "" {
		if o.Where, err = predicate.Parse(q.Where); err != nil {
			return nil, err
		}
	}
	j, err := NewArray(ctx, a, o)
	if err != nil {
		return nil, err
	}
	if j.ID() != p.ID || j.Parts() != p.Parts {
		return nil, fmt.Errorf("%w: this program plans %d parts as %.12s, and the plan has %d as %.12s", ErrOtherPlan, j.Parts(), j.ID(), p.Parts, p.ID)
	}
	if need := j.plan.Cells * j.plan.CellBytes(); need > memory {
		return nil, fmt.Errorf("cells of about %d bytes, this machine has room for %d: %w", need, memory, formats.ErrTooLarge)
	}
	return j, nil
}

// Check returns an error that matches ErrOtherSource if now is not s.
func (s Source) Check(now Source) error {
	if now.String() == s.String() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrOtherSource, s.difference(now))
}

// difference names the first thing that now has otherwise.
func (s Source) difference(now Source) string {
	for _, d := range []struct{ name, was, is string }{
		{"version", s.Version, now.Version},
		{"ETag", s.ETag, now.ETag},
		{"size", strconv.FormatInt(s.Size, 10), strconv.FormatInt(now.Size, 10)},
		{"time", s.Time.UTC().Format(time.RFC3339), now.Time.UTC().Format(time.RFC3339)},
	} {
		if d.was != d.is {
			return fmt.Sprintf("%s %.80s became %.80s", d.name, d.was, d.is)
		}
	}
	return "it lies elsewhere"
}

// fits reports whether a box that was stored is one of an array.
func fits(b b2nd.Box, shape []int64) bool {
	if len(b.Start) != len(shape) || len(b.Stop) != len(shape) || len(b.Step) != len(shape) {
		return false
	}
	left := b.OutShape
	for i, n := range shape {
		if b.Step[i] == 0 || b.Start[i] < 0 || b.Stop[i] < -1 || b.Stop[i] > n {
			return false
		}
		count := b.Count(i)
		if count > 0 && b.Start[i] >= n {
			return false
		}
		if len(left) > 0 && left[0] == count {
			left = left[1:]
		} else if count != 1 { // an integer takes its axis away
			return false
		}
	}
	return len(left) == 0
}
