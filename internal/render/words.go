package render

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/formats/dtype"
)

// wordsOf are items as NumPy prints them side by side.
func wordsOf(d dtype.DType, items []byte) []string {
	list := slices.Collect(slices.Chunk(items, d.ItemSize()))
	words := make([]string, len(list))
	if d.Opaque() && d.Kind() != dtype.Raw { // long doubles: bytes that mean something elsewhere
		for i, p := range list {
			words[i] = string(d.AppendCSV(nil, p))
		}
		return words
	}
	switch d.Kind() {
	case dtype.Float:
		v := make([]float64, len(list))
		for i, p := range list {
			v[i], _ = d.Float(p)
		}
		return floats(v, d.ItemSize(), false)
	case dtype.Complex:
		return complexes(d, list)
	case dtype.Bytes:
		for i, p := range list {
			words[i] = "b" + quotedBytes(bytes.TrimRight(p, "\x00"), false)
		}
	case dtype.Raw:
		for i, p := range list {
			words[i] = "b" + quotedBytes(p, true)
		}
	case dtype.Text:
		for i, p := range list {
			s, _ := d.Text(p)
			words[i] = quotedText(s)
		}
	case dtype.Bool:
		for i, p := range list {
			if words[i] = "False"; p[0] != 0 {
				words[i] = " True"
			}
		}
	case dtype.DateTime:
		for i, p := range list {
			words[i] = "'" + string(d.AppendCSV(nil, p)) + "'"
		}
		return flushRight(words)
	case dtype.Duration:
		for i, p := range list {
			if words[i] = string(d.AppendCSV(nil, p)); words[i] == "NaT" {
				words[i] = "'NaT'"
			}
		}
		return flushRight(words)
	default: // integers
		for i, p := range list {
			words[i] = string(d.AppendCSV(nil, p))
		}
		return flushRight(words)
	}
	return words
}

// flushRight gives all words the width of the widest.
func flushRight(words []string) []string {
	wide := 0
	for _, w := range words {
		wide = max(wide, utf8.RuneCountInString(w))
	}
	for i, w := range words {
		words[i] = strings.Repeat(" ", wide-utf8.RuneCountInString(w)) + w
	}
	return words
}

// complexes are the parts of complex numbers, each aligned by itself.
func complexes(d dtype.DType, list [][]byte) []string {
	size := d.ItemSize() / 2
	order := "<"
	if d.BigEndian() {
		order = ">"
	}
	part, err := dtype.Parse(fmt.Sprintf("%sf%d", order, size))
	if err != nil {
		return nil
	}
	re, im := make([]float64, len(list)), make([]float64, len(list))
	for i, p := range list {
		re[i], _ = part.Float(p[:size])
		im[i], _ = part.Float(p[size:])
	}
	words := floats(re, size, false)
	for i, w := range floats(im, size, true) {
		number := strings.TrimRight(w, " ")
		words[i] += number + "j" + w[len(number):]
	}
	return words
}

// precision is how many digits behind the point are printed at most.
const precision = 8

// floats are numbers of so many bytes with their points one below the other. All have an
// exponent if one is very large or small, or if they differ much. plus puts a sign before
// each.
func floats(v []float64, size int, plus bool) []string {
	var finite []float64
	for _, x := range v {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			finite = append(finite, x)
		}
	}
	f := floatFormat{size: size, plus: plus, exp: wantsExponent(finite, size)}
	f.fit(finite)
	if len(finite) < len(v) {
		low := 0
		if plus || slices.Contains(v, math.Inf(-1)) {
			low = 1
		}
		f.left = max(f.left, 3+low-f.right-1)
		if f.left < 2-f.right {
			f.left = 2 - f.right
		}
	}
	words := make([]string, len(v))
	for i, x := range v {
		words[i] = f.word(x)
	}
	return words
}

// wantsExponent reports whether finite numbers are printed with exponents.
func wantsExponent(finite []float64, size int) bool {
	low, high := math.Inf(1), 0.0
	for _, x := range finite {
		if a := math.Abs(x); a != 0 {
			low, high = min(low, a), max(high, a)
		}
	}
	if high == 0 {
		return false
	}
	// Comparisons are of the type of the numbers.
	most := map[int]float64{2: 1e3, 4: 1e6, 8: 1e8}[size]
	return high >= most || low < narrow(1e-4, size) || narrow(high/low, size) > 1000
}

// narrow rounds to a float of so many bytes.
func narrow(x float64, size int) float64 {
	switch size {
	case 2:
		return float64(dtype.HalfToFloat(dtype.FloatToHalf(float32(x))))
	case 4:
		return float64(float32(x))
	}
	return x
}

