package parquet

import (
	"bytes"
	"io"
	"slices"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/farread/farread/functions/internal/kit"
)

// An unpacker decompresses the pages of a column. It is not safe for concurrent use.
type unpacker struct {
	zstd *zstd.Decoder
	out  []byte
}

// page decompresses a page of size bytes. What it returns is valid until the next call.
func (u *unpacker) page(codec format.CompressionCodec, p []byte, size int) ([]byte, error) {
	if codec == format.Uncompressed {
		if len(p) != size {
			return nil, kit.Corrupt("%d bytes, and not compressed %d", len(p), size)
		}
		return p, nil
	}
	if size == 0 {
		return nil, nil
	}
	u.out = slices.Grow(u.out[:0], size)[:size]
	n, err := u.into(codec, u.out, p)
	switch {
	case err != nil:
		if kit.IsFormat(err) {
			return nil, err
		}
		return nil, kit.Corrupt("%s: %s", codec, err)
	case n != size:
		return nil, kit.Corrupt("%s: %d bytes, and its header says %d", codec, n, size)
	}
	return u.out, nil
}

func (u *unpacker) into(codec format.CompressionCodec, out, p []byte) (int, error) {
	switch codec {
	case format.Snappy:
		if n, err := snappy.DecodedLen(p); err != nil || n != len(out) {
			return n, err
		}
		got, err := snappy.Decode(out, p)
		return len(got), err
	case format.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(p))
		if err != nil {
			return 0, err
		}
		return full(r, out)
	case format.Brotli:
		return full(brotli.NewReader(bytes.NewReader(p)), out)
	case format.Zstd:
		got, err := u.zstd.DecodeAll(p, out[:0])
		if err == nil && len(got) == len(out) {
			copy(out, got)
		}
		return len(got), err
	case format.Lz4Raw:
		return lz4.UncompressBlock(p, out)
	case format.Uncompressed, format.LZO, format.Lz4: // the last one in frames of its own
	}
	return 0, kit.Unsupported("pages compressed by %s", codec)
}

// full reads as much as out has room for, and that nothing follows.
func full(r io.Reader, out []byte) (int, error) {
	n, err := io.ReadFull(r, out)
	if err != nil {
		return n, err
	}
	var more [1]byte
	if k, _ := r.Read(more[:]); k > 0 {
		n++
	}
	return n, nil
}
