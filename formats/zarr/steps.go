package zarr

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/filter"
)

// A step is a codec from bytes to bytes.
type step struct {
	kind  stepKind
	width int // of shuffle
}

type stepKind uint8

const (
	stepGzip stepKind = iota
	stepZlib
	stepZstd
	stepBlosc
	stepLZ4
	stepShuffle
	stepSum
	stepBZ2
)

func (k stepKind) String() string {
	return [...]string{"gzip", "zlib", "zstd", "blosc", "lz4", "shuffle", "crc32c", "bz2"}[k]
}

// sumLen is the length of a CRC-32C, lz4Head that of the length before an LZ4 stream of
// numcodecs.
const (
	sumLen  = 4
	lz4Head = 4
)

// stepOf reads a codec of either version. numcodecs writes its own names in version 3 as
// "numcodecs.zlib".
func stepOf(p *part) (step, error) {
	switch name := strings.TrimPrefix(p.Name, "numcodecs."); name {
	case "gzip":
		return step{kind: stepGzip}, nil
	case "zlib":
		return step{kind: stepZlib}, nil
	case "zstd":
		return step{kind: stepZstd}, nil
	case "blosc":
		return step{kind: stepBlosc}, nil
	case "lz4":
		return step{kind: stepLZ4}, nil
	case "bz2":
		return step{kind: stepBZ2}, nil
	case "crc32c":
		return step{kind: stepSum}, nil
	case "shuffle":
		c := struct {
			Size *int `json:"elementsize"`
		}{}
		if err := p.into(&c); err != nil {
			return step{}, err
		}
		width := 4 // numcodecs' default
		if c.Size != nil {
			width = *c.Size
		}
		if width < 1 || width > math.MaxUint16 {
			return step{}, corrupt("codecs", "shuffle of elements of %d bytes", width)
		}
		return step{stepShuffle, width}, nil
	}
	return step{}, unsupported("codecs", "%.100q", p.Name)
}

// most is how many bytes an encoded chunk of n bytes may take: far more than any codec adds to
// what it cannot compress.
func (e *encoding) most(n int) int64 {
	if e.shard != nil {
		return maxShardBytes(n, e.shard)
	}
	if len(e.bytes) == 0 {
		return int64(n)
	}
	return int64(n) + int64(n)/8 + 64<<10
}

func maxShardBytes(n int, s *sharding) int64 {
	return int64(n) + int64(n)/8 + s.indexLen() + s.grid.Total*128 + 64<<10
}

