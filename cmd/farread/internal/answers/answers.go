// Package answers writes what an analysis found: as JSON for programs, as a table for
// people and as CSV or Parquet with a row for each cell, and as one array of NumPy or b2nd.
package answers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/render"
)

// Formats are the names of the formats that Write knows, besides render.Text.
func Formats() []string { return []string{render.JSON, render.CSV, render.Npy, render.B2nd, Parquet} }

// Write writes answers. memory bounds the buffers of a b2nd, which gets the layers.
func Write(w io.Writer, format string, a *analyze.Answers, memory int64, layers []cframe.Metalayer) error {
	shape, list := a.Shape, a.Results
	switch format {
	case render.JSON:
		_, err := w.Write(appendJSON(nil, a))
		return err
	case render.CSV:
		return writeCSV(w, a)
	case render.Text:
		return writeText(w, a)
	case Parquet:
		return writeParquet(w, a)
	}
	d, items, err := joined(shape, list)
	if err != nil {
		return err
	}
	if len(list) == 1 { // a plain array
		shape = list[0].Shape
	}
	return render.Array(w, d, shape, render.ArrayOptions{Format: format, Memory: memory, Layers: layers}, func(put func(p []byte) error) error {
		return put(items)
	})
}

// appendJSON appends one object: the labels of axes, by the names of these, then answers,
// whose keys are those of the stats in their order, and how many items were passed over.
func appendJSON(dst []byte, a *analyze.Answers) []byte {
	shape, list := a.Shape, a.Results
	dst = appendLabels(append(dst, '{'), a)
	for i := range list {
		r := &list[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, r.Stat.Key()), ':')
		switch r.Stat.Name {
		case "hist":
			dst = append(dst, `{"edges":[`...)
			for k, e := range r.Edges {
				if k > 0 {
					dst = append(dst, ',')
				}
				dst = appendFloat(dst, e)
			}
			dst = append(dst, `],"counts":`...)
			dst = append(appendNested(dst, r, r.Shape, 0, 1, 0), '}')
		case "quantiles":
			dst = append(dst, '{')
			for k, rank := range r.Stat.Ranks {
				if k > 0 {
					dst = append(dst, ',')
				}
				dst = append(appendString(dst, rank), ':')
				dst = appendNested(dst, r, shape, 0, len(r.Stat.Ranks), k)
			}
			dst = append(dst, '}')
		default:
			dst = appendNested(dst, r, r.Shape, 0, 1, 0)
		}
	}
	if a.Skipped > 0 {
		dst = strconv.AppendInt(append(dst, `,"skipped":`...), a.Skipped, 10)
	}
	return append(dst, "}\n"...)
}

// appendNested appends items as nested lists of a shape, from item at on: of each group of
// so many items the one with number k.
func appendNested(dst []byte, r *analyze.Result, shape []int64, at int64, group, k int) []byte {
	if len(shape) == 0 {
		return appendItem(dst, r, int(at)*group+k)
	}
	if r.None != nil && len(shape) == 1 && len(r.Shape) > 0 && isArg(r) && r.None[at] {
		return append(dst, "null"...) // no item, so no index
	}
	dst = append(dst, '[')
	for i := range shape[0] {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNested(dst, r, shape[1:], at*shape[0]+i, group, k)
	}
	return append(dst, ']')
}

// isArg reports whether the answer is indexes of items.
func isArg(r *analyze.Result) bool { return strings.HasPrefix(r.Stat.Name, "arg") }

// appendItem appends item i as JSON.
func appendItem(dst []byte, r *analyze.Result, i int) []byte {
	if r.None != nil && !isArg(r) && r.None[i] {
		return append(dst, "null"...)
	}
	size := r.Type.ItemSize()
	item := r.Items[i*size : (i+1)*size]
	if v, ok := r.Type.Float(item); ok && v != v {
		return append(dst, `"nan"`...)
	}
	if text := r.Type.AppendJSON(nil, item); !bytes.Contains(text, []byte("null")) {
		return append(dst, text...)
	}
	return append(dst, bytes.ReplaceAll(r.Type.AppendJSON(nil, item), []byte("null"), []byte(`"nan"`))...) // a part of a complex number
}

func appendFloat(dst []byte, v float64) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...) // edges are finite
	}
	return append(dst, text...)
}

func appendString(dst []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(dst, `""`...) // there is no such string
	}
	return append(dst, text...)
}

// A field is a column of a table: one value of each cell.
type field struct {
	name string
	r    *analyze.Result
	k    int // number of the value among those of a cell
	of   int // how many they are
}

