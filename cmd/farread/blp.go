package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/bloscpack"
)

// A blpContent is a Bloscpack file: chunks of one size, or items of any.
type blpContent struct {
	opened

	f    *farread.Bloscpack
	off  int64            // of the file in its object
	scan bool             // info looks at each chunk
	arr  *bloscpack.Array // nil: no array of numpy's
	// arrErr is the reason if the metadata of NumPy's array cannot be used.
	arrErr error
}

var _ content = (*blpContent)(nil)

// newBlp makes a content of an open file, by its metadata.
func newBlp(o opened, f *farread.Bloscpack, how aim) *blpContent {
	c := &blpContent{opened: o, f: f, off: how.offset, scan: how.scan}
	arr, ok, err := f.Array()
	if c.arrErr = err; ok && err == nil {
		c.arr = &arr
	}
	return c
}

// readable returns an error if there is nothing to read: if the writing of the file
// did not end.
func (t *blpContent) readable(ctx context.Context) error {
	if !t.f.Aborted() {
		return nil
	}
	return t.f.Each(ctx, 0, 0, nil)
}

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
	ChunkSize int64           `json:"chunk_size"` // -1: unknown, or each its own
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

// blpLine is a line of `ls --json` of a Bloscpack file. An item that was never
// written has no offset.
type blpLine struct {
	chunkLine

	Name *string `json:"name,omitempty"`
}

func (t *blpContent) ls(ctx context.Context, l *listing) error {
	names := t.f.Names()
	head := []string{">CHUNK", ">OFFSET", ">STORED", ">DECODED", "SPECIAL"}
	if t.f.Header().Variable {
		head[0] = ">ITEM"
	}
	if names != nil {
		head = append(head, "NAME")
	}
	l.head(head...)
	// A file that was opened whole costs no further request.
	scan := l.scan || isLocal(t.bucket) || t.f.Object.Size() <= headOf(t)
	return t.f.Entries(ctx, 0, t.f.Len(), scan, func(i int64, e bloscpack.Entry) error {
		line := blpLine{chunkLine: t.line(i, e)}
		cells := line.cells()
		if names != nil {
			line.Name = &names[i]
			cells = append(cells, human.Printable(names[i]))
		}
		return l.add(line, cells...)
	})
}

// headOf is how much of the file was fetched when it was opened.
func headOf(t *blpContent) int64 {
	if all.ByName(t.key) == all.Bloscpack {
		return t.a.client.OpenForItem(0, 0).Head
	}
	return t.a.client.OpenFor(all.ByName(t.key)).Head
}

// line is a chunk's line, from its entry.
func (t *blpContent) line(i int64, e bloscpack.Entry) chunkLine {
	l := chunkLine{Chunk: int(i)}
	if e.Missing() {
		return l
	}
	off := e.Off + t.off
	l.Offset = &off
	if e.CBytes >= 0 {
		l.CBytes = &e.CBytes
	}
	if e.Chunk != nil {
		l.Special = specialName(e.Chunk.Special)
	}
	if e.NBytes >= 0 {
		n := int(e.NBytes)
		l.NBytes = &n
	}
	return l
}

// itemOf is the number of the item of that name in a container of files.
func (t *blpContent) itemOf(name string) (int64, error) {
	names := t.f.Names()
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
