package b2nd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
)

// composed is the frame of runs of at most each chunks, which went through bytes.
func composed(t *testing.T, m b2nd.Meta, read b2nd.ReadBox, o b2nd.WriteOptions, each int64) []byte {
	t.Helper()
	l, err := b2nd.LayoutOf(m, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := b2nd.NewComposer(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var chunks bytes.Buffer
	for from := int64(0); from < l.Chunks; from += each {
		before := chunks.Len()
		run, err := b2nd.WriteRun(t.Context(), &chunks, m, read, o, from, min(from+each, l.Chunks))
		if err == nil && run.Bytes() != int64(chunks.Len()-before) {
			t.Errorf("a run of %d bytes, and it says %d", chunks.Len()-before, run.Bytes())
		}
		if err == nil {
			run, err = cframe.ParseRun(run.AppendTo(nil))
		}
		if err == nil {
			err = c.Add(run)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	head, tail, err := c.Close()
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join([][]byte{head, chunks.Bytes(), tail}, nil)
}

// TestComposer: runs of chunks become the frame that WriteFrom writes, byte for byte.
func TestComposer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape        []int64
		chunk, block []int
		dtype        string
		item         int
		o            b2nd.WriteOptions
	}{
		{shape: []int64{100, 37}, chunk: []int{10, 20}, block: []int{5, 7}, dtype: "<f4"},
		{shape: []int64{100, 37}, chunk: []int{10, 20}, block: []int{5, 7}, dtype: "<f4", o: b2nd.WriteOptions{Index: cframe.WithIndex}},
		{shape: []int64{100, 37}, chunk: []int{10, 20}, block: []int{5, 7}, dtype: "<i8", o: b2nd.WriteOptions{Index: cframe.WithIndex, NoStats: true,
			VLMetalayers: []cframe.Metalayer{{Name: "x", Data: []byte("\xa1y")}}, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 9}}},
		{shape: []int64{4000}, chunk: []int{10}, block: []int{10}, dtype: "<f8", o: b2nd.WriteOptions{Index: cframe.WithIndex}},
		{shape: []int64{4000}, chunk: []int{10}, block: []int{10}, dtype: "<f8", o: b2nd.WriteOptions{Index: cframe.CheapIndex, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}},
		{shape: []int64{60, 60}, chunk: []int{30, 30}, block: []int{10, 10}, dtype: "<f4", o: b2nd.WriteOptions{Index: cframe.WithIndex,
			Encode: blosc.EncodeOptions{Codec: blosc.Zstd, Filters: []blosc.Filter{{ID: blosc.TruncPrec, Meta: 5}, {ID: blosc.BitShuffle}}}}},
		{shape: []int64{3, 0, 2}, chunk: []int{2, 1, 2}, block: []int{1, 1, 2}, dtype: "<u2"},
		{shape: nil, chunk: []int{}, block: []int{}, dtype: "<u2", o: b2nd.WriteOptions{Index: cframe.WithIndex}},
		{shape: []int64{500, 3}, dtype: "|V3", item: 3},
		{shape: []int64{1000}, chunk: []int{70}, block: []int{16}, dtype: "<c16", o: b2nd.WriteOptions{Index: cframe.WithIndex}},
	} {
		m := b2nd.Meta{Shape: c.shape, ChunkShape: c.chunk, BlockShape: c.block, DType: c.dtype}
		l, err := b2nd.LayoutOf(m, c.o)
		if err != nil {
			t.Fatal(err)
		}
		src := holed(c.shape, l)
		read := func(_ context.Context, box b2nd.Box, dst []byte) error {
			nd.CopyBox(dst, box.Counts(), make([]int64, len(c.shape)), src, c.shape, box.Start, box.Counts(), l.ItemSize)
			return nil
		}
		var want memory
		if err := b2nd.WriteFrom(t.Context(), &want, m, read, c.o); err != nil {
			t.Fatal(err)
		}
		for _, each := range []int64{1, 3, max(l.Chunks, 1)} {
			if got := composed(t, m, read, c.o, each); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%v of %s in runs of %d: other bytes, %d for %d", c.shape, c.dtype, each, len(got), want.Len())
			}
		}
	}
}

// holed are items of an array with chunks of zeros, of NaN and of one value among others.
func holed(shape []int64, l b2nd.Layout) []byte {
	n := int64(l.ItemSize)
	for _, k := range shape {
		n *= k
	}
	p := make([]byte, n)
	chunk := max(l.ChunkBytes, 1)
	for i := range p {
		switch i / chunk % 5 {
		case 1: // zeros
		case 2:
			p[i] = []byte{0, 0, 0xc0, 0x7f}[i%4] // NaN of float32
		case 3:
			p[i] = byte(i % l.ItemSize)
		default:
			p[i] = byte(math.Sin(float64(i)) * 100)
		}
	}
	return p
}

// TestRunsRefused: what is no run, and too few of them, make no frame.
func TestRunsRefused(t *testing.T) {
	t.Parallel()
	m := b2nd.Meta{Shape: []int64{100}, ChunkShape: []int{10}, BlockShape: []int{5}, DType: "<f4"}
	o := b2nd.WriteOptions{Index: cframe.WithIndex}
	read := func(_ context.Context, _ b2nd.Box, dst []byte) error {
		for i := range dst {
			dst[i] = byte(i * i)
		}
		return nil
	}
	var out bytes.Buffer
	run, err := b2nd.WriteRun(t.Context(), &out, m, read, o, 0, 4)
	if err != nil || run.Chunks() != 4 {
		t.Fatal(err)
	}
	c, err := b2nd.NewComposer(m, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Add(run); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Close(); !errors.Is(err, cframe.ErrRefused) {
		t.Errorf("4 chunks of 10: %v", err)
	}
	for _, r := range [][2]int64{{-1, 2}, {3, 2}, {0, 11}} {
		if _, err := b2nd.WriteRun(t.Context(), &out, m, read, o, r[0], r[1]); !errors.Is(err, cframe.ErrRefused) {
			t.Errorf("%v: %v", r, err)
		}
	}
	broken := errors.New("broken")
	if _, err := b2nd.WriteRun(t.Context(), &out, m, func(context.Context, b2nd.Box, []byte) error { return broken }, o, 0, 4); !errors.Is(err, broken) {
		t.Errorf("a reader that fails: %v", err)
	}
	text := run.AppendTo(nil)
	for n := range text {
		if _, err := cframe.ParseRun(text[:n]); !errors.Is(err, formats.ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(text), err)
		}
	}
	if _, err := cframe.ParseRun(append(text, 0)); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(fmt.Sprint("a byte more: ", err))
	}
}
