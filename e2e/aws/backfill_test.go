//go:build e2e

package aws_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/functions"
)

// backfillUploads is how many there are in TestBackfillOn. By hand: -args -backfill.uploads 200.
var backfillUploads = flag.Int("backfill.uploads", 12, "uploads that a state machine has packed")

// TestBackfillOn: the state machine of the module has the function pack what lies in a bucket;
// the command tells what became of it as it does of a run on this machine, and another run
// packs nothing again.
func TestBackfillOn(t *testing.T) {
	t.Parallel()
	uploads, datasets, work := cloud.Bucket(t, true), cloud.Bucket(t, false), cloud.Bucket(t, false)
	rules := functions.Rules{{Bucket: uploads, Prefix: "in/", Suffix: ".npy", Job: "pack", Out: functions.Out{Bucket: datasets}}}
	n := *backfillUploads
	for i := range n {
		put(t, uploads, fmt.Sprintf("in/ü %%%05d+.npy", i), npy(i+1))
	}
	put(t, uploads, "in/broken.npy", npy(9)[:140])
	put(t, uploads, "in/notes.txt", []byte("none"))
	file := filepath.Join(t.TempDir(), "rules.json")
	text, err := json.Marshal(rules)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	machine, cli := cloud.Backfill(t, rules), scenario.BuildCLI(t)
	fill := func() map[string]any {
		cmd := exec.CommandContext(t.Context(), cli, "backfill", "s3://"+uploads+"/", "--rules", file, "--json", "--on", machine, "--work", "s3://"+work+"/jobs")
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+cloud.Config.Endpoint)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		var report map[string]any
		if jerr := json.Unmarshal(out, &report); jerr != nil || cmd.ProcessState.ExitCode() != 7 {
			t.Fatalf("%v %v: %s %s", err, jerr, out, errs.String())
		}
		return report
	}
	for run, want := range []map[string]int{
		{"listed": n + 2, "done": n, "unmatched": 1, "failed": 1, "retry": 0, "unchanged": 0, "skipped": 1},
		{"listed": n + 2, "done": 0, "unmatched": 1, "failed": 1, "retry": 0, "unchanged": n, "skipped": n + 1},
	} {
		begun := time.Now()
		report := fill()
		t.Logf("run %d: %d uploads in %.1f s", run, n, time.Since(begun).Seconds())
		for name, count := range want {
			if report[name] != float64(count) {
				t.Errorf("run %d: %s %v, want %d", run, name, report[name], count)
			}
		}
		if text := fmt.Sprint(report["failures"]); !strings.Contains(text, "in/broken.npy") || !strings.Contains(text, "truncated") {
			t.Errorf("run %d: %s", run, text)
		}
	}
	list, err := cloud.S3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &datasets})
	if err != nil || len(list.Contents) != n+1 { // and the report of the broken one
		t.Errorf("%d objects, %v", len(list.Contents), err)
	}
}

func put(t *testing.T, bucket, key string, body []byte) {
	t.Helper()
	if _, err := cloud.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		t.Fatal(err)
	}
}

// npy is an array of n bytes.
func npy(n int) []byte {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }", 100+n)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(b, head...), make([]byte, 100+n)...)
}
