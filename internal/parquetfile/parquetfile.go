// Package parquetfile writes Parquet files of plain columns: numbers, moments and text, each
// of which may lack values. Pages are not compressed. Structures are those of parquet-go;
// what columns mean is its caller's.
package parquetfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/bitmap"
)

// A Kind is what the values of a column are.
type Kind byte

// The kinds of columns, with the bytes of a value in the list that Group takes.
const (
	Bool       Kind = iota + 1 // a byte, 0 or 1
	Int8                       // 4 bytes, as of all integers that fit
	Int16                      // 4
	Int32                      // 4
	Int64                      // 8
	Uint8                      // 4
	Uint16                     // 4
	Uint32                     // 4
	Uint64                     // 8
	Float                      // 4
	Double                     // 8
	TimeMillis                 // 8, from 1970 on, as those below
	TimeMicros
	TimeNanos
	Text // 4 for the length, then UTF-8
)

const magic = "PAR1"

// A Column is a column of a file. Of an Optional one values may be missing.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// Values are those of some rows of a column: little endian, one after the other. If Valid is
// not nil, it says of each row whether it has one; the others have none in Data.
type Values struct {
	Data  []byte
	Valid []bool
}

// A Writer writes a file. It is not safe for concurrent use.
type Writer struct {
	w       io.Writer
	columns []Column
	off     int64
	meta    format.FileMetaData
}

// NewWriter writes the begin of a file to w. notes are pairs of keys and values.
func NewWriter(w io.Writer, columns []Column, notes ...[2]string) (*Writer, error) {
	x := &Writer{w: w, columns: columns}
	x.meta.Version, x.meta.CreatedBy = 1, "farread"
	x.meta.Schema = append(x.meta.Schema, format.SchemaElement{Name: "schema", NumChildren: thrift.New(int32(len(columns)))})
	for _, c := range columns {
		x.meta.Schema = append(x.meta.Schema, c.schema())
	}
	for _, n := range notes {
		x.meta.KeyValueMetadata = append(x.meta.KeyValueMetadata, format.KeyValue{Key: n[0], Value: n[1]})
	}
	return x, x.write([]byte(magic))
}

func (x *Writer) write(p []byte) error {
	n, err := x.w.Write(p)
	x.off += int64(n)
	return err
}

// physical returns how a value is stored.
func (k Kind) physical() format.Type {
	switch k {
	case Bool:
		return format.Boolean
	case Int8, Int16, Int32, Uint8, Uint16, Uint32:
		return format.Int32
	case Float:
		return format.Float
	case Double:
		return format.Double
	case Text:
		return format.ByteArray
	default:
		return format.Int64
	}
}

// schema returns the element of a column, with the types of both generations of readers.
func (c *Column) schema() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, Type: thrift.New(c.Kind.physical()), RepetitionType: thrift.New(format.Required)}
	if c.Optional {
		e.RepetitionType = thrift.New(format.Optional)
	}
	integer := func(bits int8, signed bool, old deprecated.ConvertedType) {
		e.LogicalType.Value, e.ConvertedType = &format.IntType{BitWidth: bits, IsSigned: signed}, thrift.New(old)
	}
	moment := func(unit format.TimeUnitValue) {
		e.LogicalType.Value = &format.TimestampType{Unit: format.TimeUnit{Value: unit}}
	}
	switch c.Kind {
	case Int8:
		integer(8, true, deprecated.Int8)
	case Int16:
		integer(16, true, deprecated.Int16)
	case Uint8:
		integer(8, false, deprecated.Uint8)
	case Uint16:
		integer(16, false, deprecated.Uint16)
	case Uint32:
		integer(32, false, deprecated.Uint32)
	case Uint64:
		integer(64, false, deprecated.Uint64)
	case TimeMillis:
		moment(&format.MilliSeconds{})
	case TimeMicros:
		moment(&format.MicroSeconds{})
	case TimeNanos:
		moment(&format.NanoSeconds{})
	case Text:
		e.LogicalType.Value, e.ConvertedType = &format.StringType{}, thrift.New(deprecated.UTF8)
	default:
	}
	return e
}

// Group writes rows: the values of each column.
func (x *Writer) Group(rows int, list []Values) error {
	g := format.RowGroup{NumRows: int64(rows), FileOffset: x.off, Ordinal: int16(len(x.meta.RowGroups))}
	if len(list) != len(x.columns) || len(x.meta.RowGroups) == math.MaxInt16 {
		return fmt.Errorf("group %d of %d columns in a Parquet file: %w", len(x.meta.RowGroups), len(list), formats.ErrUnsupported)
	}
	for i := range list {
		at := x.off
		if err := x.page(&x.columns[i], rows, &list[i]); err != nil {
			return err
		}
		g.Columns = append(g.Columns, format.ColumnChunk{FileOffset: at, MetaData: format.ColumnMetaData{
			Type: x.columns[i].Kind.physical(), Encoding: []format.Encoding{format.Plain, format.RLE}, PathInSchema: []string{x.columns[i].Name},
			Codec: format.Uncompressed, NumValues: int64(rows), TotalUncompressedSize: x.off - at, TotalCompressedSize: x.off - at, DataPageOffset: at,
		}})
		g.TotalByteSize += x.off - at
	}
	g.TotalCompressedSize = g.TotalByteSize
	x.meta.NumRows += g.NumRows
	x.meta.RowGroups = append(x.meta.RowGroups, g)
	return nil
}

// page writes the page of a column.
func (x *Writer) page(c *Column, rows int, v *Values) error {
	var body []byte
	if c.Optional {
		runs := levels(rows, v.Valid)
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(runs))), runs...)
	}
	if c.Kind == Bool {
		body = append(body, bitmap.Pack(v.Data)...)
	} else {
		body = append(body, v.Data...)
	}
	if len(body) > math.MaxInt32 {
		return fmt.Errorf("%q: a page of %d bytes in a Parquet file: %w", c.Name, len(body), formats.ErrTooLarge)
	}
	head, err := thrift.Marshal(new(thrift.CompactProtocol), &format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
		DataPageHeader: thrift.New(format.DataPageHeader{NumValues: int32(rows), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}),
	})
	if err != nil {
		return err
	}
	if err := x.write(head); err != nil {
		return err
	}
	return x.write(body)
}

// levels returns runs of rows that have a value, and of rows that have none.
func levels(rows int, valid []bool) []byte {
	var out []byte
	for at := 0; at < rows; {
		has, n := valid == nil || valid[at], 1
		for at+n < rows && (valid == nil || valid[at+n]) == has {
			n++
		}
		out = binary.AppendUvarint(out, uint64(n)<<1)
		if has {
			out = append(out, 1)
		} else {
			out = append(out, 0)
		}
		at += n
	}
	return out
}

// Close writes the end of the file. It does not close what the Writer writes to.
func (x *Writer) Close() error {
	p, err := thrift.Marshal(new(thrift.CompactProtocol), &x.meta)
	if err != nil {
		return err
	}
	p = binary.LittleEndian.AppendUint32(p, uint32(len(p)))
	return x.write(append(p, magic...))
}
