// Package human words things for people: counts, sizes and shapes, tables, and text of
// others in a form that is safe on a terminal. The command, its packages and the gateway
// take the words from here, so that all of them speak alike.
package human

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Size is a number of bytes with a unit.
func Size(n int64) string {
	if n < 0 {
		return strconv.FormatInt(n, 10)
	}
	return humanize.IBytes(uint64(n))
}

// Count is a number with commas.
func Count(n int64) string { return humanize.Comma(n) }

// Plural is "1 frame", "2,000 frames".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "is"); ok { // axis
		return Count(n) + " " + stem + "es"
	}
	return Count(n) + " " + noun + "s"
}

// Printable is text from a file or a key in a form that is safe on a terminal: quoted
// if it has characters that do more than show themselves.
func Printable(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// Lines is text of several lines in a form that is safe on a terminal. Names of others
// are part of it, and not all of them are quoted.
func Lines(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' {
			b.WriteByte('\n')
			continue
		}
		Spell(&b, r)
	}
	return b.String()
}

// Spell writes a character, or its number if it does more than show itself.
func Spell(b *strings.Builder, r rune) {
	if unicode.IsPrint(r) {
		b.WriteRune(r)
		return
	}
	fmt.Fprintf(b, "\\u%04x", r)
}

// Shape is a shape as Python writes it.
func Shape[T int | int64](shape []T) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, n := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}

// Shorten cuts text so that it has no more than most characters.
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
