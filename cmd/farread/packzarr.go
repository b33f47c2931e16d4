package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

// zarrNamed reports whether a URI names an array or a group of Zarr: itself, or in one, or a zip
// of one.
func zarrNamed(uri string) bool {
	uri = zarrPath(uri)
	if strings.HasSuffix(uri, zarrZipSuffix) {
		return true
	}
	for name := range strings.SplitSeq(uri, "/") {
		if path.Ext(name) == ".zarr" {
			return path.Ext(uri) != ".npy"
		}
	}
	return false
}

const zarrZipSuffix = ".zarr.zip"

// zipNamed reports whether a URI names a zip, which may hold Zarr.
func zipNamed(uri string) bool { return path.Ext(zarrPath(uri)) == ".zip" }

// maybeZarr reports whether the name of SRC promises Zarr, or a zip of it.
func maybeZarr(uri string) bool { return zarrNamed(uri) || zipNamed(uri) }

// zarrSource opens SRC if it is Zarr: by its name, or a zip by what is in it, which is said. Else it returns nil.
func (a *app) zarrSource(ctx context.Context, src string, deniedIsAbsent bool) (*zarr.Node, error) {
	if zarrNamed(src) {
		return a.openZarr(ctx, src, deniedIsAbsent)
	}
	if !zipNamed(src) {
		return nil, nil //nolint:nilnil // it is something else
	}
	n, err := a.openZarr(ctx, src, deniedIsAbsent)
	if e, ok := errors.AsType[*formats.Error](err); ok && (e.Format != zarr.Format || errors.Is(err, formats.ErrNoEntry)) {
		return nil, nil //nolint:nilnil // who reads zips of other things has more to say
	}
	if err != nil {
		return nil, err
	}
	what := "a group"
	if n.Array != nil {
		what = "an array"
	}
	a.warn(src, "is a zip of Zarr, "+what)
	return n, nil
}

// holdsZarr reports whether a zip that was looked at is one of Zarr.
func (p *peeked) holdsZarr() bool {
	if p == nil || p.Format != "zip" {
		return false
	}
	_, ok := pack.ZarrTop(func(yield func(string) bool) {
		for _, e := range p.Entry {
			if !yield(e.Name) {
				return
			}
		}
	})
	return ok
}

// zarrPath is a URI in small letters, without the query of a URL and slashes at its end.
func zarrPath(uri string) string {
	if strings.Contains(uri, "://") {
		uri, _, _ = strings.Cut(uri, "?")
	}
	return strings.TrimRight(strings.ToLower(uri), "/")
}

// openZarr opens what a URI names as Zarr.
func (a *app) openZarr(ctx context.Context, src string, deniedIsAbsent bool) (*zarr.Node, error) {
	if !zipNamed(src) {
		return a.client.OpenZarr(ctx, src, zarr.Options{DeniedIsAbsent: deniedIsAbsent})
	}
	ob, err := a.client.Open(ctx, src)
	if err != nil {
		return nil, err
	}
	s, err := pack.ZarrZip(ctx, ob, pack.Limits{Item: int64(a.flags.maxMemory) / 8})
	if err != nil {
		return nil, err
	}
	return zarr.Open(ctx, s, zarr.Options{Limits: formats.Limits{MaxDecoded: int64(a.flags.maxMemory) / 4, MaxMeta: int64(a.flags.maxMemory) / 4}})
}

// packZarr packs an array of Zarr, or all arrays of a group.
func (a *app) packZarr(ctx context.Context, src string, n *zarr.Node, dst target, f *packFlags, encode blosc.EncodeOptions) error {
	if f.array.dtype != "" || f.array.shape != nil || f.array.order != "" {
		return usagef("%s says what its items are: --dtype, --shape and --order are for raw bytes", human.Printable(src))
	}
	if len(n.Doubt) > 0 {
		a.warn(src, strings.Join(n.Doubt, ", ")+" is taken for absent: "+zarr.ErrMaybeAbsent.Error())
	}
	arrays, err := a.zarrArrays(ctx, src, n, f.array.member)
	if err != nil {
		return at(src, err)
	}
	into := strings.HasSuffix(dst.key, "/") || dst.key == "" || path.Ext(dst.key) != pack.ArraySuffix
	if len(arrays) != 1 && !into {
		return usagef("%s has %s: name one with --member, or a folder/", src, human.Plural(int64(len(arrays)), "array"))
	}
	a.zarrTold(src, arrays)
	rep := &arrayReport{Format: all.B2ND, Outputs: []string{}}
	group := into && n.Group != nil && f.array.member == ""
	if f.on.on != "" && (n.Group != nil || zipNamed(src)) {
		return usagef("--on makes one array of Zarr: name it by its path, as in %s/…, and no zip", human.Printable(strings.TrimRight(src, "/")))
	}
	targets := make([]target, len(arrays))
	for i, arr := range arrays {
		targets[i] = dst
		if into {
			targets[i] = dst.below(arr.Name, src)
		}
	}
	if group && f.force {
		if err := a.keepArrays(ctx, targets, arrays); err != nil {
			return err
		}
	}
	for i, arr := range arrays {
		to := targets[i]
		w, beside, err := a.arrayWrite(ctx, arr, f, encode)
		if err != nil {
			return err
		}
		if f.array.member != "" {
			of, more, err := a.besideMember(ctx, src, arr, f)
			if err != nil {
				return at(src, err)
			}
			arr, beside = of, append(more, beside...)
		}
		if f.on.on != "" {
			return at(src, maybeAbsent(a.packDivided(ctx, dividedPack{arr, analyze.Source{URI: src}, true, to, w, beside}, f, rep)))
		}
		if err := a.writeBesides(ctx, to, targets, beside, f.force, rep); err != nil {
			return err
		}
		if err := a.packArray(ctx, arr, to, w, f.force, rep); err != nil {
			return at(src, maybeAbsent(inArray(arr.Name, err)))
		}
	}
	rep.zarrChunks = a.absentChunks(src, arrays, f.array.deniedIsAbsent)
	if group {
		if err := a.indexPacked(ctx, dst, n.Group.Attrs); err != nil {
			return at(dst.uri, err)
		}
	}
	return rep.tell(a)
}

