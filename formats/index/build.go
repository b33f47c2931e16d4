package index

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"sort"
	"unsafe"

	"github.com/farread/farread/internal/codec"
)

// A Builder collects the sections of an index. The zero value is ready; it is
// not for concurrent use.
type Builder struct {
	held int64
	enc  codec.Encoder
	sum  hash.Hash // hash of the spilled bytes
	free [][]byte  // pieces that were, for further pages
	dead []seam    // spilled pages of dropped sections
}

// A SectionBuilder takes the pages of one section.
type SectionBuilder struct {
	b       *Builder
	name    Name
	pages   []Page
	data    [][]byte // data in pieces, so that growth copies little
	len     int64    // bytes of data
	spilled []seam
	before  int64 // bytes that were spilled
}

// A seam is a run of pages of a section that were spilled: their number, their
// offset in the object, and their bytes.
type seam struct {
	pages    int
	off, len int64
}

// lost returns the name of the section for bytes of dropped sections.
func lost() Name { return Name{Kind: -1} }

// Section begins a section, which lies in the index where Finish puts it.
func (b *Builder) Section(n Name) *SectionBuilder {
	return &SectionBuilder{b: b, name: n}
}

// Name returns the name of the section.
func (s *SectionBuilder) Name() Name { return s.name }

// Held returns the bytes of memory of the added pages, and of the list of spilled
// pages.
func (b *Builder) Held() int64 { return b.held }

const pageSize = int64(unsafe.Sizeof(Page{}))

// Add adds a page at the end of the section. first must be at least the first of
// the page before, and at most last. p is copied.
func (s *SectionBuilder) Add(first, last, count int64, p []byte) {
	s.b.held -= pageSize * int64(cap(s.pages))
	s.pages = append(s.pages, Page{First: first, Last: last, Count: count, len: int64(len(p))})
	s.b.held += pageSize * int64(cap(s.pages))
	need := len(p) + crcLen
	if n := len(s.data); n == 0 || cap(s.data[n-1])-len(s.data[n-1]) < need {
		p := s.b.piece(max(need, int(min(s.len, maxPiece))))
		s.data = append(s.data, p)
		s.b.held += int64(cap(p))
	}
	piece := &s.data[len(s.data)-1]
	*piece = binary.LittleEndian.AppendUint32(append(*piece, p...), sum(s.name, len(s.pages)-1, p))
	s.len += int64(need)
}

// piece returns memory for size bytes. It reuses the memory of spilled pages.
func (b *Builder) piece(size int) []byte {
	if n := len(b.free); size == maxPiece && n > 0 {
		p := b.free[n-1]
		b.free = b.free[:n-1]
		return p
	}
	return make([]byte, 0, size)
}

// maxPiece is the most that is set aside for further pages.
const maxPiece = 64 << 10

// Len returns the number of bytes of the pages with their checksums, spilled or not.
func (s *SectionBuilder) Len() int64 { return s.before + s.len }

// Waiting returns the number of bytes of the pages in memory, which would be spilled.
func (s *SectionBuilder) Waiting() int64 { return s.len }

// Entries returns about the most by which the list of the pages grows when it is full.
func (s *SectionBuilder) Entries() int64 { return pageSize * int64(len(s.pages)+64) }

// Drop forgets the pages. Bytes that were spilled stay in the object, and Finish
// lists them.
func (s *SectionBuilder) Drop() {
	s.release()
	s.b.held -= pageSize * int64(cap(s.pages))
	s.b.dead = append(s.b.dead, s.spilled...)
	s.pages, s.spilled, s.before = nil, nil, 0
}

// Lose lists n bytes of the object from off on, which an index before this one has spilled
// there, as those of dropped sections. read gives at most most of them at a time, in order; it
// is called before any Spill.
func (b *Builder) Lose(off, n int64, read func(off, n int64) ([]byte, error), most int64) error {
	if b.sum == nil {
		b.sum = sha256.New()
	}
	for at := off; at < off+n; {
		p, err := read(at, min(off+n-at, most))
		if err != nil {
			return err
		}
		b.sum.Write(p)
		at += int64(len(p))
	}
	b.dead = append(b.dead, seam{1, off, n})
	return nil
}

// release forgets the pages in memory.
func (s *SectionBuilder) release() {
	for _, p := range s.data {
		s.b.held -= int64(cap(p))
	}
	s.data, s.len = nil, 0
}

// Spill writes the pages in memory, one after another, to a place before the
// index. write writes the pieces to the object and returns the offset of the
// first; it must not keep them. After that the pages take only the memory of their
// entries in the directory. If no page is in memory, write is not called. If write
// fails, Spill returns its error, and the pages stay in memory.
func (s *SectionBuilder) Spill(write func(pieces ...[]byte) (off int64, err error)) error {
	if s.len == 0 {
		return nil
	}
	n := len(s.pages)
	for _, e := range s.spilled {
		n -= e.pages
	}
	off, err := write(s.data...)
	if err != nil {
		return err
	}
	if s.b.sum == nil {
		s.b.sum = sha256.New()
	}
	for _, p := range s.data {
		s.b.sum.Write(p)
	}
	for _, p := range s.data {
		if cap(p) == maxPiece {
			s.b.free = append(s.b.free, p[:0])
		}
	}
	s.spilled = append(s.spilled, seam{n, off, s.len})
	s.before += s.len
	s.release()
	return nil
}