// undoInto decodes src by the steps, the last one first, into dst, whose length the result
// must have.
func undoInto(dst []byte, steps []step, src []byte) error {
	if len(steps) == 0 {
		if len(src) != len(dst) {
			return corrupt("", "%d bytes for items of %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	}
	// sizes[i] is the length of the input of step i, as far as the steps before it keep lengths.
	know, n := 0, len(dst)
	sizes := []int{n}
	for know < len(steps) && steps[know].keeps() {
		if steps[know].kind == stepSum {
			n += sumLen
		}
		sizes = append(sizes, n)
		know++
	}
	p := src
	if last := know + 1; last < len(steps) {
		var err error
		if p, err = undoAll(steps[last:], src, int64(n)+int64(n)/8+64<<10); err != nil {
			return err
		}
	}
	for i := min(know, len(steps)-1); i >= 0; i-- {
		out := dst
		if i > 0 {
			out = make([]byte, sizes[i])
		}
		if err := steps[i].exactly(out, p); err != nil {
			return err
		}
		p = out
	}
	return nil
}

// keeps reports whether the length of the result follows from that of the input.
func (s step) keeps() bool { return s.kind == stepShuffle || s.kind == stepSum }

// undoAll decodes src by the steps, the last one first, where nobody knows the length of the
// result but that it is at most so much.
func undoAll(steps []step, src []byte, most int64) ([]byte, error) {
	for i := len(steps) - 1; i >= 0; i-- {
		var err error
		if src, err = steps[i].upTo(src, most); err != nil {
			return nil, err
		}
	}
	return src, nil
}

func (s step) bad(err error) error {
	return &formats.Error{Format: Format, Off: -1, Err: fmt.Errorf("%s: %w: %w", s.kind, err, formats.ErrCorrupt)}
}

var errLength = errors.New("not the length that the items have")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// undoSum checks and removes a CRC-32C.
func undoSum(p []byte) ([]byte, error) {
	n := len(p) - sumLen
	if n < 0 || crc32.Checksum(p[:n], castagnoli) != binary.LittleEndian.Uint32(p[n:]) {
		return nil, corrupt("", "crc32c: wrong checksum")
	}
	return p[:n], nil
}

// decoders keep their tables.
var decoders = sync.Pool{New: func() any { return new(codec.Decoder) }}

func decode(id codec.ID, dst, src []byte) error {
	d, _ := decoders.Get().(*codec.Decoder)
	defer decoders.Put(d)
	return d.Decode(id, dst[:len(dst):len(dst)], src, nil)
}

// exactly decodes src into dst, which it must fill.
func (s step) exactly(dst, src []byte) error {
	var err error
	switch s.kind {
	case stepZlib:
		err = decode(codec.Zlib, dst, src)
	case stepZstd:
		err = decode(codec.Zstd, dst, src)
	case stepLZ4:
		if len(src) < lz4Head || int64(binary.LittleEndian.Uint32(src)) != int64(len(dst)) {
			return s.bad(errLength)
		}
		err = decode(codec.LZ4, dst, src[lz4Head:])
	case stepBlosc:
		return s.bloscInto(dst, src)
	case stepGzip, stepBZ2:
		return s.streamInto(dst, src)
	case stepSum:
		p, err := undoSum(src)
		if err == nil && copy(dst, p) != len(p) || err == nil && len(p) != len(dst) {
			err = s.bad(errLength)
		}
		return err
	case stepShuffle:
		if len(src) != len(dst) {
			return s.bad(errLength)
		}
		filter.Unshuffle(dst, src, s.width)
	}
	if err != nil {
		return s.bad(err)
	}
	return nil
}

func (s step) bloscInto(dst, src []byte) error {
	h, err := blosc.ParseHeader(src)
	if err == nil && h.NBytes != len(dst) {
		err = fmt.Errorf("%d bytes: %w", h.NBytes, errLength)
	}
	if err == nil && h.CBytes != len(src) {
		err = fmt.Errorf("%d bytes hold a chunk of %d", len(src), h.CBytes)
	}
	if err == nil {
		_, err = blosc.DecodeOptions{}.DecodeParsed(dst, src, &h)
	}
	if errors.Is(err, formats.ErrUnsupported) {
		return &formats.Error{Format: Format, Off: -1, Err: err}
	}
	if err != nil {
		return s.bad(err)
	}
	return nil
}

// streamInto decodes a stream of gzip or bz2.
func (s step) streamInto(dst, src []byte) error {
	r, done, err := s.reader(src)
	if err != nil {
		return s.bad(err)
	}
	defer done()
	if _, err := io.ReadFull(r, dst); err != nil {
		return s.bad(fmt.Errorf("%w: %w", errLength, err))
	}
	var one [1]byte
	if n, err := r.Read(one[:]); n > 0 || !errors.Is(err, io.EOF) { // the sum is checked at the end
		return s.bad(errLength)
	}
	return nil
}

// upTo decodes src, of which nobody knows the length when decoded but that it is at most so
// much.
func (s step) upTo(src []byte, most int64) ([]byte, error) {
	n := int64(-1)
	switch s.kind {
	case stepSum:
		return undoSum(src)
	case stepShuffle:
		n = int64(len(src))
	case stepLZ4:
		if len(src) >= lz4Head {
			n = int64(binary.LittleEndian.Uint32(src))
		}
	case stepBlosc:
		h, err := blosc.ParseHeader(src)
		if err != nil {
			return nil, s.bad(err)
		}
		n = int64(h.NBytes)
	case stepGzip, stepZlib, stepZstd, stepBZ2:
		return s.stream(src, most)
	}
	if n < 0 || n > most {
		return nil, s.bad(errLength)
	}
	out := make([]byte, n)
	return out, s.exactly(out, src)
}

// stream decodes what does not say its length.
func (s step) stream(src []byte, most int64) ([]byte, error) {
	r, done, err := s.reader(src)
	if err != nil {
		return nil, s.bad(err)
	}
	defer done()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = errLength
	}
	if err != nil {
		return nil, s.bad(err)
	}
	return out.Bytes(), nil
}

// reader opens a stream. done frees what it holds.
func (s step) reader(src []byte) (r io.Reader, done func(), err error) {
	none := func() {}
	switch s.kind {
	case stepGzip:
		r, err = gzip.NewReader(bytes.NewReader(src))
	case stepZlib:
		r, err = zlib.NewReader(bytes.NewReader(src))
	case stepBZ2:
		r = bzip2.NewReader(bytes.NewReader(src))
	default:
		z, err := zstd.NewReader(bytes.NewReader(src), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, none, err
		}
		return z, z.Close, nil
	}
	return r, none, err
}

// maxWindow is the largest window of a stream of zstd within other codecs: that of its level 19.
const maxWindow = 8 << 20
