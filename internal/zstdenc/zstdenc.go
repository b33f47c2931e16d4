// Package zstdenc encodes Zstandard frames (RFC 8878) of inputs that are short, fast: items,
// and the planes of Blosc's blocks.
//
// The library, klauspost/compress, is made for streams. Its table of places is larger than
// such inputs, and its codes are made anew for each of them at the same cost. Here the table
// lies in the first-level cache, and codes are only made where they pay. Huffman codes of
// longer inputs are the library's (huff0). Frames have one block, their content size, and no
// checksum.
//
// When the library is as fast, this package goes.
package zstdenc

// The lengths of inputs. A frame of a shorter one is rarely shorter than what it holds; a
// position has 16 bits.
const (
	Min = 24
	Max = 64 << 10
)

// Encoder encodes frames. The zero value is ready; it keeps tables and buffers, up to
// 0.6 MB, so it is not for concurrent use.
type Encoder struct {
	small small
	plane *plane // made when the first input needs it
}

// Encode writes src, which has from [Min] to [Max] bytes, as a frame to dst. It returns the
// length of the frame, or 0 if that is more than len(dst): then nothing of worth is in dst.
// Inputs of up to [SmallMax] bytes get about the ratio of the library's second level, longer
// ones that of its first.
func (e *Encoder) Encode(dst, src []byte) int {
	if len(src) <= SmallMax {
		return e.small.encode(dst, src)
	}
	if e.plane == nil {
		e.plane = &plane{}
	}
	return e.plane.encode(dst, src)
}

// putHead writes the header of a frame of n bytes, and returns where its block begins.
func putHead(p []byte, n int) int {
	at := copy(p, "\x28\xb5\x2f\xfd")
	if n < 256 {
		return at + copy(p[at:], []byte{0x20, byte(n)}) // one segment, its length in one byte
	}
	n -= 256
	return at + copy(p[at:], []byte{0x60, byte(n), byte(n >> 8)})
}

const blockHead = 3 // bytes of a block's header

// finish copies a frame into dst, whose only block is coded from head+blockHead to end. No block
// may be longer than the window (RFC 8878, 3.1.1.2.4), which is the content here.
func finish(dst, p, src []byte, head, end int) int {
	const raw, compressed, last = 0, 2, 1
	kind := compressed
	if end-head-blockHead >= len(src) {
		end, kind = head+blockHead+copy(p[head+blockHead:], src), raw
	}
	if end > len(dst) {
		return 0
	}
	block := (end-head-blockHead)<<3 | kind<<1 | last
	p[head], p[head+1], p[head+2] = byte(block), byte(block>>8), byte(block>>16)
	return copy(dst, p[:end])
}
