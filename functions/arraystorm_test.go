package functions_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// TestArrayStorm is TestStorm for outputs of one object.
func TestArrayStorm(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds(20) {
				in, out := stores()
				storm(t, play{arrayKey, b2nd.Format, grid, checkArray}, in, jittery{out}, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

const arrayKey = "grids/a b+c.npy"

// grid is a .npy of a few numbers that seed decides.
func grid(tb testing.TB, seed int) []byte {
	tb.Helper()
	d, err := dtype.Parse("<i4")
	if err != nil {
		tb.Fatal(err)
	}
	n := 3 + seed%3
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{int64(n), 5}, Fortran: seed%2 == 1})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range n * 5 {
		p = binary.LittleEndian.AppendUint32(p, uint32(seed*1000+i))
	}
	return p
}

// checkArray: one array, made of what the source holds now.
func checkArray(t *testing.T, in, out objstore.Bucket) {
	t.Helper()
	ctx := context.Background()
	const key = arrayKey + ".b2nd"
	for i, err := range out.List(ctx, "") {
		if err != nil || i.Key != key {
			t.Fatalf("output %q, %v", i.Key, err)
		}
	}
	src, err := in.Head(ctx, arrayKey)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := objstore.Open(ctx, out, key, objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if of, _ := functions.SourceOf(obj.Info().Meta); of.ETag != src.ETag || of.VersionID != src.VersionID || of.Key != arrayKey {
		t.Errorf("made of %+v, not of %+v", of, src)
	}
	a, err := b2nd.Open(ctx, obj, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := a.CopyTo(ctx, &got, b2nd.Whole(a.Shape()), 0); err != nil {
		t.Fatal(err)
	}
	file := body(t, in, arrayKey)
	h, n, err := npy.ParseHeader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, int64(len(file))-n)
	if err := h.ReadBox(ctx, rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file))), n, want, b2nd.Whole(h.Shape)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("items %x, want %x", got.Bytes(), want)
	}
}
