package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Policy is an identity policy as IAM reads it, as far as modules here use it:
// statements that allow, of lists, with conditions on one key of text.
type Policy struct {
	Version   string
	Statement []Statement
}

// A Statement of a Policy.
type Statement struct {
	Sid, Effect      string
	Action, Resource []string
	Condition        map[string]map[string]Values
}

// Values are one text or a list of them.
type Values []string

// UnmarshalJSON takes both ways to write them.
func (v *Values) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*v = Values{s}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(v))
}

// A Request is what IAM is asked: may this be done?
type Request struct {
	Action, Resource string
	Context          map[string]string // condition keys that are there
}

// ParsePolicy reads a policy document.
func ParsePolicy(text string) (Policy, error) {
	var p Policy
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("policy: %w", err)
	}
	for _, s := range p.Statement {
		if s.Effect != "Allow" {
			return p, fmt.Errorf("policy: statement %s: effect %q is not known here", s.Sid, s.Effect)
		}
		for op := range s.Condition {
			if !slices.Contains([]string{"StringLike", "StringLikeIfExists", "StringEquals"}, op) {
				return p, fmt.Errorf("policy: statement %s: condition %s is not known here", s.Sid, op)
			}
		}
	}
	return p, nil
}

// Allows names the statements that allow r.
func (p Policy) Allows(r Request) []string {
	var by []string
	for _, s := range p.Statement {
		if slices.Contains(s.Action, r.Action) && anyLike(s.Resource, r.Resource) && s.holds(r.Context) {
			by = append(by, s.Sid)
		}
	}
	return by
}

func (s Statement) holds(context map[string]string) bool {
	for op, keys := range s.Condition {
		for key, want := range keys {
			got, there := context[key]
			switch {
			case !there && strings.HasSuffix(op, "IfExists"):
			case !there:
				return false
			case op == "StringEquals" && !slices.Contains(want, got), strings.HasPrefix(op, "StringLike") && !anyLike(want, got):
				return false
			}
		}
	}
	return true
}

func anyLike(patterns []string, s string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return like(p, s) })
}

// like matches a pattern of IAM: "*" any text, "?" one character, "${*}", "${?}"
// and "${$}" these characters themselves.
func like(pattern, s string) bool {
	for pattern != "" {
		if len(pattern) >= 4 && pattern[:2] == "${" && pattern[3] == '}' {
			if s == "" || s[0] != pattern[2] {
				return false
			}
			pattern, s = pattern[4:], s[1:]
			continue
		}
		switch r := []rune(pattern)[0]; r {
		case '*':
			for i := len(s); i >= 0; i-- {
				if like(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case '?':
			if s == "" {
				return false
			}
			pattern, s = pattern[1:], s[len(string([]rune(s)[0])):]
		default:
			if s == "" || s[0] != pattern[0] {
				return false
			}
			pattern, s = pattern[1:], s[1:]
		}
	}
	return s == ""
}
