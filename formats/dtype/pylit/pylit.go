// Package pylit reads and writes the small part of Python's literals that NumPy
// puts into files: strings, integers, booleans, None, tuples, lists and dicts.
// Nothing is evaluated.
package pylit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind tells what a Value holds.
type Kind uint8

// The kinds of literals.
const (
	None Kind = iota
	Bool
	Int
	String
	Tuple
	List
	Dict
)

// A Value is one literal.
type Value struct {
	Kind Kind
	Str  string  // String
	Int  int64   // Int, which must fit 64 bits; Bool: 0 or 1
	List []Value // Tuple, List: the items; Dict: key, value, key, value …
}

// Get looks a string key up in a Dict; false if v is no Dict or has no such key.
func (v Value) Get(key string) (Value, bool) {
	for i := 0; i+1 < len(v.List) && v.Kind == Dict; i += 2 {
		if k := v.List[i]; k.Kind == String && k.Str == key {
			return v.List[i+1], true
		}
	}
	return Value{}, false
}

const (
	maxDepth  = 64
	maxValues = 1 << 20
)

// The sentinels of this package.
var (
	// ErrSyntax is matched by errors for text that is not a literal.
	ErrSyntax = errors.New("not a Python literal")
	// ErrLimit is matched by errors for text that nests deeper than 64 levels or
	// has more than 1<<20 values.
	ErrLimit = errors.New("literal too large")
)

// Parse reads the one literal that text consists of, with white space around it.
// Errors match ErrSyntax or ErrLimit.
func Parse(text string) (Value, error) {
	p := parser{s: text}
	v, err := p.value(0)
	if err != nil {
		return Value{}, err
	}
	if p.space(); p.i < len(p.s) {
		return Value{}, p.fail("more text after the literal")
	}
	return v, nil
}

type parser struct {
	s string
	i int
	n int // values so far
}

func (p *parser) fail(what string) error {
	return fmt.Errorf("%s at byte %d: %w", what, p.i, ErrSyntax)
}

func (p *parser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n\f", p.s[p.i]) >= 0 {
		p.i++
	}
}

// take consumes c after white space, if it comes next.
func (p *parser) take(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) value(depth int) (Value, error) {
	if p.n++; depth > maxDepth || p.n > maxValues {
		return Value{}, ErrLimit
	}
	p.space()
	if p.i == len(p.s) {
		return Value{}, p.fail("unexpected end")
	}
	switch c := p.s[p.i]; {
	case c == '(':
		p.i++
		return p.tuple(depth)
	case c == '[':
		p.i++
		items, _, err := p.items(']', depth)
		return Value{Kind: List, List: items}, err
	case c == '{':
		p.i++
		return p.dict(depth)
	case c == '-' || c == '+' || c >= '0' && c <= '9':
		return p.integer()
	case c == '\'' || c == '"':
		return p.str()
	default:
		return p.word()
	}
}

// tuple reads the rest of a tuple, or of one value in parentheses, after the opening
// parenthesis.
func (p *parser) tuple(depth int) (Value, error) {
	items, comma, err := p.items(')', depth)
	if err != nil {
		return Value{}, err
	}
	if len(items) == 1 && !comma {
		return items[0], nil
	}
	return Value{Kind: Tuple, List: items}, nil
}

