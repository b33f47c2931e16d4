package bloscpack

import (
	"bytes"
	"encoding/json"

	"github.com/farread/farread/formats/blosc"
)

// Kinds of contents, as Contents.Kind: how the items of a file were made.
const (
	KindLines   = "lines"   // of a text
	KindJSONL   = "jsonl"   // lines, each of which is JSON
	KindFiles   = "files"   // of a folder or an archive
	KindRecords = "records" // with their lengths in front
)

// Contents is what the metadata tell of the source of items, if farread wrote them.
// Metadata may hold anything else; then the fields are empty, or hold what happened to
// have the same name.
type Contents struct {
	Kind  string   // one of those above, "numpy", or any other text
	Names []string // of files
	Sizes []int64  // of files
	// Prefix names the lengths in front of records, as package functions/pack does.
	Prefix string
	// FinalNewline says whether the last line had a line end; nil: unknown.
	FinalNewline *bool
}

// Contents is what the metadata tell of the source of the items. It is the File's own,
// which keeps it: do not change the lists. Of names and sizes it has at most one more
// than there can be items: 60 MB of empty names would take a gigabyte.
func (f *File) Contents() Contents { return f.contents() }

// Names are the names of all items, if they are files and each has one, else nil. They
// are the File's own.
func (f *File) Names() []string {
	c := f.contents()
	if c.Kind != KindFiles || !f.h.Variable || int64(len(c.Names)) != f.Len() {
		return nil
	}
	return c.Names
}

// mostItems is how many items the file can have.
func (f *File) mostItems() int64 {
	if n := f.h.Chunks; n >= 0 {
		return n
	}
	return f.size / blosc.HeaderLen1
}

// parseContents reads metadata of a file of at most so many items.
func parseContents(text json.RawMessage, most int64) Contents {
	raw := parsed[struct {
		Container    string          `json:"container"`
		Names        json.RawMessage `json:"names"`
		Sizes        json.RawMessage `json:"sizes"`
		Prefix       string          `json:"prefix"`
		FinalNewline *bool           `json:"final_newline"`
	}](text)
	return Contents{Kind: raw.Container, Names: atMost[string](raw.Names, most+1), Sizes: atMost[int64](raw.Sizes, most+1),
		Prefix: raw.Prefix, FinalNewline: raw.FinalNewline}
}

// atMost is the beginning of a list in JSON, nil if text is no list.
func atMost[T any](text json.RawMessage, most int64) (list []T) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil
	}
	for d.More() && int64(len(list)) < most {
		var v T
		if d.Decode(&v) != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// parsed is text as a T, the zero T if it is none.
func parsed[T any](text json.RawMessage) (v T) {
	if json.Unmarshal(text, &v) != nil {
		var zero T
		return zero
	}
	return v
}
