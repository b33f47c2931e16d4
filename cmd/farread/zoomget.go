package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// A zoomSelection is samples of one track.
type zoomSelection struct {
	timeRange

	t      *zoomContent
	k      *zoomcache.Track
	stamps bool
	format string // csv, npy; "": by the name of OUT
	npy    bool
}

var _ selection = (*zoomSelection)(nil)

// pick selects a track and a time.
func (t *zoomContent) pick(ctx context.Context, s selector) (selection, error) {
	if s.viewing {
		return t.pickView(ctx, s)
	}
	if err := s.only(zoomcache.Format, "track", "from", "to", "stamps", "bignum", "format", "resync"); err != nil {
		return nil, err
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	x := &zoomSelection{t: t, k: k, stamps: s.stamps, format: s.format}
	if f := s.format; f != "" && f != "csv" && f != "npy" {
		return nil, usagef("--format %q: want csv or npy", f)
	}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

func (x *zoomSelection) total() int64 { return -1 }

// sink makes the file OUT: a .npy, or CSV.
func (x *zoomSelection) sink(out string) (sink.Sink, error) {
	switch ext := strings.ToLower(filepath.Ext(out)); {
	case x.format == "npy" || x.format == "" && isNpy(out):
		x.npy = true
		if x.k.Codec.Kind == zoomcache.Unit && !x.stamps {
			return nil, usagef("track %d has events without values: ask for their offsets with --stamps", x.k.Number)
		}
		if x.k.Codec.Kind == zoomcache.Integer && !x.stamps {
			return nil, usagef("integers of any length have no place in a .npy: take .csv, or leave --bignum out")
		}
	case x.format == "" && out != "-" && ext != ".csv" && ext != ".txt" && ext != "":
		return nil, usagef("samples are written as .csv or .npy, not as %s", printable(ext))
	}
	return x.t.a.byteSink(out)
}

// copy writes the samples packet by packet.
func (x *zoomSelection) copy(ctx context.Context, s sink.Sink, b bar) error {
	if x.npy {
		return x.copyNpy(ctx, s, b)
	}
	w := bufio.NewWriterSize(s, fileBuffer)
	c := &zoomCSV{k: x.k, stamps: x.stamps}
	if _, err := w.WriteString(c.head()); err != nil {
		return err
	}
	err := x.samples(ctx, func(p *zoomcache.Packet) error { return c.write(w, p) })
	if err != nil {
		return err
	}
	return w.Flush()
}

// samples reads the samples. If there are none because the time lies outside of the
// track, that is an error.
func (x *zoomSelection) samples(ctx context.Context, fn func(p *zoomcache.Packet) error) error {
	some := false
	err := x.t.f.EachPacket(ctx, x.k.Number, x.first, x.last, func(p *zoomcache.Packet) error {
		some = true
		return fn(p)
	})
	if err == nil && !some {
		err = x.t.beside(ctx, x.k, x.timeRange)
	}
	return err
}

// dtype is the type of the items of the .npy.
func (x *zoomSelection) dtype() (dtype.DType, error) {
	name := "<i8"
	if !x.stamps {
		name = zoomDType(x.k.Codec.Kind)
	}
	return dtype.Parse(name)
}

// zoomDType is NumPy's name for the values of a kind.
func zoomDType(k zoomcache.Kind) string {
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
func (x *zoomSelection) header(n int64) ([]byte, error) {
	d, err := x.dtype()
	if err != nil {
		return nil, err
	}
	shape := []int64{n}
	if x.k.Codec.Channels > 0 && !x.stamps {
		shape = append(shape, int64(x.k.Codec.Channels))
	}
	return npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
}

// copyNpy writes a .npy. The number of samples is known only at the end: in a file the
// header is written again, for a stream the samples are counted first.
func (x *zoomSelection) copyNpy(ctx context.Context, s sink.Sink, b bar) error {
	var again io.WriterAt
	if f, ok := s.(*sink.File); ok {
		again = f.Again()
	}
	var n int64
	if again == nil {
		err := x.samples(ctx, func(p *zoomcache.Packet) error {
			n += int64(p.Count)
			return nil
		})
		if err != nil {
			return err
		}
	}
	head, err := x.header(n)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(s, fileBuffer)
	if _, err := w.Write(head); err != nil {
		return err
	}
	var buf []byte
	n = 0
	err = x.samples(ctx, func(p *zoomcache.Packet) error {
		if n += int64(p.Count); x.stamps {
			buf = appendStamps(buf[:0], p)
		} else {
			buf = appendValues(buf[:0], &p.Values)
		}
		b.add(int64(len(buf)))
		_, err := w.Write(buf)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	if err != nil || again == nil {
		return err
	}
	final, err := x.header(n)
	if err == nil && len(final) != len(head) {
		err = fmt.Errorf("header of %d bytes where %d were left: %w", len(final), len(head), io.ErrShortWrite)
	}
	if err == nil {
		_, err = again.WriteAt(final, 0)
	}
	return err
}

func appendStamps(dst []byte, p *zoomcache.Packet) []byte {
	for i := range int(p.Count) {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(p.Offset(i)))
	}
	return dst
}

// appendValues appends values as the items of zoomDType.
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

// zoomCSV writes samples as lines of offset, seconds and values.
type zoomCSV struct {
	k      *zoomcache.Track
	stamps bool // without values
	items  []byte
	buf    []byte
}

// channels is the number of values in a line.
func (c *zoomCSV) channels() int {
	if c.stamps || c.k.Codec.Kind == zoomcache.Unit {
		return 0
	}
	return max(c.k.Codec.Channels, 1)
}

func (c *zoomCSV) head() string {
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

func (c *zoomCSV) write(w io.Writer, p *zoomcache.Packet) error {
	n := c.channels()
	d, err := dtype.Parse(zoomDType(p.Values.Kind))
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

// plan notes the requests that copy would make. Without an index that is an upper
// bound: a pass ends behind the last packet of the range.
func (x *zoomSelection) plan(ctx context.Context) error {
	plan, err := x.t.f.ExplainPackets(ctx, x.k.Number, x.first, x.last)
	x.t.planned(plan)
	return err
}

// planned notes a plan of the file and of the index beside it.
func (t *zoomContent) planned(plan []rangeio.Planned) {
	t.a.planned(t.target, plan, func(r rangeio.Planned) (string, int64) {
		if r.Object != "" {
			return t.f.Beside().Info().Key, r.Off
		}
		return t.f.Object.Info().Key, r.Off + t.off
	})
}
