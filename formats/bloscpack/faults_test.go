package bloscpack_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
)

// A file on a server that misbehaves: items that do not compress, so that all
// versions have the same offsets and only the bytes differ.
const (
	faultyItems = 10
	faultyItem  = 30_000
)

func faultyFile(version int) ([]byte, []byte) {
	rnd := rand.New(rand.NewPCG(uint64(version), 3))
	p := make([]byte, faultyItems*faultyItem)
	for i := range p {
		p[i] = byte(rnd.Uint32())
	}
	var o output
	w, err := bloscpack.NewWriter(&o, bloscpack.WriteOptions{Variable: true, Checksum: bloscpack.CRC32})
	for i := 0; i < len(p) && err == nil; i += faultyItem {
		err = w.WriteItem(p[i : i+faultyItem])
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return o.b, p
}

// faultyReads are the ways of reading. Each returns the bytes that it read, by their
// places in the data.
var faultyReads = map[string]flawedtest.Reading[*bloscpack.File]{
	"item": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		p, err := f.AppendItem(ctx, nil, 4)
		return map[int][]byte{4 * faultyItem: p}, err
	},
	"items": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		items, err := f.AppendItems(ctx, nil, 5, 8)
		return map[int][]byte{5 * faultyItem: bytes.Join(items, nil)}, err
	},
	"chunks": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		p := make([]byte, faultyItems*faultyItem)
		_, err := f.ReadChunks(ctx, p, 0, f.Len())
		return map[int][]byte{0: p}, err
	},
	"headers": func(ctx context.Context, f *bloscpack.File) (map[int][]byte, error) {
		// Entry decides where the item is read from.
		e, err := f.Entry(ctx, 7)
		if err != nil {
			return nil, err
		}
		if e.NBytes != faultyItem {
			return map[int][]byte{0: {}, 1: {1}}, nil
		}
		p, err := f.AppendItem(ctx, nil, 7)
		return map[int][]byte{7 * faultyItem: p}, err
	},
}

// TestFaults: the fault matrix.
func TestFaults(t *testing.T) {
	t.Parallel()
	files, content := map[int][]byte{}, map[int][]byte{}
	for v := range 3 {
		files[v], content[v] = faultyFile(v)
	}
	open := func(ctx context.Context, b objstore.Bucket, o objstore.OpenOptions) (*bloscpack.File, error) {
		o.Head, o.Also = 8<<10, objstore.Range{Off: 9 << 10, Len: 4 << 10}
		obj, err := objstore.Open(ctx, b, "k", o)
		if err != nil {
			return nil, err
		}
		return bloscpack.Open(ctx, obj, bloscpack.Options{Head: 8 << 10, Window: 100_000})
	}
	m := flawedtest.Matrix[*bloscpack.File]{Object: func(_ string, version int) []byte { return files[version] }, Content: content,
		Open: open, Readings: faultyReads, Patient: "items"}
	m.Run(t)
}
