package bloscpack

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// A metaSection is the metadata in the encoding of the file. The zero value
// means no metadata.
type metaSection struct {
	version int
	head    MetaHeader // version 3
	data    []byte     // the encoded text
}

// len returns the length of the section in the file.
func (m *metaSection) len() int64 {
	switch m.version {
	case Version3:
		return m.head.section()
	case Version4:
		return int64(len(m.data))
	}
	return 0
}

// room returns the number of bytes that text may take when it is changed in
// place, 0 in version 4.
func (m *metaSection) room() int64 { return m.head.Room }

// announce sets the fields of h that describe the section.
func (m *metaSection) announce(h *Header) {
	h.Meta = m.version != 0
	if h.Version == Version4 {
		h.MetaSize = m.len()
	}
}

// append appends the section to dst. In version 3 these are header, encoded text,
// zeros up to the room, and the digest of the encoded text.
func (m *metaSection) append(dst []byte) []byte {
	if m.version != Version3 {
		return append(dst, m.data...)
	}
	dst = append(m.head.append(dst), m.data...)
	dst = append(dst, make([]byte, m.head.Room-m.head.Stored)...)
	return m.head.Checksum.AppendSum(dst, m.data)
}

// pad makes a shorter section n bytes long. In version 3 it adds room; in version
// 4 it appends blanks, which JSON allows.
func (m *metaSection) pad(n int64) {
	more := n - m.len()
	switch {
	case more <= 0:
	case m.version == Version3:
		m.head.Room += more
	case m.version == Version4:
		m.data = append(m.data, bytes.Repeat([]byte{' '}, int(more))...)
	}
}

// newMeta encodes v. The section gets the given room if v fits into it.
func (w *Writer) newMeta(v any, room int64) (metaSection, error) {
	return newMeta(v, w.h.Version, w.o.Meta, room)
}

func newMeta(v any, version int, o MetaOptions, room int64) (metaSection, error) {
	text, err := metaText(v, version == Version3)
	if err != nil || len(text) == 0 {
		return metaSection{}, err
	}
	if version == Version3 && string(text) == "null" {
		return metaSection{}, nil // the Python tool reads null as no metadata, and an append by it would forget the section
	}
	if len(text) > MaxMetadata {
		return metaSection{}, tooLarge("metadata", -1, "%d bytes, %d are the most", len(text), MaxMetadata)
	}
	m := metaSection{version: version, data: text}
	if version == Version4 {
		return m, nil
	}
	m.head = MetaHeader{Checksum: o.Checksum, Level: zlibLevel, Size: int64(len(text))}
	if !o.Plain {
		var b bytes.Buffer
		z, err := zlib.NewWriterLevel(&b, zlibLevel)
		if err != nil {
			return metaSection{}, err
		}
		if _, err := z.Write(text); err != nil {
			return metaSection{}, err
		}
		if err := z.Close(); err != nil {
			return metaSection{}, err
		}
		if b.Len() <= len(text) { // also at equal length, as the Python tool does
			m.data, m.head.Codec = b.Bytes(), MetaZlib
		}
	}
	m.head.Stored = int64(len(m.data))
	m.head.Room = int64(o.Room)
	if o.Room == 0 {
		m.head.Room = metaRoom * m.head.Size
	}
	if m.head.Stored <= room {
		m.head.Room = room
	}
	m.head.Room = max(m.head.Room, m.head.Stored)
	return m, nil
}

const (
	zlibLevel = 6  // level that the Python tool uses
	metaRoom  = 10 // times the length of the text, as the Python tool reserves
)

// metaText returns v as compact JSON, or nil if v is nil. With ascii all characters
// are ASCII, since the Python tool counts characters and takes them for bytes.
func metaText(v any, ascii bool) ([]byte, error) {
	raw, ok := v.(json.RawMessage)
	if v == nil || ok && len(raw) == 0 {
		return nil, nil
	}
	if !ok {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return nil, fmt.Errorf("%s: metadata: %w: %w", Format, ErrRefused, err)
		}
		raw = b.Bytes()
	}
	if !utf8.Valid(raw) {
		return nil, refuse("metadata", "no UTF-8")
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, fmt.Errorf("%s: metadata: %w: %w", Format, ErrRefused, err)
	}
	if ascii {
		return escaped(b.Bytes()), nil
	}
	return b.Bytes(), nil
}

// escaped replaces all characters beyond ASCII by \u escapes. In JSON they
// occur only in strings, where escapes are allowed.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			a, b := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, a, b)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out
}
