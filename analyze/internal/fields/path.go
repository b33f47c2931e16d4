// Package fields finds some fields of a text of JSON, and checks all of it: what is no JSON
// for encoding/json is none here, but for the words NaN, Infinity and -Infinity, which
// Python writes as numbers.
package fields

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxNames bounds the names of a path.
const maxNames = 64

// Parse reads a path such as .a.b, of names with dots between them. The dot before the
// first one may be left out. A name that has a dot or a quote stands in double quotes, as
// a Go string.
func Parse(text string) ([]string, error) {
	rest := strings.TrimPrefix(text, ".")
	var out []string
	for {
		var name string
		if strings.HasPrefix(rest, `"`) {
			q, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("%q: a name whose double quotes do not end, or with a wrong escape", text)
			}
			name, _ = strconv.Unquote(q)
			rest = rest[len(q):]
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			if name, rest = rest[:end], rest[end:]; name == "" || strings.Contains(name, `"`) {
				return nil, fmt.Errorf("%q: want names with dots between them, such as .a.b", text)
			}
		}
		if out = append(out, name); len(out) > maxNames {
			return nil, fmt.Errorf("%q: more than %d names", text, maxNames)
		}
		if rest == "" {
			return out, nil
		}
		if rest[0] != '.' {
			return nil, fmt.Errorf("%q: want a dot behind a name in quotes", text)
		}
		rest = rest[1:]
	}
}

// Spelt returns the text of a path, which Parse reads.
func Spelt(path []string) string {
	var out strings.Builder
	for _, name := range path {
		out.WriteByte('.')
		if name == "" || strings.ContainsAny(name, ".\"") {
			name = strconv.Quote(name)
		}
		out.WriteString(name)
	}
	return out.String()
}

// A node is a name on the way to a field.
type node struct {
	names []string
	kids  []*node
	slot  int  // of the field that ends here; -1: none does
	odd   bool // a name has U+FFFD
}

// make returns the node of a path, and makes those on the way.
func (n *node) make(path []string) *node {
	for _, name := range path {
		n = n.kid(name)
	}
	return n
}

func (n *node) kid(name string) *node {
	for i, has := range n.names {
		if has == name {
			return n.kids[i]
		}
	}
	k := &node{slot: -1}
	n.names, n.kids = append(n.names, name), append(n.kids, k)
	n.odd = n.odd || strings.ContainsRune(name, utf8.RuneError)
	return k
}
