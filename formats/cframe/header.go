package cframe

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// Info is the content of a frame's header. Codec, level, filters and split mode
// are for new chunks; each existing chunk states its own.
type Info struct {
	Version   int   // 1: beta; 2; 3: chunks vary in size or have VL blocks
	Sparse    bool  // a folder with one object for each chunk
	HeaderLen int64 // length of fixed part and metalayers
	FrameLen  int64 // length of the frame; in a sparse frame, length of its index object
	NBytes    int64 // decoded bytes of all chunks
	CBytes    int64 // length of the section of chunks, with dead bytes; no meaning if NBytes is 0

	TypeSize  int // size of an item; chunks record 1 for items larger than 255 bytes
	BlockSize int // 0: not fixed, see the headers of chunks
	ChunkSize int // decoded size; 0: chunks vary, -1: unknown, the frame is empty

	Codec     blosc.Codec
	CodecMeta uint8
	Level     int
	Filters   [6]blosc.Filter
	SplitMode blosc.SplitMode
	UseDict   bool

	VariableChunks bool // the flag; ChunkSize decides
	VLBlocks       bool // the flag; each chunk's header decides
	HasVL          bool // the flag; Frame.VLMetalayers decides
}

// Offsets of the fields in the fixed part of the header. Integers are
// msgpack's: big-endian, each after its marker.
const (
	fixedLen     = 87 // the metalayers follow
	atHeaderLen  = 11
	atFrameLen   = 16
	atFlags      = 25
	atFrameType  = 26
	atCodec      = 27
	atOther      = 28
	atNBytes     = 30
	atCBytes     = 39
	atTypeSize   = 48
	atBlockSize  = 53
	atChunkSize  = 58
	atThreads    = 63
	atHasVL      = 68
	atSlots      = 70
	atFilters    = 71
	atUDCodec    = 77
	atCodecMeta  = 78
	atFilterMeta = 79
	atOther2     = 85

	maxVersion    = 3
	offsets64     = 1 // the only supported width of chunk offsets
	flagVariable  = 0x40
	flagVLBlocks  = 0x80
	typeSparse    = 1
	pluginCodec   = 6 // in the codec's nibble: the codec's number is at atUDCodec
	flagUseDict   = 0x01
	filterSlots   = 6
	minTrailerLen = 25 // the shortest that C reads; an empty trailer has 35
)

var magic = []byte("\x9e\xa8b2frame\x00")

// markers are the msgpack markers in the fixed part. Fields are found by
// position; a wrong marker means that the bytes are damaged or not a frame.
var markers = [...]struct {
	off int
	b   byte
}{
	{10, 0xd2}, {15, 0xcf}, {24, 0xa4}, {29, 0xd3}, {38, 0xd3}, {47, 0xd2}, {52, 0xd2}, {57, 0xd2}, {62, 0xd1}, {65, 0xd1}, {69, 0xd8},
}

// Sniff reports whether b, the first bytes of an object, begin a frame. 10 bytes
// are enough.
func Sniff(b []byte) bool { return bytes.HasPrefix(b, magic) }