// Built is a finished index.
type Built struct {
	Pieces [][]byte          // the bytes of the index, one piece behind another
	Len    int64             // bytes of all pieces
	SHA256 [sha256.Size]byte // hash of the spilled pages and then the pieces, for the trailer
}

// Finish makes an index of these sections, in this order. The section that readers
// need first should be the last, next to the directory. Sections that have spilled
// must be listed or dropped. The directory holds meta. Do not use Builder and
// sections after Finish: Built.Pieces may share their memory.
//
// If bind is not that of an index inside its file, and has no strong ETag, Finish returns
// formats.ErrUnsupported.
func (b *Builder) Finish(sections []*SectionBuilder, bind Binding, meta []byte) (Built, error) {
	if err := bind.Check(); err != nil {
		return Built{}, err
	}
	return b.finish(sections, bind, meta)
}

func (b *Builder) finish(sections []*SectionBuilder, bind Binding, meta []byte) (Built, error) {
	if len(b.dead) > 0 {
		sections = append([]*SectionBuilder{b.lost()}, sections...)
	}
	out := Built{Pieces: [][]byte{[]byte(magic)}}
	for _, s := range sections {
		out.Pieces = append(out.Pieces, s.data...)
	}
	dir := directory(sections, bind, meta)
	if len(dir) > math.MaxInt32 {
		return Built{}, fmt.Errorf("a directory of %d bytes", len(dir))
	}
	packed := make([]byte, len(dir), len(dir)+footerLen)
	n, err := b.enc.Encode(codec.Zlib, 6, packed[:max(len(dir)-1, 0)], dir, nil)
	if err != nil {
		return Built{}, err
	}
	if n == 0 {
		n = copy(packed, dir)
	}
	end := packed[:n]
	end = binary.LittleEndian.AppendUint32(end, uint32(n))
	end = binary.LittleEndian.AppendUint32(end, uint32(len(dir)))
	end = binary.LittleEndian.AppendUint32(end, crcOf(end))
	out.Pieces = append(out.Pieces, end)
	h := b.sum
	if h == nil {
		h = sha256.New()
	}
	for _, p := range out.Pieces {
		h.Write(p)
		out.Len += int64(len(p))
	}
	copy(out.SHA256[:], h.Sum(nil))
	return out, nil
}

// lost returns a section of the spilled pages of dropped sections. They are part
// of the hash, and a copy of the object without its index has to leave them out.
func (b *Builder) lost() *SectionBuilder {
	sort.Slice(b.dead, func(i, j int) bool { return b.dead[i].off < b.dead[j].off })
	s := b.Section(lost())
	for _, e := range b.dead {
		s.pages = append(s.pages, Page{len: e.len - crcLen})
		s.spilled = append(s.spilled, seam{1, e.off, e.len})
	}
	return s
}

// Beside returns the bytes of an index, with a trailer, for an object beside the
// file. Nothing of the index may have been spilled. plain is Trailer.Plain.
func Beside(ix Built, plain int64) []byte {
	out := make([]byte, 0, ix.Len+TrailerLen)
	for _, p := range ix.Pieces {
		out = append(out, p...)
	}
	t := Trailer{Len: ix.Len, Plain: plain, SHA256: ix.SHA256}
	return t.Append(out)
}

// directory lists the sections: the numbers of all pages of a section column by
// column, which is what compresses, and where those lie that were spilled.
func directory(sections []*SectionBuilder, bind Binding, meta []byte) []byte {
	var d []byte
	d = binary.AppendUvarint(d, uint64(bind.Size))
	d = appendBytes(d, []byte(bind.ETag))
	d = appendBytes(d, meta)
	d = binary.AppendUvarint(d, uint64(len(sections)))
	for _, s := range sections {
		d = binary.AppendVarint(d, s.name.Kind)
		d = binary.AppendVarint(d, s.name.Of)
		d = binary.AppendVarint(d, s.name.Level)
		d = binary.AppendUvarint(d, uint64(len(s.pages)))
		d = binary.AppendUvarint(d, uint64(len(s.spilled)))
		var last, count, length int64
		for _, p := range s.pages {
			d = binary.AppendUvarint(d, zigzag(p.First-last))
			last = p.Last
		}
		for _, p := range s.pages {
			d = binary.AppendUvarint(d, zigzag(p.Last-p.First))
		}
		for _, p := range s.pages {
			d = binary.AppendUvarint(d, zigzag(p.Count-count))
			count = p.Count
		}
		for _, p := range s.pages {
			d = binary.AppendUvarint(d, zigzag(p.len-length))
			length = p.len
		}
		for _, e := range s.spilled {
			d = binary.AppendUvarint(d, uint64(e.pages))
			d = binary.AppendUvarint(d, uint64(e.off))
		}
	}
	return d
}

func appendBytes(d, p []byte) []byte {
	return append(binary.AppendUvarint(d, uint64(len(p))), p...)
}
