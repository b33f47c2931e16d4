package bloscpack

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// A MetaCodec says how version 3 stores metadata.
type MetaCodec uint8

// The codecs of metadata.
const (
	MetaPlain MetaCodec = 0
	MetaZlib  MetaCodec = 1
)

const (
	metaHeaderLen = 32
	metaFormat    = "JSON" // padded with NULs by the tool, with blanks by its documentation
	metaFormatLen = 8

	// positions in the header of metadata
	atMetaOptions  = 8
	atMetaChecksum = 9
	atMetaCodec    = 10
	atMetaLevel    = 11
	atMetaLen      = 12
	atMetaRoom     = 16
	atMetaStored   = 20
)

// A MetaHeader precedes the metadata of version 3.
type MetaHeader struct {
	Checksum Checksum // digest of the stored bytes
	Codec    MetaCodec
	Level    int   // level of zlib; has no meaning if Codec is MetaPlain
	Size     int64 // bytes of the JSON text
	Stored   int64 // bytes of the encoded text
	Room     int64 // bytes reserved for the encoded text, at least Stored
}

// section returns the length of header, room and digest in bytes.
func (m MetaHeader) section() int64 { return metaHeaderLen + m.Room + int64(m.Checksum.Size()) }

// parseMetaHeader parses the header b of the metadata. off, its offset in the
// file, is for errors.
func parseMetaHeader(b []byte, off int64) (MetaHeader, error) {
	const part = "metadata"
	if len(b) < metaHeaderLen {
		return MetaHeader{}, corrupt(part, off, "%d bytes of header, %d are needed", len(b), metaHeaderLen)
	}
	m := MetaHeader{
		Checksum: Checksum(b[atMetaChecksum]),
		Codec:    MetaCodec(b[atMetaCodec]),
		Level:    int(b[atMetaLevel]),
		Size:     int64(binary.LittleEndian.Uint32(b[atMetaLen:])),
		Room:     int64(binary.LittleEndian.Uint32(b[atMetaRoom:])),
		Stored:   int64(binary.LittleEndian.Uint32(b[atMetaStored:])),
	}
	switch name := bytes.TrimRight(b[:metaFormatLen], "\x00 "); {
	case string(name) != metaFormat:
		return m, corrupt(part, off, "of the format %q, not %q", name, metaFormat)
	case b[atMetaOptions] != 0:
		return m, corrupt(part, off+atMetaOptions, "options %#x", b[atMetaOptions])
	case !m.Checksum.Valid():
		return m, corrupt(part, off+atMetaChecksum, "unknown %s", m.Checksum)
	case m.Codec > MetaZlib:
		return m, corrupt(part, off+atMetaCodec, "unknown codec %d", m.Codec)
	case m.Stored > m.Room:
		return m, corrupt(part, off+atMetaStored, "%d bytes in room for %d", m.Stored, m.Room)
	case m.Codec == MetaPlain && m.Size != m.Stored:
		return m, corrupt(part, off+atMetaLen, "%d bytes of text, %d are stored", m.Size, m.Stored)
	case m.Size > MaxMetadata || m.Stored > MaxMetadata:
		return m, tooLarge(part, off+atMetaLen, "%d bytes, %d stored; %d are the most", m.Size, m.Stored, MaxMetadata)
	}
	return m, nil
}

// append appends the header in its 32 bytes to dst.
func (m MetaHeader) append(dst []byte) []byte {
	var b [metaHeaderLen]byte
	copy(b[:], metaFormat)
	b[atMetaChecksum], b[atMetaCodec], b[atMetaLevel] = byte(m.Checksum), byte(m.Codec), byte(m.Level)
	binary.LittleEndian.PutUint32(b[atMetaLen:], uint32(m.Size))
	binary.LittleEndian.PutUint32(b[atMetaRoom:], uint32(m.Room))
	binary.LittleEndian.PutUint32(b[atMetaStored:], uint32(m.Stored))
	return append(dst, b[:]...)
}

// text decodes the stored bytes to JSON text. If digest is not nil, it checks
// them first.
func (m MetaHeader) text(stored, digest []byte, off int64) (json.RawMessage, error) {
	const part = "metadata"
	if digest != nil {
		if err := m.Checksum.verify(stored, digest); err != nil {
			return nil, wrap(part, off, err)
		}
	}
	text := bytes.Clone(stored)
	if m.Codec == MetaZlib {
		z, err := zlib.NewReader(bytes.NewReader(stored))
		if err != nil {
			return nil, corrupt(part, off, "zlib: %v", err)
		}
		// The limit bounds memory. One byte more than announced is enough to see that
		// the text is too long.
		text, err = io.ReadAll(io.LimitReader(z, m.Size+1))
		if err != nil {
			return nil, corrupt(part, off, "zlib: %v", err)
		}
		if int64(len(text)) != m.Size {
			return nil, corrupt(part, off, "%d bytes or more decoded, %d announced", len(text), m.Size)
		}
	}
	return checkJSON(text, off)
}

// checkJSON checks that text is UTF-8 and one JSON value, of any type.
func checkJSON(text []byte, off int64) (json.RawMessage, error) {
	if !utf8.Valid(text) {
		return nil, corrupt("metadata", off, "no UTF-8")
	}
	var v json.RawMessage
	if err := json.Unmarshal(text, &v); err != nil {
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			off += e.Offset
		}
		return nil, &formats.Error{Format: Format, Part: "metadata", Off: off, Err: fmt.Errorf("no JSON: %w: %w", err, formats.ErrCorrupt)}
	}
	return text, nil
}
