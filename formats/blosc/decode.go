package blosc

import (
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/par"
)

// DecodeInto is DecodeOptions.DecodeInto with zero options.
func DecodeInto(dst, chunk []byte) (int, error) { return DecodeOptions{}.DecodeInto(dst, chunk) }

// AppendDecoded is DecodeOptions.AppendDecoded with zero options.
func AppendDecoded(dst, chunk []byte) ([]byte, error) {
	return DecodeOptions{}.AppendDecoded(dst, chunk)
}

// DecodeInto decodes a whole chunk into dst and returns the number of decoded
// bytes. If they do not fit into dst, it returns ErrTooLarge. It ignores bytes
// after the end of the chunk. After an error the content of dst is undefined. It
// never writes to dst behind the decoded length. It allocates nothing after the
// first calls, unless Parallel is above 1.
func (o DecodeOptions) DecodeInto(dst, chunk []byte) (int, error) {
	h, err := whole(chunk)
	if err != nil {
		return 0, err
	}
	return o.into(dst, chunk, &h)
}

// DecodeParsed is DecodeInto for a chunk whose header has been parsed already: h must be
// the result of ParseHeader for its first bytes. That saves time if chunks are small.
func (o DecodeOptions) DecodeParsed(dst, chunk []byte, h *Header) (int, error) {
	if err := h.wholeIn(chunk); err != nil {
		return 0, err
	}
	return o.into(dst, chunk, h)
}

// into decodes a whole chunk to the front of dst.
func (o *DecodeOptions) into(dst, chunk []byte, h *Header) (int, error) {
	if h.NBytes > len(dst) {
		return 0, fail("chunk", -1, formats.ErrTooLarge, "%d decoded bytes for a buffer of %d", h.NBytes, len(dst))
	}
	return h.NBytes, o.decode(dst[:h.NBytes:h.NBytes], chunk[:h.CBytes], h)
}

// AppendDecoded appends the decoded chunk to dst. If it has more than
// MaxDecoded bytes, AppendDecoded returns ErrTooLarge. If a chunk claims a high
// ratio, it checks that the streams can have it before it allocates memory. If
// the capacity of dst is large enough, it allocates nothing for the result. If
// it fails, it returns dst.
func (o DecodeOptions) AppendDecoded(dst, chunk []byte) ([]byte, error) {
	h, err := whole(chunk)
	if err != nil {
		return dst, err
	}
	limit := formats.Limits{MaxDecoded: o.MaxDecoded}.WithDefaults().MaxDecoded
	if int64(h.NBytes) > limit {
		return dst, fail("chunk", -1, formats.ErrTooLarge, "%d decoded bytes, limit %d", h.NBytes, limit)
	}
	if err := h.plausible(chunk[:h.CBytes]); err != nil {
		return dst, err
	}
	n := len(dst)
	dst = grow(dst, h.NBytes)
	if err := o.decode(dst[n:n+h.NBytes:n+h.NBytes], chunk[:h.CBytes], &h); err != nil {
		return dst[:n], err
	}
	return dst[:n+h.NBytes], nil
}

// grow returns p with room for exactly n more bytes, or more: chunks are large, and
// doubling would waste as much again.
func grow(p []byte, n int) []byte {
	if cap(p)-len(p) >= n {
		return p
	}
	q := make([]byte, len(p), len(p)+n)
	copy(q, p)
	return q
}

// whole parses the header of a chunk, and checks that chunk has all its bytes.
func whole(chunk []byte) (Header, error) {
	h, err := ParseHeader(chunk)
	if err != nil {
		return h, err
	}
	return h, h.wholeIn(chunk)
}

// wholeIn returns an error if chunk lacks bytes, or cannot be decoded by this
// package.
func (h *Header) wholeIn(chunk []byte) error {
	if len(chunk) < h.CBytes {
		return corrupt("chunk", int64(len(chunk)), "%d bytes of %d", len(chunk), h.CBytes)
	}
	return h.Supported()
}

