// Package npy reads and writes the headers of NumPy's .npy files, versions 1 to
// 3, and the notes that describe raw arrays, and gathers boxes of such arrays.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/dtype/pylit"
	"github.com/farread/farread/formats/nd"
)

// A Header says how to read the bytes after it.
type Header struct {
	DType   dtype.DType
	Fortran bool // the first axis runs fastest
	Shape   []int64
}

const (
	magic = "\x93NUMPY"
	// align is what numpy.save pads headers to (numpy.lib.format.ARRAY_ALIGN).
	align = 64
	// growth is the room that numpy.save leaves for the growing axis to get more
	// digits (numpy.lib.format.GROWTH_AXIS_MAX_DIGITS).
	growth = 21
	// maxHeader bounds the text of a header: that of the longest dtype, and 64
	// lengths.
	maxHeader = 1<<20 + 4096
)

var (
	errMagic   = fmt.Errorf("no .npy file: %w", formats.ErrCorrupt)
	errVersion = fmt.Errorf("unknown version: %w", formats.ErrUnsupported)
	errShort   = fmt.Errorf("header cut short: %w", formats.ErrCorrupt)
	errHeader  = fmt.Errorf("no header: %w", formats.ErrCorrupt)
	errLong    = fmt.Errorf("header: %w", formats.ErrTooLarge)
	errSize    = fmt.Errorf("array of more than 2^63 bytes: %w", formats.ErrTooLarge)
)

func fail(part string, cause error) error {
	return &formats.Error{Format: "npy", Part: part, Off: -1, Err: cause}
}

// ParseHeader reads a header from r, and not a byte more, and tells its length: where the
// array begins. Errors are *formats.Error with Format "npy" (which wraps that of
// package dtype for a bad type), and those of r, except that its end is
// ErrCorrupt. A header above 1 MiB and 4 KiB, more than 64 axes and an array
// whose size is beyond int64 are ErrTooLarge.
func ParseHeader(r io.Reader) (h Header, n int64, err error) {
	var pre [12]byte
	if err := readFull(r, pre[:8]); err != nil {
		return Header{}, 0, err
	}
	if string(pre[:6]) != magic {
		return Header{}, 0, fail("header", errMagic)
	}
	size := 2
	switch version := pre[6]; {
	case pre[7] != 0 || version < 1 || version > 3:
		return Header{}, 0, fail(fmt.Sprintf("version %d.%d", version, pre[7]), errVersion)
	case version > 1:
		size = 4
	}
	if err := readFull(r, pre[8:8+size]); err != nil {
		return Header{}, 0, err
	}
	length := int64(binary.LittleEndian.Uint16(pre[8:]))
	if size == 4 {
		length = int64(binary.LittleEndian.Uint32(pre[8:]))
	}
	if length > maxHeader {
		return Header{}, 0, fail(fmt.Sprintf("header of %d bytes", length), errLong)
	}
	text := make([]byte, length)
	if err := readFull(r, text); err != nil {
		return Header{}, 0, err
	}
	if h, err = parse(text, pre[6]); err != nil {
		return Header{}, 0, err
	}
	return h, int64(8+size) + length, nil
}

func readFull(r io.Reader, p []byte) error {
	_, err := io.ReadFull(r, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail("header", errShort)
	}
	return err
}

// parse reads the dict; versions 1 and 2 are Latin-1, 3 is UTF-8.
func parse(text []byte, version byte) (Header, error) {
	if version < 3 {
		var wide []byte
		for _, c := range text {
			wide = utf8.AppendRune(wide, rune(c))
		}
		text = wide
	}
	v, err := pylit.Parse(string(bytes.TrimRight(text, "\x00 \n")))
	if err != nil {
		cause := errHeader
		if errors.Is(err, pylit.ErrLimit) {
			cause = errLong
		}
		return Header{}, fail("header", fmt.Errorf("%w: %w", err, cause))
	}
	descr, ok1 := v.Get("descr")
	order, ok2 := v.Get("fortran_order")
	shape, ok3 := v.Get("shape")
	if !ok1 || !ok2 || !ok3 || len(v.List) != 6 || order.Kind != pylit.Bool || shape.Kind != pylit.Tuple {
		return Header{}, fail("header", fmt.Errorf("want descr, fortran_order and shape: %w", errHeader))
	}
	if len(shape.List) > nd.MaxDims {
		return Header{}, fail(fmt.Sprintf("shape of %d axes", len(shape.List)), errLong)
	}
	h := Header{Fortran: order.Int != 0, Shape: make([]int64, len(shape.List))}
	for i, n := range shape.List {
		if n.Kind != pylit.Int || n.Int < 0 {
			return Header{}, fail("shape", errHeader)
		}
		h.Shape[i] = n.Int
	}
	if h.DType, err = dtype.FromLiteral(descr); err != nil {
		return Header{}, fail("descr", err)
	}
	_, err = h.NBytes()
	return h, err
}

// NBytes is the size of the array; ErrTooLarge beyond int64 and for a negative
// length.
func (h Header) NBytes() (int64, error) {
	n, err := nd.Prod(h.Shape)
	if item := int64(h.DType.ItemSize()); err != nil || item > 0 && n > math.MaxInt64/item {
		return 0, fail(fmt.Sprintf("shape %v of %d bytes", h.Shape, item), errSize)
	}
	return n * int64(h.DType.ItemSize()), nil
}

// AppendHeader appends the header that numpy.save writes for the same array, in
// the oldest version that can hold it. A type without a descr is ErrUnsupported,
// a header that ParseHeader would not take for its length ErrTooLarge. With an
// error the result is dst.
func AppendHeader(dst []byte, h Header) ([]byte, error) {
	text := []byte("{'descr': ")
	text, err := h.DType.AppendDescr(text)
	if err != nil {
		return dst, err
	}
	if h.Fortran {
		text = append(text, ", 'fortran_order': True, 'shape': "...)
	} else {
		text = append(text, ", 'fortran_order': False, 'shape': "...)
	}
	text = append(pylit.AppendInts(text, h.Shape), ", }"...)
	if len(h.Shape) > 0 {
		grows := h.Shape[0]
		if h.Fortran {
			grows = h.Shape[len(h.Shape)-1]
		}
		text = append(text, bytes.Repeat([]byte{' '}, growth-len(fmt.Sprint(grows)))...)
	}
	version, size := byte(1), 2
	latin, ok := latin1(text)
	if ok {
		text = latin
	} else {
		version, size = 3, 4
	}
	pad := func() int { return align - (len(magic)+2+size+len(text)+1)%align }
	if version == 1 && len(text)+1+pad() > math.MaxUint16 {
		version, size = 2, 4
	}
	n := len(text) + 1 + pad()
	if n > maxHeader {
		return dst, fail(fmt.Sprintf("header of %d bytes", n), errLong)
	}
	spaces := pad()
	dst = append(append(dst, magic...), version, 0)
	if size == 2 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(n))
	} else {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(n))
	}
	dst = append(dst, text...)
	dst = append(dst, bytes.Repeat([]byte{' '}, spaces)...)
	return append(dst, '\n'), nil
}

// latin1 narrows UTF-8 text to one byte a character, if it can.
func latin1(text []byte) ([]byte, bool) {
	out := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r > 0xff {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}
