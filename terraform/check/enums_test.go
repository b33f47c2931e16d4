package check

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	cloudwatch "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	lambda "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	s3 "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/bootstrap"
)

// texts are the values of an enumeration of the SDK.
func texts[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}

// enums are what AWS takes for arguments of resources whose values the module
// writes itself, by resource and the path of the argument.
func enums() map[string][]string {
	return map[string][]string{
		"aws_lambda_function.this runtime":                                texts(lambda.Runtime("").Values()),
		"aws_lambda_function.this architectures":                          texts(lambda.Architecture("").Values()),
		"aws_lambda_function.this package_type":                           texts(lambda.PackageType("").Values()),
		"aws_lambda_function.this logging_config.log_format":              texts(lambda.LogFormat("").Values()),
		"aws_lambda_function.parts runtime":                               texts(lambda.Runtime("").Values()),
		"aws_lambda_function.parts architectures":                         texts(lambda.Architecture("").Values()),
		"aws_lambda_function.parts package_type":                          texts(lambda.PackageType("").Values()),
		"aws_lambda_function.parts logging_config.log_format":             texts(lambda.LogFormat("").Values()),
		"aws_lambda_event_source_mapping.queue function_response_types":   texts(lambda.FunctionResponseType("").Values()),
		"aws_s3_bucket_versioning.this versioning_configuration.status":   texts(s3.BucketVersioningStatus("").Values()),
		"aws_s3_bucket_ownership_controls.this rule.object_ownership":     texts(s3.ObjectOwnership("").Values()),
		"aws_s3_bucket_lifecycle_configuration.this rule.status":          texts(s3.ExpirationStatus("").Values()),
		"aws_s3_bucket_notification.uploads queue.events":                 texts(s3.Event("").Values()),
		"aws_cloudwatch_metric_alarm.this comparison_operator":            texts(cloudwatch.ComparisonOperator("").Values()),
		"aws_cloudwatch_metric_alarm.this statistic":                      texts(cloudwatch.Statistic("").Values()),
		sseRule + "apply_server_side_encryption_by_default.sse_algorithm": texts(s3.ServerSideEncryption("").Values()),
	}
}

const sseRule = "aws_s3_bucket_server_side_encryption_configuration.this rule."

// TestEnums: what the module writes where AWS takes a few words is one of them,
// whatever the variables say.
func TestEnums(t *testing.T) {
	t.Parallel()
	for at, values := range enums() {
		resource, path, _ := strings.Cut(at, " ")
		seen := map[string]bool{}
		for _, in := range deployments(t) {
			for _, got := range arguments(t, in, resource, strings.Split(path, ".")) {
				seen[got] = true
				if !slices.Contains(values, got) {
					t.Errorf("%s: %q is none of %q", at, got, values)
				}
			}
		}
		if len(seen) == 0 {
			t.Errorf("%s: not written at all", at)
		}
	}
}

// deployments are instances that between them go every way of the module.
func deployments(t *testing.T) []*Instance {
	t.Helper()
	rules := cty.TupleVal([]cty.Value{rule("pack", "in/", "sets/"), rule("zoom", "series/", "zoom/")})
	return []*Instance{
		deploy(t, rules, nil),
		deploy(t, rules, map[string]cty.Value{"event_source": cty.StringVal("sqs"), "architecture": cty.StringVal("x86_64"), "noncurrent_days": cty.NumberIntVal(30),
			"analysis": cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal("fn.zip")}), "backfill": cty.EmptyObjectVal,
			"kms_key_arn": cty.StringVal("arn:aws:kms:eu-west-1:" + Account + ":key/k"), "create_alarm_topic": cty.True}),
	}
}

// arguments are the texts at a path of a resource, in all its instances and blocks.
func arguments(t *testing.T, in *Instance, resource string, path []string) []string {
	t.Helper()
	b := in.m.Resources[resource]
	if b == nil {
		t.Fatalf("no %s", resource)
	}
	each, err := in.each(b)
	if err != nil {
		t.Fatal(err)
	}
	scopes := []map[string]cty.Value{}
	for k, v := range each {
		scopes = append(scopes, eachValue(k, v))
	}
	if each == nil {
		scopes = append(scopes, nil)
	}
	var out []string
	for _, scope := range scopes {
		out = append(out, inBody(t, in, b.Body, path, scope)...)
	}
	return out
}

