package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

// unpack writes an array to a .npy, or to a file of its items with a note about them
// beside it, in the order of its source. It writes the bytes of any other frame to one
// file.
func (t *frameContent) unpack(ctx context.Context, dst string, force bool) error {
	if t.shard != nil && (t.arr == nil || !isZarr(dst)) {
		return usagef("--shard goes with an array and DST.zarr")
	}
	if t.arr == nil {
		x, err := t.pick(ctx, selector{})
		if err != nil {
			return err
		}
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	if isZarr(dst) {
		return t.unpackZarr(ctx, dst, force)
	}
	x, err := t.selected(ctx, selector{})
	if err != nil {
		return err
	}
	if err := x.likeSource(ctx); err != nil {
		return err
	}
	if strings.EqualFold(filepath.Ext(dst), ".npy") {
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	return t.a.unpackNoted(ctx, x, npy.Note{DType: x.dtype, Shape: t.arr.Shape(), Fortran: x.fortran}, dst, force)
}

// likeSource changes an array's items to the form of their source, in Fortran order or
// with gaps between members, if the notes of pack say so.
func (x *itemSelection) likeSource(ctx context.Context) error {
	in, err := x.t.d.Describe(ctx, farread.DescribeOptions{})
	f, _ := in.Detail.(farread.FrameDetail)
	for _, l := range f.VLMetalayers {
		if l.Name == pack.OrderLayer && string(l.Data) == "\xa1F" {
			x.fortran = true
		}
	}
	x.dtype = pack.SourceType(f.VLMetalayers, x.dtype)
	return err
}

// fresh returns an error if a file exists and force is not set.
func (a *app) fresh(dst string, force bool) error {
	if info, err := os.Stat(dst); err == nil && (info.IsDir() || !force) {
		return fmt.Errorf("%s: %w", human.Printable(dst), errTaken)
	}
	return nil
}
