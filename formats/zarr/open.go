package zarr

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Options tune Open. The zero value is right for most.
type Options struct {
	Limits formats.Limits // MaxDecoded bounds a chunk, or a shard that has to be read whole
	// DeniedIsAbsent takes a chunk or shard that the store refuses with ErrMaybeAbsent for one that is not
	// there, so its items are the fill value. Else that is an error: nothing proves that it is not there.
	DeniedIsAbsent bool
}

// A Node is what a hierarchy has in one place: an array, or else a group.
type Node struct {
	Array *Array // nil: a group
	Group *Group
	// Doubt names the metadata that were taken for absent although the store does not say so (see
	// ErrMaybeAbsent), and that would add to what was read: .zattrs.
	Doubt []string
}

// A Group is a folder of arrays and groups.
type Group struct {
	// Attrs are the attributes of the group.
	Attrs map[string]json.RawMessage
	// Consolidated tells that the metadata of all arrays came with those of the group.
	Consolidated bool

	s       Store
	o       Options
	version int
	docs    map[string]twoDocs // of arrays by their paths, if Consolidated
}

// twoDocs are the metadata of an array: of version 3 the first one alone.
type twoDocs struct{ array, attrs []byte }

// Open reads the metadata of the array or group that a store has at its top. It costs one
// request for zarr.json, and if there is none, four side by side for version 2. If there are
// neither, the error matches formats.ErrNoEntry, or that of the store where it refuses to say so.
func Open(ctx context.Context, s Store, o Options) (*Node, error) {
	o.Limits = o.Limits.WithDefaults()
	text, err := document(ctx, s, doc3, min(o.Limits.MaxMeta, maxGroupDoc))
	var p probe
	if p.none(doc3, err) {
		return open2(ctx, s, o, p)
	}
	if err != nil {
		return nil, err
	}
	d, err := parse3(text)
	if err != nil {
		return nil, within(doc3, err)
	}
	if d.NodeType == "array" {
		return array3(s, d, int64(len(text)), o)
	}
	g := &Group{Attrs: tidy(d.Attributes), s: s, o: o, version: 3}
	if d.Consolidated == nil {
		return &Node{Group: g}, nil
	}
	g.Consolidated, g.docs = true, map[string]twoDocs{}
	for p, doc := range d.Consolidated.Metadata {
		var kind struct {
			NodeType string `json:"node_type"`
		}
		if json.Unmarshal(doc, &kind) == nil && kind.NodeType == "group" {
			continue
		}
		if err := checkPath(p); err != nil {
			return nil, within(doc3, err)
		}
		g.docs[p] = twoDocs{array: doc}
	}
	return &Node{Group: g}, nil
}

func array3(s Store, d *document3, size int64, o Options) (*Node, error) {
	if size > maxDoc {
		return nil, fail(doc3, formats.ErrTooLarge, "%d bytes, at most %d are read", size, maxDoc)
	}
	m, err := d.array(o.Limits)
	if err != nil {
		return nil, within(doc3, err)
	}
	return &Node{Array: newArray(s, m, o)}, nil
}

// open2 opens a node of version 2. p has looked for one of version 3.
func open2(ctx context.Context, s Store, o Options, p probe) (*Node, error) {
	list := []string{array2Key, attrs2, group2Key, consolidated2}
	texts, errs := make([][]byte, len(list)), make([]error, len(list))
	one := rangeio.OnePhase(ctx)
	err := par.Do(ctx, len(list), len(list), func(ctx context.Context, i int) error {
		most := int64(maxDoc)
		if list[i] == consolidated2 {
			most = min(o.Limits.MaxMeta, maxGroupDoc)
		}
		texts[i], errs[i] = document(context.WithoutCancel(one), s, list[i], most)
		if errors.Is(errs[i], formats.ErrNoEntry) || errors.Is(errs[i], ErrMaybeAbsent) {
			return nil
		}
		return errs[i]
	})
	for i, key := range list {
		p.none(key, errs[i])
	}
	var doubt []string
	if errors.Is(errs[1], ErrMaybeAbsent) {
		doubt = list[1:2]
	}
	switch array, attrs, group, all := texts[0], texts[1], texts[2], texts[3]; {
	case err != nil:
		return nil, err
	case array != nil:
		m, err := array2(array, attrs, o.Limits)
		if err != nil {
			return nil, within(array2Key, err)
		}
		return &Node{Array: newArray(s, m, o), Doubt: doubt}, nil
	case all != nil:
		return consolidated(s, all, o)
	case group != nil:
		a, err := attributes(attrs)
		return &Node{Group: &Group{Attrs: a, s: s, o: o, version: 2}, Doubt: doubt}, err
	}
	return nil, p.nothing()
}

