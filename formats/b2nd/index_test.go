package b2nd_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// threadsSHA is what python-blosc2 says of the items of index/threads.b2nd, which it
// wrote with 8 threads: no chunk has its blocks in order.
const threadsSHA = "1c8ca808542e1a09c62cc0895eaeb96ff94615bd95a5df12a537f430cc06b24c"

// exactly reads blocks and nothing between them.
var exactly = rangeio.Policy{Parallel: 64, MaxLen: 1 << 20}

// beside makes an index for the array in p, and names it to arrays.
func beside(t *testing.T, p []byte) (side []byte, name func(a *b2nd.Array, side []byte)) {
	t.Helper()
	a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if side, err = a.Frame().BuildIndex(t.Context(), "e", nil); err != nil {
		t.Fatal(err)
	}
	return side, func(a *b2nd.Array, side []byte) {
		a.Frame().Sidecar(func(context.Context) (rangeio.Reader, string, error) { return reader(side), "e", nil })
		if err := a.Frame().OpenSidecar(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestIndexBeside: with an index beside it a column of an array of python-blosc2 takes no
// request for block starts, also where the blocks are out of order.
func TestIndexBeside(t *testing.T) {
	p := load(t, "index/threads.b2nd")
	side, name := beside(t, p)
	t.Logf("%d bytes, an index of %d", len(p), len(side))
	column := b2nd.Sub([]int64{0, 20, 40}, []int64{12, 21, 41})
	var tr formattest.Trace
	var want []byte
	for _, with := range []bool{false, true} {
		a, err := b2nd.Open(t.Context(), tr.Wrap("array", reader(p)), b2nd.Options{Policy: exactly})
		if err != nil {
			t.Fatal(err)
		}
		if with {
			a.Frame().Sidecar(func(context.Context) (rangeio.Reader, string, error) {
				return tr.Wrap("index", reader(side)), "e", nil
			})
			if err := a.Frame().OpenSidecar(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		tr.Step(map[bool]string{false: "open without the index", true: "open with the index"}[with])
		plan, err := a.ExplainSlice(t.Context(), column)
		if err != nil {
			t.Fatal(err)
		}
		tr.Step("the plan of a column")
		got := slice(t, a, column)
		tr.Step("a column", digest(got))
		if want == nil {
			want = got
		}
		if string(got) != string(want) || len(plan) != 12 {
			t.Errorf("with an index %t: %x, want %x, %d planned", with, got, want, len(plan))
		}
		all := b2nd.Sub([]int64{0, 0, 0}, a.Shape())
		if d := digest(slice(t, a, all)); d != threadsSHA {
			t.Errorf("with an index %t: all items have the digest %s", with, d)
		}
		tr.Step("all of it")
	}
	tr.Golden(t, filepath.Join("testdata", "index.trace"))

	a, err := b2nd.Open(t.Context(), reader(p), b2nd.Options{Policy: exactly})
	if err != nil {
		t.Fatal(err)
	}
	name(a, side)
	if info, err := a.Frame().Index(t.Context()); err != nil || info != (cframe.IndexInfo{Size: int64(len(side))}) || len(side) < index.TrailerLen {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestIndexInside: the index inside a frame is used. After python-blosc2 has replaced a
// chunk in place by one of the same size, it is not, and every item is right. The digests
// are those of python-blosc2.
func TestIndexInside(t *testing.T) {
	for _, x := range []struct {
		name, sha string
		used      bool
	}{
		{"indexed.b2nd", "78f3a0dbef4ac83fdbd90b8e5aeab43534ed7771f2b18e4a8ff409095e19422e", true},
		{"edited.b2nd", "fb1c83125fd00c8dfbc3c3798fb9c3cbf2b882190fb6769c3436ba9feb14cc6f", false},
	} {
		a, err := b2nd.Open(t.Context(), reader(load(t, "index/"+x.name)), b2nd.Options{Policy: exactly})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := a.Frame().Index(t.Context()); err != nil || !info.Inside || info.Size > 0 != x.used || (info.Unused == nil) != x.used {
			t.Errorf("%s: %+v, %v", x.name, info, err)
		}
		var rows []byte // of all chunks, in the order of the items
		for z := range a.Shape()[0] {
			for y := range a.Shape()[1] {
				rows = append(rows, slice(t, a, b2nd.Sub([]int64{z, y, 0}, []int64{z + 1, y + 1, a.Shape()[2]}))...)
			}
		}
		if d := digest(rows); d != x.sha {
			t.Errorf("%s: items have the digest %s", x.name, d)
		}
		if r, err := a.Frame().Verify(t.Context(), nil); err != nil || r.VLMetalayers != 0 || r.Dead != 0 || r.Index.Size > 0 != x.used {
			t.Errorf("%s: %+v, %v", x.name, r, err)
		}
	}
}
