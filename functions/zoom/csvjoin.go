package zoom

import (
	"fmt"
	"slices"
	"strings"
)

// A dayPart is how a cell says a part of a day, for a stamp that is made of several cells.
type dayPart int

const (
	partPlain dayPart = iota // as it stands
	partClock                // 18:30, 9:30, 18.30.00, 1830
	partHour                 // 0 to 24
	partHHMM                 // 30, 930, 1830
	partTwo                  // of hours, minutes and seconds beside each other
)

// hourNames are the names of columns that have the hour of a day alone. "hours" are rather a length.
func hourNames() []string {
	return []string{"hour", "hr", "hh", "hour_of_day", "hourofday", "hod", "hour_ending", "hourending", "hour_end", "stunde", "heure", "hora"}
}

func hhmmNames() []string { return []string{"hhmm", "hrmn", "hrmin", "hour_minute", "hourmin"} }

// minuteNames has no "min", which is rather a least value.
func minuteNames() []string { return []string{"minute", "mn", "mi"} }

func secondPartNames() []string { return []string{"second", "ss"} }

// clockColumn reports whether a column is called like one of times of day.
func clockColumn(name string) bool {
	return called(plainName(name), append(clockNames(), "clock", "time_of_day", "timeofday", "tod", "uhrzeit", "zeit", "uhr", "heure", "hora", "hour", "hhmm", "hh:mm", "hh:mm:ss", "hhmmss", "local_time", "localtime", "obs_time"))
}

// partOf is what a column beside a date has, by its name.
func partOf(name string) dayPart {
	switch name = plainName(name); {
	case called(name, hourNames()):
		return partHour
	case called(name, hhmmNames()):
		return partHHMM
	case clockColumn(name):
		return partClock
	}
	return partPlain
}

// dotted reports whether a cell is a time of day with points, 18.00.00.
func dotted(cell string) bool {
	p := strings.Split(strings.TrimSpace(cell), ".")
	return len(p) == 3 && len(p[1]) == 2 && len(p[2]) == 2 && within(p[0], 0, 24) && within(p[1], 0, 59) && within(p[2], 0, 60)
}

// fourDigits reports whether a cell is a time of day as 1830.
func fourDigits(cell string) bool {
	cell = strings.TrimSpace(cell)
	return len(cell) == 4 && allDigits(cell) && within(cell[:2], 0, 24) && within(cell[2:], 0, 59)
}

// text is a cell as ISO 8601 has it. What it cannot read stays, for the error.
func (p dayPart) text(cell string) string {
	cell = whole(strings.TrimSpace(cell))
	switch {
	case p == partClock && dotted(cell):
		return strings.ReplaceAll(cell, ".", ":")
	case p == partClock && len(cell) > 3 && isDigit(cell[0]) && cell[1] == ':':
		return "0" + cell
	case (p == partClock || p == partHHMM) && fourDigits(cell):
		return cell[:2] + ":" + cell[2:]
	case p == partHHMM && allDigits(cell) && len(cell) < 4 && fourDigits(zeros[len(cell):]+cell):
		return p.text(zeros[len(cell):] + cell)
	case p == partHour && within(cell, 0, 24):
		return zeros[2+min(len(cell), 2):] + cell + ":00"
	case p == partTwo && len(cell) == 1:
		return "0" + cell
	}
	return cell
}

const zeros = "0000"

