package index

import (
	"crypto/sha256"
	"encoding"
)

// Sum returns the state of the hash of the bytes that were spilled so far: what Resume
// takes. It is nil if nothing was spilled.
func (b *Builder) Sum() []byte {
	m, ok := b.sum.(encoding.BinaryAppender)
	if !ok {
		return nil
	}
	p, err := m.AppendBinary(nil)
	if err != nil {
		return nil // no SHA-256 fails
	}
	return p
}

// Resume begins with what an earlier index of the object has in front of the offset cut:
// sum is Sum when the object ended there, and bytes that belonged to no section then stay
// listed. It is called first. The error matches ErrUnusable.
func (b *Builder) Resume(ix *Index, cut int64, sum []byte) error {
	if s := ix.Section(lost()); s != nil {
		for i := range s.Pages {
			if p := &s.Pages[i]; p.off < cut {
				b.dead = append(b.dead, seam{1, p.off, p.Len()})
			}
		}
	}
	if len(sum) == 0 {
		return nil
	}
	b.sum = sha256.New()
	if m, ok := b.sum.(encoding.BinaryUnmarshaler); !ok || m.UnmarshalBinary(sum) != nil {
		return unusable("the state of its hash")
	}
	return nil
}

// Keep adds the first n pages of a section of an earlier index. Those that lie in front of
// the offset cut stay there, as if they were spilled; page returns the others, in order.
func (s *SectionBuilder) Keep(from *Section, n int, cut int64, page func(k int) ([]byte, error)) error {
	k := 0
	for k < n && from.Pages[k].off < cut {
		i := k
		k = stretch(from.Pages, k, n)
		last := &from.Pages[k-1]
		e := seam{k - i, from.Pages[i].off, last.off + last.Len() - from.Pages[i].off}
		if e.off+e.len > cut {
			return unusable("pages of section %v lie on both sides of %d", s.name, cut)
		}
		s.spilled = append(s.spilled, e)
		s.before += e.len
	}
	s.pages = append(s.pages, from.Pages[:k]...)
	s.b.held += pageSize * int64(cap(s.pages))
	for ; k < n; k++ {
		pg := &from.Pages[k]
		p, err := page(k)
		if err != nil {
			return err
		}
		if int64(len(p)) != pg.len || pg.off < cut {
			return unusable("pages of section %v are not in order", s.name)
		}
		s.Add(pg.First, pg.Last, pg.Count, p)
	}
	return nil
}

// Place returns where the page lies in the object, with its checksum.
func (p *Page) Place() (off, n int64) { return p.off, p.Len() }

// Tail returns the bytes at the end of the object that Open has read, and their offset. They
// must not be changed.
func (ix *Index) Tail() (off int64, p []byte) { return ix.at, ix.tail }
