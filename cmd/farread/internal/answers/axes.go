package answers

import (
	"strconv"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/internal/human"
)

// A heading is what a column of a table says of the place of each cell: its index along
// an axis, or a label.
type heading struct {
	axis   int
	name   string
	labels []string // nil: indexes
}

// headings returns the columns for the places of cells.
func headings(a *analyze.Answers) []heading {
	var out []heading
	for i := range a.Shape {
		if i >= len(a.Axes) || a.Axes[i].Labels == nil {
			out = append(out, heading{axis: i, name: "i" + strconv.Itoa(i)})
			continue
		}
		out = append(out, heading{i, a.Axes[i].Name, a.Axes[i].Labels})
		for _, w := range a.Axes[i].With {
			out = append(out, heading{i, w.Name, w.Labels})
		}
	}
	return out
}

// value returns what the column says of the cell with index at.
func (h *heading) value(at []int64) string {
	if h.labels == nil {
		return strconv.FormatInt(at[h.axis], 10)
	}
	return h.labels[at[h.axis]]
}

// printable returns the value for a terminal.
func (h *heading) printable(at []int64) string {
	const most = 60
	return human.Printable(human.Shorten(h.value(at), most))
}

// appendLabels appends the labels of axes as members of an object, each with a comma
// behind it.
func appendLabels(dst []byte, a *analyze.Answers) []byte {
	for _, h := range headings(a) {
		if h.labels == nil {
			continue
		}
		dst = append(appendString(dst, h.name), ":["...)
		for i, l := range h.labels {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, l)
		}
		dst = append(dst, "],"...)
	}
	return dst
}
