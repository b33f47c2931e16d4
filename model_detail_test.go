package farread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/npy"
)

// TestDetails: each kind has the detail of its format, which agrees with what the
// description says of all formats.
func TestDetails(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	seen := map[string]bool{}
	for _, k := range kinds {
		d := opened[Dataset](t, c, k.path, AnyOptions{})
		in, err := d.Describe(t.Context(), DescribeOptions{})
		if err != nil {
			t.Fatal(k.path, err)
		}
		good := false
		switch x := in.Detail.(type) {
		case FrameDetail:
			good = x.NBytes == in.NBytes && len(x.Metalayers)+len(x.VLMetalayers) == len(in.Metadata)+len(in.Opaque) && (x.DType != "") == (in.DType != "")
		case GulpDetail:
			one := x.Named.Key != ""
			good = x.IDs == in.Entries && x.Frames == in.Images && x.DataBytes+x.MetaBytes == in.Source.Size && x.Chunks > 0 && one == (x.Chunks == 1 && x.Named.Key == k.path)
		case BloscpackDetail:
			good = x.Chunks == in.Entries && !x.Aborted && (x.Metadata == nil) == (in.Metadata == nil && in.Opaque == nil)
		case ZoomDetail:
			good = x.Major == 3 && x.Index == nil && x.Counts == nil
		case blosc.Header:
			good = int64(x.CBytes) == in.CBytes
		case npy.Header:
			good = len(x.Shape) == len(in.Shape)
		}
		if !good {
			t.Errorf("%s: %T %+v of %+v", k.path, in.Detail, in.Detail, in)
		}
		seen[fmt.Sprintf("%T", in.Detail)] = true
	}
	if len(seen) != 6 {
		t.Errorf("details: %v", seen)
	}
}

