package fields

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"github.com/farread/farread/formats/predicate"
)

// maxDepth is how deep objects and lists may lie in each other, as in encoding/json.
const maxDepth = 10000

// A Scanner finds the same fields of many texts. It must not be used concurrently.
type Scanner struct {
	root  node
	found []predicate.Value
	p     []byte
	i     int
	// The last text had a backslash.
	escaped bool
}

// NewScanner makes a Scanner.
func NewScanner() *Scanner { return &Scanner{root: node{slot: -1}} }

// Slot returns the number of a field among the values that Scan finds.
func (s *Scanner) Slot(path []string) int {
	n := s.root.make(path)
	if n.slot < 0 {
		n.slot = len(s.found)
		s.found = append(s.found, predicate.Value{})
	}
	return n.slot
}

// Fields returns how many fields are looked for.
func (s *Scanner) Fields() int { return len(s.found) }

// Scan finds the fields of a text. A field that is not there is null; of equal names in an
// object the last one counts. It is false if the text is no JSON. The values are valid
// until p changes, or Scan is called again.
func (s *Scanner) Scan(p []byte) (values []predicate.Value, ok bool) {
	clear(s.found)
	s.p, s.i = p, 0
	s.space()
	if !s.value(&s.root, 0) {
		return s.found, false
	}
	s.space()
	return s.found, s.i == len(p)
}

