package zoom

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/internal/sums"
	"github.com/farread/farread/objstore"
)

const (
	// blockBytes is the size of a block, all tracks together, if that is not more than
	// blockValues values. For one track two goroutines have enough to do; several
	// tracks get half of that, since they end their packets together.
	blockBytes  = 1 << 20
	blockValues = 256 << 10
	// readPart and readAhead bound the reading ahead: 16 MiB, in requests of 8. They
	// may take one and a half times that, since the collector runs only when the heap
	// has grown.
	readPart, readAhead = 8 << 20, 1
)

// An item is the encoding of one sample.
type item struct {
	kind zoomcache.Kind // kind of value that it becomes
	size int            // bytes
	big  bool           // most significant byte first
	half bool           // binary16, which becomes F32
}

// itemOf is the item of a NumPy type.
func itemOf(d dtype.DType) (item, error) {
	it := item{size: d.ItemSize(), big: d.BigEndian()}
	ints := map[int]zoomcache.Kind{1: zoomcache.I8, 2: zoomcache.I16, 4: zoomcache.I32, 8: zoomcache.I64}
	ok := true
	switch d.Kind() {
	case dtype.Bool:
		it.kind = zoomcache.Bool
	case dtype.Int:
		it.kind, ok = ints[it.size]
	case dtype.Uint:
		it.kind, ok = ints[it.size]
		it.kind += zoomcache.U8 - zoomcache.I8
	case dtype.Float:
		it.kind, ok = map[int]zoomcache.Kind{2: zoomcache.F32, 4: zoomcache.F32, 8: zoomcache.F64}[it.size]
		it.half = it.size == 2
	default:
		ok = false
	}
	if !ok {
		return item{}, kit.Unsupported("samples of type %s: want bool, integers or floats of 2, 4 or 8 bytes", d)
	}
	return it, nil
}

// decode puts n values, which are the items at p[0], p[stride] and so on, into dst. It
// reuses the memory of dst, which has the first done of I16 already.
func (it item) decode(dst *zoomcache.Values, p []byte, stride, n, done int) {
	dst.Kind, dst.N = it.kind, n
	switch it.kind {
	case zoomcache.Bool:
		dst.Bool = sized(dst.Bool, n)
		for i := range dst.Bool {
			dst.Bool[i] = p[i*stride] != 0
		}
	case zoomcache.F32:
		dst.F32 = sized(dst.F32, n)
		it.floats(dst.F32, p, stride)
	case zoomcache.F64:
		dst.F64 = sized(dst.F64, n)
		if it.big {
			for i := range dst.F64 {
				dst.F64[i] = math.Float64frombits(binary.BigEndian.Uint64(p[i*stride:]))
			}
			return
		}
		for i := range dst.F64 {
			dst.F64[i] = math.Float64frombits(binary.LittleEndian.Uint64(p[i*stride:]))
		}
	case zoomcache.I8:
		dst.I8 = sized(dst.I8, n)
		bytes1(dst.I8, p, stride)
	case zoomcache.U8:
		dst.U8 = sized(dst.U8, n)
		bytes1(dst.U8, p, stride)
	case zoomcache.I16:
		dst.I16 = sized(dst.I16, n)
		bytes2(dst.I16[done:], p[min(done*stride, len(p)):], stride, it.big)
	case zoomcache.U16:
		dst.U16 = sized(dst.U16, n)
		bytes2(dst.U16, p, stride, it.big)
	case zoomcache.I32:
		dst.I32 = sized(dst.I32, n)
		if it.size == 3 {
			bytes3(dst.I32, p, stride, it.big)
			return
		}
		bytes4(dst.I32, p, stride, it.big)
	case zoomcache.U32:
		dst.U32 = sized(dst.U32, n)
		bytes4(dst.U32, p, stride, it.big)
	case zoomcache.I64:
		dst.I64 = sized(dst.I64, n)
		if it.size < 8 {
			bytesFew(dst.I64, p, stride, it.size, it.big)
			return
		}
		bytes8(dst.I64, p, stride, it.big)
	case zoomcache.U64:
		dst.U64 = sized(dst.U64, n)
		bytes8(dst.U64, p, stride, it.big)
	default: // itemOf and WAV make no other
	}
}

