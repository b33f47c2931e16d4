package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/internal/human"
)

// A blpContent is a Bloscpack file: chunks of one size, or items of any length.
type blpContent struct {
	opened

	f     *farread.Bloscpack // the open file, for repair
	items farread.Itemer
	in    farread.BloscpackDetail
	size  int64            // bytes of the object
	n     int64            // decoded bytes; -1: only the chunks tell
	off   int64            // offset of the file in its object
	scan  bool             // info looks at each chunk
	arr   *bloscpack.Array // NumPy array in the chunks; nil: none
}

var _ content = (*blpContent)(nil)

// newBlp makes a content of an open file. It uses the metadata of the file.
func newBlp(ctx context.Context, o opened, f *farread.Bloscpack, how aim) (*blpContent, error) {
	items, err := able[farread.Itemer](&o)
	if err != nil {
		return nil, err
	}
	in, err := o.d.Describe(ctx, farread.DescribeOptions{})
	c := &blpContent{opened: o, f: f, items: items, size: in.Source.Size, n: in.NBytes, off: how.offset, scan: how.scan}
	c.in, _ = in.Detail.(farread.BloscpackDetail)
	c.arr = c.in.Array
	return c, err
}

// count returns the number of chunks or items, or 0 if it is unknown.
func (t *blpContent) count() int64 { return max(t.items.Items(), 0) }

// blpInfo is the JSON of `info` for Bloscpack files.
type blpInfo struct {
	Format    string          `json:"format"`
	URI       string          `json:"uri"`
	Size      int64           `json:"size"`
	ETag      string          `json:"etag,omitempty"`
	Offset    int64           `json:"offset,omitempty"`
	Version   int             `json:"version"`
	Checksum  string          `json:"checksum"`
	TypeSize  int             `json:"typesize"`
	ChunkSize int64           `json:"chunk_size"` // -1: unknown, or not the same for all chunks
	LastChunk int64           `json:"last_chunk"`
	NChunks   int64           `json:"nchunks"` // -1: unknown
	MaxAppend int64           `json:"max_app_chunks"`
	Offsets   bool            `json:"offsets"`
	Variable  bool            `json:"variable_length"`
	Aborted   bool            `json:"aborted"`
	Metadata  json.RawMessage `json:"metadata"`
	NBytes    *int64          `json:"nbytes"` // null: only the chunks tell, with --scan
	*blpArrayInfo
}

// blpArrayInfo are the additional members of `info` for arrays of NumPy.
type blpArrayInfo struct {
	Shape []int64 `json:"shape"`
	DType string  `json:"dtype"`
	Order string  `json:"order"`
}

func (t *blpContent) info(ctx context.Context) (description, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{Scan: t.scan})
	if err != nil {
		return description{}, err
	}
	h, _ := in.Detail.(farread.BloscpackDetail)
	i := &blpInfo{Format: in.Format, URI: t.uri, Size: in.Source.Size, ETag: in.Source.ETag, Offset: t.off,
		Version: h.Version, Checksum: h.Checksum.String(), TypeSize: h.TypeSize, ChunkSize: h.ChunkSize, LastChunk: h.LastChunk,
		NChunks: h.Chunks, MaxAppend: h.MaxAppend, Offsets: h.Offsets, Variable: h.Variable, Aborted: h.Aborted, Metadata: h.Metadata}
	if in.NBytes >= 0 {
		i.NBytes = &in.NBytes
	}
	if t.arr != nil {
		i.blpArrayInfo = &blpArrayInfo{in.Shape, in.DType, in.Order}
	}
	return description{i, i.table(h.Contents.Kind)}, nil
}

func (i *blpInfo) table(kind string) *human.Table {
	t := human.NewTable("", "")
	t.Add("uri", human.Printable(i.URI))
	t.Add("format", fmt.Sprintf("%s, version %d", i.Format, i.Version))
	if i.Aborted {
		t.Add("aborted", "its writing did not end; farread verify --repair saves the chunks that are there")
	}
	if a := i.blpArrayInfo; a != nil {
		t.Add("shape", human.Shape(a.Shape))
		t.Add("dtype", human.Printable(a.DType))
		t.Add("order", a.Order)
	}
	if i.Variable {
		items := counted(i.NChunks)
		if kind != "" {
			items += ", " + human.Printable(human.Shorten(kind, 60))
		}
		t.Add("items", items)
	} else {
		t.Add("chunks", counted(i.NChunks))
		t.Add("chunk size", sizeOrUnknown(i.ChunkSize))
	}
	t.Add("item size", strconv.Itoa(i.TypeSize))
	if i.NBytes != nil {
		t.Add("decoded", human.Size(*i.NBytes))
	}
	t.Add("checksum", i.Checksum)
	t.Add("size", human.Size(i.Size))
	if i.Offset > 0 {
		t.Add("offset", human.Count(i.Offset))
	}
	if i.ETag != "" {
		t.Add("etag", i.ETag)
	}
	if i.Metadata != nil {
		t.Add("metadata", human.Shorten(human.Printable(string(i.Metadata[:min(len(i.Metadata), 1000)])), 200))
	}
	return t
}

func counted(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return human.Count(n)
}

func sizeOrUnknown(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return human.Size(n)
}

// headOf returns the number of bytes of the file that were fetched when it was opened.
func headOf(t *blpContent) int64 {
	if all.ByName(t.key) == all.Bloscpack {
		return t.a.client.OpenForItem(0, 0).Head
	}
	return t.a.client.OpenFor(all.ByName(t.key)).Head
}

// itemOf returns the number of the item called name in a container of files.
func (t *blpContent) itemOf(name string) (int64, error) {
	names := t.in.Names
	if names == nil {
		return 0, usagef("--id %q: only containers of files have names; select items with --item", name)
	}
	for i, n := range names {
		if n == name {
			return int64(i), nil
		}
	}
	return 0, &formats.Error{Format: bloscpack.Format, Part: fmt.Sprintf("file %q", name), Off: -1, Err: formats.ErrNoEntry}
}
