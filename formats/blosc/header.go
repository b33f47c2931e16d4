package blosc

import (
	"encoding/binary"
	"math"
)

// Lengths and limits of the format (blosc.h and blosc2.h of the C libraries).
const (
	HeaderLen1   = 16        // Blosc1's header, also of early Blosc2 chunks
	HeaderLen2   = 32        // Blosc2's extended header
	MaxBlockSize = 536866816 // BLOSC2_MAXBLOCKSIZE
	MaxTypeSize  = 255       // the type size of larger items is recorded as 1 in a chunk
	MaxDict      = 32768     // bytes of a dictionary

	maxNBytes  = math.MaxInt32 - HeaderLen2
	maxNBytes1 = math.MaxInt32 - HeaderLen1
)

// Bits of the flags (byte 2), of flags2 (byte 30) and of the Blosc2 flags (byte 31).
const (
	flagShuffle    = 0x01
	flagMemcpyed   = 0x02
	flagBitShuffle = 0x04
	flagDelta      = 0x08
	flagUnsplit    = 0x10
	flagsExtended  = flagShuffle | flagBitShuffle

	flag2VL = 0x01

	flagDict         = 0x01
	flagLazy         = 0x08
	flagInstrumented = 0x80
)

// A Header is the content of a chunk's header.
type Header struct {
	Version    uint8 // 2 is Blosc1's, 3 to 6 are Blosc2's
	VersionLZ  uint8
	Flags      uint8 // byte 2
	TypeSize   int   // 1..255; 1 stands for larger items, too
	NBytes     int   // decoded
	BlockSize  int   // block size as stored: it may exceed NBytes; in a VL chunk it is the number of blocks. See BlockBytes
	CBytes     int   // the whole chunk, header included
	Codec      Codec
	CodecMeta  uint8
	Filters    [6]Filter // the first runs first when encoding, last when decoding
	Special    Special
	Memcpyed   bool  // the data follow the header as they are; filters do not apply
	Split      bool  // full blocks are split into one stream for each byte of an item; in Blosc1 blocks of large or few items are not
	Dict       bool  // a dictionary follows the block starts
	VL         bool  // blocks of various lengths
	Extended   bool  // 32 bytes long
	Flags2     uint8 // byte 30 of an extended header
	BloscFlags uint8 // byte 31 of an extended header
}

// ParseHeader parses a header and checks that its fields are valid and agree. It
// does not check codec and filters; Supported does. b holds the first 16 bytes of
// the chunk, 32 if that is the length of its header, or more. Errors match
// ErrCorrupt, or ErrUnsupported for versions and flags that are unknown.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < HeaderLen1 {
		return Header{}, corrupt("header", 0, "%d bytes, need %d", len(b), HeaderLen1)
	}
	h := Header{
		Version: b[0], VersionLZ: b[1], Flags: b[2], TypeSize: int(b[3]),
		NBytes: le32(b[4:]), BlockSize: le32(b[8:]), CBytes: le32(b[12:]),
		Memcpyed: b[2]&flagMemcpyed != 0, Split: b[2]&flagUnsplit == 0,
		Extended: b[2]&flagsExtended == flagsExtended,
	}
	if h.Version < 2 || h.Version > 6 {
		return Header{}, unsupported("header", "chunk version %d", h.Version)
	}
	if !h.Extended {
		h.implied()
	} else if len(b) < HeaderLen2 {
		return Header{}, corrupt("header", 0, "%d bytes, need %d", len(b), HeaderLen2)
	} else {
		h.extended(b[:HeaderLen2])
	}
	if err := h.check(); err != nil {
		return Header{}, err
	}
	return h, nil
}

func le32(b []byte) int { return int(int32(binary.LittleEndian.Uint32(b))) } // signed on purpose: negative numbers are found and refused

