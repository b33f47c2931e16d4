package zoomcache

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
)

// Kind is the type of one value.
type Kind uint8

// The kinds of the format. Int and Integer are variable-length integers, of 64 bits and
// of any size. They share an identifier: a reader makes it Int, or Integer with
// Options.Integers. Word is an unsigned variable-length integer of 64 bits.
const (
	Unit Kind = iota // an event without a value
	Bool
	F32
	F64
	Int
	Integer
	Word
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
)

const kinds = U64 + 1

// A kindInfo has the properties of a kind: its name, the last five bytes of its
// identifier, and the bytes of a raw value (-1: they vary).
type kindInfo struct {
	name, ident string
	size        int
}

func (k Kind) info() kindInfo {
	if k >= kinds {
		return kindInfo{name: "kind" + strconv.Itoa(int(k))}
	}
	return [kinds]kindInfo{
		Unit: {"unit", "unit", 0}, Bool: {"bool", "bool", 1},
		F32: {"f32", "f32b", 4}, F64: {"f64", "f64b", 8},
		Int: {"int", "intb", -1}, Integer: {"integer", "intb", -1}, Word: {"word", "untb", -1},
		I8: {"i8", "iS8b", 1}, I16: {"i16", "i16b", 2}, I32: {"i32", "i32b", 4}, I64: {"i64", "i64b", 8},
		U8: {"u8", "u08b", 1}, U16: {"u16", "u16b", 2}, U32: {"u32", "u32b", 4}, U64: {"u64", "u64b", 8},
	}[k]
}

// String returns the name of the kind: "f64", "integer".
func (k Kind) String() string { return k.info().name }

// Float reports whether values are IEEE floats.
func (k Kind) Float() bool { return k == F32 || k == F64 }

// Signed reports whether values are integers that may be negative.
func (k Kind) Signed() bool { return k == Int || k == Integer || k >= I8 && k <= I64 }

// Unsigned reports whether values are integers that are never negative.
func (k Kind) Unsigned() bool { return k == Word || k >= U8 && k <= U64 }

// Numeric reports whether summaries hold minimum, maximum, mean and rms.
func (k Kind) Numeric() bool { return k >= F32 && k < kinds }

// A Codec is the encoding of the values of a track.
type Codec struct {
	Kind     Kind
	PCM      bool // summaries hold no first and last value
	Channels int  // number of channels of a multichannel track; 0: not multichannel
}

// MaxChannels bounds the channels of one track, in reading and writing: more than
// any recorder has.
const MaxChannels = 65536

const (
	multiIdent    = "ZOOMmchn"
	multiIdentLen = markerLen + 8 // the name, channels, length of the inner identifier
	maxIdent      = 4096          // far above multiIdentLen + 8, the longest that is known
)

// valid reports whether the format has such a codec.
func (c Codec) valid() bool {
	if c.Kind >= kinds || c.Channels < 0 || c.Channels > MaxChannels {
		return false
	}
	if !c.PCM {
		return true
	}
	switch c.Kind {
	case F32, F64, Int, I8, I16, I32, I64:
		return true
	default:
		return false
	}
}

// plain is the codec of one channel.
func (c Codec) plain() Codec { return Codec{Kind: c.Kind, PCM: c.PCM} }

// Width is the number of values at one offset: the channels of a multichannel
// track, else 1.
func (c Codec) Width() int { return max(c.Channels, 1) }

// Size is the bytes of one raw value, -1 if they vary.
func (c Codec) Size() int {
	if c.PCM && c.Kind == Int {
		return 4
	}
	return c.Kind.info().size
}

// Deltas reports whether the delta flag of a track has an effect with this
// codec. Unsigned, bool, unit and multichannel values are never stored as
// differences.
func (c Codec) Deltas() bool {
	return c.Channels == 0 && (c.Kind.Float() || c.Kind.Signed())
}

// String returns the name of the codec: "f64", "pcm-i16". Channels are not part
// of it.
func (c Codec) String() string {
	if c.PCM {
		return "pcm-" + c.Kind.String()
	}
	return c.Kind.String()
}

// ParseCodec is the inverse of String. An unknown name is
// formats.ErrUnsupported.
func ParseCodec(name string) (Codec, error) {
	kind, pcm := strings.CutPrefix(name, "pcm-")
	for k := range kinds {
		if c := (Codec{Kind: k, PCM: pcm}); kind == k.String() && c.valid() {
			return c, nil
		}
	}
	return Codec{}, fmt.Errorf("no codec is called %q: %w", name, formats.ErrUnsupported)
}

// Ident is the identifier that a track header carries.
func (c Codec) Ident() string {
	one := "ZOOM" + c.Kind.info().ident
	if c.PCM {
		one = "ZPCM" + c.Kind.info().ident
		if c.Kind == Int {
			one = "ZPCMi32b"
		}
	}
	if c.Channels > 0 {
		dst := []byte(multiIdent)
		dst = binary.BigEndian.AppendUint32(dst, uint32(c.Channels))
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(one)))
		one = string(dst) + one
	}
	return one
}

// parseIdent reads an identifier that lies at off.
func parseIdent(part string, p []byte, off int64) (Codec, error) {
	channels := 0
	if len(p) >= multiIdentLen && string(p[:8]) == multiIdent {
		n, sub := int32(binary.BigEndian.Uint32(p[8:])), int32(binary.BigEndian.Uint32(p[12:]))
		if n < 1 || n > MaxChannels {
			return Codec{}, corrupt(part, off+8, "%d channels", n)
		}
		p = p[multiIdentLen:]
		if int(sub) != len(p) {
			return Codec{}, corrupt(part, off+12, "an inner codec identifier of %d bytes where %d are left", sub, len(p))
		}
		channels = int(n)
	}
	if len(p) == 8 {
		for k := range kinds {
			pcm := string(p[:4]) == "ZPCM"
			c := Codec{Kind: k, PCM: pcm, Channels: channels}
			// Integer and PCM I32 share their identifiers with the wider Int types, so
			// those identifiers give the Int types.
			if k != Integer && (!pcm || k != I32) && c.valid() && c.plain().Ident() == string(p) {
				return c, nil
			}
		}
	}
	return Codec{}, unsupported(part, off, "codec %q", p)
}
