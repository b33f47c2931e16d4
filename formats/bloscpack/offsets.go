package bloscpack

import (
	"context"
	"encoding/binary"
	"math"
	"sync"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

const (
	entryLen = 8
	// pageLen is how much of the table is read at a time: 2 048 entries, 0.2 ms at
	// the 80 MB/s of one connection to S3.
	pageLen     = 16 << 10
	pageEntries = pageLen / entryLen
	// maxPages bounds the pages that stay in memory: 4 MiB, half a million items.
	maxPages = 256
)

// A table is the offsets section. Its pages are read when they are needed, and some of
// them stay in memory. It is safe for concurrent use.
type table struct {
	r    rangeio.Reader
	off  int64          // of the first entry in the file
	n    int64          // entries that count
	ends []rangeio.Span // bytes that Open read: the head, and those at the hint

	ascend []bool // whether the entries in each of ends do

	mu    sync.Mutex
	pages lru.Cache[int64, page]
}

type page struct {
	b       []byte
	ascends bool
}

// read gives the entries [i, j), which must be few, and checks that each is -1 or
// more. Unknown entries cost one planned read.
func (t *table) read(ctx context.Context, i, j int64) ([]int64, error) {
	if i >= j {
		return nil, nil
	}
	out := make([]int64, j-i)
	for _, e := range t.ends {
		if b := within(e, t.off+i*entryLen, (j-i)*entryLen); b != nil {
			return out, t.decode(out, b, i)
		}
	}
	first, last := i/pageEntries, (j-1)/pageEntries
	pages := make([][]byte, last-first+1)
	var spans []rangeio.Span
	var missing []int64
	for no := first; no <= last; no++ {
		if pages[no-first] = t.held(no); pages[no-first] != nil {
			continue
		}
		n := min(pageLen, (t.n-no*pageEntries)*entryLen)
		b := make([]byte, n)
		pages[no-first] = b
		spans = append(spans, rangeio.Span{Off: t.off + no*pageLen, P: b})
		missing = append(missing, no)
	}
	if len(spans) > 0 {
		if err := t.r.ReadRanges(ctx, spans); err != nil {
			return nil, wrap("offsets", spans[0].Off, err)
		}
		t.keep(missing, spans)
	}
	for k, b := range pages {
		at := (first + int64(k)) * pageEntries
		from, to := max(i, at), min(j, at+pageEntries)
		if err := t.decode(out[from-i:to-i], b[(from-at)*entryLen:], from); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inOrder tells whether the known entries near entry i ascend.
func (t *table) inOrder(i int64) bool {
	for k, e := range t.ends {
		if within(e, t.off+i*entryLen, entryLen) != nil {
			return t.ascend[k]
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	p, ok := t.pages.Peek(i / pageEntries)
	return ok && p.ascends
}

// open takes over the bytes that Open has read.
func (t *table) open(ends []rangeio.Span) {
	t.ends = ends
	for _, e := range ends {
		_, b := t.whole(e)
		t.ascend = append(t.ascend, ascends(b))
	}
}

// follows tells whether the entries that Open read are those of chunks that follow
// each other, each of at least least bytes, the first one at body.
func (t *table) follows(body, least int64) bool {
	from, b := t.whole(t.ends[0])
	next := body
	for k := int64(0); from == 0 && len(b) >= entryLen; k, b = k+1, b[entryLen:] {
		off := int64(binary.LittleEndian.Uint64(b))
		if off < next || k == 0 && off != body {
			return false
		}
		next = min(off, math.MaxInt64-least) + least
	}
	return true
}

// whole gives the entries that lie completely in e; from is the number of the first.
func (t *table) whole(e rangeio.Span) (from int64, b []byte) {
	from = (max(e.Off-t.off, 0) + entryLen - 1) / entryLen
	to := min(max(e.End()-t.off, 0)/entryLen, t.n)
	if from >= to {
		return 0, nil
	}
	return from, within(e, t.off+from*entryLen, (to-from)*entryLen)
}

// ascends tells whether entries ascend, apart from those that are -1.
func ascends(b []byte) bool {
	last := int64(missing)
	for ; len(b) >= entryLen; b = b[entryLen:] {
		off := int64(binary.LittleEndian.Uint64(b))
		if off != missing && off < last {
			return false
		}
		last = max(last, off)
	}
	return true
}

// around gives the known entries near entry i: those of its page, or those that Open
// read. It reads nothing.
func (t *table) around(i int64) []int64 {
	from := i / pageEntries * pageEntries
	b := t.held(i / pageEntries)
	for _, e := range t.ends {
		if b == nil && within(e, t.off+i*entryLen, entryLen) != nil {
			from, b = t.whole(e)
		}
	}
	out := make([]int64, len(b)/entryLen)
	if t.decode(out, b, from) != nil {
		return nil // a bad entry is an error for reads of that entry
	}
	return out
}

// A run reads a table from front to back, in pieces long enough to keep a
// connection busy.
type run struct {
	t    *table
	end  int64 // no entry from here on is wanted
	from int64 // of offs in the table
	offs []int64
	raw  []byte
}

// runEntries is how many entries are read together: 2 MiB of them.
const runEntries = 256 << 10

// read is table.read for a run. The result is valid until the next call.
func (r *run) read(ctx context.Context, i, j int64) ([]int64, error) {
	if i >= r.from && j <= r.from+int64(len(r.offs)) {
		return r.offs[i-r.from : j-r.from], nil
	}
	end := max(r.end, j)
	if end-i <= 2*pageEntries { // few: others may want their pages, too
		return r.t.read(ctx, i, j)
	}
	n := min(max(runEntries, j-i), end-i)
	if int64(cap(r.offs)) < n {
		r.offs, r.raw = make([]int64, n), make([]byte, n*entryLen)
	}
	r.from, r.offs, r.raw = i, r.offs[:n], r.raw[:n*entryLen]
	span := rangeio.Span{Off: r.t.off + i*entryLen, P: r.raw}
	err := r.t.r.ReadRanges(ctx, []rangeio.Span{span})
	if err == nil {
		err = r.t.decode(r.offs, r.raw, i)
	}
	if err != nil {
		r.offs = r.offs[:0]
		return nil, wrap("offsets", span.Off, err)
	}
	return r.offs[:j-i], nil
}

// within gives n bytes at off of a span, nil if the span does not hold them all.
func within(s rangeio.Span, off, n int64) []byte {
	if off < s.Off || n > s.End()-off {
		return nil
	}
	return s.P[off-s.Off:][:n]
}

// decode reads entries from b; the first is number i.
func (t *table) decode(out []int64, b []byte, i int64) error {
	for k := range out {
		v := int64(binary.LittleEndian.Uint64(b[k*entryLen:]))
		if v < -1 {
			return corrupt("offsets", t.off+(i+int64(k))*entryLen, "entry %d is %d", i+int64(k), v)
		}
		out[k] = v
	}
	return nil
}

func (t *table) held(no int64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, _ := t.pages.Get(no)
	return p.b
}

func (t *table) keep(numbers []int64, spans []rangeio.Span) {
	if len(numbers) > maxPages/4 {
		return // a scan does not push out pages that others use
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pages.Max = maxPages
	for k, no := range numbers {
		if _, ok := t.pages.Peek(no); !ok {
			t.pages.Put(no, page{spans[k].P, ascends(spans[k].P)}, 1)
		}
	}
}
