package zarrface

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zarr"
)

// maxCoord bounds the bytes of a coordinate, which is one chunk.
const maxCoord = 1 << 20

// fill makes the fill value of the layer that of the view, unless items are cast or of a
// type that it does not fit. Chunks that the frame marks as another value are then sent.
func (v *View) fill(t *zarr.Type) {
	if v.meta.Fill == nil || v.cast != nil {
		return
	}
	item, err := arraymeta.FillItem(v.meta.Fill, v.dtype)
	if err != nil {
		return
	}
	nan := string(v.meta.Fill) == `"NaN"` && v.item >= 4 && !v.dtype.BigEndian() // as frames mark them
	t.Fill, v.fills = v.meta.Fill, map[blosc.Special]bool{blosc.NaN: nan}
	if zero := strings.Trim(string(item), "\x00") == ""; zero {
		v.fills = map[blosc.Special]bool{blosc.Zeros: true, blosc.Uninit: true}
	}
}

// A coordinate is an array of one axis beside the array in a group, in one chunk.
type coordinate struct {
	name string
	doc  []byte
	c    arraymeta.Coord
	n    int64
}

// coordinates makes the documents of the coordinates that are in the layer. Those of types that no client
// reads, or under names that are no name of an array, are left out.
func (v *View) coordinates() error {
	for i, dim := range v.meta.Dims {
		c, ok := v.meta.Coord(dim)
		if !ok || !c.Inline() || !c.Fits(v.shape[i]) || dim == "data" || dim[0] == '.' || strings.ContainsAny(dim, "/%") {
			continue
		}
		d, err := c.Type()
		if err != nil || v.shape[i] > maxCoord/int64(d.ItemSize()) {
			continue
		}
		attrs := maps.Clone(c.Attrs)
		if attrs == nil {
			attrs = map[string]json.RawMessage{}
		}
		d = Counted(d, attrs)
		t, err := zarr.TypeOf(d)
		if err != nil {
			continue
		}
		told := anyOf(attrs)
		if !respell(told, d) {
			delete(told, mask)
		}
		doc, err := zarr.Marshal(arrayDoc{ZarrFormat: 3, NodeType: "array", Shape: []int64{v.shape[i]}, DataType: t.Data, FillValue: t.Fill,
			ChunkGrid:        zarr.Named{Name: "regular", Configuration: map[string][]int64{"chunk_shape": {max(v.shape[i], 1)}}},
			ChunkKeyEncoding: zarr.Named{Name: "default", Configuration: map[string]string{"separator": "/"}},
			Codecs:           []zarr.Named{t.BytesCodec()}, DimensionNames: []string{dim}, Attributes: told})
		if err != nil {
			return err
		}
		v.coords = append(v.coords, coordinate{dim, doc, c, v.shape[i]})
	}
	return nil
}

func anyOf(attrs map[string]json.RawMessage) map[string]any {
	out := make(map[string]any, len(attrs))
	for k, a := range attrs {
		out[k] = a
	}
	return out
}

// Counted returns the type of points in time and of durations as clients of every age read them:
// counts of a unit that the attributes, to which it adds, name as in CF.
func Counted(d dtype.DType, attrs map[string]json.RawMessage) dtype.DType {
	unit, count := d.Unit()
	name := map[string]string{"D": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[unit]
	if name == "" || count != 1 || attrs["units"] != nil {
		return d
	}
	as, err := dtype.Parse("<i8")
	if err != nil {
		return d
	}
	if d.Kind() == dtype.DateTime {
		name += " since 1970-01-01"
		attrs["calendar"] = json.RawMessage(`"proleptic_gregorian"`)
	}
	attrs["units"] = json.RawMessage(`"` + name + `"`)
	return as
}

// Coords are the documents of the coordinates that are arrays beside this one in its group, by their names.
func (v *View) Coords() map[string][]byte {
	out := make(map[string][]byte, len(v.coords))
	for _, c := range v.coords {
		out[c.name] = c.doc
	}
	return out
}

// CoordChunk returns the only chunk, c/0, of a coordinate; false if there is none of the name.
func (v *View) CoordChunk(name string) (p []byte, ok bool) {
	for _, c := range v.coords {
		if c.name == name {
			return c.c.AppendValues([]byte{}, c.n), true
		}
	}
	return nil, false
}
