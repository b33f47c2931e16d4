package blosc

import "github.com/farread/farread/internal/filter"

// skew is how much farther than whole cache lines the planes of a block lie from each
// other. A store and a load whose addresses differ by a multiple of 4 KiB wait for each
// other, and planes mostly have a power of two bytes.
const skew = 192

// gathers reports whether the streams of a block are the planes of its only filter, which
// is a shuffle, so that gather may decode it.
func (p *pipeline) gathers(streams int) bool {
	return p.n == 1 && p.steps[0].id == Shuffle && p.steps[0].width == streams && filter.Gathers(streams)
}

// gather is block for streams that are planes.
func (w *worker) gather(dst, src []byte, p *pipeline, streams int) error {
	var planes [filter.MaxPlanes][]byte
	if err := w.planes(&planes, src, p, streams, len(dst)/streams); err != nil {
		return err
	}
	filter.Gather(dst, &planes, streams)
	return nil
}

// planes decodes the planes of a block, of size bytes each. Stored ones are not copied: they
// stay where they lie in src.
func (w *worker) planes(planes *[filter.MaxPlanes][]byte, src []byte, p *pipeline, streams, size int) error {
	step := (size+63)&^63 + skew
	buf := w.buffer(step * streams)
	for j := range streams {
		if len(src) >= 4 && le32(src) == size && size <= len(src)-4 {
			planes[j], src = src[4:4+size], src[4+size:]
			continue
		}
		at := buf[j*step:][: size : size+spare]
		n, err := w.stream(at, src, p)
		if err != nil {
			return err
		}
		planes[j], src = at, src[n:]
	}
	return nil
}
