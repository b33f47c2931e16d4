package gulp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/farread/farread/formats"
)

// WriteOptions tune a Writer. The zero value is right for most.
type WriteOptions struct {
	// Limits.MaxMeta bounds the memory for the .gmeta, Limits.MaxEntries the
	// number of ids and frames together. If one is exceeded, this and every
	// later call returns ErrTooLarge.
	Limits formats.Limits
}

// A Writer streams one gulp chunk. It writes each payload to the data object at
// once, padded with zeros to a multiple of four bytes, as GulpIO does. It keeps
// the index in memory, 2 to 10 bytes for each frame, and about 150 bytes and
// the text for each id; WriteMeta writes it. Frames of several ids may be
// interleaved. A Writer is for one goroutine. After an error of the data
// stream, or of a limit, nothing more can be written: WriteMeta returns that
// error. A Writer needs no Close.
type Writer struct {
	w      io.Writer
	l      formats.Limits
	ids    []*entry // ids in the order of their first mention
	byID   map[string]*entry
	totals Totals
	kept   int64
	zeros  [3]byte // never written to
	err    error
}

// An entry is the compact index of one id. For each frame it has the payload size
// shifted left by one, as a uvarint. If the low bit is set a varint follows: the hole
// between the frame before and this one, negative if Reorder put a frame behind one
// that was written later.
type entry struct {
	id     string
	frames []byte
	end    int64 // end of the last frame in the data object
	meta   []json.RawMessage
	// metaOff and metaLen are the place of the list of meta in the text that WriteMeta has
	// written; 0 before.
	metaOff, metaLen int64
}

var errEmptyFrame = errors.New("empty payload")

// NewWriter returns a Writer whose data object is w. Publish that object before
// the .gmeta: a reader that finds an index must find its bytes.
func NewWriter(w io.Writer, o WriteOptions) *Writer {
	return &Writer{w: w, l: o.Limits.WithDefaults(), byID: map[string]*entry{}}
}

// AddMeta appends a copy of a JSON object to the meta_data list of id. A new id
// is added to the index. The text stays as it is, except that characters
// outside ASCII are escaped: GulpIO opens its index in the locale's encoding.
// An id without any meta_data gets one empty object, since GulpIO fails on an
// empty list. AddMeta returns ErrCorrupt if meta is not an object in strict
// JSON, or if id is not UTF-8; the Writer then stays as it was.
func (w *Writer) AddMeta(id string, meta json.RawMessage) error {
	text, err := metaOf(id, meta)
	if err != nil {
		return err
	}
	return w.enter(id, text)
}

// enter appends checked texts to the meta_data of id. A new id is added to the
// index.
func (w *Writer) enter(id string, texts ...json.RawMessage) error {
	e, err := w.entry(id)
	for _, text := range texts {
		if err != nil {
			break
		}
		e.meta = append(e.meta, text)
		err = w.count(len(text))
	}
	return err
}

// metaOf checks one JSON object of the meta_data of id.
func metaOf(id string, meta json.RawMessage) (json.RawMessage, error) {
	text, err := checkMeta(meta)
	if err != nil {
		return nil, &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: fmt.Errorf("meta_data: %w", err)}
	}
	return text, nil
}

func checkID(id string) error {
	if !utf8.ValidString(id) {
		return &formats.Error{Format: Format, Part: partOf(id), Off: -1,
			Err: fmt.Errorf("an id that is no UTF-8: %w", formats.ErrCorrupt)}
	}
	return nil
}

// WriteFrame appends a frame with the given payload to id. A new id is added to
// the index. WriteFrame does not keep payload. It returns ErrCorrupt if payload
// is empty, since GulpIO cannot read it back, or if id is not UTF-8; the Writer
// then stays as it was.
func (w *Writer) WriteFrame(id string, payload []byte) error {
	if len(payload) == 0 {
		return w.empty(id)
	}
	e, err := w.entry(id)
	if err != nil {
		return err
	}
	if _, err := w.w.Write(payload); err != nil {
		w.err = wrap(id, err)
		return w.err
	}
	return w.finish(e, int64(len(payload)))
}

