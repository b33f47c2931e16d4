package parquet

import (
	"bufio"
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/internal/kit"
)

// someColumns have one value type of each size.
func someColumns() []Column {
	return []Column{
		{Type: Bool, physical: physicalBool}, {Type: I32, physical: physicalInt32, size: 4, maxDef: 1}, {Type: Time, physical: physicalInt64, size: 8, unit: 1e6},
		{Type: Time, physical: physicalInt96, size: 12, unit: 1e9, maxDef: 3}, {Type: F32, physical: physicalFloat, size: 4}, {Type: F64, physical: physicalDouble, size: 8},
		{Type: Text, physical: physicalBytes, maxDef: 1}, {Type: F64, physical: physicalFixed, size: 5, decimal: true, scale: 2}, {Type: F32, physical: physicalFixed, size: 2},
		{Type: I64, physical: physicalInt64, size: 8}, {Type: F64, physical: physicalBytes, decimal: true, scale: 3},
	}
}

// FuzzPage: whatever a page has, there are as many values as were asked for, or an error
// that is known.
func FuzzPage(f *testing.F) {
	for c := range someColumns() {
		for e := range 10 {
			f.Add(uint8(c), uint8(e), uint16(9), []byte{2, 0, 0, 0, 18, 1, 3, 0x80, 1, 4, 9, 2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
		}
	}
	f.Add(uint8(9), uint8(5), uint16(1000), []byte{0x80, 1, 4, 0xff, 0xff, 0xff, 0xff, 7, 2, 2, 0, 0, 0, 0})      // two milliards of values in a few bytes
	f.Add(uint8(1), uint8(8), uint16(1000), []byte{6, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xf, 1, 1, 0xff, 0xff, 3}) // and a run of as many
	f.Fuzz(func(t *testing.T, column, encoding uint8, n uint16, p []byte) {
		columns := someColumns()
		c := &columns[int(column)%len(columns)]
		r := &cursor{f: new(File), c: c, meta: new(format.ColumnMetaData), values: int64(n), dict: new(Values)}
		if (&plain{c: c, p: slices.Repeat([]byte{1, 0, 0, 0}, 30)}).read(r.dict, 3) != nil {
			r.dict = nil
		}
		r.raw = p
		h := &format.PageHeader{UncompressedPageSize: int32(len(p))}
		h.DataPageHeader.Valid = true
		h.DataPageHeader.V = format.DataPageHeader{NumValues: int32(n), Encoding: format.Encoding(encoding % 10), DefinitionLevelEncoding: format.RLE}
		err := r.version1(h)
		var v Values
		if err == nil {
			err = r.some(&v, int(n))
		}
		if err != nil {
			if !kit.IsFormat(err) {
				t.Fatal(err)
			}
			return
		}
		there := 0
		for _, null := range v.Null {
			if !null {
				there++
			}
		}
		if len(v.Null) != int(n) || v.len() != there || c.Type == Time && len(v.Nano) != there {
			t.Fatalf("%d rows of %d, %d values of %d", len(v.Null), n, v.len(), there)
		}
	})
}

// FuzzChunk: pages with their headers, as they lie in a file, compressed or not.
func FuzzChunk(f *testing.F) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<20))
	if err != nil {
		f.Fatal(err)
	}
	// A page of 4 values, 8 bytes, not compressed: type, sizes, and a header of a page.
	f.Add(uint8(1), uint8(0), []byte{0x15, 0, 0x15, 0x2c, 0x15, 0x2c, 0x2c, 0x15, 8, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, 2, 0, 0, 0, 8, 1, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0})
	f.Fuzz(func(t *testing.T, column, codec uint8, p []byte) {
		columns := someColumns()
		c := &columns[int(column)%len(columns)]
		r := &cursor{f: new(File), c: c, meta: &format.ColumnMetaData{Codec: format.CompressionCodec(codec % 9)}, values: 1000, end: int64(len(p)), in: bufio.NewReader(bytes.NewReader(p)), out: unpacker{zstd: z}}
		for n := 0; n < 1000; {
			if r.left == 0 {
				if err := r.page(); err != nil {
					if !kit.IsFormat(err) && r.fail(0, err) == nil {
						t.Fatal(err)
					}
					return
				}
				continue
			}
			var v Values
			k := min(r.left, 100)
			if err := r.some(&v, k); err != nil {
				if !kit.IsFormat(err) {
					t.Fatal(err)
				}
				return
			}
			r.left -= k
			n += k
		}
	})
}

// TestLength: the walk ends where the structure does, and finds what lies.
func TestLength(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		p     []byte
		n     int
		short bool
		err   error
	}{
		"empty":        {[]byte{0, 9}, 1, false, nil},
		"numbers":      {[]byte{0x15, 0x80, 1, 0x16, 2, 0x11, 0x12, 0}, 8, false, nil},
		"long id":      {[]byte{5, 0x80, 1, 7, 0}, 5, false, nil},
		"list of list": {[]byte{0x19, 0x19, 0x25, 1, 2, 0}, 6, false, nil},
		"map":          {[]byte{0x1b, 1, 0x85, 1, 'a', 3, 0}, 7, false, nil},
		"cut":          {[]byte{0x15}, 1, true, formats.ErrCorrupt},
		"text":         {[]byte{0x18, 0xff, 0xff, 3, 0}, 5, true, formats.ErrCorrupt},
		"count":        {[]byte{0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xf, 0}, 8, true, formats.ErrCorrupt},
		"kind":         {[]byte{0x1f, 0}, 1, false, formats.ErrCorrupt},
		"deep":         {bytes.Repeat([]byte{0x1c}, 100), 33, false, formats.ErrCorrupt},
		"many":         {append([]byte{0x19, 0xfc, 0x80, 0x80, 0x40}, make([]byte, 1<<21)...), 0, false, formats.ErrTooLarge},
	} {
		n, short, err := length(c.p)
		if !errors.Is(err, c.err) || short != c.short || c.n > 0 && n != c.n {
			t.Errorf("%s: %d, %t, %v", what, n, short, err)
		}
	}
}
