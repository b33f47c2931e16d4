package frameindex

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
)

// A Place is where the bytes of a chunk are.
type Place struct {
	Off  int64 // from the end of the frame's header
	Size int64 // bytes of the chunk, or more: then no other chunk begins in them
	// Special is the kind of a chunk that has no bytes in the frame; then Off and Size
	// are 0. For all others it is blosc.None.
	Special blosc.Special
}

const (
	placesPage  = 4096              // chunks of a page
	placesBytes = 12 << 10          // a page ends here before it has so many; it is longer by one place at most
	mostEnd     = math.MaxInt64 / 4 // where a chunk may end
	// marksBytes bounds the marks. They lie next to the directory, where the shortest
	// tail that a reader of frames asks for, 16 KiB, has them all.
	marksBytes = 8 << 10
	mostMarks  = 4096
	// marksGroup is the number of stretches between two marks that share a bound.
	marksGroup = 32
)

// The codes of chunks without bytes; other codes are those of stored chunks.
const (
	codeZeros = iota
	codeNaN
	codeUninit
	codeStored
)

// SetPlaces adds the places of all chunks, of which Add has got the heads. at is called
// twice or more for each.
func (b *Builder) SetPlaces(at func(i int) Place) {
	s := b.Section(index.Name{Kind: sectionPlaces})
	var page []byte
	var last lastPlace
	for i, first := 0, 0; i < b.chunks; i++ {
		page = last.append(page, at(i))
		if n := i + 1 - first; n == placesPage || len(page) >= placesBytes || i == b.chunks-1 {
			s.Add(int64(first), int64(i), int64(n), page)
			page, first, last = page[:0], i+1, lastPlace{}
		}
	}
	p := appendMarks(b.chunks, at)
	b.marks = b.b.Section(index.Name{Kind: sectionMarks})
	b.marks.Add(0, int64(b.chunks-1), int64(b.chunks), p)
}

// DropPlaces undoes SetPlaces.
func (b *Builder) DropPlaces() {
	b.marks = nil
	b.more = slices.DeleteFunc(b.more, func(s *index.SectionBuilder) bool { return s.Name().Kind == sectionPlaces })
}

// HasPlaces reports whether SetPlaces was called.
func (b *Builder) HasPlaces() bool { return b.marks != nil }

// A lastPlace is the stored chunk before, from which the next one is told.
type lastPlace struct{ end, size int64 }

// append appends a place to a page: its code, if it has no bytes. Else it appends
// codeStored more than a number whose last bit says that the chunk does not begin
// where the one before ends, and whose other bits are the difference of their sizes,
// zigzag; and if that bit is set, the distance, zigzag.
func (l *lastPlace) append(page []byte, p Place) []byte {
	switch p.Special {
	case blosc.Zeros:
		return append(page, codeZeros)
	case blosc.NaN:
		return append(page, codeNaN)
	case blosc.Uninit:
		return append(page, codeUninit)
	case blosc.None, blosc.Value:
	}
	v := zigzag(p.Size-l.size) << 1
	if p.Off != l.end {
		v |= 1
	}
	page = binary.AppendUvarint(page, v+codeStored)
	if p.Off != l.end {
		page = binary.AppendVarint(page, p.Off-l.end)
	}
	l.end, l.size = p.Off+p.Size, p.Size
	return page
}

func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// next reads the next place of a page. It returns false if the page is damaged.
func (l *lastPlace) next(d *page) (p Place, ok bool) {
	switch v := d.Uint(); {
	case d.Bad:
		return p, false
	case v == codeZeros:
		p.Special = blosc.Zeros
	case v == codeNaN:
		p.Special = blosc.NaN
	case v == codeUninit:
		p.Special = blosc.Uninit
	default:
		v -= codeStored
		p.Off, p.Size = l.end, l.size+unzigzag(v>>1)
		if v&1 != 0 {
			p.Off += d.Int()
		}
		if d.Bad || p.Size <= 0 || p.Size > mostEnd || p.Off < 0 || p.Off > mostEnd-p.Size {
			return p, false
		}
		l.end, l.size = p.Off+p.Size, p.Size
	}
	return p, true
}

