package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// besideKey is the key of an array beside that of a key.
func besideKey(key, name string) string { return path.Join(path.Dir(key), name) }

// A besideCoord is a coordinate that is an array beside, with the values of that array.
type besideCoord struct {
	arraymeta.Coord

	values []byte
}

// besideNamed is a coordinate that is an array beside, called as its dimension.
func besideNamed(c arraymeta.Coord) arraymeta.Coord {
	return arraymeta.Coord{Dim: c.Dim, DType: c.DType, Array: c.Dim + pack.ArraySuffix, Attrs: c.Attrs}
}

// writeBeside writes the array beside that of a key which has the values of a coordinate. One that is there and has
// these values stays; another one is replaced with force only, and if the array that is replaced had it.
func (a *app) writeBeside(ctx context.Context, b objstore.Bucket, key string, c besideCoord, force bool) error {
	values := c.values
	d, err := dtype.Parse(c.DType)
	if err != nil {
		return err
	}
	layer, err := arraymeta.Meta{Dims: []string{c.Dim}, Attrs: c.Attrs}.Append(nil)
	if err != nil {
		return usagef("%s", err)
	}
	to := target{bucket: b, key: besideKey(key, c.Array)}
	if strings.ContainsAny(c.Dim, `/\`) || strings.HasPrefix(c.Dim, ".") || to.key == key {
		return usagef("the coordinate %s takes %s, and no array beside can be called so: give the dimension another name", human.Printable(c.Dim), human.Size(int64(len(values))))
	}
	n := int64(len(values) / d.ItemSize())
	same, err := a.sameBeside(ctx, to, d, values)
	if err != nil || same {
		return err
	}
	fill := func(_ context.Context, w objstore.Writer) error {
		x, err := b2nd.NewWriter(w, b2nd.Meta{Shape: []int64{n}, DType: d.String()}, b2nd.WriteOptions{Encode: pack.DefaultEncode(), VLMetalayers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: layer}}})
		if err != nil {
			return err
		}
		defer x.Abort()
		if _, err := x.Write(values); err != nil {
			return err
		}
		return x.Close()
	}
	if a.rehearsal != nil {
		w, err := objstore.Rehearse(ctx, b, to.key, objstore.PutOptions{}, a.rehearsal.step)
		if err != nil {
			return err
		}
		defer w.Abort()
		if err := fill(ctx, w); err != nil {
			return err
		}
		_, err = w.Commit(ctx)
		return err
	}
	_, err = a.packObject(ctx, to, force, fill)
	return err
}

// writeBesides writes arrays beside that of to, before it: if that is there already, nothing.
func (a *app) writeBesides(ctx context.Context, to target, list []besideCoord, force bool, rep *arrayReport) error {
	if len(list) == 0 {
		return nil
	}
	if err := free(ctx, to, force); err != nil {
		return err
	}
	for _, c := range list {
		if err := a.writeBeside(ctx, to.bucket, to.key, c, force && a.namesBeside(ctx, to, c.Array)); err != nil {
			if force && errors.Is(err, objstore.ErrExists) {
				err = fmt.Errorf("%s is there with other items, and is no coordinate of what --force replaces: remove it, or give the dimension another name: %w", besideKey(to.key, c.Array), objstore.ErrExists)
			}
			return err
		}
		rep.Outputs = append(rep.Outputs, join(to.bucket.Name(), besideKey(to.key, c.Array)))
	}
	return nil
}

// namesBeside reports whether the array that is there has the array beside for a coordinate. Others than that may be
// datasets of their own, or what items of other arrays are found by.
func (a *app) namesBeside(ctx context.Context, to target, name string) bool {
	x, err := a.client.OpenArray(ctx, join(to.bucket.Name(), to.key), farread.FrameOptions{})
	if err != nil {
		return false
	}
	m, err := x.Meaning(ctx)
	return err == nil && slices.ContainsFunc(m.Coords, func(c arraymeta.Coord) bool { return c.Array == name })
}

// besideStored reads the coordinates of a b2nd that are arrays beside it, but those that flags replace. Of one that
// cannot be read a line says so, and the array goes without.
func (a *app) besideStored(ctx context.Context, src string, of *farread.Array, f *packFlags) (list []besideCoord, err error) {
	m, err := of.Meaning(ctx)
	if err != nil {
		return nil, err
	}
	for i, dim := range m.Dims {
		c, ok := m.Coord(dim)
		if !ok || c.Inline() || f.meta.replaces(dim) {
			continue
		}
		x, err := of.Axis(ctx, i)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			a.warn(src, "the array goes without it: "+err.Error())
			continue
		}
		c.DType = x.Type().String()
		list = append(list, besideCoord{c, x.AppendValues(nil)})
	}
	return list, nil
}

// besideMember reads the coordinates of an array of Zarr that are too long for its layer, but those that flags replace.
func (a *app) besideMember(ctx context.Context, src string, arr pack.Array, f *packFlags) (pack.Array, []besideCoord, error) {
	var list []besideCoord
	for i, c := range arr.Beside() {
		if f.meta.replaces(c.Dim) {
			continue
		}
		x, ok, err := arr.Axis(ctx, i)
		if errors.Is(err, formats.ErrTooLarge) {
			a.warn(src, "the array goes without it: "+err.Error())
			return arr.Alone(), list, nil
		}
		if err != nil {
			return arr, nil, err
		}
		if ok {
			c.DType = x.Type().String()
			list = append(list, besideCoord{c, x.AppendValues(nil)})
		}
	}
	return arr, list, nil
}

// sameBeside reports whether there is an array with these values.
func (a *app) sameBeside(ctx context.Context, to target, d dtype.DType, values []byte) (bool, error) {
	o, err := objstore.Open(ctx, to.bucket, to.key, objstore.OpenOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, at(join(to.bucket.Name(), to.key), err)
	}
	x, err := b2nd.Open(ctx, o, b2nd.Options{})
	if err != nil || !x.DType().Equal(d) || !slices.Equal(x.Shape(), []int64{int64(len(values) / d.ItemSize())}) {
		return false, nil //nolint:nilerr // it is something else
	}
	p := make([]byte, len(values))
	if err := x.ReadSlice(ctx, p, b2nd.Whole(x.Shape())); err != nil {
		return false, at(join(to.bucket.Name(), to.key), err)
	}
	return bytes.Equal(p, values), nil
}
