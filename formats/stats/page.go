package stats

import (
	"encoding/binary"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/internal/varint"
)

// MaxPage is how many Stats a page may have. 1024, for chunks, and as many blocks as
// make some KiB are usual.
const MaxPage = 1 << 16

// maxItems is far above the items of a chunk, and keeps the sums of Merge in bounds.
const maxItems = 1 << 40

// Forms of a list of numbers in a page. The shortest is taken, and of forms of the same
// length the first.
const (
	formPlain = iota // numbers of the column's size, little endian: all first bytes, then all second ones, and so on
	formDelta        // of each, the difference from the one before, as a zigzag varint
	formRuns         // pairs of varints: a difference as in formDelta, and how often the number follows again
)

// AppendPage appends a page: Stats of runs of the column's items, one behind another.
// There are at most MaxPage, else the error matches formats.ErrTooLarge, and nothing is
// appended.
//
// A page is the number of Stats as a varint, and lists of numbers, each with a byte for
// its form: Items, NaN, Fill, and, if the column is Ordered, Min, and Max less Min. A
// Stat that is not Ranged repeats the extremes of the one before it. Before any
// compression a Stat takes at most twice the size of a number and some bytes; that of a
// chunk of constants, or of a sorted column, takes less.
func (c Column) AppendPage(dst []byte, list []Stat) ([]byte, error) {
	if len(list) > MaxPage {
		return dst, fail("page", formats.ErrTooLarge, "%d entries, at most %d", len(list), MaxPage)
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	col := make([]uint64, len(list))
	put := func(size int, f func(s *Stat) uint64) {
		for i := range list {
			col[i] = f(&list[i])
		}
		dst = appendNumbers(dst, col, size)
	}
	put(8, func(s *Stat) uint64 { return uint64(s.Items) })
	put(8, func(s *Stat) uint64 { return uint64(s.NaN) })
	put(8, func(s *Stat) uint64 { return uint64(s.Fill) })
	if !c.Ordered() {
		return dst, nil
	}
	var last uint64
	put(c.num.Size, func(s *Stat) uint64 {
		if s.Ranged {
			last = s.Min
		}
		return last
	})
	last = 0
	put(c.num.Size, func(s *Stat) uint64 {
		if s.Ranged {
			last = s.Max - s.Min
		}
		return last
	})
	return dst, nil
}

// appendNumbers appends a list of numbers in its shortest form.
func appendNumbers(dst []byte, list []uint64, size int) []byte {
	var deltas, runs, last uint64
	deltaLen, runsLen, again := 0, 0, 0
	for i, v := range list {
		deltas = zigzag(v - last)
		deltaLen += uvarintLen(deltas)
		if i > 0 && v == last {
			again++
		} else {
			if i > 0 {
				runsLen += uvarintLen(uint64(again))
			}
			runsLen += uvarintLen(deltas)
			again, runs = 0, runs+1
		}
		last = v
	}
	if runs > 0 {
		runsLen += uvarintLen(uint64(again))
	}
	plainLen := size * len(list)
	switch shortest := min(plainLen, deltaLen, runsLen); shortest {
	case plainLen:
		dst = append(dst, formPlain)
		for shift := 0; shift < 8*size; shift += 8 {
			for _, v := range list {
				dst = append(dst, byte(v>>shift))
			}
		}
	case deltaLen:
		dst = append(dst, formDelta)
		last = 0
		for _, v := range list {
			dst = binary.AppendUvarint(dst, zigzag(v-last))
			last = v
		}
	default:
		dst = append(dst, formRuns)
		last = 0
		for i := 0; i < len(list); {
			j := i + 1
			for j < len(list) && list[j] == list[i] {
				j++
			}
			dst = binary.AppendUvarint(dst, zigzag(list[i]-last))
			dst = binary.AppendUvarint(dst, uint64(j-i-1))
			last, i = list[i], j
		}
	}
	return dst
}

// ParsePage appends the Stats of a page to dst. There must be n of them; the index says
// how many. n and the page are checked before anything is allocated, so that it takes at
// most MaxPage Stats: n above MaxPage matches formats.ErrTooLarge. A page that
// AppendPage cannot have made matches formats.ErrCorrupt: counts that do not fit each
// other, extremes that are no numbers of the column.
func (c Column) ParsePage(dst []Stat, page []byte, n int64) ([]Stat, error) {
	if n > MaxPage {
		return dst, fail("page", formats.ErrTooLarge, "%d entries, at most %d", n, MaxPage)
	}
	d := decoder{varint.Reader{P: page}}
	if has := d.Uint(); d.Bad || n < 0 || has != uint64(n) {
		return dst, fail("page", formats.ErrCorrupt, "%d entries, not %d", has, n)
	}
	lists := [5][]uint64{}
	for i := range lists {
		switch {
		case i < 3:
			lists[i] = d.numbers(int(n), 8)
		case c.Ordered():
			lists[i] = d.numbers(int(n), c.num.Size)
		}
		if d.Bad {
			return dst, fail("page", formats.ErrCorrupt, "list %d of %d numbers", i, n)
		}
	}
	if len(d.P) > 0 {
		return dst, fail("page", formats.ErrCorrupt, "%d bytes too many", len(d.P))
	}
	was := len(dst)
	for i := range int(n) {
		s := Stat{Items: int64(lists[0][i]), NaN: int64(lists[1][i]), Fill: int64(lists[2][i])}
		if s.Items < 0 || s.Items > maxItems || s.NaN < 0 || s.NaN > s.Items || s.Fill < 0 || s.Fill > s.Items {
			return dst[:was], fail("page", formats.ErrCorrupt, "entry %d: %d items, %d NaN, %d fill", i, s.Items, s.NaN, s.Fill)
		}
		if c.Ordered() && s.NaN < s.Items {
			s.Ranged, s.Min = true, lists[3][i]
			s.Max = s.Min + lists[4][i]
			if s.Max < s.Min || !c.isExtreme(s.Min) || !c.isExtreme(s.Max) {
				return dst[:was], fail("page", formats.ErrCorrupt, "entry %d: extremes %#x, %#x", i, s.Min, s.Max)
			}
		}
		dst = append(dst, s)
	}
	return dst, nil
}

// isExtreme reports whether a key can be that of an extreme: of a number that is not
// minus zero.
func (c Column) isExtreme(key uint64) bool {
	return c.num.Has(key) && c.num.Zero(key) == key
}

// A decoder reads lists of numbers until one is wrong.
type decoder struct{ varint.Reader }

// numbers reads a list of n numbers, n at most MaxPage. It allocates them only if there
// are bytes for them; runs need few.
func (d *decoder) numbers(n, size int) []uint64 {
	if len(d.P) == 0 {
		d.Bad = true
		return nil
	}
	form := d.P[0]
	d.P = d.P[1:]
	if form > formRuns || form == formPlain && len(d.P) < n*size || form == formDelta && len(d.P) < n {
		d.Bad = true
		return nil
	}
	list := make([]uint64, n)
	var last uint64
	switch form {
	case formPlain:
		for i := range list {
			for k := range size {
				list[i] |= uint64(d.P[k*n+i]) << (8 * k)
			}
		}
		d.P = d.P[n*size:]
	case formDelta:
		for i := range list {
			last += uint64(d.Int())
			list[i] = last
		}
	case formRuns:
		for i := 0; i < n && !d.Bad; {
			last += uint64(d.Int())
			again := d.Uint()
			if again > uint64(n-i-1) {
				d.Bad = true
				break
			}
			for end := i + 1 + int(again); i < end; i++ {
				list[i] = last
			}
		}
	}
	return list
}

func zigzag(v uint64) uint64 { return v<<1 ^ uint64(int64(v)>>63) }

// uvarintLen is how many bytes a varint takes.
func uvarintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