// TestDescribeScan: a scan tells what indexes do not.
func TestDescribeScan(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	describe := func(key string, scan bool) Description {
		t.Helper()
		in, err := opened[Dataset](t, c, key, AnyOptions{AsFolder: true}).Describe(t.Context(), DescribeOptions{Scan: scan})
		if err != nil {
			t.Fatal(key, err)
		}
		return in
	}
	put(t, b, "dir/sub/a.zoom", twoTracks(t, 20_000, false), nil)
	put(t, b, "dir/b.zoom", twoTracks(t, 20_000, true), nil)
	for _, tc := range []struct {
		key          string
		scan, counts bool
	}{{"dir/sub/a.zoom", false, false}, {"dir/sub/a.zoom", true, true}, {"dir/b.zoom", false, true}, {"dir/b.zoom", true, true}} {
		d, ok := describe(tc.key, tc.scan).Detail.(ZoomDetail)
		if !ok || (d.Counts != nil) != tc.counts || tc.counts && d.Counts[1].Samples != 20_000 || (d.Index != nil) != (tc.key == "dir/b.zoom") {
			t.Errorf("%s, scan %t: %+v", tc.key, tc.scan, d)
		}
		if d.Index != nil && (!d.Index.Inside || d.Index.Bytes <= 0) {
			t.Errorf("%+v", d.Index)
		}
	}
	one, all := describe("dir/", false), describe("dir/", true)
	if one.Entries != 2 || all.Entries != 2 || one.CBytes >= all.CBytes || all.Detail != nil {
		t.Errorf("%+v, %+v", one, all)
	}

	var items bloscpackOutput
	w, err := bloscpack.NewWriter(&items, bloscpack.WriteOptions{Variable: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := w.WriteItem(make([]byte, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, b, "x.blp", items.Bytes(), nil)
	if less, more := describe("x.blp", false), describe("x.blp", true); less.NBytes != -1 || more.NBytes != 99*100/2 {
		t.Errorf("%d, with a scan %d bytes", less.NBytes, more.NBytes)
	}

	cut := twoTracks(t, 20_000, false)
	put(t, b, "cut.zoom", cut[:len(cut)-5], nil)
	if _, err := opened[Dataset](t, c, "cut.zoom", AnyOptions{}).Describe(t.Context(), DescribeOptions{Scan: true}); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
}

// TestDescribeLayers: metalayers are in the detail as they are stored.
func TestDescribeLayers(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true})
	layer := cframe.Metalayer{Name: "unit", Data: []byte{0xa1, 'm'}}
	frame(t, c, "x.b2frame", cframe.WriteOptions{Metalayers: []cframe.Metalayer{layer}}, func(w chunkWriter) error { return w.WriteChunk(make([]byte, 100)) })
	in, err := opened[Dataset](t, c, "x.b2frame", AnyOptions{}).Describe(t.Context(), DescribeOptions{})
	d, ok := in.Detail.(FrameDetail)
	if err != nil || !ok || len(d.Metalayers) != 1 || d.Metalayers[0].Name != layer.Name || !bytes.Equal(d.Metalayers[0].Data, layer.Data) || string(in.Metadata["unit"]) != `"m"` {
		t.Errorf("%+v, %v", in, err)
	}
}

// TestDescribeBloscpack: the array that chunks hold, or why the metadata of one cannot be
// used, the names of items, and whether anything can be read.
func TestDescribeBloscpack(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	for _, tc := range []struct {
		file           string
		array, refused bool
	}{{"formats/bloscpack/testdata/fixtures/bloscpack/nd_i4_2d.blp", true, false},
		{"formats/bloscpack/testdata/fixtures/bloscpack/append_meta.blp", false, false},
		{"cmd/farread/testdata/bloscpack/vl_aborted.blp", false, true}} {
		p, err := os.ReadFile(tc.file)
		if err != nil {
			t.Fatal(err)
		}
		put(t, b, tc.file, p, nil)
		d := opened[Itemer](t, c, tc.file, AnyOptions{})
		in, err := d.Describe(t.Context(), DescribeOptions{})
		x, ok := in.Detail.(BloscpackDetail)
		if err != nil || !ok || (x.Array != nil) != tc.array || x.ArrayErr != nil || x.Names != nil {
			t.Errorf("%s: %+v, %v", tc.file, in.Detail, err)
		}
		if tc.array && (!slices.Equal(x.Array.Shape, in.Shape) || x.Array.DType.String() != in.DType) {
			t.Errorf("%s: %+v of %v", tc.file, x.Array, in.Shape)
		}
		r, ok := d.(Refuser)
		if !ok || (r.Refused() != nil) != tc.refused || tc.refused != (in.Refused != "") {
			t.Fatalf("%s: refused: %q", tc.file, in.Refused)
		}
		if err := d.EachItem(t.Context(), 0, 0, nil); fmt.Sprint(err) != fmt.Sprint(r.Refused()) {
			t.Errorf("%s: %v", tc.file, err)
		}
	}
	for meta, want := range map[string]string{`{"container":"numpy","dtype":"'<i4'","shape":[-3],"order":"C"}`: "array", `{"container":"files","names":["a","b"]}`: "names"} {
		var items bloscpackOutput
		w, err := bloscpack.NewWriter(&items, bloscpack.WriteOptions{Variable: true, Metadata: json.RawMessage(meta)})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.WriteItem([]byte("x")), w.WriteItem([]byte("y")), w.Close()); err != nil {
			t.Fatal(err)
		}
		put(t, b, want, items.Bytes(), nil)
		in, err := opened[Dataset](t, c, want, AnyOptions{}).Describe(t.Context(), DescribeOptions{})
		x, ok := in.Detail.(BloscpackDetail)
		if err != nil || !ok || x.Array != nil || (x.ArrayErr != nil) != (want == "array") || (x.Names != nil) != (want == "names") {
			t.Errorf("%s: %+v, %v", meta, in.Detail, err)
		}
	}
}

// A bloscpackOutput is a bloscpack.Reheader in memory.
type bloscpackOutput struct{ bytes.Buffer }

func (o *bloscpackOutput) Patch(off int64, p []byte) error {
	copy(o.Bytes()[off:], p)
	return nil
}

func (o *bloscpackOutput) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(o.Bytes()[n:])
	o.Reset()
	o.Write(p)
	o.Write(rest)
	return nil
}
