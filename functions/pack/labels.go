package pack

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
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
	common fields // fields for the whole upload
	l      Limits
	size   int64
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
// "filename" or "path"; the other columns become fields of text. labels.json is an
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
	return nil
}

func (t *labels) csv(dir string, b []byte) error {
	r := csv.NewReader(bytes.NewReader(b))
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	column, what := -1, ""
	for _, want := range labelNames() {
		column = slices.IndexFunc(head, func(name string) bool { return strings.EqualFold(name, want) })
		if what = want; column >= 0 {
			break
		}
	}
	if err == nil && column < 0 {
		return kit.Corrupt("labels with the columns %s: want one called %s, which says what a line is about", quotedList(head), anyLabelName())
	}
	for i, name := range head {
		same := func(other string) bool { return other == name || i == column && strings.EqualFold(other, name) }
		if j := i + 1 + slices.IndexFunc(head[i+1:], same); err == nil && name != "" && j > i {
			return kit.Corrupt("labels with two columns called %.80q, %d and %d", name, i+1, j+1)
		}
	}
	for err == nil {
		var row []string
		if row, err = r.Read(); err != nil {
			break
		}
		f := fields{}
		for i, v := range row {
			switch _, twice := f[head[i]]; {
			case i == column, twice && v == "":
			case twice && string(f[""]) != `""`: // only unnamed columns may occur twice
				return kit.Corrupt("labels with two columns without a name")
			default:
				f[head[i]] = text(v)
			}
		}
		if err := t.put(dir, what, row[column], f); err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
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

// of returns the meta_data of an id, as a list of objects. Labels belong to the whole
// id, or to its last part if no other id ends in the same part.
func (t *labels) of(id string, alone bool) ([]json.RawMessage, error) {
	found, key := t.byID[id], id
	if found == nil && alone {
		key = path.Base(id)
		found = t.byID[key]
	}
	switch {
	case found != nil:
		t.used[key] = true
	default:
		if found = t.files.find(id, alone); found == nil {
			found = []fields{{}}
		}
	}
	var out []json.RawMessage
	for i, f := range found {
		all := fields{}
		if i == 0 {
			if label := labelOf(id); label != "" {
				all["label"] = text(label)
			}
			for name, v := range t.common {
				all[name] = v
			}
		}
		for name, v := range f {
			all[name] = v
		}
		b, err := json.Marshal(all) // names in order: the same upload gives the same bytes
		if err != nil {
			return nil, fmt.Errorf("label of %.80q: %w: %w", id, err, formats.ErrCorrupt)
		}
		out = append(out, b)
	}
	return out, nil
}

// unused counts labels whose id has no frames here: one labels file often
// serves several archives.
func (t *labels) unused() int { return len(t.byID) - len(t.used) + t.files.unused() }

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
