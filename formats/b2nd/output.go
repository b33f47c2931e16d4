package b2nd

import (
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/stats"
)

// An output writes the frame of an array. It encodes several chunks at a time,
// and writes them in order.
type output struct {
	fw     chunkWriter
	frame  *cframe.Writer // fw, if it is that of a whole frame
	g      *geometry
	o      WriteOptions
	encode blosc.EncodeOptions
	free   []*slot
	queue  []*slot // oldest first
	pushed int64   // chunks so far
	sum    *summer // nil: no statistics
	lossy  bool    // items are not decoded as they were
}

// A chunkWriter takes encoded chunks in their order: a cframe.Writer, or a
// cframe.RunWriter.
type chunkWriter interface {
	WriteEncoded(chunk []byte) error
	AddStats(list []stats.Stat)
	Abort()
}

// A slot is a chunk that is being encoded, with its buffers.
type slot struct {
	tile, raw, chunk []byte
	back             []byte // the chunk decoded again, if the pipeline is lossy
	stats            []stats.Stat
	err              error
	done             chan struct{}
}

// newOutput begins the frame. buffers is the number of buffers of a chunk's
// size that each slot needs, besides the one for the encoded chunk.
func newOutput(w formats.Output, m Meta, o WriteOptions, buffers int64) (*output, error) {
	out, wo, err := planOutput(m, o, buffers)
	if err != nil {
		return nil, err
	}
	if out.frame, err = cframe.NewWriter(w, wo); err != nil {
		return nil, err
	}
	out.fw = out.frame
	return out, nil
}

// planOutput returns an output without its chunkWriter, and the options of that.
func planOutput(m Meta, o WriteOptions, buffers int64) (*output, cframe.WriteOptions, error) {
	var none cframe.WriteOptions
	o = o.withDefaults()
	m, item, err := m.withDefaults(o.ItemSize)
	if err != nil {
		return nil, none, err
	}
	g, err := m.geometry(item)
	if err != nil {
		return nil, none, fmt.Errorf("%w: %w", err, cframe.ErrRefused)
	}
	out := &output{g: g, o: o, encode: o.Encode}
	if n := g.chunkMemory(buffers); n > o.MaxMemory {
		return nil, none, fail("writer", formats.ErrTooLarge, "chunks of %d bytes take %d bytes of memory, %d allowed: choose smaller chunks", g.chunkBytes, n, o.MaxMemory)
	}
	if most := min(o.Limits.MaxEntries, o.Limits.MaxMeta/8); g.chunks.Total > most { // cframe would say so when it has written as many
		return nil, none, fail("writer", formats.ErrTooLarge, "%d chunks of %d bytes, %d chunks allowed: choose larger chunks", g.chunks.Total, g.chunkBytes, most)
	}
	layer, err := AppendMeta(nil, m)
	if err != nil {
		return nil, none, err
	}
	out.encode.TypeSize, out.encode.BlockSize, out.encode.BlockShape, out.encode.Parallel = 0, g.blockBytes, m.BlockShape, 1
	wo := cframe.WriteOptions{
		TypeSize: item, ChunkSize: g.chunkBytes, BlockSize: g.blockBytes, Encode: out.encode, Index: o.Index, Limits: o.Limits,
		Metalayers: append([]cframe.Metalayer{{Name: layerName, Data: layer}}, o.Metalayers...),
	}
	out.summarize(&wo, layer, m)
	if g.chunkBytes == 0 {
		wo.ChunkSize = cframe.VaryingSizes // as c-blosc2 does for chunks of no bytes
	}
	out.encode.TypeSize = item
	return out, wo, nil
}

// summarize lets the chunks be summed up for the index, if there is one and the items have
// numbers.
func (out *output) summarize(wo *cframe.WriteOptions, layer []byte, m Meta) {
	d, err := m.itemType(out.g.item)
	if err != nil || out.o.Index == cframe.NoIndex || out.o.NoStats {
		return
	}
	of, err := out.g.statsOf(layer, d, out.g.fillOf(slices.Concat(out.o.VLMetalayers, out.o.Metalayers), d, out.o.Limits.WithDefaults()))
	if err != nil || len(of.Columns) == 0 || out.g.chunkBytes == 0 {
		return
	}
	wo.Stats, out.sum, out.lossy = &of, out.g.summer(&of), lossy(out.encode.Filters)
}

