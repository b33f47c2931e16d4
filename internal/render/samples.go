package render

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
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

// SampleType returns NumPy's name for the values of a kind.
func SampleType(k zoomcache.Kind) string {
	switch k {
	case zoomcache.Bool:
		return "|b1"
	case zoomcache.F32:
		return "<f4"
	case zoomcache.F64:
		return "<f8"
	case zoomcache.I8:
		return "|i1"
	case zoomcache.I16:
		return "<i2"
	case zoomcache.I32:
		return "<i4"
	case zoomcache.U8:
		return "|u1"
	case zoomcache.U16:
		return "<u2"
	case zoomcache.U32:
		return "<u4"
	case zoomcache.U64, zoomcache.Word:
		return "<u8"
	default:
		return "<i8"
	}
}

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
	d, err := dtype.Parse(SampleType(kind))
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
			buf = appendValues(buf[:0], &p.Values)
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

// appendValues appends values as the items of SampleType.
func appendValues(dst []byte, v *zoomcache.Values) []byte {
	switch v.Kind {
	case zoomcache.Bool:
		for _, x := range v.Bool {
			b := byte(0)
			if x {
				b = 1
			}
			dst = append(dst, b)
		}
	case zoomcache.F32:
		for _, x := range v.F32 {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
		}
	case zoomcache.F64:
		for _, x := range v.F64 {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x))
		}
	case zoomcache.I8:
		return append8(dst, v.I8)
	case zoomcache.U8:
		return append(dst, v.U8...)
	case zoomcache.I16:
		return append16(dst, v.I16)
	case zoomcache.U16:
		return append16(dst, v.U16)
	case zoomcache.I32:
		return append32(dst, v.I32)
	case zoomcache.U32:
		return append32(dst, v.U32)
	case zoomcache.U64, zoomcache.Word:
		return append64(dst, v.U64)
	default:
		return append64(dst, v.I64)
	}
	return dst
}

func append8(dst []byte, v []int8) []byte {
	for _, x := range v {
		dst = append(dst, byte(x))
	}
	return dst
}

func append16[T int16 | uint16](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(x))
	}
	return dst
}

func append32[T int32 | uint32](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(x))
	}
	return dst
}

func append64[T int64 | uint64](dst []byte, v []T) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(x))
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
	d, err := dtype.Parse(SampleType(p.Values.Kind))
	if err != nil {
		return err
	}
	size := d.ItemSize()
	if n > 0 && p.Values.Kind != zoomcache.Integer {
		c.items = appendValues(c.items[:0], &p.Values)
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
