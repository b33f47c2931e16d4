package blosc

import (
	"encoding/binary"

	"github.com/farread/farread/formats"
)

// AppendEncoded encodes src as one chunk and appends it to dst. The bytes depend
// only on src and on the options without Parallel, not on the machine. If src has
// at least 32 bytes and consists of zeros, one NaN or another repeated item, the
// result is a special chunk of Blosc2, unless Level is LevelStore. Data that do
// not become smaller are stored as they are, so a chunk is at most a header
// longer than src.
//
// The memory is two copies of a block for each goroutine, and room for src, which
// is the spare capacity of dst or a buffer from a pool; Dict doubles the latter.
// If the options are invalid, AppendEncoded returns ErrUnsupported; if src is
// longer than 2 GiB less a header, ErrTooLarge. If it fails, it returns dst.
func AppendEncoded(dst, src []byte, o EncodeOptions) ([]byte, error) {
	e, err := newEncoding(len(src), &o)
	if err != nil {
		return dst, err
	}
	if e.store || len(src) < e.smallest() {
		return e.appendStored(dst, src), nil
	}
	if e.h.Extended {
		if kind, value := findSpecial(src, e.itemSize); kind != None {
			return AppendSpecial(dst, kind, len(src), e.itemSize, e.h.BlockSize, value)
		}
	}
	if e.h.Blocks() == 1 && !e.dict {
		if body := e.room(dst); body != nil {
			return e.appendOne(dst, src, body)
		}
	}
	several := e // goroutines need their own copy, which is allocated
	return several.appendBlocks(dst, src)
}

// smallest is the length of data below which the C libraries do not compress.
func (e *encoding) smallest() int {
	if e.h.Extended {
		return 32
	}
	return 128
}

// appendStored appends a memcpyed chunk.
func (e *encoding) appendStored(dst, src []byte) []byte {
	h := e.h
	h.Flags |= flagMemcpyed
	h.Dict, h.CBytes = false, h.Len()+len(src)
	dst = grow(dst, h.CBytes)
	return append(h.appendTo(dst), src...)
}

// appendTo appends the header as it is written.
func (h *Header) appendTo(dst []byte) []byte {
	dst = append(dst, h.Version, h.VersionLZ, h.Flags, uint8(h.TypeSize))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.NBytes))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.BlockSize))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(h.CBytes))
	if !h.Extended {
		return dst
	}
	for _, f := range h.Filters {
		dst = append(dst, uint8(f.ID))
	}
	dst = append(dst, uint8(h.Codec), h.CodecMeta)
	for _, f := range h.Filters {
		dst = append(dst, f.Meta)
	}
	flags := uint8(h.Special) << 4
	if h.Dict {
		flags |= flagDict
	}
	return append(dst, h.Flags2, flags)
}

// findSpecial checks whether src is one repeated item.
func findSpecial(src []byte, item int) (Special, []byte) {
	if isRepeated(src, 1) && src[0] == 0 {
		return Zeros, nil
	}
	if len(src)%item != 0 || len(src) == item || !isRepeated(src, item) {
		return None, nil
	}
	value := src[:item]
	if item == 4 && binary.LittleEndian.Uint32(value) == nan32 || item == 8 && binary.LittleEndian.Uint64(value) == nan64 {
		return NaN, nil
	}
	return Value, value
}

// AppendSpecial appends a special Blosc2 chunk of nbytes decoded bytes to dst. A
// typesize above 255 is recorded as 1. Readers of single items use blocksize; 0
// means an automatic size. value is the item of a Value chunk, whose length
// divides nbytes. NaN needs a typesize of 4 or 8, and NaN and Uninit one that
// divides nbytes. Other combinations, and None, are ErrUnsupported; with an error
// the result is dst.
func AppendSpecial(dst []byte, kind Special, nbytes, typesize, blocksize int, value []byte) ([]byte, error) {
	if kind == None {
		return dst, unsupported("chunk", "special kind none")
	}
	if kind != Value {
		value = nil
	}
	o := EncodeOptions{TypeSize: typesize, BlockSize: blocksize, Filters: []Filter{}}
	e, err := newEncoding(nbytes, &o)
	if err != nil {
		return dst, err
	}
	h := e.h
	h.Flags, h.Filters, h.Special, h.CBytes = flagsExtended, [6]Filter{}, kind, HeaderLen2+len(value)
	if n := len(value); n > 0 && h.BlockSize%n != 0 { // C refuses blocks that end inside an item
		h.BlockSize = max(h.BlockSize-h.BlockSize%n, n)
	}
	if err := h.check(); err != nil {
		return dst, fail("chunk", -1, formats.ErrUnsupported, "%s of %d bytes with items of %d", kind, nbytes, max(typesize, len(value)))
	}
	return append(h.appendTo(dst), value...), nil
}
