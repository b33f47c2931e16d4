package zarr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
)

// TestExplain: a plan has the requests of a client, and the lengths of what is stored; of what was not looked at the mean.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, x := range fixtures(t) {
		if x.SHA256 == "" || x.Refused {
			continue
		}
		n, err := zarr.Open(t.Context(), x.Objects, zarr.Options{})
		if err != nil {
			t.Fatal(x.Name, err)
		}
		a := n.Array
		p, err := a.Explain(t.Context(), nd.Whole(a.Shape()), 1<<20)
		if err != nil || p.Estimated {
			t.Fatalf("%s: %+v %v", x.Name, p, err)
		}
		planned, stored, chunks := int64(0), int64(0), 0
		for _, r := range p.Requests {
			if planned += r.Len; r.Why == "chunk" {
				chunks++
			}
		}
		for key, obj := range x.Objects {
			if !strings.HasPrefix(key, ".z") && !strings.HasSuffix(key, ".json") {
				stored += int64(len(obj))
			}
		}
		grid, err := nd.NewGrid(a.Shape(), a.ChunkShape())
		if err != nil {
			t.Fatal(err)
		}
		if a.Meta().ShardShape == nil && (planned != stored || int64(chunks) != grid.Total) || planned > stored || int64(chunks) > grid.Total {
			t.Errorf("%s: %d bytes of %d, %d chunks of %d", x.Name, planned, stored, chunks, grid.Total)
		}
		size, exact, err := a.Stored(t.Context(), 1<<20)
		if err != nil || !exact || size > stored || a.Meta().ShardShape == nil && size != stored {
			t.Errorf("%s: %d bytes of %d, %v", x.Name, size, stored, err)
		}
		if p, err = a.Explain(t.Context(), nd.Whole(a.Shape()), 1); err != nil || grid.Total > 1 && a.Meta().ShardShape == nil && (!p.Estimated || int64(len(p.Requests)) != grid.Total) {
			t.Errorf("%s: %+v %v", x.Name, p, err)
		}
	}
}

// TestExplainMany: a slice of very many chunks is refused before memory is taken for them.
func TestExplainMany(t *testing.T) {
	t.Parallel()
	s := memStore{"zarr.json": []byte(`{"zarr_format":3,"node_type":"array","shape":[1000000000000],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},` +
		`"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"]}`)}
	n, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Array.Explain(t.Context(), nd.Whole(n.Array.Shape()), 64); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	if size, exact, err := n.Array.Stored(t.Context(), 64); size != 0 || exact || err != nil {
		t.Error(size, exact, err)
	}
}
