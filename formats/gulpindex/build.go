package gulpindex

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
)

// version is the first byte of the meta of an index.
const version = 2

// byID is the name of the section of all ids.
func byID() index.Name { return index.Name{Kind: 1} }

// byNumber is the name of the section of all frames in file order. It has them as those
// of one id, and is there only if the ids are in another order than their bytes.
func byNumber() index.Name { return index.Name{Kind: 2} }

// A row of all frames of a Source, in file order.
type numbered struct{ Source }

func (numbered) ID(int) string { return "" }

func (n numbered) Places(int) iter.Seq[gulp.FrameInfo] {
	return func(yield func(gulp.FrameInfo) bool) {
		for k := range n.Len() {
			for f := range n.Source.Places(k) {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// A Version is what is known of an object: its size and its ETag.
type Version struct {
	Size int64
	ETag string
}

// A Pair is the two objects that an index is about.
type Pair struct {
	Data, Meta Version
}

// Bound reports whether the ETags of both objects tell one version from another. Without
// an ETag, or with a weak one, other bytes of the same size would pass for the same.
func (p Pair) Bound() bool { return p.unbound() == "" }

// unbound says which ETag is missing, or "".
func (p Pair) unbound() string {
	if why := index.Weakness("the data object", p.Data.ETag); why != "" {
		return why
	}
	return index.Weakness("the "+gulp.MetaSuffix, p.Meta.ETag)
}

// A Source tells the content of a gulp chunk, id by id in file order. A *gulp.Chunk and
// a *gulp.Writer are Sources.
type Source interface {
	Len() int
	ID(k int) string
	Places(k int) iter.Seq[gulp.FrameInfo]
	MetaPlace(k int) (off, n int64, known bool)
	Totals() gulp.Totals
}

// Short is how many bytes of the .gmeta a reader asks for along with the end of the
// index, so that a .gmeta of up to Short bytes needs none. With Tail and a page they are
// less than 64 KB.
const Short = 8 << 10

// Worth reports whether the index of a chunk saves a reader anything, if the .gmeta has
// so many bytes.
func Worth(meta int64) bool { return meta > Short }

// Build makes the index of a gulp chunk. The caller stores it beside the data object,
// under the name of that and index.Suffix. pair are the objects that the chunk was
// made of. Build takes the memory of the result twice, and 8 bytes an id. An id of
// more than 2 KiB is formats.ErrUnsupported, and so is a pair that is not Bound: nothing
// would tell that an object was replaced by one of the same size.
func Build(c Source, pair Pair) ([]byte, error) {
	if why := pair.unbound(); why != "" {
		return nil, &formats.Error{Format: gulp.Format, Off: -1, Part: "index", Err: index.Refused(why)}
	}
	order := make([]int, c.Len())
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(c.ID(a), c.ID(b)) })
	var ib index.Builder
	var sections []*index.SectionBuilder
	if !slices.IsSorted(order) {
		all := builder{s: ib.Section(byNumber())}
		all.w.reset()
		if err := all.add(numbered{c}, 0, 0); err != nil {
			return nil, err
		}
		all.flush()
		sections = append(sections, all.s)
	}
	b := builder{s: ib.Section(byID()), metas: newMetas(c, &ib)}
	b.w.reset()
	for at, k := range order {
		if err := b.add(c, int64(at), k); err != nil {
			return nil, err
		}
	}
	b.flush()
	if b.metas != nil {
		sections = append(sections, b.metas.s)
	}
	sections = append(sections, b.s) // last: what a reader reads first ends with it
	t := c.Totals()
	meta := []byte{version}
	for _, v := range [...]int64{t.IDs, t.Frames, t.Bytes, t.Padding, pair.Meta.Size, int64(len(pair.Meta.ETag))} {
		meta = binary.AppendUvarint(meta, uint64(v))
	}
	meta = append(append(meta, pair.Meta.ETag...), b.fences...)
	built, err := ib.Finish(sections, index.Binding{Size: pair.Data.Size, ETag: pair.Data.ETag}, meta)
	if err != nil {
		return nil, err
	}
	return index.Beside(built, pair.Data.Size), nil
}

// A builder cuts ids and frames into pages.
type builder struct {
	s           *index.SectionBuilder
	metas       *metas // nil: places of meta_data are left out
	w           pageWriter
	first, last int64  // positions of the first and the last id of the page
	id          string // the last id
	fences      []byte // one fence for each page
	fence       string // the last fence
}

// add adds id k of c, which is at a position of the sorted ids.
func (b *builder) add(c Source, at int64, k int) error {
	id := c.ID(k)
	if len(id) > maxID {
		return &formats.Error{Format: gulp.Format, Off: -1, Part: "index", Err: fmt.Errorf("an id of %d bytes: %w", len(id), formats.ErrUnsupported)}
	}
	n, i := int64(0), int64(0)
	for range c.Places(k) {
		n++
	}
	b.begin(id, at, int64(k), n, 0)
	for f := range c.Places(k) {
		if i > 0 && b.w.full() {
			b.flush()
			b.begin(id, at, int64(k), n, i)
		}
		b.w.frame(f)
		i++
	}
	return nil
}

// begin begins an id in the page, or goes on with it in a new page. If the page is full
// it begins a new one.
func (b *builder) begin(id string, at, number, frames, before int64) {
	if before == 0 && b.w.full() {
		b.flush()
	}
	if b.w.n == 0 {
		b.first = at
		b.mark(id, before)
	}
	b.w.add(id, number, frames, before)
	b.metas.add(number)
	b.last, b.id = at, id
}

// mark adds the fence of a page that begins with an id. The fence is the shortest text
// behind the last id of the page before; if that is the same id, it is the whole id.
func (b *builder) mark(id string, before int64) {
	fence := id
	if before == 0 {
		n := sharedLen(b.id, id)
		fence = id[:min(n+1, len(id))]
		if len(b.fences) == 0 {
			fence = ""
		}
	}
	shared := sharedLen(b.fence, fence)
	b.fences = binary.AppendUvarint(b.fences, uint64(shared))
	b.fences = binary.AppendUvarint(b.fences, uint64(len(fence)-shared))
	b.fences = append(b.fences, fence[shared:]...)
	b.fences = binary.AppendUvarint(b.fences, uint64(before))
	b.fence = fence
}

func sharedLen(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// flush ends the page.
func (b *builder) flush() {
	if b.w.n > 0 {
		b.s.Add(b.first, b.last, int64(len(b.w.sizes)), b.w.page())
		b.metas.flush(b.first, b.last)
	}
	b.w.reset()
}
