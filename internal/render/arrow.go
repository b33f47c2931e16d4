package render

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/arrowipc"
	"github.com/farread/farread/internal/bitmap"
)

const (
	arrowBatch = 8 << 20 // bytes of items of a record batch, about
	arrowRow   = 256 << 20
)

// arrowFile writes an Arrow IPC file. Its rows are the items along the first axis, or,
// if items have members, all items, with a column for each member. Items along the other
// axes are a list of fixed size, for numbers a tensor of fixed shape.
type arrowFile struct {
	d       dtype.DType
	shape   []int64
	w       *arrowipc.Writer
	columns []arrowColumn
	row     int64 // bytes of a row
	rows    int64 // those that are not written
	most    int64 // rows of a batch
	held    []byte
}

// An arrowColumn is the items of a column: n in each row.
type arrowColumn struct {
	field  arrowipc.Field
	d      dtype.DType // of the items, little endian
	stored dtype.DType
	off    int // in the row; -1: the row is nothing else
	n      int64
	list   bool
	factor int64 // of times: of the units of the column
}

func newArrow(d dtype.DType, shape []int64) (*arrowFile, error) {
	f := &arrowFile{d: d, shape: shape, rows: 1, row: int64(d.ItemSize())}
	var inner []int64
	if len(shape) > 0 {
		f.rows, inner = shape[0], shape[1:]
	}
	if d.Kind() == dtype.Struct {
		for _, n := range inner {
			f.rows *= n
		}
		inner = nil
		if err := f.members(d, "", 0); err != nil {
			return nil, err
		}
	} else if err := f.column("v", d, -1, inner); err != nil {
		return nil, err
	}
	for _, n := range inner {
		if f.row *= n; f.row > arrowRow {
			return nil, fmt.Errorf("rows of %d bytes in an Arrow file: take a slice with fewer items behind the first axis: %w", f.row, formats.ErrTooLarge)
		}
	}
	f.most = max(arrowBatch/max(f.row, 1), 1)
	return f, nil
}

// members adds a column for each member, those of members within members, too.
func (f *arrowFile) members(d dtype.DType, name string, off int) error {
	for _, m := range d.Fields() {
		full := m.Name
		if name != "" {
			full = name + "." + m.Name
		}
		if m.Type.Kind() == dtype.Struct && m.Shape == nil {
			if err := f.members(m.Type, full, off+m.Off); err != nil {
				return err
			}
			continue
		}
		var inner []int64
		for _, n := range m.Shape {
			inner = append(inner, int64(n))
		}
		if err := f.column(full, m.Type, off+m.Off, inner); err != nil {
			return err
		}
	}
	return nil
}

// column adds a column of items of a type, which are a list if there are inner axes.
func (f *arrowFile) column(name string, d dtype.DType, off int, inner []int64) error {
	c := arrowColumn{d: d, stored: d, off: off, n: 1, factor: 1, list: len(inner) > 0}
	for _, n := range inner {
		if c.n *= n; c.n > math.MaxInt32/2 {
			return fmt.Errorf("lists of %d items in an Arrow file: %w", c.n, formats.ErrTooLarge)
		}
	}
	if d.BigEndian() {
		var err error
		if c.d, err = dtype.Parse("<" + d.String()[1:]); err != nil {
			return err
		}
	}
	t, ok := c.kind()
	if !ok {
		return fmt.Errorf("%q, items of %s, in an Arrow file: %w", name, d, formats.ErrUnsupported)
	}
	shape := inner
	if d.Kind() == dtype.Complex { // its parts
		c.list, c.n, shape = true, 2*c.n, append(append([]int64{}, inner...), 2)
	}
	c.field = arrowipc.Field{Name: name, Type: t, Nullable: c.missing()}
	if c.list {
		item := arrowipc.Field{Name: "item", Type: t, Nullable: c.missing()}
		c.field = arrowipc.Field{Name: name, Type: arrowipc.Type{Kind: arrowipc.FixedSizeList, Size: int(c.n)}, Child: &item}
		if t.Kind == arrowipc.Int || t.Kind == arrowipc.Float {
			text, err := json.Marshal(map[string][]int64{"shape": shape})
			if err != nil {
				return err
			}
			c.field.Meta = []arrowipc.Pair{{Key: "ARROW:extension:name", Value: "arrow.fixed_shape_tensor"}, {Key: "ARROW:extension:metadata", Value: string(text)}}
		}
	}
	f.columns = append(f.columns, c)
	return nil
}

