package zoom

import (
	"slices"
	"strings"
)

// infer lists the layouts that a date may have, the likeliest first. Numbers have none:
// what they are, their column says.
func infer(text string) []*layout {
	var out []*layout
	for _, format := range dateFormats(text) {
		l, err := compile(format)
		if err != nil {
			continue
		}
		l.tail = true
		if _, _, ok := l.parse(text); ok {
			out = append(out, l)
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, format := range []string{"%H:%M:%S", "%I:%M:%S %p", "%H:%M", "%I:%M %p", // a time of day alone
		"%a %b %d %H:%M:%S %Y", "%a %b %d %H:%M:%S %z %Y", "%a %b %d %H:%M:%S %Y %z", "%b %d %H:%M:%S %Y"} { // as ctime, date and git write them
		l, err := compile(format)
		if err != nil {
			continue
		}
		if _, _, ok := l.parse(text); ok {
			return []*layout{l}
		}
	}
	return nil
}

// A datePart is a number or a name in a date, with what stands before it.
type datePart struct {
	before string
	number string // "" for a month's name
}

// dateFormats lists formats of strptime for the date with which a text begins.
func dateFormats(text string) []string {
	parts, named, quarter := dateParts(text)
	if len(parts) == 0 || len(parts) > 3 {
		return nil
	}
	size := func(i int) int { return len(parts[i].number) }
	all := func(letters string) []string { return []string{joined(parts, letters)} }
	switch {
	case quarter >= 0 && len(parts) == 2 && size(1-quarter) == 4:
		return all([2]string{"qY", "Yq"}[quarter])
	case quarter >= 0:
		return nil
	case named >= 0:
		return namedFormats(parts, named)
	case len(parts) > 1 && size(0) == 4 && strings.HasSuffix(strings.ToUpper(parts[1].before), "W"):
		return weekFormats(parts)
	case len(parts) == 1 && size(0) == 8: // with a time behind, else it would be a number
		return []string{"%Y%m%d"}
	case len(parts) == 2 && size(0) == 8 && (size(1) == 6 || size(1) == 4):
		return []string{"%Y%m%d" + parts[1].before + "%H%M%S"[:size(1)]}
	case len(parts) == 2 && size(0) == 4 && size(1) == 3:
		return all("Yj")
	case len(parts) == 2 && size(0) == 4:
		return all("Ym")
	case len(parts) == 2 && size(1) == 4:
		return all("mY")
	case len(parts) < 3:
		return nil
	case size(0) == 4:
		return all("Ymd")
	case size(2) == 4:
		return dayOrMonth(parts, "mdY", "dmY")
	case size(2) == 2 && size(0) == 2:
		return append(dayOrMonth(parts, "mdy", "dmy"), joined(parts, "ymd"))
	case size(2) == 2:
		return dayOrMonth(parts, "mdy", "dmy")
	}
	return nil
}

// weekFormats lists formats of a week of ISO 8601: 2024-W05, 2024-W05-3, 2024W053.
func weekFormats(parts []datePart) []string {
	switch size := len(parts[1].number); {
	case size == 2 && len(parts) == 2:
		return []string{joined(parts, "GV")}
	case size == 2 && len(parts[2].number) == 1:
		return []string{joined(parts, "GVu")}
	case size == 3 && len(parts) == 2:
		return []string{joined(parts, "GV") + "%u"}
	}
	return nil
}

// dayOrMonth gives both orders. Between points, the day is first.
func dayOrMonth(parts []datePart, month, day string) []string {
	out := []string{joined(parts, month), joined(parts, day)}
	if parts[1].before == "." {
		slices.Reverse(out)
	}
	return out
}

// namedFormats lists formats of a date with the name of a month.
func namedFormats(parts []datePart, named int) []string {
	digits := ""
	for i := range parts {
		if i != named {
			digits += string('0' + byte(min(len(parts[i].number), 9)))
		}
	}
	with := func(letters string) string { return joined(parts, letters[:named]+"b"+letters[named:]) }
	switch {
	case digits == "4":
		return []string{with("Y")}
	case digits == "2" && named == 0:
		return []string{with("y")}
	case digits == "14" || digits == "24":
		return []string{with("dY")}
	case digits == "41" || digits == "42":
		return []string{with("Yd")}
	case digits == "22":
		return []string{with("dy"), with("yd")}
	case digits == "12":
		return []string{with("dy")}
	}
	return nil
}

// joined writes parts as a format with a letter for each.
func joined(parts []datePart, letters string) string {
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p.before + "%" + letters[i:i+1])
	}
	return b.String()
}

// dateParts takes the date apart with which a text begins. named and quarter are the
// parts that are a month's name and the number of a quarter, or -1.
func dateParts(text string) (parts []datePart, named, quarter int) {
	named, quarter = -1, -1
	before := ""
	for rest := text; rest != ""; {
		switch n := letters(rest); {
		case isDigit(rest[0]):
			n = len(rest) - len(strings.TrimLeft(rest, "0123456789"))
			if strings.HasPrefix(rest[n:], ":") && len(parts) > 0 { // the time of day
				return parts, named, quarter
			}
			if len(parts) == 3 {
				return nil, named, quarter
			}
			parts = append(parts, datePart{before, rest[:n]})
			before, rest = "", rest[n:]
		case n == 0:
			if !strings.ContainsRune(" -/.,'_", rune(rest[0])) || rest[0] != ' ' && strings.Trim(before, " ") != "" && before != "%a" {
				return nil, named, quarter
			}
			before, rest = before+rest[:1], rest[1:]
		case strings.EqualFold(rest[:n], "t") && len(parts) > 0 && before == "":
			return parts, named, quarter
		default:
			switch {
			case strings.EqualFold(rest[:n], "q") && quarter < 0 && named < 0 && len(rest) > 1 && isDigit(rest[1]):
				quarter = len(parts)
				before, rest = before+rest[:1], rest[1:]
			case strings.EqualFold(rest[:n], "m") && len(parts) == 1 && len(rest) > 1 && isDigit(rest[1]): // 1974M01
				before, rest = before+rest[:1], rest[1:]
			case strings.EqualFold(rest[:n], "w") && len(parts) == 1 && len(rest) > 1 && isDigit(rest[1]): // 2024-W05
				before, rest = before+rest[:1], rest[1:]
			case named < 0 && len(parts) < 3 && monthOf(&rest) > 0:
				named = len(parts)
				parts = append(parts, datePart{before, ""})
				before = ""
			case len(parts) == 0 && weekday(&rest):
				if before = "%a"; strings.HasPrefix(rest, ",") {
					before, rest = "%a,", rest[1:]
				}
			default:
				return nil, named, quarter
			}
		}
	}
	return parts, named, quarter
}
