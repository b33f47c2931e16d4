package gulpindex

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/internal/varint"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

// Tail is how many bytes of the end of an index Open reads first. They hold the whole
// index of about 20,000 frames, or the directory of ten million. Together with a page
// and the heads of both objects they are less than 64 KB.
const Tail = 40 << 10

// Options tune Open. The zero value is right for most.
type Options struct {
	// Gulp are the options of the Chunks that Select returns. MaxMeta of its Limits
	// bounds the directory, and the places that one Select returns.
	Gulp gulp.Options
	// Cache bounds the memory of pages and ids that an Index keeps after a read, besides
	// what Open has read. 0 means 1 MiB.
	Cache int64
}

// An Index is an open index of a gulp chunk. All methods are safe for concurrent use.
// It uses both Readers of Open until the last call.
type Index struct {
	r      rangeio.Reader // of the index
	ix     *index.Index
	s      *index.Section
	data   rangeio.Reader
	o      Options
	totals gulp.Totals
	fences []fence
	all    *index.Section // of all frames in file order; s if the ids are in that order
	starts []int64        // numbers of the first frames of the pages of all
	metas  *index.Section // places of meta_data; nil: left out

	metaSize int64 // bytes of the .gmeta
	fixed    int64 // memory of the fences

	mu    sync.Mutex
	pages lru.Cache[pageKey, []byte]
	ids   lru.Cache[string, *excerpt]
}

// A pageKey is a page of a section.
type pageKey struct {
	s *index.Section
	k int
}

// A fence tells which ids are in a page: those from it on, up to the next fence.
type fence struct {
	id     string
	before int64 // if id goes on from the page before: number of its frames there and before
}

// An excerpt is a Chunk of one id that has the places of frames from on, up to to.
type excerpt struct {
	*gulp.Chunk
	from, to int
}

func unusable(text string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), index.ErrUnusable)
}

// Open reads the end of an index from r: one planned read of Tail bytes, and one more if
// the directory is larger. data is the data object of the chunk, whose bytes Open does
// not read. If the index is damaged, too large or not about pair, the error matches
// index.ErrUnusable, and so it does, without a read, if pair is not Bound; other errors
// are those of r.
func Open(ctx context.Context, r, data rangeio.Reader, pair Pair, o Options) (*Index, error) {
	if why := pair.unbound(); why != "" {
		return nil, unusable("%s", why)
	}
	o.Gulp.Limits = o.Gulp.Limits.WithDefaults()
	if o.Cache <= 0 {
		o.Cache = 1 << 20
	}
	ix, err := index.Open(ctx, r, index.Options{Tail: Tail, Limits: o.Gulp.Limits,
		Bind: index.Binding{Size: pair.Data.Size, ETag: pair.Data.ETag}})
	if err != nil {
		return nil, err
	}
	x := &Index{r: r, ix: ix, data: data, o: o}
	x.pages.Max, x.ids.Max = o.Cache/2, o.Cache/2
	if x.s = ix.Section(byID()); x.s == nil {
		return nil, unusable("there is no section of ids")
	}
	if data.Size() != pair.Data.Size || ix.Trailer.Plain != pair.Data.Size {
		return nil, unusable("it is about data of %d bytes, not %d", ix.Trailer.Plain, data.Size())
	}
	if x.all = ix.Section(byNumber()); x.all == nil {
		x.all = x.s
	}
	for _, s := range [...]*index.Section{x.s, x.all} {
		for i := range s.Pages {
			if n := s.Pages[i].Len(); n > maxPage {
				return nil, unusable("page %d has %d bytes", i, n)
			}
		}
	}
	if err := x.parse(ix.Meta, pair.Meta); err != nil {
		return nil, err
	}
	x.metaSize = pair.Meta.Size
	if err := x.metaPages(); err != nil {
		return nil, err
	}
	return x, x.count()
}

