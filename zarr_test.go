package farread

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// zarrFixture returns the objects of an array of zarr-python: see formats/zarr/testdata.
func zarrFixture(t *testing.T, name string) map[string][]byte {
	t.Helper()
	f, err := os.Open("formats/zarr/testdata/zarr.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x struct {
			Name    string
			Objects map[string][]byte
		}
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		if x.Name == name {
			return x.Objects
		}
	}
	t.Fatalf("no fixture %q", name)
	return nil
}

// TestZarrTraces: the first chunk from afar, its neighbour, and all chunks of a group.
func TestZarrTraces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fixture  string
		requests int64 // of opening and one chunk
		phases   int64
	}{
		"v3": {"blosc zstd bitshuffle v3", 2, 2}, "v2": {"blosc zstd bitshuffle v2", 6, 3}, "shards": {"shards index end", 3, 3}, "shards-start": {"shards index start", 3, 3},
		"group": {"group v3", 0, 0}, "group-consolidated": {"group consolidated v3", 0, 0}, "group-consolidated-v2": {"group consolidated v2", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := New(Config{NoHedge: true, Counter: &objstore.Counter{}})
			b := memstore.New(memstore.Config{Name: "s3://b"})
			for key, p := range zarrFixture(t, c.fixture) {
				put(t, b, "x.zarr/"+key, p, nil)
			}
			var log tracetest.Log
			client.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(client.c.Counter))}
			n, err := client.OpenZarr(t.Context(), "s3://b/x.zarr", zarr.Options{})
			if err != nil {
				t.Fatal(err)
			}
			log.Step("open")
			if n.Group != nil {
				arrays, _, err := n.Group.Arrays(t.Context())
				if err != nil || len(arrays) != 2 {
					t.Fatal(len(arrays), err)
				}
				log.Step("arrays of the group")
			} else {
				chunkTrace(t, n.Array, &log)
				if s := client.Stats(); s.Requests != c.requests || s.Phases != c.phases {
					t.Errorf("%d requests in %d phases, want %d in %d", s.Requests, s.Phases, c.requests, c.phases)
				}
				p := make([]byte, n.Array.ChunkBytes())
				if _, err := n.Array.ReadChunk(t.Context(), p, []int64{1, 0}); err != nil {
					t.Fatal(err)
				}
				log.Step("the chunk below")
			}
			log.Golden(t, "testdata/zarr-"+name+".trace")
		})
	}
}

func chunkTrace(t *testing.T, a *zarr.Array, log *tracetest.Log) {
	t.Helper()
	p := make([]byte, a.ChunkBytes())
	if found, err := a.ReadChunk(t.Context(), p, []int64{0, 0}); err != nil || !found {
		t.Fatal(found, err)
	}
	log.Step("first chunk")
}

// TestZarrQuery: a URL with a query is one object.
func TestZarrQuery(t *testing.T) {
	if _, err := New(Config{}).OpenZarr(t.Context(), "https://localhost/x.zarr?sig=1", zarr.Options{}); err == nil || !strings.Contains(err.Error(), "query") {
		t.Error(err)
	}
}
