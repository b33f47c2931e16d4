package analyze_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// A reheader is an output in memory.
type reheader struct{ buffer }

func (r *reheader) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(r.Bytes()[n:])
	r.Reset()
	r.Write(p)
	r.Write(rest)
	return nil
}

// packed returns a Bloscpack file of items.
func packed(tb testing.TB, items []string) []byte {
	tb.Helper()
	var out reheader
	w, err := bloscpack.NewWriter(&out, bloscpack.WriteOptions{Variable: true})
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range items {
		if err := w.WriteItem([]byte(s)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func reading(tb testing.TB, p []byte) *bloscpack.File {
	tb.Helper()
	f, err := bloscpack.Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), bloscpack.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// logged are random lines of a log, some of which are odd.
func logged(rnd *rand.Rand, n int) []string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	out := make([]string, n)
	for i := range out {
		path := pick(`"/a"`, `"/b"`, `"\u002fa"`, `"é"`, `7`, `7.0`, `"7"`, `null`, `true`, `[1]`, `{"x":1}`, fmt.Sprintf(`"/%d"`, rnd.IntN(5)))
		out[i] = fmt.Sprintf(`{"path":%s,"status":%d,"req":{"ms":%s,"bytes":%s}}`, path, 200+100*rnd.IntN(4),
			pick(fmt.Sprint(rnd.NormFloat64()), "null", `"3"`, "2.5", "1e3", "-0.25"), pick(fmt.Sprint(rnd.IntN(1000)), "9007199254740993", "-9007199254740995", "4"))
		switch rnd.IntN(20) {
		case 0:
			out[i] = pick("", "nope", `{"path":`, `{"path":"/a"} x`)
		case 1:
			out[i] = pick("{}", "5", `[{"path":1}]`, `{"status":500}`)
		}
	}
	return out
}

// told is an answer as text: the label, then count, sum of bytes, numbers of ms.
func told(a *analyze.Answers) []string {
	var out []string
	for i := range a.Shape[0] {
		line := a.Axes[0].Labels[i]
		for k := range a.Results {
			r := &a.Results[k]
			line += " " + string(r.Type.AppendCSV(nil, r.Items[8*i:][:8]))
		}
		out = append(out, line)
	}
	return out
}

// bySimple groups lines by encoding/json.
func bySimple(lines []string) (list []string, skipped int64) {
	type group struct {
		rank        int
		n, ms, none int64
		bytes       *big.Int
		label       string
	}
	all := map[string]*group{}
	for _, line := range lines {
		var item any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if !json.Valid([]byte(line)) || d.Decode(&item) != nil {
			skipped++
			continue
		}
		m, _ := item.(map[string]any)
		status, ok := m["status"].(json.Number)
		if !ok || string(status) < "300" {
			continue
		}
		g := group{label: "null", bytes: new(big.Int)}
		switch v := m["path"].(type) {
		case bool:
			g.rank, g.label = 2, strconv.FormatBool(v)
		case json.Number:
			g.rank, g.label = 3, strings.TrimSuffix(string(v), ".0")
		case string:
			g.rank, g.label = 4, v
		case []any:
			g.rank, g.label = 5, "[...]"
		case map[string]any:
			g.rank, g.label = 6, "{...}"
		}
		key := fmt.Sprint(g.rank, g.label)
		if all[key] == nil {
			all[key] = &g
		}
		at := all[key]
		at.n++
		req, _ := m["req"].(map[string]any)
		if _, ok := req["ms"].(json.Number); ok {
			at.ms++
		} else {
			at.none++
		}
		if b, ok := req["bytes"].(json.Number); ok {
			v, _ := new(big.Int).SetString(string(b), 10)
			at.bytes.Add(at.bytes, v)
		}
	}
	keys := make([]string, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		g := all[k]
		if g.rank == 4 && all["3"+" "+g.label] != nil || g.rank == 4 && all[fmt.Sprint(3, g.label)] != nil {
			g.label = strconv.Quote(g.label)
		}
		list = append(list, fmt.Sprintf("%s %d %d %d %v", g.label, g.n, g.ms, g.none, g.bytes))
	}
	return list, skipped
}

func itemsOptions(tb testing.TB, stats, where string, group ...string) analyze.ItemsOptions {
	tb.Helper()
	o := analyze.ItemsOptions{Group: group}
	var err error
	if o.Stats, err = analyze.ParseStats(stats); err != nil {
		tb.Fatal(err)
	}
	if where != "" {
		if o.Where, err = predicate.ParseValues(where); err != nil {
			tb.Fatal(err)
		}
	}
	return o
}

// TestItems: groups of random lines are those of encoding/json, whatever the parts, the
// goroutines, and checkpoints.
func TestItems(t *testing.T) {
	t.Parallel()
	for round := range racetest.Share(8, 2) {
		rnd := rand.New(rand.NewPCG(uint64(round), 5))
		lines := logged(rnd, 1+rnd.IntN(400))
		f := reading(t, packed(t, lines))
		want, skipped := bySimple(lines)
		var first []byte
		for _, per := range []int64{1 << 30, 1, 7} {
			o := itemsOptions(t, "count,count(.req.ms),nan(.req.ms),sum(.req.bytes)", ".status >= 300", ".path")
			o.Bytes, o.PartBytes = int64(len(lines)), per
			j, err := analyze.NewItems(f, o)
			if err != nil {
				t.Fatal(err)
			}
			a, err := j.Run(t.Context(), analyze.Options{Jobs: 1 + rnd.IntN(4)})
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Shape) != 1 || a.Axes[0].Name != ".path" || a.Skipped != skipped {
				t.Fatalf("shape %v, %d skipped, want %d", a.Shape, a.Skipped, skipped)
			}
			if got := told(a); !slices.Equal(got, want) {
				t.Fatalf("round %d:\n%s\nwant\n%s", round, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			// All stats, part by part through lines of JSON.
			o = itemsOptions(t, "count,sum(.req.ms),mean(.req.ms),std(.req.bytes),min(.req.bytes),max(.req.ms),argmin(.req.ms),hist(.req.ms,4,-2:2),quantiles(.req.ms,0.1,0.5)", "", ".status", ".path")
			o.Bytes, o.PartBytes = int64(len(lines)), per
			if j, err = analyze.NewItems(f, o); err != nil {
				t.Fatal(err)
			}
			for part := range j.Parts() {
				line, err := j.Part(t.Context(), part)
				if err != nil {
					t.Fatal(err)
				}
				if err := j.Take(part, line); err != nil {
					t.Fatal(err)
				}
			}
			if a, err = j.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = text
			}
			if !bytes.Equal(text, first) {
				t.Fatalf("parts of %d items: %s, want %s", per, text, first)
			}
		}
	}
}

// TestItemsWhole: without groups there is one cell, also of no items; a sum is an integer as
// long as all numbers are.
func TestItemsWhole(t *testing.T) {
	t.Parallel()
	f := reading(t, packed(t, []string{`{"a":9007199254740993,"b":0.5}`, "x", `{"a":-1}`, "", `{"b":9223372036854775807,"c":9223372036854775807}`, `{"c":1}`}))
	for stats, want := range map[string]string{
		"count":                  "6",
		"count(.a)":              "2",
		"nan(.a)":                "2",
		"sum(.a)":                "9007199254740992",
		"sum(.b)":                "9223372036854776000",
		"sum(.c)":                "9223372036854776000",
		"argmax(.a)":             "0",
		"max(.a)":                "9007199254740992",
		"mean(.a)":               "4503599627370496",
		"sum(.none)":             "0",
		"count(.none)":           "0",
		`sum(."a")`:              "9007199254740992",
		"quantiles(.c,0,1)":      "1 9223372036854776000",
		"hist(.b,2,0:1)":         "0 1",
		"std(.a)":                "4503599627370497",
		"argmin(.c)":             "5",
		"min(.none)":             "nan",
		"quantiles(.b,0.5)":      "0.5",
		"nan(.none)":             "4",
		"count, sum(.a),nan(.b)": "4 9007199254740992 2",
	} {
		j, err := analyze.NewItems(f, itemsOptions(t, stats, ""))
		if err != nil {
			t.Fatal(err)
		}
		a, err := j.Run(t.Context(), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range a.Results {
			for i := 0; i < len(r.Items); i += 8 {
				text := string(r.Type.AppendCSV(nil, r.Items[i:i+8]))
				if v, err := strconv.ParseFloat(text, 64); err == nil && strings.Contains(text, "e+") {
					text = strconv.FormatFloat(v, 'f', -1, 64)
				}
				got = append(got, text)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", stats, text, want)
		}
	}
	empty := reading(t, packed(t, nil))
	for _, group := range [][]string{nil, {".a"}} {
		j, err := analyze.NewItems(empty, itemsOptions(t, "count,mean(.a)", "", group...))
		if err != nil {
			t.Fatal(err)
		}
		a, err := j.Run(t.Context(), analyze.Options{})
		if err != nil || len(a.Shape) != len(group) || len(a.Results[0].Items) != 8*(1-len(group)) {
			t.Errorf("of no items: %+v, %v", a, err)
		}
	}
}

// TestItemsMatch: items are also selected by their bytes, JSON or not.
func TestItemsMatch(t *testing.T) {
	t.Parallel()
	f := reading(t, packed(t, []string{"ERROR one", "WARN", `{"level":"ERROR","n":2}`}))
	o := itemsOptions(t, "count", "")
	o.Match = regexp.MustCompile("ERR|x")
	j, err := analyze.NewItems(f, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := j.Run(t.Context(), analyze.Options{})
	if err != nil || a.Results[0].Items[0] != 2 || a.Skipped != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestItemsRefused: questions that items do not have are refused.
func TestItemsRefused(t *testing.T) {
	t.Parallel()
	f := reading(t, packed(t, []string{"{}"}))
	for _, c := range []struct {
		stats, group, says string
		is                 error
	}{
		{"sum", "", "sum: items have fields: name one, as in sum(.bytes)", formats.ErrUnsupported},
		{"nan", "", "name one", formats.ErrUnsupported},
		{"sum(.a..b)", "", "want names with dots", analyze.ErrQuestion},
		{"count", ".", "want names with dots", analyze.ErrQuestion},
		{"count", "a,.a", ".a is there twice", analyze.ErrQuestion},
		{"hist(.a,1000000,0:1)", "", "a group takes about", formats.ErrTooLarge},
	} {
		o := itemsOptions(t, c.stats, "")
		if o.Memory = 1 << 20; c.group != "" {
			o.Group = strings.Split(c.group, ",")
		}
		_, err := analyze.NewItems(f, o)
		if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s by %s: %v", c.stats, c.group, err)
		}
	}
}

// TestManyGroups: groups take bounded memory. The error for too many is the same for any
// number of goroutines.
func TestManyGroups(t *testing.T) {
	t.Parallel()
	lines := make([]string, 6000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"k":%d}`, i)
	}
	f := reading(t, packed(t, lines))
	says := ""
	for jobs := 1; jobs < 4; jobs++ {
		o := itemsOptions(t, "count", "", ".k")
		o.Memory = 1 << 20
		j, err := analyze.NewItems(f, o)
		if err != nil {
			t.Fatal(err)
		}
		if j.Parts() < 10 {
			t.Errorf("%d parts: each may take too much", j.Parts())
		}
		_, err = j.Run(t.Context(), analyze.Options{Jobs: jobs})
		if !errors.Is(err, analyze.ErrGroups) || !errors.Is(err, formats.ErrTooLarge) {
			t.Fatalf("%v", err)
		}
		if says == "" {
			says = err.Error()
		}
		if err.Error() != says || !strings.Contains(says, "groups take about") {
			t.Errorf("%v, want %s", err, says)
		}
	}
	o := itemsOptions(t, "count", "", ".k")
	o.Memory = 4 << 20
	j, err := analyze.NewItems(f, o)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := j.Run(t.Context(), analyze.Options{}); err != nil || a.Shape[0] != 6000 || a.Axes[0].Labels[5999] != "5999" {
		t.Errorf("%v", err)
	}
}

// TestItemsLines: lines of other plans, and damaged ones, are refused.
func TestItemsLines(t *testing.T) {
	t.Parallel()
	f := reading(t, packed(t, []string{`{"k":"a","v":1}`, `{"k":"b","v":2.5}`}))
	j, err := analyze.NewItems(f, itemsOptions(t, "count,sum(.v),quantiles(.v,0.5)", "", ".k"))
	if err != nil {
		t.Fatal(err)
	}
	line, err := j.Part(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"", "x"}, {`"Keys":["BAFh","BAFi"]`, `"Keys":["BAFh","BAFh"]`}, {`"BAFi"`, `"BAF"`}, {`"BAFi"`, `"CQFi"`}, {`,"BAFi"`, ""}, {`"N":[2]`, `"N":[3]`}, {`"Lo":[0]`, `"Lo":[1]`}, {`"Parts":[false,true]`, `"Parts":[]`}} {
		bad := strings.Replace(string(line), change[0], change[1], 1)
		if bad == string(line) {
			t.Fatalf("%s has no %s", line, change[0])
		}
		if err := j.Take(0, []byte(bad)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s for %s: %v", change[1], change[0], err)
		}
	}
	other := itemsOptions(t, "count,sum(.v),quantiles(.v,0.5)", "", ".k")
	other.Where, _ = predicate.ParseValues(".v > 1")
	if k, err := analyze.NewItems(f, other); err != nil || k.ID() == j.ID() {
		t.Errorf("the same plan for another question: %v", err)
	}
	file := filepath.Join(t.TempDir(), "c")
	c, err := analyze.OpenCheckpoint(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context(), analyze.Options{Checkpoint: c}); err != nil {
		t.Error(err)
	}
	if c.Parts() != 0 && c.Remove() != nil {
		t.Error("the checkpoint stays")
	}
}

// TestItemRequests: lines are read once, in runs, as Explain says.
func TestItemRequests(t *testing.T) {
	t.Parallel()
	lines := logged(rand.New(rand.NewPCG(1, 2)), 3000)
	var log tracetest.Log
	mem := memstore.New(memstore.Config{Name: "s3://b"})
	if _, err := objstore.Put(t.Context(), mem, "x.blp", bytes.NewReader(packed(t, lines)), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	o, err := objstore.Open(t.Context(), objstore.Chain(mem, log.Middleware()), "x.blp", objstore.OpenOptions{Head: 32 << 10, Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	f, err := bloscpack.Open(t.Context(), o, bloscpack.Options{Head: 32 << 10, Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	log.Step("open")
	q := itemsOptions(t, "count,quantiles(.req.ms,0.5)", ".status == 500", ".path")
	q.Bytes, q.PartBytes = o.Size(), 128<<10
	j, err := analyze.NewItems(f, q)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := j.Explain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := j.Run(t.Context(), analyze.Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	log.Note(fmt.Sprintf("%d parts, %d requests planned, %v groups, %d items passed over", j.Parts(), len(plan), a.Shape, a.Skipped))
	log.Step("medians of lines that match, by path")
	log.Golden(t, "testdata/items.trace")
}
