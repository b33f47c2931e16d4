package cframe

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

const lateChunk = 256 // decoded bytes of the chunks of lateFrame

// lateFrame writes a frame of n chunks whose offsets do not compress. Chunk i is told by its
// first bytes. Every 9th has no bytes.
func lateFrame(tb testing.TB, n int, ix IndexChoice) []byte {
	tb.Helper()
	s := &sink{}
	w, err := NewWriter(s, WriteOptions{ChunkSize: lateChunk, BlockSize: 64, Index: ix, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}})
	for i := range n {
		if err == nil {
			err = w.WriteChunk(lateData(i))
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return s.b
}

func lateData(i int) []byte {
	p := make([]byte, lateChunk)
	if i%9 != 8 {
		binary.LittleEndian.PutUint32(p, uint32(i+1))
		copy(p[8:], noise(i*7%60, i))
	}
	return p
}

// reindexed puts an index with these places of chunks into a frame that has none.
func reindexed(tb testing.TB, plain []byte, place func(i int, p frameindex.Place) frameindex.Place) []byte {
	tb.Helper()
	return reindexedWith(tb, plain, 0, place)
}

// reindexedWith is reindexed with an index of so many chunks more, or fewer.
func reindexedWith(tb testing.TB, plain []byte, more int, place func(i int, p frameindex.Place) frameindex.Place) []byte {
	tb.Helper()
	f, err := openBytes(tb.Context(), plain)
	if err != nil {
		tb.Fatal(err)
	}
	in := f.info
	p := indexPlan{heads: &frameindex.Builder{}, choice: WithIndex, most: 1 << 30, offsets: slices.Clone(plain[in.indexOff():f.trailerOff])}
	sizes := make([]int64, f.table.n)
	err = f.eachHead(tb.Context(), 0, f.table.n, func(i int, head []byte) error {
		p.heads.Add(nil)
		if h, err := blosc.ParseHeader(head); err == nil {
			sizes[i] = int64(h.CBytes)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if more != 0 {
		b := &frameindex.Builder{}
		for range max(f.table.n+more, 1) {
			b.Add(nil)
		}
		p.heads = b
	}
	p.heads.DropHeads()
	p.heads.SetPlaces(func(i int) frameindex.Place {
		k := min(i, f.table.n-1)
		return place(i, placeOf(f.table.at(k), sizes[k]))
	})
	out := bytes.Clone(plain[:in.indexOff()])
	must2(tb, p.heads.Spill(0, func(pieces ...[]byte) (int64, error) {
		off := int64(len(out))
		out = append(out, bytes.Join(pieces, nil)...)
		in.CBytes = int64(len(out)) - in.HeaderLen
		return off, nil
	}))
	tail, err := p.tail(&in, nil)
	must2(tb, err)
	out = append(out, tail...)
	in.FrameLen = int64(len(out))
	putTotals(out[:in.HeaderLen], &in)
	return out
}

func must2(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// openLate opens a frame so that its offsets are not read if its index has them.
func openLate(tb testing.TB, p []byte, o Options) *Frame {
	tb.Helper()
	o.Tail = 12 << 10
	f, err := Open(tb.Context(), remote{&countingReader{Reader: rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), offs: map[int64]bool{}}}, o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestPlacesLie: an index whose checksums are right, but whose places are not, is not used
// if a place is impossible. If it is possible, a chunk is read or refused as any other,
// and Verify says what is wrong.
func TestPlacesLie(t *testing.T) {
	const n, at = 6000, 3333
	plain := lateFrame(t, n, NoIndex)
	for name, c := range map[string]struct {
		lie  func(p frameindex.Place) frameindex.Place
		drop bool // the index is not used after the read
		fail bool // the read fails
	}{
		"right":               {func(p frameindex.Place) frameindex.Place { return p }, false, false},
		"a few bytes more":    {func(p frameindex.Place) frameindex.Place { p.Size += 3; return p }, false, false},
		"a byte less":         {func(p frameindex.Place) frameindex.Place { p.Size--; return p }, false, true},
		"elsewhere":           {func(p frameindex.Place) frameindex.Place { p.Off += 5; return p }, false, true},
		"far behind":          {func(p frameindex.Place) frameindex.Place { p.Off += 1 << 40; return p }, true, false},
		"over the end":        {func(p frameindex.Place) frameindex.Place { p.Size += 1 << 30; return p }, true, false},
		"of no bytes, as NaN": {func(frameindex.Place) frameindex.Place { return frameindex.Place{Special: blosc.NaN} }, true, false}, // of items of a byte
		"of no bytes":         {func(frameindex.Place) frameindex.Place { return frameindex.Place{Special: blosc.Zeros} }, false, false},
	} {
		p := reindexed(t, plain, func(i int, p frameindex.Place) frameindex.Place {
			if i == at {
				return c.lie(p)
			}
			return p
		})
		f := openLate(t, p, Options{})
		if f.late == nil {
			t.Fatal(f.Index(t.Context()))
		}
		got, err := f.AppendChunk(t.Context(), nil, at)
		if err != nil != c.fail || c.fail && !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil && !bytes.Equal(got, lateData(at)) && name != "of no bytes" {
			t.Errorf("%s: other bytes", name)
		}
		info, err := f.Index(t.Context())
		if err != nil || errors.Is(info.Unused, index.ErrUnusable) != c.drop {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		_, err = openLate(t, p, Options{}).Verify(t.Context(), nil)
		if errors.Is(err, formats.ErrCorrupt) != (name != "right") {
			t.Errorf("%s: verified: %v", name, err)
		}
	}
}

// TestPlacesBeside: an index beside a frame that is right, of another version or frame,
// damaged, or gone: all chunks are right.
func TestPlacesBeside(t *testing.T) {
	const n = 12_000
	p := lateFrame(t, n, NoIndex)
	build := func(p []byte) []byte {
		f, err := openBytes(t.Context(), p)
		must(t, err)
		side, err := f.BuildIndex(t.Context(), "e", nil)
		must(t, err)
		return side
	}
	right := build(p)
	damaged := bytes.Clone(right)
	for i := 20; i < len(damaged)-15_000; i += 50 {
		damaged[i] ^= 1
	}
	for name, c := range map[string]struct {
		side []byte
		etag string
		late bool
		used bool
	}{
		"right":   {right, "e", true, true},
		"stale":   {right, "f", false, false},
		"other":   {build(lateFrame(t, n-1, NoIndex)), "e", false, false},
		"damaged": {damaged, "e", true, false},
		"gone":    {nil, "", false, false},
		"short":   {right[:len(right)-1], "e", false, false},
	} {
		f := openLate(t, p, Options{Sidecar: func(context.Context) (rangeio.Reader, string, error) {
			if c.side == nil {
				return nil, "", nil
			}
			return rangeio.FromReaderAt(bytes.NewReader(c.side), int64(len(c.side))), c.etag, nil
		}})
		if f.late != nil != c.late {
			t.Errorf("%s: late %t", name, f.late != nil)
		}
		for _, i := range []int{n / 2, 8, 0, n - 1} {
			if got, err := f.AppendChunk(t.Context(), nil, i); err != nil || !bytes.Equal(got, lateData(i)) {
				t.Errorf("%s: chunk %d: %v", name, i, err)
			}
		}
		info, err := f.Index(t.Context())
		if err != nil || info.Size > 0 != c.used || info.Inside || !c.used && name != "gone" && !errors.Is(info.Unused, index.ErrUnusable) {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
		if r, err := f.Verify(t.Context(), nil); err != nil || r.Index.Size > 0 != c.used {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	failing := errors.New("no answer")
	_, err := Open(t.Context(), remote{&countingReader{Reader: rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), offs: map[int64]bool{}}},
		Options{Tail: 12 << 10, Sidecar: func(context.Context) (rangeio.Reader, string, error) { return nil, "", failing }})
	if !errors.Is(err, failing) {
		t.Error(err)
	}
}

// FuzzLatePlaces: whatever places an index with right checksums tells, a read ends, with
// the bytes of a chunk or with an error that has a class, and takes no more memory than
// the limits allow. Verify finds places that are wrong.
func FuzzLatePlaces(f *testing.F) {
	const n = 5000
	plain := lateFrame(f, n, NoIndex)
	f.Add(uint16(3), int64(0), int64(0), uint8(0), uint16(3))
	f.Add(uint16(3), int64(40), int64(1), uint8(0), uint16(4))
	f.Add(uint16(4999), int64(-40), int64(1<<40), uint8(0), uint16(4999))
	f.Add(uint16(4095), int64(1<<50), int64(-1), uint8(2), uint16(4096))
	f.Fuzz(func(t *testing.T, i uint16, off, size int64, kind uint8, read uint16) {
		lied := false
		p := reindexed(t, plain, func(k int, p frameindex.Place) frameindex.Place {
			if k != int(i) {
				return p
			}
			q := frameindex.Place{Off: p.Off + off, Size: p.Size + size}
			if kinds := []blosc.Special{blosc.None, blosc.Zeros, blosc.NaN, blosc.Uninit}; kind%4 > 0 {
				q = frameindex.Place{Special: kinds[kind%4]}
			}
			lied = q != p
			return q
		})
		x := openLate(t, p, Options{Limits: formats.Limits{MaxDecoded: 1 << 20}})
		at := int(read) % n
		got, err := x.AppendChunk(t.Context(), nil, at)
		if err != nil && !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrTooLarge) && !errors.Is(err, formats.ErrUnsupported) {
			t.Fatal(err)
		}
		if err == nil && (len(got) != lateChunk || !bytes.Equal(got, lateData(at)) && (!lied || at != int(i))) {
			t.Fatalf("chunk %d: other bytes, and the place of %d lies", at, i)
		}
		if _, err := openLate(t, p, Options{}).Verify(t.Context(), nil); err == nil && lied {
			if info, _ := openLate(t, p, Options{}).Index(t.Context()); info.Size > 0 {
				t.Fatalf("Verify finds nothing: %+v", info)
			}
		}
	})
}

// FuzzVaryingPlaces is the same of a frame whose chunks vary in length, of which the index tells how
// many there are, too.
func FuzzVaryingPlaces(f *testing.F) {
	const n = 5000
	s := &sink{}
	w, err := NewWriter(s, WriteOptions{ChunkSize: VaryingSizes, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}})
	data := func(i int) []byte { return lateData(i)[:lateChunk-i%5] }
	for i := range n {
		if err == nil {
			err = w.WriteChunk(data(i))
		}
	}
	if err = errors.Join(err, w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(int16(0), uint16(3), int64(0), int64(0), uint16(3))
	f.Add(int16(1), uint16(3), int64(0), int64(0), uint16(5000))
	f.Add(int16(-7), uint16(3), int64(0), int64(0), uint16(4999))
	f.Add(int16(0), uint16(4), int64(40), int64(1), uint16(4))
	f.Add(int16(-4999), uint16(0), int64(1<<50), int64(-1), uint16(0))
	f.Fuzz(func(t *testing.T, more int16, i uint16, off, size int64, read uint16) {
		if more > 100 {
			return
		}
		lied := more != 0
		p := reindexedWith(t, s.b, int(more), func(k int, p frameindex.Place) frameindex.Place {
			if k != int(i) {
				return p
			}
			q := frameindex.Place{Off: p.Off + off, Size: p.Size + size}
			lied = lied || q != p
			return q
		})
		o := Options{Limits: formats.Limits{MaxDecoded: 1 << 20, MaxEntries: 1 << 16}}
		classed := func(err error) bool {
			return err == nil || errors.Is(err, formats.ErrCorrupt) || errors.Is(err, formats.ErrTooLarge) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrNoEntry)
		}
		at := int(read)
		got, err := openLate(t, p, o).AppendChunk(t.Context(), nil, at)
		if !classed(err) {
			t.Fatal(err)
		}
		if err == nil && at < n && (!lied || more == 0 && at != int(i)) && !bytes.Equal(got, data(at)) {
			t.Fatalf("chunk %d: other bytes", at)
		}
		x := openLate(t, p, o)
		if off, k, err := x.ChunkBytes(t.Context(), 0, min(3, x.Chunks())); !classed(err) {
			t.Fatal(err)
		} else if err == nil {
			if err := x.ReadBytes(t.Context(), make([]byte, min(k, 1<<16)), off); !classed(err) {
				t.Fatal(err)
			}
		}
		if _, err := openLate(t, p, Options{}).Verify(t.Context(), nil); err == nil && lied {
			if info, _ := openLate(t, p, Options{}).Index(t.Context()); info.Size > 0 {
				t.Fatalf("Verify finds nothing: %+v", info)
			}
		}
	})
}
