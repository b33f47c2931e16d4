package analyze_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
)

var source = analyze.Source{URI: "s3://b/x.b2nd", ETag: `"e"`, Size: 77, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}

// planned returns the Work of a question, and its plan as another machine reads it.
func planned(t *testing.T, a *b2nd.Array, q question) (*analyze.Array, *analyze.Plan, []byte) {
	t.Helper()
	o := options(t, a, q)
	o.Source, o.PartBytes = source.String(), 400
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(j.Plan(source))
	if err != nil {
		t.Fatal(err)
	}
	p, err := analyze.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return j, p, text
}

// TestPlanElsewhere: machines that have only the plan make the parts, and one merges them:
// the answers are those of here to the last bit, and stay so when they are stored.
func TestPlanElsewhere(t *testing.T) {
	t.Parallel()
	values := noise(12 * 11 * 10)
	p := encoded(t, []int64{12, 11, 10}, []int{5, 6, 10}, []int{4, 4, 5}, values, b2nd.WriteOptions{Index: cframe.WithIndex})
	for n, q := range []question{
		{"", everything, "", nil, nil},
		{"", "count,nan,min,max", "", nil, nil},
		{"::-2, 3, 1:9:3", everything, "", []int{}, nil},
		{"1:, :, 4", everything, "v > 0.5", []int{0, -1}, []int64{3}},
		{"2:2", "count,min,argmax,mean,hist(3,0:1)", "", nil, nil},
	} {
		j, plan, _ := planned(t, opened(t, p), q)
		want, err := j.Run(t.Context(), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		open := func() *analyze.Array {
			k, err := plan.OpenArray(t.Context(), opened(t, p), source, 1<<30)
			if err != nil {
				t.Fatalf("question %d: %v", n, err)
			}
			return k
		}
		workers, last := []*analyze.Array{open(), open()}, open()
		for part := range plan.Parts {
			result, err := workers[part%2].Part(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			if err := last.Take(part, result); err != nil {
				t.Fatal(err)
			}
		}
		got, err := last.Finish(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stored, err := plan.EncodeAnswers(got)
		if err == nil {
			got, err = plan.DecodeAnswers(stored)
		}
		if err != nil || text(got.Results) != text(want.Results) || len(got.Shape) != len(want.Shape) {
			t.Errorf("question %d: %v, %s, want %s", n, err, text(got.Results), text(want.Results))
		}
	}
}

// TestPlanRefused: plans of other versions, other sources and other arrays are refused, and
// so are parts and answers of other plans.
func TestPlanRefused(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{40}, []int{10}, []int{5}, noise(40), b2nd.WriteOptions{}))
	_, plan, whole := planned(t, a, question{stats: "sum,hist(3,0:1)"})
	for old, c := range map[string]struct {
		now  string
		want error
	}{
		`"farread_plan":1`:   {`"farread_plan":2`, formats.ErrUnsupported},
		`{"farread_plan":1,`: {`{`, formats.ErrCorrupt},
		`"kind":"array"`:     {`"kind":"x"`, formats.ErrUnsupported},
		`"id":"`:             {`"id":"0`, analyze.ErrOtherPlan},
		`"parts":`:           {`"parts":1`, analyze.ErrOtherPlan},
		`hist(3`:             {`hist(4`, analyze.ErrOtherPlan},
		`hist(3,0:1)`:        {`hist(3,0:nan)`, formats.ErrCorrupt},
		`"array":{`:          {`"arr":{`, formats.ErrCorrupt},
		`"OutShape":[40]`:    {`"OutShape":[41]`, formats.ErrCorrupt},
		`"Stop":[40]`:        {`"Stop":[41]`, formats.ErrCorrupt},
		`"Step":[1]`:         {`"Step":[0]`, formats.ErrCorrupt},
		`"Start":[0]`:        {`"Start":[]`, formats.ErrCorrupt},
		`"size":77`:          {`"size":78`, analyze.ErrOtherSource},
		`"e\"`:               {`"f\"`, analyze.ErrOtherSource},
	} {
		text := strings.Replace(string(whole), old, c.now, 1)
		p, err := analyze.ParsePlan([]byte(text))
		if err == nil {
			_, err = p.OpenArray(t.Context(), a, source, 1<<30)
		}
		if text == string(whole) || !errors.Is(err, c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v", text, err, c.want)
		}
	}
	if _, err := plan.OpenArray(t.Context(), a, source, 100); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("in 100 bytes: %v", err)
	}
}

// TestStoredAnswersRefused: what cannot be the answers of a plan is refused.
func TestStoredAnswersRefused(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{40}, []int{10}, []int{5}, noise(40), b2nd.WriteOptions{}))
	j, plan, _ := planned(t, a, question{stats: "hist(3,0:1),argmin,quantiles(0.5),min", every: []int64{20}})
	list, err := j.Run(t.Context(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := plan.EncodeAnswers(list)
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{
		`"farread_answers":1`: `"farread_answers":2`, `{"farread_answers":1,`: `{`, `"plan":"`: `"plan":"0`,
		`"shape":[2],`: `"shape":[-2],`, `"shape":[2],"results"`: `"shape":[2],"axes":[],"results"`, `"shape":[2,3]`: `"shape":[3,2]`,
		`"Bins":3`: `"Bins":0`, `"Ranks":["0.5"]`: `"Ranks":[]`, `"type":"\u003ci8"`: `"type":"?!"`, `"items":"`: `"items":"AAAA`,
		`"none":[false,`: `"none":[`, `"edges":[0,`: `"edges":[`,
	} {
		text := strings.Replace(string(whole), old, now, 1)
		if _, err := plan.DecodeAnswers([]byte(text)); text == string(whole) || err == nil || strings.Contains(err.Error(), "\n") ||
			!errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, analyze.ErrOtherPlan) {
			t.Errorf("%s became %s: %v", old, now, err)
		}
	}
}