// fields returns the columns of all answers.
func fields(shape []int64, list []analyze.Result) []field {
	var out []field
	for i := range list {
		r := &list[i]
		key := r.Stat.Key()
		if len(r.Shape) == len(shape) {
			out = append(out, field{key, r, 0, 1})
			continue
		}
		n := int(r.Shape[len(shape)])
		for k := range n {
			name := fmt.Sprintf("%s[%d]", key, k)
			switch r.Stat.Name {
			case "hist":
				name = fmt.Sprintf("%s[%s:%s]", key, number(r.Edges[k]), number(r.Edges[k+1]))
			case "quantiles":
				name = fmt.Sprintf("%s[%s]", key, r.Stat.Ranks[k])
			}
			out = append(out, field{name, r, k, n})
		}
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// value returns the text of the value of a cell, "" if there is none.
func (f *field) value(cell int) string {
	if f.r.None != nil && f.r.None[cell] {
		return ""
	}
	size := f.r.Type.ItemSize()
	i := cell*f.of + f.k
	return string(f.r.Type.AppendCSV(nil, f.r.Items[i*size:(i+1)*size]))
}

// cells returns how many cells a shape has, and calls f with the index of each.
func cells(shape []int64, f func(cell int, at []int64) error) error {
	total := 1
	for _, n := range shape {
		total *= int(n)
	}
	at := make([]int64, len(shape))
	for cell := range total {
		rest := int64(cell)
		for i := len(shape) - 1; i >= 0; i-- {
			at[i] = rest % shape[i]
			rest /= shape[i]
		}
		if err := f(cell, at); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a line for each cell, behind one of names.
func writeCSV(w io.Writer, a *analyze.Answers) error {
	shape, list, places := a.Shape, a.Results, headings(a)
	all := fields(shape, list)
	line := make([]byte, 0, 256)
	comma := func() {
		if len(line) > 0 {
			line = append(line, ',')
		}
	}
	for i := range places {
		comma()
		line = append(line, quoted(places[i].name)...)
	}
	for i := range all {
		comma()
		line = append(line, quoted(all[i].name)...)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	return cells(shape, func(cell int, at []int64) error {
		line = line[:0]
		for i := range places {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(line, quoted(places[i].value(at))...)
		}
		for i := range all {
			if i > 0 || len(places) > 0 {
				line = append(line, ',')
			}
			line = append(line, all[i].value(cell)...)
		}
		_, err := w.Write(append(line, '\n'))
		return err
	})
}

// quoted returns a name as a field of CSV.
func quoted(name string) string {
	if !strings.ContainsAny(name, ",\"\r\n") {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// writeText writes a table: of one cell with a row for each stat, else with a row for each
// cell. A histogram is drawn.
func writeText(w io.Writer, a *analyze.Answers) error {
	shape, list, places := a.Shape, a.Results, headings(a)
	all := make([]field, 0, len(list))
	for i := range list {
		if r := &list[i]; r.Stat.Name == "hist" {
			all = append(all, field{r.Stat.Key(), r, -1, r.Stat.Bins})
		} else {
			all = append(all, fields(shape, list[i:i+1])...)
		}
	}
	text := func(f *field, cell int) string {
		if f.k < 0 {
			return bars(f.r, cell)
		}
		if v := f.value(cell); v != "" {
			return v
		}
		return "-"
	}
	if len(shape) == 0 {
		t := human.NewTable("STAT", "VALUE")
		for i := range all {
			t.Add(all[i].name, text(&all[i], 0))
		}
		return t.Print(w)
	}
	head := make([]string, 0, len(places)+len(all))
	for i := range places {
		if places[i].labels == nil {
			head = append(head, ">"+strings.ToUpper(places[i].name))
		} else {
			head = append(head, human.Printable(places[i].name))
		}
	}
	for i := range all {
		if all[i].k < 0 {
			head = append(head, all[i].name)
		} else {
			head = append(head, ">"+all[i].name)
		}
	}
	t := human.NewTable(head...)
	err := cells(shape, func(cell int, at []int64) error {
		row := make([]string, 0, len(places)+len(all))
		for i := range places {
			row = append(row, places[i].printable(at))
		}
		for i := range all {
			row = append(row, text(&all[i], cell))
		}
		if t.Add(row...); t.Len() >= human.LongTable {
			return t.Print(w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.Print(w)
}

// mostBars is how many characters a drawn histogram has at most.
const mostBars = 64

// bars draws the counts of a histogram as blocks whose height goes with the count.
func bars(r *analyze.Result, cell int) string {
	bins := r.Stat.Bins
	width := (bins + mostBars - 1) / mostBars
	sums := make([]uint64, 0, mostBars)
	for k := range bins {
		if k%width == 0 {
			sums = append(sums, 0)
		}
		v, _ := strconv.ParseUint(string(r.Type.AppendCSV(nil, r.Items[8*(cell*bins+k):][:8])), 10, 64)
		sums[len(sums)-1] += v
	}
	most := max(slices.Max(sums), 1)
	var out strings.Builder
	for _, n := range sums {
		if n == 0 {
			out.WriteByte(' ')
			continue
		}
		out.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(7*(float64(n)/float64(most)))])
	}
	return fmt.Sprintf("%s %s to %s", out.String(), number(r.Stat.From), number(r.Stat.To))
}

// joined returns the type and the items of one array of all answers: of one stat its own,
// of several a structure with a member for each, of which those with several values are
// sub-arrays.
func joined(shape []int64, list []analyze.Result) (dtype.DType, []byte, error) {
	if len(list) == 1 {
		return list[0].Type, list[0].Items, nil
	}
	var text strings.Builder
	text.WriteByte('[')
	sizes := make([]int, len(list))
	total := 1
	for _, n := range shape {
		total *= int(n)
	}
	for i := range list {
		r := &list[i]
		sizes[i] = r.Type.ItemSize()
		fmt.Fprintf(&text, "('%s', '%s'", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(r.Stat.Key()), r.Type)
		if len(r.Shape) > len(shape) {
			n := r.Shape[len(shape)]
			fmt.Fprintf(&text, ", (%d,)", n)
			sizes[i] *= int(n)
		}
		text.WriteString("), ")
	}
	d, err := dtype.Parse(strings.TrimSuffix(text.String(), ", ") + "]")
	if err != nil {
		return d, nil, err
	}
	item := 0
	for _, n := range sizes {
		item += n
	}
	if d.ItemSize() != item {
		return d, nil, fmt.Errorf("answers of %d bytes as items of %d: %w", item, d.ItemSize(), formats.ErrUnsupported)
	}
	items := make([]byte, 0, item*total)
	for cell := range total {
		for i := range list {
			items = append(items, list[i].Items[cell*sizes[i]:][:sizes[i]]...)
		}
	}
	return d, items, nil
}
