package zoomcache

import (
	"cmp"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/farread/farread/formats"
)

// DefaultWatermark is the number of values of a track in a packet, as in the
// original program.
const DefaultWatermark = 1024

const (
	// maxWindow and maxPayload bound a packet. Readers take no more
	// (formats.DefaultLimits), and the fields are i32.
	maxWindow  = 1 << 28
	maxPayload = 1 << 30
	// drainAt is the number of bytes that the Writer collects before it writes
	// them to the output.
	drainAt = 256 << 10
)

// WriteOptions are the options of a Writer. The zero value is for a file
// without tracks.
type WriteOptions struct {
	Origin Origin  // UTC of time 0; the zero value is unknown
	Tracks []Track // tracks in any order; a number may occur only once
	// Watermark is the number of values of one track (of each channel) that ends
	// the packets of all tracks. 0 means DefaultWatermark; below 0 only Flush
	// ends packets. SetWatermark changes it for one track.
	Watermark int
	NoRaw     bool // write summaries only, no packets
	// Parallel is the number of goroutines that summarise and encode if one call
	// has many windows. 0 means GOMAXPROCS. The bytes written do not depend on it.
	Parallel int
	// Sink, if not nil, is called for everything that is written.
	Sink Sink
}

// A Sink watches a Writer, so that an index comes from the same pass. The calls
// come one at a time, in the order of the file, from the goroutine that appends;
// their arguments are valid until they return. An error ends the writing.
type Sink interface {
	// Window is called for the values of each track in each flush, before the
	// blocks of that flush. It is not called for tracks without new values.
	Window(w *Window) error
	// Packet and Summary are called for each block, with empty packets. Off and
	// Len are the place of the block.
	Packet(b *Block) error
	Summary(s *Summary) error
	// Finish is called at the end of the plain file, with its length. It may add
	// packets of tracks that the header does not declare; readers skip them. add
	// writes payload piece by piece, without a copy, and returns the offset of the
	// packet's header.
	Finish(end int64, add func(track int32, payload ...[]byte) (off int64, err error)) error
}

// An Interleaver is a Sink that may also add such packets between the blocks of
// the file, so that it does not have to hold data that grow with the file until
// the end. Between is called after each flush.
type Interleaver interface {
	Sink
	Between(add func(track int32, payload ...[]byte) (off int64, err error)) error
}

// A BlockSink is a Sink that needs only the headers of summaries: SummaryBlock is
// called in place of Summary, which costs less.
type BlockSink interface {
	Sink
	SummaryBlock(b *Block) error
}

// A Taker is an output that may write on a goroutine of its own. Take gets bytes that belong
// to it from then on, and returns memory for others, or nil. Its error may be that of bytes
// before. Write puts its bytes behind those that Take got. The Writer calls Take for blocks and Write
// for what a Sink adds; who made the Taker waits for its end after Close, or before the output is given up.
type Taker interface {
	io.Writer
	Take(p []byte) (free []byte, err error)
}

// A Window holds the values that one track gathered between two flushes.
type Window struct {
	Track       *Track
	Entry, Exit int64   // offsets of the first and the last value
	Values      Values  // interleaved channels
	Stamps      []int64 // the offset of each value; nil at constant rate
}

// A Writer makes a zoom-cache file from front to back, byte for byte as the
// original library makes it from the same calls (zlib streams apart, which inflate
// to the same). It holds one window of values for each track, one summary for each
// level, and up to 256 KiB that are not written yet; the length of the series does
// not matter. A Writer and its TrackWriters are for one goroutine at a time.
//
// Values that do not fit their track are formats.ErrUnsupported and leave the
// Writer as it was, as do calls after Close. After any other error every call
// returns that error and the output is of no use.
type Writer struct {
	out      io.Writer
	taker    Taker // out as a Taker, nil if it is not one
	o        WriteOptions
	tracks   []*TrackWriter // ascending numbers
	buf      []byte
	off      int64 // offset of buf in the file
	err      error
	finished bool
	pieces   []piece // pieces of the values; there is at least one
	pieceAt  int     // pieceValues, less in tests
	squeezed []piece // payloads that squeeze made, for one group of tracks
	win      Window  // memory for Sink.Window
	sum      Summary
	sinkOut  Block
	between  Interleaver // Sink as an Interleaver, nil if it is not one
	add      func(track int32, payload ...[]byte) (int64, error)
	blocks   BlockSink // Sink as a BlockSink, nil if it is not one
}

