package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/internal/varint"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// Options tune Open.
type Options struct {
	// Tail is how many bytes at the end are read first. 0 means the constant Tail.
	Tail int64
	// Gap is how many bytes lie between index and trailer.
	Gap int64
	// Bind is the file that an index beside it must be about; zero for an index
	// inside the file. If it has no strong ETag, Open returns ErrUnusable and reads
	// nothing.
	Bind Binding
	// Limits: MaxMeta bounds the decoded directory, which may have 64 MiB at the
	// most. A larger one is ErrUnusable.
	Limits formats.Limits
	// Any opens an index of any version, to see what it has: Bind does not count.
	Any bool
}

// Tail is how many bytes of the end of an object are worth reading before anything
// is known of its index: they hold the directory of some thousand pages, and the
// pages that most readers want first.
const Tail = 32 << 10

const (
	// maxDirectory is some ten million pages.
	maxDirectory = 64 << 20
	// maxPageLen keeps sums of lengths far from their limits.
	maxPageLen = 1 << 40
)

// An Index is an open index. It holds in memory the directory and the other bytes
// that Open has read. It uses the Reader until the last call. It is safe for
// concurrent use if its fields are not changed.
type Index struct {
	Trailer  Trailer
	Meta     []byte // the meta of Finish
	Sections []Section

	r    rangeio.Reader
	tail []byte // the last bytes of the object, from at on
	at   int64
	dir  int64 // offset of the directory in the index

	unpacked int64 // bytes of the directory, of which Meta is a part; 0 if they lie in tail

	hold hold // what Verify has read
}

// Open reads the directory of the index at the end of r: one planned read of
// Options.Tail bytes, and one more if the directory takes more. Errors about the
// index match ErrUnusable; other errors come from reads.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Index, error) {
	if o.Tail <= 0 {
		o.Tail = Tail
	}
	if why := o.Bind.unbound(); why != "" {
		return nil, unusable("%s", why)
	}
	o.Limits = o.Limits.WithDefaults()
	ix := &Index{r: r, at: r.Size()}
	if err := ix.reach(ctx, r.Size()-max(o.Tail, TrailerLen+o.Gap+footerLen)); err != nil {
		return nil, err
	}
	if len(ix.tail) < TrailerLen {
		return nil, unusable("an object of %d bytes", r.Size())
	}
	var err error
	if ix.Trailer, err = ParseTrailer(ix.tail[len(ix.tail)-TrailerLen:], r.Size(), o.Gap); err != nil {
		return nil, err
	}
	end := ix.Trailer.Off + ix.Trailer.Len
	foot := ix.known(end-footerLen, footerLen)
	n, raw := int64(binary.LittleEndian.Uint32(foot)), int64(binary.LittleEndian.Uint32(foot[4:]))
	start := end - footerLen - n
	switch {
	case start < ix.Trailer.Off+int64(len(magic)) || raw < n:
		return nil, unusable("a directory of %d bytes, %d when decoded", n, raw)
	case raw > min(o.Limits.MaxMeta, maxDirectory):
		return nil, unusable("a directory of %d bytes, over the limit", raw)
	}
	if err := ix.reach(ctx, start); err != nil {
		return nil, err
	}
	foot = ix.known(start, n+footerLen)
	if binary.LittleEndian.Uint32(foot[n+8:]) != crcOf(foot[:n+8]) {
		return nil, unusable("the directory is damaged")
	}
	dir := foot[:n]
	if raw > n {
		dir = make([]byte, raw)
		var dec codec.Decoder
		if err := dec.Decode(codec.Zlib, dir, foot[:n], nil); err != nil {
			return nil, unusable("the directory: %s", err)
		}
		ix.unpacked = raw
	}
	ix.dir = start - ix.Trailer.Off
	return ix, ix.parse(dir, o.Bind, o.Any)
}

// reach makes the object known from off on.
func (ix *Index) reach(ctx context.Context, off int64) error {
	if off = max(off, 0); off >= ix.at {
		return nil
	}
	p := make([]byte, ix.r.Size()-off)
	copy(p[ix.at-off:], ix.tail)
	if err := ix.r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p[:ix.at-off]}}); err != nil {
		return err
	}
	ix.tail, ix.at = p, off
	return nil
}

// Known returns n bytes of the object at off, at the end of which the index lies, or nil if
// they are not in memory. They must not be modified.
func (ix *Index) Known(off, n int64) []byte {
	if off < 0 || n < 0 || off > ix.r.Size() || n > ix.r.Size()-off {
		return nil
	}
	return ix.known(off, n)
}

// known returns n bytes of the object at off, or nil if neither Open nor Verify has read
// and kept them.
func (ix *Index) known(off, n int64) []byte {
	if off < ix.at {
		return ix.hold.get(off, n)
	}
	return ix.tail[off-ix.at : off-ix.at+n : off-ix.at+n]
}

