package zoom

import (
	"fmt"
	"strings"
	"time"

	"github.com/farread/farread/formats"
)

// A layout is a way to read a date that is no number and not ISO 8601, item by item.
type layout struct {
	text  string // in the words of strptime, for people
	items []layoutItem
	tail  bool // a time of day and a zone may follow
	clock bool // there is no date: the stamp is a time of day
}

// A layoutItem is a field, or text that has to be there.
type layoutItem struct {
	field byte   // letter of strptime; 0: text
	text  string // " " is any white space
}

// fields are the letters that ParseFormat takes.
const fields = "YymdeHIMSfpbBhaAjqzsGVu"

// ParseFormat checks what is to be a CSVOptions.Format: a date as strptime reads it, with
// %Y %y %m %d %e %j %b %B %H %I %M %S %f %p %a %A %z %s, and %q for a quarter; %G, %V and %u are the year, week and day of ISO 8601; %F, %T, %D
// and %R are others joined. If it is none, the error is formats.ErrUnsupported.
func ParseFormat(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	_, err := compile(text)
	return text, err
}

// compile makes a layout of a format of strptime.
func compile(text string) (*layout, error) {
	bad := func(format string, a ...any) (*layout, error) {
		return nil, fmt.Errorf("format of times %.60q: %s: %w", text, fmt.Sprintf(format, a...), formats.ErrUnsupported)
	}
	l := &layout{text: text}
	have := ""
	rest := strings.NewReplacer("%%", "%%", "%F", "%Y-%m-%d", "%T", "%H:%M:%S", "%D", "%m/%d/%y", "%R", "%H:%M").Replace(text)
	if len(rest) > 200 {
		return bad("too long")
	}
	for rest != "" {
		switch {
		case rest[0] != '%' || len(rest) > 1 && rest[1] == '%':
			l.items = append(l.items, layoutItem{text: rest[:1]})
			if rest[0] == '%' {
				rest = rest[1:]
			}
			rest = rest[1:]
			continue
		case len(rest) < 2 || !strings.Contains(fields, rest[1:2]):
			return bad("%.2q is not known; there are %%Y %%y %%m %%d %%b %%H %%I %%M %%S %%f %%p %%j %%q %%z %%s %%G %%V %%u", rest)
		case strings.Contains(have, rest[1:2]):
			return bad("%.2q is there twice", rest)
		}
		have += rest[1:2]
		l.items = append(l.items, layoutItem{field: rest[1]})
		rest = rest[2:]
	}
	switch {
	case !strings.ContainsAny(have, "Yyms"+"bBhdejqHIGVu"):
		return bad("it has no time")
	case strings.ContainsAny(have, "dejmbBhq") && !strings.ContainsAny(have, "Yys"), strings.ContainsAny(have, "Vu") && !strings.Contains(have, "G"):
		return bad("it has no year")
	case strings.Contains(have, "G") && (!strings.Contains(have, "V") || strings.ContainsAny(have, "Yymdejbhq")):
		return bad("%%G goes with %%V, a week, alone")
	}
	l.clock = !strings.ContainsAny(have, "YysG")
	return l, nil
}

// A civil is a date and a time as people write them.
type civil struct {
	year, month, day, hour, minute, second int
	yearDay, week, weekday                 int
	half                                   byte // 'a' or 'p'
	nano                                   int32
	finer                                  bool
	epoch                                  *stamp
	zoned                                  bool
	offset                                 int64
}

// parse reads a stamp. If it does not tell its zone, the stamp is local.
func (l *layout) parse(text string) (s stamp, zoned, ok bool) {
	c := civil{year: 1970, month: 1, day: 1}
	rest := text
	for i, it := range l.items {
		if it.field == 0 {
			if !literal(&rest, it.text) {
				return s, false, false
			}
			continue
		}
		dot := i+1 < len(l.items) && strings.ContainsAny(l.items[i+1].text, ".,")
		if !c.field(&rest, it.field, dot) {
			return s, false, false
		}
	}
	if l.tail && rest != "" && !c.tail(rest) || !l.tail && rest != "" {
		return s, false, false
	}
	return c.stamp()
}

