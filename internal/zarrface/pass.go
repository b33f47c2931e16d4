package zarrface

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/farread/farread/formats/blosc"
)

// The header of a Blosc1 chunk.
const (
	version1       = 2
	streamVersion1 = 1
	flagShuffle    = 0x01
	flagMemcpyed   = 0x02
	flagBitShuffle = 0x04
	flagUnsplit    = 0x10

	// C-Blosc1 takes blocks of longer items, or of shorter streams, for unsplit, whatever
	// the flag says (blosc.c: MAX_SPLITS, MIN_BUFFERSIZE).
	maxSplit1  = 16
	minStream1 = 128
)

// codes1 are the codecs that both Blosc1 and Blosc2 have, and their numbers in flags.
var codes1 = map[blosc.Codec]byte{blosc.BloscLZ: 0, blosc.LZ4: 1, blosc.LZ4HC: 1, blosc.Zlib: 3, blosc.Zstd: 4}

// pass appends the blocks [from, to) of a stored Blosc2 chunk as a chunk of Blosc1, with
// the streams as they are. False means that Blosc1 cannot say it, or that the chunk is
// damaged; then dst is as it was. at returns bytes of the stored chunk.
func (v *View) pass(dst []byte, x *blosc.Index, at At, from, to int) ([]byte, bool) {
	h := x.Header()
	flags, ok := flags1(&h)
	bs := h.BlockBytes()
	if !ok || h.NBytes != v.chunkBytes || bs != v.blockBytes || (to-from)*bs > math.MaxInt32-blosc.HeaderLen1 {
		return dst, false
	}
	head := []byte{version1, streamVersion1, flags, byte(h.TypeSize), 12: 0, 13: 0, 14: 0, 15: 0}
	binary.LittleEndian.PutUint32(head[4:], uint32((to-from)*bs))
	binary.LittleEndian.PutUint32(head[8:], uint32(bs))
	start, out := len(dst), append(dst, head...)
	if h.Memcpyed {
		off, _ := x.Block(from)
		p := at(off, (to-from)*bs)
		out, ok = append(out, p...), len(p) == (to-from)*bs
	} else {
		out, ok = v.passBlocks(out, x, at, from, to)
	}
	if !ok || len(out)-start > math.MaxInt32 {
		return dst, false
	}
	binary.LittleEndian.PutUint32(out[start+12:], uint32(len(out)-start))
	return out, true
}

// Lead returns what a client gets for a Zarr chunk as bytes of its own and bytes of the
// stored chunk, which come behind them. That is so if Blosc1 can say the whole chunk with
// its streams as they are and where they are; else ok is false, and Encode has the answer.
// stored is the stored chunk c.Number; rest is a part of it.
func (v *View) Lead(c Chunk, stored []byte) (lead, rest []byte, ok bool) {
	if v.codec != Pass || v.cast != nil || !v.inRow || !slices.Equal(v.inCell, v.blocks) {
		return nil, nil, false
	}
	x, err := blosc.ParseIndex(stored)
	if err != nil {
		return nil, nil, false
	}
	h := x.Header()
	flags, ok := flags1(&h)
	if !ok || h.NBytes != v.chunkBytes || h.BlockBytes() != v.blockBytes || len(stored) < h.CBytes || h.CBytes > h.NBytes+blosc.HeaderLen2 {
		return nil, nil, false
	}
	starts, from := x.Starts(), h.IndexLen()
	lead = make([]byte, blosc.HeaderLen1+4*len(starts))
	rest = stored[from:h.CBytes]
	lead[0], lead[1], lead[2], lead[3] = version1, streamVersion1, flags, byte(h.TypeSize)
	binary.LittleEndian.PutUint32(lead[4:], uint32(h.NBytes))
	binary.LittleEndian.PutUint32(lead[8:], uint32(h.BlockBytes()))
	binary.LittleEndian.PutUint32(lead[12:], uint32(len(lead)+len(rest)))
	if h.Memcpyed {
		return lead, rest, len(rest) == h.NBytes
	}
	for i, s := range starts {
		off, n := x.Block(i)
		if !plainStreams(&h, stored[off:off+n]) {
			return nil, nil, false
		}
		binary.LittleEndian.PutUint32(lead[blosc.HeaderLen1+4*i:], uint32(int(s)-from+len(lead)))
	}
	return lead, rest, true
}

// plainStreams reports whether the streams of a block are whole, and none is a run.
func plainStreams(h *blosc.Header, src []byte) bool {
	n := streams(h)
	size := h.BlockBytes() / n
	for range n {
		if len(src) < 4 {
			return false
		}
		k := int(int32(binary.LittleEndian.Uint32(src)))
		if k <= 0 || k > size || k > len(src)-4 {
			return false
		}
		src = src[4+k:]
	}
	return true
}

