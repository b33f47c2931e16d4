//go:build peers

package peers

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A judgement is what analyze_files.py says.
type judgement struct {
	Checked int
	Faults  []string
}

func (j *judgement) held(t *testing.T, least int) {
	t.Helper()
	for _, f := range j.Faults {
		t.Error(f)
	}
	if j.Checked < least {
		t.Errorf("%d were checked", j.Checked)
	}
}

// TestAnalyzeFiles: NumPy judges the levels of pyramids that `farread analyze --coarsen`
// writes, and pyarrow reads its Parquet.
func TestAnalyzeFiles(t *testing.T) {
	dir, farread := t.TempDir(), program(t)
	call := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), farread, append(args, "--quiet")...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	var made []struct {
		Name    string
		Factors []int
	}
	run(t.Context(), t, &made, "analyze_files.py", "make", dir)
	for _, m := range made {
		call("pack", file(m.Name+".npy"), file(m.Name+".b2nd"))
		factors := strings.ReplaceAll(strings.Trim(fmt.Sprint(m.Factors), "[]"), " ", ",")
		for _, stat := range []string{"mean", "max"} {
			for _, form := range []string{".npy", ".b2nd"} {
				call("analyze", file(m.Name+".b2nd"), "--coarsen", factors, "--stat", stat, "-o", file(m.Name+"."+stat+form), "--part-size", "1000B", "--max-memory", "32MiB")
			}
		}
	}
	var got judgement
	run(t.Context(), t, &got, "analyze_files.py", "coarse", dir)
	got.held(t, 28)

	for _, form := range []string{"csv", "parquet"} {
		call("analyze", file("bytes.b2nd"), "--over", "1,2", "--where", "v > 126", "-o", file("answers."+form),
			"--stats", "count,min,argmin,mean,std,hist(2,0:60),quantiles(0.5,1)")
	}
	for _, name := range []string{"bool", "u1", "u2be", "u4", "u8", "i1", "i4be", "f2be", "f4", "M8s", "M8ns", "M8D", "m8us", "c16"} {
		call("pack", file(name+".npy"), file(name+".b2nd"))
		stats := "min,max"
		if name == "c16" {
			stats = "mean"
		}
		every := []string{"--over", "0", "--every", "20"}
		if name == "c16" {
			every = nil
		}
		call(append([]string{"analyze", file(name + ".b2nd"), "--stats", stats, "-o", file(name + ".parquet")}, every...)...)
	}
	got = judgement{}
	run(t.Context(), t, &got, "analyze_files.py", "parquet", dir)
	got.held(t, 100)
}
