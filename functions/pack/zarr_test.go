package pack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// zarrs is a zarr.Store over a bucket in memory.
type zarrs struct{ b objstore.Bucket }

func (s zarrs) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	ob, err := objstore.Open(ctx, s.b, key, objstore.OpenOptions{Head: head, Tail: tail})
	if err != nil {
		return nil, formats.ErrNoEntry
	}
	return ob, nil
}

func (s zarrs) Folders(context.Context, string) ([]zarr.Folder, error) {
	return []zarr.Folder{{Name: "time"}, {Name: "t"}, {Name: "u"}, {Name: "x"}, {Name: "y"}}, nil
}

// add writes an array of int64 whose items are i*i, or i*step if step is not 0.
func (s zarrs) add(t *testing.T, path string, step int64, m zarr.NewArray) {
	t.Helper()
	var err error
	if m.DType, err = dtype.Parse("<i8"); err != nil {
		t.Fatal(err)
	}
	read := func(_ context.Context, box nd.Box, p []byte) error {
		for i := range p[:len(p)/8] {
			k := box.Start[0] + int64(i)
			if k *= step; step == 0 {
				k = (box.Start[0] + int64(i)) * (box.Start[0] + int64(i))
			}
			for b := range 8 {
				p[8*i+b] = byte(k >> (8 * b))
			}
		}
		return nil
	}
	err = zarr.Write(t.Context(), m, zarr.WriteOptions{}, read, func(key string, p []byte) error {
		w, err := s.b.Create(t.Context(), path+key, objstore.PutOptions{})
		if err == nil {
			_, err = w.Write(p)
		}
		if err == nil {
			_, err = w.Commit(t.Context())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestZarrGroup: names of axes, attributes and coordinates of a group go into the layer of each
// array: regular ones as numbers, long ones as the name of the array beside. What a layer says
// already comes first.
func TestZarrGroup(t *testing.T) {
	t.Parallel()
	s := zarrs{memstore.New(memstore.Config{Name: "mem://b"})}
	const long = 20_000
	s.add(t, "time/", 10, zarr.NewArray{Shape: []int64{long}, ChunkShape: []int64{4096}, Dims: []string{"time"}, Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"s"`)}})
	s.add(t, "x/", 0, zarr.NewArray{Shape: []int64{long}, ChunkShape: []int64{4096}, Dims: []string{"x"}})
	s.add(t, "u/", 1, zarr.NewArray{Shape: []int64{long}, ChunkShape: []int64{4096}, Dims: []string{"x"}})
	s.add(t, "y/", 0, zarr.NewArray{Shape: []int64{3}, ChunkShape: []int64{2}, Dims: []string{"y"}})
	s.add(t, "t/", 1, zarr.NewArray{Shape: []int64{long, 3}, ChunkShape: []int64{4096, 2}, Dims: []string{"time", "y"}, Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"K"`)}})
	w, err := s.b.Create(t.Context(), "zarr.json", objstore.PutOptions{})
	if err == nil {
		_, err = w.Write([]byte(`{"zarr_format":3,"node_type":"group"}`))
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	arrays, _, err := n.Group.Arrays(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := pack.ZarrArrays(t.Context(), arrays)
	if err != nil || len(list) != 5 {
		t.Fatal(len(list), err)
	}
	own, err := arraymeta.Meta{Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"C"`), "more": json.RawMessage(`1`)}}.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	given := pack.ArrayWrite{Write: b2nd.WriteOptions{VLMetalayers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: own}}}}
	for i, c := range []struct {
		name, units, more, coords string
		o                         pack.ArrayWrite
		alone                     bool
	}{
		{name: "t", units: `"K"`, coords: "time:0+10 y:[24]"},
		{name: "t", units: `"C"`, more: "1", coords: "time:0+10 y:[24]", o: given},
		{name: "time", units: `"s"`}, {name: "u", coords: "x=x.b2nd"}, {name: "u", alone: true},
	} {
		a := list[slices.IndexFunc(list, func(a pack.Array) bool { return a.Name == c.name })]
		if c.alone {
			a = a.Alone()
		}
		m, err := layerOf(t.Context(), a, c.o, s.b)
		if err != nil {
			t.Fatal(err)
		}
		var coords []string
		for _, x := range m.Coords {
			switch text := x.Dim; {
			case x.Array != "":
				coords = append(coords, text+"="+x.Array)
			case x.Values != nil:
				coords = append(coords, fmt.Sprintf("%s:[%d]", text, len(x.Values)))
			default:
				coords = append(coords, fmt.Sprintf("%s:%s+%s", text, x.Start, x.Step))
			}
		}
		if got := strings.Join(coords, " "); got != c.coords || string(m.Attrs["units"]) != c.units || string(m.Attrs["more"]) != c.more || len(m.Dims) != len(a.Shape) {
			t.Errorf("%d: %s: %q, attributes %s, names %q", i, c.name, got, m.Attrs, m.Dims)
		}
	}
}

func layerOf(ctx context.Context, a pack.Array, o pack.ArrayWrite, b objstore.Bucket) (m arraymeta.Meta, err error) {
	w, err := b.Create(ctx, "out.b2nd", objstore.PutOptions{})
	if err != nil {
		return m, err
	}
	defer w.Abort()
	if err := a.Write(ctx, w, o); err != nil {
		return m, err
	}
	if _, err := w.Commit(ctx); err != nil {
		return m, err
	}
	ob, err := objstore.Open(ctx, b, "out.b2nd", objstore.OpenOptions{})
	if err != nil {
		return m, err
	}
	f, err := cframe.Open(ctx, ob, cframe.Options{})
	if err != nil {
		return m, err
	}
	layers, err := f.VLMetalayers(ctx)
	i := slices.IndexFunc(layers, func(l cframe.Metalayer) bool { return l.Name == arraymeta.Layer })
	if err != nil || i < 0 {
		return m, err
	}
	return arraymeta.Decode(layers[i].Data, a.Shape, formats.Limits{})
}
