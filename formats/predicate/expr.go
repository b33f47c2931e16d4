package predicate

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Limits of a text.
const (
	maxText  = 4096 // bytes
	maxDepth = 64   // parentheses and nots within each other
)

// ErrSyntax is matched by errors for text that is not a comparison.
var ErrSyntax = errors.New("syntax error")

// An Error says what is wrong in a text, and where.
type Error struct {
	At   int    // number of the character, from 1
	Near string // what begins there, cut short; "" at the end
	Err  error
}

// Error is one line.
func (e *Error) Error() string {
	if e.Near == "" {
		return fmt.Sprintf("where: at the end: %s", e.Err)
	}
	return fmt.Sprintf("where: character %d, at %q: %s", e.At, e.Near, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// fail returns an Error about the text at a byte offset.
func fail(text string, off int, cause error, format string, args ...any) error {
	const most = 24
	near := text[off:]
	if len(near) > most {
		end := most
		for end > 0 && !utf8.RuneStart(near[end]) {
			end--
		}
		near = near[:end] + "…"
	}
	return &Error{At: utf8.RuneCountInString(text[:off]) + 1, Near: near, Err: fmt.Errorf(format+": %w", append(args, cause)...)}
}

// An op compares.
type op byte

const (
	less op = iota
	lessEqual
	greater
	greaterEqual
	equal
	notEqual
)

// mirrored is the op for the operands in the other order.
func (o op) mirrored() op {
	return [...]op{greater, greaterEqual, less, lessEqual, equal, notEqual}[o]
}

// A kind of node.
type kind byte

const (
	compare kind = iota
	and
	or
	not
)

// A node is a part of an expression.
type node struct {
	kind kind
	kids []*node // and, or: at least two; not: one

	// Of a comparison: path op lit.
	path []string
	op   op
	lit  literal
	at   int // offset of the path in the text
}

// An Expr is a parsed text. It is immutable and safe for concurrent use.
type Expr struct {
	text string
	root *node
}

// String returns the text.
func (e *Expr) String() string { return e.text }
