package farread

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// TestDecodedBytes: the decoded bytes of all that consists of chunks are those of its
// chunks, back to back, by chunk, by range and piece by piece, at the cost that was
// planned.
func TestDecodedBytes(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	for _, key := range []string{"formats/b2nd/testdata/nd3.b2nd", "formats/b2nd/testdata/sparse_dir.b2nddir/",
		"formats/cframe/testdata/fixtures/cframe/sparse_plain.b2dir/", "formats/cframe/testdata/fixtures/upstream/varchunks-lz4-3.0.0.b2frame",
		"formats/cframe/testdata/fixtures/upstream/vlblocks-lz4-fixed-3.0.0.b2frame", "formats/all/testdata/chunk.blosc"} {
		d := opened[Chunker](t, c, key, AnyOptions{})
		var want []byte
		starts := []int64{0}
		for i := range d.Chunks() {
			stored, err := d.AppendStored(t.Context(), nil, i)
			if err != nil {
				t.Fatal(err)
			}
			if want, err = (blosc.DecodeOptions{}).AppendDecoded(want, stored); err != nil {
				t.Fatal(err)
			}
			starts = append(starts, int64(len(want)))
		}
		for i := range d.Chunks() {
			for j := i; j <= d.Chunks(); j++ {
				off, n, err := d.ChunkBytes(t.Context(), i, j)
				if i == j && (off != 0 || n != 0) || i < j && (off != starts[i] || n != starts[j]-starts[i]) || err != nil {
					t.Errorf("%s: chunks %d to %d: %d from %d, %v", key, i, j, n, off, err)
				}
			}
		}
		checkBytes(t, c, key, d, want)
	}
}

func checkBytes(t *testing.T, c *Client, key string, d Chunker, want []byte) {
	t.Helper()
	size := int64(len(want))
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 20 {
		off, n := int64(0), size
		if k > 0 {
			off = r.Int64N(size + 1)
			n = r.Int64N(size - off + 1)
		}
		var got []byte
		plan, err := d.ExplainBytes(t.Context(), off, n)
		costs(t, c, key, plan, err, func() (int, error) {
			err := d.EachBytes(t.Context(), off, n, func(p []byte) error { got = append(got, p...); return nil })
			return len(got), err
		})
		before, dst := c.Stats(), make([]byte, n)
		if err := d.ReadBytes(t.Context(), dst, off); err != nil || !bytes.Equal(got, want[off:][:n]) || !bytes.Equal(dst, got) {
			t.Errorf("%s: %d bytes from %d: %v", key, n, off, err)
		}
		if took := minus(c.Stats(), before); took.Requests > int64(len(plan.Requests)) {
			t.Errorf("%s: %d bytes from %d: planned %d requests, took %d", key, n, off, len(plan.Requests), took.Requests)
		}
	}
	stop := errors.New("stop")
	if err := d.EachBytes(t.Context(), 0, size, func([]byte) error { return stop }); err != stop { // the very same
		t.Errorf("%s: %v", key, err)
	}
	for _, bad := range [][2]int64{{-1, 1}, {0, -1}, {0, size + 1}, {size + 1, 0}, {1 << 62, 1 << 62}} {
		_, err := d.ExplainBytes(t.Context(), bad[0], bad[1])
		eerr := d.EachBytes(t.Context(), bad[0], bad[1], nil)
		if !errors.Is(err, formats.ErrNoEntry) || !errors.Is(eerr, formats.ErrNoEntry) {
			t.Errorf("%s: %v: %v, %v", key, bad, err, eerr)
		}
		if _, _, err := d.ChunkBytes(t.Context(), bad[0], bad[0]+bad[1]+d.Chunks()); !errors.Is(err, formats.ErrNoEntry) && bad[1] != -1 {
			t.Errorf("%s: chunks %v: %v", key, bad, err)
		}
	}
}

// TestPieces: a frame of several pieces is read in one phase, each block once.
func TestPieces(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true, MaxMemory: 16 << 20, Policy: rangeio.Lean()})
	const chunk, chunks = 300 << 10, 20
	data := noise(chunk * chunks)
	frame(t, c, "a/x.b2frame", cframe.WriteOptions{ChunkSize: chunk}, func(w chunkWriter) error {
		for i := range chunks {
			if err := w.WriteChunk(data[i*chunk:][:chunk]); err != nil {
				return err
			}
		}
		return nil
	})
	d := opened[Chunker](t, c, "a/x.b2frame", AnyOptions{})
	const off, n = 7, chunk*chunks - 20
	var got []byte
	pieces := 0
	plan, err := d.ExplainBytes(t.Context(), off, n)
	if cost := plan.Cost(); cost.Phases != 1 || cost.Bytes > chunk*(chunks+1) {
		t.Errorf("planned %+v", cost)
	}
	costs(t, c, "frame", plan, err, func() (int, error) {
		err := d.EachBytes(t.Context(), off, n, func(p []byte) error {
			if pieces++; len(p) > int(c.piece()) {
				t.Errorf("a piece of %d bytes", len(p))
			}
			got = append(got, p...)
			return nil
		})
		return len(got), err
	})
	if pieces != 4 || !bytes.Equal(got, data[off:][:n]) {
		t.Errorf("%d bytes in %d pieces", len(got), pieces)
	}
}
