package index

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/farread/farread/internal/codec"
)

// A Builder collects the sections of an index. The zero value is ready; it is
// not for concurrent use.
type Builder struct {
	held int64
	enc  codec.Encoder
}

// A SectionBuilder takes the pages of one section.
type SectionBuilder struct {
	b     *Builder
	name  Name
	pages []Page
	data  [][]byte // pieces, so that none of them grows much
	len   int64
}

// Section begins a section. Sections lie in an index in the order of Finish.
func (b *Builder) Section(n Name) *SectionBuilder {
	return &SectionBuilder{b: b, name: n}
}

// Held is how many bytes the pages take that were added.
func (b *Builder) Held() int64 { return b.held }

// Add adds a page. p is copied.
func (s *SectionBuilder) Add(first, last, count int64, p []byte) {
	s.pages = append(s.pages, Page{First: first, Last: last, Count: count, off: s.len, len: int64(len(p))})
	need := len(p) + crcLen
	if n := len(s.data); n == 0 || cap(s.data[n-1])-len(s.data[n-1]) < need {
		size := max(need, int(min(s.len, maxPiece)))
		s.data = append(s.data, make([]byte, 0, size))
		s.b.held += int64(size)
	}
	piece := &s.data[len(s.data)-1]
	*piece = binary.LittleEndian.AppendUint32(append(*piece, p...), sum(s.name, len(s.pages)-1, p))
	s.len += int64(need)
}

// maxPiece is the most that is set aside for further pages.
const maxPiece = 64 << 10

// Len is how many bytes the pages take.
func (s *SectionBuilder) Len() int64 { return s.len }

// Drop forgets the pages.
func (s *SectionBuilder) Drop() {
	for _, p := range s.data {
		s.b.held -= int64(cap(p))
	}
	s.data, s.pages, s.len = nil, nil, 0
}

// Finish makes the index of these sections, in this order: what is needed first
// stands last, next to the directory. meta is kept in the directory. The sections
// are dropped.
func (b *Builder) Finish(sections []*SectionBuilder, bind Binding, meta []byte) ([]byte, error) {
	total := int64(0)
	for _, s := range sections {
		total += s.Len()
	}
	dir := directory(sections, bind, meta)
	out := append(make([]byte, 0, total+int64(len(magic)+len(dir)+footerLen+TrailerLen)), magic...)
	for _, s := range sections {
		for i, p := range s.data {
			out = append(out, p...)
			s.data[i] = nil
		}
	}
	if len(dir) > math.MaxInt32 {
		return nil, fmt.Errorf("a directory of %d bytes", len(dir))
	}
	packed := make([]byte, len(dir))
	n, err := b.enc.Encode(codec.Zlib, 6, packed[:max(len(dir)-1, 0)], dir, nil)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		n = copy(packed, dir)
	}
	at := len(out)
	out = append(out, packed[:n]...)
	out = binary.LittleEndian.AppendUint32(out, uint32(n))        //nolint:gosec // checked above
	out = binary.LittleEndian.AppendUint32(out, uint32(len(dir))) //nolint:gosec // checked above
	out = binary.LittleEndian.AppendUint32(out, crcOf(out[at:]))
	for _, s := range sections {
		s.Drop()
	}
	return out, nil
}

// Hash is what a trailer says of an index.
func Hash(index []byte) [sha256.Size]byte { return sha256.Sum256(index) }

// Beside makes an index an object of its own.
func Beside(index []byte, plain int64) []byte {
	t := Trailer{Len: int64(len(index)), Plain: plain, SHA256: Hash(index)}
	return t.Append(index)
}

// directory lists the sections: the numbers of all pages of a section column by
// column, which is what compresses.
func directory(sections []*SectionBuilder, bind Binding, meta []byte) []byte {
	var d []byte
	d = binary.AppendUvarint(d, uint64(bind.Size)) //nolint:gosec // not negative
	d = appendBytes(d, []byte(bind.ETag))
	d = appendBytes(d, meta)
	d = binary.AppendUvarint(d, uint64(len(sections)))
	for _, s := range sections {
		d = binary.AppendVarint(d, s.name.Kind)
		d = binary.AppendVarint(d, s.name.Of)
		d = binary.AppendVarint(d, s.name.Level)
		d = binary.AppendUvarint(d, uint64(len(s.pages)))
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
	}
	return d
}

func appendBytes(d, p []byte) []byte {
	return append(binary.AppendUvarint(d, uint64(len(p))), p...)
}
