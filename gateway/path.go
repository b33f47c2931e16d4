package gateway

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxKey   = 1024 // bytes of a key, as in S3
	maxQuery = 8 << 10
)

// A target is what a path names.
type target struct {
	verb    string
	options []string // words behind ~, except the version
	root    string
	key     string // key below the root
	bare    bool   // no slash follows the root: it is asked as a dataset
	version string // version that the answer must be of: the option v-VERSION
}

// parsePath takes a path apart as it was sent: /VERB[~OPTION…]/ROOT/KEY. %2F is a
// slash. Segments that a file system would follow, and characters that no key has, are
// refused.
func parsePath(escaped string) (t target, err error) {
	head, rest, _ := strings.Cut(strings.TrimPrefix(escaped, "/"), "/")
	if head, err = url.PathUnescape(head); err != nil {
		return t, badf("path", "the path is not well escaped")
	}
	var options string
	var more bool
	for t.verb, options, more = strings.Cut(head, "~"); more; {
		var o string
		o, options, more = strings.Cut(options, "~")
		v, ok := strings.CutPrefix(o, "v-")
		switch {
		case !ok:
			t.options = append(t.options, o)
		case v == "" || t.version != "":
			return t, badf("option", "option ~%s: want ~v-VERSION, once", clip(o))
		default:
			t.version = v
		}
	}
	if len(rest) > 3*(maxKey+maxKey) {
		return t, beyondf("a path of %d bytes: a key has %d at most", len(rest), maxKey)
	}
	if rest, err = url.PathUnescape(rest); err != nil {
		return t, badf("path", "the path is not well escaped")
	}
	t.root, t.key, t.bare = strings.Cut(rest, "/")
	t.bare = !t.bare
	if len(t.key) > maxKey {
		return t, tooLarge("a key", int64(len(t.key)), maxKey)
	}
	return t, nil
}

// checkSegments refuses keys that a file system, or a store, would read in another way
// than as names. Keys of files are held to more: empty segments and backslashes.
func checkSegments(key string, files bool) error {
	if !utf8.ValidString(key) {
		return badf("path", "the key is not UTF-8")
	}
	for _, r := range key {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return badf("path", "a key with a control character")
		}
	}
	if files && strings.Contains(key, `\`) {
		return badf("path", "a key with a backslash")
	}
	for more := true; more; {
		var seg string
		seg, key, more = strings.Cut(key, "/")
		if seg == "." || seg == ".." || files && seg == "" && more {
			return badf("path", "a key with the segment %q", seg)
		}
	}
	return nil
}

// parseQuery reads the parameters of a query. Each stands there once, and the verb knows
// it: a word that is misspelt would else be an answer to another question.
func parseQuery(raw string, known []string) (url.Values, error) {
	if len(raw) > maxQuery {
		return nil, tooLarge("a query", int64(len(raw)), maxQuery)
	}
	if raw == "" {
		return nil, nil
	}
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badf("query", "the query is not well formed")
	}
	for name, values := range q {
		switch {
		case !slices.Contains(known, name) && !slices.Contains(signing, name):
			return nil, badf("query", "parameter %q: want %s", clip(name), strings.Join(known, ", "))
		case len(values) > 1:
			return nil, badf("query", "parameter %q stands there %d times", clip(name), len(values))
		case !utf8.ValidString(values[0]):
			return nil, badf("query", "parameter %q is not UTF-8", clip(name))
		}
	}
	return q, nil
}

// clip shortens words of a client that are told back.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