// decode fills dst, which has the chunk's decoded length and capacity.
func (o *DecodeOptions) decode(dst, chunk []byte, h *Header) error {
	switch {
	case h.Special != None:
		fillSpecial(dst, h.Special, h.TypeSize, chunk[h.Len():], 0)
		return nil
	case h.Memcpyed:
		copy(dst, chunk[h.Len():])
		return nil
	}
	n, err := h.dictLen(chunk)
	if err != nil {
		return err
	}
	p, err := newPipeline(h, o)
	if err != nil {
		return err
	}
	if n > 0 {
		p.dict = chunk[h.bodyOff()+4:][:n]
	}
	if h.VL {
		return o.decodeVL(dst, chunk, &p)
	}
	return o.decodeBlocks(dst, chunk, &p)
}

func (o *DecodeOptions) decodeBlocks(dst, chunk []byte, p *pipeline) error {
	from, blocks := 0, p.h.Blocks()
	if o.Parallel > 1 && blocks > 1 {
		if p.h.needsFirst() {
			if err := decodeRun(dst, chunk, p, 0, 1); err != nil {
				return err
			}
			from = 1
		}
		return parallel(dst, chunk, *p, o.Parallel, from, blocks)
	}
	return decodeRun(dst, chunk, p, from, blocks)
}

// parallel decodes blocks in several goroutines. The pipeline comes by value so
// that only this path moves it to the heap.
func parallel(dst, chunk []byte, p pipeline, limit, from, blocks int) error {
	return par.Each(blocks-from, limit, func(i int) error {
		return decodeRun(dst, chunk, &p, from+i, from+i+1)
	})
}

// decodeRun decodes the blocks [from, to) with one worker.
func decodeRun(dst, chunk []byte, p *pipeline, from, to int) error {
	w := getWorker()
	defer w.release()
	bs := p.h.BlockBytes()
	for i := from; i < to; i++ {
		s, err := p.h.start(chunk, i, len(p.dict))
		if err != nil {
			return err
		}
		n := p.h.blockLen(i)
		out := dst[i*bs : i*bs+n : i*bs+n]
		if err := w.block(out, chunk[s:], dst[:bs], p, i); err != nil {
			return inBlock(err, i, int64(s))
		}
	}
	return nil
}

// decodeVL decodes a chunk of variable-length blocks.
func (o *DecodeOptions) decodeVL(dst, chunk []byte, p *pipeline) error {
	blocks := p.h.Blocks()
	if o.Parallel > 1 && blocks > 1 {
		ends := make([]int, blocks) // offset in dst at which each block ends
		for i := range blocks {
			_, n, err := p.h.vlBlock(chunk, i, len(p.dict))
			if err != nil {
				return err
			}
			ends[i] = n
			if i > 0 {
				ends[i] += ends[i-1]
			}
			if ends[i] > len(dst) {
				return corrupt("chunk", -1, "blocks of more than %d bytes in all", len(dst))
			}
		}
		if ends[blocks-1] != len(dst) {
			return corrupt("chunk", -1, "blocks of %d bytes in all, not %d", ends[blocks-1], len(dst))
		}
		return parallelVL(dst, chunk, *p, o.Parallel, ends)
	}
	return decodeRunVL(dst, chunk, p, 0, blocks)
}

func parallelVL(dst, chunk []byte, p pipeline, limit int, ends []int) error {
	return par.Each(len(ends), limit, func(i int) error {
		from := 0
		if i > 0 {
			from = ends[i-1]
		}
		return decodeRunVL(dst[from:ends[i]:ends[i]], chunk, &p, i, i+1)
	})
}