// joinParts takes more columns for the stamps if the best one has a part of each
// alone: a year beside months or quarters, a date beside times of day.
func (t *table) joinParts(cells []string) {
	main := t.times[0]
	text := t.plain(strings.TrimSpace(cells[main]))
	list := []int{main}
	switch {
	case called(t.call, yearNames()) && formYear.likely(text):
		if i := slices.IndexFunc(t.names, func(c string) bool { return called(plainName(c), dayNames()) }); i >= 0 && within(cells[i], 1, 366) {
			list = append(list, i)
			break
		}
		for _, p := range []struct {
			names       []string
			first, last int
		}{{[]string{"quarter", "qtr", "q"}, 1, 4}, {[]string{"month", "mon", "mm", "mo"}, 1, 12}, {[]string{"day", "dd", "dom", "dy"}, 1, 31},
			{[]string{"hour", "hh", "hr"}, 0, 24}, {[]string{"minute", "mn"}, 0, 59}, {[]string{"second", "ss"}, 0, 60}} {
			i := slices.IndexFunc(t.names, func(c string) bool { return called(plainName(c), p.names) })
			if i < 0 || i == main || !within(cells[i], p.first, p.last) {
				if p.names[0] == "quarter" {
					continue
				}
				break
			}
			if list = append(list, i); p.names[0] == "quarter" {
				break
			}
		}
	case t.look(cells[main]) == lookDate && !strings.Contains(text, ":") || formDay.likely(text) && called(t.call, dateNames()):
		list = t.dayParts(list, cells)
	}
	if len(list) > 1 {
		t.join(list)
		as := ""
		for i, c := range list[1:] {
			if t.parts[i+1].text(cells[c]) != strings.TrimSpace(cells[c]) {
				as = fmt.Sprintf(", as %.60s", t.stampOf(cells))
			}
		}
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("columns %.200q together are taken for the times%s; %s says otherwise", t.name, as, sayColumn))
	}
}

// dayParts adds to a date the column of the times of day, or those of hours, minutes and seconds.
func (t *table) dayParts(list []int, cells []string) []int {
	for i, c := range cells {
		if i != list[0] && clockColumn(t.names[i]) && (t.look(c) == lookClock || dotted(c) || fourDigits(c)) {
			return append(list, i)
		}
	}
	for _, p := range []struct {
		names []string
		last  int
	}{{hourNames(), 24}, {minuteNames(), 59}, {secondPartNames(), 60}} {
		i := slices.IndexFunc(t.names, func(c string) bool { return called(plainName(c), p.names) })
		if i < 0 || slices.Contains(list, i) || !within(cells[i], 0, p.last) {
			break
		}
		list = append(list, i)
	}
	if len(list) > 1 {
		return list
	}
	for i, c := range cells {
		if called(plainName(t.names[i]), hhmmNames()) && within(c, 0, 9999) && strings.Contains(partHHMM.text(c), ":") {
			return append(list, i)
		}
	}
	return list
}

// dayNames are the names of columns that count the days of a year.
func dayNames() []string {
	return []string{"doy", "yday", "dayofyear", "day_of_year", "jday", "julian_day"}
}

// within reports whether a cell is a whole number in a range.
func within(cell string, first, last int) bool {
	text := whole(strings.TrimSpace(cell))
	if !allDigits(text) || len(text) > 4 {
		return false
	}
	n, _ := number(&text, len(text))
	return n >= first && n <= last
}

// join makes a stamp of the cells of several columns.
func (t *table) join(list []int) {
	t.times, t.marks, t.parts = list, nil, make([]dayPart, len(list))
	year := called(t.call, yearNames())
	var names []string
	for i, c := range list {
		if names = append(names, t.names[c]); i == 0 {
			continue
		}
		mark := " "
		if t.say.Format == "" && !year {
			t.parts[i] = partOf(t.names[c])
			if i > 1 && t.parts[i-1] == partHour && called(plainName(t.names[c]), minuteNames()) {
				mark, t.parts[i-1], t.parts[i] = ":", partTwo, partTwo
			}
			if i > 1 && t.parts[i-1] == partTwo && called(plainName(t.names[c]), secondPartNames()) {
				mark, t.parts[i] = ":", partTwo
			}
		}
		if year {
			switch { // 1974-365, 1974Q1, 1974-1-31 12:30:05
			case i == 1 && called(plainName(t.names[c]), []string{"quarter", "qtr", "q"}):
				mark = "Q"
			case i == 1 && called(plainName(t.names[c]), dayNames()):
				mark, t.joined = "-", "%Y-%j"
			case i < 3:
				mark = "-"
			case i > 3:
				mark = ":"
			}
		}
		t.marks = append(t.marks, mark)
	}
	end := ""
	if year && len(list) == 4 { // an hour alone
		end = ":00"
	}
	t.marks = append(t.marks, end)
	t.name = strings.Join(names, " + ")
	t.call = "date"
}
