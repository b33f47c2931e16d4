package bloscpack_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/formattest"
)

// TestOrder: items of version 4 may lie in any order, with gaps and older
// versions between them, and read the same.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "items")
		items, order := make([][]byte, n), make([]int, n)
		for i := range items {
			size := rapid.SampledFrom([]int{0, 1, 30, 3000, 20_000}).Draw(t, "size")
			items[i], order[i] = bytes.Repeat([]byte{byte(i + 1)}, size), i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		for range rapid.IntRange(0, 3).Draw(t, "old") {
			order = slices.Insert(order, rapid.IntRange(0, len(order)).Draw(t, "at"), -1)
		}
		gap := rapid.SampledFrom([]int{0, 1, 100, 70_000}).Draw(t, "gap")
		sum := bloscpack.Checksum(rapid.IntRange(0, 8).Draw(t, "checksum"))
		file := byHand(t, sum, items, order, gap)
		o := bloscpack.Options{Window: rapid.SampledFrom([]int64{0, 1, 100_000}).Draw(t, "window"), Parallel: rapid.IntRange(1, 3).Draw(t, "parallel"),
			Head: rapid.SampledFrom([]int64{0, 1}).Draw(t, "head")}
		f, err := bloscpack.Open(t.Context(), reader(file), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := collect(t.Context(), f)
		if err != nil || !slices.EqualFunc(got, items, bytes.Equal) {
			t.Fatalf("%d of %d items, %v", len(got), n, err)
		}
		for i, want := range items {
			if p, err := f.AppendItem(t.Context(), nil, int64(i)); err != nil || !bytes.Equal(p, want) {
				t.Fatalf("item %d: %v", i, err)
			}
			e, err := f.Entry(t.Context(), int64(i))
			if err != nil || e.NBytes != int64(len(want)) || e.CBytes != int64(len(want)+16) {
				t.Fatalf("entry %d: %+v, %v", i, e, err)
			}
		}
		rep, err := f.Verify(t.Context(), nil)
		if err != nil || rep.Gaps+rep.After+rep.CBytes+int64(n*sum.Size())+f.Body() != int64(len(file)) {
			t.Fatalf("verify: %+v, %v", rep, err)
		}
	})
}

// TestOverlap: bytes that belong to two items are an error once both were read.
func TestOverlap(t *testing.T) {
	items := [][]byte{bytes.Repeat([]byte("a"), 100), bytes.Repeat([]byte("b"), 300), []byte("c"), bytes.Repeat([]byte("d"), 50)}
	inner := stored([]byte("inside another"), bloscpack.None)
	copy(items[1][30:], inner)
	const table = bloscpack.HeaderLen
	for name, at := range map[string]func(offs []uint64) []uint64{
		"equal":          func(o []uint64) []uint64 { return []uint64{o[0], o[0], o[2], o[3]} },
		"equal, far":     func(o []uint64) []uint64 { return []uint64{o[0], o[1], o[2], o[0]} },
		"nested":         func(o []uint64) []uint64 { return []uint64{o[0], o[1], o[1] + 16 + 30, o[3]} },
		"nested, before": func(o []uint64) []uint64 { return []uint64{o[0], o[1], o[3], o[1] + 16 + 30} },
	} {
		file := byHand(t, bloscpack.None, items, []int{0, 1, 2, 3}, 5)
		var offs []uint64
		for i := range items {
			offs = append(offs, binary.LittleEndian.Uint64(file[table+8*i:]))
		}
		for i, off := range at(offs) {
			binary.LittleEndian.PutUint64(file[table+8*i:], off)
		}
		f := open(t, file, bloscpack.Options{})
		if _, err := collect(t.Context(), f); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "overlap") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.Verify(t.Context(), nil); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s, verify: %v", name, err)
		}
	}
}

// TestMissing: one item that was never written spoils only itself.
func TestMissing(t *testing.T) {
	items := [][]byte{[]byte("a"), nil, []byte("c"), []byte("d"), nil}
	file := byHand(t, bloscpack.CRC32, items, []int{2, 0, 3}, 0)
	f := open(t, file, bloscpack.Options{})
	if f.Aborted() {
		t.Error("aborted")
	}
	for i, want := range items {
		p, err := f.AppendItem(t.Context(), nil, int64(i))
		if want == nil && (!errors.Is(err, formats.ErrNoEntry) || !strings.Contains(err.Error(), fmt.Sprintf("item %d", i))) || want != nil && (err != nil || !bytes.Equal(p, want)) {
			t.Errorf("item %d: %q, %v", i, p, err)
		}
		e, err := f.Entry(t.Context(), int64(i))
		if err != nil || e.Missing() != (want == nil) {
			t.Errorf("entry %d: %+v, %v", i, e, err)
		}
	}
	rep, err := f.Verify(t.Context(), nil)
	if err != nil || rep.Chunks != 3 || rep.Missing != 2 || rep.FirstMissing != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	for _, r := range [][2]int64{{-1, 0}, {0, 6}, {5, 6}, {3, 2}, {6, 6}, {-5, -5}} {
		if _, err := f.AppendItems(t.Context(), nil, r[0], r[1]); !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("items %v: %v", r, err)
		}
	}
}

