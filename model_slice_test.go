package farread

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// structured puts an array of 50 x 30 items with members into a.npy, f.npy (in Fortran
// order) and a.b2nd, and gives its items in C order.
func structured(t *testing.T, b objstore.Bucket) (d dtype.DType, items []byte) {
	t.Helper()
	const rows, cols = 50, 30
	d, err := dtype.Parse("[('n', '<i2'), ('x', '<f4', (2,))]")
	if err != nil {
		t.Fatal(err)
	}
	size := d.ItemSize()
	items = noise(rows * cols * size)
	for _, fortran := range []bool{false, true} {
		p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{rows, cols}, Fortran: fortran})
		if err != nil {
			t.Fatal(err)
		}
		key := "d/a.npy"
		if fortran {
			key = "d/f.npy"
		}
		for k := range rows * cols {
			if fortran {
				k = k%rows*cols + k/rows
			}
			p = append(p, items[k*size:][:size]...)
		}
		put(t, b, key, p, nil)
	}
	w, err := b.Create(t.Context(), "d/a.b2nd", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m := b2nd.Meta{Shape: []int64{rows, cols}, ChunkShape: []int{20, 16}, BlockShape: []int{4, 8}, DType: d.String()}
	a, err := b2nd.NewWriter(w, m, b2nd.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Write(items)
	if err = errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d, items
}

// TestFieldsAndSlabs: members are those of the items, at the cost of a slice, and slabs
// of any size make the box, once, in order.
func TestFieldsAndSlabs(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	d, items := structured(t, b)
	size := d.ItemSize()
	for _, key := range []string{"d/a.npy", "d/f.npy", "d/a.b2nd"} {
		s := opened[Slicer](t, c, key, AnyOptions{})
		chunk, block := s.Cells()
		if stored := key != "d/a.b2nd"; stored != (chunk == nil && block == nil) || !stored && (chunk[0] != 20 || block[1] != 8) {
			t.Errorf("%s: chunks %v, blocks %v", key, chunk, block)
		}
		text, err := b2nd.ParseSlice("3:45:2, 28:2:-1")
		if err != nil {
			t.Fatal(err)
		}
		box, err := text.Resolve(s.Shape())
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for i := 3; i < 45; i += 2 {
			for k := 28; k > 2; k-- {
				want = append(want, items[(i*30+k)*size:][:size]...)
			}
		}
		for _, most := range []int64{1, int64(size), 500, 3000, 1 << 20} {
			var got []byte
			for slab := range s.Slabs(box, most) {
				n, err := s.SizeOf(slab)
				if err != nil || n > max(most, int64(size)) {
					t.Fatalf("%s: a slab of %d bytes, %v", key, n, err)
				}
				p := make([]byte, n)
				if err := s.ReadSlice(t.Context(), p, slab); err != nil {
					t.Fatal(err)
				}
				got = append(got, p...)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s: other items by slabs of %d", key, most)
			}
			checkSlabs(t, c, key, s, box, most, want)
		}
		f, members := memberOf(t, s, want)
		p := make([]byte, len(members))
		plan, err := s.ExplainSlice(t.Context(), box)
		plan.Size = -1
		costs(t, c, key, plan, err, func() (int, error) { return 0, s.ReadField(t.Context(), p, box, f) })
		if !bytes.Equal(p, members) {
			t.Errorf("%s: other members", key)
		}
		for _, bad := range []struct {
			n   int
			off int
			box b2nd.Box
		}{{len(p) - 1, f.Off, box}, {len(p), size - 1, box}, {len(p), -1, box}, {len(p), f.Off, b2nd.Whole([]int64{5})}} {
			g := f
			g.Off = bad.off
			if s.ReadField(t.Context(), make([]byte, bad.n), bad.box, g) == nil {
				t.Errorf("%s: %+v is taken", key, bad)
			}
		}
	}
}

// memberOf is the member x of items.
func memberOf(t *testing.T, s Slicer, items []byte) (f dtype.Field, members []byte) {
	t.Helper()
	f, ok := s.DType().Field("x")
	if !ok {
		t.Fatal(s.DType())
	}
	for at := f.Off; at < len(items); at += s.DType().ItemSize() {
		members = append(members, items[at:][:f.Size()]...)
	}
	return f, members
}

// checkSlabs reads a box slab by slab, and one member of its items.
func checkSlabs(t *testing.T, c *Client, key string, s Slicer, box b2nd.Box, most int64, want []byte) {
	t.Helper()
	var got, member []byte
	plan, err := s.ExplainSlabs(t.Context(), box, most)
	costs(t, c, key, plan, err, func() (int, error) {
		err := s.EachSlab(t.Context(), box, most, nil, func(slab b2nd.Box, p []byte) error {
			if n, err := s.SizeOf(slab); err != nil || n != int64(len(p)) {
				t.Errorf("%s: %d bytes of a slab of %d, %v", key, len(p), n, err)
			}
			got = append(got, p...)
			return nil
		})
		return len(got), err
	})
	f, members := memberOf(t, s, want)
	err = s.EachSlab(t.Context(), box, most, &f, func(_ b2nd.Box, p []byte) error { member = append(member, p...); return nil })
	if err != nil || !bytes.Equal(got, want) || !bytes.Equal(member, members) {
		t.Errorf("%s: other items by slabs of %d, %v", key, most, err)
	}
	stop := errors.New("stop")
	if err := s.EachSlab(t.Context(), box, most, nil, func(b2nd.Box, []byte) error { return stop }); err != stop { // the very same
		t.Error(err)
	}
	bad := b2nd.Whole([]int64{5})
	_, err = s.ExplainSlabs(t.Context(), bad, most)
	if err == nil || s.EachSlab(t.Context(), bad, most, nil, nil) == nil {
		t.Errorf("%s: a box of %v is taken, %v", key, bad.OutShape, err)
	}
}

// TestSlabsCost: an array in many slabs takes what planning took, of block starts, and
// what was planned, of blocks, in a phase each.
func TestSlabsCost(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true, Policy: rangeio.Lean()})
	want := array(t, b, "d/x.b2nd")
	s := opened[Slicer](t, c, "d/x.b2nd", AnyOptions{})
	for _, most := range []int64{300 << 10, 100 << 10} { // a row of chunks, and of blocks
		box := b2nd.Sub([]int64{1, 0, 0}, []int64{60, 256, 256})
		before := c.Stats()
		plan, err := s.ExplainSlabs(t.Context(), box, most)
		if err != nil {
			t.Fatal(err)
		}
		starts, blocks := minus(c.Stats(), before), plan.Cost()
		var got []byte
		before = c.Stats()
		if err := s.EachSlab(t.Context(), box, most, nil, func(_ b2nd.Box, p []byte) error { got = append(got, p...); return nil }); err != nil {
			t.Fatal(err)
		}
		took := minus(c.Stats(), before)
		if took.Requests != starts.Requests+int64(blocks.Requests) || took.Bytes != starts.Bytes+blocks.Bytes || took.Phases != starts.Phases+int64(blocks.Phases) {
			t.Errorf("slabs of %d: planning took %+v, planned %+v, took %+v", most, starts, blocks, took)
		}
		if !bytes.Equal(got, want[256*256:60*256*256]) || took.Phases > 2 || plan.Size != int64(len(got)) {
			t.Errorf("slabs of %d: other items, or planned %+v", most, blocks)
		}
	}
}
