package bootstrap_test

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
)

func text(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestOperations compares docs/operations.md with the project: it has every alarm of
// the Terraform module and what to do, every metric, and every variable of the
// environment. Alarms are compared with the metrics that are written.
func TestOperations(t *testing.T) {
	t.Parallel()
	doc := text(t, "../../docs/operations.md")
	alarms := text(t, "../../terraform/modules/pipeline/alarms.tf")
	names := regexp.MustCompile(`"\$\{job\}-([a-z-]+)" = \{`).FindAllStringSubmatch(alarms, -1)
	for _, n := range names {
		if !strings.Contains(doc, "| `NAME-JOB-"+n[1]+"` |") {
			t.Errorf("alarm %s is not explained", n[1])
		}
	}
	if len(names) == 0 {
		t.Error("no alarms found")
	}
	var b bytes.Buffer
	m := bootstrap.Metrics{Function: "f", Out: &b}
	m.Write(functions.Result{Uploads: 1, Done: []functions.Done{{Rule: functions.Rule{Job: "pack"}, Outcome: functions.Packed, Took: time.Second}}}, "")
	written := linesOf(t, b.Bytes())[0]
	for name, unit := range written.units {
		if !regexp.MustCompile("(?m)^\\|[^|]*`" + name + "`[^|]*\\| " + unit + " \\|").MatchString(doc) {
			t.Errorf("metric %s in %s is not explained", name, unit)
		}
	}
	ours := regexp.MustCompile(`namespace = "`+bootstrap.Namespace+`", metric = "([^"]*)"`).FindAllStringSubmatch(alarms, -1)
	for _, a := range ours {
		if written.units[a[1]] == "" {
			t.Errorf("an alarm looks at %s, which nobody writes", a[1])
		}
	}
	if len(ours) == 0 {
		t.Error("no alarm looks at the functions' own metrics")
	}
	for _, name := range []string{bootstrap.EnvRules, bootstrap.EnvRulesFile, bootstrap.EnvMaxMemory, bootstrap.EnvLog, bootstrap.EnvMetrics, bootstrap.EnvHedge} {
		if !strings.Contains(doc, "| `"+name+"` |") {
			t.Errorf("%s is not explained", name)
		}
	}
	for _, o := range []functions.Outcome{functions.Packed, functions.Unchanged, functions.Ignored, functions.Own, functions.Dropped, functions.Failed, functions.Retried} {
		if !strings.Contains(doc, "`"+string(o)+"`") {
			t.Errorf("outcome %q is not explained", o)
		}
	}
}