func be32(b []byte) int64 { return int64(int32(binary.BigEndian.Uint32(b))) }
func be64(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// parseHeader parses the fixed part of the header, the first fixedLen bytes of
// b, and checks that its fields agree.
func parseHeader(b []byte) (Info, error) {
	if !Sniff(b) {
		return Info{}, corrupt("header", 0, "no frame begins here")
	}
	if len(b) < fixedLen {
		return Info{}, corrupt("header", 0, "%d bytes, need %d", len(b), fixedLen)
	}
	for _, m := range markers {
		if b[m.off] != m.b {
			return Info{}, corrupt("header", int64(m.off), "marker %#02x, want %#02x", b[m.off], m.b)
		}
	}
	if v := b[atHasVL]; v != 0xc2 && v != 0xc3 {
		return Info{}, corrupt("header", atHasVL, "%#02x is no boolean", v)
	}
	flags := b[atFlags]
	in := Info{
		Version: int(flags & 0x0f), Sparse: b[atFrameType]&0x0f == typeSparse,
		HeaderLen: be32(b[atHeaderLen:]), FrameLen: be64(b[atFrameLen:]),
		NBytes: be64(b[atNBytes:]), CBytes: be64(b[atCBytes:]),
		TypeSize: int(be32(b[atTypeSize:])), BlockSize: int(be32(b[atBlockSize:])), ChunkSize: int(be32(b[atChunkSize:])),
		Codec: blosc.Codec(b[atCodec] & 0x0f), CodecMeta: b[atCodecMeta], Level: int(b[atCodec] >> 4),
		SplitMode: blosc.SplitMode(b[atOther]&3 + 1), UseDict: b[atOther2]&flagUseDict != 0,
		VariableChunks: flags&flagVariable != 0, VLBlocks: flags&flagVLBlocks != 0, HasVL: b[atHasVL] == 0xc3,
	}
	if in.Codec >= pluginCodec {
		in.Codec = blosc.Codec(b[atUDCodec])
	}
	for i := range in.Filters {
		in.Filters[i] = blosc.Filter{ID: blosc.FilterID(b[atFilters+i]), Meta: b[atFilterMeta+i]}
	}
	switch {
	case in.Version < 1 || in.Version > maxVersion:
		return Info{}, unsupported("header", atFlags, "frame version %d", in.Version)
	case flags>>4&3 != offsets64:
		return Info{}, unsupported("header", atFlags, "offsets of width %d", flags>>4&3)
	case b[atFrameType]&0x0f > typeSparse:
		return Info{}, unsupported("header", atFrameType, "frame type %d", b[atFrameType]&0x0f)
	case b[atSlots] > filterSlots:
		return Info{}, corrupt("header", atSlots, "%d filters", b[atSlots])
	}
	return in, in.check()
}

// check checks that the fields of a header are valid and agree. The place of
// the trailer is not known yet.
func (in *Info) check() error {
	switch {
	case in.FrameLen < fixedLen+minTrailerLen || in.FrameLen > math.MaxInt64/2:
		return corrupt("header", atFrameLen, "a frame of %d bytes", in.FrameLen)
	case in.HeaderLen < fixedLen || in.HeaderLen > in.FrameLen-minTrailerLen:
		return corrupt("header", atHeaderLen, "a header of %d bytes in a frame of %d", in.HeaderLen, in.FrameLen)
	case in.NBytes < 0:
		return corrupt("header", atNBytes, "%d decoded bytes", in.NBytes)
	case in.CBytes < 0:
		return corrupt("header", atCBytes, "chunks of %d bytes", in.CBytes)
	case in.TypeSize <= 0:
		return corrupt("header", atTypeSize, "items of %d bytes", in.TypeSize)
	case in.BlockSize < 0:
		return corrupt("header", atBlockSize, "blocks of %d bytes", in.BlockSize)
	case in.ChunkSize < 0 && (in.NBytes > 0 || in.ChunkSize < -1):
		return corrupt("header", atChunkSize, "%d bytes in chunks of %d", in.NBytes, in.ChunkSize)
	case !in.Sparse && in.NBytes > 0 && in.CBytes > in.FrameLen-in.HeaderLen-minTrailerLen:
		return corrupt("header", atCBytes, "chunks of %d bytes in a frame of %d", in.CBytes, in.FrameLen)
	}
	return nil
}

// indexOff returns the offset of the offsets chunk. A frame without data has no
// offsets chunk.
func (in *Info) indexOff() int64 {
	if in.Sparse || in.NBytes == 0 {
		return in.HeaderLen
	}
	return in.HeaderLen + in.CBytes
}

func fail(part string, off int64, class error, format string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: off, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(part string, off int64, format string, args ...any) error {
	return fail(part, off, formats.ErrCorrupt, format, args...)
}

func unsupported(part string, off int64, format string, args ...any) error {
	return fail(part, off, formats.ErrUnsupported, format, args...)
}

func tooLarge(part string, off int64, format string, args ...any) error {
	return fail(part, off, formats.ErrTooLarge, format, args...)
}
