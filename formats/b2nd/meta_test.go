package b2nd_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMeta(t *testing.T) {
	sixteen := make([]int64, 16)
	small := make([]int, 16)
	for i := range sixteen {
		sixteen[i], small[i] = int64(i+1), 1
	}
	one := "d30000000000000001 d30000000000000002"
	for name, c := range map[string]struct {
		bytes string // "" where a test of its own looks at them
		want  b2nd.Meta
	}{
		"2d": {"97 00 02 92 d30000000000000005 d30000000000000007 92 d200000003 d200000004 92 d200000002 d200000002 00 db00000003 3c6634",
			b2nd.Meta{Shape: []int64{5, 7}, ChunkShape: []int{3, 4}, BlockShape: []int{2, 2}, DType: "<f4"}},
		"no axes": {"97 00 00 90 90 90 00 db00000003 7c7531", b2nd.Meta{Shape: []int64{}, ChunkShape: []int{}, BlockShape: []int{}, DType: "|u1"}},
		"16":      {"", b2nd.Meta{Shape: sixteen, ChunkShape: small, BlockShape: small, DType: "|u1"}},
		"caterva": {"", b2nd.Meta{Shape: []int64{1, 2}, ChunkShape: []int{1, 2}, BlockShape: []int{1, 1}}},
	} {
		b, err := b2nd.AppendMeta(nil, c.want)
		if err != nil {
			t.Fatal(err)
		}
		switch name {
		case "16":
			if b[3] != 0xa0 || b[4] != 0xd3 {
				t.Errorf("16 axes begin with % x, as C would not read them", b[:5])
			}
		case "caterva":
			b = unhex(t, "95 00 02 92 "+one+" 92 d200000001 d200000002 92 d200000001 d200000001")
		default:
			if want := unhex(t, c.bytes); !bytes.Equal(b, want) {
				t.Errorf("%s: % x, want % x", name, b, want)
			}
		}
		m, err := b2nd.ParseMeta(b)
		if err != nil || !slices.Equal(m.Shape, c.want.Shape) || !slices.Equal(m.ChunkShape, c.want.ChunkShape) || !slices.Equal(m.BlockShape, c.want.BlockShape) || m.DType != c.want.DType {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		for n := range b { // no part may be missing
			m, err := b2nd.ParseMeta(b[:n:n])
			if n == 12+19*len(c.want.Shape)-6 && err == nil && m.DType == "" {
				continue // a caterva
			}
			if !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s cut to %d: %v", name, n, err)
			}
		}
	}
	long := unhex(t, "97 00 01 dc0001")
	if _, err := b2nd.ParseMeta(long); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
}

func TestMetaRefused(t *testing.T) {
	good, err := b2nd.AppendMeta(nil, b2nd.Meta{Shape: []int64{5}, ChunkShape: []int{3}, BlockShape: []int{2}, DType: "<f4"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   int
		b    string
		want error
	}{
		"no array":       {0, "c0", formats.ErrCorrupt},
		"version":        {1, "01", formats.ErrUnsupported},
		"axes":           {2, "11", formats.ErrUnsupported},
		"other axes":     {2, "02", formats.ErrCorrupt},
		"shape marker":   {4, "d2", formats.ErrCorrupt},
		"negative shape": {5, "ff", formats.ErrCorrupt},
		"negative chunk": {15, "ff", formats.ErrCorrupt},
		"chunk marker":   {14, "d3", formats.ErrCorrupt},
		"text marker":    {26, "da", formats.ErrCorrupt},
		"text too long":  {27, "7fffffff", formats.ErrCorrupt},
		"no UTF-8":       {31, "ff", formats.ErrCorrupt},
	} {
		b := bytes.Clone(good)
		copy(b[c.at:], unhex(t, c.b))
		if m, err := b2nd.ParseMeta(b); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// TestMetaRoundTrip: whatever can be written is read as it was.
func TestMetaRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(0, 16).Draw(t, "axes")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 1<<62), d, d).Draw(t, "shape")
		chunk := rapid.SliceOfN(rapid.IntRange(0, 1<<31-1), d, d).Draw(t, "chunk")
		block := rapid.SliceOfN(rapid.IntRange(0, 1<<31-1), d, d).Draw(t, "block")
		want := b2nd.Meta{Shape: shape, ChunkShape: chunk, BlockShape: block, DType: rapid.String().Draw(t, "type")}
		b, err := b2nd.AppendMeta(nil, want)
		if err != nil || len(b) != 12+19*d+len(want.DType) {
			t.Fatal(len(b), err)
		}
		got, err := b2nd.ParseMeta(b)
		if err != nil || !slices.Equal(got.Shape, shape) || !slices.Equal(got.ChunkShape, chunk) || !slices.Equal(got.BlockShape, block) || got.DType != want.DType {
			t.Fatalf("%+v, want %+v: %v", got, want, err)
		}
	})
}

// TestRefused: what a frame of python-blosc2 says beside its shape may make its
// chunks something else than the items.
func TestRefused(t *testing.T) {
	m := b2nd.Meta{Shape: []int64{4}, DType: "|u1"}
	for _, name := range []string{"b2o", "LazyArray", "proxy-source", "listarray"} {
		b := build(t, m, make([]byte, 4), b2nd.WriteOptions{Metalayers: []cframe.Metalayer{{Name: name, Data: []byte{0x80}}}})
		_, err := b2nd.Open(t.Context(), reader(b), b2nd.Options{})
		if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b2nd.Edit(t.Context(), &file{b}, b2nd.EditOptions{}); name != "listarray" && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: edited, %v", name, err)
		}
	}
	var out memory
	w, err := cframe.NewWriter(&out, cframe.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteChunk([]byte("bytes")), w.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := cframe.Open(t.Context(), reader(out.Bytes()), cframe.Options{})
	if err != nil || b2nd.IsArray(f) {
		t.Fatal(err)
	}
	if _, err := b2nd.FromFrame(f); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := b2nd.Edit(t.Context(), &file{out.Bytes()}, b2nd.EditOptions{}); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
}

// TestForeignBlocks reads an array whose chunks have other blocks than it says:
// they lie in the same order, but cannot be decoded alone.
func TestForeignBlocks(t *testing.T) {
	m := b2nd.Meta{Shape: []int64{6, 8}, ChunkShape: []int{4, 4}, BlockShape: []int{2, 2}, DType: "<u4"}
	items := numbers(48, 4)
	good := open(t, build(t, m, items, b2nd.WriteOptions{}))
	layer, _ := good.Frame().Metalayer("b2nd")
	var out memory
	enc := blosc.EncodeOptions{Codec: blosc.LZ4, TypeSize: 4, BlockSize: 64}
	w, err := cframe.NewWriter(&out, cframe.WriteOptions{TypeSize: 4, ChunkSize: 64, BlockSize: 64, Encode: enc, Metalayers: []cframe.Metalayer{{Name: "b2nd", Data: layer}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range good.Frame().Chunks() {
		p, err := good.Frame().AppendChunk(t.Context(), nil, i)
		if err = errors.Join(err, w.WriteChunk(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := open(t, out.Bytes())
	for _, box := range []b2nd.Box{b2nd.Whole(m.Shape), b2nd.Sub([]int64{1, 3}, []int64{5, 5}), b2nd.Sub([]int64{5, 7}, []int64{6, 8})} {
		if !bytes.Equal(slice(t, a, box), slice(t, good, box)) {
			t.Errorf("%v: other items", box)
		}
	}
}
