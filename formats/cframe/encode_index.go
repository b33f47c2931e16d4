package cframe

import (
	"encoding/binary"
	"fmt"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
)

// An IndexChoice says whether a writer puts an index into the frame; see package
// frameindex.
type IndexChoice uint8

const (
	// NoIndex makes none.
	NoIndex IndexChoice = iota
	// CheapIndex makes one if it takes at most 2 % of the chunks, or a part of one that
	// does: of many chunks that are short their places alone.
	CheapIndex
	// WithIndex makes one, whatever it takes.
	WithIndex
)

const (
	// indexRoom is the number of bytes for offsets and trailer, with the index, that
	// Open reads with the end of the frame. The pages of a longer index lie behind the
	// last chunk.
	indexRoom = 48 << 10
	// wholeChunkLen is the length of chunks that every policy reads whole, so that nobody
	// asks for their heads.
	wholeChunkLen = 4 << 10
	// longOffsets is the length of encoded offsets up to which every reader has them with
	// the end of the frame, of which it reads 16 KiB.
	longOffsets = 12 << 10
	cheapShare  = 50  // a cheap index takes at most 1/cheapShare of the chunks
	indexBooks  = 400 // about the bytes of an index without its pages
	// mostEditable is the number of vlmetalayers up to which c-blosc2 edits a frame.
	mostEditable = 16
	binLen       = 5 // msgpack: the marker of bytes, and their length
)

// An indexPlan is what the index of a frame is made of.
type indexPlan struct {
	heads   *frameindex.Builder // with the heads of all chunks
	choice  IndexChoice
	offsets []byte      // the encoded offsets chunk
	vl      []Metalayer // without the index
	place   func(i int) frameindex.Place
	most    int64 // bytes of all pages
}

// fit decides what of the index is made: nothing, if it returns false. cbytes is the length of
// the section of chunks. Places of chunks are made where the offsets chunk may not come with
// the end of the frame.
func (p *indexPlan) fit(cbytes int64) bool {
	b := p.heads
	if len(p.vl) >= mostEditable {
		return false
	}
	most := p.most
	if p.choice == CheapIndex {
		most = min(most, cbytes/cheapShare-indexBooks)
	}
	cheap := func(n int64) bool { return n <= most }
	heads := b.Len()
	useless := p.choice == CheapIndex && cbytes/int64(max(b.Chunks(), 1)) <= wholeChunkLen
	if len(p.offsets) <= longOffsets {
		harmful := useless && int64(len(p.offsets))+trailerLen(p.vl)+heads+indexBooks > longOffsets
		return !b.Empty() && !harmful && b.Trim(most)
	}
	b.SetPlaces(p.place)
	switch {
	case b.Empty() || useless || !cheap(b.Len()) && !cheap(heads):
		b.DropHeads()
	case !cheap(b.Len()):
		b.DropPlaces()
	}
	return b.Trim(most)
}

// tail returns offsets and trailer of a frame, with the index in the last layer of the trailer.
// If the index is long, it first writes pages of it behind the last chunk by spill, which
// returns their offset and counts them in in.CBytes.
func (p *indexPlan) tail(in *Info, spill func(pieces ...[]byte) (int64, error)) ([]byte, error) {
	if err := p.heads.Spill(indexRoom-int64(len(p.offsets))-trailerLen(p.vl), spill); err != nil {
		return nil, err
	}
	s := frameindex.State{Header: sumOf(in), Offsets: offsetsSum(p.offsets)}
	ix, err := p.heads.Finish(s, index.Binding{})
	if err != nil {
		return nil, fmt.Errorf("%s: index: %w", Format, err)
	}
	b := binary.BigEndian.AppendUint32([]byte{0xc6}, uint32(ix.Len+index.TrailerLen)) // msgpack, as python-blosc2 demands of all
	for _, q := range ix.Pieces {
		b = append(b, q...)
	}
	t := index.Trailer{Len: ix.Len, Plain: in.HeaderLen + in.CBytes, SHA256: ix.SHA256}
	encoded := int64(blosc.HeaderLen2 + len(b) + index.TrailerLen)
	layers := append(p.vl[:len(p.vl):len(p.vl)], Metalayer{Name: IndexLayer, Data: make([]byte, encoded)})
	end := t.Plain + int64(len(p.offsets)) + trailerLen(layers) - endLen
	t.Off = end - index.TrailerLen - ix.Len
	b = t.Append(b)
	layer := &layers[len(layers)-1]
	layer.Data, err = blosc.AppendEncoded(nil, b, blosc.EncodeOptions{Level: blosc.LevelStore})
	if err != nil || int64(len(layer.Data)) != encoded {
		return nil, fmt.Errorf("%s: index of %d bytes in %d: %w", Format, len(b), len(layer.Data), err)
	}
	if err := checkTrailer(layers); err != nil {
		return nil, err
	}
	in.HasVL = true
	tail := appendTrailer(p.offsets, layers)
	fp := tail[len(tail)-endLen+atFingerprint:]
	fp[1] = fingerprint128
	copy(fp[2:], fingerprint(b[len(b)-index.TrailerLen:], s.Header))
	return tail, nil
}

// tail returns the encoded offsets, and the trailer with the index, if the frame gets one.
func (w *Writer) tail() ([]byte, error) {
	offsets, err := w.offsets()
	if err != nil || w.heads == nil {
		return appendTrailer(offsets, w.vl), err
	}
	p := indexPlan{heads: w.heads, choice: w.o.Index, offsets: offsets, vl: w.vl, most: w.o.Limits.MaxMeta,
		place: func(i int) frameindex.Place { return placeOf(w.offs[i], int64(w.lens[i])) }}
	if !p.fit(w.in.CBytes) {
		return appendTrailer(offsets, w.vl), nil
	}
	return p.tail(&w.in, w.spill)
}

// placeOf returns the place of a chunk of n bytes.
func placeOf(off, n int64) frameindex.Place {
	if kind := specialOf(off); kind != blosc.None {
		return frameindex.Place{Special: kind}
	}
	return frameindex.Place{Off: off, Size: n}
}

// spill writes pages of the index behind the last chunk, and returns their offset.
func (w *Writer) spill(pieces ...[]byte) (int64, error) {
	off := w.in.HeaderLen + w.in.CBytes
	for _, p := range pieces {
		if _, err := w.w.Write(p); err != nil {
			return 0, fmt.Errorf("%s: index: %w", Format, err)
		}
		w.in.CBytes += int64(len(p))
	}
	return off, nil
}

// noteLen notes the length of chunk i, which was written.
func (w *Writer) noteLen(i, n int) {
	if w.heads == nil {
		return
	}
	for len(w.lens) <= i {
		w.lens = append(w.lens, 0)
	}
	w.lens[i] = int32(n)
}

// AddStats adds the statistics of the next chunk to the index, if WriteOptions.Stats is
// set: of all of its columns, of the first block, then of the second one, and so on.
// Without those of all chunks the index gets none. It keeps nothing of list.
func (w *Writer) AddStats(list []stats.Stat) {
	if w.heads != nil {
		w.heads.AddStats(list)
	}
}

// noteHead adds the head of a chunk that was written to the index; chunk is nil if the
// frame has no bytes of it.
func (w *Writer) noteHead(chunk []byte) {
	if w.heads != nil {
		w.heads.Add(frameindex.HeadOf(chunk))
	}
}
