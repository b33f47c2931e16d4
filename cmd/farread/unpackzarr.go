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
	m := zarr.NewArray{Shape: t.arr.Shape(), DType: t.arr.DType()}
	chunk, _ := t.arr.Cells()
	for _, n := range chunk {
		m.ChunkShape = append(m.ChunkShape, max(int64(n), 1))
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
	if err := t.meaning(ctx, &m); err != nil {
		return err
	}
	if err := freshZarr(dst, force); err != nil {
		return err
	}
	s, err := sink.NewReplacing(&t.a.trash, dst, func(name string) error { return fmt.Errorf("%s twice: %w", name, formats.ErrCorrupt) })
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
	err = zarr.Write(ctx, m, zarr.WriteOptions{MaxMemory: int64(t.a.flags.maxMemory) / 4}, func(ctx context.Context, box b2nd.Box, p []byte) error {
		err := t.arr.ReadSlice(ctx, p, box)
		b.add(int64(len(p)))
		return err
	}, s.File)
	if err != nil {
		return err
	}
	return s.Commit()
}

// meaning takes names of axes, attributes and the fill value from the frame's layers.
func (t *frameContent) meaning(ctx context.Context, m *zarr.NewArray) error {
	in, err := t.d.Describe(ctx, farread.DescribeOptions{})
	if err != nil {
		return err
	}
	f, _ := in.Detail.(farread.FrameDetail)
	for _, l := range f.VLMetalayers {
		if l.Name != arraymeta.Layer {
			continue
		}
		if meta, err := arraymeta.Decode(l.Data, m.Shape, formats.Limits{}); err != nil {
			t.a.warn(t.uri, err.Error()+": written without names of axes and attributes")
		} else {
			m.Dims, m.Attrs, m.Fill = meta.Dims, meta.Attrs, meta.Fill
		}
	}
	if _, err := zarr.ParseFill(m.DType, m.Fill); err != nil {
		m.Fill = nil
	}
	return nil
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
