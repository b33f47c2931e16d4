package check

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"github.com/farread/farread/functions"
)

// odd are rules and a key that each of them matches.
func odd() [][3]string {
	return [][3]string{
		{"a/_SUC", "", "a/_SUCCESS"}, {"_S", "", "_SUCCESS"}, {"a/man", ".json", "a/manifest.json"}, {"a/", "_SUCCESS", "a/b/_SUCCESS"},
		{"x.wa", ".wav", "x.wav"}, {"aa", "aa", "aaa"}, {"aa", "aa", "aa"}, {`i*?$\`, `*\`, `i*?$\*\`}, {"", "", "ü"},
	}
}

// drawn is an instance of the module with rules that it takes.
func drawn(t *rapid.T, m *Module, more map[string]cty.Value) (*Instance, functions.Rules) {
	piece := rapid.StringOfN(rapid.RuneFrom([]rune(`a/_SUmanifest.json*?$\ü`)), 0, 6, -1)
	prefix := rapid.OneOf(piece, rapid.SampledFrom([]string{"", "a/_SUC", "a/man", "a/", "errors/", strings.Repeat("ü", 256)}))
	n := rapid.IntRange(1, 3).Draw(t, "n")
	var rules functions.Rules
	list, zips := []cty.Value{}, map[string]cty.Value{}
	out := rapid.OneOf(rapid.SampledFrom([]string{"", "out/", strings.Repeat("x", 256)}), piece).Draw(t, "out")
	for range n {
		r := functions.Rule{Bucket: "uploads", Job: rapid.SampledFrom([]string{"pack", "zoom"}).Draw(t, "job"),
			Prefix: prefix.Draw(t, "prefix"), Suffix: rapid.OneOf(piece, rapid.SampledFrom([]string{"", "_SUCCESS"})).Draw(t, "suffix"), Out: functions.Out{Bucket: "datasets", Prefix: out}}
		if special := rapid.SampledFrom(odd()).Draw(t, "odd"); rapid.Bool().Draw(t, "is odd") {
			r.Prefix, r.Suffix = special[0], special[1]
		}
		rules = append(rules, r)
		list = append(list, valueOf(r))
		zips[r.Job] = cty.ObjectVal(map[string]cty.Value{"zip": cty.StringVal("x.zip")})
	}
	input := map[string]cty.Value{"name": cty.StringVal("demo"), "rules": cty.TupleVal(list), "functions": cty.ObjectVal(zips),
		"uploads_bucket": cty.StringVal("uploads"), "datasets_bucket": cty.StringVal("datasets")}
	for k, v := range more {
		input[k] = v
	}
	in, err := m.With(input)
	if err != nil {
		t.Fatal(err)
	}
	return in, rules
}

// keyFor is a key of an upload that the rule matches, if there is any.
func keyFor(t *rapid.T, r functions.Rule) string {
	for _, o := range odd() {
		if o[0] == r.Prefix && o[1] == r.Suffix && rapid.Bool().Draw(t, "odd key") {
			return o[2]
		}
	}
	middle := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("a/ü*.")), 0, 5, -1),
		rapid.SampledFrom([]string{"", "x/_SUCCESS", "manifest.json", "CESS", "ifest.json", strings.Repeat("y", 490)})).Draw(t, "middle")
	if key := r.Prefix + middle + r.Suffix; rapid.Bool().Draw(t, "apart") || !strings.HasSuffix(r.Prefix+middle, r.Suffix) {
		return key
	}
	return r.Prefix + middle
}

// TestPlaces: wherever an upload lies that a rule matches, the function may read
// it and its folder, and write what it makes of it and what is wrong with it.
func TestPlaces(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in, rules := drawn(t, m, nil)
		rule := rapid.SampledFrom(rules).Draw(t, "rule")
		key := keyFor(t, rule)
		if len(key) > 1024 || key == "" {
			t.Skip("no key")
		}
		text, err := in.Attribute("aws_iam_role_policy.this", rule.Job, "policy")
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParsePolicy(text.AsString())
		if err != nil {
			t.Fatal(err)
		}
		const uploads, datasets = "arn:aws:s3:::uploads", "arn:aws:s3:::datasets"
		asks := []Request{{Action: "s3:GetObject", Resource: uploads + "/" + key}, {Action: "s3:PutObject", Resource: datasets + "/" + functions.ErrorKey(key)},
			{Action: "s3:ListBucket", Resource: uploads, Context: map[string]string{"s3:prefix": key}}}
		for _, suffix := range []string{".gulp", ".gmeta", ".b2nd", "/member.b2nd", ".blp", ".zoom"} {
			made := functions.OutputKey(rule.Out.Prefix, key, suffix)
			asks = append(asks, Request{Action: "s3:PutObject", Resource: datasets + "/" + made}, Request{Action: "s3:GetObject", Resource: datasets + "/" + made},
				Request{Action: "s3:ListBucket", Resource: datasets, Context: map[string]string{"s3:prefix": made}})
		}
		if folder, _, ok := functions.Closing(key); ok {
			list := Request{Action: "s3:ListBucket", Resource: uploads, Context: map[string]string{}}
			if folder != "" {
				list.Context["s3:prefix"] = folder
			}
			asks = append(asks, list, Request{Action: "s3:GetObject", Resource: uploads + "/" + folder + "some/file.jpg"})
		}
		// Nor may it anything beside: a key that differs in one letter.
		if other := altered(t, key); !reached(rules, rule.Job, other) && len(p.Allows(Request{Action: "s3:GetObject", Resource: uploads + "/" + other})) > 0 {
			t.Fatalf("rules %+v: may read %q\n%s", rules, other, text.AsString())
		}
		for _, a := range asks {
			if len(p.Allows(a)) == 0 {
				t.Fatalf("rule %+v, key %q: may not %s %s %v\n%s", rule, key, a.Action, a.Resource, a.Context, text.AsString())
			}
		}
	})
}

func altered(t *rapid.T, key string) string {
	b := []byte(key)
	b[rapid.IntRange(0, len(b)-1).Draw(t, "at")] = 'z'
	return string(b)
}

// reached: a job reads key, as an upload or in the folder of a marker.
func reached(rules functions.Rules, job, key string) bool {
	return slices.ContainsFunc(rules, func(r functions.Rule) bool {
		dir, base := path.Split(r.Prefix)
		marker := strings.HasPrefix("_SUCCESS", base) || strings.HasPrefix("manifest.json", base)
		return r.Job == job && (strings.HasPrefix(key, r.Prefix) || marker && strings.HasPrefix(key, dir))
	})
}

// TestEvents: EventBridge sends a function the uploads that its rules match, and
// no others.
func TestEvents(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		in, rules := drawn(t, m, nil)
		key := rapid.OneOf(rapid.Just(keyFor(t, rules[0])), rapid.StringOfN(rapid.RuneFrom([]rune(`a/_*?$\ü`)), 0, 8, -1)).Draw(t, "key")
		for _, job := range []string{"pack", "zoom"} {
			want, mine := false, false
			for _, r := range rules {
				mine = mine || r.Job == job
				want = want || r.Job == job && strings.HasPrefix(key, r.Prefix) && strings.HasSuffix(key, r.Suffix)
			}
			if !mine {
				continue
			}
			text, err := in.Attribute("aws_cloudwatch_event_rule.uploads", job, "event_pattern")
			if err != nil {
				t.Fatal(err)
			}
			if got := passes(t, text.AsString(), key); got != want {
				t.Fatalf("%s, key %q: %v, rules %+v\n%s", job, key, got, rules, text.AsString())
			}
		}
	})
}

// passes: an event pattern lets the upload called key through, as
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
// has it.
func passes(t *rapid.T, pattern, key string) bool {
	var p struct {
		Detail struct{ Object *struct{ Key []any } }
	}
	if err := json.Unmarshal([]byte(pattern), &p); err != nil {
		t.Fatal(err)
	}
	if p.Detail.Object == nil {
		return true
	}
	return slices.ContainsFunc(p.Detail.Object.Key, func(c any) bool {
		if s, ok := c.(string); ok {
			return s == key
		}
		for op, v := range c.(map[string]any) {
			switch s := v.(string); op {
			case "prefix":
				return strings.HasPrefix(key, s)
			case "suffix":
				return strings.HasSuffix(key, s)
			case "wildcard":
				return wild(s, key)
			}
		}
		t.Fatalf("%v is not known", c)
		return false
	})
}

// wild matches a wildcard of EventBridge: "*" any text, "\" makes the next
// character itself.
func wild(pattern, s string) bool {
	if pattern == "" {
		return s == ""
	}
	switch pattern[0] {
	case '*':
		return wild(pattern[1:], s) || s != "" && wild(pattern, s[1:])
	case '\\':
		pattern = pattern[1:]
	}
	return s != "" && pattern != "" && s[0] == pattern[0] && wild(pattern[1:], s[1:])
}

// TestNotifications: with S3's own notifications no upload goes to two queues, and
// rules that could send it there are refused.
func TestNotifications(t *testing.T) {
	t.Parallel()
	m, err := Load(module)
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		in, rules := drawn(t, m, map[string]cty.Value{"event_source": cty.StringVal("sqs")})
		if in.Check() != nil {
			return
		}
		taken++
		key := keyFor(t, rapid.SampledFrom(rules).Draw(t, "rule"))
		n := 0
		for _, r := range rules {
			if strings.HasPrefix(key, r.Prefix) && strings.HasSuffix(key, r.Suffix) {
				n++
			}
		}
		if n != 1 {
			t.Fatalf("%q matches %d of %+v", key, n, rules)
		}
	})
	if taken == 0 {
		t.Error("all rules were refused")
	}
}
