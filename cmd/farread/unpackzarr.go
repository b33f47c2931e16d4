package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/human"
)

// isZarr reports whether a local name is one of Zarr.
func isZarr(name string) bool {
	return strings.EqualFold(filepath.Ext(strings.TrimRight(filepath.ToSlash(name), "/")), ".zarr")
}

// unpackZarr writes an array to the folder dst as Zarr.
func (t *frameContent) unpackZarr(ctx context.Context, dst string, force bool) error {
	m, err := t.newZarr(ctx)
	if err != nil {
		return err
	}
	if t.shard != nil {
		if m.ShardShape = t.shard; len(t.shard) != len(m.Shape) {
			return usagef("--shard has %s, the array %d", human.Plural(int64(len(t.shard)), "length"), len(m.Shape))
		}
		for i, n := range t.shard {
			if n < 1 || n%m.ChunkShape[i] != 0 {
				return usagef("--shard %s: want whole chunks, of %s", human.Shape(t.shard), human.Shape(m.ChunkShape))
			}
		}
	}
	s, err := t.a.zarrSink(dst, force)
	if err != nil {
		return err
	}
	defer s.Abort()
	size, err := t.arr.SizeOf(b2nd.Whole(m.Shape))
	if err != nil {
		return err
	}
	b := t.a.newBar("unpack", size)
	defer b.clear()
	if err := zarr.Write(ctx, m.NewArray, t.a.zarrWrite(), t.zarrItems(b), s.File); err != nil {
		return err
	}
	return s.Commit()
}

// zarrSink makes the folder dst of Zarr, which appears as a whole.
func (a *app) zarrSink(dst string, force bool) (*sink.Folder, error) {
	if err := freshZarr(dst, force); err != nil {
		return nil, err
	}
	return sink.NewReplacing(&a.trash, dst, func(name string) error { return fmt.Errorf("%s twice: %w", name, formats.ErrCorrupt) })
}

func (a *app) zarrWrite() zarr.WriteOptions {
	return zarr.WriteOptions{MaxMemory: int64(a.flags.maxMemory) / 4}
}

// zarrItems reads the items of the array for a writer of Zarr.
func (t *frameContent) zarrItems(b bar) func(ctx context.Context, box b2nd.Box, p []byte) error {
	return func(ctx context.Context, box b2nd.Box, p []byte) error {
		err := t.arr.ReadSlice(ctx, p, box)
		b.add(int64(len(p)))
		return err
	}
}

// A newZarr is an array to be written as Zarr, and its coordinates.
type newZarr struct {
	zarr.NewArray

	coords []arraymeta.Coord
}

// newZarr takes shapes and type from the array, and names of axes, attributes, the fill value and
// coordinates from its layers.
func (t *frameContent) newZarr(ctx context.Context) (m newZarr, err error) {
	m.Shape, m.DType = t.arr.Shape(), t.arr.DType()
	chunk, _ := t.arr.Cells()
	for _, n := range chunk {
		m.ChunkShape = append(m.ChunkShape, max(int64(n), 1))
	}
	if l, ok := t.arr.(farread.Labeler); ok {
		meta, err := l.Meaning(ctx)
		if err != nil {
			return m, err
		}
		m.Dims, m.Attrs, m.Fill, m.coords = meta.Dims, meta.Attrs, meta.Fill, meta.Coords
	}
	if _, err := zarr.ParseFill(m.DType, m.Fill); err != nil {
		m.Fill = nil
	}
	return m, nil
}

// freshZarr returns an error if dst is there. With force it may be Zarr, which is replaced as a
// whole: chunks of another array must not stay.
func freshZarr(dst string, force bool) error {
	list, err := os.ReadDir(dst)
	if err != nil {
		if _, err := os.Lstat(dst); err == nil {
			return fmt.Errorf("%s is a file: %w", human.Printable(dst), errTaken)
		}
		return nil
	}
	if len(list) == 0 {
		return nil
	}
	if !force {
		return fmt.Errorf("%s: %w", human.Printable(dst), errTaken)
	}
	if !slices.ContainsFunc(list, func(e os.DirEntry) bool { return slices.Contains(zarr.Documents(), e.Name()) }) {
		return usagef("%s is a folder of something else than Zarr: --force does not replace it", human.Printable(dst))
	}
	return nil
}
