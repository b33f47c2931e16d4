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
	Version3 = 3 // version that the Python tool writes
	Version4 = 4 // the proposal
)

const (
	magic = "blpk"

	optOffsets  = 1 << 0
	optMeta     = 1 << 1
	optVariable = 1 << 2 // version 4 only

	// MaxChunk is the largest decoded length of a chunk: 2^31-1, Blosc's limit,
	// less the length of a chunk's header.
	MaxChunk = math.MaxInt32 - 16
	// MaxMetadata is the largest length of metadata, stored or decoded, that this
	// package reads or writes. For version 4 docs/formats/bloscpack.md sets this
	// limit; the format of version 3 has no limit.
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
	TypeSize int // item size from 0 to 255, as the header of a Blosc chunk has it
	// ChunkSize is the decoded length of each chunk except the last; LastChunk
	// is the decoded length of the last. -1 means unknown. Neither has a meaning
	// if Variable is set.
	ChunkSize, LastChunk int64
	Chunks               int64 // -1: unknown, as in a file that is not finished
	MaxAppend            int64 // version 3: spare entries of the table
	Offsets, Meta        bool  // whether the file has a table, and metadata
	Variable             bool  // version 4: each chunk is an item of its own length
	MetaSize             int64 // version 4: bytes of metadata
}

// Sniff reports whether b, the first HeaderLen bytes of a file or more, look like
// the header of a Bloscpack file of any version.
func Sniff(b []byte) bool {
	// The four letters alone may occur by chance, so options and checksum are
	// checked, too.
	return len(b) >= HeaderLen && string(b[:len(magic)]) == magic && b[atOptions] < 1<<3 && Checksum(b[atChecksum]).Valid()
}

// ParseHeader parses the header at the start of b, and checks that its fields
// are valid and agree. Errors wrap formats.ErrCorrupt, or
// formats.ErrUnsupported for versions other than 3 and 4.
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

// check checks every field; off is the offset of the first wrong one in the
// header.
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

// checkSizes checks ChunkSize and LastChunk. The caller skips it if Variable is
// set, since the two fields then have no meaning.
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

// AppendBinary appends the header in its 32 bytes to dst. It fails with the errors
// that ParseHeader would return for the result.
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

// entries returns the number of entries of the table, with the spare ones.
func (h Header) entries() int64 {
	if !h.Offsets || h.Chunks < 0 {
		return 0
	}
	return h.Chunks + h.MaxAppend
}

// want returns the decoded length that the header gives for chunk i, or -1 if
// only the chunk tells.
func (h Header) want(i int64) int64 {
	switch {
	case h.Variable:
		return -1
	case i == h.Chunks-1:
		return h.LastChunk
	}
	return h.ChunkSize
}

// Part returns the name of chunk i in errors: "item 5" if Variable is set, else
// "chunk 5".
func (h Header) Part(i int64) string {
	if h.Variable {
		return fmt.Sprintf("item %d", i)
	}
	return fmt.Sprintf("chunk %d", i)
}
