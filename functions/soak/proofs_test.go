package soak_test

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestProofs runs the proofs that are tests of other packages, on the scale of
// docs/reliability.md, for its table.
func TestProofs(t *testing.T) {
	if !full() {
		t.Skip("they run with their own packages")
	}
	rounds := cmp.Or(os.Getenv("FARREAD_STORM_ROUNDS"), "1000")
	for _, p := range []struct{ id, what, run, goal string }{
		{"E1", "one event 100 times among 20 overwrites, 32 workers; " + rounds + " rounds for each store and format, and as many schedules of two workers that meet", "Storm|Meetings", "one output of the newest upload, 0 lost"},
		{"E2", "nasty keys, test events, empty objects, folder markers, one poison message", "^TestNastyKeys$", "all but the poison done"},
	} {
		begun := time.Now()
		cmd := exec.Command("go", "test", "-count=1", "-timeout=60m", "-v", "-run", p.run, "github.com/farread/farread/functions")
		cmd.Env = append(os.Environ(), "FARREAD_STORM_ROUNDS="+rounds)
		out, err := cmd.CombinedOutput()
		passed, failed := 0, 0
		for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
			passed += strings.Count(s.Text(), "--- PASS: ")
			failed += strings.Count(s.Text(), "--- FAIL: ")
		}
		if err != nil || passed == 0 || failed > 0 {
			t.Errorf("%s: %v\n%.5000s", p.id, err, out)
		}
		figure(t, p.id, p.what, fmt.Sprintf("%d tests passed, %d failed; %.0f s", passed, failed, time.Since(begun).Seconds()), p.goal, err == nil && passed > 0)
	}
}