// literal cuts text off that has to be there.
func literal(s *string, text string) bool {
	if text == " " {
		t := strings.TrimLeft(*s, " \t")
		if t == *s {
			return false
		}
		*s = t
		return true
	}
	if len(*s) < len(text) || !strings.EqualFold((*s)[:len(text)], text) {
		return false
	}
	*s = (*s)[len(text):]
	return true
}

// upTo cuts at most n digits off s, and at least one.
func upTo(s *string, n int) (v, digits int) {
	for digits < n && digits < len(*s) && isDigit((*s)[digits]) {
		v = v*10 + int((*s)[digits]-'0')
		digits++
	}
	*s = (*s)[digits:]
	return v, digits
}

// field reads one field. dot says that a point follows it in the format: else the
// seconds may have a fraction.
func (c *civil) field(s *string, f byte, dot bool) bool {
	n := 0
	switch f {
	case 'Y', 'G':
		c.year, n = upTo(s, 4)
		return n == 4
	case 'V':
		c.week, n = upTo(s, 2)
		return n == 2 && c.week > 0
	case 'u':
		c.weekday, _ = upTo(s, 1)
		return c.weekday > 0 && c.weekday < 8
	case 'y':
		if c.year, n = upTo(s, 2); c.year < 69 { // as POSIX has it
			c.year += 100
		}
		c.year += 1900
		return n == 2
	case 'm':
		c.month, n = upTo(s, 2)
	case 'd', 'e':
		*s = strings.TrimPrefix(*s, " ")
		c.day, n = upTo(s, 2)
	case 'j':
		c.yearDay, n = upTo(s, 3)
		return n > 0 && c.yearDay > 0
	case 'q':
		if c.month, n = upTo(s, 1); c.month < 1 || c.month > 4 {
			return false
		}
		c.month = 3*c.month - 2
	case 'b', 'B', 'h':
		c.month = monthOf(s)
		return c.month > 0
	case 'a', 'A':
		return weekday(s)
	case 'H', 'I':
		c.hour, n = upTo(s, 2)
		return n > 0 && (f == 'H' || c.hour >= 1 && c.hour <= 12)
	case 'M':
		c.minute, n = upTo(s, 2)
	case 'S':
		if c.second, n = upTo(s, 2); n > 0 && !dot {
			return c.part(s)
		}
	case 'f':
		c.nano, c.finer, n = fraction(*s)
		*s = (*s)[n:]
	case 'p':
		return c.meridiem(s)
	case 'z':
		return c.zone(s)
	case 's':
		k := strings.IndexFunc(*s, func(r rune) bool { return !strings.ContainsRune("+-.0123456789", r) })
		if k < 0 {
			k = len(*s)
		}
		at, ok := parseSeconds((*s)[:k])
		c.epoch, *s = &at, (*s)[k:]
		return ok
	}
	return n > 0
}

// part reads the fraction of a second, if there is one.
func (c *civil) part(s *string) bool {
	if *s == "" || (*s)[0] != '.' && (*s)[0] != ',' {
		return true
	}
	n := 0
	c.nano, c.finer, n = fraction((*s)[1:])
	*s = (*s)[1+n:]
	return n > 0
}

func (c *civil) meridiem(s *string) bool {
	for _, half := range []string{"am", "pm", "a.m.", "p.m."} {
		if literal(s, half) {
			c.half = half[0]
			return c.hour >= 1 && c.hour <= 12
		}
	}
	return false
}

