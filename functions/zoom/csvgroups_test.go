package zoom_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/zoom"
)

// packedText is what a table of one column of values becomes: its values, its times and
// remarks, or an error.
func packedText(t *testing.T, text string) (values []string, stamps []int64, codec, warnings string, err error) {
	t.Helper()
	s, err := series(t, "x.csv", []byte(text), nil)
	if err != nil {
		return nil, nil, "", "", err
	}
	_, list := written(t, s, zoom.WriteOptions{})
	return list[0].Values, list[0].Stamps, list[0].Codec, strings.Join(s.About().Warnings, "\n"), nil
}

// TestThousands: marks between thousands are taken as such where a cell of the column can
// be read in no other way; else nothing is guessed.
func TestThousands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sep   string
		cells []string
		want  []string // nil: text or an error
		codec string
		say   string
	}{
		{",", []string{`"1,234.5"`, `"1,234"`, "999", "7.25"}, []string{"1234.5", "1234", "999", "7.25"}, "f64", `"1,234.5" are read as 1234.5, with "," between thousands`},
		{",", []string{`"-1,234,567"`, `"1,234"`, "12"}, []string{"-1234567", "1234", "12"}, "i64", `with "," between thousands`},
		{",", []string{"1 234", "12 345 678", "5"}, []string{"1234", "12345678", "5"}, "i64", `with " " between thousands`},
		{",", []string{"1'234.5", "12"}, []string{"1234.5", "12"}, "f64", `with "'" between thousands`},
		{",", []string{"1’234", "12"}, []string{"1234", "12"}, "i64", `between thousands`},
		{",", []string{"1\u202f234.25", "1\u00a0000"}, []string{"1234.25", "1000"}, "f64", `between thousands`},
		{",", []string{`"1.234,5"`, "1.234"}, []string{"1234.5", "1234"}, "f64", `with "." between thousands`},
		{";", []string{"1 234,5", "3,25", "7"}, []string{"1234.5", "3.25", "7"}, "f64", `"1 234,5" are read as 1234.5, with " " between thousands`},
		{";", []string{"1.234,5", "1.234", "12"}, []string{"1234.5", "1234", "12"}, "f64", `with "." between thousands`},
		{";", []string{"1,234", "12,5"}, []string{"1.234", "12.5"}, "f64", ""}, // a decimal comma, as it always was
		{";", []string{"1,234,567.25", "1,234"}, []string{"1.23456725e+06", "1234"}, "f64", `with "," between thousands`},
		{";", []string{"1.234", "-12.345", "999,5", ",5", "nan", "1,5e3"}, []string{"1234", "-12345", "999.5", "0.5", "NaN", "1500"}, "f64", `"1.234" are read as 1234, with "." between thousands, since there are decimal commas`},
		{";", []string{"1.234", "999,5", "0.125"}, []string{"1.234", "999.5", "0.125"}, "f64", ""}, // both marks are decimal
		{";", []string{"1.234", "12.345", "999"}, []string{"1.234", "12.345", "999"}, "f64", `"1.234" have decimal points, and are not read as 1234`},
		{";", []string{"1.234", "12.34"}, []string{"1.234", "12.34"}, "f64", ""},
		{"\t", []string{"1.234", "12.345"}, []string{"1.234", "12.345"}, "f64", ""},
		{";", []string{"1.234,5", ",5"}, []string{"1234.5", "0.5"}, "f64", "between thousands"},
		{",", []string{`"1,234"`, `"5,678"`}, nil, "", `"1,234" in line 2 is no number`},
		{",", []string{`"1,234"`, "12"}, nil, "", `"1,234" in line 2 may be 1234 or 1.234`},
		{",", []string{"12", `"1,234.5"`, `"1.234,5"`}, nil, "", `"1.234,5" is no number`},
		{",", []string{`"1,5"`, `"-2,255"`, "7", "nan"}, []string{"1.5", "-2.255", "7", "NaN"}, "f64", `"1,5" are read as 1.5, with a decimal comma`},
		{",", []string{`"2,255"`, `"12,34"`}, []string{"2.255", "12.34"}, "f64", `"2,255" are read as 2.255, with a decimal comma`},
		{",", []string{`"12,34"`, "1.234"}, []string{"12.34", "1234"}, "f64", `"12,34" are read as 12.34, with a decimal comma, and "1.234" as 1234`},
		{",", []string{`"12,34"`, "7.5"}, nil, "", `"12,34" in line 2 is no number`},
		{",", []string{"7.5", `"12,34"`}, nil, "", `"12,34" is no number`},
		{",", []string{"1 23", "5"}, nil, "", "no number"},
		{",", []string{`"0,123.5"`, "5"}, nil, "", "no number"},
		{",", []string{"1'234", "nan", "1e3"}, []string{"1234", "NaN", "1000"}, "f64", "between thousands"},
	} {
		var b strings.Builder
		b.WriteString("time" + c.sep + "v\n")
		for i, cell := range c.cells {
			fmt.Fprintf(&b, "%d%s%s\n", i, c.sep, cell)
		}
		got, _, codec, say, err := packedText(t, b.String())
		switch {
		case c.want == nil:
			if err == nil || !strings.Contains(err.Error(), c.say) || !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%q: %v, %v, want %q", c.cells, got, err, c.say)
			}
		case err != nil || !slices.Equal(got, c.want) || codec != c.codec || !strings.Contains(say, c.say) || c.say == "" && say != "":
			t.Errorf("%q: %q as %s, %v: %s", c.cells, got, codec, err, say)
		}
	}
	// What may be two numbers is no number, if there are others, and a remark says so.
	_, _, _, say, err := packedText(t, "time,v,w\n0,\"1,234\",5\n1,\"2,345\",6\n")
	if err != nil || !strings.Contains(say, `"1,234" may be 1234 or 1.234, so the column is passed over`) {
		t.Errorf("%s, %v", say, err)
	}
}