// A parser reads numbers until one is wrong.
type parser struct{ varint.Reader }

// count reads how many things follow, each of at least size bytes.
func (d *parser) count(size int) int {
	n := d.Uint()
	if n > uint64(len(d.P)/size) {
		d.Fail()
		return 0
	}
	return int(n)
}

func (d *parser) bytes() []byte { return d.Bytes(d.Uint()) }

func (ix *Index) parse(dir []byte, bind Binding, stale bool) error {
	d := &parser{varint.Reader{P: dir}}
	size := d.Uint()
	etag := string(d.bytes())
	ix.Meta = d.bytes()
	switch {
	case stale:
	case !d.Bad && size != uint64(bind.Size):
		return unusable("it is about another version of the file, of %d bytes", size)
	case !d.Bad && etag != bind.ETag:
		return unusable("it is about another version of the file, or another copy: the size is the same, the ETag is not")
	}
	off := int64(len(magic))
	ix.Sections = make([]Section, d.count(4))
	for i := range ix.Sections {
		s := &ix.Sections[i]
		s.Kind, s.Of, s.Level = d.Int(), d.Int(), d.Int()
		s.Pages = make([]Page, d.count(4))
		seams := d.count(2)
		if !d.pages(s.Pages) {
			return unusable("the directory: section %d", i)
		}
		if off = ix.lay(d, s.Pages, seams, off); off < 0 {
			return unusable("the directory: where section %d lies", i)
		}
	}
	if d.Bad || len(d.P) > 0 || off != ix.dir {
		return unusable("the directory does not fit its pages")
	}
	return nil
}

// pages reads the columns of a section.
func (d *parser) pages(pages []Page) bool {
	var last, count, length int64
	for i := range pages {
		pages[i].First = d.Int() // counts from Last of the page before
	}
	for i := range pages {
		p := &pages[i]
		p.First += last
		last = p.First + d.Int()
		if p.Last = last; p.Last < p.First || i > 0 && p.First < pages[i-1].First {
			return false
		}
	}
	for i := range pages {
		count += d.Int()
		if pages[i].Count = count; count < 0 {
			return false
		}
	}
	for i := range pages {
		length += d.Int()
		if pages[i].len = length; length < 0 || length > maxPageLen {
			return false
		}
	}
	return !d.Bad
}

// lay sets the places of pages. Spilled pages are before the index, seam after
// seam; the other pages are at off in the index. It returns where they end in
// the index, or -1 on an error.
func (ix *Index) lay(d *parser, pages []Page, seams int, off int64) int64 {
	front := int64(0)
	for range seams {
		n, at := d.Uint(), d.Uint()
		if n > uint64(len(pages)) || at < uint64(front) || at > uint64(ix.Trailer.Off) {
			return -1
		}
		if front = layPages(pages[:n], int64(at), ix.Trailer.Off); front < 0 {
			return -1
		}
		pages = pages[n:]
	}
	end := layPages(pages, ix.Trailer.Off+off, ix.Trailer.Off+ix.dir)
	if d.Bad || end < 0 {
		return -1
	}
	return end - ix.Trailer.Off
}

// layPages sets the places of pages from off on. It returns where they end, or -1 if
// that is behind end.
func layPages(pages []Page, off, end int64) int64 {
	for i := range pages {
		p := &pages[i]
		if p.len > end-off-crcLen {
			return -1
		}
		p.off = off
		off += p.len + crcLen
	}
	return off
}

// Section returns the section with the name, or nil.
func (ix *Index) Section(n Name) *Section {
	for i := range ix.Sections {
		if ix.Sections[i].Name == n {
			return &ix.Sections[i]
		}
	}
	return nil
}

// Over returns the range [i, j) of pages that may cover positions in [from,
// to].
func (s *Section) Over(from, to int64) (i, j int) {
	i = sort.Search(len(s.Pages), func(k int) bool { return s.Pages[k].Last >= from })
	j = i + sort.Search(len(s.Pages)-i, func(k int) bool { return s.Pages[i+k].First > to })
	return i, j
}

// Held reports whether all pages [i, j) of s are in memory, so that Pages makes no request
// for them.
func (ix *Index) Held(s *Section, i, j int) bool {
	for ; i < j && s.Pages[i].off < ix.at; i++ {
		if p := &s.Pages[i]; ix.known(p.off, p.Len()) == nil {
			return false
		}
	}
	return true
}

// Parts are the pages [I, J) of a section.
type Parts struct {
	*Section
	I, J int
}