// items reads values up to the closing bracket and tells whether the last one
// had a comma after it.
func (p *parser) items(end byte, depth int) (list []Value, comma bool, err error) {
	for !p.take(end) {
		if len(list) > 0 && !comma {
			return nil, false, p.fail("no comma between two values")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		list = append(list, v)
		comma = p.take(',')
	}
	return list, comma, nil
}

func (p *parser) dict(depth int) (Value, error) {
	d := Value{Kind: Dict}
	comma := true
	for !p.take('}') {
		if !comma {
			return Value{}, p.fail("no comma between two entries")
		}
		k, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		if !p.take(':') {
			return Value{}, p.fail("no colon after a key")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return Value{}, err
		}
		d.List = append(d.List, k, v)
		comma = p.take(',')
	}
	return d, nil
}

// integer reads a decimal integer, with the L that Python 2 put after long ones.
func (p *parser) integer() (Value, error) {
	start := p.i
	if c := p.s[p.i]; c == '-' || c == '+' {
		p.i++
	}
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	n, err := strconv.ParseInt(p.s[start:p.i], 10, 64)
	if err != nil {
		p.i = start
		return Value{}, p.fail("no 64-bit integer")
	}
	if p.i < len(p.s) && p.s[p.i] == 'L' {
		p.i++
	}
	if p.i < len(p.s) && (p.s[p.i] == '.' || isWord(p.s[p.i])) {
		return Value{}, p.fail("no integer")
	}
	return Value{Kind: Int, Int: n}, nil
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func (p *parser) word() (Value, error) {
	start := p.i
	for p.i < len(p.s) && isWord(p.s[p.i]) {
		p.i++
	}
	switch w := p.s[start:p.i]; w {
	case "None":
		return Value{}, nil
	case "True":
		return Value{Kind: Bool, Int: 1}, nil
	case "False":
		return Value{Kind: Bool}, nil
	case "u", "U", "b", "B": // Python 2 and bytes; the bytes of names are ASCII
		if p.i < len(p.s) && (p.s[p.i] == '\'' || p.s[p.i] == '"') {
			return p.str()
		}
	}
	p.i = start
	return Value{}, p.fail("unexpected character")
}

func (p *parser) str() (Value, error) {
	quote := p.s[p.i]
	p.i++
	if strings.HasPrefix(p.s[p.i:], string([]byte{quote, quote})) {
		return Value{}, p.fail("triple quotes")
	}
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == quote:
			p.i++
			return Value{Kind: String, Str: b.String()}, nil
		case c == '\n':
			return Value{}, p.fail("line end in a string")
		case c == '\\':
			if err := p.escape(&b); err != nil {
				return Value{}, err
			}
		case c < utf8.RuneSelf:
			b.WriteByte(c)
			p.i++
		default:
			r, n := utf8.DecodeRuneInString(p.s[p.i:])
			if r == utf8.RuneError && n == 1 {
				return Value{}, p.fail("invalid UTF-8")
			}
			b.WriteRune(r)
			p.i += n
		}
	}
	return Value{}, p.fail("string without end")
}

const (
	escapes = `\'"abfnrtv`
	escaped = "\\'\"\a\b\f\n\r\t\v"
)

func (p *parser) escape(b *strings.Builder) error {
	if p.i+1 >= len(p.s) {
		return p.fail("string without end")
	}
	c := p.s[p.i+1]
	if k := strings.IndexByte(escapes, c); k >= 0 {
		b.WriteByte(escaped[k])
		p.i += 2
		return nil
	}
	digits := 0
	switch c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return p.octal(b)
	default:
		return p.fail("unknown escape")
	}
	if p.i+2+digits > len(p.s) {
		return p.fail("short escape")
	}
	r, err := strconv.ParseUint(p.s[p.i+2:p.i+2+digits], 16, 32)
	if err != nil || r > unicode.MaxRune || !utf8.ValidRune(rune(r)) {
		return p.fail("escape for no character")
	}
	b.WriteRune(rune(r))
	p.i += 2 + digits
	return nil
}

func (p *parser) octal(b *strings.Builder) error {
	p.i++
	r := rune(0)
	for range 3 {
		if p.i == len(p.s) || p.s[p.i] < '0' || p.s[p.i] > '7' {
			break
		}
		r = r*8 + rune(p.s[p.i]-'0')
		p.i++
	}
	b.WriteRune(r)
	return nil
}

// AppendString appends s as Python's repr spells it: in single quotes unless
// only those occur in s, with characters that are not printable escaped.
func AppendString(dst []byte, s string) []byte {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	dst = append(dst, quote)
	for _, r := range s {
		switch {
		case r == rune(quote):
			dst = append(dst, '\\', quote)
		case r == '\\':
			dst = append(dst, `\\`...)
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case unicode.IsPrint(r):
			dst = utf8.AppendRune(dst, r)
		case r < 0x100:
			dst = fmt.Appendf(dst, `\x%02x`, r)
		case r < 0x10000:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = fmt.Appendf(dst, `\U%08x`, r)
		}
	}
	return append(dst, quote)
}

// AppendInts appends a tuple of integers: "()", "(3,)", "(3, 4)".
func AppendInts[T int | int64](dst []byte, list []T) []byte {
	dst = append(dst, '(')
	for i, n := range list {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	if len(list) == 1 {
		dst = append(dst, ',')
	}
	return append(dst, ')')
}
