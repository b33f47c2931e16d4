package parts

import (
	"encoding/json"
	"fmt"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
)

// planVersion is that of heads of plans and of lines of parts.
const planVersion = 1

// A Plan is a job as data. Of its JSON only this head is the same in every kind; a kind
// reads its own questions from Text.
type Plan struct {
	Version int    `json:"farread_plan"`
	ID      string `json:"id"` // that of the Work
	Kind    string `json:"kind"`
	Parts   int    `json:"parts"`
	Bytes   int64  `json:"bytes"` // decoded, of all parts

	Text json.RawMessage `json:"-"` // the whole plan
}

// NewPlan returns the plan whose JSON v is.
func NewPlan(v any) (*Plan, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return ParsePlan(append(text, '\n'))
}

// ParsePlan reads the head of a plan. One of another version matches
// formats.ErrUnsupported, what is no plan formats.ErrCorrupt.
func ParsePlan(text []byte) (*Plan, error) {
	p := Plan{Text: text}
	if err := json.Unmarshal(text, &p); err != nil || p.Version == 0 {
		return nil, fmt.Errorf("no plan: %w", formats.ErrCorrupt)
	}
	if p.Version != planVersion {
		return nil, fmt.Errorf("a plan of version %d, this program has %d: %w", p.Version, planVersion, formats.ErrUnsupported)
	}
	if p.ID == "" || p.Kind == "" || p.Parts < 0 || p.Bytes < 0 {
		return nil, fmt.Errorf("no plan: %w", formats.ErrCorrupt)
	}
	return &p, nil
}

// storedPart is the line of a part.
type storedPart struct {
	Plan   string          `json:"plan"`
	Part   int             `json:"part"`
	Result json.RawMessage `json:"result"`
}

// Line returns what is stored of a part. result is what Work.Part returned.
func (p *Plan) Line(part int, result []byte) ([]byte, error) {
	line, err := json.Marshal(storedPart{p.ID, part, result})
	return append(line, '\n'), err
}

// Result returns the result in a line of a part, for Work.Take. A line of another plan
// matches analyze.ErrOtherPlan, what is no line of this part formats.ErrCorrupt.
func (p *Plan) Result(part int, line []byte) ([]byte, error) {
	var s storedPart
	if err := json.Unmarshal(line, &s); err != nil || s.Plan == "" {
		return nil, fmt.Errorf("part %d: no result of a part: %w", part, formats.ErrCorrupt)
	}
	if s.Plan != p.ID {
		return nil, fmt.Errorf("part %d: %w: %.12s", part, analyze.ErrOtherPlan, s.Plan)
	}
	if s.Part != part || s.Result == nil {
		return nil, fmt.Errorf("part %d: a line of part %d: %w", part, s.Part, formats.ErrCorrupt)
	}
	return s.Result, nil
}

// checkAnswers reports whether text is answers of the plan with an ID.
func checkAnswers(id string, text []byte) error {
	var a struct {
		Plan string `json:"plan"`
	}
	if err := json.Unmarshal(text, &a); err != nil || a.Plan == "" {
		return fmt.Errorf("no answers: %w", formats.ErrCorrupt)
	}
	if a.Plan != id {
		return fmt.Errorf("answers %w: %.12s", analyze.ErrOtherPlan, a.Plan)
	}
	return nil
}
