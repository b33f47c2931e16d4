package codec

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/internal/zstdenc"
	"github.com/farread/farread/internal/zstdfast"
)

const zstdDictMagic = 0xEC30A437 // 37 a4 30 ec: a trained dictionary

// maxWindow is the largest window of a frame that is decoded, and the largest that the
// C library writes. The library decodes into the destination, so a window costs no
// memory.
const maxWindow = 1 << 31

// trained reports whether dict has an identifier and entropy tables in front of
// its content.
func trained(dict []byte) bool {
	return len(dict) >= 8 && binary.LittleEndian.Uint32(dict) == zstdDictMagic
}

// zstdDecoder keeps the library's decoder and the dictionary it was given.
type zstdDecoder struct {
	fast zstdfast.Decoder
	lib  *zstd.Decoder
	dict []byte
}

func (z *zstdDecoder) decode(dst, src, dict []byte) (bool, error) {
	if len(dict) == 0 && zstdfast.Worthwhile(src, len(dst)) && z.fast.Decode(dst, src) {
		return true, nil
	}
	if z.lib == nil {
		lib, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return false, err
		}
		z.lib = lib
	}
	if !bytes.Equal(dict, z.dict) {
		if err := z.load(dict); err != nil {
			return false, err
		}
	}
	out, err := z.lib.DecodeAll(src, dst[:0:min(cap(dst), len(dst)+Slack)])
	if err != nil || len(out) != len(dst) {
		return false, err
	}
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out) // the library chose a slice of its own
	}
	return true, nil
}

// load makes dict the only dictionary. It compares and keeps the content, since the
// caller's buffer will hold another chunk's dictionary next.
func (z *zstdDecoder) load(dict []byte) error {
	z.dict = z.dict[:0]
	opts := []zstd.DOption{zstd.WithDecoderDictDelete()}
	own := bytes.Clone(dict)
	switch {
	case len(dict) == 0:
	case trained(dict):
		opts = append(opts, zstd.WithDecoderDicts(own))
	default:
		opts = append(opts, zstd.WithDecoderDictRaw(0, own))
	}
	if err := z.lib.ResetWithOptions(nil, opts...); err != nil {
		z.lib = nil
		return err
	}
	z.dict = own
	return nil
}

// zstdEncoder keeps a library's encoder of one level and dictionary.
type zstdEncoder struct {
	fast  zstdenc.Encoder
	lib   *zstd.Encoder
	level zstd.EncoderLevel
	dict  []byte
	out   []byte
	probe prober
}

// zstdLevel maps Blosc's levels. C maps them to 1, 3, 5 ... 13, 20 and 22 of libzstd;
// the library has four levels. Its highest fills 32 MiB of tables anew for each block
// that has a dictionary, so it is not used with one.
func zstdLevel(level int, dict bool) zstd.EncoderLevel {
	switch {
	case level <= 1:
		return zstd.SpeedFastest
	case level <= 3:
		return zstd.SpeedDefault
	case level <= 6 || dict:
		return zstd.SpeedBetterCompression
	}
	return zstd.SpeedBestCompression
}

func (z *zstdEncoder) encode(level int, dst, src, dict []byte) (int, error) {
	l := zstdLevel(level, len(dict) != 0)
	if l == zstd.SpeedFastest && len(dict) == 0 && len(dst) < len(src) && z.probe.incompressible(src) {
		return 0, nil
	}
	if len(dict) == 0 && len(src) >= zstdenc.Min &&
		(l == zstd.SpeedFastest && len(src) <= zstdenc.Max || l == zstd.SpeedDefault && len(src) <= zstdenc.SmallMax) {
		return z.fast.Encode(dst, src), nil
	}
	if z.lib == nil || z.level != l || !bytes.Equal(z.dict, dict) {
		own := bytes.Clone(dict)
		opts := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(l), zstd.WithEncoderCRC(false),
			zstd.WithSingleSegment(true), zstd.WithZeroFrames(true), zstd.WithAllLitEntropyCompression(true)}
		switch {
		case len(dict) == 0:
		case trained(dict):
			opts = append(opts, zstd.WithEncoderDict(own))
		default:
			opts = append(opts, zstd.WithEncoderDictRaw(0, own))
		}
		lib, err := zstd.NewWriter(nil, opts...)
		if err != nil {
			return 0, err
		}
		z.lib, z.level, z.dict = lib, l, own
	}
	// Not into dst: if the library ends with a raw block it needs more room than that
	// block on the way, and would allocate it each time.
	z.out = z.lib.EncodeAll(src, z.out[:0])
	if len(z.out) > len(dst) {
		return 0, nil
	}
	return copy(dst, z.out), nil
}
