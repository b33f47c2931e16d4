package pylit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/dtype/pylit"
)

func TestParse(t *testing.T) {
	str := func(s string) pylit.Value { return pylit.Value{Kind: pylit.String, Str: s} }
	num := func(n int64) pylit.Value { return pylit.Value{Kind: pylit.Int, Int: n} }
	for text, want := range map[string]pylit.Value{
		" None ":               {},
		"True":                 {Kind: pylit.Bool, Int: 1},
		"-12L":                 num(-12),
		"+7":                   num(7),
		"((3))":                num(3),
		"(3,)":                 {Kind: pylit.Tuple, List: []pylit.Value{num(3)}},
		"()":                   {Kind: pylit.Tuple},
		"[1, 'a', ]":           {Kind: pylit.List, List: []pylit.Value{num(1), str("a")}},
		`{'a': 1, "b": []}`:    {Kind: pylit.Dict, List: []pylit.Value{str("a"), num(1), str("b"), {Kind: pylit.List}}},
		`'\a\b\f\n\r\t\v\'\"'`: str("\a\b\f\n\r\t\v'\""),
		`b'\x41\101\0é'`:       str("AA\x00é"),
	} {
		got, err := pylit.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		"", "1 2", "(", "(1", "[1 2]", "{1}", "{1:}", "{1: 2 3: 4}", "1.5", "1e5", "0x10", "1j", "9223372036854775808", "-", "'a", "'a\n'", `'\`, `'\u12'`, `'\q'`,
		"'''a'''", "f''", "x", "a.b", "lambda: 1", "1 + 1", "\xff", "'\xff'", "f()", "[*a]", `'\UFFFFFFFF'`, "(,)",
	} {
		if v, err := pylit.Parse(text); !errors.Is(err, pylit.ErrSyntax) {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
	for _, text := range []string{strings.Repeat("[", 100), "[" + strings.Repeat("1,", 1<<20) + "]"} {
		if _, err := pylit.Parse(text); !errors.Is(err, pylit.ErrLimit) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestGet(t *testing.T) {
	d, err := pylit.Parse("{'a': 1, 2: 3, 'b': 'a'}")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := d.Get("b"); !ok || v.Str != "a" {
		t.Errorf("b is %v", v)
	}
	if v, ok := d.Get("c"); ok {
		t.Errorf("c is %v", v)
	}
}
