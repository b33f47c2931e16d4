package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/farread/farread/formats/npy"
)

// unpack writes an array to a .npy, or to a file of its bytes with a note of
// what they are beside it; the bytes of any other frame to one file.
func (t *frameContent) unpack(ctx context.Context, dst string, force bool) error {
	x, err := t.pick(ctx, selector{})
	if err != nil {
		return err
	}
	if err := t.a.unpackBytes(ctx, x, dst, force); err != nil || t.arr == nil || strings.EqualFold(filepath.Ext(dst), ".npy") {
		return err
	}
	note, err := npy.AppendNote(nil, npy.Note{DType: t.arr.DType(), Shape: t.arr.Shape()})
	if err != nil {
		return err
	}
	return t.a.writeFile(dst+npy.NoteSuffix, note)
}

// fresh refuses to replace a file unless force says so.
func (a *app) fresh(dst string, force bool) error {
	if info, err := os.Stat(dst); err == nil && (info.IsDir() || !force) {
		return fmt.Errorf("%s: %w", printable(dst), errTaken)
	}
	return nil
}

// writeFile publishes a small file whole.
func (a *app) writeFile(name string, p []byte) error {
	s, err := a.newFileSink(name)
	if err != nil {
		return err
	}
	defer s.abort()
	if w, ok := s.(byteSink); ok {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return s.commit()
}
