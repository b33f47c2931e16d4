package predicate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
)

// TestErrors: what is wrong is said in one line, with the place.
func TestErrors(t *testing.T) {
	t.Parallel()
	const structured = "[('temp', '<f4'), ('n', '<i8'), ('name', 'S3'), ('t', '<M8[s]'), ('ok', '?'), ('pair', '<f4', (2,)), ('c', '<c8'), ('g', '<M8'), ('in', [('a', '<u2'), ('not', '<i2')])]"
	for _, c := range []struct {
		typ, text string
		want      error
		line      string
	}{
		{"<f4", "", predicate.ErrSyntax, "where: at the end: want a name, a number, true, false, or a time in single quotes: syntax error"},
		{"<f4", "v", predicate.ErrSyntax, "where: at the end: want one of < <= > >= == !=: syntax error"},
		{"<f4", "v >", predicate.ErrSyntax, "where: at the end: want a name, a number"},
		{"<f4", "v >> 3", predicate.ErrSyntax, "where: character 4, at \"> 3\": want a name, a number"},
		{"<f4", "v = 3", predicate.ErrSyntax, "where: character 3, at \"= 3\": equal is =="},
		{"<f4", "v > 3 && v < 5", predicate.ErrSyntax, "write and"},
		{"<f4", "v > 3 | v < 5", predicate.ErrSyntax, "write or"},
		{"<f4", "!v > 3", predicate.ErrSyntax, "write not"},
		{"<f4", "v > 3 v < 5", predicate.ErrSyntax, "where: character 7, at \"v < 5\": want and, or, or the end"},
		{"<f4", "(v > 3", predicate.ErrSyntax, "where: at the end: want and, or, or )"},
		{"<f4", "v > 3)", predicate.ErrSyntax, "character 6"},
		{"<f4", "v > v", predicate.ErrSyntax, "where: character 5, at \"v\": two names are compared"},
		{"<f4", "3 > 2", predicate.ErrSyntax, "two literals are compared"},
		{"<f4", "1 < v < v", predicate.ErrSyntax, "character 9"},
		{"<f4", "v > 3x", predicate.ErrSyntax, "where: character 5, at \"3x\": no number"},
		{"<f4", "v > 1.5.2", predicate.ErrSyntax, "no number"},
		{"<f4", "v > 1e", predicate.ErrSyntax, "no number"},
		{"<f4", "v > -", predicate.ErrSyntax, "no number"},
		{"<f4", "v > 0x10", predicate.ErrSyntax, "no number"},
		{"<f4", "v > 1e999", predicate.ErrSyntax, "beyond float64"},
		{"<f4", "v > 18446744073709551616", predicate.ErrSyntax, "64 bits"},
		{"<f4", "v > -9223372036854775809", predicate.ErrSyntax, "64 bits"},
		{"<f4", "v > and", predicate.ErrSyntax, "a member of that name is .and"},
		{"<f4", "v > '2025-02-29'", predicate.ErrSyntax, "where: character 5, at \"'2025-02-29'\": want a time"},
		{"<f4", "v > '2025", predicate.ErrSyntax, "quote does not end"},
		{"<f4", "\"v > 3", predicate.ErrSyntax, "double quotes do not end"},
		{"<f4", "v. > 3", predicate.ErrSyntax, "want a name after the dot"},
		{"<f4", "äü > 3 and §", predicate.ErrSyntax, "where: character 12, at \"§\""},
		{"<f4", "v > \xff3", predicate.ErrSyntax, "UTF-8"},
		{"<f4", "v > 3\x00", predicate.ErrSyntax, "character 6"},
		{"<f4", strings.Repeat("(", 100) + "v > 3", formats.ErrTooLarge, "more than 64 levels"},
		{"<f4", strings.Repeat("not ", 100) + "v > 3", formats.ErrTooLarge, "more than 64 levels"},
		{"<f4", strings.Repeat(" ", 5000) + "v > 3", formats.ErrTooLarge, "5005 bytes, at most 4096"},
		{"<f4", "temp > 3", formats.ErrNoEntry, "where: character 1, at \"temp > 3\": an item has no member \"temp\"; its name is v"},
		{"<f4", "v.x > 3", formats.ErrNoEntry, "no member"},
		{"[('a\\r', '<f4'), ('b c', '<f4'), ('d', '<f4')]", "e > 3", formats.ErrNoEntry, `no member "e", but "a\r", "b c", d`},
		{"[('a\\n', [('b', '<f4')])]", `"a\n" > 3`, formats.ErrUnsupported, `"a\n" has members: name one of b`},
		{"<f4", "v > '2025'", formats.ErrUnsupported, "items of type <f4 are compared with numbers"},
		{"<f4", "v == true", formats.ErrUnsupported, "numbers, not with true or false"},
		{"<c8", "v == 1", formats.ErrUnsupported, "items of type <c8 are not compared"},
		{"|S3", "v == 1", formats.ErrUnsupported, "items of type |S3 are not compared"},
		{structured, "n > 3 and v > 3", formats.ErrNoEntry, "where: character 11, at \"v > 3\": an item has no member \"v\", but temp, n, name, t, ok, pair, c, g, in"},
		{structured, "in > 3", formats.ErrUnsupported, "in has members: name one of a, not"},
		{structured, "in.b > 3", formats.ErrNoEntry, "in has no member \"b\", but a, not"},
		{structured, "n.b > 3", formats.ErrNoEntry, "n has no member \"b\""},
		{structured, "pair > 3", formats.ErrUnsupported, "sub-arrays are not compared"},
		{structured, "name > 3", formats.ErrUnsupported, "items of type |S3 are not compared"},
		{structured, "c == 3", formats.ErrUnsupported, "are not compared"},
		{structured, "g == 3", formats.ErrUnsupported, "times without a unit"},
		{structured, "t > 3", formats.ErrUnsupported, "times in single quotes"},
		{structured, "n == 'NaT'", formats.ErrUnsupported, "numbers"},
	} {
		e, err := predicate.Parse(c.text)
		if err == nil {
			_, err = e.Bind(parse(t, c.typ))
		}
		var at *predicate.Error
		if !errors.Is(err, c.want) || !errors.As(err, &at) || !strings.Contains(err.Error(), c.line) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v\nwant %v, %s", c.text, err, c.want, c.line)
		}
	}
}

