//go:build peers

package peers

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// A linesAsked is a question of analyze_lines.py with its answer.
type linesAsked struct {
	Lines   []string
	Where   string
	Group   []string
	Stats   string
	Labels  [][]struct{ Text, Other, Number *string }
	Values  [][]any
	Skipped int64
}

// TestAnalyzeLines: Python's json is the judge of what analyze finds in random lines: which
// are JSON, which match, their groups, and exact sums of them.
func TestAnalyzeLines(t *testing.T) {
	const questions = 100
	var list []linesAsked
	run(t.Context(), t, &list, "analyze_lines.py", fmt.Sprint(questions), "16")
	r := seeded(17)
	cells := 0
	for n := range list {
		q := &list[n]
		var out collected
		w, err := bloscpack.NewWriter(&out, bloscpack.WriteOptions{Variable: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range q.Lines {
			if err := w.WriteItem([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		p := out.Bytes()
		f, err := bloscpack.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), bloscpack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := analyze.ItemsOptions{Group: q.Group, Bytes: int64(len(q.Lines)), PartBytes: 1 + r.Int64N(200)}
		if o.Stats, err = analyze.ParseStats(q.Stats); err != nil {
			t.Fatal(err)
		}
		if q.Where != "" {
			if o.Where, err = predicate.ParseValues(q.Where); err != nil {
				t.Fatal(err)
			}
		}
		j, err := analyze.NewItems(f, o)
		if err != nil {
			t.Fatal(err)
		}
		a, err := j.Run(t.Context(), analyze.Options{Jobs: 1 + r.IntN(3)})
		if err != nil {
			t.Fatal(err)
		}
		if a.Skipped != q.Skipped {
			t.Errorf("question %d: %d lines passed over, want %d", n, a.Skipped, q.Skipped)
		}
		if fault := q.differs(a); fault != "" {
			t.Errorf("question %d, where %q, by %q: %s", n, q.Where, q.Group, fault)
		}
		cells += len(q.Values[0])
	}
	if len(list) != questions || cells < 10*questions {
		t.Errorf("%d cells of %d questions", cells, len(list))
	}
}

// A collected is a file in memory.
type collected struct{ bytes.Buffer }

func (c *collected) Patch(off int64, p []byte) error {
	copy(c.Bytes()[off:], p)
	return nil
}

func (c *collected) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(c.Bytes()[n:])
	c.Reset()
	c.Write(p)
	c.Write(rest)
	return nil
}

// differs says in what answers are not those of Python.
func (q *linesAsked) differs(a *analyze.Answers) string {
	var axes []analyze.Axis
	if len(a.Axes) > 0 {
		axes = append(a.Axes[:1:1], a.Axes[0].With...)
	}
	if len(axes) != len(q.Group) {
		return fmt.Sprintf("%d axes", len(axes))
	}
	for i, axis := range axes {
		if len(axis.Labels) != len(q.Labels[i]) || axis.Name != q.Group[i] {
			return fmt.Sprintf("%d labels of %s, want %d", len(axis.Labels), axis.Name, len(q.Labels[i]))
		}
		for k, got := range axis.Labels {
			switch want := q.Labels[i][k]; {
			case want.Text != nil && got != *want.Text && got != strconv.Quote(*want.Text),
				want.Other != nil && got != *want.Other,
				want.Number != nil && got != *want.Number && !sameNumber(got, *want.Number):
				return fmt.Sprintf("label %d is %q", k, got)
			}
		}
	}
	for s := range a.Results {
		r := &a.Results[s]
		for k, want := range q.Values[s] {
			item := r.Items[8*k:][:8]
			got := string(r.Type.AppendCSV(nil, item))
			v, _ := r.Type.Float(item)
			text := fmt.Sprint(want)
			if w, ok := want.(float64); ok {
				text = strconv.FormatInt(int64(w), 10)
			}
			switch {
			case r.Stat.Name == "quantiles":
				w, err := strconv.ParseFloat(text, 64)
				if err != nil || v != w && !(math.Abs(v-w) <= math.Abs(w)/512) && v == v {
					return fmt.Sprintf("%s of cell %d is %v, want about %v", r.Stat.Key(), k, v, w)
				}
			case r.Type.Kind() == dtype.Int || !strings.Contains(text, "x"):
				if got != text && (r.Type.Kind() == dtype.Int || !sameNumber(got, text)) {
					return fmt.Sprintf("%s of cell %d is %s, want %s", r.Stat.Key(), k, got, text)
				}
			case !sameNumber(strconv.FormatFloat(v, 'x', -1, 64), text):
				return fmt.Sprintf("%s of cell %d is %v, want %s", r.Stat.Key(), k, v, text)
			}
		}
	}
	return ""
}

// sameNumber reports whether two texts are one float64.
func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && (x == y || x != x && y != y)
}
