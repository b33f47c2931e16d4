package zoom

import (
	"strconv"
	"strings"
	"time"
)

// nanoDigits is how many digits of a second's fraction are kept: stamps finer than
// that are rounded down.
const nanoDigits = 9

// A stamp is a time in seconds, counted from 1970 or from a time 0 of the file's own.
type stamp struct {
	sec   int64 // rounded down
	nano  int32 // nanoseconds after sec, never negative
	finer bool  // the text has digits beyond that are not 0
}

// maxSeconds bounds stamps so that arithmetic with them stays within 64 bits.
const maxSeconds = 1 << 60

// parseSeconds reads a decimal number of seconds.
func parseSeconds(text string) (stamp, bool) {
	s := text
	neg := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		neg, s = s[0] == '-', s[1:]
	}
	var out stamp
	i := 0
	for ; i < len(s) && isDigit(s[i]); i++ {
		if out.sec = out.sec*10 + int64(s[i]-'0'); out.sec > maxSeconds {
			return stamp{}, false
		}
	}
	digits := i
	if i < len(s) && s[i] == '.' {
		n := 0
		out.nano, out.finer, n = fraction(s[i+1:])
		digits += n
		i += 1 + n
	}
	if digits == 0 {
		return stamp{}, false
	}
	if i < len(s) {
		return exponent(text, s[i])
	}
	if neg {
		return out.negate(), true
	}
	return out, true
}

// unitOf tells by a column's name in which unit its stamps count (10^-shift seconds),
// and whether they count from 1970.
func unitOf(name string) (shift int, epoch bool) {
	name = strings.ToLower(name)
	for _, u := range []struct {
		shift int
		names []string
	}{{3, []string{"ms", "millis", "milliseconds"}}, {6, []string{"us", "µs", "micros", "microseconds"}}, {9, []string{"ns", "nanos", "nanoseconds"}}} {
		for _, n := range u.names {
			if rest, ok := strings.CutSuffix(strings.TrimRight(name, ")]"), n); ok && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "_ -([/.")) {
				shift, name = u.shift, strings.TrimRight(rest, "_ -([/.")
			}
		}
	}
	return shift, called(name, epochNames()) || called(name, []string{"timestamp", "ts", "utc", "date", "datetime"})
}

// parseShifted reads a number whose unit is 10^-shift seconds.
func parseShifted(text string, shift int) (stamp, bool) {
	if shift == 0 {
		return parseSeconds(text)
	}
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return stamp{}, false
		}
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	sign := ""
	if text != "" && (text[0] == '-' || text[0] == '+') {
		sign, text = text[:1], text[1:]
	}
	whole, rest, _ := strings.Cut(text, ".")
	if !allDigits(whole+rest) || len(text) > 60 {
		return stamp{}, false
	}
	for len(whole) <= shift {
		whole = "0" + whole
	}
	k := len(whole) - shift
	return parseSeconds(sign + whole[:k] + "." + whole[k:] + rest)
}

// before reports whether a stamp is earlier than another.
func (s stamp) before(o stamp) bool { return s.sec < o.sec || s.sec == o.sec && s.nano < o.nano }

// exponent reads a number such as 1.5e3. It goes by way of the shortest decimal text.
func exponent(text string, c byte) (stamp, bool) {
	if c != 'e' && c != 'E' {
		return stamp{}, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return stamp{}, false
	}
	return parseSeconds(strconv.FormatFloat(f, 'f', -1, 64))
}

// negate returns the negative stamp. Its nanoseconds still count upwards from sec, and
// finer digits are still rounded down.
func (s stamp) negate() stamp {
	s.sec = -s.sec
	up := s.nano
	if s.finer {
		up++
	}
	if up > 0 {
		s.sec--
		up = 1e9 - up
	}
	s.nano = up
	return s
}

// fraction reads the n digits behind a point.
func fraction(s string) (nano int32, finer bool, n int) {
	for ; n < len(s) && isDigit(s[n]); n++ {
		if n < nanoDigits {
			nano = nano*10 + int32(s[n]-'0')
		} else if s[n] != '0' {
			finer = true
		}
	}
	for k := n; k < nanoDigits; k++ {
		nano *= 10
	}
	return nano, finer, n
}

// digits is how many digits of a second's fraction the stamp needs.
func (s stamp) digits() int {
	if s.nano == 0 {
		return 0
	}
	d, n := nanoDigits, s.nano
	for n%10 == 0 {
		n /= 10
		d--
	}
	return d
}

