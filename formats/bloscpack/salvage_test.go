package bloscpack_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
)

// salvage gives the chunks that Salvage finds, decoded, and checks that the
// encoded ones hold the same.
func salvage(t *testing.T, p []byte) ([][]byte, bloscpack.Salvaged) {
	t.Helper()
	f := open(t, p, bloscpack.Options{})
	var out [][]byte
	last := int64(-1)
	s, err := f.Salvage(t.Context(), func(i int64, chunk, p []byte) error {
		if i <= last {
			return fmt.Errorf("chunk %d after %d", i, last)
		}
		last = i
		q, err := blosc.AppendDecoded(nil, chunk)
		if err != nil || !bytes.Equal(p, q) {
			return fmt.Errorf("chunk %d: other bytes, %w", i, err)
		}
		out = append(out, q)
		return nil
	})
	if err != nil || s.Chunks != int64(len(out)) || s.Bytes != int64(len(bytes.Join(out, nil))) {
		t.Fatalf("%+v, %v", s, err)
	}
	return out, s
}

func records(n int) [][]byte {
	items := make([][]byte, n)
	for i := range items {
		items[i] = bytes.Repeat(fmt.Appendf(nil, "record %d,", i), i%7*20)
	}
	return items
}

// cuts are the lengths at which a file is cut: all near its ends, some between.
func cuts(from, size int64) []int64 {
	var out []int64
	for n := from; n < size; n++ {
		if n < from+100 || n > size-100 || n%23 == 0 {
			out = append(out, n)
		}
	}
	return out
}