func (c *civil) zone(s *string) bool {
	t := *s
	for _, name := range []string{"GMT", "UTC", "Z"} {
		if literal(&t, name) {
			c.zoned, *s = true, t
			return true
		}
	}
	k := strings.IndexFunc(t[min(1, len(t)):], func(r rune) bool { return r != ':' && (r < '0' || r > '9') })
	if k++; k <= 0 {
		k = len(t)
	}
	if t == "" || t[0] != '+' && t[0] != '-' {
		return false
	}
	var ok bool
	c.offset, ok = offset(t[:k])
	c.zoned, *s = true, t[k:]
	return ok
}

// tail reads the time of day behind a date, and its zone: 12:30, 12:30:05.25, 1:05 PM.
func (c *civil) tail(s string) bool {
	t := strings.TrimLeft(s, " ,")
	if t == s && !literal(&t, "T") {
		return false
	}
	n := 0
	if c.hour, n = upTo(&t, 2); n == 0 || !literal(&t, ":") {
		return false
	}
	if c.minute, n = upTo(&t, 2); n != 2 {
		return false
	}
	if literal(&t, ":") {
		if c.second, n = upTo(&t, 2); n != 2 || !c.part(&t) {
			return false
		}
	}
	t = strings.TrimLeft(t, " ")
	if c.meridiem(&t) {
		t = strings.TrimLeft(t, " ")
	}
	return t == "" || c.zone(&t) && t == ""
}

// stamp checks the fields.
func (c *civil) stamp() (s stamp, zoned, ok bool) {
	if c.epoch != nil {
		return *c.epoch, true, true
	}
	switch {
	case c.half == 'a' && c.hour == 12:
		c.hour = 0
	case c.half == 'p' && c.hour < 12:
		c.hour += 12
	}
	if c.month < 1 || c.month > 12 || c.day < 1 || c.day > daysIn(c.year, c.month) || c.yearDay > 365+daysIn(c.year, 2)-28 ||
		!c.timeOfDay() {
		return s, false, false
	}
	if c.yearDay > 0 {
		c.month, c.day = 1, c.yearDay
	}
	if c.week > 0 {
		first := time.Date(c.year, 1, 4, 0, 0, 0, 0, time.UTC) // always in week 1, which begins on a Monday
		c.month, c.day = 1, 4-(int(first.Weekday())+6)%7+7*(c.week-1)
		if y, w := time.Date(c.year, 1, c.day, 0, 0, 0, 0, time.UTC).ISOWeek(); y != c.year || w != c.week {
			return s, false, false
		}
		c.day += max(c.weekday, 1) - 1
	}
	s.sec = time.Date(c.year, time.Month(c.month), c.day, c.hour, c.minute, c.second, 0, time.UTC).Unix() - c.offset
	s.nano, s.finer = c.nano, c.finer
	return s, c.zoned, true
}

// timeOfDay checks the time of day. 24:00 is the end of a day, a second 60 a leap second.
func (c *civil) timeOfDay() bool {
	if c.hour == 24 {
		return c.minute == 0 && c.second == 0 && c.nano == 0 && !c.finer && c.half == 0
	}
	return c.hour < 24 && c.minute <= 59 && c.second <= 60
}

// monthOf cuts the English name of a month off, short or long, and returns its number,
// or 0.
func monthOf(s *string) int {
	n := letters(*s)
	name := strings.ToLower((*s)[:n])
	if n < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		long := strings.ToLower(m.String())
		if name == long || name == long[:3] || name == "sept" && m == time.September {
			*s = strings.TrimPrefix((*s)[n:], ".")
			return int(m)
		}
	}
	return 0
}

func weekday(s *string) bool {
	n := letters(*s)
	name := strings.ToLower((*s)[:n])
	for d := time.Sunday; d <= time.Saturday; d++ {
		if long := strings.ToLower(d.String()); n > 0 && (name == long || name == long[:3]) {
			*s = (*s)[n:]
			return true
		}
	}
	return false
}

// letters is how many letters s begins with.
func letters(s string) int {
	n := 0
	for n < len(s) && (s[n]|0x20) >= 'a' && (s[n]|0x20) <= 'z' {
		n++
	}
	return n
}
