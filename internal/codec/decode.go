package codec

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"

	"github.com/farread/farread/internal/inflate"
)

var errSize = errors.New("the decoded size is not the expected one")

// Decoder decodes streams of every codec. The zero value is ready. It keeps the
// tables and buffers of the codecs that it met, so a caller with many streams
// keeps one for each goroutine: it is not for concurrent use.
type Decoder struct {
	zlib inflate.Decoder
	zstd zstdDecoder
}

// Decode decodes the stream src into dst. If the stream does not decode to
// exactly len(dst) bytes, the error wraps [ErrCorrupt], and the content of dst
// is undefined.
//
// Nothing is written behind cap(dst). The bytes dst[len(dst):cap(dst)] may be
// overwritten with anything, and Decode is faster when there are [Slack] of
// them; a caller whose destination has a neighbour passes dst[:n:n]. src and
// dict are only read, are not kept, and must not overlap dst.
//
// A dictionary acts as history before the output. LZ4, LZ4HC and Zstd know
// dictionaries; other codecs refuse one with [ErrUnsupported]. An empty dict
// means none.
func (d *Decoder) Decode(id ID, dst, src, dict []byte) error {
	if len(src) > maxStream || len(dst) > maxStream {
		return corrupt(id, errSize)
	}
	if len(dict) != 0 && id != LZ4 && id != LZ4HC && id != Zstd {
		return fmt.Errorf("%v with a dictionary: %w", id, ErrUnsupported)
	}
	var ok bool
	var err error
	switch id {
	case BloscLZ:
		ok = decodeBloscLZ(dst, src)
	case LZ4, LZ4HC:
		ok, err = decodeLZ4(dst, src, dict)
	case Snappy:
		ok, err = decodeSnappy(dst, src)
	case Zlib:
		ok = d.zlib.Decode(dst, src)
	case Zstd:
		ok, err = d.zstd.decode(dst, src, dict)
	default:
		return fmt.Errorf("%v: %w", id, ErrUnsupported)
	}
	switch {
	case err != nil:
		return corrupt(id, err)
	case !ok:
		return corrupt(id, errSize)
	}
	return nil
}

func decodeLZ4(dst, src, dict []byte) (bool, error) { return decodeLZ4By(dst, src, dict, hasKernels) }

// decodeLZ4By is decodeLZ4, with the kernel for what it can do or without. What it leaves,
// the library decodes, with the result so far as its dictionary.
func decodeLZ4By(dst, src, dict []byte, kernel bool) (bool, error) {
	if len(dst) == 0 {
		// Only one stream decodes to nothing: a token without literals.
		return len(src) == 1 && src[0] == 0, nil
	}
	end := len(dst)
	if kernel && len(dict) == 0 && end >= lz4Room && len(src) >= lz4Room {
		o, p := lz4Kernel(dst[:min(cap(dst), end+Slack)], src)
		if o > end {
			return false, nil
		}
		dst, src, dict = dst[o:], src[p:], dst[max(0, o-lz4MaxDist):o]
	}
	n, err := lz4.UncompressBlockWithDict(src, dst[:len(dst):len(dst)], dict)
	return n == len(dst), err
}

func decodeSnappy(dst, src []byte) (bool, error) {
	if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
		return false, err // asked first: DecodeStrict allocates if the content does not fit into dst
	}
	out, err := snappy.DecodeStrict(dst[:len(dst):len(dst)], src)
	return len(out) == len(dst), err
}