// consolidated reads a .zmetadata.
func consolidated(s Store, text []byte, o Options) (*Node, error) {
	var d struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
		Format   int                        `json:"zarr_consolidated_format"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, corrupt(consolidated2, "%v", err)
	}
	if d.Format != 1 {
		return nil, unsupported(consolidated2, "zarr_consolidated_format %d", d.Format)
	}
	attrs, err := attributes(d.Metadata[attrs2])
	if err != nil {
		return nil, within(consolidated2, err)
	}
	g := &Group{Attrs: attrs, s: s, o: o, version: 2, Consolidated: true, docs: map[string]twoDocs{}}
	for key, doc := range d.Metadata {
		dir, base := path.Split(key)
		if base != array2Key {
			continue
		}
		if err := checkPath(path.Clean(dir)); err != nil || dir == "" {
			return nil, within(consolidated2, errors.Join(err, errNoPath(dir)))
		}
		g.docs[path.Clean(dir)] = twoDocs{doc, d.Metadata[dir+attrs2]}
	}
	return &Node{Group: g}, nil
}

func errNoPath(dir string) error {
	if dir != "" {
		return nil
	}
	return corrupt("", "an array and a group in one place")
}

// Arrays opens all arrays in the group and the groups in it, by their paths, such as "sub/t",
// in order. With consolidated metadata it makes no request. Else it lists each folder, and
// opens what is in it, side by side. Arrays that are refused are in refused, by their paths,
// with the reason.
func (g *Group) Arrays(ctx context.Context) (arrays map[string]*Array, refused map[string]error, err error) {
	arrays, refused = map[string]*Array{}, map[string]error{}
	put := func(p string, a *Array, err error) error {
		switch {
		case errors.Is(err, formats.ErrUnsupported):
			refused[p] = err
		case err != nil:
			return within(p, err)
		default:
			arrays[p] = a
		}
		return nil
	}
	if !g.Consolidated {
		left := min(g.o.Limits.MaxEntries, maxFolders)
		return arrays, refused, g.walk(ctx, "", 0, &left, put)
	}
	if int64(len(g.docs)) > g.o.Limits.MaxEntries {
		return nil, nil, fail("", formats.ErrTooLarge, "%d arrays", len(g.docs))
	}
	for _, p := range slices.Sorted(maps.Keys(g.docs)) {
		a, err := g.array(p)
		if err := put(p, a, err); err != nil {
			return nil, nil, err
		}
	}
	return arrays, refused, nil
}

// array opens an array by metadata that are there.
func (g *Group) array(p string) (*Array, error) {
	docs, s := g.docs[p], Below(g.s, p+"/")
	if g.version == 2 {
		m, err := array2(docs.array, docs.attrs, g.o.Limits)
		if err != nil {
			return nil, err
		}
		return newArray(s, m, g.o), nil
	}
	d, err := parse3(docs.array)
	if err != nil {
		return nil, err
	}
	n, err := array3(s, d, int64(len(docs.array)), g.o)
	if err != nil {
		return nil, err
	}
	return n.Array, nil
}

// maxFolders bounds the folders that are looked into: two groups that are in themselves, and in each other, would else be
// two to the power of maxPath.
const maxFolders = 100_000

// walk opens what is in a folder, and in the groups in it, as long as there are folders left.
func (g *Group) walk(ctx context.Context, folder string, depth int, left *int64, put func(string, *Array, error) error) error {
	names, err := g.s.Folders(ctx, folder)
	if err != nil {
		return err
	}
	if *left -= int64(len(names)); *left < 0 {
		return fail(folder, formats.ErrTooLarge, "more than %d folders; consolidated metadata are read at once", min(g.o.Limits.MaxEntries, maxFolders))
	}
	if depth >= maxPath {
		return fail(folder, formats.ErrTooLarge, "groups in groups, over %d deep", maxPath)
	}
	nodes, errs := make([]*Node, len(names)), make([]error, len(names))
	const side = 16 // by side
	err = par.Do(ctx, len(names), side, func(ctx context.Context, i int) error {
		name := names[i].Name
		if errs[i] = cmp.Or(names[i].Err, checkPath(folder+name)); errs[i] == nil {
			nodes[i], errs[i] = Open(ctx, Below(g.s, folder+name+"/"), g.o)
		}
		if errs[i] != nil && !errors.Is(errs[i], formats.ErrUnsupported) && !errors.Is(errs[i], formats.ErrNoEntry) {
			return within(folder+name, errs[i])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, name := range names {
		name := name.Name
		switch {
		case errors.Is(errs[i], formats.ErrNoEntry): // a folder of something else
			continue
		case errs[i] == nil && nodes[i].Group != nil:
			err = g.walk(ctx, folder+name+"/", depth+1, left, put)
		default:
			var a *Array
			if errs[i] == nil {
				a = nodes[i].Array
			}
			err = put(folder+name, a, errs[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
