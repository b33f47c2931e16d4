package zoomcache

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/farread/farread/formats"
)

// BlockHeaderLen is the length of a block header, the same for packets and
// summaries.
const BlockHeaderLen = 36

// MaxLevel is the highest level of a track of 2^63 windows.
const MaxLevel = 65

// A Block is the header of a packet or of a summary.
type Block struct {
	Off         int64 // offset of the header in the file
	Summary     bool  // false: a packet
	Track       int32 // number of the track, which the header may not declare
	Level       int32 // level of a summary, from 1
	Count       int32 // in a packet: number of values of each channel
	Entry, Exit int64 // offsets of the first and the last sample
	Len         int64 // bytes after the header: payload or body
}

// Size is the length of header and content together.
func (b *Block) Size() int64 { return BlockHeaderLen + b.Len }

// part names the block in errors.
func (b *Block) part() string {
	if b.Summary {
		return fmt.Sprintf("summary of track %d level %d", b.Track, b.Level)
	}
	return fmt.Sprintf("packet of track %d", b.Track)
}

// ParseBlock reads the block header at the start of p, which lies at off in its
// file. If p ends inside it the error matches io.ErrUnexpectedEOF as well as
// formats.ErrCorrupt. MaxEntries bounds Count, MaxDecoded bounds Len: more is
// formats.ErrTooLarge. The caller checks whether the file is long enough.
func ParseBlock(p []byte, off int64, lim formats.Limits) (Block, error) {
	head := string(p[:min(len(p), markerLen)])
	b := Block{Off: off, Summary: head == MarkerSummary}
	if !b.Summary && head != MarkerPacket {
		if len(p) < markerLen && (strings.HasPrefix(MarkerPacket, head) || strings.HasPrefix(MarkerSummary, head)) {
			return b, cut("block", off+int64(len(p)))
		}
		return b, corrupt("block", off, "neither a packet nor a summary begins here")
	}
	if len(p) < BlockHeaderLen {
		return b, cut("block", off+int64(len(p)))
	}
	lim = lim.WithDefaults()
	b.Track = int32(binary.BigEndian.Uint32(p[8:]))
	at := 12
	if b.Summary {
		b.Level = int32(binary.BigEndian.Uint32(p[12:]))
		at = 16
	} else {
		b.Count = int32(binary.BigEndian.Uint32(p[28:]))
	}
	b.Entry = int64(binary.BigEndian.Uint64(p[at:]))
	b.Exit = int64(binary.BigEndian.Uint64(p[at+8:]))
	b.Len = int64(int32(binary.BigEndian.Uint32(p[32:])))
	switch {
	case b.Count < 0:
		return b, corrupt(b.part(), off+28, "%d values", b.Count)
	case int64(b.Count) > lim.MaxEntries:
		return b, tooLarge(b.part(), off+28, "%d values, at most %d", b.Count, lim.MaxEntries)
	case b.Len < 0:
		return b, corrupt(b.part(), off+32, "a content of %d bytes", b.Len)
	case b.Len > lim.MaxDecoded:
		return b, tooLarge(b.part(), off+32, "a content of %d bytes, at most %d", b.Len, lim.MaxDecoded)
	}
	return b, nil
}

// append appends the header. The caller has checked the limits.
func (b *Block) append(dst []byte) []byte {
	if b.Summary {
		dst = append(dst, MarkerSummary...)
	} else {
		dst = append(dst, MarkerPacket...)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(b.Track))
	if b.Summary {
		dst = binary.BigEndian.AppendUint32(dst, uint32(b.Level))
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.Entry))
	dst = binary.BigEndian.AppendUint64(dst, uint64(b.Exit))
	if !b.Summary {
		dst = binary.BigEndian.AppendUint32(dst, uint32(b.Count))
	}
	return binary.BigEndian.AppendUint32(dst, uint32(b.Len))
}

// putLen writes the length of the content into the header at dst[at:]. The
// content is the rest of dst.
func putLen(dst []byte, at int) {
	binary.BigEndian.PutUint32(dst[at+32:], uint32(len(dst)-at-BlockHeaderLen))
}

// Stats are one channel of a summary, or of a Point. In a summary numeric codecs
// fill Min, Max, Mean and RMS, and First and Last too unless they are PCM; Bool
// fills Expected; Unit fills Count. These are the numbers of the file, and
// docs/formats/zoomcache.md says when they differ from those of the samples.
type Stats struct {
	First, Last Number
	Min, Max    Number
	Mean, RMS   float64 // NaN if the span has no duration
	Expected    float64 // the share of the time that was true
	Count       int32   // number of events; wraps at 32 bits
}

// A Summary is a decoded summary block.
type Summary struct {
	Block
	Channels []Stats // one for each channel
}

// DecodeSummary decodes the body of the summary b of this track into dst, whose
// memory it reuses. dst does not keep body. Damage is formats.ErrCorrupt.
func (t *Track) DecodeSummary(dst *Summary, b Block, body []byte) error {
	at := b.Off + BlockHeaderLen
	switch {
	case int64(len(body)) != b.Len:
		return cut(b.part(), at+int64(len(body)))
	case b.Level < 1 || b.Level > MaxLevel:
		return corrupt(b.part(), b.Off+12, "level %d", b.Level)
	case int64(len(body)) < int64(t.Codec.Width())*int64(t.Codec.minBody()):
		return corrupt(b.part(), at, "a body of %d bytes is too short", len(body))
	}
	dst.Block = b
	dst.Channels = dst.Channels[:0]
	p := body
	for range t.Codec.Width() {
		s, n := t.Codec.readStats(p)
		if n <= 0 {
			return corrupt(b.part(), at+int64(len(body)-len(p)), "the body ends inside channel %d", len(dst.Channels))
		}
		dst.Channels = append(dst.Channels, s)
		p = p[n:]
	}
	if len(p) > 0 {
		return corrupt(b.part(), at+int64(len(body)-len(p)), "%d bytes too many in the body", len(p))
	}
	return nil
}

