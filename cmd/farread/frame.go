package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/human"
)

// A frameContent is a Blosc2 frame, contiguous or sparse. It may be an array.
type frameContent struct {
	opened

	arr farread.Slicer // the array; nil: the frame has only chunks of bytes
	off int64          // offset of the frame in its object

	shard shapeFlag // unpack: shape of the shards of Zarr; nil: none
}

var _ content = (*frameContent)(nil)

// frameInfo is the JSON of `info` for frames, and with the last fields for arrays.
type frameInfo struct {
	Format       string            `json:"format"`
	URI          string            `json:"uri"`
	Size         int64             `json:"size"` // bytes of the object; for a sparse frame, of its index and chunks
	ETag         string            `json:"etag,omitempty"`
	Offset       int64             `json:"offset,omitempty"` // offset of the frame in the object
	FrameLen     int64             `json:"frame_length"`
	Version      int               `json:"version"`
	NBytes       int64             `json:"nbytes"`
	CBytes       int64             `json:"cbytes"`
	NChunks      int               `json:"nchunks"`
	ChunkSize    int               `json:"chunksize"`
	BlockSize    int               `json:"blocksize"`
	TypeSize     int               `json:"typesize"`
	Codec        string            `json:"codec"`
	Level        int               `json:"clevel"`
	Filters      []string          `json:"filters"`
	Metalayers   map[string][]byte `json:"metalayers"`
	VLMetalayers map[string][]byte `json:"vlmetalayers"`
	// Metadata has the metalayers of both kinds that are msgpack, decoded.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	// Index tells of the index of block starts; its bytes are 0 if none is used.
	Index   farread.FrameIndex `json:"index"`
	Refused string             `json:"refused,omitempty"` // reason why the data cannot be read
	*arrayInfo
}

// arrayInfo are the additional members of `info` for arrays.
type arrayInfo struct {
	Shape      []int64 `json:"shape"`
	ChunkShape []int   `json:"chunkshape"`
	BlockShape []int   `json:"blockshape"`
	DType      string  `json:"dtype"`
	// ItemType is the type by which items are read. It differs from the stored text if
	// this text is not a type, or does not fit the size of an item.
	ItemType string `json:"item_dtype"`
	// Statistics are what the index says of the values of the items.
	Statistics *farread.ArrayStatistics `json:"statistics,omitempty"`
	// Dims, Coords, Attrs and Fill say what the items mean, if the array does.
	Dims   []string                   `json:"dims,omitempty"`
	Coords []farread.Coordinate       `json:"coords,omitempty"`
	Attrs  map[string]json.RawMessage `json:"attrs,omitempty"`
	Fill   json.RawMessage            `json:"fill,omitempty"`
}

func (t *frameContent) info(ctx context.Context) (description, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{})
	if err != nil {
		return description{}, err
	}
	f, _ := in.Detail.(farread.FrameDetail)
	i := &frameInfo{Format: in.Format, URI: t.uri, Size: in.Source.Size, ETag: in.Source.ETag, Offset: t.off,
		FrameLen: f.FrameLen, Version: f.Version, NBytes: f.NBytes, CBytes: f.CBytes, NChunks: int(in.Entries), ChunkSize: f.ChunkSize,
		BlockSize: f.BlockSize, TypeSize: f.TypeSize, Codec: in.Codec, Level: in.Level, Filters: listed(in.Filters),
		Metalayers: layerMap(f.Metalayers), VLMetalayers: layerMap(f.VLMetalayers), Index: f.Index, Refused: in.Refused, Metadata: in.Metadata}
	if t.arr != nil {
		i.arrayInfo = &arrayInfo{Shape: in.Shape, ChunkShape: in.ChunkShape, BlockShape: in.BlockShape, DType: f.DType, ItemType: in.DType, Statistics: f.Statistics,
			Dims: in.Dims, Coords: in.Coords, Attrs: in.Attrs, Fill: in.Fill}
	}
	return description{i, i.table()}, nil
}

