package check

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
)

var update = flag.Bool("update", false, "rewrite the tables of the module's README") //nolint:gochecknoglobals // a flag of go test

// TestReadme: the README's tables of inputs and outputs are what each module has,
// and each input and output says what it is.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, module := range []string{module, serving} {
		readme(t, module)
	}
}

func readme(t *testing.T, module string) {
	t.Helper()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range m.Variables {
		if v.Description == "" {
			t.Errorf("variable %s: no description", v.Name)
		}
	}
	for _, o := range m.Outputs {
		if o.Description == "" {
			t.Errorf("output %s: no description", o.Name)
		}
	}
	name := filepath.Join(module, "README.md")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	want := between(t, between(t, text, "inputs", m.Inputs()), "outputs", m.Tells())
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, text); d != "" {
		t.Errorf("the README is not of this module; go test -run Readme -update rewrites its tables:\n%s", d)
	}
}

// TestAlarms: the alarm about uploads that failed looks at what functions write.
func TestAlarms(t *testing.T) {
	t.Parallel()
	alarms, err := deployments(t)[0].Local("alarms")
	if err != nil {
		t.Fatal(err)
	}
	alarm := alarms.GetAttr("pack-failed")
	var b bytes.Buffer
	name := alarm.GetAttr("dimension").GetAttr("function").AsString()
	m := bootstrap.Metrics{Function: name, Out: &b}
	m.Write(functions.Result{Uploads: 1, Done: []functions.Done{{Outcome: functions.Failed}}}, "")
	var line struct {
		Function string
		AWS      struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
		Failed int
	}
	if err := json.Unmarshal(b.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	d := line.AWS.CloudWatchMetrics[0]
	if d.Namespace != alarm.GetAttr("namespace").AsString() || line.Function != name || line.Failed != 1 ||
		!slices.ContainsFunc(d.Dimensions, func(set []string) bool { return slices.Equal(set, []string{"function"}) }) ||
		!slices.ContainsFunc(d.Metrics, func(m struct{ Name string }) bool { return m.Name == alarm.GetAttr("metric").AsString() }) {
		t.Errorf("%#v looks elsewhere than %s", alarm, b.String())
	}
}

// TestOutputsInDocs: what the documentation has users ask Terraform for is an output
// of both examples, and comes as text that the commands beside it read.
func TestOutputsInDocs(t *testing.T) {
	t.Parallel()
	asked := regexp.MustCompile("terraform output( -[a-z]+)? ([a-z_]+)")
	found := 0
	for _, name := range []string{"../../docs/operations.md", "../../README.md", "../README.md", module + "/README.md", "../examples/complete/main.tf", "../examples/minimal/main.tf"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range asked.FindAllStringSubmatch(string(b), -1) {
			found++
			if a[1] != " -raw" {
				t.Errorf("%s: %q quotes the text", name, a[0])
			}
			for _, example := range []string{"minimal", "complete"} {
				m, err := Load("../examples/" + example)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(m.Outputs, func(o Output) bool { return o.Name == a[2] }) {
					t.Errorf("%s: %q, but the example %s has no such output", name, a[0], example)
				}
			}
		}
	}
	if found < 3 {
		t.Errorf("%d outputs are asked for", found)
	}
}

// TestOrder: what has to be there first is waited for, where no argument says so: AWS
// refuses a mapping whose function may not read the queue yet, and a notification to
// a queue that does not take it yet.
func TestOrder(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]string{
		"aws_lambda_function.this": "aws_iam_role_policy", "aws_s3_bucket_notification.uploads": "aws_sqs_queue_policy",
		"aws_s3_bucket_policy.this": "aws_s3_bucket_public_access_block", "aws_s3_bucket_lifecycle_configuration.this": "aws_s3_bucket_versioning",
	} {
		order := m.Resources[name].Body.Attributes["depends_on"]
		if order == nil || !slices.ContainsFunc(order.Expr.Variables(), func(v hcl.Traversal) bool { return v.RootName() == first }) {
			t.Errorf("%s does not wait for %s", name, first)
		}
	}
}

// between puts a table between the marks of its name.
func between(t *testing.T, text, name, table string) string {
	t.Helper()
	before, rest, ok := strings.Cut(text, "<!-- "+name+": begin -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- "+name+": end -->")
	if !ok || !ok2 {
		t.Fatalf("no marks for %s", name)
	}
	return before + "<!-- " + name + ": begin -->\n" + table + "<!-- " + name + ": end -->" + after
}

// TestWholeBucket: the lifecycle rule that ends unfinished uploads has no filter,
// so that what a killed worker left lies under it, wherever it wrote; and what must
// not be there is not.
func TestWholeBucket(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, rule := range m.Resources["aws_s3_bucket_lifecycle_configuration.this"].Body.Blocks {
		aborts, filters := 0, 0
		for _, b := range rule.Body.Blocks {
			switch b.Type {
			case "abort_incomplete_multipart_upload":
				aborts++
			case "filter":
				filters += len(b.Body.Attributes) + len(b.Body.Blocks)
			}
		}
		if found += aborts; aborts > 0 && filters > 0 {
			t.Error("unfinished uploads are ended in a part of the bucket alone")
		}
	}
	if found != 1 {
		t.Errorf("%d rules end unfinished uploads", found)
	}
	for _, name := range []string{"reserved_concurrent_executions", "layers", "vpc_config"} {
		if m.Resources["aws_lambda_function.this"].Body.Attributes[name] != nil {
			t.Errorf("functions have %s", name)
		}
	}
}
