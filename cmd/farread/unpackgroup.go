package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/zarrface"
	"github.com/farread/farread/objstore"
)

const (
	maxMembers  = 4096 // arrays that are unpacked into one group
	memberSides = 8    // that are opened side by side
)

// A member is an array that becomes one of a group.
type member struct {
	path string // in the group
	uri  string
	at   farread.Place
	t    *frameContent
	m    newZarr
}

// A zarrGroup is what is unpacked into a group of Zarr.
type zarrGroup struct {
	a     *app
	list  []*member
	attrs map[string]json.RawMessage
	how   aim
	bar   bar
	out   *zarr.GroupWriter
}

// unpackGroup writes the arrays that are named, and those in the folders that are named, into one
// group of Zarr, with consolidated metadata.
func (a *app) unpackGroup(ctx context.Context, srcs []string, dst string, force bool, how aim) error {
	g := &zarrGroup{a: a, how: how}
	for _, src := range srcs {
		if err := g.find(ctx, src); err != nil {
			return at(src, err)
		}
	}
	if len(g.list) == 0 {
		return at(srcs[0], fmt.Errorf("no arrays (%s) here: %w", strings.Join(arraySuffixes, ", "), formats.ErrNoEntry))
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	if err := g.shards(); err != nil {
		return err
	}
	s, err := a.zarrSink(dst, force)
	if err != nil {
		return err
	}
	defer s.Abort()
	total := int64(0)
	for _, m := range g.list {
		n, err := m.t.arr.SizeOf(b2nd.Whole(m.m.Shape))
		if err != nil {
			return at(m.uri, err)
		}
		total += n
	}
	g.bar = a.newBar("unpack", total)
	defer g.bar.clear()
	g.out = zarr.NewGroup(s.File)
	for _, m := range g.list {
		if err := g.out.Add(ctx, m.path, m.m.NewArray, a.zarrWrite(), m.t.zarrItems(g.bar)); err != nil {
			return at(m.uri, err)
		}
	}
	if err := g.coordinates(ctx); err != nil {
		return err
	}
	if err := g.out.Close(g.attrs); err != nil {
		return err
	}
	return s.Commit()
}

var arraySuffixes = []string{".b2nd", ".b2frame"}

// arrayPath cuts the suffix of an array's name off.
func arrayPath(name string) (string, bool) {
	for _, suffix := range arraySuffixes {
		if stem, ok := strings.CutSuffix(name, suffix); ok && path.Base(stem) != "" && !strings.HasSuffix(stem, "/") && stem != "" {
			return stem, true
		}
	}
	return name, false
}

// find adds what a SRC has: itself, or the arrays in a folder and below.
func (g *zarrGroup) find(ctx context.Context, src string) error {
	c, err := g.a.open(ctx, src, g.how)
	if err != nil {
		return err
	}
	switch t := c.(type) {
	case *frameContent:
		name, _ := arrayPath(path.Base(strings.TrimSuffix(t.key, "/")))
		return g.add(&member{path: name, uri: src, t: t})
	case *folderContent:
		return g.folder(ctx, t)
	}
	return fmt.Errorf("no array, and a group of Zarr has nothing else: %w", formats.ErrUnsupported)
}

// folder adds the arrays of a folder. A sparse one is a folder, too.
func (g *zarrGroup) folder(ctx context.Context, t *folderContent) error {
	seen := map[string]bool{}
	h, err := t.held(ctx)
	if err != nil {
		return unlisted(err)
	}
	if h.n > maxKept {
		return fmt.Errorf("%s objects, at most %s are looked at: %w", human.Count(h.n), human.Count(maxKept), formats.ErrTooLarge)
	}
	index, err := t.group(ctx, h)
	if err != nil {
		return err
	}
	if index != nil && g.attrs == nil {
		g.attrs = index.Attrs
	}
	prefix := h.prefix
	for _, e := range h.list {
		name := strings.TrimPrefix(e.Key, prefix)
		parts := strings.Split(name, "/")
		for i, part := range parts {
			if _, ok := arrayPath(part); ok {
				name = strings.Join(parts[:i+1], "/")
				break
			}
		}
		stem, ok := arrayPath(name)
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		key := prefix + name
		if name != strings.TrimPrefix(e.Key, prefix) {
			key += "/"
		}
		uri := join(t.bucket.Name(), key)
		if err := g.add(&member{path: stem, uri: uri, at: farread.Place{URI: uri, Bucket: t.bucket, Key: key}}); err != nil {
			return err
		}
	}
	return nil
}

func (g *zarrGroup) add(m *member) error {
	if i := slices.IndexFunc(g.list, func(o *member) bool { return o.path == m.path }); i >= 0 {
		return usagef("%s and %s are both called %s", human.Printable(g.list[i].uri), human.Printable(m.uri), human.Printable(m.path))
	}
	if len(g.list) == maxMembers {
		return fmt.Errorf("more than %d arrays: %w", maxMembers, formats.ErrTooLarge)
	}
	g.list = append(g.list, m)
	return nil
}

// open opens the arrays that are not open yet, side by side, and reads what they mean.
func (g *zarrGroup) open(ctx context.Context) error {
	err := par.Do(ctx, len(g.list), memberSides, func(ctx context.Context, i int) error { return at(g.list[i].uri, g.list[i].open(ctx, g.a)) })
	if err != nil {
		return err
	}
	sizes := map[string]*member{} // of dimensions, by the paths of their names
	for _, m := range g.list {
		for i, dim := range m.m.Dims {
			p := path.Dir(m.path) + "/" + dim
			o := sizes[p]
			if o == nil {
				sizes[p] = m
			} else if n := o.m.Shape[slices.Index(o.m.Dims, dim)]; n != m.m.Shape[i] {
				return usagef("dimension %s has %d items in %s and %d in %s: unpack them apart", human.Printable(dim), n, human.Printable(o.uri), m.m.Shape[i], human.Printable(m.uri))
			}
		}
	}
	return nil
}

func (m *member) open(ctx context.Context, a *app) error {
	if m.t == nil {
		d, err := a.client.OpenPlace(ctx, m.at, farread.AnyOptions{})
		if err != nil {
			return unlisted(err)
		}
		m.t = &frameContent{opened: opened{target{m.at.URI, m.at.Bucket, m.at.Key}, a, d}}
		m.t.arr, _ = d.(farread.Slicer)
	}
	if m.t.arr == nil {
		return fmt.Errorf("no array, and a group of Zarr has nothing else: %w", formats.ErrUnsupported)
	}
	var err error
	if m.m, err = m.t.newZarr(ctx); err != nil {
		return err
	}
	if m.m.Dims == nil { // xarray opens no group with an array that has none
		m.m.Dims = zarrface.Numbered(m.m.Shape, true)
	}
	return nil
}

// shards gives the arrays with as many axes as --shard has lengths shards of the whole chunks that
// hold so many items, or all that there are.
func (g *zarrGroup) shards() error {
	if g.how.shard == nil {
		return nil
	}
	found := false
	for _, m := range g.list {
		if len(m.m.Shape) != len(g.how.shard) {
			continue
		}
		found = true
		if !zarr.Shardable(m.m.DType) {
			g.a.warn(m.uri, fmt.Sprintf("is written without shards: zarr-python reads none of %s", m.m.DType))
			continue
		}
		shape := make([]int64, len(m.m.Shape))
		for i, n := range g.how.shard {
			if n < 1 {
				return usagef("--shard %s: length %d", human.Shape(g.how.shard), n)
			}
			c := m.m.ChunkShape[i]
			shape[i] = (min(n, max(m.m.Shape[i], 1)) + c - 1) / c * c
		}
		m.m.ShardShape = shape
	}
	if !found {
		return usagef("--shard has %s, and no array has as many axes", human.Plural(int64(len(g.how.shard)), "length"))
	}
	return nil
}

// coordinates writes those that are in the layers of the arrays, or arrays beside them, as arrays of
// their own, but where the group has an array of that name.
func (g *zarrGroup) coordinates(ctx context.Context) error {
	from := map[string]*member{}
	for _, m := range g.list {
		for _, c := range m.m.coords {
			i := slices.Index(m.m.Dims, c.Dim)
			p := path.Join(path.Dir(m.path), c.Dim)
			if i < 0 {
				continue
			}
			if !zarr.IsName(c.Dim) {
				g.a.warn(m.uri, fmt.Sprintf("its coordinate %s is left out: no array can be called so", human.Printable(c.Dim)))
				continue
			}
			if first := from[p]; first != nil {
				if !sameCoord(first, m, c.Dim) {
					g.a.warn(m.uri, fmt.Sprintf("its coordinate %s is left out: %s has another one", human.Printable(c.Dim), human.Printable(first.uri)))
				}
				continue
			}
			if g.out.Has(p) {
				continue
			}
			from[p] = m
			var err error
			if c.Inline() {
				err = g.inline(ctx, p, c, m.m.Shape[i])
			} else {
				err = g.beside(ctx, p, c, m)
			}
			if err != nil {
				return at(m.uri, err)
			}
		}
	}
	return nil
}

func sameCoord(a, b *member, dim string) bool {
	of := func(m *member) (p []byte) {
		i := slices.IndexFunc(m.m.coords, func(c arraymeta.Coord) bool { return c.Dim == dim })
		if c := m.m.coords[i]; c.Inline() && c.Fits(m.m.Shape[slices.Index(m.m.Dims, dim)]) {
			return c.AppendValues([]byte(c.DType), m.m.Shape[slices.Index(m.m.Dims, dim)])
		}
		return nil
	}
	return bytes.Equal(of(a), of(b))
}

// inline writes a coordinate of n items that is in the layer.
func (g *zarrGroup) inline(ctx context.Context, p string, c arraymeta.Coord, n int64) error {
	d, err := c.Type()
	if err != nil || !c.Fits(n) {
		g.a.warn(p, "the coordinate does not fit its axis and is left out")
		return nil //nolint:nilerr // the array goes without
	}
	attrs := maps.Clone(c.Attrs)
	if attrs == nil {
		attrs = map[string]json.RawMessage{}
	}
	d = zarrface.Counted(d, attrs)
	size := int64(d.ItemSize())
	m := zarr.NewArray{Shape: []int64{n}, ChunkShape: []int64{min(max(n, 1), (1<<20)/size)}, DType: d, Dims: []string{c.Dim}, Attrs: attrs}
	return g.out.Add(ctx, p, m, g.a.zarrWrite(), func(_ context.Context, box b2nd.Box, dst []byte) error {
		for i := range box.Counts()[0] {
			c.At(box.Start[0]+i, dst[i*size:(i+1)*size])
		}
		return nil
	})
}

// beside writes a coordinate that is an array beside another one.
func (g *zarrGroup) beside(ctx context.Context, p string, c arraymeta.Coord, of *member) error {
	key := path.Join(path.Dir(strings.TrimSuffix(of.t.key, "/")), c.Array)
	uri := join(of.t.bucket.Name(), key)
	m := &member{path: p, uri: uri, at: farread.Place{URI: uri, Bucket: of.t.bucket, Key: key}}
	err := m.open(ctx, g.a)
	if errors.Is(err, objstore.ErrNotFound) {
		g.a.warn(of.uri, fmt.Sprintf("its coordinate %s is left out: %s is not there", human.Printable(c.Dim), human.Printable(c.Array)))
		return nil
	}
	if err != nil {
		return at(uri, err)
	}
	n := of.m.Shape[slices.Index(of.m.Dims, c.Dim)]
	if len(m.m.Shape) != 1 || m.m.Shape[0] < n {
		g.a.warn(of.uri, fmt.Sprintf("its coordinate %s is left out: %s is of %s", human.Printable(c.Dim), human.Printable(c.Array), human.Shape(m.m.Shape)))
		return nil
	}
	m.m.Dims, m.m.Shape = []string{c.Dim}, []int64{n} // one that has grown before the axis is longer
	if len(m.m.Attrs) == 0 {
		m.m.Attrs = c.Attrs
	}
	return g.out.Add(ctx, p, m.m.NewArray, g.a.zarrWrite(), m.t.zarrItems(g.bar))
}
