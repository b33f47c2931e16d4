package predicate_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
)

func textValue(s string) predicate.Value {
	return predicate.Value{Kind: predicate.Text, Text: []byte(s)}
}

func wholeValue(v int64) predicate.Value { return predicate.Value{Kind: predicate.Whole, Whole: v} }

func floatValue(f float64) predicate.Value {
	return predicate.Value{Kind: predicate.Float, Float: f}
}

func boolValue(is bool) predicate.Value {
	v := predicate.Value{Kind: predicate.Bool}
	if is {
		v.Whole = 1
	}
	return v
}

// TestValues: comparisons are true of the values that they should be true of.
func TestValues(t *testing.T) {
	t.Parallel()
	all := map[string]predicate.Value{
		"null": {}, "true": boolValue(true), "false": boolValue(false), "0": wholeValue(0), "5": wholeValue(5), "5.5": floatValue(5.5), "5.0": floatValue(5),
		"2^53+1": wholeValue(1<<53 + 1), "2^53": floatValue(1 << 53), "2^63-1": wholeValue(math.MaxInt64), "2^63": floatValue(1 << 63), "-2^63": wholeValue(math.MinInt64),
		"nan": floatValue(math.NaN()), "inf": floatValue(math.Inf(1)), "-inf": floatValue(math.Inf(-1)),
		"''": textValue(""), "'b'": textValue("b"), "'it''s'": textValue("it's"), "list": {Kind: predicate.List}, "object": {Kind: predicate.Object},
	}
	const most = "2^53+1 2^53 2^63-1 2^63 inf"
	for text, want := range map[string]string{
		".x == 5":                 "5 5.0",
		"5 < x <= 5.5":            "5.5",
		"x > 5 and x < 5.5":       "",
		"x >= 5.5":                "5.5 " + most,
		"x < 5":                   "0 -2^63 -inf",
		"x == 9007199254740993":   "2^53+1",
		"x == 9007199254740992":   "2^53",
		"x > 9007199254740992":    "2^53+1 2^63-1 2^63 inf",
		"x > 9223372036854775807": "2^63 inf",
		"x == 9223372036854775808 or x == -9223372036854775808": "2^63 -2^63",
		"x <= 9.2e18 and x > 6":                                 "2^53+1 2^53",
		"x == inf or x < -1e300":                                "inf -inf",
		"x == nan":                                              "",
		"x == null":                                             "null",
		"x == true":                                             "true",
		"x < true":                                              "false",
		"x == 'b'":                                              "'b'",
		"x >= 'a'":                                              "'b' 'it''s'",
		"x == 'it''s' or x == ''":                               "'it''s' ''",
		"not x != 5":                                            "5 5.0",
		"x != null and not x >= '' and not (x > -inf)": "true false nan -inf list object",
	} {
		v, err := predicate.ParseValues(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		slots := make([]int, len(v.Paths()))
		var got []string
		for name, x := range all {
			if v.Match([]predicate.Value{x}, slots) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		list := strings.Fields(want)
		slices.Sort(list)
		if !slices.Equal(got, list) {
			t.Errorf("%s: %q, want %q", text, got, list)
		}
	}
}

// TestValuesPaths: each field is there once, and values are taken from their slots.
func TestValuesPaths(t *testing.T) {
	t.Parallel()
	v, err := predicate.ParseValues(`.a.b > 1 and ("@t" == 'x' or a.b == 9) and .null == null`)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Paths(); len(got) != 3 || !slices.Equal(got[0], []string{"a", "b"}) || !slices.Equal(got[1], []string{"@t"}) || !slices.Equal(got[2], []string{"null"}) {
		t.Errorf("%q", got)
	}
	if !v.Match([]predicate.Value{{}, textValue("x"), wholeValue(2)}, []int{2, 1, 0}) {
		t.Error("no match")
	}
}

// TestValuesRefused: what is no comparison of values is refused at its place.
func TestValuesRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x < null":      "character 1, at \"x < null\": null is neither less nor greater",
		"x == 'a":       "a text whose quote does not end",
		"x == 'a''":     "a text whose quote does not end",
		"'a' == 'b'":    "two literals are compared",
		"null == null":  "two literals are compared",
		"x = 'a'":       "equal is ==",
		"x ==":          "at the end",
		"x == 'a' 'b'":  "want and, or, or the end",
		"x =='2025-03'": "",
	} {
		_, err := predicate.ParseValues(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := predicate.Parse("v == null"); !errors.Is(err, predicate.ErrSyntax) {
		t.Errorf("null of an array: %v", err)
	}
	if _, err := predicate.ParseValues("x > null"); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// TestCompareValues: the order is total, and numbers are equal whatever they are written as.
func TestCompareValues(t *testing.T) {
	t.Parallel()
	list := []predicate.Value{
		{}, boolValue(false), boolValue(true), floatValue(math.NaN()), floatValue(math.Inf(-1)), wholeValue(math.MinInt64), wholeValue(-1), floatValue(-0.5), wholeValue(0), floatValue(0.5),
		floatValue(1 << 53), wholeValue(1<<53 + 1), wholeValue(math.MaxInt64), floatValue(1 << 63), floatValue(math.Inf(1)), textValue(""), textValue("a"), textValue("é"), {Kind: predicate.List}, {Kind: predicate.Object},
	}
	for i := range list {
		for j := range list {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := predicate.CompareValues(&list[i], &list[j]); got != want {
				t.Errorf("%v and %v: %d, want %d", list[i], list[j], got, want)
			}
		}
	}
	a, b := wholeValue(5), floatValue(5)
	if predicate.CompareValues(&a, &b) != 0 {
		t.Error("5 is not 5.0")
	}
}
