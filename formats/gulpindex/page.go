package gulpindex

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/internal/varint"
)

// A page is
//
//	number of ids, of frames, of frames of the first id in front of the page, and of
//	frames of the last id in the page
//	ids: a byte of flags, what they announce, and the end of the id
//	gaps: their number; of each the distance from the one before, and its length
//	lengths: a byte for their kind; then, of each 64 frames, the least value, the
//	number of bits of the difference to it, and the differences
//
// All numbers are varints. A frame begins where the one before it in the page ends,
// unless there is a gap; the first begins at 0.

const (
	flagNumber = 1 << iota // the number is not that of the id before and one: the difference follows
	flagFrames             // the number of frames is not that of the id before: it follows
	flagShared             // the id shares another number of bytes with the one before: it follows
	flagSuffix             // the rest of the id has another length: it follows
	flagsEnd
)

const (
	// Total lengths are multiples of four, as GulpIO writes them: sizes alone tell the
	// padding.
	kindSizes = 0
	// Values are size << 2 | padding.
	kindPadded = 1

	blockFrames = 64
	// maxFrames is the most frames of a page. The frames of a page take 24 bytes each
	// while it is decoded.
	maxFrames = 4096
	// pageBytes is the length from which a page is full. So 64 KiB have the end of an
	// index, one page, and the heads of both objects of the pair.
	pageBytes = 12 << 10
	// maxID is the longest id of an index. Ids are parts of file names and of keys,
	// which have at most 1024 bytes.
	maxID = 2 << 10
	// maxPage is more than any page takes: pageBytes, an id, and a block of frames.
	maxPage = 16 << 10
)

// A row is one id of a page.
type row struct {
	id     []byte
	number int64 // in file order
	frames int64 // number of all frames of the id
	before int64 // of which lie in front of the page
	here   int   // and in the page
}

// A pageWriter encodes one page after another.
type pageWriter struct {
	ids, out        []byte
	n               int
	from, here      int64 // of the first id before the page, of the last id in the page
	last            row   // the row before; its id is kept in lastID
	lastID          []byte
	shared, suffix  int
	gaps            []byte
	gapCount, gapAt int
	end             int64 // end of the frame before
	sizes           []uint64
	padded          bool
	lengths         int // bytes of full blocks of sizes
}

func (w *pageWriter) reset() {
	*w = pageWriter{ids: w.ids[:0], out: w.out[:0], lastID: w.lastID[:0], gaps: w.gaps[:0], sizes: w.sizes[:0], last: row{number: -1}}
}

// add adds an id, of which some frames lie in pages before.
func (w *pageWriter) add(id string, number, frames, before int64) {
	if w.n == 0 {
		w.from = before
	}
	shared := 0
	for shared < len(w.lastID) && shared < len(id) && w.lastID[shared] == id[shared] {
		shared++
	}
	var flags byte
	if number != w.last.number+1 {
		flags |= flagNumber
	}
	if frames != w.last.frames {
		flags |= flagFrames
	}
	if shared != w.shared {
		flags |= flagShared
	}
	if len(id)-shared != w.suffix {
		flags |= flagSuffix
	}
	w.ids = append(w.ids, flags)
	if flags&flagNumber != 0 {
		w.ids = binary.AppendVarint(w.ids, number-w.last.number-1)
	}
	if flags&flagFrames != 0 {
		w.ids = binary.AppendUvarint(w.ids, uint64(frames))
	}
	if flags&flagShared != 0 {
		w.ids = binary.AppendUvarint(w.ids, uint64(shared))
	}
	if flags&flagSuffix != 0 {
		w.ids = binary.AppendUvarint(w.ids, uint64(len(id)-shared))
	}
	w.ids = append(w.ids, id[shared:]...)
	w.shared, w.suffix = shared, len(id)-shared
	w.last.number, w.last.frames = number, frames
	w.lastID = append(w.lastID[:0], id...)
	w.n++
	w.here = 0
}

