package main

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// analyzed packs the numbers from 0 to 59 as an array of 6 by 10, and items with members.
func analyzed(t *testing.T) (plain, members string) {
	t.Helper()
	dir := t.TempDir()
	var items, pairs []byte
	for i := range 60 {
		items = append(items, byte(i), 0)
		pairs = append(pairs, byte(i%7), byte(i), 0)
	}
	plain, members = filepath.Join(dir, "plain.b2nd"), filepath.Join(dir, "members.b2nd")
	npyFile(t, filepath.Join(dir, "plain.npy"), "<i2", []int64{6, 10}, false, items)
	npyFile(t, filepath.Join(dir, "members.npy"), "[('a', '|u1'), ('b', '<i2')]", []int64{60}, false, pairs)
	run(t, "pack", filepath.Join(dir, "plain.npy"), plain, "--chunk-shape", "2,10", "--block-shape", "1,5", "--index")
	run(t, "pack", filepath.Join(dir, "members.npy"), members)
	return plain, members
}

// TestAnalyze: answers of all forms.
func TestAnalyze(t *testing.T) {
	t.Parallel()
	plain, members := analyzed(t)
	dir := filepath.Dir(plain)
	for _, c := range []struct {
		want string
		args []string
	}{
		{`{"count":60,"min":0,"max":59,"argmax":[5,9],"sum":1770,"mean":29.5}` + "\n", []string{plain, "--stats", "count,min,max,argmax,sum,mean", "--json"}},
		{`{"mean":[4.5,14.5,24.5]}` + "\n", []string{plain, ":3", "--over", "1", "--stats", "mean", "--json"}},
		{`{"sum":[[42,50],[81,85]]}` + "\n", []string{plain, "::2, 0:4", "--over", "0,1", "--every", "2,2", "--stats", "sum", "-o", "-", "--format", "json"}},
		{`{"sum":[92,166]}` + "\n", []string{plain, "::2, 0:4", "--over", "0,1", "--every", "2", "--stats", "sum", "--json"}},
		{`{"hist":{"edges":[0,30,60],"counts":[30,30]},"quantiles":{"0.5":29}}` + "\n", []string{plain, "--stats", "hist(2,0:60),quantiles(0.5)", "--json"}},
		{`{"count":0,"min":null,"argmin":null,"mean":"nan"}` + "\n", []string{plain, "--stats", "count,min,argmin,mean", "--where", "v > 100", "--json"}},
		{"STAT   VALUE\ncount  9\nmin    51\n", []string{plain, "-1", "--stats", "count,min", "--where", "v > 50"}},
		{"i0,min,argmin[0],argmin[1]\n0,8,0,8\n1,18,1,8\n2,28,2,8\n3,38,3,8\n4,48,4,8\n5,58,5,8\n", []string{plain, ":, -2:", "--over", "-1", "--stats", "min,argmin", "-o", "-", "--format", "csv"}},
		{"hist[0:30],hist[30:60],quantiles[0.5]\n30,30,29\n", []string{plain, "--stats", "hist(2,0:60),quantiles(0.5)", "-o", "-", "--format", "csv"}},
		{"I0  hist        count\n 0  █  0 to 60     30\n 1   █ 0 to 60     30\n", []string{plain, "--over", "0,1", "--every", "3", "--stats", "hist(2,0:60),count"}},
		{`{"sum(.a)":174,"max(.b)":59}` + "\n", []string{members, "--stats", "sum(.a),max(.b)", "--json"}},
	} {
		if got := run(t, append([]string{"analyze"}, c.args...)...); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
	floats := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1)))
	floats = binary.LittleEndian.AppendUint64(floats, math.Float64bits(math.NaN()))
	floats = binary.LittleEndian.AppendUint64(floats, math.Float64bits(0.25))
	floats = binary.LittleEndian.AppendUint64(floats, math.Float64bits(-2))
	for want, c := range map[string][3]string{
		`{"count":3,"nan":1,"min":-2,"max":"inf","sum":"inf","mean":"inf","std":"nan"}`: {"<f8", "4", "count,nan,min,max,sum,mean,std"},
		`{"count":1,"nan":1,"sum":[0.25,-2],"mean":[0.25,-2]}`:                          {"<c16", "2", "count,nan,sum,mean"},
		`{"sum":["inf","nan"]}`: {"<c16", "2", "sum"},
	} {
		data := floats
		if c[2] == "sum" {
			data = slices.Concat(floats[:8], floats[:8], floats[:8], floats[:8])
			data[31] = 0xff // minus infinity
		}
		file := filepath.Join(dir, "floats.npy")
		n, err := strconv.ParseInt(c[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		npyFile(t, file, c[0], []int64{n}, false, data)
		run(t, "pack", file, file+".b2nd", "--force")
		if got := run(t, "analyze", file+".b2nd", "--stats", c[2], "--json"); got != want+"\n" {
			t.Errorf("%s of %s: %s, want %s", c[2], c[0], got, want)
		}
	}
	for _, name := range []string{"one.npy", "one.b2nd"} {
		run(t, "analyze", plain, "--over", "0", "--stats", "mean", "-o", filepath.Join(dir, name))
	}
	run(t, "pack", filepath.Join(dir, "one.npy"), filepath.Join(dir, "back.b2nd"))
	if a, b := run(t, "slice", filepath.Join(dir, "one.b2nd"), "..."), run(t, "slice", filepath.Join(dir, "back.b2nd"), "..."); a != b || !strings.HasPrefix(a, "25 26 27") && !strings.Contains(a, "34") {
		t.Errorf("%q and %q", a, b)
	}
	run(t, "analyze", plain, "--over", "0", "--stats", "mean,quantiles(0,1)", "-o", filepath.Join(dir, "two.b2nd"))
	if got := run(t, "slice", filepath.Join(dir, "two.b2nd"), "9", "--json"); got != `{"mean":34,"quantiles":[9,59]}`+"\n" {
		t.Errorf("%q", got)
	}
}

// TestAnalyzeCheckpoint: the file of a checkpoint goes at the end; another plan's is refused.
func TestAnalyzeCheckpoint(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	file := filepath.Join(filepath.Dir(plain), "run.part")
	if got := run(t, "analyze", plain, "--stats", "sum", "--json", "--checkpoint", file, "--part-size", "1B"); got != `{"sum":1770}`+"\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the checkpoint is still there: %v", err)
	}
	write(t, file, []byte(`{"farread_checkpoint":1,"plan":"other"}`+"\n"))
	refused(t, exitUsage, "of another plan", "analyze", plain, "--stats", "sum", "--checkpoint", file)
	write(t, file, []byte("notes\n"))
	refused(t, exitCorrupt, "no checkpoint", "analyze", plain, "--stats", "sum", "--checkpoint", file)
	if got := string(testFile(t, file)); got != "notes\n" {
		t.Errorf("%q", got)
	}
	dir := filepath.Dir(plain)
	out := filepath.Join(dir, "sum.json") // which would go away as the checkpoint
	refused(t, exitUsage, "--checkpoint and -o are one file", "analyze", plain, "--stats", "sum", "-o", out, "--checkpoint", dir+"/./sum.json")
	write(t, out, nil)
	link := filepath.Join(dir, "run.json")
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	refused(t, exitUsage, "--checkpoint and -o are one file", "analyze", plain, "--stats", "sum", "-o", out, "--checkpoint", link)
}

