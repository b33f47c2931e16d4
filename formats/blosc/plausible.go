package blosc

// maxExpansion returns the largest number of bytes that one byte of a stream can
// become. LZ4, BloscLZ and Snappy: a byte adds at most 255 (64 for three) to a match.
// Deflate: 258 bytes for two bits at best. Zstd: a block of 128 KiB in three bytes of
// header and one of data.
func (c Codec) maxExpansion() int64 {
	if c == Zlib {
		return 1032
	}
	if c == Zstd {
		return 128 << 10
	}
	return 256
}

// larger expansions are checked before memory is allocated for them.
const expansion, always = 16, 1 << 20

// plausible walks over the streams of a chunk that claims to expand far, and finds
// streams that cannot, before anything is allocated. A chunk that passes may still be
// corrupt. Special chunks are small by nature.
func (h *Header) plausible(chunk []byte) error {
	if h.plain() || int64(h.NBytes) <= always+expansion*int64(h.CBytes) {
		return nil
	}
	dict, err := h.dictLen(chunk)
	if err != nil {
		return err
	}
	if h.VL {
		return h.plausibleVL(chunk, dict)
	}
	for i := range h.Blocks() {
		s, err := h.start(chunk, i, dict)
		if err != nil {
			return err
		}
		if err := h.plausibleBlock(chunk[s:], i); err != nil {
			return inBlock(err, i, int64(s))
		}
	}
	return nil
}

func (h *Header) plausibleBlock(src []byte, i int) error {
	streams := h.streams(i)
	size := h.blockLen(i) / streams
	if size == 0 {
		return errNoStream
	}
	for range streams {
		if len(src) < 4 {
			return errCut
		}
		n := le32(src)
		src = src[4:]
		switch {
		case n < 0 && len(src) > 0:
			src = src[1:]
		case n < 0 || n > len(src):
			return errCut
		case n > 0 && h.tooFar(n, size):
			return errExpansion
		default:
			src = src[n:]
		}
	}
	return nil
}

// tooFar reports whether a stream of n bytes is too short to decode to size
// bytes.
func (h *Header) tooFar(n, size int) bool {
	return n != size && int64(size) > 64+int64(n)*h.Codec.maxExpansion()
}

func (h *Header) plausibleVL(chunk []byte, dict int) error {
	total := 0
	for i := range h.Blocks() {
		src, n, err := h.vlBlock(chunk, i, dict)
		if err != nil {
			return err
		}
		if h.tooFar(len(src)-4, n) {
			return inBlock(errExpansion, i, -1)
		}
		total += n
	}
	if total != h.NBytes {
		return corrupt("chunk", -1, "blocks of %d bytes in all, not %d", total, h.NBytes)
	}
	return nil
}
