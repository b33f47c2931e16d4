package bloscpack_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/formattest"
)

// FuzzHeader: an accepted header is written again as it was, apart from bits without a
// meaning.
func FuzzHeader(f *testing.F) {
	for _, x := range manifest(f) {
		if p := load(f, x.File); len(p) >= bloscpack.HeaderLen {
			f.Add(p[:bloscpack.HeaderLen])
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := bloscpack.ParseHeader(data)
		if err != nil {
			if !formattest.Allowed(err) {
				t.Errorf("error of no known class: %v", err)
			}
			return
		}
		if !bloscpack.Sniff(data) {
			t.Error("accepted, but not recognised")
		}
		b, err := h.AppendBinary(nil)
		if err != nil || !bytes.Equal(b, data[:bloscpack.HeaderLen]) {
			t.Errorf("written again: %x, %v; was %x", b, err, data[:bloscpack.HeaderLen])
		}
	})
}

// FuzzMeta puts any bytes behind a header as metadata, of version 3 with its own
// header and of version 4.
func FuzzMeta(f *testing.F) {
	for _, x := range manifest(f) {
		if p := load(f, x.File); len(p) > bloscpack.HeaderLen && p[5]&2 != 0 {
			f.Add(p[bloscpack.HeaderLen:min(len(p), 400)], p[4] == 3)
		}
	}
	f.Add([]byte(`{"container":"numpy","dtype":[["a","<i4"],["b",["c","<f8"]]],"shape":[3],"order":"C"}`), false)
	f.Add([]byte(`{"container":"numpy","dtype":"[('a', '<i4'), ('b', '|S5', (2,))]","shape":[1,2],"order":"F"}`), false)
	f.Fuzz(func(t *testing.T, meta []byte, old bool) {
		h := bloscpack.Header{Version: 4, ChunkSize: -1, LastChunk: -1, Meta: len(meta) > 0, MetaSize: int64(len(meta)), Offsets: true, Variable: true}
		if old {
			h = bloscpack.Header{Version: 3, ChunkSize: -1, LastChunk: -1, Meta: true}
		}
		p, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		x, err := bloscpack.Open(t.Context(), reader(append(p, meta...)), bloscpack.Options{})
		if err != nil {
			if !formattest.Allowed(err) {
				t.Errorf("error of no known class: %v", err)
			}
			return
		}
		if m := x.Metadata(); m != nil && !json.Valid(m) || m == nil && h.Meta {
			t.Errorf("accepted %q", m)
		}
		a, ok, err := x.Array()
		if err != nil && !formattest.Allowed(err) {
			t.Errorf("array: error of no known class: %v", err)
		}
		if ok && err == nil && a.DType.IsZero() {
			t.Errorf("an array of nothing: %+v", a)
		}
	})
}

// FuzzOffsets reads a file with any table. All that is read are items of the file,
// since their checksums hold.
func FuzzOffsets(f *testing.F) {
	items := [][]byte{[]byte("first"), nil, bytes.Repeat([]byte("second"), 30), []byte("third"), []byte("4")}
	good := byHand(f, bloscpack.SHA1, items, []int{4, 2, 0, 3, 1}, 3)
	const at = bloscpack.HeaderLen
	f.Add(good[at:at+8*len(items)], uint8(0))
	f.Add(bytes.Repeat([]byte{0xff}, 8*len(items)), uint8(0))
	f.Add(bytes.Repeat(good[at:at+8], len(items)), uint8(2))
	known := map[string]bool{"": true}
	for _, p := range items {
		known[string(p)] = true
	}
	f.Fuzz(func(t *testing.T, offsets []byte, parallel uint8) {
		p := bytes.Clone(good)
		copy(p[at:at+8*len(items)], offsets)
		x, err := bloscpack.Open(t.Context(), reader(p), bloscpack.Options{Parallel: int(parallel%4) + 1})
		if err == nil {
			for i := range x.Len() {
				q, err := x.AppendItem(t.Context(), nil, i)
				if err == nil && !known[string(q)] || err != nil && !formattest.Allowed(err) {
					t.Errorf("item %d: %q, %v", i, q, err)
				}
			}
			_, err = x.Salvage(t.Context(), func(i int64, _, q []byte) error {
				if !known[string(q)] {
					t.Errorf("salvaged item %d: %q", i, q)
				}
				return nil
			})
			if err != nil {
				t.Errorf("salvage: %v", err)
			}
			err = x.Each(t.Context(), 0, x.Len(), func(i int64, q []byte) error {
				if !known[string(q)] {
					t.Errorf("item %d: %q", i, q)
				}
				return nil
			})
		}
		if err != nil && !formattest.Allowed(err) {
			t.Errorf("error of no known class: %v", err)
		}
	})
}

// FuzzOpen reads any bytes in every way.
func FuzzOpen(f *testing.F) {
	for _, x := range manifest(f) {
		if p := load(f, x.File); len(p) < 3000 {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o := bloscpack.Options{Window: 1}
		o.Limits.MaxDecoded = 1 << 24
		x, err := bloscpack.Open(t.Context(), reader(data), o)
		if err == nil {
			_, err = everything(t.Context(), x)
			if err == nil {
				n := int64(0)
				s, serr := x.Salvage(t.Context(), func(int64, []byte, []byte) error { n++; return nil })
				if serr != nil || n != x.Len() || s.Lost != 0 {
					t.Errorf("a good file of %d chunks, %d salvaged: %+v, %v", x.Len(), n, s, serr)
				}
			} else if _, serr := x.Salvage(t.Context(), func(int64, []byte, []byte) error { return nil }); serr != nil {
				t.Errorf("salvage: %v", serr)
			}
		}
		if err != nil && !formattest.Allowed(err) {
			t.Errorf("error of no known class: %v", err)
		}
	})
}