// frame adds a frame of the last id.
func (w *pageWriter) frame(f gulp.FrameInfo) {
	if gap := f.Off - w.end; gap != 0 {
		w.gaps = binary.AppendUvarint(w.gaps, uint64(len(w.sizes)-w.gapAt))
		w.gaps = binary.AppendVarint(w.gaps, gap)
		w.gapCount, w.gapAt = w.gapCount+1, len(w.sizes)
	}
	w.end = f.Off + f.Size + int64(f.Pad)
	w.padded = w.padded || int64(f.Pad) != -f.Size&3
	w.sizes = append(w.sizes, uint64(f.Size)<<2|uint64(f.Pad))
	w.here++
	if n := len(w.sizes); n%blockFrames == 0 {
		w.lengths += blockLen(w.sizes[n-blockFrames:])
	}
}

// blockLen is about how many bytes a block of lengths takes.
func blockLen(v []uint64) int {
	lo, width := spread(v)
	return 1 + (bits.Len64(lo)+6)/7 + (len(v)*width+7)/8
}

// spread returns the least of the values, and the number of bits of the largest
// difference to it.
func spread(v []uint64) (lo uint64, width int) {
	lo, hi := v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, bits.Len64(hi - lo)
}

func (w *pageWriter) full() bool {
	return len(w.sizes) >= maxFrames || len(w.ids)+len(w.gaps)+w.lengths >= pageBytes
}

// page returns the page. It is valid until reset.
func (w *pageWriter) page() []byte {
	p := w.out[:0]
	for _, v := range [...]uint64{uint64(w.n), uint64(len(w.sizes)), uint64(w.from), uint64(w.here)} {
		p = binary.AppendUvarint(p, v)
	}
	p = append(p, w.ids...)
	p = binary.AppendUvarint(p, uint64(w.gapCount))
	p = append(p, w.gaps...)
	if w.padded {
		p = append(p, kindPadded)
	} else {
		p = append(p, kindSizes)
		for i := range w.sizes {
			w.sizes[i] >>= 2
		}
	}
	for i := 0; i < len(w.sizes); i += blockFrames {
		p = appendBlock(p, w.sizes[i:min(i+blockFrames, len(w.sizes))])
	}
	w.out = p
	return p
}

func appendBlock(p []byte, v []uint64) []byte {
	lo, width := spread(v)
	p = append(binary.AppendUvarint(p, lo), byte(width))
	var acc uint64
	have := 0
	for _, x := range v {
		x -= lo
		acc |= x << have
		if have += width; have < 64 {
			continue
		}
		p = binary.LittleEndian.AppendUint64(p, acc)
		have -= 64
		acc = 0
		if have > 0 {
			acc = x >> (width - have)
		}
	}
	for ; have > 0; have -= 8 {
		p = append(p, byte(acc))
		acc >>= 8
	}
	return p
}

// A pageReader decodes one page. Its rows come first, then the places of all frames.
type pageReader struct {
	varint.Reader
	n, k   int // number of ids, and of those that were given
	frames int // number of frames
	given  int // number of frames of rows that were given
	tail   int64
	row    row
	shared int
	suffix int
}

func (r *pageReader) fail(text string, args ...any) error {
	r.Bad = true
	return fmt.Errorf("page of ids: %s: %w", fmt.Sprintf(text, args...), index.ErrUnusable)
}

// uint reads a number of at most most.
func (r *pageReader) uint(most int64) int64 {
	v := r.Uint()
	if v > uint64(most) {
		r.Fail()
		return 0
	}
	return int64(v)
}

const maxCount = 1 << 40 // keeps sums of counts far from their limits

// newPageReader reads the head of a page, which must have the numbers of the directory.
func newPageReader(p []byte, at *index.Page) (*pageReader, error) {
	r := &pageReader{Reader: varint.Reader{P: p}, row: row{number: -1}}
	r.n = int(r.uint(maxPage))
	r.frames = int(r.uint(maxFrames))
	r.row.before = r.uint(maxCount)
	r.tail = r.uint(maxFrames)
	if r.Bad || r.n == 0 || int64(r.n)-1 != at.Last-at.First || int64(r.frames) != at.Count {
		return nil, r.fail("%d ids and %d frames", r.n, r.frames)
	}
	return r, nil
}

