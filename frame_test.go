package farread

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// noise is n bytes that compress a little.
func noise(n int) []byte {
	p := make([]byte, n)
	x := uint32(1)
	for i := range p {
		x = x*1664525 + 1013904223
		p[i] = byte(x>>24) & 0x3f
	}
	return p
}

// array writes a [64, 256, 256] array of bytes in chunks of [4, 256, 256] as an
// object of b.
func array(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	p := noise(64 * 256 * 256)
	w, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	m := b2nd.Meta{Shape: []int64{64, 256, 256}, ChunkShape: []int{4, 256, 256}, BlockShape: []int{1, 64, 256}, DType: "|u1"}
	a, err := b2nd.NewWriter(w, m, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	if err == nil {
		_, err = a.Write(p)
	}
	if err == nil {
		err = a.Close()
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOpenArray: opening is one phase, a slice one or two more, by each policy. It
// bounds the requests and the bytes of a cold point.
func TestOpenArray(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy          rangeio.Policy
		requests, bytes int64
		phases          int64
	}{
		"fast": {rangeio.Fast(), 3, 512 << 10, 2},
		"few":  {rangeio.Few(), 3, 512 << 10, 2},
		"lean": {rangeio.Lean(), 4, 100_000, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := remote(Config{NoHedge: true, Policy: tc.policy})
			p := array(t, b, "a.b2nd")
			a, err := c.OpenArray(t.Context(), "s3://b/a.b2nd", FrameOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if s := c.Stats(); s.Requests != 2 || s.Phases != 1 {
				t.Errorf("open: %+v", s)
			}
			s, err := b2nd.ParseSlice("33, 7, 9:11")
			if err != nil {
				t.Fatal(err)
			}
			box, err := s.Resolve(a.Shape())
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 2)
			if err := a.ReadSlice(t.Context(), got, box); err != nil {
				t.Fatal(err)
			}
			if at := (33*256+7)*256 + 9; !bytes.Equal(got, p[at:at+2]) {
				t.Errorf("items %v, want %v", got, p[at:at+2])
			}
			if s := c.Stats(); s.Requests > tc.requests || s.Bytes > tc.bytes || s.Phases > tc.phases {
				t.Errorf("a point: %+v", s)
			}
			if a.Source.Object.Info().Key != "a.b2nd" || a.Source.Folder != "" {
				t.Errorf("source %+v", a.Source)
			}
		})
	}
}

// TestOpenFrame: a frame by each of its names.
func TestOpenFrame(t *testing.T) {
	t.Parallel()
	const dir = "formats/all/testdata"
	whole, err := os.ReadFile(filepath.Join(dir, "frame.b2frame"))
	if err != nil {
		t.Fatal(err)
	}
	c, b := remote(Config{NoHedge: true})
	put(t, b, "x.b2frame", whole, nil)
	put(t, b, "in.bin", append(bytes.Repeat([]byte{1}, 500), append(bytes.Clone(whole), 2, 3, 4)...), nil)
	sparse := sparseFrame(t, b, "set/")
	read := func(f *Frame) []byte {
		p := make([]byte, f.Info().NBytes)
		if err := f.ReadBytes(t.Context(), p, 0); err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, err := c.OpenFrame(t.Context(), "s3://b/x.b2frame", FrameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := read(one)
	if local, err := OpenFrame(t.Context(), filepath.Join(dir, "frame.b2frame")); err != nil || !bytes.Equal(read(local), want) {
		t.Errorf("a local file: %v", err)
	}
	if in, err := c.OpenFrame(t.Context(), "s3://b/in.bin", FrameOptions{Offset: 500}); err != nil || !bytes.Equal(read(in), want) {
		t.Errorf("inside another file: %v", err)
	}
	for _, uri := range []string{"s3://b/set", "s3://b/set/", "s3://b/set/" + cframe.IndexName} {
		f, err := c.OpenFrame(t.Context(), uri, FrameOptions{})
		if err != nil || !bytes.Equal(read(f), sparse) || f.Folder != "set/" || f.Object == nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	for _, tc := range []struct {
		uri  string
		off  int64
		want error
	}{
		{"s3://b/none", 0, objstore.ErrNotFound}, {"s3://b/none/", 0, objstore.ErrNotFound},
		{"s3://b/in.bin", 0, formats.ErrCorrupt}, {"s3://b/in.bin", 499, formats.ErrCorrupt},
		{"s3://b/in.bin", 1 << 40, objstore.ErrInvalid}, {"s3://b/in.bin", -1, objstore.ErrInvalid}, {"s3://b/set/", 5, objstore.ErrInvalid},
		{"ftp://b/x", 0, objstore.ErrInvalid},
	} {
		if _, err := c.OpenFrame(t.Context(), tc.uri, FrameOptions{Offset: tc.off}); !errors.Is(err, tc.want) {
			t.Errorf("%s at %d: %v, want %v", tc.uri, tc.off, err, tc.want)
		}
	}
	if _, err := c.OpenArray(t.Context(), "s3://b/x.b2frame", FrameOptions{}); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("no array: %v", err)
	}
	if a, err := OpenArray(t.Context(), filepath.Join(dir, "array.b2nd")); err != nil || len(a.Shape()) != 2 {
		t.Errorf("a local array: %v", err)
	}
}

// sparseFrame writes a frame of three chunks into a folder of b.
func sparseFrame(t *testing.T, b *memstore.Bucket, folder string) []byte {
	t.Helper()
	p := noise(2500)
	w, err := cframe.NewSetWriter(t.Context(), OutputIn(b, folder), cframe.WriteOptions{ChunkSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{p[:1000], p[1000:2000], p[2000:]} {
		if err := w.WriteChunk(part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChunkEach: a chunk comes out in pieces, whatever it is made of; the least
// memory makes the pieces small.
func TestChunkEach(t *testing.T) {
	t.Parallel()
	const size = 5<<20 + 12345
	p := noise(size)
	encode := func(o blosc.EncodeOptions) []byte {
		chunk, err := blosc.AppendEncoded(nil, p, o)
		if err != nil {
			t.Fatal(err)
		}
		return chunk
	}
	small := 64 << 10
	for name, chunk := range map[string][]byte{
		"lz4":         encode(blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 4, BlockSize: small}),
		"blosc1":      encode(blosc.EncodeOptions{Codec: blosc.Zlib, TypeSize: 4, BlockSize: small, Blosc1: true}),
		"delta":       encode(blosc.EncodeOptions{TypeSize: 4, BlockSize: small, Filters: []blosc.Filter{{ID: blosc.Delta}}}),
		"stored":      encode(blosc.EncodeOptions{Level: blosc.LevelStore, BlockSize: small}),
		"dictionary":  encode(blosc.EncodeOptions{Codec: blosc.Zstd, BlockSize: small, Dict: true}),
		"large block": encode(blosc.EncodeOptions{Codec: blosc.LZ4, BlockSize: 4 << 20}),
		"one block":   encode(blosc.EncodeOptions{Codec: blosc.LZ4, BlockSize: 8 << 20}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := remote(Config{NoHedge: true, MaxMemory: 16 << 20})
			put(t, b, "in.bin", append(bytes.Repeat([]byte{9}, 77), chunk...), nil)
			k, err := c.OpenChunk(t.Context(), "s3://b/in.bin", FrameOptions{Offset: 77})
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			longest, pieces := 0, 0
			if err := k.Each(t.Context(), func(p []byte) error {
				got = append(got, p...)
				longest, pieces = max(longest, len(p)), pieces+1
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p, got) {
				t.Fatalf("%d other bytes", len(got))
			}
			if k.Header().NBytes != size || longest > max(1<<20, k.Header().BlockBytes()) || pieces < 2 && name != "one block" {
				t.Errorf("%d pieces, the longest of %d bytes", pieces, longest)
			}
			stop := fmt.Errorf("enough")
			if err := k.Each(t.Context(), func([]byte) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("stopped: %v", err)
			}
			if s := c.Stats(); s.Phases > 6 { // of two calls and the opening
				t.Errorf("%+v", s)
			}
			put(t, b, "cut", chunk[:len(chunk)-1], nil)
			if _, err := c.OpenChunk(t.Context(), "s3://b/cut", FrameOptions{}); !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("cut: %v", err)
			}
		})
	}
	if k, err := OpenChunk(t.Context(), "formats/all/testdata/chunk.blosc"); err != nil || k.Header().NBytes != 1000 {
		t.Errorf("a local file: %v", err)
	}
}

// TestCells reads the chunks of an array whose filter depends on the shape of a
// block, which only the array knows.
func TestCells(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	p := noise(40 * 50)
	w, err := b.Create(t.Context(), "cells.b2nd", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	m := b2nd.Meta{Shape: []int64{40, 50}, ChunkShape: []int{40, 50}, BlockShape: []int{10, 50}, DType: "|u1"}
	a, err := b2nd.NewWriter(w, m, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Filters: []blosc.Filter{{ID: blosc.NDCell, Meta: 4}}}})
	if err == nil {
		_, err = a.Write(p)
	}
	if err == nil {
		err = a.Close()
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.OpenArray(t.Context(), "s3://b/cells.b2nd", FrameOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(p))
	if err := x.Source.ReadBytes(t.Context(), got, 0); err != nil || !bytes.Equal(got, p) {
		t.Errorf("bytes of the frame: %v", err)
	}
}