// TestSalvageCut: all chunks before the cut of a file can be salvaged.
func TestSalvageCut(t *testing.T) {
	items := records(40)
	for _, o := range []bloscpack.WriteOptions{
		{Variable: true, Checksum: bloscpack.CRC32}, {Variable: true, NoChecksum: true},
		{ChunkSize: 500}, {ChunkSize: 500, NoOffsets: true, Checksum: bloscpack.SHA1}, {ChunkSize: 500, NoOffsets: true, NoChecksum: true},
	} {
		file := write(t, o, items)
		f := open(t, file, bloscpack.Options{})
		want, err := collect(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var ends []int64
		if err := f.Entries(t.Context(), 0, f.Len(), true, func(_ int64, e bloscpack.Entry) error {
			ends = append(ends, e.Off+e.CBytes+int64(f.Header().Checksum.Size()))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if all, s := salvage(t, file); len(all) != len(want) || s.Lost != 0 || s.Stop != nil {
			t.Errorf("%+v: a whole file: %+v", o, s)
		}
		for _, n := range cuts(max(f.Body(), f.Body()+16*f.Len()-1), int64(len(file))) {
			if !f.Header().Offsets && n < f.Body()+16*f.Len() {
				continue // too short for its count: does not open
			}
			whole, _ := slices.BinarySearch(ends, n+1)
			got, s := salvage(t, file[:n])
			if !slices.EqualFunc(got, want[:whole], bytes.Equal) || s.Lost != int64(len(want)-whole) || s.Stop == nil {
				t.Fatalf("%+v: cut at %d of %d: %d chunks, want %d; %+v", o, n, len(file), len(got), whole, s)
			}
		}
	}
}

// TestSalvageDamaged: a damaged chunk loses no other chunk.
func TestSalvageDamaged(t *testing.T) {
	items := records(30)
	for _, o := range []bloscpack.WriteOptions{{Variable: true}, {ChunkSize: 400}, {ChunkSize: 400, NoOffsets: true, Checksum: bloscpack.SHA256}} {
		file := write(t, o, items)
		f := open(t, file, bloscpack.Options{})
		want, err := collect(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Len() {
			e, err := f.Entry(t.Context(), i)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []int64{0, 4, 12, 13, e.CBytes} { // version, lengths, checksum
				bad := bytes.Clone(file)
				bad[e.Off+at] ^= 0x41
				got, s := salvage(t, bad)
				if !slices.EqualFunc(got, slices.Delete(slices.Clone(want), int(i), int(i)+1), bytes.Equal) || s.Lost != 1 || s.Stop == nil {
					t.Fatalf("%+v: byte %d of chunk %d of %d: %d chunks, %+v", o, at, i, f.Len(), len(got), s)
				}
			}
		}
	}
}

// TestSalvageUnfinished: files in the states in which writing may end too early.
func TestSalvageUnfinished(t *testing.T) {
	items := records(25)
	encoded := make([][]byte, len(items))
	for i, p := range items {
		encoded[i] = stored(p, bloscpack.Adler32)
	}
	header := func(h bloscpack.Header) []byte {
		h.Version, h.Checksum, h.TypeSize, h.ChunkSize, h.LastChunk = max(h.Version, 4), bloscpack.Adler32, 1, -1, -1
		h.Variable = h.Version == 4
		h.Offsets = true
		h.Meta = h.MetaSize > 0
		b, err := h.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	table := func(base int, spare int, known int) []byte {
		var b []byte
		at := base
		for i, c := range encoded {
			if i < known {
				b = binary.LittleEndian.AppendUint64(b, uint64(at))
			} else {
				b = binary.LittleEndian.AppendUint64(b, ^uint64(0))
			}
			at += len(c)
		}
		return append(b, bytes.Repeat([]byte{0xff}, 8*spare)...)
	}
	chunks := bytes.Join(encoded, nil)
	n := len(items)
	meta := []byte(`{"a": [1, 2, 3]}`)
	for name, file := range map[string][]byte{
		"no table yet":                append(header(bloscpack.Header{Chunks: -1}), chunks...),
		"no table yet, metadata":      append(append(header(bloscpack.Header{Chunks: -1, MetaSize: int64(len(meta))}), meta...), chunks...),
		"the table, but no count":     slices.Concat(header(bloscpack.Header{Chunks: -1}), table(32+8*n, 0, n), chunks),
		"a table of nothing":          slices.Concat(header(bloscpack.Header{Chunks: -1}), table(0, 0, 0), chunks),
		"a table of nothing, counted": slices.Concat(header(bloscpack.Header{Chunks: int64(n)}), table(0, 0, 0), chunks),
		"an append":                   slices.Concat(header(bloscpack.Header{Chunks: -1}), table(32+8*(n+10), 10, n-5), chunks),
	} {
		f := open(t, file, bloscpack.Options{})
		if !f.Aborted() {
			t.Errorf("%s: not aborted", name)
		}
		if _, err := collect(t.Context(), f); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		start := len(file) - len(chunks)
		for _, end := range cuts(int64(start), int64(len(file))+1) {
			whole := 0
			for at := int64(start); whole < n && at+int64(len(encoded[whole])) <= end; whole++ {
				at += int64(len(encoded[whole]))
			}
			if whole == 0 && end < int64(len(file)) && name == "the table, but no count" {
				continue // cannot be told from a cut chunk
			}
			got, s := salvage(t, file[:end])
			if !slices.EqualFunc(got, items[:whole], bytes.Equal) || s.Stop == nil {
				t.Fatalf("%s, cut at %d of %d: %d chunks, want %d; %+v", name, end, len(file), len(got), whole, s)
			}
		}
	}
}

// TestSalvageStops when the caller or the reader does.
func TestSalvageStops(t *testing.T) {
	file := write(t, bloscpack.WriteOptions{Variable: true}, records(20))
	f := open(t, file, bloscpack.Options{})
	stop := errors.New("disk full")
	s, err := f.Salvage(t.Context(), func(i int64, _, _ []byte) error {
		if i == 5 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || s.Chunks != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestSalvageHostile: in a file whose bytes look like chunks everywhere, the search
// ends.
func TestSalvageHostile(t *testing.T) {
	const size = 1 << 20
	file, err := bloscpack.Header{Version: 3, Checksum: bloscpack.Adler32, TypeSize: 1, ChunkSize: -1, LastChunk: -1, Chunks: 50}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	file = append(file, make([]byte, 40)...)
	for len(file) < size {
		var b [16]byte
		copy(b[:], []byte{2, 1, 0x12, 1})
		n := uint32(size / 4)
		binary.LittleEndian.PutUint32(b[4:], n-16)
		binary.LittleEndian.PutUint32(b[8:], n)
		binary.LittleEndian.PutUint32(b[12:], n)
		file = append(file, b[:]...)
	}
	if got, s := salvage(t, file); len(got) != 0 || s.Stop == nil {
		t.Errorf("%d chunks, %+v", len(got), s)
	}
}
