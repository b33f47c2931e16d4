package zarrface

import (
	"bytes"
	"slices"
)

// Coordinates are those that are in the layer of one array, for the group that the array is in. They
// hold what the array's View holds.
type Coordinates struct{ list []coordinate }

// Coordinates returns those of the view.
func (v *View) Coordinates() Coordinates { return Coordinates{v.coords} }

// Shared are the coordinates that a group has besides its arrays.
type Shared struct {
	Docs map[string][]byte // documents, by the names of the coordinates
	From map[string]int    // which of the arrays has it, and its chunk: the first one
	// Left tells of coordinates that are left out because arrays do not agree on them.
	Left map[string]string
}

// maxLeft bounds Shared.Left.
const maxLeft = 100

// Share joins the coordinates of arrays by their names. One that two arrays have differently is that
// of neither: a client would give it to all arrays of the group. names are those of the arrays, which no coordinate takes.
func Share(names []string, list []Coordinates) Shared {
	s := Shared{Docs: map[string][]byte{}, From: map[string]int{}, Left: map[string]string{}}
	first, other := map[string]coordinate{}, map[string]bool{}
	for i := range list {
		for _, c := range list[i].list {
			f, ok := first[c.name]
			switch {
			case slices.Contains(names, c.name) || other[c.name]:
			case !ok:
				first[c.name] = c
				s.Docs[c.name], s.From[c.name] = c.doc, i
			case !f.same(c):
				other[c.name] = true
				if len(s.Left) < maxLeft {
					s.Left[c.name] = "left out: " + names[s.From[c.name]] + " and " + names[i] + " have other values of it"
				}
				delete(s.Docs, c.name)
				delete(s.From, c.name)
			}
		}
	}
	return s
}

// same reports whether two coordinates have the same values, in the same units.
func (c coordinate) same(o coordinate) bool {
	if c.n != o.n || c.c.DType != o.c.DType {
		return false
	}
	for _, name := range []string{"units", "calendar"} {
		if !bytes.Equal(c.c.Attrs[name], o.c.Attrs[name]) {
			return false
		}
	}
	if c.c.Start == o.c.Start && c.c.Step == o.c.Step && bytes.Equal(c.c.Values, o.c.Values) {
		return true
	}
	return bytes.Equal(c.c.AppendValues(nil, c.n), o.c.AppendValues(nil, o.n))
}