// missing reports whether the column may have no value for an item: NaT.
func (c *arrowColumn) missing() bool {
	return c.d.Kind() == dtype.DateTime || c.d.Kind() == dtype.Duration
}

// kind is the type of the items of a column, or of the parts of complex numbers.
func (c *arrowColumn) kind() (t arrowipc.Type, ok bool) {
	size := c.d.ItemSize()
	if c.d.Opaque() {
		return arrowipc.Type{Kind: arrowipc.FixedSizeBinary, Size: size}, size > 0
	}
	switch c.d.Kind() {
	case dtype.Bool:
		return arrowipc.Type{Kind: arrowipc.Bool}, true
	case dtype.Int, dtype.Uint:
		return arrowipc.Type{Kind: arrowipc.Int, Bits: 8 * size, Signed: c.d.Kind() == dtype.Int}, true
	case dtype.Float:
		return arrowipc.Type{Kind: arrowipc.Float, Bits: 8 * size}, true
	case dtype.Complex:
		return arrowipc.Type{Kind: arrowipc.Float, Bits: 4 * size}, true
	case dtype.Bytes:
		return arrowipc.Type{Kind: arrowipc.FixedSizeBinary, Size: size}, size > 0
	case dtype.Text:
		return arrowipc.Type{Kind: arrowipc.LargeUTF8}, size > 0
	case dtype.DateTime, dtype.Duration:
		t.Kind = arrowipc.Timestamp
		if c.d.Kind() == dtype.Duration {
			t.Kind = arrowipc.Duration
		}
		unit, count := c.d.Unit()
		long := map[string]int64{"W": 604_800, "D": 86_400, "h": 3600, "m": 60, "s": 1}[unit]
		c.factor = int64(count) * max(long, 1)
		t.Unit = map[string]int{"ms": 1, "us": 2, "ns": 3}[unit]
		return t, long > 0 || t.Unit > 0
	default:
		return t, false
	}
}

func (f *arrowFile) begin(w io.Writer) (err error) {
	fields := make([]arrowipc.Field, len(f.columns))
	for i := range f.columns {
		fields[i] = f.columns[i].field
	}
	shape, err := json.Marshal(append([]int64{}, f.shape...))
	if err != nil {
		return err
	}
	f.w, err = arrowipc.NewWriter(w, fields, []arrowipc.Pair{{Key: "farread.dtype", Value: f.d.String()}, {Key: "farread.shape", Value: string(shape)}})
	return err
}

// items writes whole batches, and holds what is left.
func (f *arrowFile) items(_ io.Writer, p []byte) error {
	size := f.row * f.most
	for len(p) > 0 {
		if len(f.held) == 0 && int64(len(p)) >= size {
			if err := f.batch(p[:size]); err != nil {
				return err
			}
			p = p[size:]
			continue
		}
		n := min(size-int64(len(f.held)), int64(len(p)))
		f.held, p = append(f.held, p[:n]...), p[n:]
		if int64(len(f.held)) == size {
			if err := f.batch(f.held); err != nil {
				return err
			}
			f.held = f.held[:0]
		}
	}
	return nil
}

func (f *arrowFile) end(io.Writer) error {
	if len(f.held) > 0 {
		if err := f.batch(f.held); err != nil {
			return err
		}
	}
	if f.row == 0 && f.rows > 0 { // rows without items
		if err := f.empty(); err != nil {
			return err
		}
	}
	return f.w.Close()
}

