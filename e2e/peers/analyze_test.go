//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// An asked is a question of analyze.py.
type asked struct {
	Slice string  `json:"slice"`
	Stats string  `json:"stats"`
	Over  []int   `json:"over"`
	Every []int64 `json:"every"`
	Where string  `json:"where"`
}

// An answered is an answer for analyze.py.
type answered struct {
	Stat  string  `json:"stat"`
	Type  string  `json:"type"`
	Shape []int64 `json:"shape"`
	Items []byte  `json:"items"`
	None  []bool  `json:"none"`
}

// TestAnalyze: NumPy, math.fsum and fractions are the judges of what analyze finds in 500
// arrays of all types, in chunks and blocks of any shape.
func TestAnalyze(t *testing.T) {
	const arrays = 500
	dir := t.TempDir()
	var questions []asked
	run(t.Context(), t, &questions, "analyze.py", "make", dir, fmt.Sprint(arrays), "16")
	r := seeded(16)
	answers := make([][]answered, len(questions))
	for n := range questions {
		a := chunked(t, r, filepath.Join(dir, fmt.Sprintf("%d.npy", n)))
		answers[n] = answersTo(t, r, a, &questions[n])
	}
	text, err := json.Marshal(map[string]any{"questions": questions, "answers": answers})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Checked int
		Faults  []string
	}
	runIn(t.Context(), t, bytes.NewReader(text), &got, "analyze.py", "check", dir)
	for _, f := range got.Faults {
		t.Error(f)
	}
	if len(questions) != arrays || got.Checked < 20*arrays {
		t.Errorf("%d answers about %d arrays", got.Checked, len(questions))
	}
}

// chunked opens a .npy as an array in chunks and blocks of any shape, of which every other has
// statistics.
func chunked(t *testing.T, r random, name string) *b2nd.Array {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(p)
	h, _, err := npy.ParseHeader(in)
	if err != nil {
		t.Fatal(err)
	}
	m := b2nd.Meta{Shape: h.Shape, DType: h.DType.String()}
	for _, k := range h.Shape {
		chunk := 1 + r.IntN(int(k)+2)
		m.ChunkShape, m.BlockShape = append(m.ChunkShape, chunk), append(m.BlockShape, 1+r.IntN(chunk))
	}
	var out buffer
	w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Index: cframe.WithIndex, NoStats: r.IntN(2) == 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, in); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(out.Bytes()), int64(out.Len())), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func answersTo(t *testing.T, r random, a *b2nd.Array, q *asked) []answered {
	t.Helper()
	s, err := b2nd.ParseSlice(q.Slice)
	if err != nil {
		t.Fatal(err)
	}
	o := analyze.ArrayOptions{Over: q.Over, Every: q.Every, PartBytes: int64(1 + r.IntN(5000))}
	if o.Box, err = s.Resolve(a.Shape()); err != nil {
		t.Fatal(err)
	}
	if o.Stats, err = analyze.ParseStats(q.Stats); err != nil {
		t.Fatal(err)
	}
	if q.Where != "" {
		if o.Where, err = predicate.Parse(q.Where); err != nil {
			t.Fatal(err)
		}
	}
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	list, err := j.Run(t.Context(), analyze.Options{Jobs: 1 + r.IntN(4)})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	var out []answered
	for _, x := range list.Results {
		out = append(out, answered{x.Stat.Key(), x.Type.String(), x.Shape, x.Items, x.None})
	}
	return out
}
