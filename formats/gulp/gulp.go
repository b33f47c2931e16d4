// Package gulp reads and writes GulpIO chunks: a .gulp object of encoded
// images, one after the other, and a .gmeta object of JSON that says where each
// image of each id lies.
//
// A [Chunk] is one such pair. A [Dataset] is a folder or prefix of pairs
// data_N.gulp / meta_N.gmeta. [Writer] and [DatasetWriter] make them. Payload
// bytes pass through untouched in both directions; no image is ever decoded.
package gulp

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// Format is formats.Error.Format in errors of this package.
const Format = "gulp"

// Options tune Open and OpenDataset. The zero value is right for most.
type Options struct {
	// Limits bound the memory. MaxMeta bounds the size of a .gmeta, and the memory of
	// its index; for a loaded Dataset it bounds the memory of all indexes together.
	// MaxEntries bounds ids and frames together, and the chunks of a Dataset.
	// MaxDecoded bounds the memory that one call allocates to read.
	Limits formats.Limits
	// Window is the most that Each, EachFrame and Verify read at once, unless
	// one frame is larger, and the size of the pieces in which a large .gmeta
	// is scanned. Two windows are held at a time. 0 means 4 MiB: two requests
	// of the fast policy's longest range.
	Window int64
	// Parallel is how many chunks Dataset.Load opens at a time. 0 means 8,
	// which are 16 objects, two for each chunk.
	Parallel int
}

const (
	defaultWindow   = 4 << 20
	defaultParallel = 8
)

func (o Options) withDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	if o.Window <= 0 {
		o.Window = defaultWindow
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	return o
}

// A Chunk is an open gulp chunk. It holds the whole index in memory, and no
// image. All methods are safe for concurrent use. The Chunk uses the Reader of
// the data until the last call; it does not use the Reader of the index after
// Open.
type Chunk struct {
	data   rangeio.Reader
	o      Options
	items  []item
	byID   map[string]int
	totals Totals
	kept   int64     // estimated memory of the index in bytes
	spans  sync.Pool // *[1]rangeio.Span, so that AppendFrame allocates nothing

	count  sync.Once
	starts []int // numbers of the first frames of the items, once Numbered was called
}

// An item is the entry of one id in the index.
type item struct {
	id     string
	frames []frame
	meta   []byte // raw meta_data, nil when absent
	// metaOff is the offset of meta in the .gmeta.
	metaOff int64
	// before and after are the numbers of frames in front of frames, and behind them,
	// that an Excerpt leaves out.
	before, after int
}

// count is the number of frames of the id, known or not.
func (it *item) count() int { return it.before + len(it.frames) + it.after }

// A frame is one triplet in 16 bytes.
type frame struct {
	off int64
	lp  uint64 // total length << 2 | padding
}

func newFrame(off, pad, total int64) frame {
	return frame{off, uint64(total)<<2 | uint64(pad)}
}

func (f frame) pad() int64     { return int64(f.lp & 3) }
func (f frame) total() int64   { return int64(f.lp >> 2) }
func (f frame) size() int64    { return f.total() - f.pad() }
func (f frame) end() int64     { return f.off + f.total() }
func (f frame) dataEnd() int64 { return f.off + f.size() }
func (f frame) public() FrameInfo {
	return FrameInfo{Off: f.off, Pad: int(f.pad()), Size: f.size()}
}

// Totals are the sums over a gulp chunk.
type Totals struct {
	IDs, Frames int64
	Bytes       int64 // payload, without padding
	Padding     int64
	DataBytes   int64 // size of the data object; for a Writer the size so far
}

// Add returns the sums over the chunks of both.
func (t Totals) Add(o Totals) Totals {
	t.IDs += o.IDs
	t.Frames += o.Frames
	t.Bytes += o.Bytes
	t.Padding += o.Padding
	t.DataBytes += o.DataBytes
	return t
}

// Unclaimed is the number of bytes of the data object that no frame covers:
// holes, or the frames of an append that never wrote its index.
func (t Totals) Unclaimed() int64 { return t.DataBytes - t.Bytes - t.Padding }

// FrameInfo is the place of a frame in the data object.
type FrameInfo struct {
	Off  int64
	Pad  int   // bytes after the payload, 0 to 3; zeros, which only Verify checks
	Size int64 // payload bytes, without padding
}

// Item is the entry of one id in the index.
type Item struct {
	ID     string
	Frames int
	Bytes  int64 // payload, without padding
	// MetaData is what Chunk.MetaData returns for the id.
	MetaData json.RawMessage
}

// Open reads the index, the .gmeta, and checks every entry of it against the
// size of data; data itself is not read. An index of up to two windows
// (Options.Window) is one planned read, a larger one is streamed with the next
// window read ahead. The Chunk keeps about 16 bytes a frame, 130 an id, the ids
// and the meta_data text.
//
// Open fails with ErrCorrupt if the text is not UTF-8 JSON of the right shape,
// an entry lies outside data, two entries claim the same byte, padding is not 0
// to 3 or leaves no payload, or an id occurs twice; with ErrTooLarge if a limit
// is passed; with ErrUnsupported if an id has half of a surrogate pair. Such an
// error is a *formats.Error that names id and frame; its Off is a position in
// the .gmeta, or -1 if the error is about no single place: an overlap, a limit.
// An error of a reader keeps its identity.
func Open(ctx context.Context, meta, data rangeio.Reader, o Options) (*Chunk, error) {
	o = o.withDefaults()
	if meta.Size() > o.Limits.MaxMeta {
		return nil, &formats.Error{Format: Format, Part: "gmeta", Off: -1,
			Err: fmt.Errorf("%d bytes of index: %w", meta.Size(), formats.ErrTooLarge)}
	}
	text, stop := windows(ctx, meta, o.Window)
	defer stop()
	b := newBuilder(text, meta.Size(), data.Size(), o.Limits)
	if err := b.parse(); err != nil {
		return nil, err
	}
	c := &Chunk{data: data, o: o, items: b.items, byID: b.byID, totals: b.totals, kept: b.kept}
	c.totals.IDs = int64(len(c.items))
	c.totals.DataBytes = data.Size()
	c.spans.New = newSpan
	return c, nil
}