// parse reads the meta of the index.
func (x *Index) parse(p []byte, meta Version) error {
	if len(p) == 0 || p[0] != version {
		return unusable("it has another version")
	}
	d := &pageReader{Reader: varint.Reader{P: p[1:]}}
	t := gulp.Totals{IDs: d.uint(maxCount), Frames: d.uint(maxCount), Bytes: d.uint(maxSize), Padding: d.uint(maxSize), DataBytes: x.data.Size()}
	size, n := d.uint(maxSize), d.uint(int64(len(d.P)))
	if d.Bad || n > int64(len(d.P)) {
		return unusable("it has no totals")
	}
	etag := string(d.P[:n])
	d.P = d.P[n:]
	switch l := x.o.Gulp.Limits; {
	case size != meta.Size:
		return unusable("it is about another version of the %s, of %d bytes", gulp.MetaSuffix, size)
	case etag != meta.ETag:
		return unusable("it is about another version of the %s, or another copy: the size is the same, the ETag is not", gulp.MetaSuffix)
	case t.IDs+t.Frames > l.MaxEntries:
		return unusable("%d ids and %d frames, over the limit", t.IDs, t.Frames)
	case t.Bytes > t.DataBytes || t.Padding > t.DataBytes-t.Bytes:
		return unusable("%d bytes of frames in %d of data", t.Bytes, t.DataBytes)
	}
	x.totals = t
	return x.parseFences(d)
}

const maxSize = 1 << 62

func (x *Index) parseFences(d *pageReader) error {
	x.fences = make([]fence, len(x.s.Pages))
	var id []byte
	ids := int64(0)
	for i := range x.fences {
		shared, n := d.uint(int64(len(id))), d.uint(int64(min(len(d.P), maxID)))
		if d.Bad || n > int64(len(d.P)) || shared+n > maxID {
			return unusable("fence %d", i)
		}
		id = append(id[:shared], d.P[:n]...)
		d.P = d.P[n:]
		f := &x.fences[i]
		f.id, f.before = string(id), d.uint(maxCount)
		if x.fixed += fenceCost + int64(len(id)); x.fixed > x.o.Gulp.Limits.MaxMeta {
			return unusable("more than %d bytes of fences", x.o.Gulp.Limits.MaxMeta)
		}
		p := &x.s.Pages[i]
		goesOn := f.before > 0
		switch {
		case i == 0 && (goesOn || p.First != 0), i > 0 && f.compare(x.fences[i-1].id, x.fences[i-1].before) <= 0:
			return unusable("fence %d is not behind the one before", i)
		case i > 0 && goesOn && p.First != ids-1, i > 0 && !goesOn && p.First != ids:
			return unusable("page %d begins with id %d of %d", i, p.First, ids)
		}
		ids = p.Last + 1
	}
	if d.Bad || len(d.P) > 0 || ids != x.totals.IDs {
		return unusable("%d ids in pages, %d in all", ids, x.totals.IDs)
	}
	return nil
}

// fenceCost is the memory of a fence without its text.
const fenceCost = 24

// compare compares the place of the fence with that of a frame of an id.
func (f *fence) compare(id string, frame int64) int {
	if c := strings.Compare(f.id, id); c != 0 {
		return c
	}
	switch {
	case f.before < frame:
		return -1
	case f.before > frame:
		return 1
	}
	return 0
}

// pageOf returns the number of the page that has the given frame of id, or would have
// it; -1 if there is no page.
func (x *Index) pageOf(id string, frame int64) int {
	return sort.Search(len(x.fences), func(i int) bool { return x.fences[i].compare(id, frame) > 0 }) - 1
}

// Totals returns the sums over the gulp chunk, as the index has them.
func (x *Index) Totals() gulp.Totals { return x.totals }

// Bytes returns the size of the index object.
func (x *Index) Bytes() int64 { return x.ix.Trailer.Len + index.TrailerLen }

// HeldBytes returns about how many bytes of memory the Index takes. It does not count
// the Readers.
func (x *Index) HeldBytes() int64 {
	const own = 512
	x.mu.Lock()
	defer x.mu.Unlock()
	return own + x.ix.HeldBytes() + x.fixed + x.pages.Cost() + x.ids.Cost()
}

// Frames returns the number of frames of id, as gulp.Chunk.Frames does. If the page of
// the id is not in memory, it costs one request. Errors are those of Select.
func (x *Index) Frames(ctx context.Context, id string) (int, error) {
	c, err := x.Select(ctx, id, 0, 0)
	if err != nil {
		return 0, err
	}
	return c.Frames(id)
}

// Select returns a Chunk of one id, by which at least the frames from to to-1 can be
// read, as far as the id has them. The Chunk has no meta_data. Pages that are not in
// memory are read by one planned read.
//
// An id that is not in the index is formats.ErrNoEntry. If a page is damaged, the error
// matches index.ErrUnusable. If the places take more memory than MaxMeta, it is
// formats.ErrTooLarge. Other errors are those of a read.
func (x *Index) Select(ctx context.Context, id string, from, to int) (*gulp.Chunk, error) {
	from, to = max(from, 0), max(to, 0)
	x.mu.Lock()
	e, ok := x.ids.Get(id)
	x.mu.Unlock()
	if ok {
		n, err := e.Frames(id)
		if err != nil {
			return nil, err
		}
		if min(from, n) >= e.from && min(to, n) <= e.to || from >= to {
			return e.Chunk, nil
		}
	}
	i := x.pageOf(id, int64(from))
	j := max(i, x.pageOf(id, int64(max(from, to-1)))) + 1
	e, err := x.excerpt(ctx, id, i, j)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	x.ids.Put(id, e, e.HeldBytes())
	x.mu.Unlock()
	return e.Chunk, nil
}

