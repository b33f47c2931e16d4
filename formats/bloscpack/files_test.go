package bloscpack_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
)

// output is an Output in memory.
type output struct{ b []byte }

func (o *output) Write(p []byte) (int, error) { o.b = append(o.b, p...); return len(p), nil }

func (o *output) Patch(off int64, p []byte) error {
	if off+int64(len(p)) > int64(len(o.b)) {
		return errors.New("patch behind the end")
	}
	copy(o.b[off:], p)
	return nil
}

func (o *output) Rehead(n int64, p []byte) error {
	o.b = append(slices.Clone(p), o.b[n:]...)
	return nil
}

// write makes a file of items: a chunk of version 4 for each, or all of them together
// in chunks of one size.
func write(tb testing.TB, o bloscpack.WriteOptions, items [][]byte) []byte {
	tb.Helper()
	var out output
	w, err := bloscpack.NewWriter(&out, o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range items {
		if o.Variable {
			err = w.WriteItem(p)
		} else {
			_, err = w.Write(p)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.b
}

// stored is a chunk that holds p as it is, with its checksum.
func stored(p []byte, sum bloscpack.Checksum) []byte {
	b := []byte{2, 1, 0x12, 1}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p)))
	b = binary.LittleEndian.AppendUint32(b, uint32(max(len(p), 1)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p)+16))
	b = append(b, p...)
	return sum.AppendSum(b, b)
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}

// byHand makes a file of version 4 whose chunks lie in the given order, with gaps
// of some bytes before each. The chunk of item -1 belongs to none.
func byHand(tb fataler, sum bloscpack.Checksum, items [][]byte, order []int, gap int) []byte {
	tb.Helper()
	h := bloscpack.Header{Version: 4, Checksum: sum, TypeSize: 1, ChunkSize: -1, LastChunk: -1, Chunks: int64(len(items)), Offsets: true, Variable: true}
	out, err := h.AppendBinary(nil)
	if err != nil {
		tb.Fatal(err)
	}
	table := len(out)
	for range items {
		out = binary.LittleEndian.AppendUint64(out, ^uint64(0))
	}
	for _, i := range order {
		out = append(out, make([]byte, gap)...)
		if i < 0 {
			out = append(out, stored([]byte("an older version"), sum)...)
			continue
		}
		binary.LittleEndian.PutUint64(out[table+8*i:], uint64(len(out)))
		out = append(out, stored(items[i], sum)...)
	}
	return out
}

func encodeLZ4() blosc.EncodeOptions { return blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 4} }
