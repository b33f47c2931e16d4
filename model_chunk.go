package farread

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

type chunkData struct {
	single
	k   *Chunk
	off int64 // offset of the chunk in its object
}

func newChunk(at Place, k *Chunk) Dataset {
	x := &chunkData{single{k.Object}, k, at.Offset}
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

func (x *chunkData) Entries(_ context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	return numbered(o.After, 1, func(int64) Entry {
		h := x.k.Header()
		return Entry{Off: x.off, Size: int64(h.NBytes), Stored: int64(h.CBytes), Special: special(h.Special)}
	})
}

func (x *chunkData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	n, err := x.k.Verify(ctx, progress)
	return Report{Entries: 1, NBytes: n, CBytes: int64(x.k.Header().CBytes)}, err
}

func (x *chunkData) HeldBytes() int64 { return ownBytes + x.ob.HeldBytes() }

func (x *chunkData) Handle() any { return x.k }

// bareChunk is the Chunker part of a bare chunk.
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

func (c bareChunk) Stored(ctx context.Context, i int64) ([]byte, error) {
	return c.AppendStored(ctx, nil, i)
}

func (c bareChunk) KeptStored(int64) []byte { return nil }

func (c bareChunk) LoadStored(context.Context, []int64, func(int64, []byte)) error { return nil }

func noChunk(i int64) error {
	return &formats.Error{Format: all.Blosc, Part: fmt.Sprintf("chunk %d", i), Off: -1, Err: fmt.Errorf("there is one: %w", formats.ErrNoEntry)}
}

func (c bareChunk) ExplainStored(ctx context.Context, i int64) (Plan, error) {
	if i != 0 {
		return Plan{}, noChunk(i)
	}
	return ranges{c.k.Object}.ExplainRange(ctx, c.off, int64(c.k.h.CBytes))
}

func (c bareChunk) ChunkBytes(_ context.Context, i, j int64) (off, n int64, err error) {
	switch {
	case i < 0 || i > j || j > 1:
		return 0, 0, noChunk(max(i, j-1))
	case i == j:
		return 0, 0, nil
	}
	return 0, int64(c.k.h.NBytes), nil
}

func (c bareChunk) ReadBytes(ctx context.Context, dst []byte, off int64) error {
	return c.EachBytes(ctx, off, int64(len(dst)), func(p []byte) error {
		dst = dst[copy(dst, p):]
		return nil
	})
}

// EachBytes decodes the chunk from its beginning to the last wanted byte.
func (c bareChunk) EachBytes(ctx context.Context, off, n int64, fn func(p []byte) error) error {
	if err := within(all.Blosc, off, n, int64(c.k.h.NBytes)); err != nil || n == 0 {
		return err
	}
	at := int64(0)
	err := c.k.Each(ctx, func(p []byte) error {
		from, to := max(off-at, 0), min(off+n-at, int64(len(p)))
		at += int64(len(p))
		if from < to {
			if err := fn(p[from:to]); err != nil {
				return err
			}
		}
		if at >= off+n && at < int64(c.k.h.NBytes) {
			return errStop
		}
		return nil
	})
	if err == errStop { //nolint:errorlint // fn has no way to it
		return nil
	}
	return err
}

// ExplainBytes plans a read of the whole chunk. The plan is an upper bound, unless the
// end of the chunk is wanted.
func (c bareChunk) ExplainBytes(ctx context.Context, off, n int64) (Plan, error) {
	size := int64(c.k.h.NBytes)
	if err := within(all.Blosc, off, n, size); err != nil || n == 0 {
		return Plan{}, err
	}
	requests, err := c.k.ExplainEach(ctx)
	if err != nil {
		return Plan{}, err
	}
	for i := range requests {
		requests[i].Estimated = requests[i].Estimated || off+n < size
	}
	return Plan{Size: n, Requests: located(requests, c.k.Object.Info().Key, c.off)}, nil
}

// A Folder is a folder or prefix that is no dataset.
type Folder struct {
	Bucket objstore.Bucket
	Prefix string // prefix with its slash; "" is the whole bucket
}

type folderData struct{ f *Folder }

func newFolder(at Place) Dataset {
	x := &folderData{&Folder{at.Bucket, at.Key}}
	core := &data{driver: x, place: at}
	return enabled(&struct{ *data }{core}, core)
}

func (x *folderData) Source(context.Context) (Source, error) { return Source{}, nil }

func (x *folderData) Current(context.Context) (bool, error) { return true, nil }

// describe counts the entries of one level, or of all levels. Entries and CBytes are
// known once the listing has ended.
func (x *folderData) describe(ctx context.Context, o DescribeOptions, out *Description) error {
	var n, size int64
	for e, err := range x.list(ctx, "", o.Scan) {
		if err != nil {
			return err
		}
		n++
		size += e.Size
	}
	if out.Entries, out.CBytes = n, size; n == 0 {
		return x.nothing()
	}
	return nil
}

// list lists the entries behind a name: those of one level, or all objects.
func (x *folderData) list(ctx context.Context, after string, all bool) iter.Seq2[objstore.FolderEntry, error] {
	if after != "" {
		after = x.f.Prefix + after
	}
	if !all {
		return objstore.ListFolder(ctx, x.f.Bucket, x.f.Prefix, after)
	}
	return func(yield func(objstore.FolderEntry, error) bool) {
		for in, err := range objstore.ListAfter(ctx, x.f.Bucket, x.f.Prefix, after) {
			if !yield(objstore.FolderEntry{Info: in}, err) {
				return
			}
		}
	}
}

func (x *folderData) nothing() error {
	return &objstore.Error{Op: "list", Bucket: x.f.Bucket.Name(), Key: x.f.Prefix, Err: fmt.Errorf("nothing there: %w", objstore.ErrNotFound)}
}

// Entries lists one level, or all levels. A cursor is the name of an entry, so it stays
// valid if other entries appear or disappear.
func (x *folderData) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		n := int64(0)
		for in, err := range x.list(ctx, o.After, o.Scan) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			name := strings.TrimPrefix(in.Key, x.f.Prefix)
			e := Entry{Cursor: name, N: n, Name: name, Off: -1, Size: in.Size, Stored: in.Size, Time: in.ModTime, Folder: in.Folder}
			if !in.Folder {
				e.Format = NameOf(name)
			}
			if n++; !yield(e, nil) {
				return
			}
		}
		if n == 0 && o.After == "" {
			yield(Entry{}, x.nothing())
		}
	}
}

func (x *folderData) Verify(context.Context, formats.Progress) (Report, error) {
	return Report{}, errFolder
}

func (x *folderData) HeldBytes() int64 { return ownBytes }

func (x *folderData) Handle() any { return x.f }