// TestEachInOrder: all items that Each gives before an error are right, and the error
// names the chunk after them.
func TestEachInOrder(t *testing.T) {
	var items [][]byte
	var order []int
	for i := range 100 {
		items, order = append(items, bytes.Repeat([]byte{byte(i)}, 200*i)), append(order, i)
	}
	good := byHand(t, bloscpack.SHA256, items, order, 0)
	for _, bad := range []int{0, 1, 57, 99} {
		for _, at := range []int{0, 12, 16, len(items[bad]) + 20} { // version, length, data, checksum
			file := bytes.Clone(good)
			off := binary.LittleEndian.Uint64(file[bloscpack.HeaderLen+8*bad:])
			if bad == 0 && at == 16 {
				continue // it has no data
			}
			file[int(off)+at] ^= 0x80
			for _, parallel := range []int{1, 4} {
				f := open(t, file, bloscpack.Options{Parallel: parallel})
				got, err := collect(t.Context(), f)
				if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), fmt.Sprintf("item %d ", bad)) {
					t.Errorf("item %d, byte %d: %v", bad, at, err)
				}
				if len(got) != bad || !slices.EqualFunc(got, items[:bad], bytes.Equal) {
					t.Errorf("item %d, byte %d: %d items before it", bad, at, len(got))
				}
				stop := errors.New("enough")
				n := 0
				if err := f.Each(t.Context(), 0, f.Len(), func(int64, []byte) error {
					if n++; n > 1 {
						return stop
					}
					return nil
				}); bad > 1 && !errors.Is(err, stop) {
					t.Errorf("stopped: %v", err)
				}
			}
			dst := make([]byte, 1<<20)
			if _, err := open(t, file, bloscpack.Options{}).ReadChunks(t.Context(), dst, 0, 100); err == nil || !formattest.Allowed(err) {
				t.Errorf("ReadChunks: %v", err)
			}
		}
	}
}

// TestNoVerify: without verification checksums are skipped, and nothing else.
func TestNoVerify(t *testing.T) {
	file := byHand(t, bloscpack.MD5, [][]byte{[]byte("hello"), []byte("world")}, []int{0, 1}, 0)
	at := bytes.Index(file, []byte("hello"))
	file[at] ^= 1
	if _, err := collect(t.Context(), open(t, file, bloscpack.Options{})); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "item 0 at 48: md5 is") {
		t.Errorf("verified: %v", err)
	}
	got, err := collect(t.Context(), open(t, file, bloscpack.Options{NoVerify: true}))
	if err != nil || string(got[0]) != "iello" || string(got[1]) != "world" {
		t.Errorf("not verified: %q, %v", got, err)
	}
}

// TestWrongTable: the table of version 3 is only a help. If the table contradicts the
// chunks, they are read one after another, as the Python tool does it.
func TestWrongTable(t *testing.T) {
	data := samples(100_000)
	good := write(t, bloscpack.WriteOptions{ChunkSize: 7000, Encode: encodeLZ4()}, [][]byte{data})
	f := open(t, good, bloscpack.Options{})
	n := int(f.Len())
	for name, spoil := range map[string]func(offs []byte){
		"exchanged": func(o []byte) {
			a := bytes.Clone(o[24:32])
			copy(o[24:], o[48:56])
			copy(o[48:], a)
		},
		"missing":      func(o []byte) { binary.LittleEndian.PutUint64(o[40:], ^uint64(0)) },
		"first":        func(o []byte) { binary.LittleEndian.PutUint64(o, 5) },
		"far":          func(o []byte) { binary.LittleEndian.PutUint64(o[8*(n-1):], 1<<60) },
		"all equal":    func(o []byte) { copy(o[8:], bytes.Repeat(o[:8], n-1)) },
		"moved by one": func(o []byte) { copy(o[8:], bytes.Clone(o[:8*(n-1)])) },
		"one more":     func(o []byte) { o[56]++ },
	} {
		file := bytes.Clone(good)
		spoil(file[bloscpack.HeaderLen : bloscpack.HeaderLen+8*n])
		if all, rep := salvage(t, file); !bytes.Equal(bytes.Join(all, nil), data) || rep.Lost != 0 {
			t.Errorf("%s: %d chunks salvaged, %+v", name, len(all), rep)
		}
		for _, o := range variants() {
			f := open(t, file, o)
			got, err := collect(t.Context(), f)
			if err != nil || !bytes.Equal(bytes.Join(got, nil), data) {
				t.Errorf("%s: %v", name, err)
			}
			rep, err := f.Verify(t.Context(), nil)
			if err != nil || !rep.WrongOffsets {
				t.Errorf("%s: %+v, %v", name, rep, err)
			}
			count := 0
			if err := f.Entries(t.Context(), 0, f.Len(), true, func(i int64, e bloscpack.Entry) error {
				if count++; int64(len(got[i])) != e.NBytes {
					t.Errorf("%s: entry %d %+v", name, i, e)
				}
				return nil
			}); err != nil || count != n {
				t.Errorf("%s: %d entries, %v", name, count, err)
			}
			for i := range f.Len() {
				if p, err := f.AppendItem(t.Context(), nil, i); err != nil || !bytes.Equal(p, got[i]) {
					t.Errorf("%s, chunk %d: %d bytes, %d, %v", name, i, len(p), bytes.Index(data, p), err)
				}
			}
		}
	}
}

