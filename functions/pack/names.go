package pack

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/functions/internal/kit"
)

// cleanName is the slash-separated path of a member. "./" and doubled slashes
// are dropped, a backslash counts as a slash (zip files from Windows). A name
// that could leave the folder it is unpacked into is ErrCorrupt: absolute, with
// a drive letter, with "..", or with control characters.
func cleanName(name string, l Limits) (string, error) {
	switch {
	case len(name) > l.Name:
		return "", kit.TooLarge("name of %d bytes", len(name))
	case !utf8.ValidString(name):
		return "", kit.Corrupt("a name that is not UTF-8")
	case strings.ContainsFunc(name, unicode.IsControl):
		return "", kit.Corrupt("a name with control characters")
	}
	name = strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(name, "/") {
		return "", kit.Corrupt("an absolute name")
	}
	if len(name) >= 2 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z') {
		return "", kit.Corrupt("a name with a drive letter")
	}
	parts := strings.Split(name, "/")
	if slices.Contains(parts, "..") {
		return "", kit.Corrupt(`a name with ".."`)
	}
	clean := path.Clean(name)
	if clean == "." {
		return "", kit.Corrupt("an empty name")
	}
	if d := strings.Count(clean, "/"); d > l.Depth {
		return "", kit.TooLarge("a name %d folders deep", d)
	}
	return clean, nil
}

// isJunk reports whether a file is about a folder, not of it: what a desktop, a server of
// files, an editor or version control has left, hidden files and what is in hidden folders,
// a text for people, the marker of a folder, or what WebDataset passes over (__name__).
func isJunk(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch base {
	case "thumbs.db", "ehthumbs.db", "desktop.ini", "_success", "manifest.json", "readme", "readme.md", "readme.rst", "license", "license.md", "licence", "copying":
		return true
	}
	for i, part := range strings.Split(name, "/") {
		switch {
		case part[:min(1, len(part))] == ".", part == "@eaDir", part == "__MACOSX", i == 0 && len(part) > 4 && strings.HasPrefix(part, "__") && strings.HasSuffix(part, "__"):
			return true
		}
	}
	return false
}

// isLabels reports whether a file has one of the two names of labels files, in any
// folder.
func isLabels(name string) bool {
	base := path.Base(name)
	return strings.EqualFold(base, "labels.csv") || strings.EqualFold(base, "labels.json")
}

// natural compares names as people order them: runs of digits by their value,
// the rest bytewise; "f2" comes before "f10". Names that differ in leading
// zeros only compare bytewise.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			nx, ny := digits(x), digits(y)
			vx, vy := strings.TrimLeft(x[:nx], "0"), strings.TrimLeft(y[:ny], "0")
			if len(vx) != len(vy) {
				return len(vx) - len(vy)
			}
			if c := strings.Compare(vx, vy); c != 0 {
				return c
			}
			x, y = x[nx:], y[ny:]
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// idOf is the id that a file belongs to. A file in a folder belongs to the
// folder, by its whole path: cats/c1/0001.jpg is a frame of "cats/c1". A file
// in no folder belongs to its name up to the last "_" or "-" before a number:
// c1_0001.jpg is a frame of "c1"; without such a name, to the upload's own.
func idOf(name, upload string) string {
	if dir := path.Dir(name); dir != "." {
		return dir
	}
	stem := strings.TrimSuffix(name, path.Ext(name))
	k := len(stem)
	for k > 0 && isDigit(stem[k-1]) {
		k--
	}
	if k >= 2 && k < len(stem) && (stem[k-1] == '_' || stem[k-1] == '-') {
		return stem[:k-1]
	}
	return upload
}

// labelOf is the label of an id in the folder layout label/id/frame. It is "" if the
// id's folder lies in no other.
func labelOf(id string) string {
	dir := path.Dir(id)
	if dir == "." || dir == "/" {
		return ""
	}
	return path.Base(dir)
}

// stemOf is the upload's own name: the last part of its key, without the
// suffixes of archives.
func stemOf(key string) string {
	base := path.Base(strings.TrimSuffix(key, "/"))
	for _, suffix := range archiveSuffixes() {
		if s, ok := strings.CutSuffix(strings.ToLower(base), suffix); ok && s != "" {
			return base[:len(s)]
		}
	}
	if base == "." || base == "/" {
		return "frames"
	}
	return base
}

func archiveSuffixes() []string {
	return []string{".tar.gz", ".tar.zst", ".tgz", ".tzst", ".tar", ".zip"}
}

// highCP437 are the bytes from 0x80 on in code page 437, the first PC's.
const highCP437 = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒ" +
	"áíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
	"└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀" +
	"αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0"

// zipName is the name of a zip's member as text. Without the UTF-8 flag the format says
// code page 437 (APPNOTE, appendix D), but many programs write UTF-8 anyway, so a name
// that is valid UTF-8 is taken as such. Names in other code pages come out odd, but
// stay different.
func zipName(raw []byte, flags uint16) string {
	if flags&zipUTF8 != 0 || utf8.Valid(raw) {
		return string(raw)
	}
	high := []rune(highCP437)
	var b strings.Builder
	for _, c := range raw {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.WriteRune(high[c-utf8.RuneSelf])
		}
	}
	return b.String()
}