// A TrackWriter takes the values of one track; see WriteSamples and WriteSamplesAt.
type TrackWriter struct {
	w           *Writer
	t           Track
	lane        lane
	watermark   int
	entry, exit int64
}

// NewWriter begins a file with the headers, tracks in ascending order and rates in
// lowest terms. Tracks that the format cannot hold are errors as in AppendHeader.
// NewWriter writes nothing to w until 256 KiB are collected, or until Close.
// Errors of w are wrapped, so that errors.Is finds them. The caller closes w, if
// need be. If w is a Taker, it may be given bytes that it writes later.
func NewWriter(w io.Writer, o WriteOptions) (*Writer, error) {
	o.Tracks = slices.Clone(o.Tracks)
	slices.SortStableFunc(o.Tracks, func(a, b Track) int { return cmp.Compare(a.Number, b.Number) })
	z := &Writer{out: w, o: o, pieces: make([]piece, 1), pieceAt: pieceValues}
	z.taker, _ = w.(Taker)
	z.between, _ = o.Sink.(Interleaver)
	z.add = z.addPacket // once, not for each flush
	z.blocks, _ = o.Sink.(BlockSink)
	for i := range o.Tracks {
		t := &o.Tracks[i]
		ok := false
		if t.Rate, ok = t.Rate.lowest(); !ok {
			return nil, unsupported(fmt.Sprintf("header of track %d", t.Number), -1, "the rate does not fit into 64 bits")
		}
	}
	var err error
	z.buf, err = AppendHeader(nil, &Header{Major: versionMajor, Minor: versionMinor, Origin: o.Origin, Tracks: o.Tracks})
	if err != nil {
		return nil, err
	}
	for _, t := range o.Tracks {
		tw := &TrackWriter{w: z, t: t, watermark: DefaultWatermark}
		tw.lane = newLane(tw)
		z.tracks = append(z.tracks, tw)
		if o.Watermark != 0 {
			tw.watermark = o.Watermark
		}
	}
	return z, nil
}

// Track returns the writer of a track, or nil if no track has this number.
func (w *Writer) Track(number int32) *TrackWriter {
	i, ok := slices.BinarySearchFunc(w.tracks, number, func(t *TrackWriter, n int32) int { return cmp.Compare(t.t.Number, n) })
	if !ok {
		return nil
	}
	return w.tracks[i]
}

// SetWatermark changes how many values of the track (of each channel) end a packet,
// from the next value on. 0 counts as 1; below 0 only Flush ends packets, and the
// Writer holds all values until then.
func (t *TrackWriter) SetWatermark(n int) {
	if n == 0 {
		n = 1 // as in the original: every value ends a packet
	}
	t.watermark = n
}

// Offset is the sample offset of the last value, 0 before the first.
func (t *TrackWriter) Offset() int64 { return t.exit }

// Value lists the types of values: each Kind has one. Int takes int64, Word
// uint64, Integer *big.Int, Unit struct{}.
type Value interface {
	struct{} | bool | float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | *big.Int
}

// WriteSamples appends values to a track of constant rate, the channels of a
// multichannel track interleaved. How values are divided among calls does not
// change the file. The caller may reuse v, but must not change big integers in
// it. Packets of all tracks are written when one of them reaches its watermark. A
// wrong type or number of values is formats.ErrUnsupported.
func WriteSamples[T Value](t *TrackWriter, v []T) error { return appendValues(t, v, nil) }

// WriteSamplesAt is WriteSamples for a track of variable rate: stamps hold the offset of each
// value, or of the values of all channels. Offsets may repeat and go backwards.
func WriteSamplesAt[T Value](t *TrackWriter, stamps []int64, v []T) error {
	if stamps == nil {
		stamps = []int64{}
	}
	return appendValues(t, v, stamps)
}

