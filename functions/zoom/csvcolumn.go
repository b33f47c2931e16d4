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
}

// learn notes a value of a column. A text among numbers is an error.
func (c *csvColumn) learn(name string, line int64, cell string) error {
	switch {
	case c.line > 0 && c.values >= textValues:
		return nil
	case !c.look(cell):
		if c.number || c.values > textValues || c.float { // a column of nan alone is not text, either
			return kit.Corrupt("column %.60q: %.60q is no number", name, cell)
		}
		if c.line == 0 {
			c.line, c.text = line, cell
		}
		return nil
	}
	if c.line > 0 {
		return kit.Corrupt("column %.60q: %.60q in line %d is no number, as %.60q is", name, c.text, c.line, cell)
	}
	if _, ok := c.codec(); !ok {
		return kit.Corrupt("column %.60q: %.60q among values of another kind", name, cell)
	}
	return nil
}

// look notes the kind of value in a cell. It returns false if the cell has no value.
func (c *csvColumn) look(cell string) bool {
	c.values++
	digits := cell
	if cell[0] == '-' || cell[0] == '+' {
		digits = cell[1:]
	}
	if allDigits(digits) {
		c.whole(cell, digits)
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
func (c *csvColumn) whole(cell, digits string) {
	c.integer, c.number = true, true
	c.negative = c.negative || cell[0] == '-'
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

// find finds the column of the stamps: the one that the user names, otherwise the one
// with the best name, otherwise the first.
func (t *table) find(cells []string, told string) error {
	at := func(name string) int {
		return slices.IndexFunc(cells, func(c string) bool { return strings.EqualFold(c, name) })
	}
	if told != "" {
		if t.time = at(told); t.time < 0 {
			return kit.Unsupported("no column %.60q: there are %s", told, listed(cells))
		}
		t.name = cells[t.time]
		return nil
	}
	var all []int
	for _, name := range timeNames() {
		if i := at(name); i >= 0 && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	if len(all) > 0 {
		t.time = all[0]
	}
	t.name = cells[t.time]
	t.unnamed = len(all) == 0
	for i := 1; i < len(all); i++ {
		t.others = append(t.others, cells[all[i]])
	}
	return nil
}

// listed joins names for people.
func listed(names []string) string {
	const most = 8
	list := make([]string, 0, most)
	for i, n := range names {
		if i == most {
			return strings.Join(list, ", ") + fmt.Sprintf(" and %d more", len(names)-most)
		}
		list = append(list, fmt.Sprintf("%.60q", n))
	}
	return strings.Join(list, ", ")
}

// choose makes a track of each column of numbers. A remark names the columns that
// it skips.
func (t *table) choose(names []string, cols []csvColumn) error {
	var texts, kept []string
	t.tracks = make([]int, len(cols))
	for i := range cols {
		if cols[i].line > 0 {
			t.tracks[i] = -1
			texts = append(texts, names[i])
			continue
		}
		t.tracks[i] = len(kept)
		kept = append(kept, names[i])
	}
	if len(texts) > 0 {
		if len(kept) == 0 {
			return kit.Unsupported("no column of numbers beside the times: of column %.60q %.60q in line %d is no number", texts[0], cols[0].text, cols[0].line)
		}
		what := "column of text, which is passed over"
		if len(texts) > 1 {
			what = "columns of text, which are passed over"
		}
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("%s: %s", what, listed(texts)))
	}
	if !t.iso && !t.sure && t.read == (reading{}) && (!t.epoch || t.from < oldest) {
		switch {
		case t.unnamed:
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("no column is called time: the first, %.60q, is taken for the times, in seconds; --time-column and --times, or the metadata time-column and times of an upload, say otherwise", t.name))
		case len(t.others) > 0:
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q is taken for the times, in seconds, and not %s; %s says otherwise", t.name, listed(t.others), sayColumn))
		}
	}
	t.about.Tracks = tracks(len(kept), zoomcache.Codec{}, zoomcache.Rate{}, kept, "")
	for i, k := range t.tracks {
		if k < 0 {
			continue
		}
		t.about.Tracks[k].Codec, _ = cols[i].codec()
		t.about.Tracks[k].Variable = true
		if cols[i].values == 0 {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q has no values", names[i]))
		}
	}
	return nil
}
