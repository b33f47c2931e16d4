package analyze

import (
	"encoding/json"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// storedAnswers are Answers as JSON.
type storedAnswers struct {
	Version int            `json:"farread_answers"`
	Plan    string         `json:"plan"`
	Shape   []int64        `json:"shape"`
	Axes    []Axis         `json:"axes,omitempty"`
	Results []storedResult `json:"results"`
	Skipped int64          `json:"skipped,omitempty"`
}

// storedResult is a Result without loss: its items are bytes.
type storedResult struct {
	Stat  Stat      `json:"stat"`
	Type  string    `json:"type"`
	Shape []int64   `json:"shape"`
	Items []byte    `json:"items"`
	None  []bool    `json:"none,omitempty"`
	Edges []float64 `json:"edges,omitempty"`
}

// EncodeAnswers returns answers of the plan as JSON that loses no bit.
func (p *Plan) EncodeAnswers(a *Answers) ([]byte, error) {
	out := storedAnswers{Version: planVersion, Plan: p.ID, Shape: a.Shape, Axes: a.Axes, Skipped: a.Skipped}
	for i := range a.Results {
		r := &a.Results[i]
		out.Results = append(out.Results, storedResult{r.Stat, r.Type.String(), r.Shape, r.Items, r.None, r.Edges})
	}
	text, err := json.Marshal(out)
	return append(text, '\n'), err
}

// DecodeAnswers reads what EncodeAnswers returned. Answers of another plan match
// ErrOtherPlan, those of another version formats.ErrUnsupported, what cannot be answers
// formats.ErrCorrupt.
func (p *Plan) DecodeAnswers(text []byte) (*Answers, error) {
	var in storedAnswers
	if err := json.Unmarshal(text, &in); err != nil || in.Version == 0 {
		return nil, fmt.Errorf("no answers: %w", formats.ErrCorrupt)
	}
	if in.Version != planVersion {
		return nil, fmt.Errorf("answers of version %d, this program has %d: %w", in.Version, planVersion, formats.ErrUnsupported)
	}
	if in.Plan != p.ID {
		return nil, fmt.Errorf("answers %w: %.12s", ErrOtherPlan, in.Plan)
	}
	if _, ok := product(in.Shape, 1); !ok || !labelled(in.Axes, in.Shape) {
		return nil, fmt.Errorf("answers of shape %v: %w", in.Shape, formats.ErrCorrupt)
	}
	out := &Answers{Shape: in.Shape, Axes: in.Axes, Skipped: in.Skipped}
	for i := range in.Results {
		r, err := in.Results[i].result(in.Shape)
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, r)
	}
	return out, nil
}

// labelled reports whether axes have a label for each cell, or none.
func labelled(axes []Axis, shape []int64) bool {
	if axes != nil && len(axes) != len(shape) {
		return false
	}
	for i, a := range axes {
		for _, one := range append([]Axis{a}, a.With...) {
			if one.Labels != nil && int64(len(one.Labels)) != shape[i] {
				return false
			}
		}
	}
	return true
}

// result checks a result of answers of a shape.
func (s *storedResult) result(shape []int64) (Result, error) {
	bad := fmt.Errorf("the answer to %.40q does not fit: %w", s.Stat.Name, formats.ErrCorrupt)
	d, err := dtype.Parse(s.Type)
	if err != nil {
		return Result{}, bad
	}
	cells, _ := product(shape, 1)
	size, ok := product(s.Shape, int64(d.ItemSize()))
	if !ok || size != int64(len(s.Items)) || len(s.Shape) < len(shape) || len(s.Shape) > len(shape)+1 || s.None != nil && int64(len(s.None)) != cells {
		return Result{}, bad
	}
	for i, n := range shape {
		if s.Shape[i] != n {
			return Result{}, bad
		}
	}
	last := int64(-1) // what a cell has several of
	if len(s.Shape) > len(shape) {
		last = s.Shape[len(shape)]
	}
	switch s.Stat.Name {
	case "hist":
		ok = s.Stat.Bins > 0 && last == int64(s.Stat.Bins) && len(s.Edges) == s.Stat.Bins+1
	case "quantiles":
		ok = last == int64(len(s.Stat.Ranks))
	case "argmin", "argmax":
		ok = last >= 0
	default:
		ok = last < 0
	}
	if !ok {
		return Result{}, bad
	}
	return Result{Stat: s.Stat, Type: d, Shape: s.Shape, Items: s.Items, None: s.None, Edges: s.Edges}, nil
}

// product multiplies sizes.
func product(list []int64, n int64) (int64, bool) {
	const most = 1 << 40
	for _, k := range list {
		if k < 0 || n > 0 && k > most/n {
			return 0, false
		}
		n *= k
	}
	return n, true
}
