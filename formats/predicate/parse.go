package predicate

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// Parse reads a text, of at most 4096 bytes and 64 levels of parentheses and nots. The
// error is an *Error.
func Parse(text string) (*Expr, error) { return parse(text, false) }

func parse(text string, values bool) (*Expr, error) {
	if len(text) > maxText {
		return nil, fail(text, maxText, formats.ErrTooLarge, "text of %d bytes, at most %d", len(text), maxText)
	}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd") {
			return nil, fail(text, i, ErrSyntax, "bytes that are not UTF-8")
		}
	}
	p := parser{text: text, values: values}
	if err := p.next(); err != nil {
		return nil, err
	}
	root, err := p.either(0)
	if err != nil {
		return nil, err
	}
	if p.tok != tokEnd {
		return nil, p.fail("want and, or, or the end")
	}
	return &Expr{text: text, root: root}, nil
}

// A token of the text.
type token byte

const (
	tokEnd     token = iota
	tokWord          // a word of the language, or a name without quotes and dots
	tokName          // a name that was quoted
	tokDot           // before and between names
	tokOp            // <, <=, …
	tokOpen          // (
	tokClose         // )
	tokLiteral       // a number or a time
)

// A parser has the token that begins at off, and what it means.
type parser struct {
	text     string
	values   bool // of any type: what stands in single quotes is text
	off, end int  // of the token
	tok      token
	word     string // tokWord, tokName
	op       op
	lit      literal
}

func (p *parser) fail(format string, args ...any) error {
	return fail(p.text, p.off, ErrSyntax, format, args...)
}

// either reads terms with or between them.
func (p *parser) either(depth int) (*node, error) { return p.join(depth, or, "or", p.both) }

// both reads terms with and between them.
func (p *parser) both(depth int) (*node, error) { return p.join(depth, and, "and", p.term) }

func (p *parser) join(depth int, k kind, word string, part func(depth int) (*node, error)) (*node, error) {
	n, err := part(depth)
	if err != nil || p.tok != tokWord || p.word != word {
		return n, err
	}
	all := &node{kind: k, kids: []*node{n}}
	for p.tok == tokWord && p.word == word {
		if err := p.next(); err != nil {
			return nil, err
		}
		if n, err = part(depth); err != nil {
			return nil, err
		}
		all.kids = append(all.kids, n)
	}
	return all, nil
}

// term reads a comparison, or not and a term, or what stands in parentheses.
func (p *parser) term(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fail(p.text, p.off, formats.ErrTooLarge, "more than %d levels", maxDepth)
	}
	switch {
	case p.tok == tokWord && p.word == "not":
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.term(depth + 1)
		if err != nil {
			return nil, err
		}
		return &node{kind: not, kids: []*node{n}}, nil
	case p.tok == tokOpen:
		if err := p.next(); err != nil {
			return nil, err
		}
		n, err := p.either(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.tok != tokClose {
			return nil, p.fail("want and, or, or )")
		}
		return n, p.next()
	}
	return p.chain()
}

// An operand is a name or a literal.
type operand struct {
	at   int
	path []string // nil for a literal
	lit  literal
}

// chain reads operands with an op between each two, and makes a comparison of each two.
func (p *parser) chain() (*node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.tok != tokOp {
		return nil, p.fail("want one of < <= > >= == !=")
	}
	var list []*node
	for p.tok == tokOp {
		n := &node{op: p.op}
		if err := p.next(); err != nil {
			return nil, err
		}
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		switch {
		case left.path != nil && right.path == nil:
			n.path, n.at, n.lit = left.path, left.at, right.lit
		case left.path == nil && right.path != nil:
			n.path, n.at, n.lit, n.op = right.path, right.at, left.lit, n.op.mirrored()
		case left.path != nil:
			return nil, fail(p.text, right.at, ErrSyntax, "two names are compared; want a number, a time or a bool")
		default:
			return nil, fail(p.text, right.at, ErrSyntax, "two literals are compared; want a name")
		}
		list, left = append(list, n), right
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return &node{kind: and, kids: list}, nil
}

func (p *parser) operand() (operand, error) {
	o := operand{at: p.off}
	switch p.tok {
	case tokLiteral:
		o.lit = p.lit
		return o, p.next()
	case tokWord:
		var ok bool
		if o.lit, ok = wordLiteral(p.word); ok {
			return o, p.next()
		}
		if p.values && p.word == "null" {
			o.lit = literal{kind: nothing}
			return o, p.next()
		}
		if p.word == "and" || p.word == "or" || p.word == "not" {
			return o, p.fail("want a name or a literal; a member of that name is .%s", p.word)
		}
	case tokName:
	case tokDot:
		if err := p.next(); err != nil {
			return o, err
		}
	default:
		return o, p.fail("want a name, a number, true, false, or a time in single quotes")
	}
	for {
		if p.tok != tokWord && p.tok != tokName {
			return o, p.fail("want a name after the dot")
		}
		o.path = append(o.path, p.word)
		if err := p.next(); err != nil {
			return o, err
		}
		if p.tok != tokDot {
			return o, nil
		}
		if err := p.next(); err != nil {
			return o, err
		}
	}
}

// next reads the token after the one that p has.
func (p *parser) next() error {
	t := p.text
	p.off = p.end
	for p.off < len(t) && strings.IndexByte(" \t\r\n", t[p.off]) >= 0 {
		p.off++
	}
	p.end = p.off
	if p.off == len(t) {
		p.tok = tokEnd
		return nil
	}
	rest := t[p.off:]
	switch c := rest[0]; {
	case c == '(':
		p.tok, p.end = tokOpen, p.off+1
	case c == ')':
		p.tok, p.end = tokClose, p.off+1
	case strings.IndexByte("<>=!&|", c) >= 0:
		return p.nextOp(rest)
	case c == '\'':
		return p.nextTime(rest)
	case c == '"':
		q, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return p.fail("a name whose double quotes do not end, or with a wrong escape")
		}
		p.word, _ = strconv.Unquote(q)
		p.tok, p.end = tokName, p.off+len(q)
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		return p.nextNumber(rest)
	case c == '.':
		p.tok, p.end = tokDot, p.off+1
	default:
		n := wordLen(rest)
		if n == 0 {
			return p.fail("want a comparison here")
		}
		p.tok, p.word, p.end = tokWord, rest[:n], p.off+n
	}
	return nil
}

