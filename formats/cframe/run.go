package cframe

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/stats"
)

// A Run is what a frame has to know of chunks that follow each other, without their bytes:
// these a RunWriter has written, perhaps on another machine.
type Run struct {
	chunks []runEntry
	bytes  int64
}

// A runEntry is a chunk of a run.
type runEntry struct {
	size  int           // decoded
	len   int           // stored
	kind  blosc.Special // if nothing is stored
	head  []byte        // for the index
	stats []stats.Stat
}

// Chunks returns the number of chunks.
func (r *Run) Chunks() int { return len(r.chunks) }

// Bytes returns how many bytes of chunks are stored.
func (r *Run) Bytes() int64 { return r.bytes }

// A RunWriter writes encoded chunks one behind the other, as a Writer with the same options
// would, and notes what Writer.AddRun has to know of them. It is for one goroutine.
type RunWriter struct {
	w   io.Writer
	o   WriteOptions
	run Run
}

// NewRunWriter checks o as NewWriter does. Frames whose chunks vary in size cannot be made
// of runs: they are ErrRefused.
func NewRunWriter(w io.Writer, o WriteOptions) (*RunWriter, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Vary || o.ChunkSize == VaryingSizes {
		return nil, refuse("chunks", "runs of chunks of different sizes")
	}
	o.TypeSize = max(o.TypeSize, 1)
	o.Limits = o.Limits.WithDefaults()
	return &RunWriter{w: w, o: o}, nil
}

// WriteEncoded is as Writer.WriteEncoded. The chunk has no blocks of variable length.
func (r *RunWriter) WriteEncoded(chunk []byte) error {
	i := len(r.run.chunks)
	h, err := checkEncoded(i, chunk)
	if err != nil {
		return err
	}
	if h.VL {
		return refuse(partOf(i), "blocks of variable length in a run")
	}
	j := &task{size: h.NBytes, chunk: chunk}
	off, stored, err := place(i, j, &r.o)
	if err != nil {
		return err
	}
	c := runEntry{size: h.NBytes, kind: specialOf(off)}
	if stored {
		if _, err := r.w.Write(j.chunk); err != nil {
			return fmt.Errorf("%s: %s: %w", Format, partOf(i), err)
		}
		c.kind, c.len = blosc.None, len(j.chunk)
		r.run.bytes += int64(c.len)
		if r.o.Index != NoIndex {
			c.head = append([]byte(nil), frameindex.HeadOf(j.chunk)...)
		}
	}
	r.run.chunks = append(r.run.chunks, c)
	return nil
}

// AddStats is as Writer.AddStats, for the chunk that was written last.
func (r *RunWriter) AddStats(list []stats.Stat) {
	if n := len(r.run.chunks); n > 0 && r.o.Index != NoIndex && r.o.Stats != nil {
		r.run.chunks[n-1].stats = append([]stats.Stat(nil), list...)
	}
}

// Abort does nothing.
func (r *RunWriter) Abort() {}

// Run returns what was noted of all chunks.
func (r *RunWriter) Run() *Run { return &r.run }

// AddRun takes the chunks of a run as the next ones. The caller writes their bytes to the
// Output, behind those of earlier chunks: the Writer only counts them. So does a run that
// another machine has made, with the same options.
func (w *Writer) AddRun(r *Run) error {
	if err := w.drain(w.put); err != nil {
		return err
	}
	for i := range r.chunks {
		c := &r.chunks[i]
		if err := w.admit(c.size, false); err != nil {
			return w.fail(err)
		}
		if w.sizes.varies() {
			return w.fail(refuse("chunks", "runs of chunks of different sizes"))
		}
		off := specialOff(c.kind)
		if c.len > 0 {
			off = w.in.CBytes
			w.in.CBytes += int64(c.len)
		}
		w.noteHead(c.head)
		w.noteLen(len(w.offs), c.len)
		w.enter(&task{size: c.size}, off)
		if w.o.Stats != nil && c.stats != nil {
			w.AddStats(c.stats)
		}
	}
	return nil
}