// lend returns the values in p without a copy, if they are there as in memory.
func (it item) lend(p []byte) (v zoomcache.Values, ok bool) {
	v.Kind, v.N = it.kind, len(p)/it.size
	switch {
	case it.big:
	case it.kind == zoomcache.I16:
		v.I16, ok = sums.Lend[int16](p)
	case it.kind == zoomcache.U16:
		v.U16, ok = sums.Lend[uint16](p)
	case it.kind == zoomcache.I32 && it.size == 4:
		v.I32, ok = sums.Lend[int32](p)
	case it.kind == zoomcache.U32:
		v.U32, ok = sums.Lend[uint32](p)
	case it.kind == zoomcache.F32 && !it.half:
		v.F32, ok = sums.Lend[float32](p)
	case it.kind == zoomcache.F64:
		v.F64, ok = sums.Lend[float64](p)
	case it.kind == zoomcache.I64 && it.size == 8:
		v.I64, ok = sums.Lend[int64](p)
	case it.kind == zoomcache.U64:
		v.U64, ok = sums.Lend[uint64](p)
	}
	return v, ok
}

func (it item) floats(dst []float32, p []byte, stride int) {
	switch {
	case it.half && it.big:
		for i := range dst {
			dst[i] = dtype.HalfToFloat(binary.BigEndian.Uint16(p[i*stride:]))
		}
	case it.half:
		for i := range dst {
			dst[i] = dtype.HalfToFloat(binary.LittleEndian.Uint16(p[i*stride:]))
		}
	case it.big:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.BigEndian.Uint32(p[i*stride:]))
		}
	default:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[i*stride:]))
		}
	}
}

func sized[T any](s []T, n int) []T { return slices.Grow(s[:0], n)[:n] }

func bytes1[T int8 | uint8](dst []T, p []byte, stride int) {
	for i := range dst {
		dst[i] = T(p[i*stride])
	}
}

func bytes2[T int16 | uint16](dst []T, p []byte, stride int, big bool) {
	if big {
		for i := range dst {
			dst[i] = T(binary.BigEndian.Uint16(p[i*stride:]))
		}
		return
	}
	if stride == 4 { // two channels: several numbers at a time
		for ; len(dst) >= 4 && len(p) >= 16; dst, p = dst[4:], p[16:] {
			x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
			dst[0], dst[1], dst[2], dst[3] = T(x), T(x>>32), T(y), T(y>>32)
		}
	}
	for i := range dst {
		dst[i] = T(binary.LittleEndian.Uint16(p[i*stride:]))
	}
}

// bytes3 widens 24 bits with their sign.
func bytes3(dst []int32, p []byte, stride int, big bool) {
	for i := range dst {
		q := p[i*stride:][:3]
		if big {
			dst[i] = int32(uint32(q[0])<<24|uint32(q[1])<<16|uint32(q[2])<<8) >> 8
		} else {
			dst[i] = int32(uint32(q[2])<<24|uint32(q[1])<<16|uint32(q[0])<<8) >> 8
		}
	}
}

// bytesFew widens 40, 48 or 56 bits with their sign.
func bytesFew(dst []int64, p []byte, stride, size int, big bool) {
	for i := range dst {
		x := uint64(0)
		for k := range size {
			b := p[i*stride+k]
			if !big {
				b = p[i*stride+size-1-k]
			}
			x = x<<8 | uint64(b)
		}
		dst[i] = int64(x<<(64-8*size)) >> (64 - 8*size)
	}
}

func bytes4[T int32 | uint32](dst []T, p []byte, stride int, big bool) {
	if big {
		for i := range dst {
			dst[i] = T(binary.BigEndian.Uint32(p[i*stride:]))
		}
		return
	}
	for i := range dst {
		dst[i] = T(binary.LittleEndian.Uint32(p[i*stride:]))
	}
}

func bytes8[T int64 | uint64](dst []T, p []byte, stride int, big bool) {
	if big {
		for i := range dst {
			dst[i] = T(binary.BigEndian.Uint64(p[i*stride:]))
		}
		return
	}
	for i := range dst {
		dst[i] = T(binary.LittleEndian.Uint64(p[i*stride:]))
	}
}

// rows is a series of items of one type, stored row by row or column by column.
type rows struct {
	about   About
	obj     *objstore.Object
	base    int64 // byte of the first item
	item    item
	frame   int  // bytes of a row; more than its items if frames are padded
	columns bool // stored column by column
}

func (r *rows) About() About { return r.about }

// block is the number of rows in a block.
func (r *rows) block() int {
	n := min(blockValues, blockBytes/r.item.size)
	if len(r.about.Tracks) > 1 {
		n /= 2
	}
	return max(n/len(r.about.Tracks), 1)
}

