package zoom

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
)

// textValues is how many values decide whether a column is text. If none of the first
// textValues is a number, the column is text; if one is, every value must be a number.
const textValues = 100

// A csvColumn is the result of a CSV's first reading for one column.
type csvColumn struct {
	values                  int64
	float, integer, word    bool // a number with a fraction; a whole one; true or false
	negative, large, beyond bool // whole numbers below 0, above int64, above uint64
	number                  bool // a float, integer or word, except nan
	text                    string
	line                    int64 // line of the first text; 0: none
	inexact                 int64 // whole numbers that f64 does not have
	inexactLine             int64 // line of the first of them
	inexactText             string
	comma                   bool // a number with a decimal comma
	groups                  grouped
	way                     grouping // of its numbers; zero: none
}

// learn notes a value of a column, as it is written and with a decimal point. A text among
// numbers is an error.
func (c *csvColumn) learn(name string, line int64, cell, plain string) error {
	if c.line > 0 && c.values >= textValues {
		return nil
	}
	if c.line > 0 || !c.look(line, plain) {
		if c.line == 0 && c.groups.learn(line, cell) {
			return nil
		}
		return c.learnText(name, line, cell, plain)
	}
	if c.float {
		c.groups.plain(cell)
	}
	c.comma = c.comma || cell != plain
	if _, ok := c.codec(); !ok {
		return kit.Corrupt("column %.60q: %.60q among values of another kind", name, cell)
	}
	return nil
}

// learnText notes a value of a column of text, or the first text of a column.
func (c *csvColumn) learnText(name string, line int64, cell, plain string) error {
	if c.line > 0 {
		if c.look(line, plain) {
			return kit.Corrupt("column %.60q: %.60q in line %d is no number, as %.60q is; --skip passes a column over", name, c.text, c.line, cell)
		}
		return nil
	}
	if c.number || c.values > textValues || c.float { // a column of nan alone is not text, either
		return kit.Corrupt("column %.60q: %.60q is no number; --skip passes the column over", name, cell)
	}
	c.line, c.text = line, cell
	return nil
}

// settle decides, behind the last line, whether cells with marks between thousands are
// numbers. If one cell may be two of them, and no other makes it clear, they are text. commas says that
// some column has decimal commas, sep what is between cells.
func (c *csvColumn) settle(name string, commas bool, sep byte) (remark string, err error) {
	if c.line > 0 {
		return "", nil
	}
	if c.groups.line == 0 {
		return c.points(name, commas, sep), nil
	}
	way, part, sure := c.groups.way()
	switch {
	case !sure && c.number:
		return "", kit.Corrupt("column %.60q: %.60q in line %d %s; --skip passes the column over", name, c.groups.text, c.groups.line, readings(c.groups.text))
	case !sure:
		c.line, c.text = c.groups.line, c.groups.text
		return fmt.Sprintf("column %.60q: %.60q %s, so the column is passed over", name, c.text, readings(c.text)), nil
	}
	c.way, c.integer, c.number = way, true, true
	c.float = c.float || part
	digits, _, _ := way.number(c.groups.text)
	if c.groups.proven == 0 {
		return fmt.Sprintf("column %.60q: numbers such as %.60q are read as %s, with a decimal comma%s", name, c.groups.text, digits, c.groups.pointed(way)), nil
	}
	return fmt.Sprintf("column %.60q: numbers such as %.60q are read as %s, with %q between thousands", name, c.groups.text, digits, string(way.group)), nil
}

// points settles a column in which each point has one to three digits before it and three behind it. Beside
// decimal commas such points are marks between thousands, as spreadsheets export them; alone they are decimal.
func (c *csvColumn) points(name string, commas bool, sep byte) string {
	way := groupings[pointGroups]
	digits, _, ok := way.number(c.groups.point)
	switch {
	case !ok || c.groups.dead&(1<<pointGroups) != 0 || !commas && sep != ';':
		return ""
	case !commas:
		return fmt.Sprintf("column %.60q: numbers such as %.60q have decimal points, and are not read as %s", name, c.groups.point, digits)
	}
	c.way = way
	return fmt.Sprintf("column %.60q: numbers such as %.60q are read as %s, with %q between thousands, since there are decimal commas", name, c.groups.point, digits, string(way.group))
}

// look notes the kind of value in a cell. It returns false if the cell has no value.
func (c *csvColumn) look(line int64, cell string) bool {
	c.values++
	digits := cell
	if cell[0] == '-' || cell[0] == '+' {
		digits = cell[1:]
	}
	if allDigits(digits) {
		c.whole(line, cell, digits)
		return true
	}
	if _, is := truth(cell); is {
		c.word, c.number = true, true
		return true
	}
	f, err := parseFloat(cell)
	if err != nil {
		return false
	}
	c.float = true
	c.number = c.number || !math.IsNaN(f)
	return true
}

// whole notes a whole number.
func (c *csvColumn) whole(line int64, cell, digits string) {
	c.integer, c.number = true, true
	c.negative = c.negative || cell[0] == '-'
	if len(digits) >= exactDigits && floatOf(digits) != strings.TrimLeft(digits, "0") {
		if c.inexact++; c.inexact == 1 {
			c.inexactLine, c.inexactText = line, cell
		}
	}
	if len(digits) < 19 { // every number so short fits
		return
	}
	if _, err := strconv.ParseInt(cell, 10, 64); err == nil {
		return
	}
	_, err := strconv.ParseUint(digits, 10, 64)
	c.large = true
	c.beyond = c.beyond || err != nil || cell[0] == '-'
}

