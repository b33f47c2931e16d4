package analyze_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
)

// A kind is a question with its source: made as here, and opened as on another machine.
type kind struct {
	name string
	make func(tb testing.TB) analyze.Work
	open func(tb testing.TB, p *analyze.Plan, now analyze.Source, memory int64) (analyze.Work, error)
}

var (
	planSeries = shared(func(tb testing.TB) []byte {
		tb.Helper()
		return recording(tb, 3000, true)
	})
	planArray = shared(func(tb testing.TB) []byte {
		tb.Helper()
		return encoded(tb, []int64{12, 10}, []int{5, 6}, []int{4, 4}, noise(120), b2nd.WriteOptions{Index: cframe.WithIndex})
	})
	planItems = shared(func(tb testing.TB) []byte {
		tb.Helper()
		return packed(tb, logged(rand.New(rand.NewPCG(7, 8)), 300))
	})
)

// shared returns what is built at the first call.
func shared(build func(tb testing.TB) []byte) func(tb testing.TB) []byte {
	var once sync.Once
	var p []byte
	return func(tb testing.TB) []byte {
		tb.Helper()
		once.Do(func() { p = build(tb) })
		return p
	}
}

const planGulp = folder("../formats/gulp/testdata/chunks/ingest_gulpio20")

// kinds are questions of all kinds, each of several parts but for the first of a series.
func kinds() []kind {
	array := func(stats string, streamed bool, q question) kind {
		return kind{"array " + stats, func(tb testing.TB) analyze.Work {
			tb.Helper()
			q.stats = stats
			a := opened(tb, planArray(tb))
			o := options(tb, a, q)
			o.Source, o.PartBytes, o.Streamed = source.String(), 400, streamed
			return made(analyze.NewArray(tb.Context(), a, o))(tb)
		}, func(tb testing.TB, p *analyze.Plan, now analyze.Source, memory int64) (analyze.Work, error) {
			tb.Helper()
			return p.OpenArray(tb.Context(), opened(tb, planArray(tb)), now, memory)
		}}
	}
	series := func(q seriesQuestion, where string, bySamples bool) kind {
		return kind{fmt.Sprint("series ", q), func(tb testing.TB) analyze.Work {
			tb.Helper()
			o := q.options(tb)
			o.Source, o.PartBytes, o.BySamples = source.String(), 2000, bySamples
			if where != "" {
				o.Where = parsed(tb, where)
			}
			return made(analyze.NewSeries(tb.Context(), zoom(tb, planSeries(tb)), o))(tb)
		}, func(tb testing.TB, p *analyze.Plan, now analyze.Source, memory int64) (analyze.Work, error) {
			tb.Helper()
			return p.OpenSeries(tb.Context(), zoom(tb, planSeries(tb)), now, memory)
		}}
	}
	items := func(stats, where, match string, group ...string) kind {
		return kind{"items " + stats, func(tb testing.TB) analyze.Work {
			tb.Helper()
			o := itemsOptions(tb, stats, where, group...)
			o.Source, o.Bytes, o.PartBytes = source.String(), int64(len(planItems(tb))), int64(len(planItems(tb))/7)
			if match != "" {
				o.Match = regexp.MustCompile(match)
			}
			return made(analyze.NewItems(reading(tb, planItems(tb)), o))(tb)
		}, func(tb testing.TB, p *analyze.Plan, now analyze.Source, memory int64) (analyze.Work, error) {
			tb.Helper()
			return p.OpenItems(reading(tb, planItems(tb)), now, memory)
		}}
	}
	images := func(stats, where, match string, group ...string) kind {
		return kind{"gulp " + stats, func(tb testing.TB) analyze.Work {
			tb.Helper()
			q := itemsOptions(tb, stats, where, group...)
			o := analyze.GulpOptions{Stats: q.Stats, Where: q.Where, Group: group, Bytes: 77, Source: source.String()}
			if match != "" {
				o.Match = regexp.MustCompile(match)
			}
			d, err := gulp.OpenDataset(tb.Context(), planGulp, gulp.Options{})
			if err != nil {
				tb.Fatal(err)
			}
			return made(analyze.NewGulp(d, o))(tb)
		}, func(tb testing.TB, p *analyze.Plan, now analyze.Source, memory int64) (analyze.Work, error) {
			tb.Helper()
			d, err := gulp.OpenDataset(tb.Context(), planGulp, gulp.Options{})
			if err != nil {
				tb.Fatal(err)
			}
			return p.OpenGulp(d, now, memory)
		}}
	}
	return []kind{
		array("sum,hist(3,0:1)", false, question{}), array("mean", true, question{every: []int64{2, 2}}),
		series(seriesQuestion{1, "", "", "", "count,min,max"}, "", false),
		series(seriesQuestion{2, "2.5", "2023-02-25T00:00:20.25Z", "0.7", "count,mean,argmax,quantiles(0.5)"}, "v > 0", false),
		series(seriesQuestion{3, "-1s", "", "1s", "std,hist(4,-2:2)"}, "", true),
		items("count", "", ""), items("count,sum(.req.bytes),argmin(.req.ms),nan(.req.ms)", ".status >= 300", `"/[ab\d]`, ".path", "status"),
		images("count,argmax(.size),argmin(.size)", ".size > 900", "70", "label"), images("sum(.size)", "", ""),
	}
}

func made[T analyze.Work](w T, err error) func(tb testing.TB) analyze.Work {
	return func(tb testing.TB) analyze.Work {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return w
	}
}