// sums sets the statistics of chunk n, whose bytes are src.
func (out *output) sums(s *slot, n int64, src []byte) (err error) {
	if out.sum == nil {
		return nil
	}
	if out.lossy {
		if s.back, err = (blosc.DecodeOptions{}).AppendDecoded(s.back[:0], s.chunk); err != nil {
			return err
		}
		src = s.back
	}
	s.stats = out.sum.sum(s.stats, n, src)
	return nil
}

// slots makes up to n slots: so many chunks are encoded at the same time.
func (out *output) slots(n int64) {
	for range max(min(n, int64(out.o.Parallel), out.g.chunks.Total), 1) {
		out.free = append(out.free, &slot{})
	}
}

// push encodes the next chunk, in a goroutine of its own unless Parallel is 1.
// fill returns the bytes of the chunk, block after block. push calls after at
// the end, even after an error.
func (out *output) push(fill func(s *slot) ([]byte, error), after func()) error {
	if len(out.free) == 0 {
		if err := out.pop(); err != nil {
			return err
		}
	}
	s := out.free[len(out.free)-1]
	out.free = out.free[:len(out.free)-1]
	s.done = make(chan struct{})
	n := out.pushed
	out.pushed++
	run := func() {
		defer close(s.done)
		defer after()
		src, err := fill(s)
		if err == nil {
			if s.chunk == nil {
				s.chunk = make([]byte, 0, out.g.encodedRoom())
			}
			s.chunk, err = blosc.AppendEncoded(s.chunk[:0], src, out.encode)
		}
		if err == nil {
			err = out.sums(s, n, src)
		}
		s.err = err
	}
	out.queue = append(out.queue, s)
	if out.o.Parallel == 1 {
		run()
		return nil
	}
	go run()
	return nil
}

// encodedRoom returns the capacity that lets AppendEncoded encode a chunk in
// place: each stream of a chunk takes four bytes more than its data, and a block
// has at most one stream for each byte of an item. If blocks are tiny this is
// too much; then the encoder uses memory of its own from a pool.
func (g *geometry) encodedRoom() int64 {
	n := int64(g.chunkBytes)
	room := n + blosc.HeaderLen2 + 8 + g.blocks.Total*4*int64(1+min(g.item, blosc.MaxTypeSize))
	if room > n+n/8+4096 {
		return n + blosc.HeaderLen2
	}
	return room
}

// chunkMemory returns the memory of a slot: buffers of a chunk's size, and one
// for the encoded chunk.
func (g *geometry) chunkMemory(buffers int64) int64 {
	return buffers*int64(g.chunkBytes) + g.encodedRoom()
}

// pop waits for the oldest chunk and writes it.
func (out *output) pop() error {
	s := out.queue[0]
	out.queue = out.queue[1:]
	<-s.done
	err := s.err
	if err == nil {
		err = out.fw.WriteEncoded(s.chunk)
	}
	if err == nil && out.sum != nil {
		out.fw.AddStats(s.stats)
	}
	out.free = append(out.free, s)
	return err
}

// abort waits for chunks that are being encoded, and drops them.
func (out *output) abort() {
	for _, s := range out.queue {
		<-s.done
	}
	out.queue = nil
	out.fw.Abort()
}

// drain writes the remaining chunks.
func (out *output) drain() error {
	for len(out.queue) > 0 {
		if err := out.pop(); err != nil {
			return err
		}
	}
	return nil
}

// close writes the remaining chunks, the trailer and the header.
func (out *output) close() error {
	if err := out.drain(); err != nil {
		return err
	}
	for _, m := range out.o.VLMetalayers {
		if err := out.frame.SetVLMetalayer(m.Name, m.Data); err != nil {
			return err
		}
	}
	return out.frame.Close()
}

// chunkOf returns the bytes of a chunk, block after block. src is an array of
// the given shape; the chunk has n[i] items along axis i, from index at on. The
// result is a part of src if the bytes are in the same order there, else
// s.tile.
func (g *geometry) chunkOf(s *slot, src []byte, shape, at, n []int64) []byte {
	if g.rowMajor && slices.Equal(n, g.ext) && dense(n, shape) {
		off := int64(0)
		for i, k := range nd.Strides(shape, g.item) {
			off += k * at[i]
		}
		return src[off:][:g.chunkBytes]
	}
	if s.tile == nil {
		s.tile = make([]byte, g.chunkBytes)
	}
	g.tile(s.tile, src, shape, at, n)
	return s.tile
}
