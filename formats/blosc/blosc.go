// Package blosc reads and writes Blosc chunks: one compressed buffer each, cut
// into blocks that can be decoded alone. It knows the chunks of Blosc1 (headers
// of 16 bytes) and of Blosc2 (32 bytes), and nothing of the frames that hold
// them.
//
// Everything here works on bytes in memory. A chunk is not trusted: every
// number in it is checked before anything is allocated on its word. Functions
// are safe for concurrent use and keep no reference to what they are given.
// Buffers that a function reads and writes must not overlap. Errors are
// *formats.Error with Format "blosc".
package blosc

import (
	"fmt"
	"strconv"

	"github.com/farread/farread/formats"
)

// A Codec is the method that compresses the streams of a chunk. The numbers are
// Blosc2's internal ones, as in byte 22 of its headers and in frames.
type Codec uint8

// The codecs that this package reads and, except Snappy, writes.
const (
	BloscLZ Codec = 0
	LZ4     Codec = 1
	LZ4HC   Codec = 2 // the stream format of LZ4
	Snappy  Codec = 3 // Blosc1 only, read only
	Zlib    Codec = 4
	Zstd    Codec = 5
)

// Stand-ins for the two formats of the flags byte that name no codec.
const (
	codecReserved = 254 // format 5
	codecInFrame  = 255 // format 7, never produced
)

// String returns the name that Blosc2 uses, "codec N" for a codec without a
// name.
func (c Codec) String() string {
	switch c {
	case BloscLZ:
		return "blosclz"
	case LZ4:
		return "lz4"
	case LZ4HC:
		return "lz4hc"
	case Snappy:
		return "snappy"
	case Zlib:
		return "zlib"
	case Zstd:
		return "zstd"
	}
	if name := pluginCodec(c); name != "" {
		return name
	}
	return "codec " + strconv.Itoa(int(c))
}

// pluginCodec names the codecs that Blosc2 has registered for plugins.
func pluginCodec(c Codec) string {
	const first = 32
	names := [...]string{"ndlz", "zfp_acc", "zfp_prec", "zfp_rate", "openhtj2k", "grok", "openzl", "j2k", "htj2k"}
	if c >= first && int(c) < first+len(names) {
		return names[c-first]
	}
	return ""
}

// A FilterID is the number of a filter: a reversible (or deliberately lossy)
// change of a block that makes it compress better.
type FilterID uint8

// The filters of Blosc2 and their numbers.
const (
	NoFilter       FilterID = 0
	Shuffle        FilterID = 1 // meta: width, 0 for the type size
	BitShuffle     FilterID = 2
	Delta          FilterID = 3  // XOR with the chunk's first block
	TruncPrec      FilterID = 4  // meta: signed count of mantissa bits
	NDCell         FilterID = 32 // meta: edge of a cell
	NDMean         FilterID = 33 // meta: edge of a cell; read only
	ByteDeltaBuggy FilterID = 34 // ByteDelta with the bug of its first version; read only
	ByteDelta      FilterID = 35 // meta: streams, 0 for the super-chunk's type size
	IntTrunc       FilterID = 36 // meta: signed count of bits
)

// String returns Blosc2's name in small letters, "filter N" for a filter
// without a name.
func (f FilterID) String() string {
	switch f {
	case NoFilter:
		return "nofilter"
	case Shuffle:
		return "shuffle"
	case BitShuffle:
		return "bitshuffle"
	case Delta:
		return "delta"
	case TruncPrec:
		return "trunc_prec"
	case NDCell:
		return "ndcell"
	case NDMean:
		return "ndmean"
	case ByteDeltaBuggy:
		return "bytedelta_buggy"
	case ByteDelta:
		return "bytedelta"
	case IntTrunc:
		return "int_trunc"
	}
	return "filter " + strconv.Itoa(int(f))
}

// A Filter is one slot of a pipeline of filters. The comments on the FilterID
// constants tell what Meta means for each filter.
type Filter struct {
	ID   FilterID
	Meta uint8
}

// Special is the kind of a special chunk, which is a header that stands for all
// its decoded bytes.
type Special uint8

// The kinds of special chunks and their numbers.
const (
	None   Special = 0 // not a special chunk
	Zeros  Special = 1
	NaN    Special = 2 // items of 4 or 8 bytes
	Value  Special = 3 // one item, repeated
	Uninit Special = 4 // content undefined; read as zeros
)

// String returns the kind in small letters.
func (s Special) String() string {
	names := [...]string{"none", "zeros", "nan", "value", "uninit"}
	if int(s) < len(names) {
		return names[s]
	}
	return "special " + strconv.Itoa(int(s))
}

// fail returns an error of this package about a part of a chunk.
func fail(part string, off int64, class error, format string, args ...any) error {
	return &formats.Error{Format: "blosc", Part: part, Off: off, Err: fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), class)}
}

func corrupt(part string, off int64, format string, args ...any) error {
	return fail(part, off, formats.ErrCorrupt, format, args...)
}

func unsupported(part, format string, args ...any) error {
	return fail(part, -1, formats.ErrUnsupported, format, args...)
}
