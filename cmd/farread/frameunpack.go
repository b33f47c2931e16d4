package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/human"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
)

// unpack writes an array to a .npy, or to a file of its items with a note about them
// beside it, in the order of its source. It writes the bytes of any other frame to one
// file.
func (t *frameContent) unpack(ctx context.Context, dst string, force bool) error {
	if t.arr == nil {
		x, err := t.pick(ctx, selector{})
		if err != nil {
			return err
		}
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	x, err := t.items(selector{})
	if err != nil {
		return err
	}
	if err := x.likeSource(ctx); err != nil {
		return err
	}
	if strings.EqualFold(filepath.Ext(dst), ".npy") {
		return t.a.unpackBytes(ctx, x, dst, force)
	}
	if err := t.a.fresh(dst+npy.NoteSuffix, force); err != nil {
		return err
	}
	if err := t.a.unpackBytes(ctx, x, dst, force); err != nil {
		return err
	}
	note, err := npy.AppendNote(nil, npy.Note{DType: x.dtype, Shape: t.arr.Shape(), Fortran: x.fortran})
	if err != nil {
		return err
	}
	return sink.WriteFile(&t.a.trash, dst+npy.NoteSuffix, note)
}

// likeSource takes an array's items as its source had them, in Fortran order and with
// gaps between members, if the notes that pack made say so.
func (x *itemSelection) likeSource(ctx context.Context) error {
	layers, err := x.t.f.VLMetalayers(ctx)
	for _, l := range layers {
		if l.Name == pack.OrderLayer && string(l.Data) == "\xa1F" {
			x.fortran = true
		}
	}
	x.dtype = pack.SourceType(layers, x.dtype)
	return err
}

// fresh refuses to replace a file unless force says so.
func (a *app) fresh(dst string, force bool) error {
	if info, err := os.Stat(dst); err == nil && (info.IsDir() || !force) {
		return fmt.Errorf("%s: %w", human.Printable(dst), errTaken)
	}
	return nil
}
