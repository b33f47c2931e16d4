// Package arrowipc writes files of Apache Arrow's IPC format, version 5 of its metadata:
// a schema, record batches as they come, and the footer with their places. It encodes
// messages; what columns mean is its caller's. It knows the types that arrays of NumPy
// become, and writes no dictionaries and no compressed buffers.
package arrowipc

import (
	"encoding/binary"
	"io"

	flatbuffers "github.com/google/flatbuffers/go"
)

// The kinds of types, as the union Type of Arrow's Schema.fbs numbers them.
const (
	Int             = 2
	Float           = 3
	Bool            = 6
	Timestamp       = 10
	FixedSizeBinary = 15
	FixedSizeList   = 16
	Duration        = 18
	LargeUTF8       = 20
)

// A Type is the type of a column.
type Type struct {
	Kind   byte
	Bits   int  // of an Int: 8 to 64; of a Float: 16, 32 or 64
	Signed bool // of an Int
	Unit   int  // of a Timestamp or a Duration: 0 s, 1 ms, 2 µs, 3 ns
	Size   int  // of a FixedSizeBinary: bytes; of a FixedSizeList: items
}

// A Field is a column: its name, its type, and the column of the items of a list.
type Field struct {
	Name     string
	Type     Type
	Nullable bool
	Child    *Field
	Meta     []Pair
}

// A Pair is an entry of metadata.
type Pair struct{ Key, Value string }

// A Node says how many values a column of a batch has, and how many of them are missing.
type Node struct{ Len, Nulls int64 }

const (
	version5     = 4
	headerSchema = 1
	headerBatch  = 3
	align        = 8
	magic        = "ARROW1"
)

// A Writer writes a file. It is not safe for concurrent use.
type Writer struct {
	w      io.Writer
	fields []Field
	meta   []Pair
	off    int64
	blocks []block
}

type block struct {
	off, body int64
	meta      int32
}

// NewWriter writes the begin of a file to w.
func NewWriter(w io.Writer, fields []Field, meta []Pair) (*Writer, error) {
	x := &Writer{w: w, fields: fields, meta: meta}
	if err := x.write([]byte(magic + "\x00\x00")); err != nil {
		return nil, err
	}
	b := flatbuffers.NewBuilder(1 << 10)
	_, err := x.message(b, headerSchema, x.schema(b), 0)
	return x, err
}

func (x *Writer) write(p []byte) error {
	n, err := x.w.Write(p)
	x.off += int64(n)
	return err
}

// message writes a message without its body, and returns how many bytes that took.
func (x *Writer) message(b *flatbuffers.Builder, header byte, at flatbuffers.UOffsetT, body int64) (int32, error) {
	b.StartObject(5)
	b.PrependInt64Slot(3, body, 0)
	b.PrependUOffsetTSlot(2, at, 0)
	b.PrependInt16Slot(0, version5, 0)
	b.PrependByteSlot(1, header, 0)
	b.Finish(b.EndObject())
	p := b.FinishedBytes()
	n := (len(p) + align - 1) / align * align
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, n+8), 0xFFFFFFFF)
	out = append(binary.LittleEndian.AppendUint32(out, uint32(n)), p...)
	out = append(out, make([]byte, n-len(p))...)
	return int32(len(out)), x.write(out)
}

// schema appends the table of the fields.
func (x *Writer) schema(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	offs := make([]flatbuffers.UOffsetT, len(x.fields))
	for i := range x.fields {
		offs[i] = x.fields[i].table(b)
	}
	fields, meta := vector(b, offs), pairs(b, x.meta)
	b.StartObject(4)
	b.PrependUOffsetTSlot(2, meta, 0)
	b.PrependUOffsetTSlot(1, fields, 0)
	return b.EndObject()
}

// vector appends a vector of offsets.
func vector(b *flatbuffers.Builder, offs []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(offs), 4)
	for i := range offs {
		b.PrependUOffsetT(offs[len(offs)-1-i])
	}
	return b.EndVector(len(offs))
}

func pairs(b *flatbuffers.Builder, list []Pair) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	offs := make([]flatbuffers.UOffsetT, len(list))
	for i, p := range list {
		key, value := b.CreateString(p.Key), b.CreateString(p.Value)
		b.StartObject(2)
		b.PrependUOffsetTSlot(0, key, 0)
		b.PrependUOffsetTSlot(1, value, 0)
		offs[i] = b.EndObject()
	}
	return vector(b, offs)
}

