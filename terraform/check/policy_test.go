package check

import "testing"

// TestLike: patterns as IAM reads them.
func TestLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"a*", "b", false}, {"a*b", "ab", true}, {"a*b", "axxb", true}, {"a*b", "axxbc", false},
		{"a?c", "aéc", true}, {"a?c", "ac", false}, {"", "", true}, {"", "a", false}, {"a", "", false},
		{"a${*}b", "a*b", true}, {"a${*}b", "axb", false}, {"${$}{x*", "${xyz", true}, {"${?}", "?", true}, {"${?}", "x", false},
		{"ü*", "üb", true}, {"*ü", "aü", true}, {"$*", "$a", true},
	} {
		if got := like(c.pattern, c.s); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.s, got)
		}
	}
}

// TestPolicy: conditions whose key is absent, and statements that are not known.
func TestPolicy(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy(`{"Version":"2012-10-17","Statement":[
		{"Sid":"a","Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:b"],"Condition":{"StringLike":{"s3:prefix":["x/*"]}}},
		{"Sid":"b","Effect":"Allow","Action":["s3:ListBucket"],"Resource":["arn:c"],"Condition":{"StringLikeIfExists":{"s3:prefix":"*"}}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		resource string
		context  map[string]string
		want     int
	}{
		{"arn:b", map[string]string{"s3:prefix": "x/y"}, 1}, {"arn:b", map[string]string{"s3:prefix": "y"}, 0}, {"arn:b", nil, 0},
		{"arn:c", nil, 1}, {"arn:c", map[string]string{"s3:prefix": ""}, 1}, {"arn:d", nil, 0},
	} {
		if got := p.Allows(Request{"s3:ListBucket", c.resource, c.context}); len(got) != c.want {
			t.Errorf("%s %v: %v", c.resource, c.context, got)
		}
	}
	for _, bad := range []string{`{"Statement":[{"Effect":"Deny"}]}`, `{"Statement":[{"Effect":"Allow","NotAction":["x"]}]}`,
		`{"Statement":[{"Effect":"Allow","Condition":{"DateLessThan":{"a":"b"}}}]}`} {
		if _, err := ParsePolicy(bad); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}
