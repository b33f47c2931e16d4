package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/cmd/farread/internal/answers"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/render"
)

// A sourceOfMeaning is an array and the items of it that are asked about.
type sourceOfMeaning struct {
	arr *farread.Array
	box b2nd.Box
}

// write writes answers that are held.
func (x *analysis) write(ctx context.Context, out sink.Sink, format string, j analyze.Work, a *analyze.Answers) error {
	var layers []cframe.Metalayer
	if j, ok := j.(*analyze.Array); ok {
		var err error
		if layers, err = x.layers(ctx, format, j, a.Results); err != nil {
			return err
		}
	}
	return answers.Write(out, format, a, int64(x.a.flags.maxMemory)/4, layers)
}

// layers returns the metalayers that say what answers mean: names and coordinates of the
// axes that remain, and attributes that are true of them as well.
func (x *analysis) layers(ctx context.Context, format string, j *analyze.Array, list []analyze.Result) ([]cframe.Metalayer, error) {
	if format != render.B2nd || x.meant == nil {
		return nil, nil
	}
	m, err := x.meant.arr.Meaning(ctx)
	if err != nil {
		return nil, err
	}
	m = m.Cut(x.meant.arr.Shape(), x.meant.box).Coarsen(x.meant.box.OutShape, j.Windows())
	m.Fill = nil // no cell is absent
	m.Attrs = attrsOf(m.Attrs, list)
	if m.Dims != nil && len(list) == 1 && len(list[0].Shape) > len(m.Dims) {
		own(&m, &list[0])
	}
	if m.Empty() {
		return nil, nil
	}
	data, err := m.Append(nil)
	return []cframe.Metalayer{{Name: arraymeta.Layer, Data: data}}, err
}

// attrsOf returns the attributes of items that are true of answers. Those of several stats,
// and counts and indexes, have none. Sums and deviations are of the same unit, but no longer
// of the range of the items, and not stored with an offset.
func attrsOf(attrs map[string]json.RawMessage, list []analyze.Result) map[string]json.RawMessage {
	if len(list) != 1 || list[0].Stat.Field != "" {
		return nil
	}
	var drop []string
	switch list[0].Stat.Name {
	case "min", "max":
		drop = []string{"actual_range"}
	case "mean", "quantiles":
		drop = []string{"actual_range", "flag_values", "flag_masks", "flag_meanings"}
	case "sum", "std":
		if attrs["scale_factor"] != nil || attrs["add_offset"] != nil {
			return nil
		}
		drop = []string{"actual_range", "flag_values", "flag_masks", "flag_meanings", "valid_min", "valid_max", "valid_range", "standard_name"}
	default:
		return nil
	}
	out := maps.Clone(attrs)
	maps.DeleteFunc(out, func(name string, _ json.RawMessage) bool { return slices.Contains(drop, name) })
	return out
}

// own adds the axis that a stat adds: ranks, bins or the axes of an index.
func own(m *arraymeta.Meta, r *analyze.Result) {
	name, values := "axis", []float64(nil)
	switch r.Stat.Name {
	case "quantiles":
		name = "quantile"
		for _, rank := range r.Stat.Ranks {
			q, _ := strconv.ParseFloat(rank, 64) // it is a number
			values = append(values, q)
		}
	case "hist":
		name = "bin"
		for k := range len(r.Edges) - 1 {
			values = append(values, (r.Edges[k]+r.Edges[k+1])/2)
		}
	}
	for slices.Contains(m.Dims, name) {
		name += "_"
	}
	m.Dims = append(m.Dims, name)
	if c, ok := arraymeta.Numbers(name, values); ok && values != nil {
		m.Coords = append(m.Coords, c)
	}
}
