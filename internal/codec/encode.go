package codec

import (
	"errors"
	"fmt"

	"github.com/pierrec/lz4/v4"
)

// Encoder encodes streams of every codec but Snappy. The zero value is ready.
// It keeps the tables of the codecs that it met: one for each goroutine, not
// for concurrent use.
type Encoder struct {
	// Their tables take 540 KiB together, so each is made when it is first needed.
	blosclz *bloscLZEncoder
	lz4     *lz4Encoder
	lz4lib  *lz4.CompressorCCompat
	lz4hc   *lz4HCEncoder
	lz4dict *lz4DictEncoder
	zlib    zlibEncoder
	zstd    *zstdEncoder
}

// made returns what p points at, which it makes if there is nothing.
func made[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// Encode writes src as one stream of the codec to dst and returns its length.
// A length of 0 means that the stream does not fit into len(dst): then nothing
// of worth is in dst, and the caller stores src as it is.
//
// In a Blosc chunk a stream that is exactly as long as its content is read as
// raw bytes, and a longer one is of no use, so a caller passes a destination of
// at most len(src)-1 bytes; Encode itself takes any.
//
// Levels are those of Blosc, 1 (fast) to 9 (small); others are taken for the
// nearest of these. For LZ4 and LZ4HC a dictionary is history before src, of
// which the last 64 KiB count; for Zstd it is either trained (see [TrainDict]),
// or plain content. Other codecs refuse one with [ErrUnsupported]. src and dict
// are only read and not kept; they must not overlap dst.
func (e *Encoder) Encode(id ID, level int, dst, src, dict []byte) (int, error) {
	level = min(max(level, 1), 9)
	if len(src) > maxStream {
		return 0, fmt.Errorf("%v: a block of %d bytes: %w", id, len(src), ErrUnsupported)
	}
	if len(dict) != 0 && id != LZ4 && id != LZ4HC && id != Zstd {
		return 0, fmt.Errorf("%v with a dictionary: %w", id, ErrUnsupported)
	}
	dst = dst[:len(dst):len(dst)]
	switch id {
	case BloscLZ:
		return made(&e.blosclz).encode(level, dst, src), nil
	case LZ4, LZ4HC:
		return e.encodeLZ4(id, level, dst, src, dict)
	case Zlib:
		return e.zlib.encode(level, dst, src)
	case Zstd:
		return made(&e.zstd).encode(level, dst, src, dict)
	case Snappy:
		return 0, fmt.Errorf("%v is only read: %w", id, ErrUnsupported)
	}
	return 0, fmt.Errorf("%v: %w", id, ErrUnsupported)
}

func (e *Encoder) encodeLZ4(id ID, level int, dst, src, dict []byte) (n int, err error) {
	switch {
	case id == LZ4HC:
		return made(&e.lz4hc).encode(level, dst, src, dict), nil
	case len(dict) != 0:
		return made(&e.lz4dict).encode(dst, src, dict), nil
	case len(src) == 0:
		if len(dst) == 0 {
			return 0, nil
		}
		dst[0] = 0
		return 1, nil
	case len(src) <= lz4SmallMax || lz4Kernelled(len(src)):
		return made(&e.lz4).encode(10-level, dst, src), nil // levels as in c-blosc2
	}
	lib := made(&e.lz4lib)
	lib.Acceleration = 10 - level
	n, err = lib.CompressBlock(src, dst)
	if errors.Is(err, lz4.ErrInvalidSourceShortBuffer) {
		return 0, nil
	}
	return n, err
}
