package b2nd_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
	"github.com/farread/farread/rangeio/rangeiotest"
)

// suppose returns all bytes of an array that is made up.
func suppose(t tester, m b2nd.Meta, o b2nd.SupposeOptions) (*b2nd.Supposed, []byte) {
	t.Helper()
	s, err := b2nd.Suppose(m, o)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, s.Size())
	s.Read(p, 0)
	return s, p
}

// plan is what a slice of the array in file takes, by the planner.
func plan(t tester, file []byte, box b2nd.Box) (opening, index rangeio.Stats, list []rangeio.Planned) {
	t.Helper()
	r := rangeiotest.New(file, rangeio.Fast())
	a, err := b2nd.Open(t.Context(), r, b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	opening = r.Stats()
	if list, err = a.ExplainSlice(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	return opening, r.Stats(), list
}

// TestSuppose: an array that is made up opens as a written one of its shapes; it is the very same
// but for the items, if chunks are stored as they are; its bytes are the same in parts.
func TestSuppose(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := b2nd.Meta{Shape: rapid.SliceOfN(rapid.Int64Range(1, 20), 0, 4).Draw(t, "shape"), DType: rapid.SampledFrom([]string{"<f4", "|u1", "<c16", "|V300", "[('a', '<i2'), ('b', '>f8')]"}).Draw(t, "type")}
		u := rapid.SampledFrom(append(b2nd.Uses(), 0)).Draw(t, "use")
		index := rapid.SampledFrom([]cframe.IndexChoice{cframe.NoIndex, cframe.CheapIndex, cframe.WithIndex}).Draw(t, "index")
		n, size := int64(1), map[string]int{"<f4": 4, "|u1": 1, "<c16": 16, "|V300": 300}[m.DType]
		for _, k := range m.Shape {
			n *= k
		}
		if size == 0 {
			size = 10
		}
		m.ChunkShape, m.BlockShape = b2nd.ShapesFor(u, m.Shape, size)
		for i := range m.ChunkShape { // several chunks and blocks
			m.ChunkShape[i] = min(m.ChunkShape[i], rapid.IntRange(1, 12).Draw(t, "chunk"))
			m.BlockShape[i] = min(m.BlockShape[i], m.ChunkShape[i], rapid.IntRange(1, 5).Draw(t, "block"))
		}
		box := b2nd.Whole(m.Shape)
		for i := range box.Start {
			box.Start[i] = rapid.Int64Range(0, m.Shape[i]-1).Draw(t, "start")
			box.Stop[i] = rapid.Int64Range(box.Start[i]+1, m.Shape[i]).Draw(t, "stop")
		}
		box = b2nd.Sub(box.Start, box.Stop)

		stored := build(t, m, numbers(n, size), b2nd.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}, Index: index})
		_, same := suppose(t, m, b2nd.SupposeOptions{CBytes: n * int64(size), Encode: blosc.EncodeOptions{Level: blosc.LevelStore}, Index: index})
		wantOpening, wantIndex, want := plan(t, stored, box)
		gotOpening, gotIndex, got := plan(t, same, box)
		// A real index is shorter than the supposed one: a file of 88 KB was supposed to have 120 KB. Where
		// the opening reads all of one file, and not of the other, a request is between them.
		var between int64
		if (wantOpening.Bytes == int64(len(stored))) != (gotOpening.Bytes == int64(len(same))) {
			between = 1
		}
		differ := func(a, b int64) bool { return max(a-b, b-a) > between }
		if d := cmp.Diff(want, got); d != "" && index == cframe.NoIndex || differ(wantOpening.Requests, gotOpening.Requests) || differ(wantIndex.Requests, gotIndex.Requests) {
			t.Fatalf("opened by %+v, want %+v; index %+v, want %+v\n%s", gotOpening, wantOpening, gotIndex, wantIndex, d)
		}

		written := build(t, m, numbers(n, size), b2nd.WriteOptions{Index: index})
		cbytes := open(t, written).Frame().Info().CBytes
		s, made := suppose(t, m, b2nd.SupposeOptions{CBytes: cbytes, Index: index})
		a := open(t, made)
		if d := cmp.Diff(open(t, written).Meta(), a.Meta()); d != "" {
			t.Fatal(d)
		}
		if _, _, list := plan(t, made, box); len(list) == 0 && cbytes > 0 {
			t.Fatal("nothing is read")
		}
		at := rapid.Int64Range(0, s.Size()).Draw(t, "off")
		p := bytes.Repeat([]byte{1}, rapid.IntRange(0, int(s.Size()-at)).Draw(t, "length"))
		if s.Read(p, at); !bytes.Equal(p, made[at:at+int64(len(p))]) {
			t.Fatalf("other bytes in [%d, +%d)", at, len(p))
		}
	})
}