// windows returns the text of an index window by window, each valid until the next
// call, and errEnd at the end. stop ends reads that are under way.
func windows(ctx context.Context, meta rangeio.Reader, size int64) (next func() ([]byte, error), stop func()) {
	if meta.Size() <= 2*size { // the memory is the same, and nothing is read twice in a row
		size = meta.Size()
	}
	p := pull.Pull[struct{}]{From: meta, Window: size}
	p.Stretch(0, meta.Size(), size)
	window, stop := iter.Pull2(p.Windows(ctx))
	return func() ([]byte, error) {
		w, err, ok := window()
		switch {
		case !ok:
			return nil, errEnd
		case err != nil:
			return nil, err
		}
		return w.Bytes(0), nil
	}, stop
}

// HeldBytes returns about how many bytes of memory the index takes, as Limits.MaxMeta
// counts it.
func (c *Chunk) HeldBytes() int64 {
	const fixed = 512 // the struct
	return c.kept + fixed
}

// Len is the number of ids.
func (c *Chunk) Len() int { return len(c.items) }

// ID is the id at position k of file order. It panics when k is not in
// [0, Len), as indexing does.
func (c *Chunk) ID(k int) string { return c.items[k].id }

// IDs yields the ids in file order.
func (c *Chunk) IDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range c.items {
			if !yield(c.items[i].id) {
				return
			}
		}
	}
}

// All yields the entries of the index, in file order.
func (c *Chunk) All() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		for i := range c.items {
			if !yield(c.items[i].public()) {
				return
			}
		}
	}
}

// Item returns the entry of id in the index, or ErrNoEntry.
func (c *Chunk) Item(id string) (Item, error) {
	it, err := c.find(id)
	if err != nil {
		return Item{}, err
	}
	return it.public(), nil
}

// Has reports whether id is in the index.
func (c *Chunk) Has(id string) bool {
	_, ok := c.byID[id]
	return ok
}

// Frames is the number of frames of id, which may be 0. An unknown id is
// ErrNoEntry.
func (c *Chunk) Frames(id string) (int, error) {
	it, err := c.find(id)
	if err != nil {
		return 0, err
	}
	return it.count(), nil
}

// Frame returns the place of frame i of id. If there is no such id, the error
// matches formats.ErrNoEntry. If the id has no such frame, the error also
// matches ErrIndex.
func (c *Chunk) Frame(id string, i int) (FrameInfo, error) {
	f, err := c.frame(id, i)
	if err != nil {
		return FrameInfo{}, err
	}
	return f.public(), nil
}

// Places yields the places of the frames of the id at position k of file order. It
// panics when k is not in [0, Len).
func (c *Chunk) Places(k int) iter.Seq[FrameInfo] {
	return func(yield func(FrameInfo) bool) {
		for _, f := range c.items[k].frames {
			if !yield(f.public()) {
				return
			}
		}
	}
}

// MetaPlace returns where in the .gmeta the meta_data of the id at position k of file
// order lie. n is 0 if there are none, and known is false if that is not known. It panics
// when k is not in [0, Len).
func (c *Chunk) MetaPlace(k int) (off, n int64, known bool) {
	it := &c.items[k]
	return it.metaOff, int64(len(it.meta)), true
}

// MetaData is the meta_data of id exactly as stored, or nil if the id has none.
// It must not be modified. The text is JSON of any shape, except that it may
// hold the number words of Python (NaN, Infinity, -Infinity), which GulpIO
// writes and reads: PlainJSON makes strict JSON of it. An unknown id is
// ErrNoEntry.
func (c *Chunk) MetaData(id string) (json.RawMessage, error) {
	it, err := c.find(id)
	if err != nil {
		return nil, err
	}
	return it.meta, nil
}

// Totals returns the sums over all ids.
func (c *Chunk) Totals() Totals { return c.totals }

func (it *item) public() Item {
	p := Item{ID: it.id, Frames: it.count(), MetaData: it.meta}
	for _, f := range it.frames {
		p.Bytes += f.size()
	}
	return p
}

func (c *Chunk) find(id string) (*item, error) {
	k, ok := c.byID[id]
	if !ok {
		return nil, &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: formats.ErrNoEntry}
	}
	return &c.items[k], nil
}

func (c *Chunk) frame(id string, i int) (frame, error) {
	it, err := c.find(id)
	if err != nil {
		return frame{}, err
	}
	if i < 0 || i >= it.count() {
		return frame{}, &formats.Error{Format: Format, Part: partOf(id), Off: -1,
			Err: fmt.Errorf("frame %d of %d: %w", i, it.count(), errNoFrame)}
	}
	if err := it.holds(i, i); err != nil {
		return frame{}, err
	}
	return it.frames[i-it.before], nil
}

// partOf names an id in an error. Hostile ids are quoted and cut short.
func partOf(id string) string {
	const most = 80 // enough to recognise an id, little enough for one line
	if len(id) > most {
		return fmt.Sprintf("id %q (%d bytes)", id[:most]+"…", len(id))
	}
	return fmt.Sprintf("id %q", id)
}