// TestAnalyzeExplain: a plan says what is read, and reads nothing else.
func TestAnalyzeExplain(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	var p analysisPlan
	if err := json.Unmarshal([]byte(run(t, "analyze", plain, "--stats", "sum", "--where", "v >= 55", "--explain", "--json")), &p); err != nil {
		t.Fatal(err)
	}
	if p.Parts != 1 || p.Search.Chunks != 3 || p.Search.ChunksRead != 1 || p.Search.BlocksRead != 1 || p.Plan == "" {
		t.Errorf("%+v, %+v", p, p.Search)
	}
	if got := run(t, "analyze", plain, "--stats", "min", "--explain"); !strings.HasPrefix(got, "0 of 3 chunks and 0 of 12 blocks in 0 parts: 0 requests, 0 B; an answer of shape ()\n") {
		t.Errorf("%q", got)
	}
}

// TestAnalyzeRefused: what makes no sense is refused in a line.
func TestAnalyzeRefused(t *testing.T) {
	t.Parallel()
	plain, members := analyzed(t)
	for want, c := range map[string]struct {
		code int
		args []string
	}{
		"missing --stats":                {exitUsage, []string{plain}},
		`stat "median": want some of`:    {exitUsage, []string{plain, "--stats", "median"}},
		"range nan:1":                    {exitUsage, []string{plain, "--stats", "hist(3,nan:1)"}},
		"axis 2 of 2":                    {exitUsage, []string{plain, "--stats", "sum", "--over", "2"}},
		"axis 1 is reduced twice":        {exitUsage, []string{plain, "--stats", "sum", "--over", "1,-1"}},
		"windows of 0 items":             {exitUsage, []string{plain, "--stats", "sum", "--every", "0"}},
		"windows of 3 axes":              {exitUsage, []string{plain, "--stats", "sum", "--every", "1,1,1"}},
		"--jobs 0":                       {exitUsage, []string{plain, "--stats", "sum", "--jobs", "0"}},
		"--part-size 0":                  {exitUsage, []string{plain, "--stats", "sum", "--part-size", "0"}},
		`--format "png"`:                 {exitUsage, []string{plain, "--stats", "sum", "--format", "png"}},
		"want a name that ends in .json": {exitUsage, []string{plain, "--stats", "sum", "-o", "x.png"}},
		"where: at the end":              {exitUsage, []string{plain, "--stats", "sum", "--where", "v > "}},
		`has no member "x"`:              {exitNotFound, []string{plain, "--stats", "sum", "--where", "x > 3"}},
		"name one, .a or .b":             {exitCorrupt, []string{members, "--stats", "sum"}},
		`no member "z"`:                  {exitNotFound, []string{members, "--stats", "sum(.z)"}},
		"analyze takes a b2nd array":     {exitCorrupt, []string{"../../formats/all/testdata/chunk.blosc", "--stats", "sum"}},
		"and this is a folder":           {exitCorrupt, []string{filepath.Dir(plain), "--stats", "sum"}},
		"half of":                        {exitCorrupt, []string{plain, "--stats", "hist(1000000,0:1)", "--over", "0", "--max-memory", "16MiB"}},
	} {
		refused(t, c.code, want, append([]string{"analyze"}, c.args...)...)
	}
}