func appendValues[T Value](t *TrackWriter, v []T, stamps []int64) error {
	w := t.w
	if err := w.usable(); err != nil {
		return err
	}
	bad := func(text string, args ...any) error {
		return unsupported(fmt.Sprintf("track %d", t.t.Number), -1, text, args...)
	}
	l, ok := t.lane.(*typedLane[T])
	width := t.t.Codec.Width()
	switch {
	case !ok:
		return bad("the codec %s takes other values than %T", t.t.Codec, v)
	case t.t.Variable != (stamps != nil):
		return bad("values with stamps belong to tracks of variable rate, others to those of constant rate")
	case len(v)%width != 0:
		return bad("%d values for %d channels", len(v), width)
	case stamps != nil && len(stamps) != len(v)/width:
		return bad("%d stamps for %d values of %d channels", len(stamps), len(v), width)
	}
	w.err = l.put(v, stamps)
	return w.err
}

func (w *Writer) usable() error {
	if w.err == nil && w.finished {
		return unsupported("file", -1, "it is finished")
	}
	return w.err
}

// Flush ends the packets of all tracks and makes their summaries. A track without
// new values gets an empty packet. The output may get these bytes as late as in
// Close.
func (w *Writer) Flush() error {
	if err := w.usable(); err != nil {
		return err
	}
	w.err = w.flush()
	return w.err
}

// Close flushes, writes the last summaries, lets the Sink add an index, and gives
// the output all bytes. The caller closes the output. A second Close is
// formats.ErrUnsupported.
func (w *Writer) Close() error {
	if err := w.usable(); err != nil {
		return err
	}
	w.err = w.close()
	return w.err
}

func (w *Writer) close() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.packets(); err != nil {
		return err
	}
	for _, t := range w.tracks {
		t.lane.finish()
	}
	if err := w.summaries(); err != nil {
		return err
	}
	w.finished = true
	if w.o.Sink != nil {
		if err := w.o.Sink.Finish(w.Offset(), w.addPacket); err != nil {
			return err
		}
	}
	return w.drain()
}

// Offset is the length of the file so far, with bytes that the output has not got
// yet.
func (w *Writer) Offset() int64 { return w.off + int64(len(w.buf)) }

// addPacket appends an empty packet with a payload of any content.
func (w *Writer) addPacket(track int32, payload ...[]byte) (int64, error) {
	if w.Track(track) != nil {
		return 0, fail("packet", -1, formats.ErrUnsupported, "track %d is declared", track)
	}
	off := w.Offset()
	b := Block{Track: track}
	for _, p := range payload {
		b.Len += int64(len(p))
	}
	if b.Len > maxPayload {
		return 0, tooLarge("packet", -1, "a payload of %d bytes", b.Len)
	}
	w.buf = b.append(w.buf)
	if err := w.drain(); err != nil {
		return 0, err
	}
	for _, p := range payload { // an index is long: do not copy it
		if err := w.give(p); err != nil {
			return 0, err
		}
	}
	return off, nil
}

// give writes p to the output.
func (w *Writer) give(p []byte) error {
	n, err := w.out.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	w.off += int64(len(p))
	return err
}

// drain writes all collected bytes to the output.
func (w *Writer) drain() error {
	if len(w.buf) == 0 {
		return nil
	}
	free, err := w.buf, error(nil)
	if w.taker != nil {
		w.off += int64(len(w.buf))
		free, err = w.taker.Take(w.buf)
	} else {
		err = w.give(w.buf)
	}
	w.buf = free[:0]
	if cap(w.buf) > 4*drainAt {
		w.buf = nil // free the memory of a large window
	}
	return err
}

