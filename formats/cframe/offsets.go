package cframe

import (
	"encoding/binary"
	"math"
	"slices"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
)

const (
	offsetLen    = 8
	maxChunks    = 1<<28 - 1 // all offsets are one chunk, whose length is an int32
	minChunkLen  = 32        // C reads no shorter chunk
	overhead     = 32        // a chunk is at most this longer than its data (BLOSC2_MAX_OVERHEAD)
	specialShift = 56

	// A block of equal offsets shrinks to a few bytes. C's blocks of 16 to 512
	// KiB give ratios up to 15000. A higher ratio is an attempt to make a
	// reader allocate memory.
	maxOffsetsRatio = 1 << 14
	freeOffsets     = 1 << 20
)

// A table holds the offsets of all chunks: 8 bytes for each, as decoded from
// the offsets chunk, or one number if all are equal. Or it holds those of some chunks,
// as the index has them.
type table struct {
	n      int
	same   int64   // the offset of every chunk, if le is nil
	le     []byte  // offsets, little-endian
	sorted []int64 // offsets of stored chunks, if le is not ascending
	end    int64   // end of the section of chunks

	some map[int]frameindex.Place // not nil: the chunks that the table has
}

func (t *table) at(i int) int64 {
	if t.some != nil {
		p := t.some[i]
		if p.Special != blosc.None {
			return specialOff(p.Special)
		}
		return p.Off
	}
	if t.le == nil {
		return t.same
	}
	return int64(binary.LittleEndian.Uint64(t.le[i*offsetLen:]))
}

// roomOf returns an upper bound of the length of the stored chunk i.
func (t *table) roomOf(i int) int64 {
	if t.some != nil {
		return t.some[i].Size
	}
	return t.room(t.at(i))
}

// room returns the distance from the offset of a stored chunk to the next
// chunk, or to the end of all chunks: an upper bound of the chunk's length.
func (t *table) room(off int64) int64 {
	if t.le == nil {
		return t.end - off
	}
	if t.sorted != nil {
		if k, _ := slices.BinarySearch(t.sorted, off+1); k < len(t.sorted) {
			return t.sorted[k] - off
		}
		return t.end - off
	}
	if k := sort.Search(t.n, func(i int) bool { return t.at(i) > off }); k < t.n {
		return t.at(k) - off
	}
	return t.end - off
}

// special returns the kind of special chunk that an offset stands for, None for
// an offset of a stored chunk. The second result is false if the offset is
// invalid.
func special(off int64) (blosc.Special, bool) {
	if off >= 0 {
		return blosc.None, true
	}
	switch uint64(off) {
	case 0x81 << specialShift:
		return blosc.Zeros, true
	case 0x82 << specialShift:
		return blosc.NaN, true
	case 0x84 << specialShift:
		return blosc.Uninit, true
	}
	return blosc.None, false
}

// chunks returns the number of chunks by the header, or -1 if only the offsets
// chunk tells it.
func (in *Info) chunks(l formats.Limits) (int64, error) {
	if in.NBytes == 0 {
		return 0, nil
	}
	if in.ChunkSize == 0 {
		return -1, nil
	}
	return checkChunks((in.NBytes-1)/int64(in.ChunkSize)+1, l)
}

func checkChunks(n int64, l formats.Limits) (int64, error) {
	if n > maxChunks {
		return 0, corrupt("header", atNBytes, "%d chunks", n)
	}
	if n > l.MaxEntries {
		return 0, tooLarge("header", atNBytes, "%d chunks, %d allowed", n, l.MaxEntries)
	}
	return n, nil
}

// parseTable decodes the offsets chunk b and checks each offset. n is the
// result of chunks.
func (in *Info) parseTable(b []byte, n int64, l formats.Limits) (table, error) {
	off := in.indexOff()
	h, err := blosc.ParseHeader(b)
	if err != nil {
		return table{}, wrap("offsets", off, err)
	}
	if n < 0 {
		if n, err = checkChunks(int64(h.NBytes)/offsetLen, l); err != nil {
			return table{}, err
		}
	}
	if int64(h.NBytes) != n*offsetLen || h.VL {
		return table{}, corrupt("offsets", off, "%d bytes for %d chunks", h.NBytes, n)
	}
	t := table{n: int(n), end: in.CBytes}
	if v := b[h.Len():]; h.Special == blosc.Value && h.CBytes == h.Len()+offsetLen && len(v) >= offsetLen {
		t.same = int64(binary.LittleEndian.Uint64(v))
	} else if h.Special != blosc.Zeros {
		if t.le, err = decodeOffsets(b, &h, off, l); err != nil {
			return table{}, err
		}
	}
	return t, in.checkTable(&t)
}

func decodeOffsets(b []byte, h *blosc.Header, off int64, l formats.Limits) ([]byte, error) {
	if h.NBytes > freeOffsets && h.NBytes/maxOffsetsRatio > h.CBytes {
		return nil, tooLarge("offsets", off, "%d bytes out of %d", h.NBytes, h.CBytes)
	}
	if err := checkMeta("offsets", int64(h.NBytes), l); err != nil {
		return nil, err
	}
	o := blosc.DecodeOptions{MaxDecoded: l.MaxMeta, TypeSize: offsetLen}
	le, err := o.AppendDecoded(nil, b)
	if err != nil {
		return nil, wrap("offsets", off, err)
	}
	return le, nil
}

// checkTable checks every offset, and sets t.sorted if the offsets do not
// ascend.
func (in *Info) checkTable(t *table) error {
	ordered, last, stored := true, int64(-1), 0
	count := t.n
	if t.le == nil {
		count = min(1, t.n)
	}
	for i := range count {
		off := t.at(i)
		if err := in.checkOffset(i, off); err != nil {
			return err
		}
		if off >= 0 {
			stored++
		}
		ordered = ordered && off >= last && off >= 0
		last = off
	}
	if t.le == nil || ordered || in.Sparse {
		return nil
	}
	t.sorted = make([]int64, 0, stored)
	for i := range count {
		if off := t.at(i); off >= 0 {
			t.sorted = append(t.sorted, off)
		}
	}
	slices.Sort(t.sorted)
	return nil
}

func (in *Info) checkOffset(i int, off int64) error {
	kind, ok := special(off)
	switch {
	case !ok:
		return corrupt("offsets", in.indexOff(), "chunk %d at %#x", i, uint64(off))
	case kind != blosc.None && in.ChunkSize <= 0:
		return corrupt("offsets", in.indexOff(), "chunk %d is %s, of no known size", i, kind)
	case kind == blosc.NaN && in.TypeSize != 4 && in.TypeSize != 8:
		return corrupt("offsets", in.indexOff(), "chunk %d is NaN, of items of %d bytes", i, in.TypeSize)
	case in.Sparse && off > math.MaxUint32:
		return corrupt("offsets", in.indexOff(), "chunk %d in object %d", i, off)
	case !in.Sparse && kind == blosc.None && off > in.CBytes-minChunkLen:
		return corrupt("offsets", in.indexOff(), "chunk %d at %d of %d", i, off, in.CBytes)
	}
	return nil
}