// TestKindsElsewhere: machines that have only the plan make the parts of any kind, and one
// merges them: the answers are those of here, to the last bit.
func TestKindsElsewhere(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		w := k.make(t)
		stored, err := json.Marshal(w.Plan(source))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := analyze.ParsePlan(stored)
		if err != nil {
			t.Fatal(k.name, err)
		}
		if len(stored) > 1000 {
			t.Errorf("%s: a plan of %d bytes", k.name, len(stored))
		}
		want, err := w.Run(t.Context(), analyze.Options{})
		if err != nil {
			t.Fatal(k.name, err)
		}
		if parts := w.Parts(); parts < 2 && k.name != "series {1    count,min,max}" {
			t.Errorf("%s: %d parts", k.name, parts)
		}
		open := func() analyze.Work {
			one, err := k.open(t, plan, source, 1<<30)
			if err != nil {
				t.Fatal(k.name, err)
			}
			return one
		}
		workers, last := []analyze.Work{open(), open()}, open()
		for part := range plan.Parts {
			result, err := workers[part%2].Part(t.Context(), part)
			if err == nil {
				err = last.Take(part, result)
			}
			if err != nil {
				t.Fatal(k.name, err)
			}
		}
		got, err := last.Finish(t.Context())
		if err == nil {
			stored, err = plan.EncodeAnswers(got)
		}
		if err == nil {
			got, err = plan.DecodeAnswers(stored)
		}
		if err != nil {
			t.Fatal(k.name, err)
		}
		if now, wish := fmt.Sprint(got.Shape, got.Axes, got.Skipped, text(got.Results)), fmt.Sprint(want.Shape, want.Axes, want.Skipped, text(want.Results)); now != wish {
			t.Errorf("%s: %s, want %s", k.name, now, wish)
		}
	}
}

// TestKindsRefused: another source, another plan, another kind and too little memory are
// refused for each kind, in a line.
func TestKindsRefused(t *testing.T) {
	t.Parallel()
	other := source
	other.ETag = `"f"`
	list := kinds()
	for i, k := range list {
		p := k.make(t).Plan(source)
		refused := func(what string, p *analyze.Plan, now analyze.Source, memory int64, want error) {
			t.Helper()
			if _, err := k.open(t, p, now, memory); !errors.Is(err, want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s: %v, want %v", k.name, what, err, want)
			}
		}
		refused("another source", p, other, 1<<30, analyze.ErrOtherSource)
		refused("a small machine", p, source, 10, formats.ErrTooLarge)
		changed := *p
		changed.ID = "other"
		refused("another plan", &changed, source, 1<<30, analyze.ErrOtherPlan)
		changed = *p
		changed.Parts++
		refused("other parts", &changed, source, 1<<30, analyze.ErrOtherPlan)
		if far := list[(i+4)%len(list)].make(t).Plan(source); far.Kind != p.Kind {
			refused("another kind", far, source, 1<<30, formats.ErrUnsupported)
		}
	}
}

// TestKindsHostile: plans that somebody changed are refused in a line before they take
// memory.
func TestKindsHostile(t *testing.T) {
	t.Parallel()
	huge := `9000000000000000000`
	for _, k := range kinds() {
		whole, err := json.Marshal(k.make(t).Plan(source))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]string{
			{`"stats":"`, `"stats":"x`}, {`"stats":"`, `"stats":"hist(100000000,0:1),`}, {`"from":"2.5"`, `"from":"later"`}, {`"to":"2023`, `"to":"x2023`},
			{`"every":"0.7"`, `"every":"0.000000001"`}, {`"every":"0.7"`, `"every":"1e-300"`}, {`"every":"0.7"`, `"every":"-1"`}, {`"track":2`, `"track":77`},
			{`"where":"`, `"where":"((`}, {`"match":"`, `"match":"(`}, {`"match":"`, `"match":"(((a{1000}){1000}){1000})`}, {`"group":[`, `"group":[".a..b",`},
			{`"part_bytes":`, `"part_bytes":-`}, {`"part_bytes":`, `"part_bytes":1,"x":`}, {`"memory":`, `"memory":` + huge + `,"x":`}, {`"memory":`, `"memory":1,"x":`},
			{`"bytes":`, `"bytes":-`}, {`"bytes":`, `"bytes":1,"x":`}, {`"kind":"`, `"kind":"x`}, {`"parts":`, `"parts":-1,"x":`}, {`"farread_plan":1`, `"farread_plan":2`},
			{`"series":{`, `"sery":{`}, {`"items":{`, `"item":{`}, {`"gulp":{`, `"gul":{`}, {`"series":{`, `"series":null,"x":{`},
		} {
			text := strings.Replace(string(whole), c[0], c[1], 1)
			if text == string(whole) {
				continue
			}
			p, err := analyze.ParsePlan([]byte(text))
			if err == nil {
				_, err = k.open(t, p, source, 1<<26)
			}
			harmless := err == nil && (strings.Contains(c[1], "memory") || strings.Contains(c[1], "bytes")) // what does not change the parts
			if !harmless && (err == nil || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %s: %v", k.name, c[1], err)
			}
		}
	}
}

// FuzzPlan: no text makes a plan panic, take much memory, or run long.
func FuzzPlan(f *testing.F) {
	list := kinds()
	for _, k := range list {
		text, err := json.Marshal(k.make(f).Plan(source))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := analyze.ParsePlan(text)
		if err != nil {
			return
		}
		for _, k := range list {
			if strings.HasPrefix(k.name, p.Kind) {
				w, err := k.open(t, p, p.Source, 1<<20)
				if err == nil && (w.ID() != p.ID || w.Parts() != p.Parts) || err != nil && strings.Contains(err.Error(), "\n") {
					t.Fatal(err)
				}
				return
			}
		}
	})
}
