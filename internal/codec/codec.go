// Package codec turns the byte streams inside Blosc chunks into bytes and back:
// BloscLZ, LZ4, LZ4HC, Snappy (reading only), zlib and Zstandard. It knows
// nothing of chunks: a stream, the size that it must have when decoded and
// perhaps a dictionary are all that it is given.
//
// Streams come from files, so nothing in them is trusted: a [Decoder] checks
// every length and distance, writes only inside the destination, and allocates
// nothing by numbers that it read.
package codec

import (
	"errors"
	"fmt"
	"math"
)

// ID names a codec by the number that Blosc2 uses inside the library and in the
// header of a frame. The three bits in a chunk's flags are another numbering.
type ID uint8

// The codecs of c-blosc2, and Snappy, which files of Blosc 1 may hold.
const (
	BloscLZ ID = 0
	LZ4     ID = 1
	LZ4HC   ID = 2
	Snappy  ID = 3
	Zlib    ID = 4
	Zstd    ID = 5
)

// String returns the name that Blosc uses, or the number of an unknown codec.
func (id ID) String() string {
	switch id {
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
	return fmt.Sprintf("codec(%d)", uint8(id))
}

// ErrCorrupt means that a stream is invalid for its codec, or does not decode
// to exactly the requested size. Every error of [Decoder.Decode] wraps
// ErrCorrupt or [ErrUnsupported].
var ErrCorrupt = errors.New("corrupt stream")

// ErrUnsupported means that the codec is unknown, cannot be written (Snappy),
// or has no dictionaries.
var ErrUnsupported = errors.New("unsupported codec")

// Slack is how many bytes of spare capacity behind a destination make decoding
// faster (see [Decoder.Decode]).
const Slack = 16

// maxStream is the largest block that Blosc allows, with much to spare: above
// it the codecs' own 32-bit numbers would overflow.
const maxStream = math.MaxInt32 - 64<<10

func corrupt(id ID, err error) error {
	if err == nil {
		return fmt.Errorf("%v: %w", id, ErrCorrupt)
	}
	return fmt.Errorf("%v: %w: %w", id, ErrCorrupt, err)
}
