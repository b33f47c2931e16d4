package parquet

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

const (
	magic = "PAR1"
	// tail is the length of the footer and the magic, behind the footer.
	tail = 8
	// maxFooter bounds the footer: 2,048 columns in 200 row groups take 30 MiB.
	maxFooter = 32 << 20
	// maxColumns bounds the columns, with members of structures.
	maxColumns = 1 << 14
	// leastRows and rowsAByte bound the rows: a row of constants takes next to no bytes,
	// but one of a series takes some bits at least for its time.
	leastRows, rowsAByte = 1 << 20, 1024
)

// A File is a Parquet file. Its methods are safe for concurrent use.
type File struct {
	obj     *objstore.Object
	columns []Column
	groups  []format.RowGroup
	rows    int64
}

// Sniff reports whether a file that begins with head may be Parquet.
func Sniff(head []byte) bool {
	return len(head) >= 4 && (string(head[:4]) == magic || string(head[:4]) == "PARE")
}

func fail(obj *objstore.Object, part string, off int64, err error) error {
	if part == "" {
		part = obj.Info().Key
	}
	return kit.Fail("parquet", part, off, err)
}

// Open reads the footer, by one request or two if obj does not have its end. Errors match
// a sentinel of formats, or are those of obj.
func Open(ctx context.Context, obj *objstore.Object) (*File, error) {
	p, off, err := footer(ctx, obj)
	if err != nil {
		return nil, err
	}
	n, _, err := length(p)
	if err == nil && n < len(p) {
		err = kit.Corrupt("the footer ends %d bytes before its end", len(p)-n)
	}
	if err != nil {
		return nil, fail(obj, "footer", off+int64(n), err)
	}
	var m format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), p, &m); err != nil {
		return nil, fail(obj, "footer", off, kit.Corrupt("%s", err))
	}
	f := &File{obj: obj, groups: m.RowGroups}
	if m.EncryptionAlgorithm.Value != nil {
		return nil, fail(obj, "footer", off, kit.Unsupported("the columns are encrypted"))
	}
	if err := f.schema(m.Schema); err != nil {
		return nil, fail(obj, "schema", off, err)
	}
	for i := range f.groups {
		if err := f.check(i, off); err != nil {
			return nil, fail(obj, fmt.Sprintf("row group %d", i), off, err)
		}
	}
	if f.rows != m.NumRows {
		return nil, fail(obj, "footer", off, kit.Corrupt("%d rows, and %d in the row groups", m.NumRows, f.rows))
	}
	if most := max(leastRows, rowsAByte*obj.Size()); f.rows > most {
		return nil, fail(obj, "footer", off, kit.TooLarge("%d rows in %d bytes", f.rows, obj.Size()))
	}
	return f, nil
}

