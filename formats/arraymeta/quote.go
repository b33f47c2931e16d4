package arraymeta

import "strings"

// cutPlain is strings.Cut at the first sep outside of quotes. A quote opens where a name or a label begins, and only
// if it is closed in front of a comma, an equals sign, a colon, or the end.
func cutPlain(text string, sep byte) (before, after string, found bool) {
	begins := true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == sep:
			return text[:i], text[i+1:], true
		case begins && (c == '\'' || c == '"'):
			i += quoted(text[i:])
			begins = false
		default:
			begins = c == ',' || c == '=' || begins && c == ' '
		}
	}
	return text, "", false
}

// quoted is how many bytes lie between the quote that a text begins with and behind the one that closes it; 0: none does.
func quoted(text string) int {
	for i := 1; i < len(text); i++ {
		if text[i] != text[0] {
			continue
		}
		if rest := strings.TrimLeft(text[i+1:], " "); rest == "" || strings.IndexByte(",=:", rest[0]) >= 0 {
			return i
		}
	}
	return 0
}

// unquoted is a name without the quotes around it.
func unquoted(name string) string {
	if n := len(name); n > 2 && (name[0] == '\'' || name[0] == '"') && name[n-1] == name[0] {
		return name[1 : n-1]
	}
	return name
}

// spelled is a name as a selection takes it.
func spelled(name string) string {
	if !strings.ContainsAny(name, `,='"`) && strings.TrimSpace(name) == name {
		return name
	}
	if strings.Contains(name, "'") {
		return `"` + name + `"`
	}
	return "'" + name + "'"
}