// next decodes the next row. Its id is valid until the next call.
func (r *pageReader) next() (*row, error) {
	x := &r.row
	if len(r.P) == 0 {
		return nil, r.fail("it ends at id %d of %d", r.k, r.n)
	}
	flags := r.P[0]
	r.P = r.P[1:]
	x.number++
	if flags&flagNumber != 0 {
		x.number += r.Int()
	}
	if flags&flagFrames != 0 {
		x.frames = r.uint(maxCount)
	}
	if flags&flagShared != 0 {
		r.shared = int(r.uint(maxID))
	}
	if flags&flagSuffix != 0 {
		r.suffix = int(r.uint(maxID))
	}
	if r.Bad || flags >= flagsEnd || x.number < 0 || x.number > maxCount || r.shared > len(x.id) || r.suffix > len(r.P) || r.shared+r.suffix > maxID {
		return nil, r.fail("id %d of %d", r.k, r.n)
	}
	rest := r.P[:r.suffix]
	// The rest must sort behind what it replaces, or ids would not ascend.
	if r.k > 0 && string(rest) <= string(x.id[r.shared:]) {
		return nil, r.fail("id %d is not behind the one before", r.k)
	}
	x.id = append(x.id[:r.shared], rest...)
	r.P = r.P[r.suffix:]
	here := x.frames
	if r.k++; r.k > 1 {
		x.before = 0
	}
	if here -= x.before; r.k == r.n {
		if r.tail > here {
			return nil, r.fail("%d frames of the last id, which has %d", r.tail, here)
		}
		here = r.tail
	}
	if here < 0 || here > int64(r.frames-r.given) || r.k == r.n && here != int64(r.frames-r.given) {
		return nil, r.fail("frames of id %d", r.k-1)
	}
	x.here = int(here)
	r.given += x.here
	return x, nil
}

// places decodes the places of all frames, after the last row, and appends them to dst.
// The frames lie in a data object of size bytes.
func (r *pageReader) places(dst []gulp.FrameInfo, size int64) ([]gulp.FrameInfo, error) {
	gaps := r.uint(int64(r.frames))
	at := r.P
	for range gaps {
		r.uint(maxFrames)
		r.Int()
	}
	if r.Bad || len(r.P) == 0 || r.P[0] > kindPadded {
		return nil, r.fail("gaps")
	}
	lengths := &pageReader{Reader: varint.Reader{P: r.P[1:]}}
	padded := r.P[0] == kindPadded
	r.P = at
	next := int64(-1) // the next frame behind a gap
	if gaps > 0 {
		next = r.uint(maxFrames)
	}
	var block [blockFrames]uint64
	end := int64(0)
	for i := range r.frames {
		if i%blockFrames == 0 && !lengths.block(block[:min(blockFrames, r.frames-i)]) {
			return nil, r.fail("lengths at frame %d", i)
		}
		if int64(i) == next {
			end += r.Int() // no overflow that matters: the sum is checked
			if gaps--; gaps > 0 {
				next += r.uint(maxFrames)
			}
		}
		f := gulp.FrameInfo{Off: end}
		if v := block[i%blockFrames]; padded {
			f.Size, f.Pad = int64(v>>2), int(v&3)
		} else {
			f.Size, f.Pad = int64(v), int(-v&3)
		}
		if total := f.Size + int64(f.Pad); f.Off < 0 || f.Off > size || f.Size < 1 || f.Size > size || total > size-f.Off {
			return nil, r.fail("frame %d lies outside of the data", i)
		}
		end = f.Off + f.Size + int64(f.Pad)
		dst = append(dst, f)
	}
	if gaps > 0 || len(lengths.P) > 0 {
		return nil, r.fail("it has more than its frames")
	}
	return dst, nil
}

// block decodes a block of lengths.
func (r *pageReader) block(v []uint64) bool {
	lo := uint64(r.uint(1<<62 - 1))
	if r.Bad || len(r.P) == 0 {
		return false
	}
	width := int(r.P[0])
	n := (len(v)*width + 7) / 8
	if r.P = r.P[1:]; width > 62 || n > len(r.P) {
		return false
	}
	p := r.P[:n]
	for i := range v {
		at := i * width
		var x uint64
		for k, have := at/8, -(at % 8); have < width; k, have = k+1, have+8 {
			if have < 0 {
				x |= uint64(p[k]) >> -have
			} else {
				x |= uint64(p[k]) << have
			}
		}
		v[i] = lo + x&(1<<width-1)
	}
	r.P = r.P[n:]
	return true
}
