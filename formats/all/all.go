// Package all knows every format: which one some bytes or a name belong to.
package all

import (
	"bytes"
	"path"

	"github.com/farread/farread/formats/gulp"
)

// A Format is one row of the table.
type Format struct {
	Name     string   // as in `farread info`: "gulp"
	Suffixes []string // of names, with the dot
	// Sniff says whether an object that begins with head is of the format.
	// Nil where the bytes tell nothing.
	Sniff func(head []byte) bool
}

// Formats is the table, in the order in which Detect asks.
func Formats() []Format {
	return []Format{
		{Name: gulp.Format, Suffixes: []string{gulp.MetaSuffix, gulp.DataSuffix}, Sniff: gulpIndex},
	}
}

// Detect names the format of an object from its first bytes (64 KiB are more
// than any format needs), else from its name; "" when neither tells.
func Detect(name string, head []byte) string {
	for _, f := range Formats() {
		if f.Sniff != nil && f.Sniff(head) {
			return f.Name
		}
	}
	return ByName(name)
}

// ByName names the format that a name promises, without a look at the bytes;
// "" for names that promise none.
func ByName(name string) string {
	ext := path.Ext(name)
	for _, f := range Formats() {
		for _, s := range f.Suffixes {
			if s == ext {
				return f.Name
			}
		}
	}
	return ""
}

// gulpIndex recognises the JSON of a .gmeta: an object whose first value is an
// object with frame_info or meta_data. Its data object has no magic: it begins
// with an image.
func gulpIndex(head []byte) bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	return bytes.Contains(rest, []byte(`"frame_info"`)) && bytes.Contains(rest, []byte("["))
}
