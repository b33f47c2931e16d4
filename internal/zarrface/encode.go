package zarrface

import (
	"bytes"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/nd"
)

// At returns n bytes of a stored chunk from off on. Fewer bytes mean that the chunk has no
// more. The bytes stay as they are until the call that got the At returns.
type At func(off, n int) []byte

// A Span is a run of bytes of a stored chunk.
type Span struct{ Off, Len int }

// Encode appends what a client gets for a Zarr chunk. stored is the stored chunk c.Number;
// more bytes may follow it. It is not kept, and must not overlap the spare capacity of dst.
// If Encode fails, it returns dst. It checks the streams only of chunks that it decodes:
// those that are passed through are checked by who decodes them. Besides the result it
// holds the decoded items, twice with a cast, and one block; nothing if the chunk is passed
// through. It holds the whole decoded chunk if that has other blocks than the array says.
func (v *View) Encode(dst []byte, c Chunk, stored []byte) ([]byte, error) {
	x, err := blosc.ParseIndex(stored)
	if err != nil {
		return dst, err
	}
	h := x.Header()
	if len(stored) < h.CBytes {
		return dst, corrupt("%d bytes of %d", len(stored), h.CBytes)
	}
	return v.EncodeParts(dst, c, x, func(off, n int) []byte { return stored[off : off+n] })
}

// Spans returns the parts of a stored chunk that EncodeParts asks for, in ascending order
// and joined where they touch. x is the index of the chunk.
func (v *View) Spans(c Chunk, x *blosc.Index) []Span {
	h := x.Header()
	if !v.sameBlocks(&h) {
		return []Span{{0, h.CBytes}}
	}
	var out []Span
	add := func(off, n int) {
		if n > 0 {
			out = append(out, Span{off, n})
		}
	}
	add(x.Dict())
	if x.NeedsFirst() {
		add(x.Block(0))
	}
	for p := range v.places(c) {
		add(x.Block(p.block))
	}
	return join(out)
}

// join sorts spans and joins those that touch or overlap.
func join(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.Off - b.Off })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && s.Off <= out[n-1].Off+out[n-1].Len {
			out[n-1].Len = max(out[n-1].Len, s.Off+s.Len-out[n-1].Off)
			continue
		}
		out = append(out, s)
	}
	return out
}

// EncodeParts is Encode for a chunk of which only some parts are at hand: at is asked for
// parts of the Spans. If a chunk has other blocks than the array says, that is the whole chunk.
func (v *View) EncodeParts(dst []byte, c Chunk, x *blosc.Index, at At) ([]byte, error) {
	if v.codec == Pass && v.cast == nil && v.inRow && v.adjacent {
		from := v.firstBlock(c)
		if out, ok := v.pass(dst, x, at, from, from+int(prod(v.inCell))); ok {
			return out, nil
		}
	}
	raw, err := v.decode(c, x, at)
	if err != nil {
		return dst, err
	}
	return v.encode(dst, raw)
}

func (g *geometry) firstBlock(c Chunk) int {
	n := int64(0)
	for i, o := range c.origin {
		n = n*g.blocks[i] + o/g.block[i]
	}
	return int(n)
}

// EncodeItems is Encode for items that are decoded: those of c.Box in row-major order, as
// b2nd.Array.ReadSlice reads them.
func (v *View) EncodeItems(dst []byte, c Chunk, items []byte) ([]byte, error) {
	n := c.Box.Counts()
	if want := prod(n) * int64(v.item); int64(len(items)) != want {
		return dst, corrupt("%d bytes of items, want %d", len(items), want)
	}
	if !slices.Equal(n, v.cell) {
		raw, zero := make([]byte, prod(v.cell)*int64(v.item)), make([]int64, len(n))
		nd.CopyBox(raw, v.cell, zero, items, n, zero, n, v.item)
		items = raw
	}
	return v.encode(dst, items)
}

// sameBlocks reports whether a stored chunk has the blocks that the array says.
func (g *geometry) sameBlocks(h *blosc.Header) bool { return h.BlockBytes() == g.blockBytes && !h.VL }