// CopyFrame is WriteFrame with the bytes of a stream; it returns their number.
// An empty stream is ErrCorrupt, but id is then in the index. If r fails, the
// data object may have a part of a frame: every later call returns the error,
// since the chunk cannot be finished.
func (w *Writer) CopyFrame(id string, r io.Reader) (int64, error) {
	e, err := w.entry(id)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(w.w, r)
	if err != nil {
		w.err = wrap(id, err)
		return n, w.err
	}
	if n == 0 {
		return 0, w.empty(id)
	}
	return n, w.finish(e, n)
}

func (w *Writer) empty(id string) error {
	return &formats.Error{Format: Format, Part: partOf(id), Off: -1,
		Err: fmt.Errorf("%w: %w", errEmptyFrame, formats.ErrCorrupt)}
}

// padding is the number of zeros behind a frame.
func padding(size int64) int64 { return -size & 3 }

// StoredLen returns how many bytes of a data object a frame of so many bytes takes.
func StoredLen(size int64) int64 { return size + padding(size) }

// finish pads the last frame and adds it to the index.
func (w *Writer) finish(e *entry, size int64) error {
	pad := padding(size)
	if pad > 0 {
		if _, err := w.w.Write(w.zeros[:pad]); err != nil {
			w.err = wrap(e.id, err)
			return w.err
		}
	}
	before := len(e.frames)
	hole := w.totals.DataBytes - e.end
	v := uint64(size) << 1
	if hole != 0 {
		v |= 1
	}
	e.frames = binary.AppendUvarint(e.frames, v)
	if hole != 0 {
		e.frames = binary.AppendVarint(e.frames, hole)
	}
	w.totals.Frames++
	w.totals.Bytes += size
	w.totals.Padding += pad
	w.totals.DataBytes += size + pad
	e.end = w.totals.DataBytes
	return w.count(len(e.frames) - before)
}

func (w *Writer) entry(id string) (*entry, error) {
	if w.err != nil {
		return nil, w.err
	}
	if e := w.byID[id]; e != nil {
		return e, nil
	}
	if err := checkID(id); err != nil {
		return nil, err
	}
	e := &entry{id: id}
	w.ids = append(w.ids, e)
	w.byID[id] = e
	w.totals.IDs++
	return e, w.count(idCost + len(id))
}

func (w *Writer) count(memory int) error {
	w.kept += int64(memory)
	switch {
	case w.kept > w.l.MaxMeta:
		w.err = fmt.Errorf("%s: more than %d bytes of index: %w", Format, w.l.MaxMeta, formats.ErrTooLarge)
	case w.totals.Frames+w.totals.IDs > w.l.MaxEntries:
		w.err = fmt.Errorf("%s: more than %d ids and frames: %w", Format, w.l.MaxEntries, formats.ErrTooLarge)
	}
	return w.err
}

// Has reports whether id is in the index.
func (w *Writer) Has(id string) bool { return w.byID[id] != nil }

// Len is the number of ids so far.
func (w *Writer) Len() int { return len(w.ids) }

// ID is the id at position k of the index. It panics when k is not in [0, Len).
func (w *Writer) ID(k int) string { return w.ids[k].id }

// Places yields the places of the frames of the id at position k, in the order of the
// index. It panics when k is not in [0, Len).
func (w *Writer) Places(k int) iter.Seq[FrameInfo] {
	return func(yield func(FrameInfo) bool) {
		each(w.ids[k].frames, func(off, size int64) bool {
			return yield(FrameInfo{Off: off, Pad: int(-size & 3), Size: size})
		})
	}
}

// Totals returns the sums so far.
func (w *Writer) Totals() Totals { return w.totals }

// MetaPlace returns where in the .gmeta the meta_data of the id at position k lie, once
// WriteMeta has written them. It panics when k is not in [0, Len).
func (w *Writer) MetaPlace(k int) (off, n int64, known bool) {
	e := w.ids[k]
	return e.metaOff, e.metaLen, e.metaLen > 0
}

