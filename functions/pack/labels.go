package pack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// fields is one meta_data object. Values keep their text.
type fields = map[string]json.RawMessage

// labels gathers the labels of ids. A labels file in the upload comes first, then the
// upload's metadata, its tags, and last the folder's name.
type labels struct {
	byID   map[string][]fields
	used   map[string]bool
	files  fileLabels
	common fields   // fields for the whole upload
	order  []string // keys of byID in the order of the files
	spare  []spareLabel
	layout Layout
	l      Limits
	size   int64
	from   string // name of the first file of labels
	// found, if not nil, has what find found of all ids in a larger upload, of which this is
	// a part: there is nothing else to look in.
	found map[string][]fields
}

func newLabels(upload string, l Limits) *labels {
	return &labels{files: fileLabels{upload: upload}, byID: map[string][]fields{}, used: map[string]bool{}, common: fields{}, l: l}
}

// object takes the label of an upload from its metadata or tags: "label", and
// "label-NAME" for a field called NAME. It does not replace fields that are set.
func (t *labels) object(meta map[string]string) {
	for name, v := range meta {
		name = strings.ToLower(name)
		if rest, ok := strings.CutPrefix(name, "label-"); ok && rest != "" {
			name = rest
		} else if name != "label" {
			continue
		}
		if _, ok := t.common[name]; !ok {
			t.common[name] = text(v)
		}
	}
}

func text(s string) json.RawMessage {
	b, err := json.Marshal(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // strings always encode
		panic(err)
	}
	return b
}

// file reads a labels file. labels.csv has a header with a column "id", or "file",
// "filename" or "path"; the other columns become fields, of numbers if all of their cells
// are numbers, else of text. labels.json is an
// object of id: fields, or a list of objects with one of these each; a text instead of
// fields is a label, a list of objects is kept as a list.
func (t *labels) file(name string, r io.Reader) error {
	b, err := io.ReadAll(io.LimitReader(r, t.l.Text-t.size+1))
	if err != nil {
		return err
	}
	if t.size += int64(len(b)); t.size > t.l.Text {
		return kit.TooLarge("more than %d bytes of labels", t.l.Text)
	}
	if t.from == "" {
		t.from = name
	}
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	if !utf8.Valid(b) {
		return kit.Corrupt("labels that are not UTF-8")
	}
	if strings.HasSuffix(strings.ToLower(name), ".csv") {
		return t.csv(path.Dir(name), b)
	}
	return t.json(path.Dir(name), b)
}

func (t *labels) add(id string, list []fields) error {
	if _, ok := t.byID[id]; ok {
		return kit.Corrupt("id %.80q is labelled twice", id)
	}
	if int64(len(t.byID)+len(t.files.rows)) >= t.l.Entries {
		return kit.TooLarge("more than %d labels", t.l.Entries)
	}
	t.byID[id] = list
	t.order = append(t.order, id)
	return nil
}

func (t *labels) json(dir string, b []byte) error {
	var list []fields
	if json.Unmarshal(b, &list) == nil {
		for i, f := range list {
			column, name, ok := about(f)
			if !ok {
				return kit.Corrupt("label %d: no %s says what it is about", i, anyLabelName())
			}
			if column != labelNames()[0] {
				f = without(f, column)
			}
			if err := t.put(dir, column, name, f); err != nil {
				return err
			}
		}
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return kit.Corrupt("labels that are neither a JSON object nor a list of objects")
	}
	for d.More() {
		tok, err := d.Token()
		var raw json.RawMessage
		if err == nil {
			err = d.Decode(&raw)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
		}
		id, _ := tok.(string)
		f, err := asFields(id, raw)
		if err != nil {
			return err
		}
		if err := t.add(id, f); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	return nil
}

// idText accepts ids that are written as numbers: 702766 for "702766".
func idText(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil && n != "" {
		return n.String(), true
	}
	return "", false
}

func asFields(id string, raw json.RawMessage) ([]fields, error) {
	var f fields
	if json.Unmarshal(raw, &f) == nil && f != nil {
		return []fields{f}, nil
	}
	var list []fields
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list, nil
	}
	switch trimmed := bytes.TrimSpace(raw); {
	case len(trimmed) > 0 && (trimmed[0] == '"' || trimmed[0] == '-' || isDigit(trimmed[0]) || trimmed[0] == 't' || trimmed[0] == 'f'):
		return []fields{{"label": trimmed}}, nil
	}
	return nil, kit.Corrupt("label of %.80q is neither text nor an object", id)
}

// find returns the labels of an id: those of the whole id, or of its last part if no other
// id ends in the same part; nil: there are none.
func (t *labels) find(x subject) []fields {
	if t.found != nil {
		return t.found[x.id]
	}
	found, key := t.byID[x.id], x.id
	if found == nil && x.file != "" {
		key = x.file
		found = t.byID[key]
	}
	if found == nil && x.alone {
		key = path.Base(x.id)
		found = t.byID[key]
	}
	if found == nil {
		return t.files.find(x, t.layout)
	}
	t.used[key] = true
	return found
}

// of returns the meta_data of an id, as a list of objects. own has the fields that its
// frames tell.
func (t *labels) of(x subject, own fields) ([]json.RawMessage, error) {
	found := t.find(x)
	if found == nil {
		found = []fields{{}}
	}
	var out []json.RawMessage
	for i, f := range found {
		all := fields{}
		if i == 0 {
			if label := labelOf(x.id); label != "" && t.layout.labelled() {
				all["label"] = text(label)
			}
			maps.Copy(all, t.common)
			maps.Copy(all, own)
		}
		maps.Copy(all, f)
		b, err := json.Marshal(all) // names in order: the same upload gives the same bytes
		if err != nil {
			return nil, fmt.Errorf("label of %.80q: %w: %w", x.id, err, formats.ErrCorrupt)
		}
		out = append(out, b)
	}
	return out, nil
}

// other is the error for labels that are all about other images; image is one that is here.
func (t *labels) other(image string) error {
	n, all, first := t.unused()
	if all == 0 || n < all {
		return nil
	}
	return kit.Fail("labels", fmt.Sprintf("%.200q", t.from), -1, kit.Corrupt("it is for other images: none of its labels (%d, the first about %.80q) fits one here, such as %.80q; an id fits, or the name of a file",
		all, first, image))
}

// unused counts labels whose id has no frames here, and all: one labels file often serves
// several archives. first is what the first of them is about.
func (t *labels) unused() (n, all int64, first string) {
	n, first = t.files.unused()
	for _, id := range t.order {
		if !t.used[id] {
			if n++; first == "" {
				first = id
			}
		}
	}
	return n, int64(len(t.order) + len(t.files.rows)), first
}

// quotedList quotes and joins names for people.
func quotedList(names []string) string {
	const most = 8
	var list []string
	for _, n := range names[:min(most, len(names))] {
		list = append(list, fmt.Sprintf("%.40q", strings.TrimSpace(n)))
	}
	if len(names) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}
