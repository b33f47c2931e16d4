package frameindex

import (
	"encoding/binary"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/internal/varint"
)

const (
	atCBytes = 12 // offset of the encoded length in a header
	// maxValue is the most bytes of a repeated value in a head. A chunk that repeats
	// a longer one has no head in an index.
	maxValue = 256
)

// HeadOf returns the head of a chunk: a part of chunk, which has the first bytes of the
// chunk. It returns nil if these bytes begin no chunk that an index can hold, or do not
// have the whole head.
func HeadOf(chunk []byte) []byte {
	h, err := blosc.ParseHeader(chunk)
	if err != nil {
		return nil
	}
	n := h.IndexLen()
	if n > len(chunk) || n > h.Len()+maxValue && h.Special == blosc.Value {
		return nil
	}
	return chunk[:n:n]
}

// A header is the header of the head before, from which the next one is told. Bytes
// that it does not have are 0.
type header [blosc.HeaderLen2]byte

// bit returns the offset of the byte of a header that bit k of a mask stands for. All
// bytes have one but the encoded length.
func bit(k int) (at int) {
	if k < atCBytes {
		return k
	}
	return k + 4
}

const maskBits = blosc.HeaderLen2 - 4

// appendHead appends a head to a page. An empty head stands for a chunk without one.
//
// A head is a number, 0 if there is none, else 1 more than a mask of the bytes of the
// header that differ from the head before; these bytes; the encoded length of the
// chunk, as a difference from the one before; each block start, as a difference from
// the one before, the first from the length of the head; and what else the head has.
// Numbers are varints, differences zigzag.
func (last *header) appendHead(p, head []byte) []byte {
	h, err := blosc.ParseHeader(head)
	if err != nil || h.IndexLen() != len(head) {
		return append(p, 0)
	}
	var next header
	copy(next[:], head[:h.Len()])
	mask := uint64(0)
	for k := range maskBits {
		if at := bit(k); next[at] != last[at] {
			mask |= 1 << k
		}
	}
	p = binary.AppendUvarint(p, mask+1)
	for k := range maskBits {
		if mask>>k&1 != 0 {
			p = append(p, next[bit(k)])
		}
	}
	p = binary.AppendVarint(p, next.cbytes()-last.cbytes())
	*last = next
	n, rest := starts(&h)
	before := int64(len(head))
	for i := range n {
		s := int64(int32(binary.LittleEndian.Uint32(head[h.Len()+4*i:])))
		p = binary.AppendVarint(p, s-before)
		before = s
	}
	return append(p, head[len(head)-rest:]...)
}

func (last *header) cbytes() int64 { return int64(binary.LittleEndian.Uint32(last[atCBytes:])) }

// starts returns the number of block starts in a head, and the number of bytes behind
// them.
func starts(h *blosc.Header) (n, rest int) {
	switch {
	case h.Special == blosc.Value:
		return 0, h.CBytes - h.Len()
	case h.Special != blosc.None || h.Memcpyed:
		return 0, 0
	case h.Dict:
		return h.Blocks(), 4
	}
	return h.Blocks(), 0
}

// A page is the heads of some chunks, one behind another.
type page struct {
	varint.Reader
	last header
	head []byte // reused
}

func pageOf(p []byte) page { return page{Reader: varint.Reader{P: p}} }

// next returns the head of the next chunk, nil if it has none. It is valid until the
// following call. It returns false if the page is damaged.
func (d *page) next() ([]byte, bool) {
	mask := d.Uint()
	if mask == 0 || d.Bad {
		return nil, !d.Bad
	}
	if mask--; mask>>maskBits != 0 {
		return nil, false
	}
	for k := range maskBits {
		if mask>>k&1 != 0 {
			if b := d.Bytes(1); b != nil {
				d.last[bit(k)] = b[0]
			}
		}
	}
	cbytes := d.last.cbytes() + d.Int()
	if d.Bad || cbytes < 0 || cbytes > 1<<31-1 {
		return nil, false
	}
	binary.LittleEndian.PutUint32(d.last[atCBytes:], uint32(cbytes))
	h, err := blosc.ParseHeader(d.last[:])
	if err != nil || h.Special == blosc.Value && h.CBytes > h.Len()+maxValue {
		return nil, false
	}
	n, rest := starts(&h)
	if n > len(d.P) { // a start takes a byte at least
		return nil, false
	}
	size := h.IndexLen()
	d.head = append(d.head[:0], d.last[:h.Len()]...)
	before := int64(size)
	for range n {
		before += d.Int()
		d.head = binary.LittleEndian.AppendUint32(d.head, uint32(before))
		d.Bad = d.Bad || before != int64(int32(before))
		before = int64(int32(before))
	}
	d.head = append(d.head, d.Bytes(uint64(rest))...)
	return d.head, !d.Bad && len(d.head) == size
}
