package cframe_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A frame of many chunks on a server that misbehaves, with an index inside.
const (
	lostChunks = 9000
	lostChunk  = 128
)

// lostData returns the chunks of a version. In all versions they take the same bytes.
func lostData(version int) []byte {
	p := make([]byte, lostChunks*lostChunk)
	r := rand.New(rand.NewPCG(9, 9))
	for i := range lostChunks {
		c := p[i*lostChunk:][:lostChunk]
		for k := range 12 + 4*r.IntN(16) {
			c[k] = byte(i*(k+version+1)*k>>3 + k*version)
		}
		binary.LittleEndian.PutUint32(c, uint32(i*3+version+1))
	}
	return p
}

func lostFrame(tb testing.TB, version int, ix cframe.IndexChoice) []byte {
	tb.Helper()
	out := &output{}
	w, err := cframe.NewWriter(out, cframe.WriteOptions{ChunkSize: lostChunk, BlockSize: lostChunk, Index: ix,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Filters: []blosc.Filter{}}})
	for p := lostData(version); len(p) > 0 && err == nil; p = p[lostChunk:] {
		err = w.WriteChunk(p[:lostChunk])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

var lostReads = map[string]flawedtest.Reading[*cframe.Frame]{
	"chunks": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		var mu sync.Mutex
		got := map[int][]byte{}
		err := f.EachConcurrent(ctx, []cframe.Want{{Chunk: 5000}, {Chunk: 17}}, func(want, _ int, p []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got[[]int{5000, 17}[want]*lostChunk] = bytes.Clone(p)
			return nil
		})
		return got, err
	},
	"chunk": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p, err := f.AppendChunk(ctx, nil, 3000)
		return map[int][]byte{3000 * lostChunk: p}, err
	},
	"bytes": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p := make([]byte, 3*lostChunk)
		return map[int][]byte{2000*lostChunk + 5: p}, f.ReadBytes(ctx, p, 2000*lostChunk+5)
	},
}

// openPaged opens a frame whose places come in pages: head and tail are short.
func openPaged(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (*cframe.Frame, error) {
	o.Head, o.Tail = 8<<10, 12<<10
	obj, err := objstore.Open(ctx, b, "k", o)
	if err != nil {
		return nil, err
	}
	return cframe.Open(ctx, obj, cframe.Options{Tail: 12 << 10, Policy: rangeio.Lean()})
}

// TestManyFaults: the fault matrix over reads whose places come in pages of the index.
func TestManyFaults(t *testing.T) {
	t.Parallel()
	frames, content := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		content[v], frames[v] = lostData(v), lostFrame(t, v, cframe.WithIndex)
	}
	m := flawedtest.Matrix[*cframe.Frame]{Object: func(_ string, version int) []byte { return frames[version] }, Content: content,
		Open: openPaged, Tail: true, Readings: lostReads, Patient: "chunk"}
	m.Run(t)
	f := openLate(t, frames[0])
	if x, err := f.Index(t.Context()); err != nil || x.Size == 0 {
		t.Errorf("%+v, %v", x, err)
	}
	if before := f.HeldBytes(); before > 60_000 {
		t.Errorf("%d bytes held: the offsets were read", before)
	}
}

func openLate(t *testing.T, p []byte) *cframe.Frame {
	t.Helper()
	f, err := cframe.Open(t.Context(), reader(p), cframe.Options{Tail: 12 << 10})
	if err != nil {
		t.Fatal(err)
	}
	return f
}