// TestWeeks: weeks and days of a year are times, and a remark says how they were read.
func TestWeeks(t *testing.T) {
	t.Parallel()
	const day = 86400
	for _, c := range []struct {
		stamps [2]string
		origin string
		step   int64
		say    string
	}{
		{[2]string{"2024-W05", "2024-W06"}, "2024-01-29", 7 * day, "read as %G-W%V"},
		{[2]string{"2024-W05-3", "2024-W06-1"}, "2024-01-31", 5 * day, "read as %G-W%V-%u"},
		{[2]string{"2020W537", "2021W011"}, "2021-01-03", day, "read as %GW%V%u"},
		{[2]string{"2020W53", "2021W01"}, "2020-12-28", 7 * day, "read as %GW%V"},
		{[2]string{"2024-032", "2024-366"}, "2024-02-01", 334 * day, "read as %Y-%j"},
		{[2]string{"2024-W05-3T12:30", "2024-W05-4T12:30"}, "2024-01-31", day, "read as %G-W%V-%u"},
	} {
		text := "week,v\n" + c.stamps[0] + ",1\n" + c.stamps[1] + ",2\n"
		s, err := series(t, "x.csv", []byte(text), nil)
		if err != nil {
			t.Errorf("%q: %v", c.stamps, err)
			continue
		}
		at, _ := s.About().Origin.UTC()
		_, list := written(t, s, zoom.WriteOptions{})
		if at.Format("2006-01-02") != c.origin || list[0].Stamps[1]-list[0].Stamps[0] != c.step*list[0].Rate.Num || !strings.Contains(fmt.Sprint(s.About().Warnings), c.say) {
			t.Errorf("%q: %s, %v: %q", c.stamps, at, list[0].Stamps, s.About().Warnings)
		}
	}
	for _, bad := range []string{"2024-W53", "2024-W00", "2024-W05-8", "2023-366", "2024-000"} {
		if _, err := series(t, "x.csv", []byte("date,v\n"+bad+",1\n"), nil); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for format, ok := range map[string]bool{"%G-W%V-%u": true, "%GW%V": true, "W%V": false, "%G": false, "%Y-W%V": false, "%G-W%V-%m": false} {
		if _, err := zoom.ParseFormat(format); (err == nil) != ok {
			t.Errorf("%s: %v", format, err)
		}
	}
}