// WriteMeta streams the .gmeta to out, in the spelling of GulpIO: ids in the
// order of their first use, one line, Python's spacing. Only the texts of
// meta_data keep their own spacing.
func (w *Writer) WriteMeta(out io.Writer) error {
	if w.err != nil {
		return w.err
	}
	t := text{w: out, p: append(make([]byte, 0, textBlock+textBlock/4), '{')}
	for i, e := range w.ids {
		if i > 0 {
			t.p = append(t.p, ", "...)
		}
		t.p = append(appendString(t.p, e.id), `: {"frame_info": [`...)
		t.frames(e.frames)
		t.p = append(t.p, `], "meta_data": [`...)
		e.metaOff = t.n + int64(len(t.p)) - 1
		for j, m := range e.meta {
			if j > 0 {
				t.p = append(t.p, ", "...)
			}
			t.p = append(t.p, m...)
			t.flush(textBlock)
		}
		if len(e.meta) == 0 {
			t.p = append(t.p, "{}"...)
		}
		t.p = append(t.p, "]}"...)
		e.metaLen = t.n + int64(len(t.p)) - 1 - e.metaOff
		t.flush(textBlock)
	}
	t.p = append(t.p, '}')
	t.flush(0)
	if t.err != nil {
		return fmt.Errorf("%s: gmeta: %w", Format, t.err)
	}
	return nil
}

// textBlock is the number of bytes that are gathered for one write: enough to make
// the cost of a call negligible, and little compared with the index.
const textBlock = 64 << 10

// A text gathers small pieces for w and keeps the first error.
type text struct {
	w   io.Writer
	p   []byte
	n   int64 // bytes that were flushed
	err error
}

// flush writes the gathered text if it is more than limit bytes.
func (t *text) flush(limit int) {
	if len(t.p) <= limit {
		return
	}
	if t.err == nil {
		_, t.err = t.w.Write(t.p)
	}
	t.n += int64(len(t.p))
	t.p = t.p[:0]
}

func (t *text) frames(p []byte) {
	first := true
	each(p, func(off, size int64) bool {
		pad := -size & 3
		if !first {
			t.p = append(t.p, ", "...)
		}
		t.p = strconv.AppendInt(append(t.p, '['), off, 10)
		t.p = strconv.AppendInt(append(t.p, ", "...), pad, 10)
		t.p = strconv.AppendInt(append(t.p, ", "...), size+pad, 10)
		t.p = append(t.p, ']')
		t.flush(textBlock)
		first = false
		return true
	})
}

// checkMeta checks that p is an object in strict JSON, and returns it in ASCII.
func checkMeta(p []byte) (json.RawMessage, error) {
	s := scanText(p)
	c, err := s.token()
	if err != nil {
		return nil, err
	}
	if c != '{' {
		return nil, s.bad("%q where an object should be", c)
	}
	raw, err := s.raw()
	if err != nil {
		return nil, err
	}
	if err := s.atEnd(); err != nil {
		return nil, err
	}
	return appendASCII(make([]byte, 0, len(raw)), raw), nil
}

// scanText is a scanner over text in memory.
func scanText(p []byte) *scanner {
	given := false
	return &scanner{where: func() string { return "meta_data" }, mark: -1, more: func() ([]byte, error) {
		if given {
			return nil, errEnd
		}
		given = true
		return p, nil
	}}
}

// ValidMeta reports whether p is text that a .gmeta may have as meta_data: one JSON value,
// which may hold the number words of Python.
func ValidMeta(p []byte) bool {
	s := scanText(p)
	s.words = true
	_, err := s.raw()
	return err == nil && s.atEnd() == nil
}

// MetaList splits a meta_data list, as Chunk.MetaData returns it, into its
// values. The values share its memory. Text that is not a JSON list, and nil,
// are ErrCorrupt.
func MetaList(raw json.RawMessage) ([]json.RawMessage, error) {
	s := scanText(raw)
	s.words = true
	var out []json.RawMessage
	err := s.list('[', ']', "a list", func() error {
		v, err := s.raw()
		out = append(out, v[:len(v):len(v)])
		return err
	})
	if err == nil {
		err = s.atEnd()
	}
	return out, err
}

// appendString appends s as a JSON string in Python's spelling.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', byte(r))
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = appendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// appendASCII appends JSON text and escapes everything outside ASCII, which can only
// stand in strings.
func appendASCII(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			continue
		}
		dst = appendRune(dst, r)
	}
	return dst
}

func appendRune(dst []byte, r rune) []byte {
	if ' ' <= r && r <= '~' {
		return append(dst, byte(r))
	}
	if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
		return fmt.Appendf(dst, `\u%04x\u%04x`, hi, lo)
	}
	return fmt.Appendf(dst, `\u%04x`, r)
}