// minBody is the least length of one channel's body.
func (c Codec) minBody() int {
	switch c.Kind {
	case Unit:
		return 4
	case Bool:
		return 8
	default:
	}
	n := max(c.Size(), 1)
	if c.PCM {
		return 2*n + 16
	}
	return 4*n + 16
}

// readStats reads one channel of a summary. If p does not hold one, n is 0 or less.
func (c Codec) readStats(p []byte) (s Stats, n int) {
	switch c.Kind {
	case Unit:
		if len(p) < 4 {
			return s, 0
		}
		s.Count = int32(binary.BigEndian.Uint32(p))
		return s, 4
	case Bool:
		if len(p) < 8 {
			return s, 0
		}
		s.Expected = math.Float64frombits(binary.BigEndian.Uint64(p))
		return s, 8
	default:
	}
	fields := []*Number{&s.First, &s.Last, &s.Min, &s.Max}
	if c.PCM {
		fields = fields[2:]
	}
	for _, f := range fields {
		v, k := c.readNumber(p[n:])
		if k <= 0 {
			return s, k
		}
		*f = v
		n += k
	}
	if len(p) < n+16 {
		return s, 0
	}
	s.Mean = math.Float64frombits(binary.BigEndian.Uint64(p[n:]))
	s.RMS = math.Float64frombits(binary.BigEndian.Uint64(p[n+8:]))
	return s, n + 16
}

// readNumber reads one raw value. If p does not hold one, n is 0 or less.
func (c Codec) readNumber(p []byte) (v Number, n int) {
	size := c.Size()
	if len(p) < size {
		return v, 0
	}
	switch c.Kind {
	case Integer:
		x, k := readBig(p)
		if k <= 0 {
			return v, k
		}
		return NewBig(x), k
	case Int, Word:
		if size < 0 {
			x, k := readVLC(p)
			return Number{kind: c.Kind, bits: uint64(x)}, k
		}
		return signedNumber(Int, int64(int32(binary.BigEndian.Uint32(p)))), size
	case F32:
		return floatNumber(F32, float64(math.Float32frombits(binary.BigEndian.Uint32(p)))), size
	case F64:
		return floatNumber(F64, math.Float64frombits(binary.BigEndian.Uint64(p))), size
	default:
	}
	x := uint64(0)
	for _, b := range p[:size] {
		x = x<<8 | uint64(b)
	}
	if c.Kind.Signed() {
		shift := 64 - 8*size
		x = uint64(int64(x<<shift) >> shift)
	}
	return Number{kind: c.Kind, bits: x}, size
}

// AppendSummary appends a whole summary block. The numbers of s must have the
// track's kind; Len and Off are ignored. A level or a number of channels that
// does not fit is formats.ErrUnsupported.
func (t *Track) AppendSummary(dst []byte, s *Summary) ([]byte, error) {
	at := len(dst)
	b := s.Block
	b.Summary, b.Len = true, 0
	if b.Level < 1 || b.Level > MaxLevel || len(s.Channels) != t.Codec.Width() {
		return dst, fail(b.part(), -1, formats.ErrUnsupported, "%d channels where the track has %d", len(s.Channels), t.Codec.Width())
	}
	dst = b.append(dst)
	for i := range s.Channels {
		c := &s.Channels[i]
		switch t.Codec.Kind {
		case Unit:
			dst = binary.BigEndian.AppendUint32(dst, uint32(c.Count))
			continue
		case Bool:
			dst = appendF64(dst, c.Expected)
			continue
		default:
		}
		if !t.Codec.PCM {
			dst = t.Codec.appendNumber(t.Codec.appendNumber(dst, c.First), c.Last)
		}
		dst = t.Codec.appendNumber(t.Codec.appendNumber(dst, c.Min), c.Max)
		dst = appendF64(appendF64(dst, c.Mean), c.RMS)
	}
	if len(dst)-at-BlockHeaderLen > math.MaxInt32 {
		return dst[:at], tooLarge(b.part(), -1, "a body of %d bytes", len(dst)-at-BlockHeaderLen)
	}
	putLen(dst, at)
	return dst, nil
}

func appendF64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
}

// appendNumber appends one raw value.
func (c Codec) appendNumber(dst []byte, v Number) []byte {
	size := c.Size()
	switch c.Kind {
	case Integer:
		if v.big == nil {
			return append(dst, 0)
		}
		return appendBig(dst, v.big)
	case Word:
		return appendMagnitude(dst, v.bits, 0)
	case F32:
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(v.Float())))
	default:
	}
	if size < 0 {
		return appendVLC(dst, int64(v.bits))
	}
	for i := size - 1; i >= 0; i-- {
		dst = append(dst, byte(v.bits>>(8*i)))
	}
	return dst
}
