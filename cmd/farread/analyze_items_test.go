package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linesFile packs lines of JSON, one of which is none.
func linesFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text := `{"path":"/a","status":200,"ms":1.5,"bytes":10,"req":{"host":"x"}}
{"path":"/b,c","status":500,"ms":3,"bytes":9007199254740993,"req":{"host":"y"}}
nope
{"path":"/a","status":503,"ms":null,"bytes":"12"}
{"path":7,"status":200,"ms":2.5}
{"path":"7","status":200.0,"ms":2.5,"bytes":1}
`
	src, dst := filepath.Join(dir, "day.jsonl"), filepath.Join(dir, "day.blp")
	write(t, src, []byte(text))
	run(t, "pack", src, dst)
	return dst
}

// TestAnalyzeLines: answers about lines of JSON, in all forms.
func TestAnalyzeLines(t *testing.T) {
	t.Parallel()
	file := linesFile(t)
	const odd = "1 item is no JSON, and was passed over\n"
	for _, c := range []struct {
		want, says string
		args       []string
	}{
		{`{"count":6}` + "\n", "", []string{"--stats", "count", "--json"}},
		{`{"count":3}` + "\n", "", []string{"--stats", "count", "--match", `"/[ab]`, "--json"}},
		{`{"count":1,"skipped":1}` + "\n", odd, []string{"--stats", "count", "--where", ".status >= 500 and .path == '/a'", "--json"}},
		{`{"count":3,"max(.status)":200}` + "\n", "", []string{"--stats", "count,max(.status)", "--where", ".status < 500", "--match", "200", "--json"}},
		{`{".path":["7","/a","/b,c","\"7\""],"count":[1,2,1,1],"sum(.bytes)":[0,10,9007199254740993,1],"nan(.ms)":[0,1,0,0],"skipped":1}` + "\n", odd,
			[]string{"--stats", "count,sum(.bytes),nan(.ms)", "--group", ".path", "--json"}},
		{`{".status":["200","500","503"],"argmax(.ms)":[[4],[1],null],"quantiles(.ms)":{"0.5":[2.5,3,"nan"]},"skipped":1}` + "\n", odd,
			[]string{"--stats", "argmax(.ms),quantiles(.ms,0.5)", "--group", "status", "--json"}},
		{`{".path":["/a","/b,c"],"count":[1,1],"sum(.bytes)":[0,9007199254740993],"quantiles(.ms)":{"0.01":["nan",3],"0.5":["nan",3],"0.99":["nan",3]},"skipped":1}` + "\n", odd,
			[]string{"--where", ".status >= 500", "--group", ".path", "--stats", "count,sum(.bytes),quantiles(.ms)", "--json"}},
		{".path,.status,count\n7,200,1\n/a,200,1\n/a,503,1\n\"/b,c\",500,1\n\"\"\"7\"\"\",200,1\n", odd, []string{"--stats", "count", "--group", ".path,.status", "--format", "csv"}},
		{".req.host  count  max(.ms)\nnull           3       2.5\nx              1       1.5\ny              1         3\n", odd, []string{"--stats", "count,max(.ms)", "--group", ".req.host"}},
		{"STAT       VALUE\nmean(.ms)  2.375\n", odd, []string{"--stats", "mean(.ms)"}},
	} {
		r := runner{}.run(t, append([]string{"analyze", file}, c.args...)...)
		if r.code != 0 || r.stdout != c.want || !strings.HasSuffix(r.stderr, c.says) || c.says == "" && r.stderr != "" {
			t.Errorf("%q: exit %d %q %q, want %q", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
	if r := (runner{}).run(t, "analyze", file, "--stats", "mean(.ms)", "--quiet"); r.stderr != "" {
		t.Errorf("%q", r.stderr)
	}
	out, part := filepath.Join(filepath.Dir(file), "one.npy"), filepath.Join(filepath.Dir(file), "run.part")
	if r := (runner{}).run(t, "analyze", file, "--stats", "sum(.ms)", "-o", out, "--part-size", "1B", "--checkpoint", part); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if info, err := os.Stat(out); err != nil || info.Size() != 136 {
		t.Errorf("%v, %v", info, err)
	}
	var p analysisPlan
	if err := json.Unmarshal([]byte(run(t, "analyze", file, "--stats", "count", "--explain", "--json", "--part-size", "100B")), &p); err != nil || p.Parts != 6 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestAnalyzeLinesRefused: what lines do not have is refused in a line.
func TestAnalyzeLinesRefused(t *testing.T) {
	t.Parallel()
	file := linesFile(t)
	plain, _ := analyzed(t)
	many := filepath.Join(filepath.Dir(file), "many.jsonl")
	var text strings.Builder
	for i := range 40000 {
		text.WriteString(`{"k":"` + strings.Repeat("x", 100) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576)) + "\"}\n")
	}
	write(t, many, []byte(text.String()))
	run(t, "pack", many, many+".blp")
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"--over does not suit items":              {exitUsage, []string{file, "--stats", "count", "--over", "0"}},
		"--every does not suit items":             {exitUsage, []string{file, "--stats", "count", "--every", "2"}},
		"a SLICE does not suit items":             {exitUsage, []string{file, "1:2", "--stats", "count"}},
		"--group does not suit arrays":            {exitUsage, []string{plain, "--stats", "count", "--group", "v"}},
		"--match does not suit arrays":            {exitUsage, []string{plain, "--stats", "count", "--match", "v"}},
		"--match: error parsing regexp":           {exitUsage, []string{file, "--stats", "count", "--match", "("}},
		"--where: character 8":                    {exitUsage, []string{file, "--stats", "count", "--where", ".ms == 3x"}},
		"null is neither less nor greater":        {exitCorrupt, []string{file, "--stats", "count", "--where", ".ms < null"}},
		"--stats, --group: \".a..b\": want names": {exitUsage, []string{file, "--stats", "count", "--group", ".a..b"}},
		"name one, as in sum(.bytes)":             {exitCorrupt, []string{file, "--stats", "sum"}},
		"arrays have no names for groups":         {exitUsage, []string{file, "--stats", "count", "--group", ".path", "--format", "npy"}},
		"a field with fewer values, --where, or":  {exitCorrupt, []string{many + ".blp", "--stats", "count", "--group", ".k", "--max-memory", "16MiB"}},
	} {
		refused(t, c.code, want, append([]string{"analyze"}, c.args...)...)
	}
}

// TestAnalyzeGulp: counts and sizes of images of a dataset, and of one chunk.
func TestAnalyzeGulp(t *testing.T) {
	t.Parallel()
	const set = "../../formats/gulp/testdata/chunks/ingest_gulpio20"
	for want, args := range map[string][]string{
		`{"count":35,"sum(.size)":49033}` + "\n": {set, "--stats", "count,sum(.size)"},
		`{".label":["jumping","pouring é","running"],"count":[9,12,14],"max(.size)":[1542,1961,2163]}` + "\n": {set, "--stats", "count,max(.size)", "--group", "label"},
		`{".label":["jumping","pouring é","running"],"count":[4,4,5]}` + "\n":                                 {set + "/data_0.gulp", "--stats", "count", "--group", "label"},
		`{"count":3}` + "\n": {set + "/meta_0.gmeta", "--stats", "count", "--match", "702766"},
	} {
		if got := run(t, append([]string{"analyze", "--json"}, args...)...); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	refused(t, exitUsage, "--over does not suit images", "analyze", set, "--stats", "count", "--over", "0")
	refused(t, exitCorrupt, "name one", "analyze", set, "--stats", "sum")
}
