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
	fixed  int64 // memory of the fences

	mu    sync.Mutex
	pages lru.Cache[int, []byte]
	ids   lru.Cache[string, *excerpt]
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
// index.ErrUnusable; other errors are those of r.
func Open(ctx context.Context, r, data rangeio.Reader, pair Pair, o Options) (*Index, error) {
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
	if x.s = ix.Section(section()); x.s == nil {
		return nil, unusable("there is no section of ids")
	}
	if data.Size() != pair.Data.Size || ix.Trailer.Plain != pair.Data.Size {
		return nil, unusable("it is about data of %d bytes, not %d", ix.Trailer.Plain, data.Size())
	}
	for i := range x.s.Pages {
		if n := x.s.Pages[i].Len(); n > maxPage {
			return nil, unusable("page %d has %d bytes", i, n)
		}
	}
	return x, x.parse(ix.Meta, pair.Meta)
}

// parse reads the meta of the index.
func (x *Index) parse(p []byte, meta Version) error {
	if len(p) == 0 || p[0] != version {
		return unusable("it has another version")
	}
	d := &pageReader{p: p[1:]}
	t := gulp.Totals{IDs: d.uint(maxCount), Frames: d.uint(maxCount), Bytes: d.uint(maxSize), Padding: d.uint(maxSize), DataBytes: x.data.Size()}
	size, n := d.uint(maxSize), d.uint(int64(len(d.p)))
	if d.bad || n > int64(len(d.p)) {
		return unusable("it has no totals")
	}
	etag := string(d.p[:n])
	d.p = d.p[n:]
	switch l := x.o.Gulp.Limits; {
	case size != meta.Size || etag != meta.ETag:
		return unusable("it is about another version of the %s, of %d bytes", gulp.MetaSuffix, size)
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
		shared, n := d.uint(int64(len(id))), d.uint(int64(min(len(d.p), maxID)))
		if d.bad || n > int64(len(d.p)) || shared+n > maxID {
			return unusable("fence %d", i)
		}
		id = append(id[:shared], d.p[:n]...)
		d.p = d.p[n:]
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
	if d.bad || len(d.p) > 0 || ids != x.totals.IDs {
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
	const cost = 40 // a FrameInfo and its 16 bytes in a Chunk
	if most := x.o.Gulp.Limits.MaxMeta; j-i > 1 && (frames > most/cost || int64(j-i) > most/maxPage) {
		return nil, &formats.Error{Format: gulp.Format, Off: -1, Part: "index", Err: fmt.Errorf("%d frames of one id: %w", frames, formats.ErrTooLarge)}
	}
	pages, err := x.read(ctx, i, j)
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

// read returns the pages [i, j). Pages that are not in memory are read in one planned
// read.
func (x *Index) read(ctx context.Context, i, j int) ([][]byte, error) {
	if j-i == 1 {
		x.mu.Lock()
		p, ok := x.pages.Get(i)
		x.mu.Unlock()
		if ok {
			return [][]byte{p}, nil
		}
	}
	held := x.ix.Held(x.s, i, j)
	pages, err := x.ix.Pages(ctx, index.Parts{Section: x.s, I: i, J: j})
	if err != nil || held || j-i > 1 {
		return pages, err
	}
	x.mu.Lock()
	x.pages.Put(i, pages[0], int64(cap(pages[0])))
	x.mu.Unlock()
	return pages, nil
}

// Walk calls fn for each id, in the order of their bytes, and for each run of frames of
// it that a page has: number is that of the id in file order, frames that of all its
// frames, and from the number of the first of known. id and known are valid during the
// call only. Walk reads all pages, some MiB at a time. Errors are those of Select, or
// what fn returns.
func (x *Index) Walk(ctx context.Context, fn func(id string, number int64, frames, from int, known []gulp.FrameInfo) error) error {
	const step = 256 // 4 MiB at the most
	var places []gulp.FrameInfo
	for i := 0; i < len(x.fences); i += step {
		j := min(i+step, len(x.fences))
		err := x.ix.Each(ctx, x.r, index.Parts{Section: x.s, I: i, J: j}, "index", func(k int, p []byte) error {
			var err error
			places, err = x.walk(k, p, places[:0], fn)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *Index) walk(k int, p []byte, places []gulp.FrameInfo, fn func(string, int64, int, int, []gulp.FrameInfo) error) ([]gulp.FrameInfo, error) {
	r, err := newPageReader(p, &x.s.Pages[k])
	if err != nil {
		return places, err
	}
	ahead := *r
	for ahead.k < ahead.n {
		if _, err := ahead.next(); err != nil {
			return places, err
		}
	}
	if places, err = ahead.places(places, x.data.Size()); err != nil {
		return places, err
	}
	r.row.id = nil // ahead has used its memory
	for r.k < r.n {
		at := r.given
		row, err := r.next()
		if err != nil {
			return places, err
		}
		if err := fn(string(row.id), row.number, int(row.frames), int(row.before), places[at:r.given]); err != nil {
			return places, err
		}
	}
	return places, nil
}

// Verify reads the whole index, compares its bytes with their hash, and its content with
// the chunk that it is about. If they differ, the error matches index.ErrUnusable.
func (x *Index) Verify(ctx context.Context, c *gulp.Chunk) error {
	if err := x.ix.Verify(ctx); err != nil {
		return err
	}
	if x.totals != c.Totals() {
		return unusable("its totals are %+v, those of the chunk %+v", x.totals, c.Totals())
	}
	ids, frames := 0, int64(0)
	err := x.Walk(ctx, func(id string, number int64, n, from int, known []gulp.FrameInfo) error {
		if have, err := c.Frames(id); err != nil || have != n || number >= int64(c.Len()) || c.ID(int(number)) != id {
			return unusable("id %q is number %d with %d frames, which the chunk does not have so", id, number, n)
		}
		for i, f := range known {
			if have, err := c.Frame(id, from+i); err != nil || have != f {
				return unusable("frame %d of id %q is at %d, with %d bytes, where the chunk has %d, %d", from+i, id, f.Off, f.Size, have.Off, have.Size)
			}
		}
		if frames += int64(len(known)); from == 0 {
			ids++
		}
		return nil
	})
	if err == nil && (ids != c.Len() || frames != x.totals.Frames) {
		err = unusable("it has %d ids and %d frames of %d and %d", ids, frames, c.Len(), x.totals.Frames)
	}
	return err
}
