package pages

import "strings"

// Calls takes a line of shell apart into the words of each program that it calls:
// quotes, comments, pipes, lists, redirections and what a program is given as a
// file by <(…). That is what pages use; there is no more to it.
func Calls(line string) [][]string {
	var out [][]string
	var words []string
	var word strings.Builder
	in, skip := false, false // in: inside a word; skip: the word belongs to a redirection
	end := func() {
		if in && !skip {
			words = append(words, word.String())
		}
		if in {
			skip = false
		}
		word.Reset()
		in = false
	}
	next := func() {
		end()
		if len(words) > 0 {
			out = append(out, words)
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' || c == '"':
			n := strings.IndexByte(line[i+1:], c)
			if n < 0 {
				n = len(line) - i - 1
			}
			word.WriteString(line[i+1 : i+1+n])
			i += n + 1
			in = true
		case c == '#' && !in:
			next()
			return out
		case c == ' ' || c == '\t':
			end()
		case strings.IndexByte("|;&()", c) >= 0:
			next()
		case c == '<' || c == '>':
			end()
			skip = !strings.HasPrefix(line[i+1:], "(")
		default:
			word.WriteByte(c)
			in = true
		}
	}
	next()
	return out
}
