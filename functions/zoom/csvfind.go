package zoom

import (
	"fmt"
	"slices"
	"strings"

	"github.com/farread/farread/functions/internal/kit"
)

// timeNames are the names of columns that hold stamps, best first. If no column has one
// of them, the first column holds the stamps.
func timeNames() []string {
	return slices.Concat([]string{"time", "timestamp", "datetime", "date_time", "utc", "date", "t", "ts", "seconds", "sec", "time_s", "t_s", "time_sec", "time_seconds", "epoch", "unix",
		"time_ms", "timestamp_ms", "ts_ms", "t_ms", "epoch_ms", "unix_ms", "ms", "milliseconds", "time_us", "timestamp_us", "ts_us", "t_us", "epoch_us", "us",
		"microseconds", "time_ns", "timestamp_ns", "ts_ns", "t_ns", "epoch_ns", "ns", "nanoseconds",
		"times", "dates", "datum", "ymd", "yyyymmdd"}, yearNames(), []string{"yearmonth", "year_month", "yyyymm"})
}

// A look is what a cell looks like.
type look int

const (
	lookOther look = iota
	lookNumber
	lookDate  // ISO 8601 or words
	lookClock // a time of day
)

func (t *table) look(cell string) look {
	cell = strings.TrimSpace(cell)
	if _, _, ok := parseISO(cell); ok {
		return lookDate
	}
	if _, err := parseFloat(t.plain(cell)); err == nil {
		return lookNumber
	}
	list := infer(cell)
	switch {
	case len(list) == 0:
		return lookOther
	case list[0].clock:
		return lookClock
	}
	return lookDate
}

// plainName is a column's name without a unit or a format in brackets behind it, except
// if it is a letter or two: "T (degC)" is no time.
func plainName(name string) string {
	if i := strings.IndexAny(name, "([/"); i > 0 {
		if base := strings.TrimRight(name[:i], " _"); len(base) > 2 {
			return base
		}
	}
	return name
}

// sameName compares names, in any case of letters and with any space in them.
func sameName(a, b string) bool {
	space := func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}
	return strings.EqualFold(a, b) || strings.EqualFold(strings.Map(space, a), strings.Map(space, b))
}

// index finds a column by its name, in upper or lower case.
func (t *table) index(name string) int {
	if i := slices.Index(t.names, name); i >= 0 {
		return i
	}
	return slices.IndexFunc(t.names, func(c string) bool { return strings.EqualFold(c, name) })
}

// begin finds the columns, by their names and the first line of values.
func (t *table) begin(cells []string) ([]csvColumn, error) {
	if err := t.find(cells); err != nil {
		return nil, err
	}
	t.read.shift, t.epoch = unitOf(t.name)
	if err := t.told(t.say.Unit); err != nil {
		return nil, err
	}
	t.out = make([]bool, t.width)
	for _, i := range t.times {
		t.out[i] = true
	}
	if err := t.leaveOut(); err != nil {
		return nil, err
	}
	t.leaveIndex(cells[0])
	return make([]csvColumn, t.width), nil
}

// leaveIndex passes over a first column without a name, as pandas and R write their indexes, if there are others;
// cell is its first value.
func (t *table) leaveIndex(cell string) {
	if t.names[0] != "" || t.out[0] || len(t.say.Columns) > 0 || !slices.Contains(t.out[1:], false) {
		return
	}
	t.out[0] = true
	if strings.TrimSpace(cell) != "" {
		t.about.Warnings = append(t.about.Warnings, "the first column has no name: it is taken for an index, and passed over")
	}
}

// leaveOut takes the columns that the user named.
func (t *table) leaveOut() error {
	if len(t.say.Columns) > 0 {
		some := false
		wanted := make([]bool, t.width)
		for _, name := range t.say.Columns {
			i := t.index(name)
			if i < 0 {
				return kit.Unsupported("no column %.60q: there are %s", name, listed(t.names))
			}
			wanted[i], some = true, some || !t.out[i]
		}
		if !some {
			return kit.Unsupported("no column beside the times: of the columns to take there is %s alone", listed(t.say.Columns))
		}
		for i := range t.out {
			t.out[i] = t.out[i] || !wanted[i]
		}
	}
	for _, name := range t.say.Skip {
		i := t.index(name)
		if i < 0 {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("no column %.60q to pass over", name))
			continue
		}
		t.out[i] = true
	}
	if !slices.Contains(t.out, false) {
		return kit.Unsupported("no column of values is left beside the times: there are %s", listed(t.names))
	}
	return nil
}

