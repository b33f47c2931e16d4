package frameindex

import (
	"encoding/binary"

	"github.com/farread/farread/formats/index"
)

// pageLen is the length at which a page ends. A page is longer by one head at most.
const pageLen = 24 << 10

// A Builder makes the index of a frame. The zero value is ready. It holds the pages in
// memory. It is not for concurrent use.
type Builder struct {
	b      index.Builder
	s      *index.SectionBuilder
	page   []byte
	last   header
	first  int // first chunk of the page
	chunks int
	heads  int
	stats  *statsBuilder // nil: there are none
}

// Add adds the head of the next chunk; see HeadOf. It is empty for a chunk that has no
// bytes in the frame, or no head for an index. Add keeps nothing of it.
func (b *Builder) Add(head []byte) {
	if len(head) > 0 {
		b.heads++
	}
	b.page = b.last.appendHead(b.page, head)
	if b.chunks++; len(b.page) >= pageLen {
		b.end()
	}
}

// end ends the page.
func (b *Builder) end() {
	if b.chunks == b.first {
		return
	}
	if b.s == nil {
		b.s = b.b.Section(index.Name{Kind: sectionStarts})
	}
	b.s.Add(int64(b.first), int64(b.chunks-1), int64(b.chunks-b.first), b.page)
	b.page, b.last, b.first = b.page[:0], header{}, b.chunks
}

// Empty reports whether no chunk has a head, so that an index would be of no use.
func (b *Builder) Empty() bool { return b.heads == 0 }

// Len returns the number of bytes of the pages of heads.
func (b *Builder) Len() int64 {
	n := int64(len(b.page))
	if b.s != nil {
		n += b.s.Len()
	}
	return n
}

// Spill writes pages that take more than room to a place in the frame before the index,
// those of statistics first; see index.SectionBuilder.Spill. Call it after the last chunk.
func (b *Builder) Spill(room int64, write func(pieces ...[]byte) (off int64, err error)) error {
	if err := b.spillStats(room-b.Len(), write); err != nil {
		return err
	}
	if b.end(); b.s == nil || b.Len() <= room {
		return nil
	}
	return b.s.Spill(write)
}

// Finish returns the index of the frame with the Sum frame. Do not use the Builder
// after it.
func (b *Builder) Finish(frame Sum, bind index.Binding) (index.Built, error) {
	b.end()
	list := b.statSections()
	if b.s != nil {
		list = append(list, b.s)
	}
	list = append(list, b.statTotals()...) // some ten bytes, which come with the directory
	meta := binary.AppendUvarint(nil, metaVersion)
	meta = binary.AppendUvarint(meta, uint64(b.chunks))
	return b.b.Finish(list, bind, append(meta, frame[:]...))
}
