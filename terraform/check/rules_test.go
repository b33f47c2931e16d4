package check

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
)

// TestRulesAreTheWorkers: the module refuses rules when the workers would: at the
// plan, not at their start. Rules that it takes reach them as they are.
func TestRulesAreTheWorkers(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.SampledFrom([]string{"datasets", "uploads"}).Draw(t, "datasets")
		drawn := rapid.SliceOfN(rapid.Custom(drawRule), 1, 3).Draw(t, "rules")
		var want functions.Rules
		list, zips := []cty.Value{}, map[string]cty.Value{}
		for _, r := range drawn {
			list = append(list, valueOf(r))
			zips[r.Job] = cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal("x.zip")})
			r.Bucket, r.Out.Bucket = "uploads", one
			want = append(want, r)
		}
		in, err := m.With(map[string]cty.Value{"name": cty.StringVal("demo"), "rules": cty.TupleVal(list), "functions": cty.ObjectVal(zips),
			"uploads_bucket": cty.StringVal("uploads"), "datasets_bucket": cty.StringVal(one)})
		if err != nil {
			t.Fatal(err)
		}
		wrong, refused := starts(want), in.Check()
		if refused != nil && !errors.Is(refused, ErrRefused) {
			t.Fatal(refused)
		}
		if (wrong == nil) != (refused == nil) {
			t.Fatalf("%+v:\nworkers: %v\nmodule: %v", want, wrong, refused)
		}
		outcomes[wrong == nil]++
		if wrong != nil {
			return
		}
		document, err := in.Local("document")
		if err != nil {
			t.Fatal(err)
		}
		got, err := functions.ParseRules([]byte(document.AsString()))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Fatalf("%s\nwant %s", a, b)
		}
	})
	if outcomes[true] == 0 || outcomes[false] == 0 {
		t.Errorf("always the same: %v", outcomes)
	}
}

// starts says why a function with these rules would not start, if so.
func starts(rules functions.Rules) error {
	jobs := map[string]functions.JobMaker{"pack": pack.New(pack.Options{}), "zoom": zoom.New(zoom.WriteOptions{}, nil)}
	h := functions.Handler{Rules: rules, Jobs: jobs, Buckets: func(string) (objstore.Bucket, error) { return nil, objstore.ErrInvalid }}
	return h.Check()
}

func drawRule(t *rapid.T) functions.Rule {
	prefixes := rapid.SampledFrom([]string{"", "a", "a/", "a/b/", "errors/", "err", "out/", "in*?$/_S"})
	r := functions.Rule{
		Prefix: prefixes.Draw(t, "prefix"), Suffix: rapid.SampledFrom([]string{"", ".tar", `\*`}).Draw(t, "suffix"),
		Job:     rapid.SampledFrom([]string{"pack", "pack", "zoom"}).Draw(t, "job"),
		Format:  rapid.SampledFrom([]string{"", "", "gulp", "bloscpack", "zip"}).Draw(t, "format"),
		Codec:   rapid.SampledFrom([]string{"", "", "zstd-3", "lz4", "pcm-i16", "f32", "brotli"}).Draw(t, "codec"),
		Layout:  rapid.SampledFrom([]string{"", "", "", "flat", "imagefolder", "rows"}).Draw(t, "layout"),
		Records: rapid.SampledFrom([]string{"", "", "lines", "chunks", "words"}).Draw(t, "records"),
		Chunk:   rapid.SampledFrom([]int64{0, 0, 0, 0, 4096, 32 << 20, 32<<20 + 1, -1}).Draw(t, "chunk"),
	}
	if rapid.Bool().Draw(t, "plain") { // all at random, hardly any rule would be good
		r.Format, r.Codec, r.Layout, r.Records, r.Chunk = "", "", "", "", 0
	}
	if most := map[string]int{"zoom": 3, "pack": 3}[r.Job]; rapid.IntRange(0, most).Draw(t, "append?") == 0 {
		r.Append, r.Format = rapid.IntRange(0, 4).Draw(t, "append") > 0, rapid.SampledFrom([]string{"b2nd", "b2nd", "b2nd", "b2nd", "", "gulp"}).Draw(t, "format of append")
		r.To = rapid.SampledFrom([]string{"days.b2nd", "days.b2nd", "", "days", strings.Repeat("ü", 253) + "x.b2nd", strings.Repeat("ü", 254) + ".b2nd"}).Draw(t, "to")
		if r.Job == "zoom" {
			r.Format = rapid.SampledFrom([]string{"", "", "", "b2nd"}).Draw(t, "format of a series")
			r.To = rapid.SampledFrom([]string{"days.zoom", "days.zoom", "", "days.b2nd", strings.Repeat("ü", 253) + "x.zoom", strings.Repeat("ü", 254) + ".zoom"}).Draw(t, "to of a series")
		}
		if r.Job == "pack" {
			r.Layout, r.Records, r.Chunk = "", "", 0
		}
	}
	if most := map[string]int{"zoom": 5, "pack": 59}[r.Job]; rapid.IntRange(0, most).Draw(t, "csv?") == 0 {
		texts := rapid.SampledFrom([]string{"", "", "%d/%m/%Y"})
		r.CSV = &functions.CSV{Time: rapid.SampledFrom([]string{"", "date+time"}).Draw(t, "time"), Times: rapid.SampledFrom([]string{"", "", "ms", "weeks"}).Draw(t, "times"),
			TimeFormat: texts.Draw(t, "format"), TZ: rapid.SampledFrom([]string{"", "+02:00"}).Draw(t, "tz"),
			Columns: rapid.SampledFrom([][]string{nil, {"a", "b"}}).Draw(t, "columns"), Skip: rapid.SampledFrom([][]string{nil, {"c"}}).Draw(t, "skip"), Sort: rapid.Bool().Draw(t, "sort")}
	}
	r.Out.Prefix = rapid.OneOf(prefixes, rapid.SampledFrom([]string{strings.Repeat("ü", 128), strings.Repeat("ü", 128) + "x"})).Draw(t, "out")
	return r
}

func csvValue(c *functions.CSV) cty.Value {
	list := func(names []string) cty.Value {
		out := []cty.Value{}
		for _, n := range names {
			out = append(out, cty.StringVal(n))
		}
		return cty.TupleVal(out)
	}
	if c == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	return cty.ObjectVal(map[string]cty.Value{"time": cty.StringVal(c.Time), "times": cty.StringVal(c.Times), "time_format": cty.StringVal(c.TimeFormat),
		"tz": cty.StringVal(c.TZ), "columns": list(c.Columns), "skip": list(c.Skip), "sort": cty.BoolVal(c.Sort)})
}

func valueOf(r functions.Rule) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"prefix": cty.StringVal(r.Prefix), "suffix": cty.StringVal(r.Suffix), "job": cty.StringVal(r.Job), "format": cty.StringVal(r.Format),
		"codec": cty.StringVal(r.Codec), "records": cty.StringVal(r.Records), "layout": cty.StringVal(r.Layout), "chunk": cty.NumberIntVal(r.Chunk), "append": cty.BoolVal(r.Append), "to": cty.StringVal(r.To),
		"csv": csvValue(r.CSV),
		"out": cty.ObjectVal(map[string]cty.Value{"prefix": cty.StringVal(r.Out.Prefix)}),
	})
}
