package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/groupindex"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// maxKept bounds the entries of a folder that are kept until it is known whether it has an index.
const maxKept = 2 * groupindex.MaxArrays

// A heldFolder is what a folder has.
type heldFolder struct {
	n, size int64
	list    []objstore.Info // of more than maxKept the first ones
	prefix  string
	group   *farread.Group // of a server that lists nothing
}

// held lists a folder and what is below it.
func (t *folderContent) held(ctx context.Context) (heldFolder, error) {
	h := heldFolder{prefix: folderKey(t.key)}
	for in, err := range objstore.ListAfter(ctx, t.bucket, h.prefix, "") {
		if unlisting(err) {
			return t.unlisted(ctx, h, err)
		}
		if err != nil {
			return h, err
		}
		h.n++
		h.size += in.Size
		if h.n <= maxKept {
			h.list = append(h.list, in)
		}
	}
	return h, nil
}

// unlisting reports whether an error is that of a server that lists nothing.
func unlisting(err error) bool {
	return errors.Is(err, objstore.ErrInvalid) && errors.Is(err, errors.ErrUnsupported)
}

// unlisted is held on a server that lists nothing, by the index of the group; without one it is the error of the
// listing.
func (t *folderContent) unlisted(ctx context.Context, h heldFolder, failed error) (heldFolder, error) {
	g, list, err := t.a.client.UnlistedGroup(ctx, t.bucket, h.prefix)
	if errors.Is(err, objstore.ErrNotFound) {
		return h, failed
	}
	if err != nil {
		return h, err
	}
	h.group, h.list, h.n = g, list, int64(len(list))
	for _, in := range list {
		h.size += in.Size
	}
	return h, nil
}

func folderKey(key string) string {
	if key != "" && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	return key
}

// quietGroup reads the index of a folder that was listed, by one request; nil if it has none.
func (t *folderContent) quietGroup(ctx context.Context, h heldFolder) (*farread.Group, error) {
	if h.group != nil {
		return h.group, nil
	}
	listed := make(map[string]objstore.Info, len(h.list))
	for _, in := range h.list {
		listed[strings.TrimPrefix(in.Key, h.prefix)] = in
	}
	return t.a.client.Group(ctx, t.bucket, h.prefix, listed)
}

// group is quietGroup, and tells what is not used of the index.
func (t *folderContent) group(ctx context.Context, h heldFolder) (*farread.Group, error) {
	g, err := t.quietGroup(ctx, h)
	if g == nil || err != nil {
		return nil, err
	}
	if h.group != nil {
		if len(g.Stale) > 0 {
			t.a.warn(groupindex.Name, "names arrays that are not there: "+human.Shorten(strings.Join(g.Stale, ", "), 200))
		}
		return g, nil
	}
	line := "farread index " + human.Printable(strings.TrimSuffix(t.uri, "/")) + "/"
	switch {
	case g.Unused != "":
		t.a.warn(groupindex.Name, "not used: "+g.Unused+"; "+line+" makes it anew")
	case len(g.Stale) > 0:
		t.a.warn(groupindex.Name, fmt.Sprintf("not used of %s, which are others by now: %s; %s makes it anew", human.Plural(int64(len(g.Stale)), "array"), human.Shorten(strings.Join(g.Stale, ", "), 200), line))
	}
	return g, nil
}

// described are the arrays that an index knows.
func described(g *farread.Group) (list []zarrArrayInfo) {
	for _, key := range g.Keys() {
		a := g.Arrays[key]
		x := zarrArrayInfo{Name: key, Shape: a.Shape, DType: a.DType, Dims: a.Dims}
		for _, c := range a.ChunkShape {
			x.ChunkShape = append(x.ChunkShape, int64(c))
		}
		list = append(list, x)
	}
	return list
}

// indexGroup writes the index of the arrays in a folder.
func (a *app) indexGroup(ctx context.Context, t *folderContent, o indexOptions) error {
	var own map[string]json.RawMessage
	if o.attrs != "" {
		var err error
		if own, err = a.readAttrs(ctx, o.attrs); err != nil {
			return at(o.attrs, err)
		}
	}
	h, err := t.held(ctx)
	if err != nil {
		return unlisted(err)
	}
	if h.n == 0 {
		return errNothingThere
	}
	var attrs map[string]json.RawMessage
	g, err := t.quietGroup(ctx, h)
	if err != nil {
		return err
	}
	key := h.prefix + groupindex.Name
	r := indexReport{URI: t.uri, Index: join(t.bucket.Name(), key), File: h.size}
	if g != nil {
		attrs = g.Attrs
		if !o.force && own == nil && g.Unused == "" && len(g.Stale) == 0 && len(g.Arrays) == h.arrays() {
			for _, in := range h.list {
				if in.Key == key {
					r.Size = in.Size
				}
			}
			return a.indexed(r)
		}
	}
	if own != nil {
		attrs = own
	}
	if r.Size, err = a.writeGroupIndex(ctx, t.target, h.prefix, attrs); err != nil {
		return err
	}
	r.New = true
	return a.indexed(r)
}

// arrays is how many arrays the folder has by their names.
func (h heldFolder) arrays() (n int) {
	for _, in := range h.list {
		if farread.ArrayKey(in.Key) {
			n++
		}
	}
	return n
}

// writeGroupIndex makes the index of a folder, and returns its length.
func (a *app) writeGroupIndex(ctx context.Context, t target, prefix string, attrs map[string]json.RawMessage) (int64, error) {
	x, err := a.client.BuildGroupIndex(ctx, t.bucket, prefix, attrs)
	if err != nil {
		return 0, err
	}
	p, err := x.Encode()
	if err != nil {
		return 0, err
	}
	_, err = objstore.Put(ctx, t.bucket, prefix+groupindex.Name, bytes.NewReader(p), objstore.PutOptions{ContentType: "application/json", Meta: map[string]string{functions.MetaMarker: "1"}})
	return int64(len(p)), err
}

// indexPacked writes the index of a group that was packed. The arrays are there without it, so that
// there is none is no failure, but told.
func (a *app) indexPacked(ctx context.Context, t target, attrs map[string]json.RawMessage) error {
	_, err := a.writeGroupIndex(ctx, t, folderKey(t.key), attrs)
	if errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrTooLarge) {
		a.warn(t.uri, "no index of the group: "+err.Error())
		return nil
	}
	return err
}