// decode returns the items of a Zarr chunk, padded to its full shape with zeros.
func (v *View) decode(c Chunk, x *blosc.Index, at At) ([]byte, error) {
	h := x.Header()
	if h.NBytes != v.chunkBytes {
		return nil, corrupt("%d decoded bytes, the array has chunks of %d", h.NBytes, v.chunkBytes)
	}
	d, err := v.decoder(x, at)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, prod(v.cell)*int64(v.item))
	shape, zero, size := c.Box.Counts(), make([]int64, len(v.cell)), make([]int64, len(v.cell))
	for p := range v.places(c) {
		full := true
		for i := range size {
			size[i] = min(v.block[i], shape[i]-p.at[i])
			full = full && size[i] == v.block[i]
		}
		switch {
		case slices.ContainsFunc(size, func(n int64) bool { return n <= 0 }): // only padding
		case full && v.inRow:
			_, err = d.block(raw[p.k*v.blockBytes:][:v.blockBytes], p.block)
		default:
			var items []byte
			if items, err = d.block(nil, p.block); err == nil {
				nd.CopyBox(raw, v.cell, p.at, items, v.block, zero, size, v.item)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// A decoder decodes blocks of one stored chunk.
type decoder struct {
	x           *blosc.Index
	at          At
	o           blosc.DecodeOptions
	size        int    // of a decoded block
	all         []byte // the decoded chunk, if it has other blocks than the array says
	first, dict []byte
	buf         []byte
}

func (v *View) decoder(x *blosc.Index, at At) (*decoder, error) {
	h := x.Header()
	d := &decoder{x: x, at: at, size: v.blockBytes}
	d.o = blosc.DecodeOptions{TypeSize: v.frame.Info().TypeSize, MaxDecoded: int64(v.chunkBytes)}
	for _, n := range v.block {
		d.o.BlockShape = append(d.o.BlockShape, int(n))
	}
	var err error
	if !v.sameBlocks(&h) {
		d.all, err = d.o.AppendDecoded(nil, at(0, h.CBytes))
		return d, err
	}
	if off, n := x.Dict(); n > 0 {
		d.dict = at(off, n)
	}
	if x.NeedsFirst() {
		d.first, err = d.block(make([]byte, d.size), 0)
	}
	return d, err
}

// block decodes block i into dst, or, if that is nil, into a buffer that the next call
// overwrites.
func (d *decoder) block(dst []byte, i int) ([]byte, error) {
	if d.all != nil {
		p := d.all[i*d.size:][:d.size]
		copy(dst, p)
		return p, nil
	}
	if dst == nil {
		if d.buf == nil {
			d.buf = make([]byte, d.size)
		}
		dst = d.buf
	}
	var src []byte
	if off, n := d.x.Block(i); n > 0 {
		src = d.at(off, n)
	}
	return dst, d.o.DecodeBlock(dst, d.x, i, src, d.first, d.dict)
}

// encode appends the items of a whole Zarr chunk, as the document says.
func (v *View) encode(dst, raw []byte) ([]byte, error) {
	item := v.item
	if v.cast != nil {
		item = v.dtype.ItemSize()
		out := make([]byte, len(raw)/v.item*item)
		v.cast.convert(out, raw)
		raw = out
	}
	switch v.codec {
	case Zstd:
		return appendZstd(dst, raw)
	case Gzip:
		return appendGzip(dst, raw)
	case Raw:
		return append(dst, raw...), nil
	default:
		return blosc.AppendEncoded(dst, raw, blosc.EncodeOptions{Codec: blosc.LZ4, Level: 5, TypeSize: item, Blosc1: true})
	}
}

// Idle encoders: their tables take long to make.
var zstds, gzips sync.Pool

func appendZstd(dst, raw []byte) ([]byte, error) {
	e, ok := zstds.Get().(*zstd.Encoder)
	if !ok {
		var err error
		if e, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1)); err != nil {
			return dst, err
		}
	}
	defer zstds.Put(e)
	return e.EncodeAll(raw, dst), nil
}

func appendGzip(dst, raw []byte) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	w, ok := gzips.Get().(*gzip.Writer)
	if ok {
		w.Reset(b)
	} else {
		var err error
		if w, err = gzip.NewWriterLevel(b, gzip.BestSpeed); err != nil {
			return dst, err
		}
	}
	_, err := w.Write(raw)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return dst, err
	}
	w.Reset(nil) // keeps no memory of the caller
	gzips.Put(w)
	return b.Bytes(), nil
}