func (f *arrowFile) empty() error {
	var nodes []arrowipc.Node
	var buffers [][]byte
	for i := range f.columns {
		if err := f.columns[i].add(nil, f.rows, &nodes, &buffers); err != nil {
			return err
		}
	}
	return f.w.Batch(f.rows, nodes, buffers)
}

// batch writes rows.
func (f *arrowFile) batch(p []byte) error {
	rows := int64(len(p)) / f.row
	var nodes []arrowipc.Node
	var buffers [][]byte
	for i := range f.columns {
		c := &f.columns[i]
		q := p
		if c.off >= 0 {
			size := int64(c.stored.ItemSize()) * c.n
			if c.d.Kind() == dtype.Complex {
				size /= 2
			}
			q = make([]byte, 0, rows*size)
			for k := range rows {
				at := k*f.row + int64(c.off)
				q = append(q, p[at:at+size]...)
			}
		}
		if err := c.add(q, rows, &nodes, &buffers); err != nil {
			return err
		}
	}
	return f.w.Batch(rows, nodes, buffers)
}

// add appends the buffers of a column whose items are p.
func (c *arrowColumn) add(p []byte, rows int64, nodes *[]arrowipc.Node, buffers *[][]byte) error {
	if c.list {
		*nodes = append(*nodes, arrowipc.Node{Len: rows})
		*buffers = append(*buffers, nil)
	}
	if c.stored.BigEndian() {
		q := make([]byte, len(p))
		if err := c.stored.Convert(q, c.d, p); err != nil {
			return err
		}
		p = q
	}
	n := arrowipc.Node{Len: rows * c.n}
	var valid []byte
	var more [][]byte
	switch {
	case c.d.Opaque():
		more = [][]byte{p}
	case c.d.Kind() == dtype.Bool:
		more = [][]byte{bitmap.Pack(p)}
	case c.d.Kind() == dtype.Text:
		more = c.texts(p)
	case c.missing():
		var err error
		if p, valid, n.Nulls, err = c.times(p); err != nil {
			return err
		}
		more = [][]byte{p}
	default:
		more = [][]byte{p}
	}
	*nodes = append(*nodes, n)
	*buffers = append(append(*buffers, valid), more...)
	return nil
}

// texts are offsets and UTF-8.
func (c *arrowColumn) texts(p []byte) [][]byte {
	size := c.d.ItemSize()
	offs := make([]byte, 8, 8+8*(len(p)/size))
	var out []byte
	for ; len(p) >= size; p = p[size:] {
		text, _ := c.d.Text(p[:size])
		out = append(out, text...)
		offs = binary.LittleEndian.AppendUint64(offs, uint64(len(out)))
	}
	return [][]byte{offs, out}
}

// times are counts of the column's unit, and a bitmap of those that are not NaT, or nil
// if all are.
func (c *arrowColumn) times(p []byte) (out, valid []byte, nulls int64, err error) {
	out = p
	if c.factor != 1 {
		out = make([]byte, len(p))
	}
	for i := 0; i+8 <= len(p); i += 8 {
		v := int64(binary.LittleEndian.Uint64(p[i:]))
		switch {
		case v == math.MinInt64: // NaT
			if nulls++; valid == nil {
				valid = make([]byte, (len(p)/8+7)/8)
				for k := range valid {
					valid[k] = 0xFF
				}
			}
			valid[i/64] &^= 1 << (i / 8 % 8)
		case c.factor != 1 && (v > math.MaxInt64/c.factor || v < math.MinInt64/c.factor):
			return nil, nil, 0, fmt.Errorf("%s of %d in an Arrow file, in seconds: %w", c.d, v, formats.ErrUnsupported)
		case c.factor != 1:
			binary.LittleEndian.PutUint64(out[i:], uint64(v*c.factor))
		}
	}
	return out, valid, nulls, nil
}
