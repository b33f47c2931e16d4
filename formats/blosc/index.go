package blosc

import (
	"slices"
)

// An Index has the place of each block of a chunk. It is immutable. It takes 4
// bytes for each block, 8 if the blocks are not in order, and none for memcpyed
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
// the chunk or more, and is not kept. ParseIndex checks that block starts and
// dictionary lie inside the chunk. It does not check the streams. Errors match
// ErrCorrupt, or ErrUnsupported for a chunk that is not Supported.
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

// bodyStart returns the lowest offset at which a block may start.
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

// BlockBytes returns Header.BlockBytes: the decoded length of each block except the
// last.
func (x *Index) BlockBytes() int { return x.h.BlockBytes() }

// Starts returns the offset of each block in the chunk, in block order. The
// caller must not change it. It is nil for memcpyed and special chunks.
func (x *Index) Starts() []int32 { return x.starts }

// Block returns offset and length of block i in the chunk; a block ends where
// the next one begins. n is 0 in special chunks.
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

// BlockLen returns the decoded length of block i. It is -1 in a VL chunk: there
// VLBlockLen reads it from the block's first bytes.
func (x *Index) BlockLen(i int) int {
	if x.h.VL {
		return -1
	}
	return x.h.blockLen(i)
}

// VLBlockLen returns the decoded length of a block of a VL chunk. src has its
// first four bytes or more. It checks that the length is at most that of the
// decoded chunk.
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

// Dict returns offset and length of the dictionary in the chunk; n is 0 if
// there is none.
func (x *Index) Dict() (off, n int) {
	if x.dict == 0 {
		return 0, 0
	}
	return x.h.bodyOff() + 4, x.dict
}

// NeedsFirst reports whether all other blocks need the decoded first block to
// be decoded. It is true for the DELTA filter.
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
