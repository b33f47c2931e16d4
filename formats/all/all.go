// Package all knows every format and tells the format of an object from its first
// bytes or its name.
package all

import (
	"bytes"
	"path"
	"strings"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/zoomcache"
)

// Names of formats, as `farread info` prints them. A sparse frame (SFrame) is a
// folder, so Formats has no row for it; an array (B2ND) is a frame of either kind.
const (
	Gulp      = gulp.Format
	Blosc     = "blosc"
	CFrame    = cframe.Format
	SFrame    = "sframe"
	B2ND      = "b2nd"
	Bloscpack = bloscpack.Format
	Zoomcache = zoomcache.Format
)

// A Format is one row of the table.
type Format struct {
	Name     string   // name in `farread info`: "gulp"
	Suffixes []string // suffixes of names, with the dot
	// Sniff says whether an object of size bytes that begins with head is of the
	// format. Nil if the bytes tell nothing.
	Sniff func(head []byte, size int64) bool
}

// Formats is the table, in the order in which Detect asks.
func Formats() []Format {
	return []Format{
		{Name: B2ND, Suffixes: []string{".b2nd"}, Sniff: isArray},
		{Name: CFrame, Suffixes: []string{".b2frame", ".b2f", ".b2", ".cframe", ".b2b", ".b2e"}, Sniff: func(head []byte, _ int64) bool { return cframe.Sniff(head) }},
		{Name: Gulp, Suffixes: []string{gulp.MetaSuffix, gulp.DataSuffix}, Sniff: gulpIndex},
		{Name: Bloscpack, Suffixes: []string{bloscpack.Suffix}, Sniff: func(head []byte, _ int64) bool { return bloscpack.Sniff(head) }},
		{Name: Zoomcache, Suffixes: []string{zoomcache.Suffix}, Sniff: func(head []byte, _ int64) bool { return zoomcache.Sniff(head) }},
		{Name: Blosc, Suffixes: []string{".blosc", ".chunk", ".cdata", ".bl"}, Sniff: isChunk},
	}
}

// Detect names the format of an object of size bytes from head, its first bytes,
// else from its name; "" if neither tells. 64 KiB of head are enough, except for
// a .gmeta whose first id has more than that before its frames.
func Detect(name string, head []byte, size int64) string {
	for _, f := range Formats() {
		if f.Sniff != nil && f.Sniff(head, size) {
			return f.Name
		}
	}
	return ByName(name)
}

// ByName names the format that a name promises by its suffix, in small letters;
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

// gulpIndex recognises the JSON of a .gmeta: an object in which frame_info and a
// list occur. The data object of gulp has no magic: it begins with an image.
func gulpIndex(head []byte, _ int64) bool {
	rest := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	return bytes.Contains(rest, []byte(`"frame_info"`)) && bytes.Contains(rest, []byte("["))
}

// isArray reports whether a frame has a metalayer of an array. The names are in
// the map after the fixed part, each between its length and the marker of its
// position.
func isArray(head []byte, _ int64) bool {
	if !cframe.Sniff(head) {
		return false
	}
	return bytes.Contains(head, []byte("\xa4b2nd\xd2")) || bytes.Contains(head, []byte("\xa7caterva\xd2"))
}

// isChunk recognises a bare Blosc chunk. It has no magic, but its header is full
// of numbers that must agree, with the size of the object, too.
func isChunk(head []byte, size int64) bool {
	h, err := blosc.ParseHeader(head)
	return err == nil && int64(h.CBytes) == size && h.Supported() == nil
}

// Store describes, for people, the kind of bundle of python-blosc2 that a file
// with this name is: several frames instead of one. It returns "" for any other
// name.
func Store(name string) string {
	switch path.Ext(strings.TrimSuffix(name, "/")) {
	case ".b2z":
		return "a store of python-blosc2: a zip of frames, each of which opens with --offset"
	case ".b2d":
		return "a store of python-blosc2: a folder of frames, each of which opens by its own name"
	}
	return ""
}