// find finds the columns of the stamps: those that the user names, otherwise the one
// with the best name, otherwise the first with a date, otherwise the first.
func (t *table) find(cells []string) error {
	if t.say.Time != "" {
		return t.findTold()
	}
	var all []int
	for _, name := range timeNames() {
		for i, c := range t.names {
			if (sameName(c, name) || sameName(plainName(c), name)) && !slices.Contains(all, i) {
				all = append(all, i)
			}
		}
	}
	if t.unnamed = len(all) == 0; t.unnamed {
		all = t.byContent(cells)
	} else if c := t.byContent(cells); len(t.names[all[0]]) <= 2 && t.look(cells[all[0]]) == lookNumber && t.look(cells[c[0]]) == lookDate {
		t.unnamed, all = true, c // a column T beside dates is no time
	}
	t.take(t.prefer(all, cells))
	for _, i := range all {
		if i != t.times[0] {
			t.others = append(t.others, t.names[i])
		}
	}
	if t.say.Unit == "" && t.say.Format == "" {
		t.joinParts(cells)
	}
	return nil
}

// take makes a column the one of the stamps.
func (t *table) take(i int) {
	t.times, t.marks = []int{i}, nil
	t.name, t.call = t.names[i], plainName(t.names[i])
}

// findTold takes the column, or the columns joined by +, that the user names.
func (t *table) findTold() error {
	told := t.say.Time
	if i := t.index(told); i >= 0 {
		t.take(i)
		return nil
	}
	parts := strings.Split(told, "+")
	var list []int
	for _, p := range parts {
		i := t.index(strings.TrimSpace(p))
		if i < 0 || slices.Contains(list, i) {
			return kit.Unsupported("no column %.60q: there are %s", told, listed(t.names))
		}
		list = append(list, i)
	}
	if len(list) > 6 {
		return kit.Unsupported("%d columns of times: want a year, month, day, hour, minute and second at most", len(list))
	}
	t.take(list[0])
	t.join(list)
	return nil
}

// byContent finds a column by its first cell: dates, of which those that are called so
// are better.
func (t *table) byContent(cells []string) []int {
	var all []int
	for i, c := range cells {
		if t.look(c) != lookDate {
			continue
		}
		name := strings.ToLower(t.names[i])
		if strings.Contains(name, "date") || strings.Contains(name, "time") {
			return []int{i}
		}
		all = append(all, i)
	}
	if len(all) == 0 {
		return []int{0}
	}
	return all[:1]
}

// prefer is the best of the columns that are called like times. A time of day says
// less than a date, and a small number less than a year.
func (t *table) prefer(all []int, cells []string) int {
	best := all[0]
	dated := called(plainName(t.names[best]), append(yearNames(), dateNames()...))
	for _, i := range all[1:] {
		year := called(plainName(t.names[i]), yearNames()) && formYear.likely(t.plain(strings.TrimSpace(cells[i])))
		is := t.look(cells[best])
		if clockColumn(t.names[best]) && (dotted(cells[best]) || fourDigits(cells[best])) {
			is = lookClock
		}
		switch is {
		case lookClock:
			if y := t.look(cells[i]); y == lookDate || y == lookNumber && called(plainName(t.names[i]), dateNames()) {
				return i
			}
		case lookNumber:
			text := t.plain(strings.TrimSpace(cells[best]))
			if s, ok := parseSeconds(text); ok && year && !dated && likelyForm(text) == formCount && s.sec < oldest {
				t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q is taken for the times, and not %.60q, which counts; %s says otherwise", t.names[i], t.names[best], sayColumn))
				return i
			}
		case lookOther, lookDate:
		}
	}
	return best
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