// Chunks and blocks share the bytes by the items that they have of the array.
func TestSupposedSizes(t *testing.T) {
	t.Parallel()
	const bytes = 1 << 20
	m := b2nd.Meta{Shape: []int64{100, 90, 70}, ChunkShape: []int{30, 30, 30}, BlockShape: []int{10, 10, 10}, DType: "<f4"}
	_, p := suppose(t, m, b2nd.SupposeOptions{CBytes: bytes, Index: cframe.CheapIndex})
	a := open(t, p)
	if got := a.Frame().Info().CBytes; got < bytes*99/100 || got > bytes*105/100 {
		t.Errorf("%d bytes in all, want about %d", got, bytes)
	}
	c, err := a.Frame().Chunk(t.Context(), 0)
	if want := int64(bytes * 27 / 630); err != nil || c.MaxLen < want*9/10 || c.MaxLen > want*11/10 {
		t.Errorf("%d bytes in the first chunk, want about %d", c.MaxLen, want)
	}
	if c, err = a.Frame().Chunk(t.Context(), 2); err != nil || c.MaxLen > bytes*9/630*11/10 {
		t.Errorf("%d bytes in a chunk of which a third is in the array, %v", c.MaxLen, err)
	}
	// Zeros have no bytes, and what is longer than its items is stored as it is.
	_, p = suppose(t, m, b2nd.SupposeOptions{})
	if a := open(t, p); a.Frame().Info().CBytes != 0 {
		t.Errorf("zeros take %d bytes", a.Frame().Info().CBytes)
	}
	_, p = suppose(t, m, b2nd.SupposeOptions{CBytes: 1 << 40})
	if got := open(t, p).Frame().Info(); got.CBytes != 4*3*3*(32+4*27000) {
		t.Errorf("%+v", got)
	}
	_, p = suppose(t, b2nd.Meta{Shape: []int64{0, 5}, DType: "<f4"}, b2nd.SupposeOptions{CBytes: 5, Index: cframe.WithIndex})
	if a := open(t, p); !slices.Equal(a.Shape(), []int64{0, 5}) {
		t.Error(a.Shape())
	}
}

func TestSupposeErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    b2nd.Meta
		o    b2nd.SupposeOptions
		want error
	}{
		{b2nd.Meta{Shape: []int64{10, 10}, ChunkShape: []int{5, 5}, BlockShape: []int{1, 1}, DType: "<f4"}, b2nd.SupposeOptions{MaxBlocks: 99}, formats.ErrTooLarge},
		{b2nd.Meta{Shape: []int64{1 << 40, 10}, DType: "<f4"}, b2nd.SupposeOptions{CBytes: 1}, formats.ErrTooLarge},
		{b2nd.Meta{Shape: []int64{10}, ChunkShape: []int{5, 5}, BlockShape: []int{1}, DType: "<f4"}, b2nd.SupposeOptions{}, cframe.ErrRefused},
		{b2nd.Meta{Shape: []int64{10}}, b2nd.SupposeOptions{}, formats.ErrUnsupported},
	} {
		if _, err := b2nd.Suppose(c.m, c.o); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.m, err, c.want)
		}
	}
}