// flags1 returns the flags of a Blosc1 chunk with the streams of a chunk of Blosc2, if
// there is such a chunk.
func flags1(h *blosc.Header) (byte, bool) {
	if !h.Extended || h.VL || h.Dict || h.Special != blosc.None {
		return 0, false
	}
	if h.Memcpyed { // filters and codec do not apply
		return flagMemcpyed | codes1[blosc.LZ4]<<5, true
	}
	code, ok := codes1[h.Codec]
	if !ok {
		return 0, false
	}
	flags := code << 5
	bs, n := h.BlockBytes(), streams(h)
	switch {
	case n > maxSplit1 || n > 1 && bs/n < minStream1:
		return 0, false
	case bs < 8+4*n: // the numbers of a block would take more than its items
		return 0, false
	case n == 1:
		flags |= flagUnsplit
	}
	for _, f := range h.Filters {
		var flag byte
		switch f.ID {
		case blosc.NoFilter, blosc.TruncPrec, blosc.IntTrunc: // nothing to undo
			continue
		case blosc.Shuffle:
			flag = flagShuffle
		case blosc.BitShuffle: // Blosc1 leaves blocks of other numbers of items as they are
			if flag = flagBitShuffle; bs%(8*h.TypeSize) != 0 {
				return 0, false
			}
		default:
			return 0, false
		}
		if flags&(flagShuffle|flagBitShuffle) != 0 || f.Meta != 0 && int(f.Meta) != h.TypeSize {
			return 0, false
		}
		flags |= flag
	}
	return flags, true
}

// streams is the number of streams of each block; all blocks are full.
func streams(h *blosc.Header) int {
	if h.Split {
		return h.TypeSize
	}
	return 1
}

// passBlocks appends block starts and streams behind a header. A stream longer than what it
// stands for makes it give up, so the result is bounded by the decoded length even if many
// blocks start at the same byte.
func (v *View) passBlocks(out []byte, x *blosc.Index, at At, from, to int) ([]byte, bool) {
	h := x.Header()
	n := streams(&h)
	size := h.BlockBytes() / n
	start, room := len(out)-blosc.HeaderLen1, 0
	for i := from; i < to; i++ {
		_, k := x.Block(i)
		room += min(k, n*(4+size)) + 4
	}
	out = slices.Grow(out, room)
	out = append(out, make([]byte, 4*(to-from))...)
	for i := from; i < to; i++ {
		if len(out)-start > math.MaxInt32 {
			return nil, false
		}
		binary.LittleEndian.PutUint32(out[start+blosc.HeaderLen1+4*(i-from):], uint32(len(out)-start))
		off, k := x.Block(i)
		src := at(off, k)
		for range n {
			if len(src) < 4 {
				return nil, false
			}
			k := int(int32(binary.LittleEndian.Uint32(src)))
			switch {
			case k > size || k > len(src)-4:
				return nil, false
			case k > 0:
				out, src = append(out, src[:4+k]...), src[4+k:]
			default:
				run, used, ok := v.run(h.Codec, size, src[4:], k)
				if !ok {
					return nil, false
				}
				out, src = append(out, run...), src[4+used:]
			}
		}
	}
	return out, true
}

// run returns a stream, with its length before it, in place of a run: a stream of length
// k <= 0. used is the number of bytes of the run that follow k in src.
func (v *View) run(codec blosc.Codec, size int, src []byte, k int) (run []byte, used int, ok bool) {
	switch {
	case codec == blosc.BloscLZ: // its streams cannot be as short
		return nil, 0, false
	case k == 0:
	case k < -255 || len(src) < 1 || src[0]&1 == 0: // the decoder says what is wrong
		return nil, 0, false
	default:
		used = 1
	}
	run, err := v.runs.stream(runKey{codec, size, byte(-k)})
	return run, used, err == nil
}

// A runKey says what a stream decodes to: size times a byte.
type runKey struct {
	codec blosc.Codec
	size  int
	value byte
}

// runs keeps streams that stand for runs. An array has few sizes of streams.
type runs struct {
	mu    sync.Mutex
	known map[runKey][]byte
	bytes int64
}

// maxRuns bounds the bytes of streams that are kept; further ones are made each time.
const maxRuns = 256 << 10

func (r *runs) held() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes
}

func (r *runs) stream(k runKey) ([]byte, error) {
	r.mu.Lock()
	p := r.known[k]
	r.mu.Unlock()
	if p != nil {
		return p, nil
	}
	p, err := newRun(k)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := int64(len(p)) + 64; r.known[k] == nil && r.bytes+n <= maxRuns {
		if r.known == nil {
			r.known = map[runKey][]byte{}
		}
		r.known[k] = p
		r.bytes += n
	}
	return p, nil
}

// newRun cuts the stream out of a chunk of one block.
func newRun(k runKey) ([]byte, error) {
	data := bytes.Repeat([]byte{k.value}, k.size)
	chunk, err := blosc.AppendEncoded(nil, data, blosc.EncodeOptions{
		Codec: k.codec, Level: 1, Filters: []blosc.Filter{}, BlockSize: k.size, Split: blosc.SplitNever, Blosc1: true,
	})
	if err != nil {
		return nil, err
	}
	x, err := blosc.ParseIndex(chunk)
	if err != nil {
		return nil, err
	}
	if h := x.Header(); h.Memcpyed {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(k.size)), data...), nil
	}
	off, n := x.Block(0)
	return bytes.Clone(chunk[off : off+n]), nil
}
