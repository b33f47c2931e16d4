package b2nd

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/stats"
)

// SupposeOptions say what is known of an array that does not exist.
type SupposeOptions struct {
	// CBytes is how many bytes all chunks take, as known of the same items in other chunks. 0: all
	// items are zero.
	CBytes int64
	// Encode is what chunks would be encoded with, for their headers.
	Encode blosc.EncodeOptions
	// Index says whether the frame gets an index.
	Index cframe.IndexChoice
	// MaxBlocks is how many blocks the array may have at most; 0 means 4 Mi. More are
	// formats.ErrTooLarge.
	MaxBlocks int64
}

const (
	defaultBlocks = 4 << 20
	leastSupposed = 5 // bytes of an encoded block: a stream of one value
)

// A Supposed has the bytes of an array that does not exist, but for its items: header,
// heads of chunks, index, offsets and trailer are as a writer would make them, if each
// chunk and block took its share of the bytes by its items. So plans of reads of it, as
// Array.ExplainSlice makes, are those of such an array, if its chunks are compressed as
// well. Chunks and blocks differ by up to a tenth in length, as usual ones do. Items cannot
// be read: their bytes are zeros.
//
// A Supposed is immutable and safe for concurrent use. It takes 8 bytes a chunk, and as many as
// header, index and offsets.
type Supposed struct {
	g     *geometry
	o     SupposeOptions
	head  [blosc.HeaderLen2]byte // header of a chunk, without its encoded length
	plain [blosc.HeaderLen2]byte // header of a chunk that is stored as it is
	full  []int64                // items of the array in each block of a chunk that lies in it as a whole

	offs   []int64 // offset of each chunk, and the end of all; none if all are zeros
	pieces []piece // what is written besides chunks, ascending
	size   int64
}

// A piece is bytes of a file at an offset.
type piece struct {
	off int64
	p   []byte
}

// Suppose makes up the array that a writer would make of m. The shapes of m may be nil, as for a
// Writer, whose errors it returns. It takes about 0.3 µs and 32 bytes for each block while it
// makes the index.
func Suppose(m Meta, o SupposeOptions) (*Supposed, error) {
	if o.MaxBlocks <= 0 {
		o.MaxBlocks = defaultBlocks
	}
	s := &Supposed{o: o}
	var w supposing
	out, err := newOutput(&w, m, WriteOptions{Encode: o.Encode, Index: o.Index, MaxMemory: math.MaxInt64, Parallel: 1}, 0)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	s.g = out.g
	if n := s.g.chunks.Total; n > 0 && s.g.blocks.Total > o.MaxBlocks/n {
		return nil, fail("suppose", formats.ErrTooLarge, "%d chunks of %d blocks, at most %d blocks in all", n, s.g.blocks.Total, o.MaxBlocks)
	}
	s.full = s.count(s.g.chunk)
	if err := s.write(out, &w); err != nil {
		return nil, err
	}
	s.pieces, s.size = w.pieces, w.size
	return s, nil
}

// write writes all chunks, and ends the frame.
func (s *Supposed) write(out *output, w *supposing) error {
	g := s.g
	if s.o.CBytes > 0 && g.chunks.Total > 0 {
		if err := s.header(out); err != nil {
			return err
		}
	}
	var chunk []byte
	for n := range g.chunks.Total {
		if s.o.CBytes <= 0 {
			if err := out.frame.WriteSpecial(blosc.Zeros, g.chunkBytes); err != nil {
				return err
			}
		} else {
			head, size := s.headOf(n)
			if len(chunk) < size {
				chunk = make([]byte, size+size/4)
			}
			copy(chunk, head)
			s.offs = append(s.offs, w.size)
			w.drop = true
			if err := out.fw.WriteEncoded(chunk[:size]); err != nil {
				return err
			}
			w.drop = false
		}
		if out.sum != nil {
			out.fw.AddStats(s.stats(n, out.sum.cols))
		}
	}
	s.offs = append(s.offs, w.size)
	return out.frame.Close()
}

// header sets the headers of chunks: those of chunks that a writer encodes, and stores.
func (s *Supposed) header(out *output) error {
	p := make([]byte, s.g.chunkBytes)
	p[0] = 1 // else it is a chunk of zeros
	e := out.encode
	chunk, err := blosc.AppendEncoded(nil, p, e)
	if err != nil {
		return err
	}
	copy(s.head[:], chunk)
	e.Level = blosc.LevelStore
	if chunk, err = blosc.AppendEncoded(chunk[:0], p, e); err != nil {
		return err
	}
	copy(s.plain[:], chunk)
	return nil
}

