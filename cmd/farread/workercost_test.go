package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/teststack"
)

// TestWorkerCosts: the requests that docs/operations.md names for uploads that are
// packed already. They are counted once, in the log as in --stats.
func TestWorkerCosts(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	rules := filepath.Join(t.TempDir(), "rules.json")
	text, err := json.Marshal(functions.Rules{
		{Bucket: "uploads", Prefix: "series/", Job: "zoom", Out: functions.Out{Bucket: "datasets"}},
		{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, rules, text)
	src := (runner{}).run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "npy").stdout
	for _, c := range []struct {
		key      string
		data     []byte
		requests int64 // of a worker that gets the object's name
	}{
		{"clip/a.tar", photosTar(t), 4},
		{"grid/a.npy", []byte(src), 3},
		{"log/a.jsonl", []byte("{\"a\":1}\n"), 3},
		{"series/a.csv", []byte("time,v\n0,1\n1,2\n"), 3},
	} {
		upload(t, "s3://uploads/"+c.key, c.data)
		event := fmt.Sprintf(`{"bucket":"uploads","key":%q}`, c.key)
		work := func() result {
			return runner{stdin: event}.run(t, "worker", "--event", "-", "--rules", rules, "-v", "--stats")
		}
		if r := work(); r.code != 0 || !strings.Contains(r.stdout, "1 packed") {
			t.Fatalf("%s: %+v", c.key, r)
		}
		r := work()
		logged := regexp.MustCompile(`msg=unchanged .*requests=(\d+) bytes=(\d+)`).FindStringSubmatch(r.stderr)
		last := strings.TrimSpace(r.stderr)
		last = last[strings.LastIndexByte(last, '\n')+1:]
		var stats struct{ Requests, Bytes int64 }
		if err := json.Unmarshal([]byte(last), &stats); err != nil || len(logged) == 0 {
			t.Fatalf("%s: %v: %s", c.key, err, r.stderr)
		}
		if logged[1] != strconv.FormatInt(stats.Requests, 10) || logged[2] != strconv.FormatInt(stats.Bytes, 10) || stats.Requests != c.requests {
			t.Errorf("%s: the log says %s requests and %s bytes, --stats %+v, want %d requests", c.key, logged[1], logged[2], stats, c.requests)
		}
		// A backfill makes listings as well.
		folder, _, _ := strings.Cut(c.key, "/")
		r = runner{}.run(t, "backfill", "s3://uploads/"+folder+"/", "--rules", rules, "--stats")
		last = strings.TrimSpace(r.stderr)
		if err := json.Unmarshal([]byte(last[strings.LastIndexByte(last, '\n')+1:]), &stats); err != nil || stats.Requests != c.requests+1 {
			t.Errorf("%s: backfill: %v, %s", c.key, err, r.stderr)
		}
	}
	// Objects that are worked on at the same time share a counter: their log lines
	// tell no requests.
	r := runner{}.run(t, "backfill", "s3://uploads/", "--rules", rules, "-v", "--jobs", "3")
	if !strings.Contains(r.stderr, "msg=unchanged") || regexp.MustCompile(`msg=unchanged .*requests=`).MatchString(r.stderr) {
		t.Error(r.stderr)
	}
}

// TestDryRunReportsNothing: a dry run refers nobody to reports that it has not
// written.
func TestDryRunReportsNothing(t *testing.T) {
	stackEnv(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	rules := filepath.Join(t.TempDir(), "rules.json")
	write(t, rules, []byte(fillRules))
	upload(t, "s3://uploads/bad/1.bin", []byte("neither an archive nor an array"))
	r := runner{}.run(t, "backfill", "s3://uploads/bad/", "--rules", rules, "--dry-run")
	if r.code == 0 || strings.Contains(r.stdout, "errors/") || !strings.Contains(r.stdout, "1 would fail for good") {
		t.Errorf("%+v", r)
	}
	if got := (runner{}).run(t, "ls", "s3://datasets/", "--objects").stdout; got != "" {
		t.Error(got)
	}
	r = runner{}.run(t, "backfill", "s3://uploads/bad/", "--rules", rules)
	if !strings.Contains(r.stdout, "1 failed for good (see errors/)") {
		t.Errorf("%+v", r)
	}
}
