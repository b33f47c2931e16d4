package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
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

// tellZarr says what a zip of Zarr has.
func (a *app) tellZarr(ctx context.Context, uri string) error {
	d, ok, err := a.zarrInfo(ctx, uri)
	switch {
	case err != nil:
		return err
	case !ok:
		return errNothingThere // it was replaced a moment ago
	case a.flags.json:
		return writeJSON(a.stdout, d.json)
	}
	return d.table.Print(a.stdout)
}

// zarrInfo describes what a URI names, if it is Zarr; false if it is none. It reads metadata alone.
func (a *app) zarrInfo(ctx context.Context, uri string) (description, bool, error) {
	n, err := a.openZarr(ctx, uri, false)
	if errors.Is(err, formats.ErrNoEntry) {
		return description{}, false, nil
	}
	if err != nil {
		return description{}, true, err
	}
	in := zarrInfo{Format: zarr.Format, URI: uri, Arrays: []zarrArrayInfo{}}
	src, stem := strings.TrimRight(uri, "/"), path.Base(strings.TrimRight(uri, "/"))
	if zipNamed(uri) {
		in.zip, stem = " in a zip", stem[:len(stem)-len(".zip")]
	}
	stem = strings.TrimSuffix(stem, ".zarr")
	in.Pack = fmt.Sprintf("farread pack %s %s.b2nd", human.Printable(quoted(src)), human.Printable(quoted(stem)))
	if n.Array != nil {
		in.Arrays = append(in.Arrays, describedZarr("", n.Array))
	} else {
		arrays, refused, err := n.Group.Arrays(ctx)
		if err != nil {
			return description{}, true, err
		}
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			in.Arrays = append(in.Arrays, describedZarr(name, arrays[name]))
		}
		for _, name := range slices.Sorted(maps.Keys(refused)) {
			in.Arrays = append(in.Arrays, zarrArrayInfo{Name: name, Refused: refused[name].Error()})
		}
		in.Pack = fmt.Sprintf("farread pack %s %s/ --format b2nd", human.Printable(quoted(src)), human.Printable(quoted(stem)))
		if len(arrays) == 0 {
			in.Pack = ""
		}
	}
	return description{in, in.table()}, true, nil
}

func (in *zarrInfo) table() *human.Table {
	out := human.NewTable("", "")
	out.Add("uri", human.Printable(in.URI))
	out.Add("format", in.Format+in.zip+", which farread reads when it is packed")
	addArrays(out, in.Arrays)
	if in.Pack != "" {
		out.Add("pack", in.Pack)
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
