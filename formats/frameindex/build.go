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
	s      *index.SectionBuilder   // heads
	more   []*index.SectionBuilder // other sections, which may be spilled
	marks  *index.SectionBuilder   // stays next to the directory
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

// Section begins a section of another kind, to which the caller adds pages.
func (b *Builder) Section(n index.Name) *index.SectionBuilder {
	s := b.b.Section(n)
	b.more = append(b.more, s)
	return s
}

// DropHeads forgets all heads, for a frame whose chunks are too short to be worth them.
func (b *Builder) DropHeads() { b.s, b.page, b.heads, b.first = nil, nil, 0, b.chunks }

// Chunks returns the number of chunks that were added.
func (b *Builder) Chunks() int { return b.chunks }

// Empty reports whether no chunk has a head, so that heads would be of no use.
func (b *Builder) Empty() bool { return b.heads == 0 }

// Len returns the number of bytes of the pages of heads.
func (b *Builder) Len() int64 {
	n := int64(len(b.page))
	for _, s := range b.sections() {
		n += s.Len()
	}
	return n
}

// sections lists the sections but those of statistics, in their order in the index.
func (b *Builder) sections() []*index.SectionBuilder {
	list := b.more[:len(b.more):len(b.more)]
	for _, s := range []*index.SectionBuilder{b.s, b.marks} {
		if s != nil {
			list = append(list, s)
		}
	}
	return list
}

// Spill writes pages that take more than room to a place in the frame before the index,
// those of statistics first; see index.SectionBuilder.Spill. Marks stay, and if there are
// places, nothing else stays beside them that takes long. Call it after the last chunk.
func (b *Builder) Spill(room int64, write func(pieces ...[]byte) (off int64, err error)) error {
	left := room - b.Len()
	if b.HasPlaces() {
		left = 0
	}
	if err := b.spillStats(left, write); err != nil {
		return err
	}
	if b.end(); b.Len() <= room && (!b.HasPlaces() || !b.Empty()) {
		return nil
	}
	for _, s := range b.sections() {
		if s == b.marks {
			continue
		}
		if err := s.Spill(write); err != nil {
			return err
		}
	}
	return nil
}

// Finish returns the index of a frame in a state. Do not use the Builder after it.
func (b *Builder) Finish(frame State, bind index.Binding) (index.Built, error) {
	b.end()
	list := b.statSections()
	for _, s := range b.sections() {
		if s != b.marks {
			list = append(list, s)
		}
	}
	list = append(list, b.statTotals()...) // some ten bytes, which come with the directory
	if b.marks != nil {
		list = append(list, b.marks)
	}
	meta := binary.AppendUvarint(nil, metaVersion)
	meta = binary.AppendUvarint(meta, uint64(b.chunks))
	meta = append(append(meta, frame.Header[:]...), frame.Offsets[:]...)
	return b.b.Finish(list, bind, meta)
}
