package gulp

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// Suffixes of the two objects of a gulp chunk.
const (
	DataSuffix = ".gulp"
	MetaSuffix = ".gmeta"
)

// A Pair names the two objects of a gulp chunk.
type Pair struct{ Data, Meta string }

// Pairs returns the pairs that an object with this name may belong to, the most
// likely pair first. It returns none if name has neither suffix. Name may be a
// path with slashes, whose folder is kept. GulpIO names its chunks data_0.gulp
// and meta_0.gmeta; any other x.gulp goes with x.gmeta. A name that begins like
// GulpIO's has both readings; if it goes on without a number ("dataset.gulp"),
// dataset.gmeta is the likely one.
func Pairs(name string) []Pair {
	dir, base := path.Split(name)
	if stem, ok := strings.CutSuffix(base, DataSuffix); ok {
		same := Pair{name, dir + stem + MetaSuffix}
		if rest, ok := strings.CutPrefix(stem, "data"); ok {
			return readings(rest, Pair{name, dir + "meta" + rest + MetaSuffix}, same)
		}
		return []Pair{same}
	}
	if stem, ok := strings.CutSuffix(base, MetaSuffix); ok {
		same := Pair{dir + stem + DataSuffix, name}
		if rest, ok := strings.CutPrefix(stem, "meta"); ok {
			return readings(rest, Pair{dir + "data" + rest + DataSuffix, name}, same)
		}
		return []Pair{same}
	}
	return nil
}

// readings puts GulpIO's pair first where rest is "" or begins with a number,
// perhaps after "_" or "-".
func readings(rest string, gulpio, same Pair) []Pair {
	number := strings.TrimLeft(rest, "_-")
	if rest == "" || number != "" && '0' <= number[0] && number[0] <= '9' {
		return []Pair{gulpio, same}
	}
	return []Pair{same, gulpio}
}

// PairOf is the likely pair of name, the first of Pairs; false if there is none.
func PairOf(name string) (Pair, bool) {
	if p := Pairs(name); len(p) > 0 {
		return p[0], true
	}
	return Pair{}, false
}

// ChunkPair names chunk n of a dataset as GulpIO does.
func ChunkPair(n int) Pair {
	return Pair{fmt.Sprintf("data_%d%s", n, DataSuffix), fmt.Sprintf("meta_%d%s", n, MetaSuffix)}
}

const (
	// maxElement is the longest file name of the common file systems.
	maxElement = 255
	// maxPath is the longest key of S3, and below every PATH_MAX.
	maxPath = 1024
)

// SafePath turns an id into a relative path with slashes that stays below the
// folder it is joined to, on every system: a slash in the id makes a sub-folder.
// Ids may come from strangers, so everything that could mean another place is
// refused: empty, "." and ".." elements, an absolute path, drive letters,
// backslashes, control characters, the device names of Windows, names that end
// in a dot or space, which Windows drops, text that is not UTF-8, and names too
// long to be created (255 bytes an element, 1024 in all). The error is a
// *formats.Error that names the id and matches ErrCorrupt.
func SafePath(id string) (string, error) {
	if why := unsafePath(id); why != "" {
		return "", &formats.Error{Format: Format, Part: partOf(id), Off: -1,
			Err: fmt.Errorf("no safe file name: %s: %w", why, formats.ErrCorrupt)}
	}
	return id, nil
}

func unsafePath(id string) string {
	switch {
	case id == "":
		return "empty"
	case len(id) > maxPath:
		return "too long"
	case !utf8.ValidString(id):
		return "no UTF-8"
	case id[0] == '/':
		return "absolute"
	}
	for elem := range strings.SplitSeq(id, "/") {
		if why := unsafeElement(elem); why != "" {
			return why
		}
	}
	return ""
}

func unsafeElement(e string) string {
	switch {
	case e == "":
		return "empty element"
	case e == "." || e == "..":
		return "element " + e
	case len(e) > maxElement:
		return "element too long"
	case strings.HasSuffix(e, ".") || strings.HasSuffix(e, " "):
		return "element ends in a dot or space"
	case len(e) >= 2 && e[1] == ':' && isLetter(e[0]):
		return "drive letter"
	case device(e):
		return "device name"
	}
	for _, r := range e {
		if r < ' ' || r == 0x7f || r == '\\' {
			return fmt.Sprintf("character %#x", r)
		}
	}
	return ""
}

func isLetter(c byte) bool {
	c |= 0x20 // to lower case
	return 'a' <= c && c <= 'z'
}

// device reports whether Windows treats the name as a device. Suffixes do not
// matter for that.
func device(e string) bool {
	stem, _, _ := strings.Cut(e, ".")
	stem, _, _ = strings.Cut(stem, ":")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	for _, p := range [...]string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(stem, p); ok && n != "" && strings.Contains("0123456789¹²³", n) {
			return utf8.RuneCountInString(n) == 1
		}
	}
	return false
}
