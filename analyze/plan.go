package analyze

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
)

// planVersion is that of plans and of stored answers.
const planVersion = 1

// The kinds of plans: that of Array.Plan, and so on.
const (
	KindArray  = "array"
	KindSeries = "series"
	KindItems  = "items"
	KindGulp   = "gulp"
)

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
	Version int         `json:"farread_plan"`
	ID      string      `json:"id"` // that of the Work
	Kind    string      `json:"kind"`
	Source  Source      `json:"source"`
	Parts   int         `json:"parts"`
	Bytes   int64       `json:"bytes"` // as Work.Bytes has them
	Array   *ArrayPlan  `json:"array,omitempty"`
	Series  *SeriesPlan `json:"series,omitempty"`
	Items   *ItemsPlan  `json:"items,omitempty"`
	Gulp    *GulpPlan   `json:"gulp,omitempty"`
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
	Streamed  bool     `json:"streamed,omitempty"`
}

// Plan returns the plan as data. src is what NewArray was given as a string.
func (j *Array) Plan(src Source) *Plan {
	o := &j.o
	q := &ArrayPlan{Box: o.Box, Stats: spelledStats(o.Stats), Over: o.Over, Every: o.Every, PartBytes: o.PartBytes, Memory: o.Memory, Streamed: o.Streamed}
	if o.Where != nil {
		q.Where = o.Where.String()
	}
	p := newPlan(KindArray, src, j)
	p.Array = q
	return p
}

// newPlan makes the plan of a Work but for what is asked.
func newPlan(kind string, src Source, w Work) *Plan {
	src.Time = src.Time.UTC()
	return &Plan{Version: planVersion, ID: w.ID(), Kind: kind, Source: src, Parts: w.Parts(), Bytes: w.Bytes()}
}

// spelledStats returns stats as ParseStats reads them.
func spelledStats(list []Stat) string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].String()
	}
	return strings.Join(texts, ",")
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
	if !slices.Contains([]string{KindArray, KindSeries, KindItems, KindGulp}, head.Kind) {
		return nil, fmt.Errorf("a plan of kind %.40q: %w", head.Kind, formats.ErrUnsupported)
	}
	var p Plan
	if err := json.Unmarshal(text, &p); err != nil || p.ID == "" || p.Parts < 0 || p.Bytes < 0 || !p.asks(p.Kind) {
		return nil, fmt.Errorf("no plan: %w", formats.ErrCorrupt)
	}
	return &p, nil
}

// asks reports whether the plan has the member of a kind.
func (p *Plan) asks(kind string) bool {
	return kind == KindArray && p.Array != nil || kind == KindSeries && p.Series != nil || kind == KindItems && p.Items != nil || kind == KindGulp && p.Gulp != nil
}

// suits refuses another kind and another source than those of the plan.
func (p *Plan) suits(kind string, now Source) error {
	if err := p.Source.Check(now); err != nil {
		return err
	}
	if p.Kind != kind || !p.asks(kind) {
		return fmt.Errorf("a plan of kind %.40q is none of kind %s: %w", p.Kind, kind, formats.ErrUnsupported)
	}
	return nil
}

// stats parses those of a plan.
func (p *Plan) stats(text string) ([]Stat, error) {
	list, err := ParseStats(text)
	if err != nil {
		return nil, fmt.Errorf("stats %.80q: %w: %w", text, err, formats.ErrCorrupt)
	}
	return list, nil
}

// same refuses a Work that is not that of the plan.
func (p *Plan) same(w Work) error {
	if w.ID() != p.ID || w.Parts() != p.Parts {
		return fmt.Errorf("%w: this program plans %d parts as %.12s, and the plan has %d as %.12s", ErrOtherPlan, w.Parts(), w.ID(), p.Parts, p.ID)
	}
	return nil
}

// roomFor refuses states of cells that take more bytes than this machine has room for.
func roomFor(need, room int64) error {
	if room > 0 && need > room {
		return fmt.Errorf("cells of about %d bytes, this machine has room for %d: %w", need, room, formats.ErrTooLarge)
	}
	return nil
}

// OpenArray plans again what the plan is of. a was opened as the plan's Source says, and
// now is what it was then; another one matches ErrOtherSource. If another plan comes out,
// for example since an index beside the array was made meanwhile, the error matches
// ErrOtherPlan. memory is what this machine has for the states of all cells; fewer than
// they take is formats.ErrTooLarge.
func (p *Plan) OpenArray(ctx context.Context, a *b2nd.Array, now Source, memory int64) (*Array, error) {
	if err := p.suits(KindArray, now); err != nil {
		return nil, err
	}
	q := p.Array
	if !fits(q.Box, a.Shape()) {
		return nil, fmt.Errorf("no box of this array: %w", formats.ErrCorrupt)
	}
	list, err := p.stats(q.Stats)
	if err != nil {
		return nil, err
	}
	o := ArrayOptions{
		Box: q.Box, Stats: list, Over: q.Over, Every: q.Every, PartBytes: q.PartBytes, Memory: q.Memory, Streamed: q.Streamed, Source: now.String(), room: max(memory, 1),
	}
	if q.Where != "" {
		if o.Where, err = predicate.Parse(q.Where); err != nil {
			return nil, err
		}
	}
	j, err := NewArray(ctx, a, o)
	if err != nil {
		return nil, err
	}
	return j, p.same(j)
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