// AppendTo appends the run as bytes.
func (r *Run) AppendTo(p []byte) []byte {
	p = binary.AppendUvarint(p, uint64(len(r.chunks)))
	for i := range r.chunks {
		c := &r.chunks[i]
		p = binary.AppendUvarint(p, uint64(c.size))
		p = binary.AppendUvarint(p, uint64(c.len))
		if c.len == 0 {
			p = append(p, byte(c.kind))
		}
		p = binary.AppendUvarint(p, uint64(len(c.head)))
		p = append(p, c.head...)
		p = binary.AppendUvarint(p, uint64(len(c.stats)))
		for k := range c.stats {
			p = appendStat(p, &c.stats[k])
		}
	}
	return p
}

// appendStat appends statistics of items. Extremes take no bytes if there are none.
func appendStat(p []byte, s *stats.Stat) []byte {
	ranged := uint64(0)
	if s.Ranged {
		ranged = 1
	}
	p = binary.AppendUvarint(p, uint64(s.Items)<<1|ranged)
	p = binary.AppendUvarint(p, uint64(s.NaN))
	p = binary.AppendUvarint(p, uint64(s.Fill))
	if s.Ranged {
		p = binary.LittleEndian.AppendUint64(p, s.Min)
		p = binary.LittleEndian.AppendUint64(p, s.Max)
	}
	return p
}

// ParseRun reads what Run.AppendTo has appended. What cannot be a run is
// formats.ErrCorrupt.
func ParseRun(p []byte) (*Run, error) {
	d := &runReader{p: p}
	r := &Run{}
	for range d.count(4) {
		c := runEntry{size: d.number(math.MaxInt32), len: d.number(math.MaxInt32)}
		if c.len == 0 {
			c.kind = blosc.Special(d.take(1)[0])
		}
		c.head = d.take(d.count(1))
		if n := d.count(3); n > 0 {
			c.stats = make([]stats.Stat, n)
		}
		for k := range c.stats {
			d.stat(&c.stats[k])
		}
		if d.bad || !c.fits() {
			return nil, fail("run", -1, formats.ErrCorrupt, "chunk %d of it", len(r.chunks))
		}
		r.bytes += int64(c.len)
		r.chunks = append(r.chunks, c)
	}
	if d.bad || len(d.p) > 0 {
		return nil, fail("run", -1, formats.ErrCorrupt, "%d chunks, %d bytes behind them", len(r.chunks), len(d.p))
	}
	return r, nil
}

// fits reports whether what was read of a chunk can be of one.
func (c *runEntry) fits() bool {
	if checkSize(c.size) != nil || c.len == 0 && (len(c.head) > 0 || c.kind != blosc.Zeros && c.kind != blosc.NaN && c.kind != blosc.Uninit) {
		return false
	}
	if len(c.head) == 0 {
		return true
	}
	h, err := blosc.ParseHeader(c.head)
	return err == nil && h.CBytes == c.len && h.NBytes == c.size && h.IndexLen() == len(c.head)
}

// A runReader reads the bytes of a run. Once they are bad it gives zeros.
type runReader struct {
	p   []byte
	bad bool
}

func (d *runReader) uvarint() uint64 {
	v, n := binary.Uvarint(d.p)
	if n <= 0 {
		d.bad, d.p = true, nil
		return 0
	}
	d.p = d.p[n:]
	return v
}

func (d *runReader) number(most uint64) int {
	v := d.uvarint()
	if v > most {
		d.bad = true
		return 0
	}
	return int(v)
}

// count reads a number of things that take at least so many bytes each.
func (d *runReader) count(each int) int { return d.number(uint64(len(d.p) / each)) }

// take returns the next bytes; zeros if there are too few.
func (d *runReader) take(n int) []byte {
	if n > len(d.p) {
		d.bad, d.p = true, nil
		return make([]byte, n)
	}
	p := d.p[:n:n]
	d.p = d.p[n:]
	return p
}

func (d *runReader) stat(s *stats.Stat) {
	v := d.uvarint()
	s.Items, s.Ranged = int64(v>>1), v&1 != 0
	s.NaN, s.Fill = int64(d.uvarint()), int64(d.uvarint())
	if s.Ranged {
		s.Min, s.Max = binary.LittleEndian.Uint64(d.take(8)), binary.LittleEndian.Uint64(d.take(8))
	}
	if s.NaN < 0 || s.Fill < 0 || s.NaN > s.Items || s.Fill > s.Items {
		d.bad = true
	}
}
