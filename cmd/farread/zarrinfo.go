package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
)

// A zarrInfo is the JSON of `info` for a folder that is Zarr.
type zarrInfo struct {
	Format string          `json:"format"`
	URI    string          `json:"uri"`
	Arrays []zarrArrayInfo `json:"arrays"`
	Pack   string          `json:"pack,omitempty"` // the line to type

	zip string // " in a zip"
}

type zarrArrayInfo struct {
	Name       string   `json:"name,omitempty"` // path in the group
	Shape      []int64  `json:"shape,omitempty"`
	DType      string   `json:"dtype,omitempty"`
	ChunkShape []int64  `json:"chunkshape,omitempty"`
	Dims       []string `json:"dims,omitempty"`
	Refused    string   `json:"refused,omitempty"` // why pack leaves it out
}

func describedZarr(name string, a *zarr.Array) zarrArrayInfo {
	return zarrArrayInfo{Name: name, Shape: a.Shape(), DType: a.DType().String(), ChunkShape: a.ChunkShape(), Dims: a.Meta().Dims}
}

// lookZarr describes what a URI names, if it is called like Zarr and is that.
func (a *app) lookZarr(ctx context.Context, uri string, how aim) (in *zarrInfo, ok bool, err error) {
	if how.offset != 0 || how.raw || !zarrNamed(uri) {
		return nil, false, nil
	}
	return a.zarrInfo(ctx, uri)
}

// tellZarr prints what zarrInfo has found.
func (a *app) tellZarr(in *zarrInfo, err error) error {
	switch {
	case err != nil:
		return err
	case a.flags.json:
		return writeJSON(a.stdout, in)
	}
	return in.table().Print(a.stdout)
}

// list lists the arrays.
func (in *zarrInfo) list(l *listing) error {
	l.head("ARRAY", "TYPE", "SHAPE", "CHUNKS", "DIMS", "")
	for _, x := range in.Arrays {
		name, refused := x.Name, ""
		if name == "" {
			name = "."
		}
		if x.Refused != "" {
			refused = "left out: " + x.Refused
		}
		shape, chunks := "", ""
		if x.Refused == "" {
			shape, chunks = human.Shape(x.Shape), human.Shape(x.ChunkShape)
		}
		if err := l.add(x, human.Printable(name), x.DType, shape, chunks, human.Printable(strings.Join(x.Dims, ", ")), human.Printable(refused)); err != nil {
			return err
		}
	}
	return nil
}

// zarrInfo describes what is called like Zarr; false if it is none. It reads metadata alone.
func (a *app) zarrInfo(ctx context.Context, uri string) (*zarrInfo, bool, error) {
	n, err := a.openZarr(ctx, uri, false)
	if errors.Is(err, formats.ErrNoEntry) {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	in := zarrInfo{Format: zarr.Format, URI: uri, Arrays: []zarrArrayInfo{}}
	if zipNamed(uri) {
		in.zip = " in a zip"
	}
	src := strings.TrimRight(uri, "/")
	stem := zarrStem(baseOf(target{uri: src, key: src}))
	if n.Array != nil {
		in.Arrays = append(in.Arrays, describedZarr("", n.Array))
		in.Pack = typedLine(src, stem+pack.ArraySuffix)
		return &in, true, nil
	}
	arrays, refused, err := n.Group.Arrays(ctx)
	if err != nil {
		return nil, true, err
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		in.Arrays = append(in.Arrays, describedZarr(name, arrays[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		in.Arrays = append(in.Arrays, zarrArrayInfo{Name: name, Refused: refused[name].Error()})
	}
	if len(arrays) > 0 {
		in.Pack = typedLine(src, stem+"/") + " --format b2nd"
	}
	return &in, true, nil
}

// zarrStem is the name of Zarr without what says that it is Zarr.
func zarrStem(base string) string {
	for _, suffix := range []string{zarrZipSuffix, ".zarr", ".zip"} {
		if n := len(base) - len(suffix); n > 0 && strings.EqualFold(base[n:], suffix) {
			return base[:n]
		}
	}
	return base
}

func (in *zarrInfo) table() *human.Table {
	out := human.NewTable("", "")
	out.Add("uri", human.Printable(in.URI))
	out.Add("format", in.Format+in.zip+", which farread reads when it is packed")
	addArrays(out, in.Arrays)
	if in.Pack != "" {
		out.Add("pack", human.Printable(in.Pack))
	}
	return out
}

// addArrays adds a line for each array.
func addArrays(out *human.Table, list []zarrArrayInfo) {
	label := "arrays"
	for _, a := range list {
		text := human.Printable(a.Name) + " "
		switch {
		case a.Refused != "":
			text += "is left out: " + human.Printable(a.Refused)
		case len(a.Dims) == len(a.Shape) && len(a.Dims) > 0:
			text += fmt.Sprintf("%s %s (%s), chunks of %s", a.DType, human.Shape(a.Shape), human.Printable(strings.Join(a.Dims, ", ")), human.Shape(a.ChunkShape))
		default:
			text += fmt.Sprintf("%s %s, chunks of %s", a.DType, human.Shape(a.Shape), human.Shape(a.ChunkShape))
		}
		out.Add(label, strings.TrimSpace(text))
		label = ""
	}
}
