package render

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

// SampleOptions are options for writing the samples of a track.
type SampleOptions struct {
	Npy    bool // write a .npy; false: CSV
	Stamps bool // the offsets instead of the values
	// Again writes the header of a .npy a second time. If it is nil, the samples are
	// counted before the header is written.
	Again io.WriterAt
	// Wrote is called with the sizes of values written to a .npy. Nil means no call.
	Wrote func(n int64)
}

// Samples writes samples of a track. each reads them, whenever it is called.
func Samples(out io.Writer, k *zoomcache.Track, o SampleOptions, each func(fn func(p *zoomcache.Packet) error) error) error {
	w := bufio.NewWriterSize(out, FileBuffer)
	if o.Npy {
		return o.npy(w, k, each)
	}
	c := &sampleCSV{k: k, stamps: o.Stamps}
	if _, err := w.WriteString(c.head()); err != nil {
		return err
	}
	if err := each(func(p *zoomcache.Packet) error { return c.write(w, p) }); err != nil {
		return err
	}
	return w.Flush()
}

// FileBuffer is the size of the buffer in front of a file: packets and items may be
// short.
const FileBuffer = 256 << 10

// header is the header of a .npy of n samples. Its length is the same for every n:
// like numpy.save's, it leaves room for the first axis to grow.
func (o *SampleOptions) header(k *zoomcache.Track, n int64) ([]byte, error) {
	kind, shape := k.Codec.Kind, []int64{n}
	switch {
	case o.Stamps:
		kind = zoomcache.I64
	case k.Codec.Channels > 0:
		shape = append(shape, int64(k.Codec.Channels))
	}
	d, err := dtype.Parse(kind.ItemType())
	if err != nil {
		return nil, err
	}
	return npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
}

// npy writes a .npy. The number of samples is known only at the end: either the header
// is written again, or the samples are counted first.
func (o *SampleOptions) npy(w *bufio.Writer, k *zoomcache.Track, each func(fn func(p *zoomcache.Packet) error) error) error {
	var n int64
	if o.Again == nil {
		err := each(func(p *zoomcache.Packet) error {
			n += int64(p.Count)
			return nil
		})
		if err != nil {
			return err
		}
	}
	head, err := o.header(k, n)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	var buf []byte
	n = 0
	err = each(func(p *zoomcache.Packet) error {
		if n += int64(p.Count); o.Stamps {
			buf = appendStamps(buf[:0], p)
		} else {
			buf = p.Values.AppendItems(buf[:0])
		}
		if o.Wrote != nil {
			o.Wrote(int64(len(buf)))
		}
		_, err := w.Write(buf)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil || o.Again == nil {
		return err
	}
	final, err := o.header(k, n)
	if err == nil && len(final) != len(head) {
		err = fmt.Errorf("header of %d bytes where %d were left: %w", len(final), len(head), io.ErrShortWrite)
	}
	if err == nil {
		_, err = o.Again.WriteAt(final, 0)
	}
	return err
}

func appendStamps(dst []byte, p *zoomcache.Packet) []byte {
	for i := range int(p.Count) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Offset(i)))
	}
	return dst
}

// sampleCSV writes samples as lines of offset, seconds and values.
type sampleCSV struct {
	k      *zoomcache.Track
	stamps bool // write the offsets, without values
	items  []byte
	buf    []byte
}

// channels is the number of values in a line.
func (c *sampleCSV) channels() int {
	if c.stamps || c.k.Codec.Kind == zoomcache.Unit {
		return 0
	}
	return max(c.k.Codec.Channels, 1)
}

func (c *sampleCSV) head() string {
	n := c.channels()
	if n == 1 && c.k.Codec.Channels == 0 {
		return "offset,seconds,value\n"
	}
	var b strings.Builder
	b.WriteString("offset,seconds")
	for i := range n {
		fmt.Fprintf(&b, ",value%d", i)
	}
	b.WriteByte('\n')
	return b.String()
}

func (c *sampleCSV) write(w io.Writer, p *zoomcache.Packet) error {
	n := c.channels()
	d, err := dtype.Parse(p.Values.Kind.ItemType())
	if err != nil {
		return err
	}
	size := d.ItemSize()
	if n > 0 && p.Values.Kind != zoomcache.Integer {
		c.items = p.Values.AppendItems(c.items[:0])
	}
	items := c.items
	c.buf = c.buf[:0]
	for i := range int(p.Count) {
		off := p.Offset(i)
		c.buf = strconv.AppendInt(c.buf, off, 10)
		c.buf = append(c.buf, ',')
		c.buf = strconv.AppendFloat(c.buf, c.k.Rate.Seconds(off), 'f', -1, 64)
		for k := range n {
			if p.Values.Kind == zoomcache.Integer {
				c.buf = p.Values.Big[i*n+k].Append(append(c.buf, ','), 10)
				continue
			}
			c.buf = d.AppendCSV(append(c.buf, ','), items[:size])
			items = items[size:]
		}
		if c.buf = append(c.buf, '\n'); len(c.buf) >= textBuffer {
			if _, err := w.Write(c.buf); err != nil {
				return err
			}
			c.buf = c.buf[:0]
		}
	}
	_, err = w.Write(c.buf)
	return err
}