// inArray adds the array of a group to an error that does not name it.
func inArray(name string, err error) error {
	if e, ok := errors.AsType[*formats.Error](err); name == "" || ok && e.Format == zarr.Format {
		return err
	}
	return fmt.Errorf("%s: %w", human.Printable(name), err)
}

// maybeAbsent adds to an error about a chunk that may be absent what can be said about such.
func maybeAbsent(err error) error {
	if errors.Is(err, zarr.ErrMaybeAbsent) {
		return fmt.Errorf("%w; with --denied-is-absent such chunks are the fill value", err)
	}
	return err
}

// below returns the target of an array of a group, or of an array, in a folder.
func (t target) below(name, src string) target {
	if name == "" {
		src, _, _ = strings.Cut(src, "?")
		base := path.Base(strings.TrimRight(src, "/"))
		name = strings.TrimSuffix(strings.TrimSuffix(base, ".zip"), ".zarr")
	}
	if t.key != "" && !strings.HasSuffix(t.key, "/") {
		t.key += "/"
	}
	t.key += name + pack.ArraySuffix
	return t
}

// zarrArrays returns the arrays of a node, or the one that is called member.
func (a *app) zarrArrays(ctx context.Context, src string, n *zarr.Node, member string) ([]pack.Array, error) {
	if n.Array != nil {
		if member != "" {
			return nil, usagef("--member %s: %s is one array", human.Printable(member), human.Printable(src))
		}
		return []pack.Array{pack.ZarrArray("", n.Array)}, nil
	}
	arrays, refused, err := n.Group.Arrays(ctx)
	if err != nil {
		return nil, err
	}
	if err := refused[member]; err != nil {
		return nil, fmt.Errorf("%s: %w", human.Printable(member), err)
	}
	if err := a.agree(ctx, src, n.Group, arrays, member); err != nil {
		return nil, err
	}
	out, err := pack.ZarrArrays(ctx, arrays)
	if err != nil {
		return nil, err
	}
	if member != "" {
		i := slices.IndexFunc(out, func(a pack.Array) bool { return a.Name == member })
		if i < 0 {
			return nil, &formats.Error{Format: zarr.Format, Part: "member " + human.Printable(member), Off: -1, Err: formats.ErrNoEntry}
		}
		return []pack.Array{out[i]}, nil
	}
	for _, p := range slices.Sorted(maps.Keys(refused)) {
		if len(out) == 0 {
			return nil, fmt.Errorf("%s: %w", human.Printable(p), refused[p])
		}
		a.warn(src, human.Printable(p)+" is left out: "+human.Printable(refused[p].Error()))
	}
	if len(out) == 0 {
		return nil, &formats.Error{Format: zarr.Format, Off: -1, Err: errNoArrays}
	}
	return out, nil
}

// agree holds consolidated metadata against those of the arrays that are packed.
func (a *app) agree(ctx context.Context, src string, g *zarr.Group, arrays map[string]*zarr.Array, member string) error {
	paths := slices.Collect(maps.Keys(arrays))
	if member != "" {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p != member })
	}
	alone, err := g.Agree(ctx, paths)
	for _, p := range alone {
		a.warn(src, human.Printable(p)+" is in the consolidated metadata alone: it has none of its own, and may have been removed")
	}
	return err
}

var errNoArrays = fmt.Errorf("a group without arrays: %w", formats.ErrNoEntry)
