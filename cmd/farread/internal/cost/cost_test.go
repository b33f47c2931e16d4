package cost

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/analysis.md")

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestSeconds: numbers that were computed by hand.
func TestSeconds(t *testing.T) {
	t.Parallel()
	r := Default(false, 2)
	near(t, "nothing", r.Seconds(Work{}), 0)
	near(t, "requests", r.Seconds(Work{Requests: 1600, Stored: 1e6, Decoded: 1e6}), 0.030+3)
	near(t, "bytes", r.Seconds(Work{Requests: 100, Stored: 5e9, Decoded: 12e9}), 0.030+50)
	near(t, "decoding", r.Seconds(Work{Requests: 100, Stored: 1e9, Decoded: 240e9}), 0.030+150)
	r = Default(true, 4)
	near(t, "a file", r.Seconds(Work{Requests: 100, Stored: 6e9, Decoded: 4e9}), 0.0001+6)
}

// TestOn: the table of a terabyte that was computed by hand, with starts and merges that cost
// nothing.
func TestOn(t *testing.T) {
	t.Parallel()
	r := Default(false, 1)
	r.Start, r.WorkerMemory, r.Latency = 0, 1.769, 0
	for parts, want := range map[int][3]float64{15_600: {0.3144, 0.78, 1.0944}, 1_000: {0.3144, 0.05, 0.3644}} { // Lambda, transitions, both
		b := r.On(Work{Parts: parts, Requests: 119_209, Stored: 1e12, Decoded: 1e12}, 1000)
		if math.Abs(b.Compute-want[0]) > 0.0002 || math.Abs(b.Steps-want[1]) > 1e-9 || math.Abs(b.Compute+b.Steps-want[2]) > 0.0002 {
			t.Errorf("%d parts: %+v", parts, b)
		}
		near(t, "reads", b.Reads, (119_209+float64(parts))*0.4e-6)
		near(t, "sum", b.Dollars, b.Compute+b.Calls+b.Reads+b.Writes+b.Steps)
		if b.Workers != 1000 || b.Limits != nil {
			t.Errorf("%+v", b)
		}
	}
	r = Default(false, 1)
	// 100 parts of 750 MB, 10 s each and one to start, on 40 workers: three rounds.
	b := r.On(Work{Parts: 100, Requests: 1000, Stored: 75e9, Decoded: 75e9}, 40)
	merge := 1 + 100*0.030/16
	near(t, "a part", b.Part, 11)
	near(t, "all", b.Seconds, 0.4+33+merge)
	near(t, "GB-seconds", b.GBSeconds, (1100+merge)*1769/1024)
	if b = r.On(Work{Parts: 20_000, Stored: 2e15, Decoded: 2e15}, 20_000); len(b.Limits) != 2 {
		t.Errorf("%+v", b)
	}
	if b = r.On(Work{}, 10); b.Dollars != 0 || b.Seconds != 0 {
		t.Errorf("%+v", b)
	}
}

// TestAssume: rates by their names.
func TestAssume(t *testing.T) {
	t.Parallel()
	r := Default(false, 1)
	if err := r.Assume(map[string]string{"latency": "100ms", "bandwidth": "1e9", "get": "0"}); err != nil || r.Latency != 0.1 || r.Bandwidth != 1e9 || r.Get != 0 {
		t.Errorf("%v, %+v", err, r)
	}
	for name, value := range map[string]string{"speed": "1", "bandwidth": "0", "cores": "many", "get": "-1", "decode": "nan", "ramp": "inf"} {
		if err := r.Assume(map[string]string{name: value}); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// table is that of docs/analysis.md.
func table() string {
	var out strings.Builder
	out.WriteString("| stored | part | parts | workers | a part | all | GB-seconds | dollars | of it steps |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range []struct {
		name    string
		stored  int64
		parts   int
		workers int
	}{
		{"1 GB", 1e9, 16, 16},
		{"1 TB", 1e12, 2_000, 1_000},
		{"1 TB", 1e12, 15_600, 1_000},
		{"1 PB", 1e15, 10_000, 10_000},
		{"1 PB", 1e15, 40_000, 10_000},
		{"1 PB", 1e15, 200_000, 10_000},
	} {
		r := Default(false, 1)
		part := c.stored / int64(c.parts)
		b := r.On(Work{Parts: c.parts, Requests: c.stored / (8 << 20), Stored: c.stored, Decoded: 2 * c.stored}, c.workers)
		over := ""
		if b.Limits != nil {
			over = ", too long"
		}
		fmt.Fprintf(&out, "| %s | %.4g MB | %d | %d | %.1f s%s | %.0f s | %.3g | %.2f | %.2f |\n",
			c.name, float64(part)/1e6, c.parts, b.Workers, b.Part, over, b.Seconds, b.GBSeconds, b.Dollars, b.Steps)
	}
	return out.String()
}

// TestDocs: the docs have the numbers of the model.
func TestDocs(t *testing.T) {
	t.Parallel()
	const name, begin, end = "../../../../docs/analysis.md", "<!-- table of cmd/farread/internal/cost, go test -update writes it -->\n", "<!-- end of the table -->\n"
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(p), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no table of costs", name)
	}
	if *update {
		if err := os.WriteFile(name, []byte(head+begin+table()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table() {
		t.Errorf("got %s\nwant %s", old, table())
	}
	for _, want := range []string{PricesOf, "256 KiB", "25,000", "10,000"} {
		if !strings.Contains(string(p), want) {
			t.Errorf("%s does not say %s", name, want)
		}
	}
}
