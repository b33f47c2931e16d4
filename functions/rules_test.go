package functions

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type schema struct {
	Type       string            `json:"type"`
	Enum       []string          `json:"enum"`
	Pattern    string            `json:"pattern"`
	Required   []string          `json:"required"`
	Additional *bool             `json:"additionalProperties"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	MaxLength  *int              `json:"maxLength"`
}

// TestSchemaIsTheType: the schema and the Go types name the same fields, of the
// same types, with the same values.
func TestSchemaIsTheType(t *testing.T) {
	t.Parallel()
	var s schema
	if err := json.Unmarshal(RulesSchema, &s); err != nil {
		t.Fatal(err)
	}
	sameFields(t, "rule", reflect.TypeFor[Rule](), *s.Items)
	p := s.Items.Properties
	for name, c := range map[string][2][]string{
		"job": {jobs(), p["job"].Enum}, "format": {outputs(), p["format"].Enum}, "shape": {shapes(), p["shape"].Enum},
		"times":       {timeUnits(), p["csv"].Properties["times"].Enum},
		"pattern":     {{bucketName.String(), bucketName.String()}, {p["bucket"].Pattern, p["out"].Properties["bucket"].Pattern}},
		"required":    {{"bucket", "job", "out"}, s.Items.Required},
		"out.require": {{"bucket"}, p["out"].Required},
	} {
		if d := cmp.Diff(c[0], c[1]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if m := p["out"].Properties["prefix"].MaxLength; m == nil || *m != maxOutPrefix {
		t.Error("out.prefix: another length")
	}
}

func sameFields(t *testing.T, where string, typ reflect.Type, s schema) {
	t.Helper()
	if s.Type != "object" || s.Additional == nil || *s.Additional {
		t.Errorf("%s: unknown fields are let in", where)
	}
	var names []string
	for f := range typ.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		p, ok := s.Properties[name]
		if !ok {
			t.Errorf("%s: the schema has no %q", where, name)
			continue
		}
		if required := slices.Contains(s.Required, name); required == (opts == "omitempty") {
			t.Errorf("%s.%s: required %v, tag %q", where, name, required, opts)
		}
		switch f.Type.Kind() {
		case reflect.Struct:
			sameFields(t, where+"."+name, f.Type, p)
		case reflect.Pointer:
			sameFields(t, where+"."+name, f.Type.Elem(), p)
		case reflect.Slice:
			if p.Type != "array" || p.Items == nil || p.Items.Type != "string" || f.Type.Elem().Kind() != reflect.String {
				t.Errorf("%s.%s: %q", where, name, p.Type)
			}
		case reflect.String:
			if p.Type != "string" && p.Enum == nil {
				t.Errorf("%s.%s: %q", where, name, p.Type)
			}
		case reflect.Bool:
			if p.Type != "boolean" {
				t.Errorf("%s.%s: %q", where, name, p.Type)
			}
		case reflect.Int64:
			if p.Type != "integer" {
				t.Errorf("%s.%s: %q", where, name, p.Type)
			}
		default:
			t.Errorf("%s.%s: no rule for a %s", where, name, f.Type)
		}
	}
	for name := range s.Properties {
		if !slices.Contains(names, name) {
			t.Errorf("%s: the type has no %q", where, name)
		}
	}
}

func TestRulesValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"good":         {`[{"bucket":"up","job":"pack","out":{"bucket":"sets"}}]`, "not a bucket name"}, // two letters are too few
		"three":        {`[{"bucket":"ups","prefix":"a/","job":"pack","format":"gulp","out":{"bucket":"sets","prefix":"p/"},"shape":"sqs"}]`, ""},
		"same out":     {`[{"bucket":"ups","prefix":"a/","job":"pack","out":{"bucket":"sets"}},{"bucket":"ups","prefix":"b/","job":"pack","out":{"bucket":"sets"}}]`, ""},
		"meet":         {`[{"bucket":"ups","job":"pack","out":{"bucket":"sets"}},{"bucket":"other","job":"pack","out":{"bucket":"sets"}}]`, "the same key"},
		"meet below":   {`[{"bucket":"ups","prefix":"a/","job":"pack","out":{"bucket":"sets","prefix":"p/"}},{"bucket":"ups","job":"pack","out":{"bucket":"sets","prefix":"p/q/"}}]`, "the same key"},
		"apart":        {`[{"bucket":"ups","job":"pack","out":{"bucket":"sets","prefix":"a/"}},{"bucket":"other","job":"pack","out":{"bucket":"sets","prefix":"b/"}}]`, ""},
		"loop":         {`[{"bucket":"ups","prefix":"a/","job":"pack","out":{"bucket":"ups","prefix":"a/b/"}}]`, "a loop"},
		"loop above":   {`[{"bucket":"ups","prefix":"a/b/","job":"pack","out":{"bucket":"ups","prefix":"a/"}}]`, "a loop"},
		"errors":       {`[{"bucket":"ups","prefix":"errors/x/","job":"pack","out":{"bucket":"ups","prefix":"p/"}}]`, "a loop"},
		"job":          {`[{"bucket":"ups","job":"serve","out":{"bucket":"sets"}}]`, "job"},
		"field":        {`[{"bucket":"ups","job":"pack","out":{"bucket":"sets"},"extra":1}]`, "extra"},
		"b2nd":         {`[{"bucket":"ups","job":"pack","format":"b2nd","codec":"zstd-9","out":{"bucket":"sets"}}]`, ""},
		"codec":        {`[{"bucket":"ups","job":"pack","codec":"brotli","out":{"bucket":"sets"}}]`, "codec"},
		"level":        {`[{"bucket":"ups","job":"pack","codec":"zstd-10","out":{"bucket":"sets"}}]`, "codec"},
		"gulp codec":   {`[{"bucket":"ups","job":"pack","format":"gulp","codec":"zstd","out":{"bucket":"sets"}}]`, "codec"},
		"chunk":        {`[{"bucket":"ups","job":"pack","chunk":-1,"out":{"bucket":"sets"}}]`, "negative"},
		"bloscpack":    {`[{"bucket":"ups","job":"pack","format":"bloscpack","records":"u32le","chunk":4096,"codec":"lz4hc-9","out":{"bucket":"sets"}}]`, ""},
		"records":      {`[{"bucket":"ups","job":"pack","format":"bloscpack","records":"words","out":{"bucket":"sets"}}]`, "records"},
		"of arrays":    {`[{"bucket":"ups","job":"pack","format":"b2nd","records":"lines","out":{"bucket":"sets"}}]`, "by format bloscpack alone"},
		"by content":   {`[{"bucket":"ups","job":"pack","records":"jsonl","out":{"bucket":"sets"}}]`, "by format bloscpack alone"},
		"append":       {`[{"bucket":"ups","job":"pack","format":"b2nd","codec":"lz4","append":true,"to":"a.b2nd","out":{"bucket":"sets"}}]`, ""},
		"not to":       {`[{"bucket":"ups","job":"pack","format":"b2nd","append":true,"out":{"bucket":"sets"}}]`, "to is missing"},
		"only to":      {`[{"bucket":"ups","job":"pack","format":"b2nd","to":"a.b2nd","out":{"bucket":"sets"}}]`, "\"append\": true"},
		"to what":      {`[{"bucket":"ups","job":"pack","format":"b2nd","append":true,"to":"a.npy","out":{"bucket":"sets"}}]`, "not the key of a .b2nd"},
		"append any":   {`[{"bucket":"ups","job":"pack","append":true,"to":"a.b2nd","out":{"bucket":"sets"}}]`, "of format b2nd, or"},
		"zoom grows":   {`[{"bucket":"ups","job":"zoom","append":true,"to":"a.zoom","codec":"f32","out":{"bucket":"sets"}}]`, ""},
		"zoom to what": {`[{"bucket":"ups","job":"zoom","append":true,"to":"a.b2nd","out":{"bucket":"sets"}}]`, "not the key of a .zoom"},
		"trailing":     {`[{"bucket":"ups","job":"pack","out":{"bucket":"sets"}}] x`, "text after"},
		"empty":        {`[]`, "empty"},
	} {
		_, err := ParseRules([]byte(c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