// exactDigits is how many digits the least whole number has that f64 does not have.
const exactDigits = 16

// floatOf is the whole number that f64 makes of digits.
func floatOf(digits string) string {
	f, err := parseFloat(digits)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

// rounded is the remark about whole numbers that lose digits, since others make f64 of the column.
func (c *csvColumn) rounded(name string) string {
	if codec, _ := c.codec(); c.inexact == 0 || codec.Kind != zoomcache.F64 {
		return ""
	}
	return fmt.Sprintf("column %.60q: whole numbers beyond 2^53 that f64 rounds: %d, the first %.60s in line %d, which becomes %s", name, c.inexact, c.inexactText, c.inexactLine, floatOf(c.inexactText))
}

// codec is the narrowest type that keeps every value as it is written. If all values
// are whole numbers it is a type of integers.
func (c *csvColumn) codec() (zoomcache.Codec, bool) {
	switch {
	case c.word && (c.float || c.integer):
		return zoomcache.Codec{}, false
	case c.word:
		return zoomcache.Codec{Kind: zoomcache.Bool}, true
	case c.float || !c.integer || c.beyond || c.large && c.negative:
		return zoomcache.Codec{Kind: zoomcache.F64}, true
	case c.large:
		return zoomcache.Codec{Kind: zoomcache.U64}, true
	}
	return zoomcache.Codec{Kind: zoomcache.I64}, true
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func truth(cell string) (value, is bool) {
	switch cell {
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	return false, false
}

// choose makes a track of each column of numbers. Remarks name the columns that it
// passes over.
func (t *table) choose(cols []csvColumn) error {
	var texts, kept []string
	t.tracks, t.ways = make([]int, len(cols)), make([]grouping, len(cols))
	commas := slices.ContainsFunc(cols, func(c csvColumn) bool { return c.comma })
	for i := range cols {
		t.tracks[i] = -1
		if t.out[i] {
			continue
		}
		remark, err := cols[i].settle(t.names[i], commas, t.comma)
		if err != nil {
			return err
		}
		if t.ways[i] = cols[i].way; remark != "" {
			t.about.Warnings = append(t.about.Warnings, remark)
		}
		switch text := cols[i].line > 0; {
		case text && len(t.say.Columns) > 0:
			return kit.Unsupported("column %.60q: %.60q in line %d is no number", t.names[i], cols[i].text, cols[i].line)
		case text:
			texts = append(texts, t.names[i])
		case t.names[i] == "" && cols[i].values == 0: // separators at the ends of lines
		default:
			t.tracks[i] = len(kept)
			kept = append(kept, t.names[i])
		}
	}
	if len(kept) == 0 {
		i := slices.IndexFunc(cols, func(c csvColumn) bool { return c.line > 0 })
		if i < 0 {
			return kit.Unsupported("no column of numbers beside the times")
		}
		return kit.Unsupported("no column of numbers beside the times: of column %.60q %.60q in line %d is no number", t.names[i], cols[i].text, cols[i].line)
	}
	if len(texts) > 0 {
		what := "column of text, which is passed over"
		if len(texts) > 1 {
			what = "columns of text, which are passed over"
		}
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("%s: %s", what, listed(texts)))
	}
	t.aboutTimes()
	t.aboutNames(kept)
	t.about.Tracks = tracks(len(kept), zoomcache.Codec{}, zoomcache.Rate{}, kept, "")
	for i, k := range t.tracks {
		if k < 0 {
			continue
		}
		t.about.Tracks[k].Codec, _ = cols[i].codec()
		if text := cols[i].rounded(t.names[i]); text != "" {
			t.about.Warnings = append(t.about.Warnings, text)
		}
		t.about.Tracks[k].Variable = true
		if cols[i].values == 0 {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q has no values", t.names[i]))
		}
	}
	return nil
}

// aboutNames tells which tracks have one name.
func (t *table) aboutNames(kept []string) {
	var twice []string
	seen := map[string]int{}
	for _, n := range kept {
		if seen[n]++; seen[n] == 2 {
			twice = append(twice, n)
		}
	}
	if len(twice) > 0 {
		t.about.Warnings = append(t.about.Warnings, "several columns have one name, and numbers tell their tracks apart: "+listed(twice))
	}
}

// aboutTimes tells which column was taken for the times, if its name does not say it.
func (t *table) aboutTimes() {
	plain := !t.iso && t.layout == nil && !t.sure && t.read == (reading{}) && (!t.epoch || t.from < oldest)
	switch {
	case t.unnamed && plain:
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("no column is called time: the first, %.60q, is taken for the times, in seconds; --time and --times, or the metadata time-column and times of an upload, say otherwise", t.name))
	case t.unnamed && t.times[0] > 0:
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("no column is called time: %.60q is taken for the times; %s says otherwise", t.name, sayColumn))
	case len(t.others) > 0 && plain:
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q is taken for the times, in seconds, and not %s; %s says otherwise", t.name, listed(t.others), sayColumn))
	}
}