// headOf returns the header and the block starts of chunk n, and the length of the chunk.
func (s *Supposed) headOf(n int64) (head []byte, size int) {
	g := s.g
	plain := blosc.HeaderLen2 + g.chunkBytes
	h, err := blosc.ParseHeader(s.head[:])
	if err != nil || h.Memcpyed || s.o.CBytes/int64(g.item) >= g.items { // as chunks of few bytes always are
		return slices.Clone(s.plain[:]), plain
	}
	head = slices.Clone(s.head[:])
	items := s.items(n)
	blocks := int(g.blocks.Total)
	at := blosc.HeaderLen2 + 4*blocks
	head = append(head, make([]byte, 4*blocks)...)
	for k := range blocks {
		binary.LittleEndian.PutUint32(head[blosc.HeaderLen2+4*k:], uint32(at))
		at += s.blockLen(n, int64(k), items[k])
	}
	if at >= plain {
		return slices.Clone(s.plain[:]), plain
	}
	binary.LittleEndian.PutUint32(head[12:], uint32(at)) // the encoded length
	return head, at
}

// items returns how many items of each block of chunk n are in the array.
func (s *Supposed) items(n int64) []int64 {
	size := s.g.size(n)
	if slices.Equal(size, s.g.chunk) {
		return s.full
	}
	return s.count(size)
}

// count returns how many items of each block are in the array, for a chunk of which size is.
func (s *Supposed) count(size []int64) []int64 {
	list := make([]int64, s.g.blocks.Total)
	s.g.eachBlock(size, func(k int64, _, valid []int64) {
		list[k] = 1
		for _, v := range valid {
			list[k] *= v
		}
	})
	return list
}

// blockLen is the encoded length of block k of chunk n, of which some items are in the array.
func (s *Supposed) blockLen(n, k, items int64) int {
	mean := float64(items) * float64(s.o.CBytes) / float64(s.g.items)
	// Between nine and eleven tenths of the mean.
	size := mean * (0.9 + float64(0.2*float64(mix(uint64(n)<<32|uint64(k))>>40)/(1<<24)))
	return int(min(max(size, leastSupposed), float64(s.g.blockBytes+leastSupposed)))
}

// mix spreads numbers over all numbers, as the end of splitmix64 does.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// stats makes up the statistics of chunk n, which take as many bytes as usual ones.
func (s *Supposed) stats(n int64, cols []stats.Column) []stats.Stat {
	list := make([]stats.Stat, s.g.blocks.Total*int64(len(cols)))
	items := s.items(n)
	for i := range list {
		count := items[i/len(cols)]
		if count == 0 {
			continue
		}
		x := mix(uint64(n)<<32 | uint64(i))
		shift := 64 - 8*min(cols[i%len(cols)].Type().ItemSize(), 8)
		least, most := x>>(shift+2), uint64(math.MaxUint64)>>shift-mix(x)>>(shift+2)
		list[i] = stats.Stat{Items: count, Min: least, Max: most, Ranged: true}
	}
	return list
}

// Size is the length of the file.
func (s *Supposed) Size() int64 { return s.size }

// Read sets p to the bytes of the file from off on, as io.ReaderAt does for a p that ends within the
// file.
func (s *Supposed) Read(p []byte, off int64) {
	clear(p)
	end := off + int64(len(p))
	put := func(at int64, b []byte) {
		if at >= end || at+int64(len(b)) <= off {
			return
		}
		if at < off {
			b, at = b[off-at:], off
		}
		copy(p[at-off:], b)
	}
	for _, x := range s.pieces {
		put(x.off, x.p)
	}
	if len(s.offs) < 2 || off >= s.offs[len(s.offs)-1] {
		return
	}
	k, _ := slices.BinarySearch(s.offs, off+1)
	for k = max(k-1, 0); k < len(s.offs)-1 && s.offs[k] < end; k++ {
		head, _ := s.headOf(int64(k))
		put(s.offs[k], head)
	}
}

// A supposing is an Output that keeps all but the chunks.
type supposing struct {
	pieces []piece
	size   int64
	drop   bool
}

// Write implements io.Writer.
func (w *supposing) Write(p []byte) (int, error) {
	if !w.drop {
		w.pieces = append(w.pieces, piece{w.size, slices.Clone(p)})
	}
	w.size += int64(len(p))
	return len(p), nil
}

// Patch implements formats.Output.
func (w *supposing) Patch(off int64, p []byte) error {
	copy(w.pieces[0].p[off:], p) // a frame patches its header alone, which is written at once
	return nil
}
