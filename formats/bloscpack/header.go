package bloscpack

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
)

// HeaderLen is the length of the header of both versions.
const HeaderLen = 32

// Versions of the format that are read and written.
const (
	Version3 = 3 // of the Python tool
	Version4 = 4 // of the proposal
)

const (
	magic = "blpk"

	optOffsets  = 1 << 0
	optMeta     = 1 << 1
	optVariable = 1 << 2 // version 4 only

	// MaxChunk is the longest chunk, decoded: Blosc's 2^31-1 less its header.
	MaxChunk = math.MaxInt32 - 16
	// MaxMetadata is the longest metadata that are read or written, stored or
	// decoded. Version 4 has the bound by the rules of docs/formats/bloscpack.md,
	// the format of version 3 has none.
	MaxMetadata = 64 << 20

	// positions in the header
	atVersion   = 4
	atOptions   = 5
	atChecksum  = 6
	atTypeSize  = 7
	atChunkSize = 8
	atLastChunk = 12
	atChunks    = 16
	atMaxAppend = 24 // version 3
	atMetaSize  = 24 // version 4
	atReserved  = 28 // version 4
)

// A Header is the first 32 bytes of a file.
type Header struct {
	Version  int // 3 or 4
	Checksum Checksum
	TypeSize int // 0..255, as given to Blosc
	// ChunkSize is the decoded length of all chunks but the last, LastChunk that
	// of the last; -1: unknown. They mean nothing if Variable is set.
	ChunkSize, LastChunk int64
	Chunks               int64 // -1: unknown, as in a file whose writing did not end
	MaxAppend            int64 // version 3: spare entries of the table
	Offsets, Meta        bool  // whether there are a table and metadata
	Variable             bool  // version 4: each chunk is an item of its own length
	MetaSize             int64 // version 4: bytes of metadata
}

// Sniff tells whether b, which holds the first HeaderLen bytes or more, begins as
// a Bloscpack file of any version does.
func Sniff(b []byte) bool {
	// Options and checksum are checked, too, since four letters may be chance.
	return len(b) >= HeaderLen && string(b[:len(magic)]) == magic && b[atOptions] < 1<<3 && Checksum(b[atChecksum]).Valid()
}

// ParseHeader reads the header that b begins with and checks each number in it
// against the others. Errors wrap formats.ErrCorrupt, or formats.ErrUnsupported
// for versions other than 3 and 4.
func ParseHeader(b []byte) (Header, error) {
	const part = "header"
	if len(b) < HeaderLen {
		return Header{}, corrupt(part, 0, "%d bytes, %d are needed", len(b), HeaderLen)
	}
	if string(b[:len(magic)]) != magic {
		return Header{}, corrupt(part, 0, "begins with %q, not with %q", b[:len(magic)], magic)
	}
	h := Header{
		Version:   int(b[atVersion]),
		Checksum:  Checksum(b[atChecksum]),
		TypeSize:  int(b[atTypeSize]),
		ChunkSize: int64(int32(binary.LittleEndian.Uint32(b[atChunkSize:]))),
		LastChunk: int64(int32(binary.LittleEndian.Uint32(b[atLastChunk:]))),
		Chunks:    int64(binary.LittleEndian.Uint64(b[atChunks:])),
	}
	opt := b[atOptions]
	h.Offsets, h.Meta, h.Variable = opt&optOffsets != 0, opt&optMeta != 0, opt&optVariable != 0
	switch h.Version {
	case Version3:
		if opt > optOffsets|optMeta {
			return Header{}, corrupt(part, atOptions, "options %#x in version 3", opt)
		}
		h.MaxAppend = int64(binary.LittleEndian.Uint64(b[atMaxAppend:]))
	case Version4:
		if opt > optOffsets|optMeta|optVariable {
			return Header{}, corrupt(part, atOptions, "options %#x", opt)
		}
		h.MetaSize = int64(binary.LittleEndian.Uint32(b[atMetaSize:]))
		if r := binary.LittleEndian.Uint32(b[atReserved:]); r != 0 {
			return Header{}, corrupt(part, atReserved, "reserved bytes are %#x, not zero", r)
		}
	default:
		return Header{}, unsupported(part, atVersion, "version %d", h.Version)
	}
	if off, err := h.check(); err != nil {
		return Header{}, &formats.Error{Format: Format, Part: part, Off: off, Err: fmt.Errorf("%w: %w", err, formats.ErrCorrupt)}
	}
	return h, nil
}