// listed returns names as a list that JSON does not write as null.
func listed(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}

func layerMap(layers []cframe.Metalayer) map[string][]byte {
	m := make(map[string][]byte, len(layers))
	for _, l := range layers {
		data := l.Data
		if data == nil {
			data = []byte{} // JSON null is not base64
		}
		m[l.Name] = data
	}
	return m
}

func (i *frameInfo) table() *human.Table {
	t := human.NewTable("", "")
	t.Add("uri", human.Printable(i.URI))
	t.Add("format", i.Format)
	if a := i.arrayInfo; a != nil {
		t.Add("shape", human.Shape(a.Shape))
		t.Add("dtype", human.Printable(a.ItemType))
		t.Add("chunks", fmt.Sprintf("%s of %s", human.Count(int64(i.NChunks)), human.Shape(a.ChunkShape)))
		t.Add("blocks", human.Shape(a.BlockShape))
		a.meaning(t)
	} else {
		t.Add("chunks", human.Count(int64(i.NChunks)))
		t.Add("chunk size", sizeOrVaries(i.ChunkSize))
		t.Add("item size", strconv.Itoa(i.TypeSize))
	}
	t.Add("decoded", human.Size(i.NBytes))
	stored := human.Size(i.CBytes)
	if i.CBytes > 0 {
		stored += fmt.Sprintf(", 1/%.1f", float64(i.NBytes)/float64(i.CBytes))
	}
	t.Add("stored", stored)
	codec := fmt.Sprintf("%s, level %d", i.Codec, i.Level)
	if len(i.Filters) > 0 {
		codec += ", " + strings.Join(i.Filters, ", ")
	}
	t.Add("codec", codec)
	t.Add("size", human.Size(i.Size))
	if i.Offset > 0 {
		t.Add("offset", human.Count(i.Offset))
	}
	if i.ETag != "" {
		t.Add("etag", i.ETag)
	}
	if text := frameIndexText(i.Index, i.Size); text != "" {
		t.Add("index", text)
	}
	if a := i.arrayInfo; a != nil && a.Statistics != nil {
		addRanges(t, a.Statistics)
	}
	layers := func(name string, m map[string][]byte) {
		if len(m) > 0 {
			t.Add(name, layerText(m))
		}
	}
	layers("metalayers", i.Metalayers)
	layers("vlmetalayers", i.VLMetalayers)
	i.decoded(t)
	if i.Refused != "" {
		t.Add("refused", human.Printable(i.Refused))
	}
	return t
}

// maxRanges is how many columns info shows at most; --json has all.
const maxRanges = 12

// addRanges adds what the index says of the values of an array.
func addRanges(t *human.Table, s *farread.ArrayStatistics) {
	if s.Unused != "" {
		t.Add("range", "the statistics are not used: "+human.Printable(s.Unused))
	}
	for i, c := range s.Columns {
		if i == maxRanges {
			t.Add("", fmt.Sprintf("and of %s more", human.Plural(int64(len(s.Columns)-i), "column")))
			return
		}
		name := "range"
		if c.Name != "" {
			name += " of " + human.Printable(c.Name)
		}
		text := "no number"
		if c.Min != nil {
			text = strings.ReplaceAll(fmt.Sprintf("%s to %s", c.Min, c.Max), `"`, "")
		}
		if c.NaN > 0 {
			text += fmt.Sprintf(", %s NaN", human.Count(c.NaN))
		}
		t.Add(name, text)
	}
}

// frameIndexText describes the index of a frame. It is empty if there is none.
func frameIndexText(x farread.FrameIndex, file int64) string {
	switch {
	case x.Bytes > 0:
		return usedIndexText(x.Bytes, x.Inside, file)
	case x.Unused == "":
		return ""
	case x.Inside:
		return "the one inside is not used: " + human.Printable(x.Unused)
	}
	return "the one beside it is not used: " + human.Printable(x.Unused)
}

func sizeOrVaries(n int) string {
	if n <= 0 {
		return "varies"
	}
	return human.Size(int64(n))
}
