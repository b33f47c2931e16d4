package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// machines evaluates the module with all state machines.
func machines(t *testing.T, more map[string]cty.Value) *Instance {
	t.Helper()
	input := map[string]cty.Value{
		"analysis": cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal("fn.zip"), "sources": cty.TupleVal([]cty.Value{
			cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("datasets"), "prefix": cty.StringVal("sets/")})})}),
		"packs": cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal("fn.zip"),
			"sources": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("inputs")})}),
			"outputs": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("datasets"), "prefix": cty.StringVal("sets/")})})}),
		"backfill": cty.EmptyObjectVal,
		"work":     cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("work"), "prefix": cty.StringVal("far/")}),
	}
	maps.Copy(input, more)
	in := deploy(t, cty.TupleVal([]cty.Value{rule("pack", "in/", "sets/"), rule("zoom", "series/", "zoom/")}), input)
	if err := in.Check(); err != nil {
		t.Fatal(err)
	}
	return in
}

func attribute(t *testing.T, in *Instance, resource, key, name string) string {
	t.Helper()
	v, err := in.Attribute(resource, key, name)
	if err != nil {
		t.Fatal(err)
	}
	return v.AsString()
}

// texts of a definition, at any depth, by the name of their member.
func members(v any, name string) []string {
	var out []string
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if text, ok := inner.(string); ok && k == name {
				out = append(out, text)
			}
			out = append(out, members(inner, name)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, members(inner, name)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestMachineRights: the role of each machine may do what its definition does, on what the
// commands tell it, and no more.
func TestMachineRights(t *testing.T) {
	t.Parallel()
	in := machines(t, nil)
	lambda, states := "arn:aws:lambda:"+Region+":"+Account+":function:demo-", "arn:aws:states:"+Region+":"+Account+":"
	for name, c := range map[string]struct {
		calls     []string // resources of its tasks
		functions []string
		writes    string
	}{
		"analysis": {[]string{"arn:aws:states:::lambda:invoke", "arn:aws:states:::s3:getObject"}, []string{"analyze"}, ""},
		"packs":    {[]string{"arn:aws:states:::lambda:invoke", "arn:aws:states:::s3:getObject"}, []string{"packs"}, ""},
		"backfill": {[]string{"arn:aws:states:::aws-sdk:s3:putObject", "arn:aws:states:::lambda:invoke", "arn:aws:states:::s3:getObject"}, []string{"pack", "zoom"}, "far/backfill/x/run/000000.json"},
	} {
		var def any
		if err := json.Unmarshal([]byte(attribute(t, in, "aws_sfn_state_machine.this", name, "definition")), &def); err != nil {
			t.Fatal(err)
		}
		if got := members(def, "Resource"); !slices.Equal(got, c.calls) {
			t.Errorf("%s does %q", name, got)
		}
		p, err := ParsePolicy(attribute(t, in, "aws_iam_role_policy.machine", name, "policy"))
		if err != nil {
			t.Fatal(err)
		}
		allowed := []Request{
			{Action: "states:StartExecution", Resource: states + "stateMachine:demo-" + name},
			{Action: "states:StopExecution", Resource: states + "execution:demo-" + name + "/Map:x"},
			{Action: "states:DescribeExecution", Resource: states + "execution:demo-" + name + ":x"},
			{Action: "s3:GetObject", Resource: "arn:aws:s3:::work/far/" + name + "/x/list.json"},
		}
		for _, f := range c.functions {
			allowed = append(allowed, Request{Action: "lambda:InvokeFunction", Resource: lambda + f})
		}
		if c.writes != "" {
			allowed = append(allowed, Request{Action: "s3:PutObject", Resource: "arn:aws:s3:::work/" + c.writes})
		}
		used := map[string]bool{}
		for _, r := range allowed {
			by := p.Allows(r)
			if len(by) == 0 {
				t.Errorf("%s: %s of %s is refused", name, r.Action, r.Resource)
			}
			for _, sid := range by {
				used[sid] = true
			}
		}
		for _, s := range p.Statement {
			if !used[s.Sid] {
				t.Errorf("%s: the statement %s serves nothing", name, s.Sid)
			}
		}
		for _, r := range []Request{
			{Action: "states:StartExecution", Resource: states + "stateMachine:demo-other"}, {Action: "s3:GetObject", Resource: "arn:aws:s3:::work/else/list.json"},
			{Action: "s3:PutObject", Resource: "arn:aws:s3:::work/far/plan.json"}, {Action: "s3:DeleteObject", Resource: "arn:aws:s3:::work/far/plan.json"},
			{Action: "lambda:InvokeFunction", Resource: lambda + "serve"}, {Action: "s3:GetObject", Resource: "arn:aws:s3:::uploads/in/a"},
		} {
			if by := p.Allows(r); len(by) > 0 {
				t.Errorf("%s: %s of %s is allowed by %q", name, r.Action, r.Resource, by)
			}
		}
	}
}

// TestBackfillNames: the machine calls functions by the names that the module gives them.
func TestBackfillNames(t *testing.T) {
	t.Parallel()
	in := machines(t, nil)
	def := attribute(t, in, "aws_sfn_state_machine.this", "backfill", "definition")
	for _, job := range []string{"pack", "zoom"} {
		name := attribute(t, in, "aws_lambda_function.this", job, "function_name")
		prefix, ok := strings.CutSuffix(name, job)
		if !ok || !strings.Contains(def, "'arn:aws:lambda:"+Region+":"+Account+":function:"+prefix+"{}', $.job") {
			t.Errorf("%s: %s", name, def)
		}
	}
	for _, kind := range []string{"analysis", "packs"} {
		if name := attribute(t, in, "aws_lambda_function.parts", kind, "function_name"); !strings.Contains(attribute(t, in, "aws_sfn_state_machine.this", kind, "definition"), ":function:"+name+`"`) {
			t.Errorf("the machine of %s does not call %s", kind, name)
		}
	}
}

// TestAnalysisRights: what the function of analyses does to S3, it may do, and nothing is
// granted beside that: its source is read, pinned, and its work is read, listed, and
// written where nothing was.
func TestAnalysisRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"datasets", "work"}, Versioning: true})
	p, err := ParsePolicy(attribute(t, machines(t, nil), "aws_iam_role_policy.parts", "analysis", "policy"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(p)
	open := func(name string, guarded bool) objstore.Bucket {
		c := s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey}
		if guarded {
			c.Transport = g
		}
		b, err := s3store.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ctx := t.Context()
	if _, err := objstore.Put(ctx, open("datasets", false), "sets/a.npy", bytes.NewReader(array(2_000_000)), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	obj, err := objstore.Open(ctx, open("datasets", true), "sets/a.npy", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(io.NewSectionReader(obj, 0, obj.Size())); err != nil {
		t.Error(err)
	}
	if _, err := objstore.Open(ctx, open("datasets", true), "sets/none", objstore.OpenOptions{}); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("what is absent: %v", err)
	}
	work := open("work", true)
	for range 2 {
		_, err := objstore.Put(ctx, work, "far/x/parts/0.json", strings.NewReader("{}"), objstore.PutOptions{IfAbsent: true})
		if err != nil && !errors.Is(err, objstore.ErrExists) {
			t.Error(err)
		}
	}
	w, err := work.Create(ctx, "far/x/answers.json", objstore.PutOptions{IfAbsent: true}) // as large as answers may be
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(noise(20<<20, 1)); err != nil {
		t.Error(err)
	}
	w.Abort()
	for _, err := range work.List(ctx, "far/x/parts/") {
		if err != nil {
			t.Error(err)
		}
	}
	for key, is := range map[string]error{"far/x/parts/0.json": nil, "far/x/none": objstore.ErrNotFound, "other/x": objstore.ErrDenied} {
		r, _, err := work.Get(ctx, key, objstore.GetOptions{})
		if !errors.Is(err, is) {
			t.Errorf("%s: %v", key, err)
		}
		if err == nil {
			r.Close()
		}
	}
	delete(g.denied, "s3:GetObject of arn:aws:s3:::work/other/x map[]")
	g.nothingMissing(t)
	for _, s := range p.Statement {
		for _, a := range s.Action {
			if s.Sid != "Logs" && !g.used[s.Sid][a] {
				t.Errorf("%s of %s is not used", a, s.Sid)
			}
		}
	}
}

// TestMachinesGoOn: what the handler makes of the event that the machine sends.
func TestMachinesGoOn(t *testing.T) {
	t.Parallel()
	b, err := functions.Decode([]byte(`{"bucket":"uploads","key":"in/a b+%.tar","retries":1}`))
	if err != nil || len(b.Messages) != 1 || b.Messages[0].Receives != 2 || b.Messages[0].Uploads[0].Key != "in/a b+%.tar" {
		t.Errorf("%+v, %v", b, err)
	}
}
