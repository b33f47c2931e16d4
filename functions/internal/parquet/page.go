package parquet

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/functions/internal/kit"
)

const (
	// maxPage bounds a page, compressed or not; 1 MiB is usual.
	maxPage = 64 << 20
	// maxHeader bounds the header of a page, which may hold its least and greatest value.
	maxHeader = 32 << 10
	// oldDictionary is what writers of old call both encodings of a dictionary.
	oldDictionary format.Encoding = 2
	// usualHeader is what is looked at first.
	usualHeader = 256
)

// A cursor reads a column of a row group from front to end.
type cursor struct {
	f      *File
	c      *Column
	meta   *format.ColumnMetaData
	group  int
	at     int64 // byte of the file where the next page begins
	end    int64
	values int64 // values of pages that are not read yet

	in   *bufio.Reader // of pages
	raw  []byte        // memory of a page
	out  unpacker
	dict *Values

	left int     // values of this page, with nulls
	defs *hybrid // of this page; nil: no value is null
	vals decoder
}

func (r *cursor) fail(off int64, err error) error {
	if !kit.IsFormat(err) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if !kit.IsFormat(err) {
		err = kit.Corrupt("truncated")
	}
	return fail(r.f.obj, fmt.Sprintf("row group %d, column %.60q", r.group, r.c.Name), off, err)
}

// read appends the next n values of the column to v.
func (r *cursor) read(v *Values, n int) error {
	for n > 0 {
		for r.left == 0 {
			off := r.at
			if err := r.page(); err != nil {
				return r.fail(off, err)
			}
		}
		k := min(n, r.left)
		if err := r.some(v, k); err != nil {
			return r.fail(r.at, err)
		}
		n -= k
		r.left -= k
	}
	return nil
}

// some appends n values of this page.
func (r *cursor) some(v *Values, n int) error {
	if r.defs == nil {
		v.Null = append(v.Null, make([]bool, n)...)
		return r.vals.read(v, n)
	}
	there := 0
	err := r.defs.each(n, func(x uint32, times int) error {
		if int64(x) > int64(r.c.maxDef) {
			return kit.Corrupt("level %d, over %d", x, r.c.maxDef)
		}
		null := int(x) < r.c.maxDef
		for range times {
			v.Null = append(v.Null, null)
		}
		if !null {
			there += times
		}
		return nil
	})
	if err != nil || there == 0 {
		return err
	}
	return r.vals.read(v, there)
}

// page reads the next page, which may be a dictionary.
func (r *cursor) page() error {
	if r.at >= r.end || r.values == 0 {
		return kit.Corrupt("%d values are missing", max(r.values, 1))
	}
	h, n, err := r.header()
	if err != nil {
		return err
	}
	size, whole := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	switch {
	case size < 0 || whole < 0 || size > r.end-r.at-int64(n):
		return kit.Corrupt("a page of %d bytes, of %d that are left", size, r.end-r.at-int64(n))
	case size > maxPage || whole > maxPage:
		return kit.TooLarge("a page of %d bytes, over %d", max(size, whole), maxPage)
	}
	if _, err := r.in.Discard(n); err != nil {
		return err
	}
	r.raw = slices.Grow(r.raw[:0], int(size))[:size]
	if _, err := io.ReadFull(r.in, r.raw); err != nil {
		return err
	}
	r.at += int64(n) + size
	switch h.Type {
	case format.DictionaryPage:
		return r.dictionary(h)
	case format.DataPage:
		return r.version1(h)
	case format.DataPageV2:
		return r.version2(h)
	case format.IndexPage:
		return nil
	}
	return kit.Unsupported("a page of type %d", h.Type)
}

// header reads the header of a page and leaves it where it is.
func (r *cursor) header() (*format.PageHeader, int, error) {
	for most := usualHeader; ; most *= 8 {
		most = min(most, r.in.Size())
		p, err := r.in.Peek(most)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		n, short, bad := length(p)
		switch {
		case bad == nil:
			h := new(format.PageHeader)
			if err := thrift.Unmarshal(new(thrift.CompactProtocol), p[:n], h); err != nil {
				return nil, 0, kit.Corrupt("header of a page: %s", err)
			}
			return h, n, nil
		case !short || err != nil || most == r.in.Size() && most < maxHeader:
			return nil, 0, bad
		case most == maxHeader:
			return nil, 0, kit.TooLarge("a header of a page of more than %d bytes", maxHeader)
		}
	}
}