// Each implements Series.
func (r *rows) Each(ctx context.Context, _ int, f func(*Block) error) error {
	b := &Block{Columns: make([]Column, len(r.about.Tracks))}
	if r.about.Rows == 0 || len(b.Columns) == 0 {
		return ctx.Err()
	}
	if r.columns && len(b.Columns) > 1 {
		return r.eachColumns(ctx, b, f)
	}
	in := r.obj.NewReader(ctx, objstore.ReadOptions{Off: r.base, Len: r.about.Rows * int64(r.frame), Part: readPart, Ahead: readAhead})
	defer in.Close()
	w := &rowWriter{r: r, b: b, f: f, per: r.block()}
	if n, err := io.Copy(w, in); err != nil {
		return err
	} else if n < r.about.Rows*int64(r.frame) { // the reader has ended early
		return kit.Corrupt("truncated")
	}
	return nil
}

// A rowWriter passes on rows out of the parts of the source, in which it leaves them.
type rowWriter struct {
	r    *rows
	b    *Block
	f    func(*Block) error
	per  int    // rows of a block
	rest []byte // a row that does not end in the part
}

// Write implements io.Writer.
func (w *rowWriter) Write(p []byte) (int, error) {
	all, frame := len(p), w.r.frame
	if len(w.rest) > 0 {
		n := min(frame-len(w.rest), len(p))
		w.rest, p = append(w.rest, p[:n]...), p[n:]
		if len(w.rest) < frame {
			return all, nil
		}
		if err := w.block(w.rest); err != nil {
			return 0, err
		}
		w.rest = w.rest[:0]
	}
	for len(p) >= frame {
		n := min(len(p)/frame, w.per) * frame
		if err := w.block(p[:n]); err != nil {
			return 0, err
		}
		p = p[n:]
	}
	w.rest = append(w.rest, p...)
	return all, nil
}

// block passes on whole rows, those of one column as they are, if that can be.
func (w *rowWriter) block(p []byte) error {
	w.b.Done += int64(len(p))
	if len(w.b.Columns) == 1 && w.r.frame == w.r.item.size {
		if lent, ok := w.r.item.lend(p); ok {
			v := &w.b.Columns[0].Values
			own := *v
			*v = lent
			err := w.f(w.b)
			*v = own
			return err
		}
	}
	w.r.frames(w.b, p, len(p)/w.r.frame)
	return w.f(w.b)
}

// frames decodes n rows.
func (r *rows) frames(b *Block, p []byte, n int) {
	done := 0 // of the rows of two columns, which are taken apart together
	if len(b.Columns) == 2 && r.item.kind == zoomcache.I16 && !r.item.big && r.frame == 4 {
		first, second := &b.Columns[0].Values, &b.Columns[1].Values
		first.I16, second.I16 = sized(first.I16, n), sized(second.I16, n)
		done = sums.Pairs16(first.I16, second.I16, p)
	}
	for i := range b.Columns {
		r.item.decode(&b.Columns[i].Values, p[i*r.item.size:], r.frame, n, done)
	}
}

const (
	// columnMemory is for the pieces of all columns that are read together. Twice as
	// much is in use, since the next pieces are read meanwhile.
	columnMemory = 10 << 20
)

// A piece is some rows of a column.
type piece struct {
	column int
	rows   int64
}

// eachColumns reads a piece of every column at a time, and meanwhile the next pieces.
func (r *rows) eachColumns(ctx context.Context, b *Block, f func(*Block) error) error {
	size, columns := int64(r.item.size), len(b.Columns)
	per := min(max(columnMemory/size/int64(columns), 1), r.about.Rows)
	p := pull.Pull[piece]{From: r.obj, Window: int64(columns) * per * size, Most: columns,
		Parts: func(_ context.Context, add func(pull.Part[piece]) error) error {
			for from := int64(0); from < r.about.Rows; from += per {
				n := min(per, r.about.Rows-from)
				for i := range columns {
					off := r.base + (int64(i)*r.about.Rows+from)*size
					if err := add(pull.Part[piece]{Off: off, Len: n * size, For: piece{i, n}}); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		if err := r.rowsOf(w, b, f); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf passes on the rows of a window, which has a piece of every column.
func (r *rows) rowsOf(w *pull.Window[piece], b *Block, f func(*Block) error) error {
	size, rows := int64(r.item.size), w.Parts[0].For.rows
	// Block by block, since decoded values take memory of their own.
	for at, most := int64(0), int64(r.block()); at < rows; at += most {
		n := min(most, rows-at)
		for i := range w.Parts {
			r.item.decode(&b.Columns[w.Parts[i].For.column].Values, w.Bytes(i)[at*size:], r.item.size, int(n), 0)
		}
		b.Done += n * size * int64(len(b.Columns))
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}
