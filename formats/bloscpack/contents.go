package bloscpack

import (
	"bytes"
	"encoding/json"

	"github.com/farread/farread/formats/blosc"
)

// Values of Contents.Kind: where the items of a file come from.
const (
	KindLines   = "lines"   // the lines of a text
	KindJSONL   = "jsonl"   // lines of JSON
	KindFiles   = "files"   // the files of a folder or an archive
	KindRecords = "records" // records with their lengths in front
)

// Contents describes the source of the items of a file that farread packed. It is read
// from the metadata. In a file of another program the fields may be empty, or hold
// values that mean something else under the same names.
type Contents struct {
	Kind  string   // a constant above, "numpy", or any other text
	Names []string // names of the files, one for each item
	Sizes []int64  // sizes of the files, one for each item
	// Prefix is the type of the lengths in front of records, for example "u32le",
	// as in package functions/pack.
	Prefix string
	// FinalNewline tells whether a line end followed the last line. Nil means
	// unknown.
	FinalNewline *bool
}

// Contents returns the source of the items, as the metadata tell it. The File owns the
// lists: do not change them. Each list is cut after one entry more than the file can
// have items, since a list in damaged metadata could take a gigabyte of memory.
func (f *File) Contents() Contents { return f.contents() }

// Names returns the names of all items if the items are files and each has a name,
// else nil. The File owns the list: do not change it.
func (f *File) Names() []string {
	c := f.contents()
	if c.Kind != KindFiles || !f.h.Variable || int64(len(c.Names)) != f.Len() {
		return nil
	}
	return c.Names
}

// mostItems returns an upper bound of the number of items.
func (f *File) mostItems() int64 {
	if n := f.h.Chunks; n >= 0 {
		return n
	}
	return f.size / blosc.HeaderLen1
}

// parseContents parses the metadata of a file with at most most items.
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

// atMost returns the first most elements of a JSON list, or nil if text is not
// a list of T.
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

// parsed returns text unmarshalled into a T, or the zero T if that fails.
func parsed[T any](text json.RawMessage) (v T) {
	if json.Unmarshal(text, &v) != nil {
		var zero T
		return zero
	}
	return v
}

// heldBytes is about how much memory the lists take.
func (c *Contents) heldBytes() int64 {
	const text = 16 // bytes that a string takes besides its content
	n := int64(text*cap(c.Names) + 8*cap(c.Sizes))
	for _, name := range c.Names {
		n += int64(len(name))
	}
	return n
}
