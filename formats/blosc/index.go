package blosc

import (
	"slices"
)

// An Index says where each block of a chunk lies. It is immutable and takes 4
// bytes a block, 8 if the blocks do not lie in their order, and none in memcpyed
// and special chunks. Methods that take the number of a block do not check it:
// it must be in [0, Header().Blocks()).
type Index struct {
	h      Header
	starts []int32
	sorted []int32
	dict   int    // length of the dictionary
	value  []byte // the value that a chunk repeats
}

// ParseIndex reads the index of a chunk. head holds the first IndexLen bytes of
// the chunk or more, and is not kept. The block starts, and with a dictionary
// its length, are checked against the length of the chunk; the streams are not
// looked at. Errors match ErrCorrupt, or ErrUnsupported for a chunk that is not
// Supported.
func ParseIndex(head []byte) (*Index, error) {
	h, err := ParseHeader(head)
	if err != nil {
		return nil, err
	}
	if err := h.Supported(); err != nil {
		return nil, err
	}
	if len(head) < h.IndexLen() {
		return nil, corrupt("index", 0, "%d bytes, need %d", len(head), h.IndexLen())
	}
	x := &Index{h: h}
	if h.Special == Value {
		x.value = slices.Clone(head[h.Len():h.CBytes])
	}
	if h.plain() {
		return x, nil
	}
	if x.dict, err = h.dictLen(head); err != nil {
		return nil, err
	}
	x.starts = make([]int32, h.Blocks())
	raw, last, sorted := head[h.Len():], -1, true
	least, most := h.bodyStart(x.dict), h.CBytes-4
	for i := range x.starts {
		s := le32(raw[4*i:])
		if s < least || s > most {
			_, err = h.start(head, i, x.dict)
			return nil, err
		}
		sorted, last = sorted && s >= last, s
		x.starts[i] = int32(s)
	}
	x.sorted = x.starts
	if !sorted {
		x.sorted = slices.Clone(x.starts)
		slices.Sort(x.sorted)
	}
	return x, x.checkVL()
}

// dictLen reads the length of the dictionary, 0 if there is none.
func (h *Header) dictLen(b []byte) (int, error) {
	if !h.Dict {
		return 0, nil
	}
	off := h.bodyOff()
	n := le32(b[off:])
	if n <= 0 || n > MaxDict || n > h.CBytes-off-4 {
		return 0, corrupt("dictionary", int64(off), "%d bytes", n)
	}
	return n, nil
}

// bodyStart is the first place where a block may start.
func (h *Header) bodyStart(dict int) int {
	if h.Dict {
		return h.bodyOff() + 4 + dict
	}
	return h.bodyOff()
}

// start reads where block i starts and checks that the length of a stream fits
// there.
func (h *Header) start(b []byte, i, dict int) (int32, error) {
	off := h.Len() + 4*i
	s := le32(b[off:])
	if s < h.bodyStart(dict) || s > h.CBytes-4 {
		return 0, corrupt("index", int64(off), "block %d starts at %d of %d", i, s, h.CBytes)
	}
	return int32(s), nil
}

// checkVL demands ascending starts of a VL chunk: its lengths depend on them.
func (x *Index) checkVL() error {
	if !x.h.VL {
		return nil
	}
	for i := range x.starts {
		if _, n := x.Block(i); n <= 4 || i > 0 && x.starts[i] <= x.starts[i-1] {
			return corrupt("index", int64(x.h.Len()+4*i), "block %d has no room at %d", i, x.starts[i])
		}
	}
	return nil
}

// Header is the chunk's header.
func (x *Index) Header() Header { return x.h }

// BlockBytes is the decoded length of every block but the last, as the header says.
func (x *Index) BlockBytes() int { return x.h.BlockBytes() }

// Starts gives the offset of each block in the chunk, in block order. The caller
// must not change it. It is nil for memcpyed and special chunks.
func (x *Index) Starts() []int32 { return x.starts }

// Block is the span of the bytes of block i inside the chunk, up to the next
// block. n is 0 in special chunks, whose blocks need no bytes beside the index.
func (x *Index) Block(i int) (off, n int) {
	switch {
	case x.h.Special != None:
		return 0, 0
	case x.h.Memcpyed:
		return x.h.Len() + i*x.h.BlockBytes(), x.h.blockLen(i)
	}
	s := x.starts[i]
	k, _ := slices.BinarySearch(x.sorted, s+1)
	end := x.h.CBytes
	if k < len(x.sorted) {
		end = int(x.sorted[k])
	}
	return int(s), end - int(s)
}

// BlockLen is the decoded length of block i, -1 in a VL chunk, for which
// VLBlockLen finds it in the block's first bytes.
func (x *Index) BlockLen(i int) int {
	if x.h.VL {
		return -1
	}
	return x.h.blockLen(i)
}

// VLBlockLen is the decoded length of a block of a VL chunk, from its first four
// bytes or more, checked against the length of the whole chunk.
func (x *Index) VLBlockLen(src []byte) (int, error) {
	if len(src) < 4 {
		return 0, corrupt("block", 0, "%d bytes", len(src))
	}
	n := le32(src)
	if n <= 0 || n > x.h.NBytes {
		return 0, corrupt("block", 0, "block of %d decoded bytes in a chunk of %d", n, x.h.NBytes)
	}
	return n, nil
}

// Dict is the span of the dictionary inside the chunk; n is 0 if there is none.
func (x *Index) Dict() (off, n int) {
	if x.dict == 0 {
		return 0, 0
	}
	return x.h.bodyOff() + 4, x.dict
}

// NeedsFirst says that every block but the first can only be decoded together
// with the decoded first block, to which the DELTA filter refers.
func (x *Index) NeedsFirst() bool { return x.h.needsFirst() }

func (h *Header) needsFirst() bool {
	if h.plain() || h.VL {
		return false
	}
	for _, f := range h.Filters {
		if f.ID == Delta {
			return true
		}
	}
	return false
}