// ticks is the time from a whole second on, in ticks of 10^-digits seconds, rounded
// down.
func (s stamp) ticks(from int64, digits int) int64 {
	return (s.sec-from)*pow10(digits) + int64(s.nano)/pow10(nanoDigits-digits)
}

// maxDigits is the finest resolution whose stamps fit into 62 bits, if they lie up to
// span seconds from time 0.
func maxDigits(span int64) int {
	d := nanoDigits
	for d > 0 && span >= 1<<62/pow10(d) {
		d--
	}
	return d
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// parseISO reads ISO 8601 as programs write it: 2026-05-01, then T or a space and
// 12:30, :05, .25 (or a comma), then Z, +02, +0200 or +02:00; and the same without
// marks, 20260501T123005. zoned says that it tells its zone; if it does not, it is as if it
// were UTC.
func parseISO(text string) (at stamp, zoned, ok bool) {
	s := marked(text)
	year, ok1 := number(&s, 4)
	mark := byte('-')
	if strings.HasPrefix(s, "/") { // 2026/05/01: with the year first the order is clear
		mark = '/'
	}
	month, _ := after(&s, mark) // 0 if there is none
	day, _ := after(&s, mark)
	if !ok1 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return stamp{}, false, false
	}
	var out stamp
	sec := int64(0)
	if s != "" {
		if s[0] != 'T' && s[0] != 't' && s[0] != ' ' {
			return stamp{}, false, false
		}
		s = s[1:]
		hour, ok1 := number(&s, 2)
		minute, ok2 := after(&s, ':')
		if !ok1 || !ok2 || hour > 24 || minute > 59 {
			return stamp{}, false, false
		}
		sec = int64(hour)*3600 + int64(minute)*60
		if strings.HasPrefix(s, ":") {
			second, ok := after(&s, ':')
			if !ok || second > 60 { // a leap second counts as the next second
				return stamp{}, false, false
			}
			sec += int64(second)
			if s != "" && (s[0] == '.' || s[0] == ',') {
				n := 0
				if out.nano, out.finer, n = fraction(s[1:]); n == 0 {
					return stamp{}, false, false
				}
				s = s[1+n:]
			}
		}
		if hour == 24 && (sec > 86400 || out.nano > 0 || out.finer) { // 24:00 is the end of a day, and the last time of it
			return stamp{}, false, false
		}
		zoned = strings.TrimSpace(s) != ""
		zone, ok := offset(s)
		if !ok {
			return stamp{}, false, false
		}
		sec -= zone
	}
	out.sec = time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() + sec
	return out, zoned, true
}

// marked inserts the marks of a date and a time that have only a T.
func marked(text string) string {
	const date = len("20260501")
	if len(text) <= date || text[date] != 'T' && text[date] != 't' || !allDigits(text[:date]) {
		return text
	}
	day := text[:4] + "-" + text[4:6] + "-" + text[6:date] + "T"
	clock := text[date+1:]
	n := 0
	for n < len(clock) && isDigit(clock[n]) {
		n++
	}
	switch n {
	case 4:
		return day + clock[:2] + ":" + clock[2:]
	case 6:
		return day + clock[:2] + ":" + clock[2:4] + ":" + clock[4:]
	}
	return text
}

// offset reads the zone of a time, in seconds.
func offset(s string) (int64, bool) {
	s = strings.TrimPrefix(s, " ")
	switch {
	case s == "" || s == "Z" || s == "z" || s == "UTC":
		return 0, true
	case s[0] != '+' && s[0] != '-':
		return 0, false
	}
	neg := s[0] == '-'
	s = s[1:]
	hour, ok := number(&s, 2)
	if !ok || hour > 23 {
		return 0, false
	}
	minute := 0
	if s != "" {
		s = strings.TrimPrefix(s, ":")
		if minute, ok = number(&s, 2); !ok || minute > 59 || s != "" {
			return 0, false
		}
	}
	n := int64(hour)*3600 + int64(minute)*60
	if neg {
		n = -n
	}
	return n, true
}

// number cuts n digits off s and returns their value.
func number(s *string, n int) (int, bool) {
	t := *s
	if len(t) < n {
		return 0, false
	}
	v := 0
	for i := range n {
		if !isDigit(t[i]) {
			return 0, false
		}
		v = v*10 + int(t[i]-'0')
	}
	*s = t[n:]
	return v, true
}

// after cuts a mark and two digits off s and returns their value.
func after(s *string, c byte) (int, bool) {
	if *s == "" || (*s)[0] != c {
		return 0, false
	}
	*s = (*s)[1:]
	return number(s, 2)
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