// A floatFormat tells how floats are aligned.
type floatFormat struct {
	size        int
	plus, exp   bool
	left, right int // room before and behind the point
	digits      int // with exponents: behind the point
	power       int // digits of exponents
}

// parts are a number before and behind its point, and its exponent.
func (f *floatFormat) parts(x float64) (whole, frac, power string) {
	text := shortest(x, f.size, f.exp)
	mantissa, power, _ := strings.Cut(text, "e")
	whole, frac, _ = strings.Cut(mantissa, ".")
	if len(frac) > precision {
		form := byte('f')
		if f.exp {
			form = 'e'
		}
		mantissa, power, _ = strings.Cut(strconv.FormatFloat(x, form, precision, 64), "e")
		whole, frac, _ = strings.Cut(mantissa, ".")
	}
	if f.plus && !math.Signbit(x) {
		whole = "+" + whole
	}
	return whole, strings.TrimRight(frac, "0"), power
}

// fit finds the room that numbers need.
func (f *floatFormat) fit(finite []float64) {
	for _, x := range finite {
		whole, frac, power := f.parts(x)
		f.left, f.right, f.power = max(f.left, len(whole)), max(f.right, len(frac)), max(f.power, len(power)-1)
	}
	if f.exp {
		f.digits = f.right
		f.right += f.power + 2
	}
}

func (f *floatFormat) word(x float64) string {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		text := "nan"
		if math.IsInf(x, 0) {
			text = "inf"
		}
		switch {
		case math.IsInf(x, -1):
			text = "-" + text
		case f.plus:
			text = "+" + text
		}
		return strings.Repeat(" ", max(f.left+f.right+1-len(text), 0)) + text
	}
	whole, frac, power := f.parts(x)
	if f.exp && len(frac) < f.digits { // the exact ones, as many as the longest number has
		mantissa, e, _ := strings.Cut(strconv.FormatFloat(x, 'e', f.digits, 64), "e")
		whole, frac, _ = strings.Cut(mantissa, ".")
		if power = e; f.plus && !math.Signbit(x) {
			whole = "+" + whole
		}
	}
	whole = strings.Repeat(" ", max(f.left-len(whole), 0)) + whole
	if f.exp {
		return whole + "." + frac + "e" + power[:1] + strings.Repeat("0", f.power-len(power)+1) + power[1:]
	}
	return whole + "." + frac + strings.Repeat(" ", f.right-len(frac))
}

// shortest is the shortest decimal that reads back as the same float of so many bytes.
func shortest(x float64, size int, exp bool) string {
	form := byte('f')
	if exp {
		form = 'e'
	}
	if size == 2 {
		return strconv.FormatFloat(halfText(x), form, -1, 64)
	}
	return strconv.FormatFloat(x, form, -1, 8*size)
}

// halfText is the number of fewest digits that lies nearer to a float16 than to all others. Halfway it belongs to the even one.
func halfText(x float64) float64 {
	bits := dtype.FloatToHalf(float32(math.Abs(x)))
	if bits == 0 {
		return x
	}
	a := math.Abs(x)
	below := (a - float64(dtype.HalfToFloat(bits-1))) / 2
	above := below
	if bits&0x3ff == 0 && bits > 0x400 { // the next one is twice as far
		above *= 2
	}
	for digits := range 6 {
		near, err := strconv.ParseFloat(strconv.FormatFloat(a, 'e', digits, 64), 64)
		if err != nil {
			break
		}
		step := math.Pow10(int(math.Floor(math.Log10(a))) - digits)
		for _, y := range [...]float64{near, near + step} {
			if y, err := strconv.ParseFloat(strconv.FormatFloat(y, 'e', digits, 64), 64); err == nil && (y-a < above && a-y < below || bits&1 == 0 && (y-a == above || a-y == below)) {
				return math.Copysign(y, x)
			}
		}
	}
	return x
}

// quotedBytes are bytes as Python shows them.
func quotedBytes(p []byte, all bool) string {
	quote := quoteFor(string(p))
	var b strings.Builder
	if all {
		quote = '\''
	}
	b.WriteByte(quote)
	for _, c := range p {
		switch {
		case all:
			fmt.Fprintf(&b, `\x%02X`, c)
		case c == quote || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n' || c == '\t' || c == '\r' || c < ' ' || c > '~':
			b.WriteString(escaped(rune(c)))
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// quotedText is text as Python shows it.
func quotedText(s string) string {
	quote := quoteFor(s)
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case !unicode.IsPrint(r):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(quote)
	return b.String()
}

// quoteFor is the mark around text: the double one if the text has only single ones.
func quoteFor(s string) byte {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return '"'
	}
	return '\''
}

// escaped is a character that cannot be shown.
func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
