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
// these values stays; another one is replaced if that is allowed.
func (a *app) writeBeside(ctx context.Context, b objstore.Bucket, key string, c besideCoord, replace bool) error {
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
	there, same, err := a.sameBeside(ctx, to, d, values)
	if err != nil || same {
		return err
	}
	if there && !replace {
		return besideTaken(to, c.Dim)
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
	_, err = a.packObject(ctx, to, replace, fill)
	return err
}

// besideTaken is the error for an array beside that has other items, and that --force does not replace either: others
// than the array that is packed may find their items by it.
func besideTaken(to target, dim string) error {
	return fmt.Errorf("%s exists with other items, and is not replaced as a coordinate: pack into another folder, call the dimension %s by another name, or remove it: %w",
		human.Printable(join(to.bucket.Name(), to.key)), human.Printable(dim), objstore.ErrExists)
}

// writeBesides writes arrays beside that of to, before it: if that is there already, nothing. With force those that are there are
// replaced if the array that is replaced has them for coordinates, and no other one of the folder but mine, which are packed as well.
func (a *app) writeBesides(ctx context.Context, to target, mine []target, list []besideCoord, force bool, rep *arrayReport) error {
	if len(list) == 0 {
		return nil
	}
	if err := free(ctx, to, force); err != nil {
		return err
	}
	replace := map[string]bool{}
	if force {
		own, err := a.besideOf(ctx, to)
		if err != nil {
			return err
		}
		for _, c := range list {
			replace[c.Array] = own[c.Array]
		}
		if err := a.keepNamed(ctx, to.bucket, keysOf(mine), besidesOf(to, list, own)); err != nil {
			return err
		}
	}
	for _, c := range list {
		if err := a.writeBeside(ctx, to.bucket, to.key, c, replace[c.Array]); err != nil {
			return err
		}
		rep.Outputs = append(rep.Outputs, join(to.bucket.Name(), besideKey(to.key, c.Array)))
	}
	return nil
}

// besideOf has the names of arrays beside that the array which is there has for coordinates. Others than these may be
// datasets of their own.
func (a *app) besideOf(ctx context.Context, to target) (map[string]bool, error) {
	own := map[string]bool{}
	n, err := a.named(ctx, to.bucket, to.key)
	for _, c := range n.coords {
		own[c.Array] = true
	}
	return own, err
}

// besidesOf are those of the coordinates that replace one of the array itself.
func besidesOf(to target, list []besideCoord, own map[string]bool) (out []replacement) {
	for _, c := range list {
		d, err := dtype.Parse(c.DType)
		if err != nil || !own[c.Array] {
			continue
		}
		n := int64(len(c.values) / d.ItemSize())
		out = append(out, replacement{key: besideKey(to.key, c.Array), dtype: d, n: n, first: func(_ context.Context, n int64) ([]byte, error) {
			return c.values[:n*int64(d.ItemSize())], nil
		}})
	}
	return out
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

// sameBeside reports whether there is an object, and whether it is an array with these values.
func (a *app) sameBeside(ctx context.Context, to target, d dtype.DType, values []byte) (there, same bool, err error) {
	x, err := a.besideThere(ctx, to.bucket, to.key)
	if errors.Is(err, objstore.ErrNotFound) {
		return false, false, nil
	}
	if err != nil || x == nil || !x.DType().Equal(d) || !slices.Equal(x.Shape(), []int64{int64(len(values) / d.ItemSize())}) {
		return true, false, err
	}
	p := make([]byte, len(values))
	if err := x.ReadSlice(ctx, p, b2nd.Whole(x.Shape())); err != nil {
		return true, false, at(join(to.bucket.Name(), to.key), err)
	}
	return true, bytes.Equal(p, values), nil
}

// besideThere opens an array; nil if the object is something else.
func (a *app) besideThere(ctx context.Context, b objstore.Bucket, key string) (*b2nd.Array, error) {
	o, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if err != nil {
		return nil, at(join(b.Name(), key), err)
	}
	x, err := b2nd.Open(ctx, o, b2nd.Options{})
	if notArray(err) {
		return nil, nil //nolint:nilnil // it is something else
	}
	if err != nil {
		return nil, at(join(b.Name(), key), err)
	}
	return x, nil
}

// notArray reports whether an error says that an object is no array that can be read, whoever asks.
func notArray(err error) bool {
	return errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrTooLarge) || errors.Is(err, formats.ErrNoEntry)
}