func (r *cursor) dictionary(h *format.PageHeader) error {
	d := h.DictionaryPageHeader.V
	switch {
	case r.dict != nil:
		return kit.Corrupt("a second dictionary")
	case !h.DictionaryPageHeader.Valid || d.NumValues < 0:
		return kit.Corrupt("a dictionary without a number of values")
	case d.Encoding != format.Plain && d.Encoding != oldDictionary:
		return kit.Unsupported("a dictionary encoded as %s", d.Encoding)
	}
	p, err := r.out.page(r.meta.Codec, r.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	r.dict = new(Values)
	if r.c.Type == Other {
		return nil
	}
	return (&plain{c: r.c, p: p}).read(r.dict, int(d.NumValues))
}

// begin begins a page of n values, with those that are null.
func (r *cursor) begin(n int32) error {
	if n < 0 || int64(n) > r.values {
		return kit.Corrupt("a page of %d values, of %d that are left", n, r.values)
	}
	r.values -= int64(n)
	r.left, r.defs, r.vals = int(n), nil, nil
	return nil
}

func (r *cursor) version1(h *format.PageHeader) error {
	d := h.DataPageHeader.V
	if !h.DataPageHeader.Valid {
		return kit.Corrupt("a page without a number of values")
	}
	p, err := r.out.page(r.meta.Codec, r.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	if err := r.begin(d.NumValues); err != nil {
		return err
	}
	if r.c.maxDef > 0 {
		if d.DefinitionLevelEncoding != format.RLE {
			return kit.Unsupported("levels encoded as %s", d.DefinitionLevelEncoding)
		}
		if len(p) < 4 || uint64(binary.LittleEndian.Uint32(p)) > uint64(len(p)-4) {
			return errValues
		}
		n := binary.LittleEndian.Uint32(p)
		if r.defs, err = newHybrid(p[4:4+n], bits.Len(uint(r.c.maxDef))); err != nil {
			return err
		}
		p = p[4+n:]
	}
	return r.begun(d.Encoding, p)
}

func (r *cursor) version2(h *format.PageHeader) error {
	d := h.DataPageHeaderV2.V
	levels := int64(d.RepetitionLevelsByteLength) + int64(d.DefinitionLevelsByteLength)
	switch {
	case !h.DataPageHeaderV2.Valid:
		return kit.Corrupt("a page without a number of values")
	case d.RepetitionLevelsByteLength < 0 || d.DefinitionLevelsByteLength < 0 || levels > int64(len(r.raw)) || levels > int64(h.UncompressedPageSize):
		return kit.Corrupt("levels of %d bytes in a page of %d", levels, len(r.raw))
	}
	if err := r.begin(d.NumValues); err != nil {
		return err
	}
	var err error
	if r.c.maxDef > 0 && d.DefinitionLevelsByteLength > 0 {
		if r.defs, err = newHybrid(r.raw[d.RepetitionLevelsByteLength:levels], bits.Len(uint(r.c.maxDef))); err != nil {
			return err
		}
	}
	codec := r.meta.Codec
	if d.IsCompressed.Valid && !d.IsCompressed.V {
		codec = format.Uncompressed
	}
	p, err := r.out.page(codec, r.raw[levels:], int(int64(h.UncompressedPageSize)-levels))
	if err != nil {
		return err
	}
	return r.begun(d.Encoding, p)
}

// begun makes the decoder of the values.
func (r *cursor) begun(e format.Encoding, p []byte) (err error) {
	switch {
	case e == format.Plain:
		r.vals = &plain{c: r.c, p: p}
	case e == format.RLEDictionary || e == oldDictionary:
		if r.dict == nil {
			return kit.Corrupt("values of a dictionary that is not there")
		}
		if len(p) == 0 { // no value but nulls
			p = []byte{0}
		}
		var h *hybrid
		if h, err = newHybrid(p[1:], int(p[0])); err == nil {
			r.vals = &indexed{h, r.dict}
		}
	case e == format.RLE && r.c.physical == physicalBool:
		if len(p) < 4 {
			return errValues
		}
		var h *hybrid
		if h, err = newHybrid(p[4:], 1); err == nil {
			r.vals = booleans{h}
		}
	case e == format.DeltaBinaryPacked && (r.c.physical == physicalInt32 || r.c.physical == physicalInt64):
		var d *delta
		if d, err = newDelta(p); err == nil {
			r.vals = deltas{r.c, d}
		}
	case e == format.ByteStreamSplit && r.c.size > 0 && r.c.size <= 16 && len(p)%r.c.size == 0:
		r.vals = &split{c: r.c, p: p, n: len(p) / r.c.size}
	case (e == format.DeltaLengthByteArray && r.c.physical == physicalBytes) || e == format.DeltaByteArray && (r.c.physical == physicalBytes || r.c.physical == physicalFixed):
		r.vals, err = newTexts(r.c, p, e == format.DeltaByteArray)
	default:
		return kit.Unsupported("values encoded as %s", e)
	}
	return err
}