// TestWrongFarTable: the part of a table of version 3 that Open does not see is also
// checked against the chunks, for reads that begin anywhere, and if bytes lie behind
// the last chunk.
func TestWrongFarTable(t *testing.T) {
	const n, wrong, size = 800, 650, 60
	data := make([]byte, n*size)
	for i := range n {
		copy(data[i*size:], fmt.Sprintf("chunk %d, as long as all the others, stored as it is and alike", i))
	}
	good := write(t, bloscpack.WriteOptions{ChunkSize: size, Encode: encodeLZ4()}, [][]byte{data})
	first := binary.LittleEndian.Uint64(good[bloscpack.HeaderLen:])
	for name, spoil := range map[string]func(o []byte){
		"one twice": func(o []byte) { copy(o[8*wrong:], o[8*wrong+8:8*wrong+16]) },
		"exchanged": func(o []byte) {
			binary.LittleEndian.PutUint64(o[8*wrong:], first)
			copy(o[8*wrong-8:], o[8*wrong+16:8*wrong+24])
		},
		"outside":       func(o []byte) { binary.LittleEndian.PutUint64(o[8*wrong:], 1<<50) },
		"never written": func(o []byte) { binary.LittleEndian.PutUint64(o[8*wrong:], ^uint64(0)) },
		"inside":        func(o []byte) { o[8*wrong] += 20 },
		"last outside":  func(o []byte) { binary.LittleEndian.PutUint64(o[8*(n-1):], 1<<50) },
		"last is first": func(o []byte) { binary.LittleEndian.PutUint64(o[8*(n-1):], first) },
	} {
		for _, after := range []int{0, 70} {
			file := append(bytes.Clone(good), make([]byte, after)...)
			spoil(file[bloscpack.HeaderLen:])
			for i := range int64(n) {
				if i > 5 && i < wrong-3 || i > wrong+3 && i < n-3 {
					continue
				}
				for _, j := range []int64{i + 1, i + 2, n} {
					if j > n {
						continue
					}
					f := open(t, file, bloscpack.Options{Head: 4 << 10}) // knows nothing of earlier reads
					want := data[:j*size]
					got, err := f.AppendItems(t.Context(), [][]byte{data[:i*size]}, i, j)
					if err != nil || !bytes.Equal(bytes.Join(got, nil), want) {
						t.Errorf("%s, %d bytes after: items %d to %d: %d bytes, %v", name, after, i, j, len(got), err)
					}
					f = open(t, file, bloscpack.Options{Head: 4 << 10})
					k := i
					if err := f.Entries(t.Context(), i, j, true, func(no int64, e bloscpack.Entry) error {
						if off := int64(first) + k*(size+20); no != k || e.Off != off {
							return fmt.Errorf("entry %d, %d at %d, not at %d", k, no, e.Off, off)
						}
						k++
						return nil
					}); err != nil || k != j {
						t.Errorf("%s, %d bytes after: entries %d to %d: %d, %v", name, after, i, j, k-i, err)
					}
				}
				f := open(t, file, bloscpack.Options{Head: 4 << 10})
				if p, err := f.AppendItem(t.Context(), nil, i); err != nil || !bytes.Equal(p, data[i*size:i*size+size]) {
					t.Errorf("%s, %d bytes after: chunk %d: %q, %v", name, after, i, p, err)
				}
			}
		}
	}
}

// TestEditWrongTable: the last entry may name a whole chunk that does not follow the
// one before it. Then nothing is appended: readers that follow the chunks would never
// see it.
func TestEditWrongTable(t *testing.T) {
	t.Parallel()
	data := samples(2500)
	good := write(t, bloscpack.WriteOptions{ChunkSize: 1000, Encode: encodeLZ4()}, [][]byte{data})
	last := good[bloscpack.HeaderLen+16:][:8]
	file := append(bytes.Clone(good), good[binary.LittleEndian.Uint64(last):]...)
	for name, off := range map[string]int{"its place": 0, "a copy": len(good)} {
		f := &memFile{bytes.Clone(file)}
		if off > 0 {
			binary.LittleEndian.PutUint64(f.b[bloscpack.HeaderLen+16:], uint64(off))
		}
		e, err := bloscpack.Edit(t.Context(), f, int64(len(file)), bloscpack.EditOptions{})
		if err != nil {
			t.Fatal(name, err)
		}
		if err := e.Extend([]byte("more")); errors.Is(err, bloscpack.ErrRefused) != (off > 0) {
			t.Errorf("%s: %v", name, err)
		}
		if err := e.Close(); err != nil {
			t.Error(name, err)
		}
		want := data
		if off == 0 {
			want = append(bytes.Clone(data), "more"...)
		}
		if got, err := collect(t.Context(), open(t, f.b, bloscpack.Options{})); err != nil || !bytes.Equal(bytes.Join(got, nil), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