// flush writes the blocks of all tracks' windows and empties the windows.
func (w *Writer) flush() error {
	if w.o.Sink != nil {
		if err := w.showWindows(); err != nil {
			return err
		}
	}
	if err := w.packets(); err != nil {
		return err
	}
	for _, t := range w.tracks {
		t.lane.push()
	}
	if err := w.summaries(); err != nil {
		return err
	}
	for _, t := range w.tracks {
		t.entry = t.exit
		t.lane.clear()
	}
	if err := w.drainFull(); err != nil || w.between == nil {
		return err
	}
	return w.between.Between(w.add)
}

// drainFull writes the collected bytes to the output if they are at least
// drainAt.
func (w *Writer) drainFull() error {
	if len(w.buf) < drainAt {
		return nil
	}
	return w.drain()
}

func (w *Writer) showWindows() error {
	for _, t := range w.tracks {
		if t.lane.count() == 0 {
			continue
		}
		w.win.Track, w.win.Entry, w.win.Exit = &t.t, t.entry, t.exit
		t.lane.show(&w.win)
		if err := w.o.Sink.Window(&w.win); err != nil {
			return err
		}
	}
	return nil
}

// packets writes one packet for every track, even an empty one.
func (w *Writer) packets() error {
	if w.o.NoRaw {
		return nil
	}
	limit := w.goroutines()
	for tracks := w.tracks; len(tracks) > 0; {
		group := tracks[:min(limit, len(tracks))]
		tracks = tracks[len(group):]
		if err := w.squeeze(group); err != nil {
			return err
		}
		for _, t := range group {
			if err := w.packet(t); err != nil {
				return err
			}
			if err := w.drainFull(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) packet(t *TrackWriter) error {
	at := len(w.buf)
	b := Block{Off: w.Offset(), Track: t.t.Number, Entry: t.entry, Exit: t.exit, Count: int32(t.lane.count())}
	w.buf = b.append(w.buf)
	var err error
	if w.buf, err = t.lane.payload(w.buf); err != nil {
		return wrapError(b.part(), err)
	}
	b.Len = int64(len(w.buf) - at - BlockHeaderLen)
	if b.Len > maxPayload {
		return tooLarge(b.part(), -1, "a payload of %d bytes: choose a lower watermark", b.Len)
	}
	putLen(w.buf, at)
	if w.o.Sink == nil {
		return nil
	}
	w.sinkOut = b
	return w.o.Sink.Packet(&w.sinkOut)
}

// summaries writes the summaries of this flush, ordered by level and then by track.
func (w *Writer) summaries() error {
	top := int32(0)
	for _, t := range w.tracks {
		if m := t.lane.made(); len(m.ends) > 0 {
			top = max(top, m.first+int32(len(m.ends))-1)
		}
	}
	for level := int32(1); level <= top; level++ {
		for _, t := range w.tracks {
			p := t.lane.made().at(level)
			if p == nil {
				continue
			}
			off := w.Offset()
			w.buf = append(w.buf, p...)
			if w.o.Sink != nil {
				if err := w.showSummary(t, p, off); err != nil {
					return err
				}
			}
			if err := w.drainFull(); err != nil {
				return err
			}
		}
	}
	for _, t := range w.tracks {
		t.lane.made().reset()
	}
	return nil
}

func (w *Writer) showSummary(t *TrackWriter, p []byte, off int64) error {
	b, err := ParseBlock(p, off, formats.Limits{})
	if err != nil {
		return err
	}
	if w.blocks != nil {
		w.sinkOut = b
		return w.blocks.SummaryBlock(&w.sinkOut)
	}
	if err := t.t.DecodeSummary(&w.sum, b, p[BlockHeaderLen:]); err != nil {
		return err
	}
	return w.o.Sink.Summary(&w.sum)
}

// A cascade is the summary blocks of one track in one flush. Their levels have no gap.
type cascade struct {
	p     []byte
	first int32 // level of the first block
	ends  []int // end of each block in p
}

func (c *cascade) reset() { c.p, c.ends = c.p[:0], c.ends[:0] }

func (c *cascade) at(level int32) []byte {
	i := int(level - c.first)
	if i < 0 || i >= len(c.ends) {
		return nil
	}
	start := 0
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.p[start:c.ends[i]]
}
