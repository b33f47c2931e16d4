package cframe_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
)

// A frame on a server that misbehaves: 10 chunks that do not compress, so that
// all versions have the same offsets and only the bytes differ.
const (
	faultyChunks = 10
	faultyChunk  = 30_000
	faultyBlock  = 4_000
)

func faultyData(version int) []byte {
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultyChunks*faultyChunk)
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	return p
}

func faultyFrame(version int) []byte {
	var o repeated
	w, err := cframe.NewWriter(&o, cframe.WriteOptions{ChunkSize: faultyChunk, BlockSize: faultyBlock,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, BlockSize: faultyBlock}})
	for p := faultyData(version); len(p) > 0 && err == nil; p = p[faultyChunk:] {
		// A little of it compresses, or there would be no block starts.
		clear(p[:100])
		clear(p[faultyChunk-300 : faultyChunk])
		err = w.WriteChunk(p[:faultyChunk])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	out := make([]byte, o.size)
	if _, err := o.ReadAt(out, 0); err != nil {
		panic(err)
	}
	return out
}

// faultyReads are the ways of reading; each returns what it read by its place
// in the data.
var faultyReads = map[string]flawedtest.Reading[*cframe.Frame]{
	"blocks": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		var mu sync.Mutex
		got := map[int][]byte{}
		err := f.EachConcurrent(ctx, []cframe.Want{{Chunk: 4, Blocks: []int{1, 5}}, {Chunk: 6, Blocks: []int{2}}}, func(want, block int, p []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got[(4+2*want)*faultyChunk+block*faultyBlock] = bytes.Clone(p)
			return nil
		})
		return got, err
	},
	"chunk": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p, err := f.AppendChunk(ctx, nil, 4)
		return map[int][]byte{4 * faultyChunk: p}, err
	},
	"bytes": func(ctx context.Context, f *cframe.Frame) (map[int][]byte, error) {
		p := make([]byte, 70_000)
		return map[int][]byte{100_000: p}, f.ReadBytes(ctx, p, 100_000)
	},
}

// TestFaults: the fault matrix.
func TestFaults(t *testing.T) {
	t.Parallel()
	frames, content := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		frames[v] = faultyFrame(v)
		f, err := cframe.Open(t.Context(), reader(frames[v]), cframe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		content[v] = make([]byte, f.Info().NBytes)
		if err := f.ReadBytes(t.Context(), content[v], 0); err != nil {
			t.Fatal(err)
		}
	}
	open := func(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (*cframe.Frame, error) {
		o.Head, o.Tail = 8<<10, 4<<10
		obj, err := objstore.Open(ctx, b, "k", o)
		if err != nil {
			return nil, err
		}
		return cframe.Open(ctx, obj, cframe.Options{Tail: 4 << 10, Policy: starts})
	}
	m := flawedtest.Matrix[*cframe.Frame]{Object: func(_ string, version int) []byte { return frames[version] }, Content: content,
		Open: open, Tail: true, Readings: faultyReads, Patient: "blocks"}
	m.Run(t)
}