// Each calls fn for each page, in order. Pages that are not in memory are read from
// r in one planned read. The bytes are valid during the call only and must not be
// changed. If fn returns an error, Each returns the same error. A page with a wrong
// checksum is ErrUnusable. r is the Reader of Open, or a pull.Dry over it for plans,
// which reads nothing; why then describes the bytes.
func (ix *Index) Each(ctx context.Context, r rangeio.Reader, p Parts, why string, fn func(k int, page []byte) error) error {
	have := make([][]byte, p.J-p.I)
	var missing []int
	for i := range have {
		pg := &p.Pages[p.I+i]
		if have[i] = ix.known(pg.off, pg.Len()); have[i] == nil {
			missing = append(missing, i)
		}
	}
	next := 0 // the page to give next, of have
	give := func(to int) error {
		for ; next < to; next++ {
			page, err := p.checked(p.I+next, have[next])
			if err != nil {
				return err
			}
			if err := fn(p.I+next, page); err != nil {
				return err
			}
		}
		return nil
	}
	q := pull.Pull[int]{From: r, Window: math.MaxInt64 / 4, Most: len(missing), // a single window
		Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
			for _, i := range missing {
				pg := &p.Pages[p.I+i]
				if err := add(pull.Part[int]{Off: pg.off, Len: pg.Len(), For: i}); err != nil {
					return err
				}
			}
			return nil
		},
		Why: func([]pull.Part[int]) (string, bool) { return why, false }}
	came := 0
	for w, err := range q.Windows(ctx) {
		if err != nil {
			return err
		}
		for n, part := range w.Parts {
			have[part.For] = w.Bytes(n)
			if err := give(part.For + 1); err != nil {
				return err
			}
			came++
		}
	}
	if came < len(missing) {
		return nil // a plan: there are no bytes
	}
	return give(len(have))
}

// checked checks the checksum of the stored page k, and returns the page.
func (s *Section) checked(k int, stored []byte) ([]byte, error) {
	page := stored[:len(stored)-crcLen]
	if binary.LittleEndian.Uint32(stored[len(page):]) != sum(s.Name, k, page) {
		return nil, unusable("page %d of section %v is damaged", k, s.Name)
	}
	return page, nil
}

// Pages returns the pages of all parts, in order. It makes one planned read for
// the pages that are not in memory. The bytes may be memory of the Index and must
// not be changed. A page with a wrong checksum is ErrUnusable.
func (ix *Index) Pages(ctx context.Context, parts ...Parts) ([][]byte, error) {
	var out [][]byte
	var spans []rangeio.Span
	for _, part := range parts {
		for i := part.I; i < part.J; {
			j := stretch(part.Pages, i, part.J)
			lo, last := part.Pages[i].off, &part.Pages[j-1]
			n := last.off + last.len + crcLen - lo
			p := ix.known(lo, n)
			if p == nil {
				p = make([]byte, n)
				spans = append(spans, rangeio.Span{Off: lo, P: p})
			}
			for ; i < j; i++ {
				pg := &part.Pages[i]
				out = append(out, p[pg.off-lo:pg.off-lo+pg.len+crcLen])
			}
		}
	}
	if len(spans) > 0 {
		if err := ix.r.ReadRanges(ctx, spans); err != nil {
			return nil, err
		}
	}
	n := 0
	for _, part := range parts {
		for k := part.I; k < part.J; k++ {
			var err error
			if out[n], err = part.checked(k, out[n]); err != nil {
				return nil, err
			}
			n++
		}
	}
	return out, nil
}

// stretch says which of the pages [i, j) lie one behind another from i on.
func stretch(pages []Page, i, j int) int {
	for i++; i < j && pages[i].off == pages[i-1].off+pages[i-1].len+crcLen; i++ {
		continue
	}
	return i
}

// An Extent is bytes of an object.
type Extent struct{ Off, Len int64 }

// Extents lists the bytes of the object that were spilled, which lie in front of
// the index, in order.
func (ix *Index) Extents() []Extent {
	var out []Extent
	for i := range ix.Sections {
		pages := ix.Sections[i].Pages
		for k := 0; k < len(pages) && pages[k].off < ix.Trailer.Off; {
			first := k
			k = stretch(pages, k, len(pages))
			last := &pages[k-1]
			out = append(out, Extent{pages[first].off, last.off + last.len + crcLen - pages[first].off})
		}
	}
	slices.SortFunc(out, func(a, b Extent) int { return cmp.Compare(a.Off, b.Off) })
	return out
}

// Unusable reports whether err matches ErrUnusable, and is not about reading.
func Unusable(err error) bool { return errors.Is(err, ErrUnusable) }

// HeldBytes returns about how many bytes of memory the Index keeps. It does not count
// the memory of its Reader.
func (ix *Index) HeldBytes() int64 {
	const (
		fixed   = 512 // the struct
		section = 48
		page    = 40
	)
	n := fixed + int64(cap(ix.tail)) + ix.hold.size() + ix.unpacked + int64(cap(ix.Sections))*section
	for i := range ix.Sections {
		n += int64(cap(ix.Sections[i].Pages)) * page
	}
	return n
}
