package zoomcache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"

	"github.com/farread/farread/formats"
)

// A Packet is a decoded packet. Decoding into the same Packet again reuses its
// memory, so its Values and Stamps are valid until then. One goroutine at a time.
type Packet struct {
	Block
	Values Values
	Stamps []int64 // the offset of each value; nil at constant rate

	stamps []int64 // memory of Stamps
	raw    []byte  // memory of inflate
	runs   []run   // memory that Cut reuses
	in     bytes.Reader
	z      io.ReadCloser // decompressor
}

// Offset is the sample offset of value i (of each channel).
func (p *Packet) Offset(i int) int64 {
	if p.Stamps != nil {
		return p.Stamps[i]
	}
	return p.Entry + int64(i)
}

// deflateRatio is the greatest ratio of deflate: 258 bytes from 2 bits.
const deflateRatio = 1032

// DecodePacket decodes the payload of the packet b of this track into dst, which
// does not keep payload. Memory is in proportion to the payload, and MaxDecoded
// bounds the bytes after inflating: more values are formats.ErrTooLarge. Damage is
// formats.ErrCorrupt.
func (t *Track) DecodePacket(dst *Packet, b Block, payload []byte, lim formats.Limits) error {
	lim = lim.WithDefaults()
	at := b.Off + BlockHeaderLen
	if int64(len(payload)) != b.Len {
		return cut(b.part(), at+int64(len(payload)))
	}
	dst.Block = b
	least, exact := t.payloadSize(int64(b.Count))
	if least > lim.MaxDecoded {
		return tooLarge(b.part(), b.Off+28, "%d values take %d bytes, at most %d", b.Count, least, lim.MaxDecoded)
	}
	body := payload
	if t.Zlib {
		limit := lim.MaxDecoded
		if exact {
			limit = least
		}
		var err error
		if body, err = dst.inflate(payload, limit); err != nil {
			return &formats.Error{Format: Format, Part: b.part(), Off: at, Err: err}
		}
	}
	if int64(len(body)) < least {
		return corrupt(b.part(), at, "%d values take %d bytes, the payload has %d", b.Count, least, len(body))
	}
	n := int(b.Count) * t.Codec.Width()
	used := dst.Values.decode(t.Codec, body, n, t.deltas())
	if used < 0 {
		return corrupt(b.part(), at, "the payload ends inside a value")
	}
	body = body[used:]
	dst.Stamps = nil
	if t.Variable {
		if len(body) < 8*int(b.Count) {
			return corrupt(b.part(), at, "the stamps of %d values are cut short", b.Count)
		}
		if dst.stamps == nil {
			dst.stamps = []int64{}
		}
		dst.stamps = decode64(dst.stamps[:0], body[:8*int(b.Count)])
		undelta(dst.stamps)
		dst.Stamps = dst.stamps
		body = body[8*int(b.Count):]
	}
	if len(body) > 0 {
		return corrupt(b.part(), at, "%d bytes too many in the payload", len(body))
	}
	return nil
}

// payloadSize returns the least length of count values with their stamps. exact
// tells that they always have this length.
func (t *Track) payloadSize(count int64) (least int64, exact bool) {
	size := t.Codec.Size()
	least = count * int64(t.Codec.Width()) // below 2^31 * 2^16
	if size >= 0 {
		least *= int64(size)
	}
	if t.Variable {
		least += 8 * count
	}
	return least, size >= 0
}

var (
	errLong = errors.New("more bytes than the values take")
	errTail = errors.New("bytes behind the end of the stream")
)

func badStream(err error) error { return fmt.Errorf("zlib: %w: %w", err, formats.ErrCorrupt) }

// inflate decompresses a zlib stream into memory of its own. The stream must end where
// src ends and give at most limit bytes.
func (p *Packet) inflate(src []byte, limit int64) ([]byte, error) {
	p.in.Reset(src)
	if p.z == nil {
		z, err := zlib.NewReader(&p.in)
		if err != nil {
			return nil, badStream(err)
		}
		p.z = z
	} else if err := p.z.(zlib.Resetter).Reset(&p.in, nil); err != nil {
		return nil, badStream(err)
	}
	p.raw = p.raw[:0]
	first := min(limit+1, int64(len(src))*deflateRatio, int64(len(src))*4+512)
	if int64(cap(p.raw)) < first {
		p.raw = make([]byte, 0, first)
	}
	for {
		if len(p.raw) == cap(p.raw) {
			p.raw = append(p.raw, 0)[:len(p.raw)]
		}
		n, err := p.z.Read(p.raw[len(p.raw):cap(p.raw)])
		p.raw = p.raw[:len(p.raw)+n]
		if int64(len(p.raw)) > limit {
			return nil, badStream(errLong)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, badStream(err)
		}
	}
	if p.in.Len() > 0 {
		return nil, badStream(errTail)
	}
	return p.raw, nil
}

// AppendPacket appends a whole packet block with the values and stamps of p. It
// ignores p.Count and writes the number of values. Values that do not fit the
// track are formats.ErrUnsupported. For a track with Zlib each call makes a new
// compressor.
func (t *Track) AppendPacket(dst []byte, p *Packet) ([]byte, error) {
	at := len(dst)
	b := p.Block
	b.Summary, b.Len = false, 0
	w := t.Codec.Width()
	n := p.Values.N / w
	if p.Values.Kind != t.Codec.Kind || p.Values.held() != p.Values.N || n*w != p.Values.N || n > math.MaxInt32 || t.Variable && len(p.Stamps) != n {
		return dst, fail(b.part(), -1, formats.ErrUnsupported, "%d values of %s and %d stamps do not fit the track", p.Values.N, p.Values.Kind, len(p.Stamps))
	}
	b.Count = int32(n)
	dst = b.append(dst)
	body := len(dst)
	dst = p.Values.encode(dst, t.Codec, t.deltas())
	if t.Variable {
		dst = encodeStamps(dst, p.Stamps)
	}
	if t.Zlib {
		var d deflater
		packed, err := d.deflate(nil, dst[body:])
		if err != nil {
			return dst[:at], wrapError(b.part(), err)
		}
		dst = append(dst[:body], packed...)
	}
	if len(dst)-body > math.MaxInt32 {
		return dst[:at], tooLarge(b.part(), -1, "a payload of %d bytes", len(dst)-body)
	}
	putLen(dst, at)
	return dst, nil
}

// A deflater compresses payloads as the original does: zlib at its default level.
type deflater struct {
	w   *zlib.Writer
	out sliceWriter
}

type sliceWriter struct{ p []byte }

func (s *sliceWriter) Write(p []byte) (int, error) {
	s.p = append(s.p, p...)
	return len(p), nil
}

// deflate appends src as one zlib stream.
func (d *deflater) deflate(dst, src []byte) ([]byte, error) {
	d.out.p = dst
	if d.w == nil {
		w, err := zlib.NewWriterLevel(&d.out, 6) // the default level of zlib itself
		if err != nil {
			return dst, err
		}
		d.w = w
	} else {
		d.w.Reset(&d.out)
	}
	_, err := d.w.Write(src)
	if err == nil {
		err = d.w.Close()
	}
	return d.out.p, err
}

func wrapError(part string, err error) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: err}
}