func (f *Field) table(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	var list []flatbuffers.UOffsetT
	if f.Child != nil {
		list = append(list, f.Child.table(b))
	}
	children, meta := vector(b, list), pairs(b, f.Meta)
	name, kind := b.CreateString(f.Name), f.Type.table(b)
	b.StartObject(7)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependUOffsetTSlot(3, kind, 0)
	b.PrependUOffsetTSlot(5, children, 0)
	b.PrependUOffsetTSlot(6, meta, 0)
	b.PrependBoolSlot(1, f.Nullable, false)
	b.PrependByteSlot(2, f.Type.Kind, 0)
	return b.EndObject()
}

func (t *Type) table(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	b.StartObject(2)
	switch t.Kind {
	case Int:
		b.PrependInt32Slot(0, int32(t.Bits), 0)
		b.PrependBoolSlot(1, t.Signed, false)
	case Float:
		b.PrependInt16Slot(0, map[int]int16{16: 0, 32: 1, 64: 2}[t.Bits], 0)
	case Timestamp:
		b.PrependInt16Slot(0, int16(t.Unit), 0)
	case Duration:
		b.PrependInt16Slot(0, int16(t.Unit), 1) // ms if it is not there
	case FixedSizeBinary, FixedSizeList:
		b.PrependInt32Slot(0, int32(t.Size), 0)
	}
	return b.EndObject()
}

// Batch writes rows: a node for each column, those of children behind their parents, and
// the buffers of all columns in that order. A bitmap of validity that is nil says that
// no value is missing.
func (x *Writer) Batch(rows int64, nodes []Node, buffers [][]byte) error {
	b := flatbuffers.NewBuilder(1 << 10)
	b.StartVector(16, len(buffers), 8)
	body := int64(0)
	ends := make([]int64, len(buffers))
	for i, p := range buffers {
		ends[i] = body
		body += (int64(len(p)) + align - 1) / align * align
	}
	for i := range buffers {
		k := len(buffers) - 1 - i
		b.Prep(8, 16)
		b.PrependInt64(int64(len(buffers[k])))
		b.PrependInt64(ends[k])
	}
	list := b.EndVector(len(buffers))
	b.StartVector(16, len(nodes), 8)
	for i := range nodes {
		n := nodes[len(nodes)-1-i]
		b.Prep(8, 16)
		b.PrependInt64(n.Nulls)
		b.PrependInt64(n.Len)
	}
	columns := b.EndVector(len(nodes))
	b.StartObject(4)
	b.PrependInt64Slot(0, rows, 0)
	b.PrependUOffsetTSlot(1, columns, 0)
	b.PrependUOffsetTSlot(2, list, 0)
	at := block{off: x.off, body: body}
	var err error
	if at.meta, err = x.message(b, headerBatch, b.EndObject(), body); err != nil {
		return err
	}
	x.blocks = append(x.blocks, at)
	for _, p := range buffers {
		if err := x.write(p); err != nil {
			return err
		}
		if err := x.write(make([]byte, -len(p)&(align-1))); err != nil {
			return err
		}
	}
	return nil
}

// Close writes the end of the file. It does not close what the Writer writes to.
func (x *Writer) Close() error {
	b := flatbuffers.NewBuilder(1 << 10)
	schema := x.schema(b)
	b.StartVector(24, len(x.blocks), 8)
	for i := range x.blocks {
		k := x.blocks[len(x.blocks)-1-i]
		b.Prep(8, 24)
		b.PrependInt64(k.body)
		b.Pad(4)
		b.PrependInt32(k.meta)
		b.PrependInt64(k.off)
	}
	blocks := b.EndVector(len(x.blocks))
	b.StartVector(24, 0, 8)
	none := b.EndVector(0)
	b.StartObject(5)
	b.PrependUOffsetTSlot(1, schema, 0)
	b.PrependUOffsetTSlot(2, none, 0)
	b.PrependUOffsetTSlot(3, blocks, 0)
	b.PrependInt16Slot(0, version5, 0)
	b.Finish(b.EndObject())
	p := b.FinishedBytes()
	out := binary.LittleEndian.AppendUint32(nil, 0xFFFFFFFF) // end of the stream
	out = append(binary.LittleEndian.AppendUint32(out, 0), p...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(p)))
	return x.write(append(out, magic...))
}