// TestAnalyzeCount: items with members are counted without naming one.
func TestAnalyzeCount(t *testing.T) {
	t.Parallel()
	_, members := analyzed(t)
	for want, args := range map[string][]string{
		`{"count":60,"sum(.b)":1770}` + "\n":               {"--stats", "count,sum(.b)"},
		`{"count":16}` + "\n":                              {"--stats", "count", "--where", "a > 4"},
		`{"count":[10,10,3],"count(.a)":[10,10,3]}` + "\n": {"3:26", "--stats", "count,count(.a)", "--every", "10"},
	} {
		if got := run(t, append([]string{"analyze", members, "--json"}, args...)...); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestAnalyzeCurves: a terminal shows answers along one axis as curves, too.
func TestAnalyzeCurves(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	args := []string{"analyze", plain, "--over", "1", "--where", "v != 25 and v < 50", "--stats", "count,max,argmin,quantiles(0.5)"}
	table := run(t, args...)
	r := runner{screen: true}.run(t, args...)
	if want := table + "\nSTAT   CURVE\ncount  ██▇██▁ 0 to 10\nmax    ▁▂▄▆█  9 to 49\n"; r.stdout != want {
		t.Errorf("%q, want %q", r.stdout, want)
	}
	for _, none := range [][]string{{"--stats", "mean"}, {"--stats", "argmin", "--over", "1"}, {"--stats", "mean", "--over", "1", "--format", "csv"}, {"0:2", "--stats", "mean", "--over", "1"}} {
		if r := (runner{screen: true}).run(t, append([]string{"analyze", plain}, none...)...); r.code != 0 || strings.Contains(r.stdout, "CURVE") {
			t.Errorf("%q: %+v", none, r)
		}
	}
}