// excerpt makes a Chunk of what the pages [i, j) have of id.
func (x *Index) excerpt(ctx context.Context, id string, i, j int) (*excerpt, error) {
	if i < 0 {
		return nil, noEntry(id)
	}
	frames := int64(0)
	for k := i; k < j; k++ {
		frames += x.s.Pages[k].Count
	}
	if err := x.fits(frames, j-i); err != nil {
		return nil, err
	}
	pages, err := x.read(ctx, x.s, i, j)
	if err != nil {
		return nil, err
	}
	e := gulp.Excerpt{ID: id}
	for k, p := range pages {
		found, err := x.search(&e, i+k, p)
		if err != nil {
			return nil, err
		}
		if !found && k > 0 {
			return nil, unusable("page %d does not go on with the id of the page before", i+k)
		}
		if !found {
			return nil, noEntry(id)
		}
	}
	c, err := gulp.NewExcerpt(x.data, e, x.o.Gulp)
	if err != nil {
		return nil, unusable("%s", err)
	}
	return &excerpt{c, e.From, e.From + len(e.Known)}, nil
}

// fits returns an error if the places of so many frames, out of more than one page, take
// more memory than MaxMeta.
func (x *Index) fits(frames int64, pages int) error {
	const cost = 40 // a FrameInfo and its 16 bytes in a Chunk
	if most := x.o.Gulp.Limits.MaxMeta; pages > 1 && (frames > most/cost || int64(pages) > most/maxPage) {
		return &formats.Error{Format: gulp.Format, Off: -1, Part: "index", Err: fmt.Errorf("places of %d frames at once: %w", frames, formats.ErrTooLarge)}
	}
	return nil
}

func noEntry(id string) error {
	const most = 80
	if len(id) > most {
		id = id[:most] + "…"
	}
	return &formats.Error{Format: gulp.Format, Part: fmt.Sprintf("id %q", id), Off: -1, Err: formats.ErrNoEntry}
}

// search looks for the id of e in page k, and adds the frames that the page has of it.
func (x *Index) search(e *gulp.Excerpt, k int, p []byte) (found bool, err error) {
	r, err := newPageReader(p, &x.s.Pages[k])
	if err != nil {
		return false, err
	}
	first, here := 0, 0
	for r.k < r.n {
		at := r.given
		row, err := r.next()
		if err != nil {
			return false, err
		}
		if c := strings.Compare(string(row.id), e.ID); c > 0 && !found {
			return false, nil
		} else if c != 0 {
			continue
		}
		switch have := int64(e.From + len(e.Known)); {
		case e.Frames == 0 && len(e.Known) == 0:
			e.From, e.Frames = int(row.before), int(row.frames)
		case row.before != have || row.frames != int64(e.Frames):
			return false, r.fail("frames from %d of %d on, where %d of %d should be", row.before, row.frames, have, e.Frames)
		}
		found, first, here = true, at, row.here
	}
	if !found {
		return false, nil
	}
	all, err := r.places(nil, x.data.Size())
	if err != nil {
		return false, err
	}
	e.Known = append(e.Known, all[first:first+here]...)
	return true, nil
}

// read returns the pages [i, j) of s. Pages that are not in memory are read in one planned
// read.
func (x *Index) read(ctx context.Context, s *index.Section, i, j int) ([][]byte, error) {
	if j-i == 1 {
		x.mu.Lock()
		p, ok := x.pages.Get(pageKey{s, i})
		x.mu.Unlock()
		if ok {
			return [][]byte{p}, nil
		}
	}
	held := x.ix.Held(s, i, j)
	pages, err := x.ix.Pages(ctx, index.Parts{Section: s, I: i, J: j})
	if err != nil || held || j-i > 1 {
		return pages, err
	}
	x.mu.Lock()
	x.pages.Put(pageKey{s, i}, pages[0], int64(cap(pages[0])))
	x.mu.Unlock()
	return pages, nil
}
