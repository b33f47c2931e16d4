package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A chunkContent is a bare Blosc chunk.
type chunkContent struct {
	opened

	off  int64 // offset of the chunk in its object
	size int64 // bytes of the object
}

var _ content = (*chunkContent)(nil)

// chunkInfo is the JSON of `info` for a bare chunk.
type chunkInfo struct {
	Format    string   `json:"format"`
	URI       string   `json:"uri"`
	Size      int64    `json:"size"`
	ETag      string   `json:"etag,omitempty"`
	Offset    int64    `json:"offset,omitempty"`
	Version   int      `json:"version"`
	NBytes    int      `json:"nbytes"`
	CBytes    int      `json:"cbytes"`
	BlockSize int      `json:"blocksize"`
	TypeSize  int      `json:"typesize"`
	Codec     string   `json:"codec"`
	Filters   []string `json:"filters"`
	Special   *string  `json:"special"`
	Stored    bool     `json:"stored"` // the data follow the header uncompressed
	Blocks    int      `json:"blocks"`
}

func (t *chunkContent) info(ctx context.Context) (description, error) {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{})
	if err != nil {
		return description{}, err
	}
	h, _ := in.Detail.(blosc.Header)
	i := chunkInfo{Format: in.Format, URI: t.uri, Size: in.Source.Size, ETag: in.Source.ETag, Offset: t.off, Version: int(h.Version),
		NBytes: h.NBytes, CBytes: h.CBytes, BlockSize: h.BlockSize, TypeSize: h.TypeSize, Codec: in.Codec, Filters: listed(in.Filters),
		Special: specialName(h.Special), Stored: h.Memcpyed, Blocks: h.Blocks()}
	out := human.NewTable("", "")
	out.Add("uri", human.Printable(i.URI))
	out.Add("format", fmt.Sprintf("%s, version %d", i.Format, i.Version))
	out.Add("decoded", human.Size(int64(i.NBytes)))
	out.Add("stored", human.Size(int64(i.CBytes)))
	out.Add("item size", strconv.Itoa(i.TypeSize))
	out.Add("blocks", fmt.Sprintf("%s of %s", human.Count(int64(i.Blocks)), human.Size(int64(i.BlockSize))))
	codec := append([]string{i.Codec}, i.Filters...)
	switch {
	case i.Special != nil:
		codec = []string{"none: all " + *i.Special}
	case i.Stored:
		codec = []string{"none: the bytes as they are"}
	}
	out.Add("codec", strings.Join(codec, ", "))
	if i.ETag != "" {
		out.Add("etag", i.ETag)
	}
	return description{i, out}, nil
}

// specialName returns the name of the kind of a special chunk, or nil for another
// chunk.
func specialName(s blosc.Special) *string {
	if s == blosc.None {
		return nil
	}
	name := s.String()
	return &name
}

func (t *chunkContent) pick(ctx context.Context, s selector) (selection, error) {
	if err := s.only("Blosc chunk", "chunk", "chunks"); err != nil {
		return nil, err
	}
	return t.bytes(ctx, s)
}

// unpack writes the decoded bytes.
func (t *chunkContent) unpack(ctx context.Context, dst string, force bool) error {
	x, err := t.bytes(ctx, selector{})
	if err != nil {
		return err
	}
	return t.a.unpackBytes(ctx, x, dst, force)
}

// unpackBytes writes a selection to a new file.
func (a *app) unpackBytes(ctx context.Context, x selection, dst string, force bool) error {
	if err := a.fresh(dst, force); err != nil {
		return err
	}
	s, err := x.sink(dst)
	if err != nil {
		return err
	}
	defer s.Abort()
	if err := a.copy(ctx, x, s, "unpack"); err != nil {
		return err
	}
	return s.Commit()
}

var errTaken = fmt.Errorf("it is there already (--force replaces a file): %w", objstore.ErrExists)
