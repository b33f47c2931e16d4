package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

// zarrChunks is what reports say of the chunks of Zarr that was packed.
type zarrChunks struct {
	Source int64 `json:"source_chunks"`
	Absent int64 `json:"absent_chunks"` // of them not there: the fill value
}

// maxAbsent bounds the arrays that a remark about absent chunks names.
const maxAbsent = 8

// absentChunks counts the chunks of the arrays that were packed, and says in one line how many are not there:
// a store that lies, or is not whole, would else become fill values in silence. denied tells that chunks which the store refuses are
// taken for absent.
func (a *app) absentChunks(src string, arrays []pack.Array, denied bool) *zarrChunks {
	var c zarrChunks
	var parts []string
	seen := map[*zarr.Array]bool{}
	add := func(name string, z *zarr.Array) {
		if seen[z] {
			return
		}
		seen[z] = true
		n := z.Absent()
		c.Source += z.Chunks()
		c.Absent += n
		if n > 0 && name != "" {
			parts = append(parts, fmt.Sprintf("%s %s of %s", human.Printable(name), human.Count(n), human.Count(z.Chunks())))
		}
	}
	for _, arr := range arrays {
		if z := arr.Zarr(); z != nil {
			add(arr.Name, z)
		}
	}
	for _, arr := range arrays {
		of := arr.ZarrCoords() // some were read for a coordinate alone
		for _, dim := range slices.Sorted(maps.Keys(of)) {
			if of[dim].Absent() > 0 {
				add(dim, of[dim])
			}
		}
	}
	if c.Absent == 0 {
		return &c
	}
	or := ""
	if denied {
		or = " or refused,"
	}
	text := fmt.Sprintf("%s of %s are not there,%s and their items are the fill value", human.Count(c.Absent), human.Plural(c.Source, "chunk"), or)
	if more := len(parts) - maxAbsent; more > 0 {
		parts = append(parts[:maxAbsent], fmt.Sprintf("%s more", human.Plural(int64(more), "array")))
	}
	if parts != nil {
		text += ": " + strings.Join(parts, ", ")
	}
	a.warn(src, text)
	return &c
}

// zarrTold says of arrays of Zarr what is not kept as it is: names of axes, and whole numbers beyond 64 bits.
func (a *app) zarrTold(src string, arrays []pack.Array) {
	for _, arr := range arrays {
		m, name := arr.Zarr().Meta(), ""
		if arr.Name != "" {
			name = human.Printable(arr.Name) + ": "
		}
		if m.Renamed != nil {
			a.warn(src, name+strings.Join(m.Renamed, "; "))
		}
		a.rounded(src, name, m.Attrs)
	}
}