func inBody(t *testing.T, in *Instance, body *hclsyntax.Body, path []string, scope map[string]cty.Value) []string {
	t.Helper()
	if len(path) == 1 {
		a := body.Attributes[path[0]]
		if a == nil {
			return nil
		}
		v, err := in.eval(a.Expr, scope)
		if err != nil {
			t.Fatal(err)
		}
		return plain(v)
	}
	var out []string
	for _, inner := range body.Blocks {
		switch {
		case inner.Type == path[0]:
			out = append(out, inBody(t, in, inner.Body, path[1:], scope)...)
		case inner.Type == "dynamic" && inner.Labels[0] == path[0]:
			list, err := in.eval(inner.Body.Attributes["for_each"].Expr, scope)
			if err != nil {
				t.Fatal(err)
			}
			for it := list.ElementIterator(); it.Next(); {
				k, v := it.Element()
				out = append(out, inBody(t, in, inner.Body.Blocks[0].Body, path[1:],
					map[string]cty.Value{path[0]: cty.ObjectVal(map[string]cty.Value{"key": k, "value": v})})...)
			}
		}
	}
	return out
}

// plain are the texts in v.
func plain(v cty.Value) []string {
	if v.IsNull() {
		return nil
	}
	if v.Type() == cty.String {
		return []string{v.AsString()}
	}
	var out []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		out = append(out, plain(e)...)
	}
	return out
}

// lists are the lists of words that a variable's validations look into, by what is
// looked for in them: contains(["a", "b"], var.x) is ["a", "b"] of "var.x".
func lists(t *testing.T, m *Module, name string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, call := range calls(m, name, "contains") {
		if list, diags := call.Args[0].Value(nil); !diags.HasErrors() {
			out[m.text(call.Args[1])] = plain(list)
		}
	}
	return out
}

// patterns are the regular expressions that a variable's validations match against.
func patterns(t *testing.T, m *Module, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, call := range calls(m, name, "regex") {
		v, diags := call.Args[0].Value(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		out[m.text(call.Args[1])] = v.AsString()
	}
	return out
}

func calls(m *Module, variable, function string) []*hclsyntax.FunctionCallExpr {
	var out []*hclsyntax.FunctionCallExpr
	for _, v := range m.Variables {
		for _, b := range v.validations {
			if v.Name != variable {
				continue
			}
			_ = hclsyntax.VisitAll(b.Body.Attributes["condition"].Expr, func(n hclsyntax.Node) hcl.Diagnostics { // it fails no node
				if c, ok := n.(*hclsyntax.FunctionCallExpr); ok && c.Name == function {
					out = append(out, c)
				}
				return nil
			})
		}
	}
	return out
}

// TestWords: the words that variables take are those of the SDK, of the rules'
// schema and of the functions.
func TestWords(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Items struct {
			Properties map[string]struct {
				Enum       []string
				Pattern    string
				MaxLength  int
				Properties map[string]struct{ MaxLength int }
			}
		}
	}
	if err := json.Unmarshal(functions.RulesSchema, &schema); err != nil {
		t.Fatal(err)
	}
	p := schema.Items.Properties
	rules, names := lists(t, m, "rules"), lists(t, m, "functions")
	for what, c := range map[string][2]any{
		"architecture": {lists(t, m, "architecture")["var.architecture"], texts(lambda.Architecture("").Values())},
		"job":          {rules["r.job"], p["job"].Enum},
		"format":       {rules["r.format"], p["format"].Enum},
		"layout":       {rules["r.layout"], p["layout"].Enum},
		"records":      {rules["r.records"], p["records"].Enum},
		"functions":    {names["job"], p["job"].Enum},
		"uploads":      {patterns(t, m, "uploads_bucket")[`coalesce(var.uploads_bucket, "some-name")`], p["bucket"].Pattern},
		"datasets":     {patterns(t, m, "datasets_bucket")[`coalesce(var.datasets_bucket, "some-name")`], p["bucket"].Pattern},
	} {
		if d := cmp.Diff(c[1], c[0], cmpopts.SortSlices(strings.Compare)); d != "" {
			t.Errorf("%s: the code's (-), the module's (+):\n%s", what, d)
		}
	}
	levels := lists(t, m, "log_level")["var.log_level"]
	if len(levels) == 0 {
		t.Error("no levels of the log")
	}
	for _, level := range levels {
		if err := new(slog.Level).UnmarshalText([]byte(level)); err != nil {
			t.Error(err)
		}
	}
}

// TestEnvironment: the functions take the environment that the module gives them.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, in := range deployments(t) {
		environment, err := in.Local("environment")
		if err != nil {
			t.Fatal(err)
		}
		for it := environment.ElementIterator(); it.Next(); {
			job, vars := it.Element()
			given := map[string]string{}
			for kv := vars.ElementIterator(); kv.Next(); {
				k, v := kv.Element()
				given[k.AsString()] = v.AsString()
			}
			asked := map[string]bool{}
			c, err := bootstrap.Load(func(name string) string { asked[name] = true; return given[name] }, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Rules) != 2 || c.MaxMemory != 200<<20 || c.Level != slog.LevelInfo {
				t.Errorf("%s: %+v", job.AsString(), c)
			}
			for name := range given {
				if !asked[name] {
					t.Errorf("%s: nobody asks for %s", job.AsString(), name)
				}
			}
		}
	}
}