// footer reads the footer, and returns where it begins.
func footer(ctx context.Context, obj *objstore.Object) ([]byte, int64, error) {
	read := func(p []byte, off int64) error {
		_, err := io.ReadFull(io.NewSectionReader(obj.WithContext(ctx), off, int64(len(p))), p)
		return err
	}
	size := obj.Size()
	if size < int64(len(magic))+tail {
		return nil, 0, fail(obj, "", 0, kit.Corrupt("%d bytes are no Parquet file", size))
	}
	var end [tail]byte
	if err := read(end[:], size-tail); err != nil {
		return nil, 0, err
	}
	switch string(end[4:]) {
	case magic:
	case "PARE":
		return nil, 0, fail(obj, "", size-4, kit.Unsupported("the footer is encrypted"))
	default:
		return nil, 0, fail(obj, "", size-4, kit.Corrupt("truncated: no %s at the end", magic))
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	off := size - tail - n
	switch {
	case off < int64(len(magic)):
		return nil, 0, fail(obj, "", size-tail, kit.Corrupt("a footer of %d bytes in a file of %d", n, size))
	case n > maxFooter:
		return nil, 0, fail(obj, "", size-tail, kit.TooLarge("a footer of %d bytes, over %d", n, maxFooter))
	}
	p := make([]byte, n)
	return p, off, read(p, off)
}

// Columns are the columns in the order of the file. Do not change them.
func (f *File) Columns() []Column { return f.columns }

// Rows is the number of rows.
func (f *File) Rows() int64 { return f.rows }

// Nulls is how many values of a column are null, as the footer says; -1: it does not.
func (f *File) Nulls(column int) int64 {
	n := int64(0)
	for i := range f.groups {
		s := &f.groups[i].Columns[column].MetaData
		if len(s.Statistics.MinValue)+len(s.Statistics.MaxValue)+len(s.Statistics.Min)+len(s.Statistics.Max) > 0 {
			return -1 // it has some
		}
		n += s.Statistics.NullCount
	}
	return n
}

// Bytes is the stored size of some columns.
func (f *File) Bytes(columns []int) int64 {
	n := int64(0)
	for i := range f.groups {
		for _, c := range columns {
			n += f.groups[i].Columns[c].MetaData.TotalCompressedSize
		}
	}
	return n
}

// schema makes the columns of the leaves of a tree, which is listed from its root on.
func (f *File) schema(list []format.SchemaElement) error {
	if len(list) == 0 || len(list) > maxColumns {
		return kit.TooLarge("%d columns, want 1 to %d", len(list), maxColumns)
	}
	at := 0
	var walk func(name string, depth, def, rep int) error
	walk = func(name string, depth, def, rep int) error {
		if at >= len(list) || depth > maxDepth {
			return kit.Corrupt("structures whose members are not there, or that lie %d deep in each other", depth)
		}
		e := &list[at]
		at++
		if depth > 0 {
			switch e.RepetitionType.V {
			case format.Optional:
				def++
			case format.Repeated:
				def, rep = def+1, rep+1
			case format.Required:
			}
			if name != "" {
				name += "."
			}
			name += e.Name
		}
		if e.NumChildren.V == 0 && e.Type.Valid {
			if e.Type.V < physicalBool || e.Type.V > physicalFixed || e.Type.V == physicalFixed && (e.TypeLength.V <= 0 || e.TypeLength.V > 1<<20) {
				return kit.Corrupt("column %.60q of type %d and length %d", name, e.Type.V, e.TypeLength.V)
			}
			f.columns = append(f.columns, columnOf(e, name, def, rep))
			return nil
		}
		for range max(e.NumChildren.V, 0) {
			if err := walk(name, depth+1, def, rep); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk("", 0, 0, 0); err != nil {
		return err
	}
	if at != len(list) {
		return kit.Corrupt("%d columns belong to no structure", len(list)-at)
	}
	return nil
}

// check looks at the places and counts of a row group; the footer begins at end.
func (f *File) check(i int, end int64) error {
	g := &f.groups[i]
	if len(g.Columns) != len(f.columns) {
		return kit.Corrupt("%d columns, the schema has %d", len(g.Columns), len(f.columns))
	}
	if g.NumRows < 0 || g.NumRows > 1<<62-f.rows {
		return kit.Corrupt("%d rows", g.NumRows)
	}
	f.rows += g.NumRows
	for k := range g.Columns {
		c, m := &f.columns[k], &g.Columns[k].MetaData
		if g.NumRows == 0 { // writers count a dictionary without values that is nowhere
			m.TotalCompressedSize = 0
			continue
		}
		start := begin(m)
		switch {
		case g.Columns[k].FilePath != "":
			return kit.Unsupported("column %.60q lies in another file", c.Name)
		case m.Type != c.physical:
			return kit.Corrupt("column %.60q has type %s, and the schema says %s", c.Name, m.Type, c.physical)
		case m.TotalCompressedSize < 0 || start < int64(len(magic)) && m.TotalCompressedSize > 0 || m.TotalCompressedSize > end-start:
			return kit.Corrupt("column %.60q: %d bytes at %d, and the data end at %d", c.Name, m.TotalCompressedSize, start, end)
		case c.Kind != "list" && m.NumValues != g.NumRows:
			return kit.Corrupt("column %.60q has %d values in %d rows", c.Name, m.NumValues, g.NumRows)
		}
	}
	return nil
}

// begin is where the pages of a column begin, with those of its dictionary.
func begin(m *format.ColumnMetaData) int64 {
	if d := m.DictionaryPageOffset; d > 0 && d < m.DataPageOffset {
		return d
	}
	return m.DataPageOffset
}