// TestTexts: what a text means, on one item.
func TestTexts(t *testing.T) {
	t.Parallel()
	const structured = "[('and', '|u1'), ('my field', '|u1'), (('title', 'x'), '|u1'), ('in', [('nan', '|u1')])]"
	item := []byte{1, 2, 3, 4}
	for text, want := range map[string]bool{
		".and == 1":                         true,
		`"and" == 1`:                        true,
		`"my field" == 2`:                   true,
		`.in."nan" == 4`:                    true,
		"in.nan==4":                         true,
		"x == 3 and title == 3":             true,
		"x == 3 or x == 4 and .and == 2":    true, // and before or
		"(x == 3 or x == 4) and .and == 2":  false,
		"not x == 3 and .and == 2":          false, // not before and
		"not (x == 4 and .and == 2)":        true,
		"not not x == 3":                    true,
		"1 < x < 4 != x":                    true,
		"1 < x <= +3 == x":                  true,
		"\tx\n>\r\n2":                       true,
		"x > -0.5e-3 and x < .5e1":          true,
		"x < 3. or x > inf or x >= -inf":    true,
		"x == nan or x < nan or x >= nan":   false,
		"x != -nan and not x == nan":        true,
		"x < 18446744073709551615":          true,
		"x > -9223372036854775808":          true,
		"x == 3.0000000000000001 and x < 9": true, // the nearest float64 is 3
	} {
		p := bind(t, text, parse(t, structured))
		if got := p.Mask(nil, item)[0] == 1; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestTimes: times compare as moments, whatever the unit, and beyond what it can count.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, item, text string }{
		{"<M8[D]", "1", "v == '1970-01-02' and v < '1970-01-02T00:00:00.000000000000000001' and v > '1970-01-01T23:59:59.999999999999999999'"},
		{"<M8[Y]", "-1970", "v == '0000' and v == '-0000-01-01' and v < '0000-01-01T00:00:01'"},
		{"<M8[Y]", "9223372036854775807", "v > '999999999-12-31'"},
		{"<M8[Y]", "-9223372036854775807", "v < '-999999999'"},
		{"<M8[as]", "9223372036854775807", "v > '1970-01-01T00:00:09.223372036854775806' and v < '1970-01-01T00:00:09.223372036854775808' and v < '2025'"},
		{"<M8[as]", "-9223372036854775807", "v > '1969' and not v <= '1969-12-31 23:59:50Z'"},
		{"<M8[ns]", "9223372036854775807", "v < '2262-04-11T23:47:16.8547758075' and not v >= '2262-04-11T23:47:16.8547758075' and v == '2262-04-11T23:47:16.854775807' and v < '2262-04-12'"},
		{"<M8[ns]", "-9223372036854775807", "v == '1677-09-21T00:12:43.145224193' and v > '1677-09-21T00:12:43.1452241929' and v > '1677-09-21'"},
		{"<M8[3M]", "-1", "v == '1969-10' and v < '1969-11' and v > '1969-09-30T23:59'"},
		{"<M8[W]", "-1", "v == '1969-12-25' and v < '1970'"},
		{"<M8[ns]", "1740830400000000001", "v > '2025-03-01T12:00' and v < '2025-03-01T12:00:00.000000002'"},
		{"<M8[h]", "-9223372036854775808", "v != '2025' and not v < '2025' and not v > '2025' and v != 'NaT'"},
		{"<m8[h]", "-9223372036854775808", "v != 'NaT' and not v == 'NaT' and not v < 5 and not v >= 5"},
		{"<m8[h]", "-9223372036854775807", "v > -9223372036854775808 and v == -9223372036854775807 and v < -1e18"},
	} {
		d := parse(t, c.typ)
		var n int64
		if _, err := fmt.Sscan(c.item, &n); err != nil {
			t.Fatal(err)
		}
		item := make([]byte, 8)
		for i := range item {
			item[i] = byte(n >> (8 * i))
		}
		for _, part := range strings.Split(c.text, " and ") {
			if bind(t, part, d).Mask(nil, item)[0] != 1 {
				t.Errorf("%s: %s: not %s", c.typ, c.item, part)
			}
		}
	}
}