// check looks at every number; off is the place of the wrong one.
func (h Header) check() (off int64, err error) {
	switch {
	case !h.Checksum.Valid():
		return atChecksum, fmt.Errorf("unknown %s", h.Checksum)
	case h.TypeSize < 0 || h.TypeSize > math.MaxUint8:
		return atTypeSize, fmt.Errorf("type size %d", h.TypeSize)
	case h.Chunks < -1:
		return atChunks, fmt.Errorf("%d chunks", h.Chunks)
	}
	if !h.Variable {
		if off, err := h.checkSizes(); err != nil {
			return off, err
		}
	}
	if h.Version == Version3 {
		return h.check3()
	}
	switch {
	case h.Variable && !h.Offsets:
		return atOptions, fmt.Errorf("items of various lengths without offsets")
	case h.Meta != (h.MetaSize > 0):
		return atMetaSize, fmt.Errorf("%d bytes of metadata, option bit %t", h.MetaSize, h.Meta)
	case h.MaxAppend != 0:
		return atMaxAppend, fmt.Errorf("spare offsets in version 4")
	}
	return 0, nil
}

// checkSizes looks at the two lengths of chunks. In a file of various lengths they
// mean nothing.
func (h Header) checkSizes() (off int64, err error) {
	switch {
	case h.ChunkSize < -1 || h.ChunkSize > MaxChunk:
		return atChunkSize, fmt.Errorf("chunks of %d bytes", h.ChunkSize)
	case h.LastChunk < -1 || h.LastChunk > MaxChunk:
		return atLastChunk, fmt.Errorf("last chunk of %d bytes", h.LastChunk)
	case h.ChunkSize >= 0 && h.LastChunk > h.ChunkSize:
		return atLastChunk, fmt.Errorf("last chunk of %d bytes, the others have %d", h.LastChunk, h.ChunkSize)
	}
	return 0, nil
}

func (h Header) check3() (off int64, err error) {
	switch {
	case h.Variable || h.MetaSize != 0:
		return atOptions, fmt.Errorf("items of various lengths in version 3")
	case h.MaxAppend < 0 || h.MaxAppend > 0 && (!h.Offsets || h.Chunks < 0):
		return atMaxAppend, fmt.Errorf("%d spare offsets for %d chunks, offsets %t", h.MaxAppend, h.Chunks, h.Offsets)
	case h.Chunks > math.MaxInt64/8-h.MaxAppend:
		return atMaxAppend, fmt.Errorf("%d chunks and %d spare offsets", h.Chunks, h.MaxAppend)
	}
	return 0, nil
}

// AppendBinary appends the header as a file holds it. It fails with the errors that
// ParseHeader would have for the result.
func (h Header) AppendBinary(dst []byte) ([]byte, error) {
	if h.Version != Version3 && h.Version != Version4 {
		return dst, unsupported("header", atVersion, "version %d", h.Version)
	}
	if off, err := h.check(); err != nil {
		return dst, corrupt("header", off, "%v", err)
	}
	var b [HeaderLen]byte
	copy(b[:], magic)
	b[atVersion], b[atChecksum] = byte(h.Version), byte(h.Checksum)
	for _, o := range []struct {
		set bool
		bit byte
	}{{h.Offsets, optOffsets}, {h.Meta, optMeta}, {h.Variable, optVariable}} {
		if o.set {
			b[atOptions] |= o.bit
		}
	}
	b[atTypeSize] = byte(h.TypeSize)
	binary.LittleEndian.PutUint32(b[atChunkSize:], uint32(h.ChunkSize))
	binary.LittleEndian.PutUint32(b[atLastChunk:], uint32(h.LastChunk))
	binary.LittleEndian.PutUint64(b[atChunks:], uint64(h.Chunks))
	if h.Version == Version3 {
		binary.LittleEndian.PutUint64(b[atMaxAppend:], uint64(h.MaxAppend))
	} else {
		binary.LittleEndian.PutUint32(b[atMetaSize:], uint32(h.MetaSize))
	}
	return append(dst, b[:]...), nil
}

// entries is the number of entries of the table, spare ones too.
func (h Header) entries() int64 {
	if !h.Offsets || h.Chunks < 0 {
		return 0
	}
	return h.Chunks + h.MaxAppend
}

// want is the decoded length of chunk i, -1 if only the chunk tells.
func (h Header) want(i int64) int64 {
	switch {
	case h.Variable:
		return -1
	case i == h.Chunks-1:
		return h.LastChunk
	}
	return h.ChunkSize
}

// Part names chunk i as errors do: "item 5" if Variable is set, else "chunk 5".
func (h Header) Part(i int64) string {
	if h.Variable {
		return fmt.Sprintf("item %d", i)
	}
	return fmt.Sprintf("chunk %d", i)
}
