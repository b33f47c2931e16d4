package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAnalyzeCost: --explain tells seconds and, for workers, dollars out of rates that can be
// given.
func TestAnalyzeCost(t *testing.T) {
	t.Parallel()
	plain, _ := analyzed(t)
	args := []string{"analyze", plain, "--stats", "sum", "--part-size", "1B", "--explain", "--assume", "decode=10,latency=2s,in-flight=1,cores=3,start=1,gb-second=1,worker-memory=2,transition=0.5", "--cloud", "2"}
	var p analysisPlan
	if err := json.Unmarshal([]byte(run(t, append(args, "--json")...)), &p); err != nil {
		t.Fatal(err)
	}
	b := p.Cloud
	if p.Seconds != 2+4 || p.Rates.Cores != 3 {
		t.Errorf("%+v", p)
	}
	if b == nil || p.Parts != 3 || b.Workers != 1 || b.Transitions != 3+2 || b.Steps != 2.5 || b.Compute != b.GBSeconds || b.Invocations != 2 || b.Puts != 3+1 {
		t.Errorf("%+v", b)
	}
	text := run(t, args...)
	if !strings.Contains(text, "\nabout ") || !strings.Contains(text, "on each of 3 processors (--assume)\nabout ") || !strings.Contains(text, "list prices of 2025-01)\nin 2 calls, 5 transitions, ") {
		t.Errorf("%q", text)
	}
	for want, more := range map[string][]string{
		`--assume: "speed": want some of bandwidth`: {"--explain", "--assume", "speed=1"},
		`--assume: get="-1"`:                        {"--explain", "--assume", "get=-1"},
		"--cloud -1":                                {"--explain", "--cloud", "-1"},
		"go with --explain":                         {"--cloud", "5"},
	} {
		refused(t, exitUsage, want, append([]string{"analyze", plain, "--stats", "sum"}, more...)...)
	}
}