// implied fills the fields that a header of 16 bytes tells by its flags.
func (h *Header) implied() {
	h.Codec = codecOf(h.Flags, 0)
	if h.Flags&flagShuffle != 0 && h.TypeSize > 1 {
		h.Filters[5].ID = Shuffle
	}
	if h.Flags&flagBitShuffle != 0 {
		h.Filters[5].ID = BitShuffle
	}
	if h.Flags&flagDelta != 0 {
		h.Filters[4].ID = Delta
	}
}

// extended fills the fields that bytes 16 to 31 tell.
func (h *Header) extended(b []byte) {
	h.Codec, h.CodecMeta = codecOf(h.Flags, b[22]), b[23]
	for i := range h.Filters {
		h.Filters[i] = Filter{ID: FilterID(b[16+i]), Meta: b[24+i]}
	}
	if h.Version == 3 { // the alpha version had five slots
		h.Filters[5] = Filter{}
	}
	h.Flags2, h.BloscFlags = b[30], b[31]
	h.VL = h.Flags2&flag2VL != 0
	h.Dict = h.BloscFlags&flagDict != 0
	h.Special = Special(h.BloscFlags >> 4 & 7)
}

// codecOf turns the format code of the flags, and byte 22 if the code refers to it,
// into a codec.
func codecOf(flags, id uint8) Codec {
	switch flags >> 5 {
	case 0:
		return BloscLZ
	case 1:
		if Codec(id) == LZ4HC {
			return LZ4HC
		}
		return LZ4
	case 2:
		return Snappy
	case 3:
		return Zlib
	case 4:
		return Zstd
	case 6:
		return Codec(id)
	case 5:
		return codecReserved
	}
	return codecInFrame
}

func (h *Header) check() error {
	limit := maxNBytes1
	if h.Extended {
		limit = maxNBytes
	}
	switch {
	case h.Flags2&^flag2VL != 0:
		return unsupported("header", "flags2 %#02x", h.Flags2)
	case h.BloscFlags&flagLazy != 0:
		return unsupported("header", "lazy chunk")
	case h.BloscFlags&flagInstrumented != 0:
		return unsupported("header", "instrumented chunk")
	case h.TypeSize == 0:
		return corrupt("header", 3, "type size 0")
	case h.NBytes < 0 || h.NBytes > limit:
		return corrupt("header", 4, "%d decoded bytes", h.NBytes)
	case h.BlockSize <= 0 || h.BlockSize > MaxBlockSize:
		return corrupt("header", 8, "blocks of %d bytes", h.BlockSize)
	case h.CBytes < h.Len():
		return corrupt("header", 12, "chunk of %d bytes", h.CBytes)
	case h.VL && (h.Memcpyed || h.Special != None):
		return corrupt("header", 30, "variable-length blocks in a chunk without blocks")
	case h.Memcpyed && h.CBytes != h.NBytes+h.Len():
		return corrupt("header", 12, "chunk of %d bytes for %d plain ones", h.CBytes, h.NBytes)
	case h.Special != None:
		return h.checkSpecial()
	case h.Memcpyed:
		return nil
	}
	return h.checkBlocks()
}

// checkSpecial applies the rules of chunks without streams.
func (h *Header) checkSpecial() error {
	size := h.CBytes - HeaderLen2 // bytes of the repeated value
	ok := size == 0
	switch h.Special {
	case Zeros:
	case NaN:
		ok = ok && (h.TypeSize == 4 || h.TypeSize == 8) && h.NBytes%h.TypeSize == 0
	case Value:
		ok = size > 0 && size <= MaxBlockSize && size <= h.NBytes && h.NBytes%size == 0
	case Uninit:
		ok = ok && h.NBytes%h.TypeSize == 0
	default:
		return corrupt("header", 31, "special kind %d", h.Special)
	}
	if !ok {
		return corrupt("header", 31, "%s chunk of %d bytes for %d with items of %d", h.Special, h.CBytes, h.NBytes, h.TypeSize)
	}
	return nil
}

