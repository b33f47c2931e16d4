package blosc

// Sizes of dictionaries, as in C. A dictionary is not worth its place if it has fewer
// than minDict bytes, or more than a twentieth of the data.
const (
	minDict     = 256
	dictDivisor = 20
	dictSamples = 16 // blocks that give a piece
)

// sampleDict makes a dictionary of the starts of the streams of blocks from all over
// the data, for the codecs that use one. It is raw bytes, which zstd takes as well as
// trained dictionaries.
func (e *encoding) sampleDict(src []byte) ([]byte, error) {
	h := &e.h
	size := min(len(src)/dictDivisor, MaxDict)
	if !h.Extended || size < minDict || h.Codec != Zstd && h.Codec != LZ4 && h.Codec != LZ4HC {
		return nil, nil
	}
	blocks, streams := h.Blocks(), h.streams(0)
	samples := min(dictSamples, blocks)
	piece := size / samples / streams
	w := getEncWorker()
	defer w.release()
	dict := make([]byte, 0, size)
	for k := range samples {
		i := k * blocks / samples
		from := i * h.BlockBytes()
		p, err := e.filtered(w, src[from:from+h.blockLen(i)], src[:h.BlockBytes()], i == 0)
		if err != nil {
			return nil, err
		}
		n := len(p) / h.streams(i)
		for off := 0; off+n <= len(p); off += n {
			dict = append(dict, p[off:off+min(piece, n)]...)
		}
	}
	return dict, nil
}
