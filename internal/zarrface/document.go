package zarrface

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zarr"
)

type arrayDoc struct {
	ZarrFormat       int            `json:"zarr_format"`
	NodeType         string         `json:"node_type"`
	Shape            []int64        `json:"shape"`
	DataType         any            `json:"data_type"`
	ChunkGrid        zarr.Named     `json:"chunk_grid"`
	ChunkKeyEncoding zarr.Named     `json:"chunk_key_encoding"`
	FillValue        any            `json:"fill_value"`
	Codecs           []zarr.Named   `json:"codecs"`
	DimensionNames   []string       `json:"dimension_names"`
	Attributes       map[string]any `json:"attributes"`
}

// ours is the attribute "farread".
type ours struct {
	DType      string    `json:"dtype"`
	ChunkShape []int     `json:"chunkshape"`
	BlockShape []int     `json:"blockshape"`
	Version    string    `json:"version,omitempty"`
	Pinned     string    `json:"pinned,omitempty"`
	Cast       *castNote `json:"cast,omitempty"`
	Skipped    []string  `json:"skipped,omitempty"` // vlmetalayers that are no JSON, and what no client reads
}

type castNote struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Lossy bool   `json:"lossy"`
}

// maxAttributes bounds the bytes of all vlmetalayers in a document.
const maxAttributes = 1 << 20

// document makes the zarr.json of v.
func document(v *View, m b2nd.Meta, t zarr.Type, stored dtype.DType, layers []cframe.Metalayer, o Options) ([]byte, error) {
	note := ours{DType: m.DType, ChunkShape: list(m.ChunkShape), BlockShape: list(m.BlockShape), Version: o.Version, Pinned: o.Pinned}
	if o.Cast != "" {
		note.Cast = &castNote{From: stored.String(), To: o.Cast, Lossy: v.cast != nil && v.cast.lossy}
	}
	attributes, left := map[string]any{}, maxAttributes
	for _, l := range layers {
		text, err := l.JSON(cframe.JSONLimits{Bytes: max(left, 1)})
		if err != nil || l.Name == attribute {
			note.Skipped = append(note.Skipped, l.Name)
			continue
		}
		left -= len(text)
		attributes[l.Name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(v.meta.Attrs)) {
		text := v.meta.Attrs[name]
		if left -= len(text) + len(name); left < 0 {
			note.Skipped = append(note.Skipped, name)
			continue
		}
		attributes[name] = text
	}
	if !respell(attributes, v.dtype) {
		delete(attributes, mask)
		note.Skipped = append(note.Skipped, mask)
	}
	names := v.meta.Dims
	if names == nil {
		names = Numbered(v.shape, o.Folder)
	}
	attributes[attribute] = note
	return zarr.Marshal(arrayDoc{
		ZarrFormat: 3, NodeType: "array", Shape: list(v.shape), DataType: t.Data, FillValue: t.Fill,
		ChunkGrid:        zarr.Named{Name: "regular", Configuration: map[string][]int64{"chunk_shape": list(v.cell)}},
		ChunkKeyEncoding: zarr.Named{Name: "default", Configuration: map[string]string{"separator": "/"}},
		Codecs:           append([]zarr.Named{t.BytesCodec()}, v.codec.named(v.dtype.ItemSize())...),
		DimensionNames:   names, Attributes: attributes,
	})
}

// attribute is the name of the attribute of this program.
const attribute = "farread"

// list is never nil, which JSON would write as null.
func list[T any](s []T) []T { return append([]T{}, s...) }

// named describes a codec for items of the given size. Readers of Blosc chunks take codec,
// filter and sizes from each chunk: what stands in the document is for writers.
func (c Codec) named(item int) []zarr.Named {
	switch c {
	case Zstd:
		return []zarr.Named{{Name: "zstd", Configuration: map[string]any{"level": 1, "checksum": false}}}
	case Gzip:
		return []zarr.Named{{Name: "gzip", Configuration: map[string]any{"level": 1}}}
	case Pass:
		return []zarr.Named{{Name: "blosc", Configuration: map[string]any{
			"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": min(item, 255), "blocksize": 0,
		}}}
	default:
		return nil
	}
}

// Numbered returns names of axes for an array that has none. In a folder they name its lengths, so that arrays
// of one length share an axis.
func Numbered(shape []int64, folder bool) []string {
	names := make([]string, len(shape))
	for i, n := range shape {
		if names[i] = "dim_" + strconv.Itoa(i); folder {
			names[i] = "n" + strconv.FormatInt(n, 10)
			for slices.Contains(names[:i], names[i]) {
				names[i] += "_"
			}
		}
	}
	return names
}

// A Group is a folder of arrays, or one array under a name.
type Group struct {
	// Arrays are the documents of the arrays by their names, which have no slash.
	Arrays map[string][]byte
	// Attrs are attributes of the group.
	Attrs map[string]json.RawMessage
	// Skipped are the names of what is no array that clients can read, for the attribute
	// "farread".
	Skipped []string
	// Index is what there is to say of the index of the group, for the attribute "farread".
	Index string
	// Left is what there is to say of coordinates that are left out, by name, for the attribute "farread".
	Left map[string]string
}

// Doc returns the document zarr.json of a group, with the documents of its arrays in it:
// over HTTP, where nothing is listed, xarray finds arrays in no other way. A group of one
// array calls it "data".
func (g Group) Doc() ([]byte, error) {
	attrs := maps.Clone(g.Attrs)
	if attrs == nil {
		attrs = map[string]json.RawMessage{}
	}
	if len(g.Skipped) > 0 || g.Index != "" || len(g.Left) > 0 {
		text, err := zarr.Marshal(struct {
			Skipped []string          `json:"skipped,omitempty"`
			Index   string            `json:"index,omitempty"`
			Left    map[string]string `json:"coordinates,omitempty"`
		}{g.Skipped, g.Index, g.Left})
		if err != nil {
			return nil, err
		}
		attrs[attribute] = text
	}
	members := map[string]json.RawMessage{}
	for name, text := range g.Arrays {
		members[name] = text
	}
	return zarr.GroupDoc(attrs, members)
}
