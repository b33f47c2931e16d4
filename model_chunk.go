package farread

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

type chunkData struct {
	single
	k *Chunk
}

func newChunk(at Place, k *Chunk) Dataset {
	x := &chunkData{single{k.Object}, k}
	core := &data{driver: x, name: all.Blosc, place: at}
	return enabled(&oneChunk{core, bareChunk{k, at.Offset}, ranges{k.Object}}, core)
}

func (x *chunkData) describe(_ context.Context, _ DescribeOptions, out *Description) error {
	h := x.k.Header()
	out.Entries, out.NBytes, out.CBytes = 1, int64(h.NBytes), int64(h.CBytes)
	out.TypeSize, out.ChunkSize, out.BlockSize, out.Detail = h.TypeSize, int64(h.NBytes), int64(h.BlockSize), h
	out.Codec, out.Filters = h.Codec.String(), filterNames(h.Filters)
	return nil
}

func (x *chunkData) Entries(_ context.Context, after string) iter.Seq2[Entry, error] {
	return numbered(after, 1, func(int64) Entry {
		h := x.k.Header()
		e := Entry{Size: int64(h.NBytes), Stored: int64(h.CBytes)}
		if h.Special != blosc.None {
			e.Special = h.Special.String()
		}
		return e
	})
}

func (x *chunkData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	n, err := x.k.Verify(ctx, progress)
	return Report{Entries: 1, NBytes: n, CBytes: int64(x.k.Header().CBytes)}, err
}

func (x *chunkData) Handle() any { return x.k }

// bareChunk is the Chunker part.
type bareChunk struct {
	k   *Chunk
	off int64
}

func (c bareChunk) Chunks() int64 { return 1 }

func (c bareChunk) AppendStored(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	if i != 0 {
		return dst, noChunk(i)
	}
	p := make([]byte, c.k.h.CBytes)
	if err := c.k.r.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return dst, err
	}
	return append(dst, p...), nil
}

func noChunk(i int64) error {
	return &formats.Error{Format: all.Blosc, Part: fmt.Sprintf("chunk %d", i), Off: -1, Err: fmt.Errorf("there is one: %w", formats.ErrNoEntry)}
}

func (c bareChunk) ExplainStored(ctx context.Context, i int64) (Plan, error) {
	if i != 0 {
		return Plan{}, noChunk(i)
	}
	return ranges{c.k.Object}.ExplainRange(ctx, c.off, int64(c.k.h.CBytes))
}

// A Folder is a folder or prefix that is no dataset.
type Folder struct {
	Bucket objstore.Bucket
	Prefix string // "" or with its slash
}

type folderData struct{ f *Folder }

func newFolder(at Place) Dataset {
	x := &folderData{&Folder{at.Bucket, at.Key}}
	core := &data{driver: x, place: at}
	return enabled(&struct{ *data }{core}, core)
}

func (x *folderData) Source(context.Context) (Source, error) { return Source{}, nil }

func (x *folderData) Current(context.Context) (bool, error) { return true, nil }

// describe counts one level, or all levels. Entries and CBytes are known once the
// listing has ended.
func (x *folderData) describe(ctx context.Context, o DescribeOptions, out *Description) error {
	var n, size int64
	for e, err := range x.list(ctx, o.Scan) {
		if err != nil {
			return err
		}
		n++
		size += e
	}
	if out.Entries, out.CBytes = n, size; n == 0 {
		return x.nothing()
	}
	return nil
}

// list gives the sizes of what is there.
func (x *folderData) list(ctx context.Context, all bool) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if all {
			for in, err := range x.f.Bucket.List(ctx, x.f.Prefix) {
				if !yield(in.Size, err) {
					return
				}
			}
			return
		}
		for e, err := range objstore.ListFolder(ctx, x.f.Bucket, x.f.Prefix, "") {
			if !yield(e.Size, err) {
				return
			}
		}
	}
}

func (x *folderData) nothing() error {
	return &objstore.Error{Op: "list", Bucket: x.f.Bucket.Name(), Key: x.f.Prefix, Err: fmt.Errorf("nothing there: %w", objstore.ErrNotFound)}
}

// Entries lists one level. A cursor is the name of an entry, so it stays good while
// others come and go.
func (x *folderData) Entries(ctx context.Context, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if after != "" {
			after = x.f.Prefix + after
		}
		n := int64(0)
		for o, err := range objstore.ListFolder(ctx, x.f.Bucket, x.f.Prefix, after) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			name := strings.TrimPrefix(o.Key, x.f.Prefix)
			e := Entry{Cursor: name, N: n, Name: name, Size: o.Size, Stored: o.Size, Time: o.ModTime, Folder: o.Folder}
			if !o.Folder {
				e.Format = all.ByName(name)
			}
			if n++; !yield(e, nil) {
				return
			}
		}
		if n == 0 && after == "" {
			yield(Entry{}, x.nothing())
		}
	}
}

func (x *folderData) Verify(context.Context, formats.Progress) (Report, error) {
	return Report{}, errFolder
}

func (x *folderData) Handle() any { return x.f }
