package pack

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"github.com/farread/farread/functions/internal/kit"
)

// labelNames are the columns that name the subject of a line of labels, best first: an
// id, or a file of an id.
func labelNames() []string { return []string{"id", "file", "filename", "path"} }

// anyLabelName returns a list of labelNames for people.
func anyLabelName() string {
	names := labelNames()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// fileLabels are lines of labels about files. An id gets the lines whose file has its
// name, with or without a suffix. Otherwise it gets those of its own files. Otherwise,
// if only one id has that last folder, it gets those of the files in a folder of that
// name.
type fileLabels struct {
	upload string // the upload's own name, which is the id of files in no folder
	rows   []fileRow
	by     [3]map[string][]int // rows by name, one map for each of these three ways
	seen   map[string]bool
}

type fileRow struct {
	name   string
	column string
	f      fields
	of     string // the id by its folder
	used   bool
}

// add adds a line about a file; dir is the folder of the labels.
func (t *fileLabels) add(dir, column, name string, f fields) error {
	clean := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/")
	if t.seen[path.Join(dir, clean)] {
		return kit.Corrupt("file %.80q is labelled twice", name)
	}
	if t.seen == nil {
		t.seen = map[string]bool{}
		for k := range t.by {
			t.by[k] = map[string][]int{}
		}
	}
	t.seen[path.Join(dir, clean)] = true
	n := len(t.rows)
	row := fileRow{name: name, column: column, f: f}
	for k, names := range [...][]string{{clean, path.Join(dir, clean)}, {idOf(clean, t.upload), idOf(path.Join(dir, clean), t.upload)}} {
		for i, about := range names {
			if i > 0 && about == names[0] {
				continue
			}
			t.by[k][about] = append(t.by[k][about], n)
			if ext := path.Ext(about); k == 0 && len(ext) > 1 && !isDigit(ext[1]) && ext != about {
				stem := strings.TrimSuffix(about, ext)
				t.by[k][stem] = append(t.by[k][stem], n)
			}
		}
		row.of = names[0]
	}
	t.rows = append(t.rows, row)
	if last := path.Base(row.of); last != row.of {
		t.by[2][last] = append(t.by[2][last], n)
	}
	return nil
}

// find returns the meta_data of an id. If all lines about the id agree it is one
// object, otherwise one for each line, with its file.
func (t *fileLabels) find(id string, alone bool) []fields {
	base := path.Base(id)
	rows := t.by[0][id]
	if rows == nil && alone {
		rows = t.by[0][base]
	}
	if rows == nil {
		rows = t.by[1][id]
	}
	if rows == nil && alone {
		if rows = t.by[2][base]; len(rows) > 0 {
			for _, n := range rows {
				if t.rows[n].of != t.rows[rows[0]].of { // rows of several folders
					return nil
				}
			}
		}
	}
	var out []fields
	same := true
	for _, n := range rows {
		r := &t.rows[n]
		r.used = true
		same = same && equalFields(r.f, t.rows[rows[0]].f)
		f := fields{r.column: text(r.name)}
		for name, v := range r.f {
			f[name] = v
		}
		out = append(out, f)
	}
	if same && len(rows) > 0 {
		return []fields{t.rows[rows[0]].f}
	}
	return out
}

func equalFields(a, b fields) bool {
	if len(a) != len(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; !ok || !bytes.Equal(v, w) {
			return false
		}
	}
	return true
}

func (t *fileLabels) unused() (n int) {
	for i := range t.rows {
		if !t.rows[i].used {
			n++
		}
	}
	return n
}

// about finds the subject of an object in a list of labels.
func about(f fields) (column, name string, ok bool) {
	for _, column := range labelNames() {
		raw, has := f[column]
		if !has {
			continue
		}
		if name, ok := idText(raw); ok {
			return column, name, true
		}
	}
	return "", "", false
}

// put adds a label of an id or a file.
func (t *labels) put(dir, column, name string, f fields) error {
	if column == labelNames()[0] {
		return t.add(name, []fields{f})
	}
	if int64(len(t.byID)+len(t.files.rows)) >= t.l.Entries {
		return kit.TooLarge("more than %d labels", t.l.Entries)
	}
	return t.files.add(dir, column, name, f)
}

// without returns a copy of f without one field.
func without(f fields, name string) fields {
	out := make(map[string]json.RawMessage, len(f))
	for k, v := range f {
		if k != name {
			out[k] = v
		}
	}
	return out
}