// checkBlocks makes sure that the block starts fit into the chunk and that
// blocks divide into streams.
func (h *Header) checkBlocks() error {
	if int64(h.Len())+4*int64(h.Blocks()) > int64(h.CBytes) || h.Dict && h.bodyOff()+4 > h.CBytes {
		return corrupt("header", 12, "chunk of %d bytes for %d blocks", h.CBytes, h.Blocks())
	}
	if n := h.streams(0); n > 1 && h.BlockBytes()%n != 0 {
		return corrupt("header", 8, "blocks of %d bytes in %d streams", h.BlockBytes(), n)
	}
	return nil
}

// Len is the length of the header: 16 or 32.
func (h Header) Len() int {
	if h.Extended {
		return HeaderLen2
	}
	return HeaderLen1
}

// BlockBytes returns the decoded length of each block except the last; it is at
// most NBytes. It is 0 for an empty chunk, and for a VL chunk, whose blocks
// have their own lengths.
func (h Header) BlockBytes() int {
	if h.VL {
		return 0
	}
	return min(h.BlockSize, h.NBytes)
}

// Blocks is the number of blocks. Special and memcpyed chunks have blocks, too,
// although they store no block starts.
func (h Header) Blocks() int {
	if h.VL {
		return h.BlockSize
	}
	if h.NBytes == 0 {
		return 0
	}
	b := h.BlockBytes()
	return (h.NBytes-1)/b + 1 // the usual sum might not fit into 32 bits
}

// plain reports whether the chunk has neither block starts nor streams.
func (h Header) plain() bool { return h.Memcpyed || h.Special != None }

// bodyOff returns the offset where the block starts end, and the dictionary or
// the first stream begins.
func (h Header) bodyOff() int {
	if h.plain() {
		return h.Len()
	}
	return h.Len() + 4*h.Blocks()
}

// IndexLen returns the number of bytes at the start of the chunk that ParseIndex
// needs: header, block starts and the dictionary's length, or all bytes of a
// Value chunk.
func (h Header) IndexLen() int {
	switch {
	case h.Special == Value:
		return h.CBytes
	case h.Dict && !h.plain():
		return h.bodyOff() + 4
	}
	return h.bodyOff()
}

// blockLen is the decoded length of block i, not in VL chunks.
func (h *Header) blockLen(i int) int {
	b := h.BlockBytes()
	return min(b, h.NBytes-i*b)
}

// Limits of splitting in chunks of Blosc 1.x, which are older than the flag that tells
// it.
const (
	maxSplit1      = 16
	minSplitItems1 = 128
)

// streams is the number of streams of block i.
func (h *Header) streams(i int) int {
	if !h.Split || h.VL || h.NBytes == 0 {
		return 1
	}
	n := h.blockLen(i)
	if n != h.BlockBytes() {
		return 1 // the last, shorter block
	}
	if !h.Extended && (h.TypeSize > maxSplit1 || n/h.TypeSize < minSplitItems1) {
		return 1
	}
	return h.TypeSize
}

// Supported returns nil if this package can decode the chunk, else an error that
// wraps formats.ErrUnsupported and names the codec or the filter. Some filters
// need DecodeOptions as well.
func (h Header) Supported() error {
	if h.plain() || h.NBytes == 0 {
		return nil
	}
	switch h.Codec {
	case BloscLZ, LZ4, LZ4HC, Snappy, Zlib, Zstd:
	case codecReserved, codecInFrame:
		return unsupported("header", "codec format %d", h.Flags>>5)
	default:
		if name := pluginCodec(h.Codec); name != "" {
			return unsupported("header", "codec %s (id %d)", name, h.Codec)
		}
		return unsupported("header", "codec id %d", h.Codec)
	}
	if h.Flags>>5 == 6 {
		return unsupported("header", "codec %s (id %d) as a plugin", h.Codec, h.Codec)
	}
	for _, f := range h.Filters {
		switch f.ID {
		case NoFilter, Shuffle, BitShuffle, Delta, TruncPrec, NDCell, NDMean, ByteDeltaBuggy, ByteDelta, IntTrunc:
		default:
			return unsupported("header", "filter id %d", f.ID)
		}
	}
	return nil
}
