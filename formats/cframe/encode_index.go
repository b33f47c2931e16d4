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
	// CheapIndex makes one if it takes at most 2 % of the chunks.
	CheapIndex
	// WithIndex makes one, whatever it takes.
	WithIndex
)

const (
	// indexRoom is the number of bytes for offsets and trailer, with the index, that
	// Open reads with the end of the frame. The pages of a longer index lie behind the
	// last chunk.
	indexRoom  = 48 << 10
	cheapShare = 50  // a cheap index takes at most 1/cheapShare of the chunks
	indexBooks = 400 // about the bytes of an index without its pages
	// mostEditable is the number of vlmetalayers up to which c-blosc2 edits a frame.
	mostEditable = 16
	binLen       = 5 // msgpack: the marker of bytes, and their length
)

// wantsIndex reports whether the frame gets the index that was collected.
func (w *Writer) wantsIndex() bool {
	b := w.heads
	if b == nil || b.Empty() || len(w.vl) >= mostEditable {
		return false
	}
	most := w.o.Limits.MaxMeta
	if w.o.Index == CheapIndex {
		most = min(most, w.in.CBytes/cheapShare-indexBooks)
	}
	return b.Trim(most)
}

// indexed appends to tail, the encoded offsets, the trailer with the index in its last
// layer. If the index is long, it first writes pages of it behind the last chunk.
func (w *Writer) indexed(tail []byte) ([]byte, error) {
	if err := w.heads.Spill(indexRoom-int64(len(tail))-trailerLen(w.vl), w.spill); err != nil {
		return nil, err
	}
	s := sumOf(&w.in, tail)
	ix, err := w.heads.Finish(s, index.Binding{})
	if err != nil {
		return nil, fmt.Errorf("%s: index: %w", Format, err)
	}
	p := binary.BigEndian.AppendUint32([]byte{0xc6}, uint32(ix.Len+index.TrailerLen)) // msgpack, as python-blosc2 demands of all
	for _, q := range ix.Pieces {
		p = append(p, q...)
	}
	t := index.Trailer{Len: ix.Len, Plain: w.in.HeaderLen + w.in.CBytes, SHA256: ix.SHA256}
	encoded := int64(blosc.HeaderLen2 + len(p) + index.TrailerLen)
	layers := append(w.vl[:len(w.vl):len(w.vl)], Metalayer{Name: IndexLayer, Data: make([]byte, encoded)})
	end := t.Plain + int64(len(tail)) + trailerLen(layers) - endLen
	t.Off = end - index.TrailerLen - ix.Len
	p = t.Append(p)
	layer := &layers[len(layers)-1]
	layer.Data, err = blosc.AppendEncoded(nil, p, blosc.EncodeOptions{Level: blosc.LevelStore})
	if err != nil || int64(len(layer.Data)) != encoded {
		return nil, fmt.Errorf("%s: index of %d bytes in %d: %w", Format, len(p), len(layer.Data), err)
	}
	if err := checkTrailer(layers); err != nil {
		return nil, err
	}
	w.in.HasVL = true
	tail = appendTrailer(tail, layers)
	fp := tail[len(tail)-endLen+atFingerprint:]
	fp[1] = fingerprint128
	copy(fp[2:], fingerprint(p[len(p)-index.TrailerLen:], s))
	return tail, nil
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