// space skips white space.
func (s *Scanner) space() {
	for s.i < len(s.p) {
		switch s.p[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// next reports whether c follows, and skips it if so.
func (s *Scanner) next(c byte) bool {
	if s.i < len(s.p) && s.p[s.i] == c {
		s.i++
		return true
	}
	return false
}

// value reads a value. n is nil if nothing of it is looked for.
func (s *Scanner) value(n *node, depth int) bool {
	if s.i == len(s.p) {
		return false
	}
	var v predicate.Value
	ok := false
	from := s.i
	switch c := s.p[s.i]; {
	case c == '"':
		if ok = s.text(); ok && n != nil && n.slot >= 0 {
			v.Kind = predicate.Text
			v.Text = plain(s.p[from:s.i])
		}
	case c == '{':
		v.Kind, ok = predicate.Object, s.object(n, depth+1)
	case c == '[':
		v.Kind, ok = predicate.List, s.list(depth+1)
	case c == '-' || c >= '0' && c <= '9':
		if whole, good := s.number(); good {
			if ok = true; n != nil && n.slot >= 0 {
				v = number(s.p[from:s.i], whole)
			}
		}
	default:
		v, ok = s.word()
	}
	if n != nil && n.slot >= 0 {
		s.found[n.slot] = v
	}
	return ok
}

// object reads an object.
func (s *Scanner) object(n *node, depth int) bool {
	if s.i++; depth > maxDepth {
		return false
	}
	s.space()
	if s.next('}') {
		return true
	}
	for {
		from := s.i
		if s.i == len(s.p) || s.p[s.i] != '"' || !s.text() {
			return false
		}
		k := n.find(s.p[from:s.i], s.escaped)
		s.space()
		if !s.next(':') {
			return false
		}
		s.space()
		if k != nil {
			s.forget(k)
		}
		if !s.value(k, depth) {
			return false
		}
		s.space()
		if s.next('}') {
			return true
		}
		if !s.next(',') {
			return false
		}
		s.space()
	}
}

// find returns the node of a name in quotes, nil if there is none. Without a backslash its
// bytes are the name, unless some are not UTF-8, each of which is read as U+FFFD.
func (n *node) find(quoted []byte, escaped bool) *node {
	if n == nil || len(n.names) == 0 {
		return nil
	}
	raw := quoted[1 : len(quoted)-1]
	for i, name := range n.names {
		if string(raw) == name {
			return n.kids[i]
		}
	}
	if !escaped && !n.odd {
		return nil
	}
	name := plain(quoted)
	for i, has := range n.names {
		if string(name) == has {
			return n.kids[i]
		}
	}
	return nil
}

// forget forgets what an earlier member of the same name had.
func (s *Scanner) forget(n *node) {
	if n.slot >= 0 {
		s.found[n.slot] = predicate.Value{}
	}
	for _, k := range n.kids {
		s.forget(k)
	}
}

// list reads a list, of which no field is.
func (s *Scanner) list(depth int) bool {
	if s.i++; depth > maxDepth {
		return false
	}
	s.space()
	if s.next(']') {
		return true
	}
	for {
		if !s.value(nil, depth) {
			return false
		}
		s.space()
		if s.next(']') {
			return true
		}
		if !s.next(',') {
			return false
		}
		s.space()
	}
}

// text skips a text with its quotes.
func (s *Scanner) text() bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	p, i := s.p, s.i+1
	s.escaped = false
	for {
		// The lowest byte that is a quote, a backslash, or below the blank.
		for i+8 <= len(p) {
			x := binary.LittleEndian.Uint64(p[i:])
			q, b := x^(ones*'"'), x^(ones*'\\')
			if m := ((x-ones*' ')&^x | (q-ones)&^q | (b-ones)&^b) & tops; m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(p) {
			return false
		}
		switch c := p[i]; {
		case c == '"':
			s.i = i + 1
			return true
		case c == '\\':
			n := escape(p[i+1:])
			if n == 0 {
				return false
			}
			i += 1 + n
			s.escaped = true
		case c < ' ':
			return false
		default:
			i++
		}
	}
}

// escape returns the length of what follows a backslash, 0 if it is wrong.
func escape(p []byte) int {
	if len(p) == 0 {
		return 0
	}
	switch p[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(p) < 5 {
			return 0
		}
		for _, c := range p[1:5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 5
	}
	return 0
}

// plain returns the text that stands in quotes.
func plain(quoted []byte) []byte {
	raw := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return raw
	}
	var out string
	if json.Unmarshal(quoted, &out) != nil {
		return raw // it was checked
	}
	return []byte(out)
}

// digits skips digits, and returns how many.
func (s *Scanner) digits() int {
	from := s.i
	for s.i < len(s.p) && s.p[s.i] >= '0' && s.p[s.i] <= '9' {
		s.i++
	}
	return s.i - from
}

// number skips a number, or -Infinity. whole tells that it has digits only.
func (s *Scanner) number() (whole, ok bool) {
	if s.next('-') && s.i < len(s.p) && s.p[s.i] == 'I' {
		_, ok = s.word()
		return false, ok
	}
	if !s.next('0') && s.digits() == 0 {
		return false, false
	}
	whole = true
	if s.next('.') {
		if whole = false; s.digits() == 0 {
			return false, false
		}
	}
	if s.next('e') || s.next('E') {
		whole = false
		if !s.next('+') {
			s.next('-')
		}
		if s.digits() == 0 {
			return false, false
		}
	}
	return whole, true
}

// number returns the value of a number.
func number(p []byte, whole bool) predicate.Value {
	if whole {
		if v, ok := integer(p); ok {
			return predicate.Value{Kind: predicate.Whole, Whole: v}
		}
	}
	f, err := strconv.ParseFloat(string(p), 64)
	if err != nil && !math.IsInf(f, 0) { // beyond float64 it is infinite, as in Python
		f = math.NaN()
	}
	return predicate.Value{Kind: predicate.Float, Float: f}
}

// integer returns a number of digits that int64 holds.
func integer(p []byte) (int64, bool) {
	const sure = 18 // digits
	digits := p
	if p[0] == '-' {
		digits = p[1:]
	}
	if len(digits) > sure {
		v, err := strconv.ParseInt(string(p), 10, 64)
		return v, err == nil
	}
	v := int64(0)
	for _, c := range digits {
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(p) {
		v = -v
	}
	return v, true
}

// word reads true, false, null, NaN or Infinity.
func (s *Scanner) word() (predicate.Value, bool) {
	var word string
	var v predicate.Value
	switch s.p[s.i] {
	case 't':
		word, v = "true", predicate.Value{Kind: predicate.Bool, Whole: 1}
	case 'f':
		word, v = "false", predicate.Value{Kind: predicate.Bool}
	case 'n':
		word = "null"
	case 'N':
		word, v = "NaN", predicate.Value{Kind: predicate.Float, Float: math.NaN()}
	case 'I':
		word, v = "Infinity", predicate.Value{Kind: predicate.Float, Float: math.Inf(1)}
	default:
		return v, false
	}
	if len(s.p)-s.i < len(word) || string(s.p[s.i:s.i+len(word)]) != word {
		return v, false
	}
	s.i += len(word)
	return v, true
}