// marks are the places of every so many chunks. Between two of them a chunk lies about
// where it would if all had one length; bounds say how far from there at most.
type marks struct {
	n      int     // chunks
	step   int     // from mark to mark, a power of two
	at     []int64 // one for each step, and one where the last chunk ends
	bounds []bound // for each marksGroup steps
}

// A bound says how many bytes before its expected place a chunk begins at most, and
// how many behind it a chunk ends.
type bound struct{ before, behind int64 }

// expected returns the place of chunk i as the marks around it tell it, and the mean
// length of a chunk there.
func (m *marks) expected(i int) (off, mean int64) {
	k := i / m.step
	n := int64(min(m.step, m.n-k*m.step)) // chunks up to the next mark
	r := int64(i - k*m.step)
	d := m.at[k+1] - m.at[k]
	return m.at[k] + d/n*r + d%n*r/n, max(d/n, 0)
}

// appendMarks encodes the marks of n chunks, with the shortest step that fits.
func appendMarks(n int, at func(i int) Place) []byte {
	step := 1
	for n/step >= mostMarks {
		step *= 2
	}
	for ; ; step *= 2 {
		m := marksOf(n, step, at)
		if p := m.encode(); len(p) <= marksBytes || step >= n {
			return p
		}
	}
}

func marksOf(n, step int, at func(i int) Place) *marks {
	m := &marks{n: n, step: step}
	end := int64(0) // of the stored chunk before
	for i := range n {
		p := at(i)
		if p.Special != blosc.None {
			p.Off = end
		}
		if i%step == 0 {
			m.at = append(m.at, p.Off)
		}
		end = p.Off + p.Size
	}
	m.at = append(m.at, end)
	m.bounds = make([]bound, m.groups())
	for i := range n {
		p := at(i)
		if p.Special != blosc.None {
			continue
		}
		b := &m.bounds[i/step/marksGroup]
		off, _ := m.expected(i)
		b.before = max(b.before, off-p.Off)
		b.behind = max(b.behind, p.Off+p.Size-off)
	}
	return m
}

func (m *marks) groups() int { return (len(m.at)-2)/marksGroup + 1 }

// encode encodes marks: the step, each mark as the difference of its distance from the
// one before and of the distance before, zigzag; and the bounds.
func (m *marks) encode() []byte {
	p := binary.AppendUvarint(nil, uint64(m.step))
	var last, far int64
	for _, v := range m.at {
		p = binary.AppendVarint(p, v-last-far)
		last, far = v, v-last
	}
	for _, b := range m.bounds {
		p = binary.AppendUvarint(p, uint64(b.before))
		p = binary.AppendUvarint(p, uint64(b.behind))
	}
	return p
}

// parseMarks decodes the marks of n chunks.
func parseMarks(p []byte, n int) (*marks, error) {
	d := pageOf(p)
	step := d.Uint()
	if d.Bad || step == 0 || step&(step-1) != 0 || step > math.MaxInt32 || (n-1)/int(step)+2 > len(p) {
		return nil, unusable("marks of %d chunks, one in %d, in %d bytes", n, step, len(p))
	}
	m := &marks{n: n, step: int(step), at: make([]int64, (n-1)/int(step)+2)}
	var last, far int64
	for i := range m.at {
		v := last + far + d.Int()
		if d.Bad || v < 0 || v > mostEnd {
			return nil, unusable("mark %d", i)
		}
		m.at[i], last, far = v, v, v-last
	}
	m.bounds = make([]bound, m.groups())
	for i := range m.bounds {
		b := bound{int64(d.Uint()), int64(d.Uint())}
		if d.Bad || b.before < 0 || b.before > mostEnd || b.behind < 0 || b.behind > mostEnd {
			return nil, unusable("bound %d of the marks", i)
		}
		m.bounds[i] = b
	}
	if len(d.P) > 0 {
		return nil, unusable("%d bytes behind the marks", len(d.P))
	}
	return m, nil
}
