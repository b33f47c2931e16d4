package dtype

import (
	"math"
	"math/bits"
	"strconv"
)

// appendTime appends a point in time as NumPy prints it, down to the unit. A count
// that leaves int64 once its unit is applied is printed as a number, and so is a count
// of the generic unit.
func (d DType) appendTime(dst []byte, v int64) []byte {
	number := strconv.AppendInt(dst, v, 10)
	v, ok := mul(v, int64(max(d.count, 1)))
	if !ok {
		return number
	}
	switch d.unit {
	case "Y":
		if v > math.MaxInt64-1970 {
			return number
		}
		return appendYear(dst, v+1970)
	case "M":
		y, m := floorDiv(v, 12)
		return appendPadded(append(appendYear(dst, y+1970), '-'), m+1, 2)
	case "W":
		if v, ok = mul(v, 7); !ok {
			return number
		}
		return appendDate(dst, v)
	case "D":
		return appendDate(dst, v)
	case "h":
		days, h := floorDiv(v, 24)
		return appendPadded(append(appendDate(dst, days), 'T'), h, 2)
	case "m":
		days, m := floorDiv(v, 24*60)
		return appendClock(append(appendDate(dst, days), 'T'), m)
	}
	perSecond, digits := int64(1), 0
	switch d.unit {
	case "s":
	case "ms":
		perSecond, digits = 1e3, 3
	case "us":
		perSecond, digits = 1e6, 6
	case "ns":
		perSecond, digits = 1e9, 9
	case "ps":
		perSecond, digits = 1e12, 12
	case "fs":
		perSecond, digits = 1e15, 15
	case "as":
		perSecond, digits = 1e18, 18
	default:
		return number
	}
	secs, frac := floorDiv(v, perSecond)
	days, s := floorDiv(secs, 86400)
	dst = appendClock(append(appendDate(dst, days), 'T'), s/60)
	dst = appendPadded(append(dst, ':'), s%60, 2)
	if digits == 0 {
		return dst
	}
	return appendPadded(append(dst, '.'), frac, digits)
}

// mul multiplies by a positive number, and reports whether the result fits into
// int64.
func mul(v, k int64) (int64, bool) {
	neg := v < 0
	u := uint64(v)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(k))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

func floorDiv(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// appendDate appends the civil date of a day counted from 1970-01-01 in the
// proleptic Gregorian calendar. Years are counted from March inside an era of 400
// years (146097 days), so that the leap day is the last of its year.
func appendDate(dst []byte, days int64) []byte {
	era, day := floorDiv(days, 146097)
	day += 719468 // from 0000-03-01 to 1970-01-01
	era += day / 146097
	day %= 146097
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153 // from March
	day -= (153*month+2)/5 - 1
	year += era * 400
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	dst = appendPadded(append(appendYear(dst, year), '-'), month, 2)
	return appendPadded(append(dst, '-'), day, 2)
}

func appendClock(dst []byte, minutes int64) []byte {
	dst = appendPadded(dst, minutes/60, 2)
	return appendPadded(append(dst, ':'), minutes%60, 2)
}

func appendYear(dst []byte, y int64) []byte {
	if y < 0 {
		return appendPadded(append(dst, '-'), -y, 3+1)
	}
	return appendPadded(dst, y, 4)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	var b [20]byte
	s := strconv.AppendInt(b[:0], v, 10)
	for range width - len(s) {
		dst = append(dst, '0')
	}
	return append(dst, s...)
}
