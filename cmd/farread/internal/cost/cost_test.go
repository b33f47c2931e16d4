package cost

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/farread/farread/functions/parts"
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

// TestOn: numbers that were computed by hand; TestMeasured has those that were measured.
func TestOn(t *testing.T) {
	t.Parallel()
	r := Default(false, 1)
	// 100 parts of 750 MB in 50 batches, 20 s each, on 40 workers: two rounds.
	w := Work{Parts: 100, Batches: 50, Requests: 1000, Stored: 75e9, Decoded: 75e9, Open: 3, OpenBytes: 7.5e6, Phases: 2}
	b := r.On(w, 40)
	open, warm, merge := 3*0.030+0.1, 0.030+20*0.030/16+0.030+20, 0.030+3*0.030+0.1+0.030+7*0.030+0.030
	near(t, "a batch", b.Batch, 1+open+warm)
	near(t, "a part", b.Part, b.Batch/2)
	near(t, "all", b.Seconds, 0.4+1+open+2*warm+merge)
	near(t, "GB-seconds", b.GBSeconds, (40*(1+open)+50*warm+merge)*1769/1024)
	if want := (Counts{Invocations: 51, Gets: 1 + 40*4 + 1000 + 5 + 100, Puts: 101, Lists: 51, Transitions: 103}); b.Counts != want || b.Limits != nil || b.Workers != 40 {
		t.Errorf("%+v, want %+v", b, want)
	}
	near(t, "calls", b.Calls, 51*0.2e-6)
	near(t, "reads", b.Reads, 1266*0.4e-6)
	near(t, "writes", b.Writes, 152*5e-6)
	near(t, "steps", b.Steps, 103*25e-6)
	near(t, "sum", b.Dollars, b.Compute+b.Calls+b.Reads+b.Writes+b.Steps)
	r.Retries = 0.1
	if got := r.On(w, 40); got.Invocations != 56 || got.Transitions != 108 || got.GBSeconds <= b.GBSeconds || got.Gets != b.Gets+100 {
		t.Errorf("with retries: %+v", got)
	}
	r.Retries = 0
	if got := r.On(Work{Parts: 2001, Batches: 10}, 10).Lists; got != 10+3 {
		t.Errorf("%d pages of lists, want 13", got)
	}
	if b = r.On(Work{Parts: 20_000, Stored: 2e15, Decoded: 2e15}, 20_000); len(b.Limits) != 3 {
		t.Errorf("%q", b.Limits)
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

// table is that of docs/analysis.md: arrays that are half as long when they are stored, read
// by requests of 2 MiB, in the batches that the command makes.
func table(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("| stored | part | parts | calls | workers | a call | all | GB-seconds | dollars | of it steps |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range []struct {
		name    string
		stored  int64
		parts   int
		workers int
	}{
		{"1 GB", 1e9, 16, 16},
		{"1 TB", 1e12, 2_000, 1_000},
		{"1 TB", 1e12, 15_600, 1_000},
		{"100 TB", 1e14, 40_000, 1_000},
		{"100 TB", 1e14, 40_000, 10_000},
		{"1 PB", 1e15, 40_000, 10_000},
	} {
		r := Default(false, 1)
		w := Work{Parts: c.parts, Requests: c.stored / (2 << 20), Stored: c.stored, Decoded: 2 * c.stored, Open: 4, OpenBytes: 1 << 20}
		missing := make([]int, c.parts)
		for i := range missing {
			missing[i] = i
		}
		list, err := parts.Batches(&parts.Plan{Parts: c.parts, Bytes: w.Decoded}, missing, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.Batches = len(list)
		b := r.On(w, c.workers)
		over := ""
		if b.Limits != nil {
			over = ", too long for one"
		}
		fmt.Fprintf(&out, "| %s | %.4g MB | %d | %d | %d | %.1f s%s | %.0f s | %.3g | %.2f | %.2f |\n",
			c.name, float64(c.stored)/float64(c.parts)/1e6, c.parts, w.Batches, b.Workers, b.Batch, over, b.Seconds, b.GBSeconds, b.Dollars, b.Steps)
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
		if err := os.WriteFile(name, []byte(head+begin+table(t)+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if old != table(t) {
		t.Errorf("got %s\nwant %s", old, table(t))
	}
	for _, want := range []string{PricesOf, "256 KiB", "25,000", "10,000"} {
		if !strings.Contains(string(p), want) {
			t.Errorf("%s does not say %s", name, want)
		}
	}
}
