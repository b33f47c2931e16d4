package zoomindex

import (
	"encoding/binary"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/filter"
)

// A column is a part of a decoded page: numbers of w bytes, byte by byte, or varints.
type column struct {
	p []byte
	w int // 0: varints
}

// A splitter cuts a decoded page into columns.
type splitter struct {
	p   []byte
	out []column
	bad bool
}

// varints cuts off n numbers.
func (s *splitter) varints(n int) {
	at := 0
	for range n {
		k := 0
		for at+k < len(s.p) && s.p[at+k]&0x80 != 0 {
			k++
		}
		if at+k >= len(s.p) || k >= binary.MaxVarintLen64 {
			s.bad = true
			return
		}
		at += k + 1
	}
	s.out, s.p = append(s.out, column{s.p[:at], 0}), s.p[at:]
}

// fixed cuts off n numbers of w bytes.
func (s *splitter) fixed(n, w int) {
	if s.bad = s.bad || len(s.p)/w < n; s.bad {
		return
	}
	s.out, s.p = append(s.out, column{s.p[:n*w], w}), s.p[n*w:]
}

func (s *splitter) end() ([]column, bool) { return s.out, !s.bad && len(s.p) == 0 }

// spanColumns cuts a page of n spans: gap, span, short, and of each channel nan, min, max,
// mean, rms.
func spanColumns(raw []byte, l layout, n int) ([]column, bool) {
	s := splitter{p: raw}
	for range 3 {
		s.varints(n)
	}
	if l.kind == zoomcache.Unit {
		return s.end()
	}
	means := 4
	if l.bin {
		means = 2
	}
	w := keyWidth(l.kind)
	for range l.width {
		nan := 0
		if l.kind.Float() {
			nan = n
		}
		s.varints(nan)
		s.fixed(n, w)
		s.fixed(n, w)
		s.fixed(n, means)
		s.fixed(n, means)
	}
	return s.end()
}

// endColumns cuts a page of the first and last values of n spans.
func endColumns(raw []byte, l layout, n int) ([]column, bool) {
	s := splitter{p: raw}
	for range 2 * l.width {
		s.fixed(n, keyWidth(l.kind))
	}
	return s.end()
}

// runColumns cuts a page of n packets.
func runColumns(raw []byte, n int) ([]column, bool) {
	s := splitter{p: raw}
	for _, k := range [...]int{4, n, n, n, n, n - 1} {
		s.varints(k)
	}
	return s.end()
}

// again makes a page of columns, as it was made of what they come from.
func (k *packer) again(cols []column, g *guess) ([]byte, error) {
	k.begin()
	for _, c := range cols {
		k.raw = append(k.raw, c.p...)
		if c.w == 0 {
			k.mark()
			continue
		}
		n := len(c.p) / c.w
		for at := len(k.raw) - len(c.p); at < len(k.raw); {
			at += n
			k.parts = append(k.parts, at)
		}
	}
	return k.pack(g)
}

// head returns the first m numbers of a column as sheets have them.
func (c column) head(m int) []byte {
	if c.w > 0 {
		p := make([]byte, len(c.p))
		filter.Unshuffle(p, c.p, c.w)
		return p[: m*c.w : m*c.w]
	}
	at := 0
	for range m {
		for c.p[at]&0x80 != 0 {
			at++
		}
		at++
	}
	return append([]byte(nil), c.p[:at]...)
}

// fill puts the first m spans of a page into an empty sheet.
func (s *sheet) fill(cols []column, pg *index.Page, m int) bool {
	s.n, s.first, s.last = m, pg.First, pg.First-1
	s.gap, s.span, s.short = cols[0].head(m), cols[1].head(m), cols[2].head(m)
	gap, span, short := s.gap, s.span, s.short
	count := make([]uint64, m)
	for i := range count {
		a, j := binary.Varint(gap)
		b, k := binary.Uvarint(span)
		c, l := binary.Varint(short)
		if j <= 0 || k <= 0 || l <= 0 {
			return false
		}
		gap, span, short = gap[j:], span[k:], short[l:]
		entry := s.last + 1 + a
		s.last = int64(uint64(entry) + b)
		count[i] = uint64(s.last-entry+1) - uint64(c)
	}
	if s.l.kind == zoomcache.Unit {
		return true
	}
	for i := range s.ch {
		c, cols := &s.ch[i], cols[3+5*i:]
		c.min, c.max, c.mean, c.rms = cols[1].head(m), cols[2].head(m), cols[3].head(m), cols[4].head(m)
		nan := []byte(nil)
		if s.l.kind.Float() {
			c.nan = cols[0].head(m)
			nan = c.nan
		}
		for k := range m {
			missing := uint64(0)
			if s.l.kind.Float() {
				v, j := binary.Uvarint(nan)
				if j <= 0 || v > count[k] {
					return false
				}
				missing, nan = v, nan[j:]
			}
			if missing < count[k] {
				c.lastMin = (c.lastMin + unfold(keyAt(c.min, k, s.w), s.w)) & keyMask(s.w)
			}
		}
	}
	return true
}

// fillEnds adds the first and last values of the first m spans.
func (s *sheet) fillEnds(cols []column, m int) {
	for i := range s.ch {
		c := &s.ch[i]
		c.first, c.end = cols[2*i].head(m), cols[2*i+1].head(m)
		for k := range m {
			first := (c.lastEnd + unfold(keyAt(c.first, k, s.w), s.w)) & keyMask(s.w)
			c.lastEnd = (first + unfold(keyAt(c.end, k, s.w), s.w)) & keyMask(s.w)
		}
	}
}

// keyAt is number k of a column of numbers of w bytes.
func keyAt(p []byte, k, w int) (x uint64) {
	for i := w - 1; i >= 0; i-- {
		x = x<<8 | uint64(p[k*w+i])
	}
	return x
}
