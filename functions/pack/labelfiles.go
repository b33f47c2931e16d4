package pack

import (
	"bytes"
	"encoding/json"
	"maps"
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
// if only one id has that last folder, it gets those of its files in a folder of that
// name. Lines about files that are not there count as unused.
type fileLabels struct {
	upload string // the upload's own name, which is the id of files in no folder
	rows   []fileRow
	by     [3]map[string][]int // rows by name, one map for each of these three ways; nil until they are asked for
	seen   map[string]bool
}

type fileRow struct {
	name   string
	dir    string // folder of the labels
	clean  string // name without odd ways of writing a path
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
	}
	t.seen[path.Join(dir, clean)] = true
	t.rows = append(t.rows, fileRow{name: name, dir: dir, clean: clean, column: column, f: f})
	return nil
}

// index fills the maps.
func (t *fileLabels) index(l Layout) {
	for k := range t.by {
		t.by[k] = map[string][]int{}
	}
	for n := range t.rows {
		row := &t.rows[n]
		whole := path.Join(row.dir, row.clean)
		for k, names := range [...][]string{{row.clean, whole}, {l.id(row.clean, t.upload), l.id(whole, t.upload)}} {
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
		if last := path.Base(row.of); last != row.of {
			t.by[2][last] = append(t.by[2][last], n)
		}
	}
}

// find returns the meta_data of an id. If all lines about the id agree it is one
// object, otherwise one for each line, with its file.
func (t *fileLabels) find(x subject, l Layout) []fields {
	if t.by[0] == nil {
		t.index(l)
	}
	base := path.Base(x.id)
	var rows []int
	if x.file != "" {
		rows = t.by[0][x.file]
	}
	if rows == nil {
		rows = t.by[0][x.id]
	}
	if rows == nil && x.alone {
		if x.file != "" {
			rows = t.by[0][path.Base(x.file)]
		}
		if rows == nil {
			rows = t.by[0][base]
		}
	}
	if rows == nil {
		rows = t.there(t.by[1][x.id], x)
	}
	if rows == nil && x.alone {
		if rows = t.there(t.by[2][base], x); len(rows) > 0 {
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

// there are the rows about files that the id has, with or without a suffix.
func (t *fileLabels) there(rows []int, x subject) []int {
	if len(rows) == 0 || len(x.names) == 0 {
		return rows
	}
	stem := func(name string) string { return strings.TrimSuffix(name, path.Ext(name)) }
	has := make(map[string]bool, 2*len(x.names))
	for _, name := range x.names {
		has[name], has[stem(name)] = true, true
	}
	var out []int
	for _, n := range rows {
		if name := path.Base(t.rows[n].clean); has[name] || has[stem(name)] {
			out = append(out, n)
		}
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

func (t *fileLabels) unused() (n int64, first string) {
	for i := range t.rows {
		if !t.rows[i].used {
			if n++; n == 1 {
				first = t.rows[i].name
			}
		}
	}
	return n, first
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

// choose lets labels that have an id and a file go by the one that fits.
func (s *stream) choose(bases map[string]int) error {
	if len(s.labels.spare) == 0 {
		return nil
	}
	names := maps.Clone(bases)
	for _, t := range s.order {
		names[t.id]++
		names[t.file]++
	}
	delete(names, "")
	if err := s.labels.choose(names); err != nil {
		return kit.Fail(s.about.Format, "labels", -1, err)
	}
	return nil
}
