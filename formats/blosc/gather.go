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

// merged is how many elements are merged at a time if one of their planes is a run: so
// much of it stands for all of it.
const merged = 4 << 10

// gather is block for streams that are planes.
func (w *worker) gather(dst, src []byte, p *pipeline, streams int) error {
	var planes [filter.MaxPlanes][]byte
	size := len(dst) / streams
	piece, err := w.planes(&planes, src, p, streams, size, min(size, merged))
	if err != nil {
		return err
	}
	for off := 0; off < size; off += piece {
		at, n := planes, min(piece, size-off)
		for j := range streams {
			if len(at[j]) == size {
				at[j] = at[j][off:]
			}
		}
		filter.Gather(dst[off*streams:][:n*streams], &at, streams)
	}
	return nil
}

// planes decodes the planes of a block, of size bytes each. Stored ones are not copied: they
// stay where they lie in src. Of runs only the first run bytes are made. It returns how many
// elements all planes have, run or size.
func (w *worker) planes(planes *[filter.MaxPlanes][]byte, src []byte, p *pipeline, streams, size, run int) (int, error) {
	step, piece := (size+63)&^63+skew, size
	buf := w.buffer(step * streams)
	for j := range streams {
		length := 1
		if len(src) >= 4 {
			length = le32(src)
		}
		if length == size && size <= len(src)-4 {
			planes[j], src = src[4:4+size], src[4+size:]
			continue
		}
		at := buf[j*step:][: size : size+spare]
		if length <= 0 {
			piece = run
			at = at[:run]
		}
		n, err := w.stream(at, src, p)
		if err != nil {
			return 0, err
		}
		planes[j], src = at, src[n:]
	}
	return piece, nil
}