// decodeRunVL decodes the blocks [from, to) of a VL chunk, which fill dst.
func decodeRunVL(dst, chunk []byte, p *pipeline, from, to int) error {
	w := getWorker()
	defer w.release()
	for i := from; i < to; i++ {
		src, n, err := p.h.vlBlock(chunk, i, len(p.dict))
		if err != nil {
			return err
		}
		if n > len(dst) {
			return corrupt("chunk", -1, "blocks of more bytes than %d in all", p.h.NBytes)
		}
		if err := w.vlBlock(dst[:n:n], src, p); err != nil {
			return inBlock(err, i, -1)
		}
		dst = dst[n:]
	}
	if len(dst) > 0 {
		return corrupt("chunk", -1, "blocks of %d bytes less than %d", len(dst), p.h.NBytes)
	}
	return nil
}

// vlBlock finds the bytes of block i of a VL chunk and its decoded length.
func (h *Header) vlBlock(chunk []byte, i, dict int) (src []byte, n int, err error) {
	s, err := h.start(chunk, i, dict)
	if err != nil {
		return nil, 0, err
	}
	end := int32(h.CBytes)
	if i+1 < h.Blocks() {
		if end, err = h.start(chunk, i+1, dict); err != nil {
			return nil, 0, err
		}
	}
	if end-s <= 4 {
		return nil, 0, corrupt("index", int64(h.Len()+4*i), "block %d has no room at %d", i, s)
	}
	src = chunk[s:end:end]
	if n = le32(src); n <= 0 || n > h.NBytes {
		return nil, 0, corrupt("block", int64(s), "block %d of %d decoded bytes in a chunk of %d", i, n, h.NBytes)
	}
	return src, n, nil
}

// DecodeBlock decodes block i of the chunk that x indexes. dst must have the
// block's decoded length (x.BlockLen, or x.VLBlockLen of src), and src must be
// exactly the bytes of x.Block(i). first is the decoded first block, needed if
// x.NeedsFirst and i > 0; dict is the bytes of x.Dict, nil if there are none.
// DecodeBlock allocates nothing after the first calls. After an error the
// content of dst is undefined. If the chunk does not have the block,
// DecodeBlock returns ErrNoEntry; for buffers of a wrong length it returns
// ErrCorrupt.
func (o DecodeOptions) DecodeBlock(dst []byte, x *Index, i int, src, first, dict []byte) error {
	h := &x.h
	if i < 0 || i >= h.Blocks() {
		return fail("block", -1, formats.ErrNoEntry, "block %d of %d", i, h.Blocks())
	}
	if err := x.checkBlock(len(dst), i, src, first, dict); err != nil {
		return err
	}
	dst = dst[:len(dst):len(dst)]
	switch {
	case h.Special != None:
		fillSpecial(dst, h.Special, h.TypeSize, x.value, i*h.BlockBytes())
		return nil
	case h.Memcpyed:
		copy(dst, src)
		return nil
	}
	p, err := newPipeline(h, &o)
	if err != nil {
		return err
	}
	p.dict = dict
	w := getWorker()
	defer w.release()
	if h.VL {
		err = w.vlBlock(dst, src, &p)
	} else {
		err = w.block(dst, src, first, &p, i)
	}
	return inBlock(err, i, -1)
}

// checkBlock compares the arguments of DecodeBlock with the index. size is the length of dst.
func (x *Index) checkBlock(size, i int, src, first, dict []byte) error {
	_, n := x.Block(i)
	if len(src) != n {
		return corrupt("block", -1, "block %d of %d bytes is given %d", i, n, len(src))
	}
	want := x.BlockLen(i)
	if x.h.VL {
		var err error
		if want, err = x.VLBlockLen(src); err != nil {
			return err
		}
	}
	switch {
	case size != want:
		return corrupt("block", -1, "block %d of %d decoded bytes is given a buffer of %d", i, want, size)
	case len(dict) != x.dict:
		return corrupt("block", -1, "dictionary of %d bytes is given %d", x.dict, len(dict))
	case i > 0 && x.NeedsFirst() && len(first) < size:
		return corrupt("block", -1, "block %d without the decoded first block", i)
	}
	return nil
}