// wordLen is how many bytes of letters, digits and underscores s begins with.
func wordLen(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			return i
		}
	}
	return len(s)
}

func (p *parser) nextOp(rest string) error {
	for i, text := range [...]string{"<=", ">=", "==", "!=", "<", ">"} {
		if strings.HasPrefix(rest, text) {
			p.tok, p.end = tokOp, p.off+len(text)
			p.op = [...]op{lessEqual, greaterEqual, equal, notEqual, less, greater}[i]
			return nil
		}
	}
	switch rest[0] {
	case '=':
		return p.fail("equal is ==")
	case '&':
		return p.fail("write and")
	case '|':
		return p.fail("write or")
	default:
		return p.fail("write not, or != for unequal")
	}
}

// nextNumber reads a number, which may have a sign.
func (p *parser) nextNumber(rest string) error {
	n := 0
	if rest[0] == '+' || rest[0] == '-' {
		n = 1
	}
	if w := wordLen(rest[n:]); w > 0 && rest[n:n+w] == "inf" || rest[n:n+w] == "nan" {
		p.lit, _ = wordLiteral(rest[n : n+w])
		if rest[0] == '-' && p.lit.num != nil {
			p.lit.num.Neg(p.lit.num)
		}
		p.tok, p.end = tokLiteral, p.off+n+w
		return nil
	}
	whole := true
	for ; n < len(rest); n++ {
		switch c := rest[n]; {
		case c >= '0' && c <= '9':
			continue
		case c == '.', c == 'e', c == 'E', (c == '+' || c == '-') && (rest[n-1] == 'e' || rest[n-1] == 'E'):
			whole = false
			continue
		}
		break
	}
	lit, err := number(rest[:n], whole)
	if err == nil && wordLen(rest[n:]) > 0 {
		err = errNumber
	}
	if err != nil {
		return p.fail("%s", err)
	}
	p.lit, p.tok, p.end = lit, tokLiteral, p.off+n
	return nil
}

var (
	errNumber = errors.New("no number")
	errWhole  = errors.New("whole numbers have 64 bits; write it with a point")
	errRange  = errors.New("the number is beyond float64")
)

// number reads a literal that has no words.
func number(s string, whole bool) (literal, error) {
	if !whole {
		f, err := strconv.ParseFloat(s, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return literal{}, errRange
		case err != nil:
			return literal{}, errNumber
		}
		return literal{kind: decimal, num: big.NewFloat(f)}, nil
	}
	x := new(big.Float).SetPrec(64) // enough for each of them
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return literal{kind: wholeNumber, num: x.SetInt64(i)}, nil
	}
	switch u, err := strconv.ParseUint(strings.TrimPrefix(s, "+"), 10, 64); {
	case err == nil:
		return literal{kind: wholeNumber, num: x.SetUint64(u)}, nil
	case errors.Is(err, strconv.ErrRange) || len(s) > 1 && s[0] == '-':
		return literal{}, errWhole
	default:
		return literal{}, errNumber
	}
}

func (p *parser) nextTime(rest string) error {
	if p.values {
		return p.nextText(rest)
	}
	n := strings.IndexByte(rest[1:], '\'')
	if n < 0 {
		return p.fail("a time whose quote does not end")
	}
	lit, err := parseTime(rest[1 : n+1])
	if err != nil {
		return p.fail("%s", err)
	}
	p.lit, p.tok, p.end = lit, tokLiteral, p.off+n+2
	return nil
}

// nextText reads a text, in which two quotes are one.
func (p *parser) nextText(rest string) error {
	for n := 1; n < len(rest); n++ {
		switch {
		case rest[n] != '\'':
		case n+1 < len(rest) && rest[n+1] == '\'':
			n++
		default:
			p.lit = literal{kind: text, text: strings.ReplaceAll(rest[1:n], "''", "'")}
			p.tok, p.end = tokLiteral, p.off+n+1
			return nil
		}
	}
	return p.fail("a text whose quote does not end")
}
