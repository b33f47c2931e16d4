package predicate

import (
	"errors"
	"math"
	"math/big"
	"strings"
)

// A literalKind says what a literal is compared with.
type literalKind byte

const (
	wholeNumber literalKind = iota + 1 // num; compared exactly
	decimal                            // num is a float64 or infinite; nil for nan
	truth                              // num is 0 or 1
	moment                             // a time
	noMoment                           // NaT
	text                               // only among values without a type, as null
	nothing
)

// A literal is a value of the text. It is not changed once it is parsed.
type literal struct {
	kind literalKind
	num  *big.Float
	text string

	// Of a moment: attoseconds since 1970, and the number of its month since then, which
	// starts with the moment if newMonth is set.
	attos    *big.Int
	months   int64
	newMonth bool
}

// wordLiteral returns the literal that a word is.
func wordLiteral(word string) (literal, bool) {
	switch word {
	case "true":
		return literal{kind: truth, num: big.NewFloat(1)}, true
	case "false":
		return literal{kind: truth, num: big.NewFloat(0)}, true
	case "inf":
		return literal{kind: decimal, num: big.NewFloat(math.Inf(1))}, true
	case "nan":
		return literal{kind: decimal}, true
	}
	return literal{}, false
}

var errTime = errors.New("want a time such as '2025-03-01', '2025-03-01T12:00:00.5' or 'NaT'")

// attosPerSecond is the finest unit of NumPy's times.
const attosPerSecond = 1e18

// parseTime reads what stands in single quotes.
func parseTime(s string) (literal, error) {
	if s == "NaT" {
		return literal{kind: noMoment}, nil
	}
	p := timeParser{s: s}
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		p.s = s[1:]
	}
	year := p.digits(4, 9)
	if neg {
		year = -year
	}
	month, day, hour, minute, second, frac := int64(1), int64(1), int64(0), int64(0), int64(0), int64(0)
	if p.skip("-") {
		month = p.within(1, 12)
		if p.skip("-") {
			day = p.within(1, daysIn(year, month))
			if p.skip("T", " ") {
				hour = p.within(0, 23)
				if p.skip(":") {
					minute = p.within(0, 59)
					if p.skip(":") {
						second = p.within(0, 59)
						if p.skip(".") {
							frac = p.fraction()
						}
					}
				}
				p.skip("Z")
			}
		}
	}
	if p.bad || p.s != "" {
		return literal{}, errTime
	}
	secs := daysSince1970(year, month, day)*86400 + hour*3600 + minute*60 + second
	attos := big.NewInt(secs)
	attos.Mul(attos, big.NewInt(attosPerSecond)).Add(attos, big.NewInt(frac))
	return literal{kind: moment, attos: attos, months: (year-1970)*12 + month - 1,
		newMonth: day == 1 && hour|minute|second|frac == 0}, nil
}

// A timeParser reads numbers until one is wrong.
type timeParser struct {
	s   string
	bad bool
}

// digits reads a number of at least so many digits.
func (p *timeParser) digits(least, most int) int64 {
	n, v := 0, int64(0)
	for n < len(p.s) && n < most && p.s[n] >= '0' && p.s[n] <= '9' {
		v = v*10 + int64(p.s[n]-'0')
		n++
	}
	p.bad = p.bad || n < least
	p.s = p.s[n:]
	return v
}

// within reads two digits.
func (p *timeParser) within(least, most int64) int64 {
	v := p.digits(2, 2)
	p.bad = p.bad || v < least || v > most
	return v
}

// fraction reads the digits after the point of a second, as attoseconds.
func (p *timeParser) fraction() int64 {
	before := len(p.s)
	v := p.digits(1, 18)
	for range 18 - (before - len(p.s)) {
		v *= 10
	}
	return v
}

// skip reads one of some characters, if it follows.
func (p *timeParser) skip(chars ...string) bool {
	for _, c := range chars {
		if rest, ok := strings.CutPrefix(p.s, c); ok {
			p.s = rest
			return true
		}
	}
	return false
}

func daysIn(year, month int64) int64 {
	y, m := year, month+1
	if m > 12 {
		y, m = y+1, 1
	}
	return daysSince1970(y, m, 1) - daysSince1970(year, month, 1)
}

// daysSince1970 counts days in the proleptic Gregorian calendar. Years are counted from
// March within an era of 400 years, so that the leap day is the last of its year.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	era, y := floorDiv(year, 400)
	return era*146097 + y*365 + y/4 - y/100 + (153*(month-3)+2)/5 + day - 1 - 719468
}

func floorDiv(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}