// FuzzParse: no text ends in a panic, errors are one line with a class, and what is
// parsed binds or says why not; of what binds, mask and match agree.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"v > 3", "3 < v <= 5.5e1 or not (v == nan)", "in.a != 0 and .t >= '2025-03-01T00:00:00.5Z'", `"my field" == true`, "ok == false", "v < -inf", "((((v>1))))", "t == 'NaT'"} {
		for _, typ := range []string{"<f4", "[('t', '<M8[s]'), ('ok', '?'), ('in', [('a', '>u2')]), ('my field', '<f8')]", ">i8", "<M8[3M]"} {
			f.Add(s, typ, []byte("some items of any type, and a NaN \x00\x00\xf8\x7f\x00\x00\xc0\x7f"))
		}
	}
	f.Add("x > 3", `[('a\r', '<f4')]`, []byte{})
	f.Fuzz(func(t *testing.T, text, typ string, items []byte) {
		known := func(err error) {
			var at *predicate.Error
			if !errors.As(err, &at) || at.At < 1 || at.At > utf8.RuneCountInString(text)+1 || strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("%q: %v", text, err)
			}
			for _, class := range []error{predicate.ErrSyntax, formats.ErrTooLarge, formats.ErrUnsupported, formats.ErrNoEntry} {
				if errors.Is(err, class) {
					return
				}
			}
			t.Errorf("%q: %v", text, err)
		}
		e, err := predicate.Parse(text)
		if err != nil {
			known(err)
			return
		}
		d, err := dtype.Parse(typ)
		if err != nil || d.ItemSize() > 1<<10 {
			return
		}
		p, err := e.Bind(d)
		if err != nil {
			known(err)
			return
		}
		n := len(items) / d.ItemSize()
		set := 0
		for _, b := range bitsOf(p.Mask(nil, items), n) {
			if b {
				set++
			}
		}
		if m := p.Match(statsOf(t, p, d, items)); m == predicate.None && set > 0 || m == predicate.All && set < n {
			t.Errorf("%s: %q: %v match, %d of %d are set", d, text, m, set, n)
		}
	})
}
