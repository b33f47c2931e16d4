package parts_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/parts"
)

// TestPlan: of a plan the head is read, and the whole text is kept; what is no plan of this
// version, and lines that are not of it, are refused.
func TestPlan(t *testing.T) {
	t.Parallel()
	const text = `{"farread_plan":1,"id":"x","kind":"k","parts":3,"bytes":12,"more":[1]}` + "\n"
	p, err := parts.ParsePlan([]byte(text))
	if err != nil || p.ID != "x" || p.Kind != "k" || p.Parts != 3 || p.Bytes != 12 || string(p.Text) != text {
		t.Fatalf("%+v, %v", p, err)
	}
	if q, err := parts.NewPlan(map[string]any{"farread_plan": 1, "id": "x", "kind": "k", "parts": 3}); err != nil || q.Parts != 3 || len(q.Text) == 0 {
		t.Errorf("%+v, %v", q, err)
	}
	for old, now := range map[string]string{`"farread_plan":1`: `"farread_plan":2`, `"id":"x"`: `"id":""`, `"kind":"k"`: `"kind":1`, `"parts":3`: `"parts":-1`, text: ``} {
		if _, err := parts.ParsePlan([]byte(strings.Replace(text, old, now, 1))); !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", now, err)
		}
	}
	line, err := p.Line(1, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := p.Result(1, line); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
	other := *p
	other.ID = "other"
	if _, err := other.Result(1, line); !errors.Is(err, analyze.ErrOtherPlan) {
		t.Errorf("a part of another plan: %v", err)
	}
	for _, text := range []string{"", "{}", `{"plan":"x","part":1}`, `{"plan":"x","part":2,"result":{}}`} {
		if _, err := p.Result(1, []byte(text)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s as a part: %v", text, err)
		}
	}
}
