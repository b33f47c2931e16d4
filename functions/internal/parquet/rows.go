package parquet

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

const (
	// together bounds the columns of a row group, or of several, that are read by one set
	// of requests; those that are longer are read column by column, ahead.
	together = 8 << 20
	// maxGroups bounds the row groups that are read together.
	maxGroups = 64
	// aheadMemory is what is read ahead of all columns of a long row group, but each has
	// a part of leastPart to mostPart, twice.
	aheadMemory         = 16 << 20
	leastPart, mostPart = 32 << 10, 4 << 20
)

// A Batch is some rows of the columns that are wanted.
type Batch struct {
	Row     int64 // the first one
	Rows    int
	Columns []Values
	Done    int64 // bytes of these columns that are behind
}

// Each calls f with all rows of some columns, none of type Other, at most window at a
// time. A batch is valid until f returns. Short row groups are read by one set of requests,
// the next ones meanwhile; of long ones each column is read ahead.
func (f *File) Each(ctx context.Context, columns []int, window int, each func(*Batch) error) error {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
	if err != nil {
		return err
	}
	defer z.Close()
	r := &reading{f: f, columns: columns, window: window, each: each, zstd: z, b: Batch{Columns: make([]Values, len(columns))}}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next *load
	for i := 0; i < len(f.groups); {
		n := f.span(i, columns)
		if n == 0 {
			if err := r.long(ctx, i); err != nil {
				return err
			}
			i++
			continue
		}
		now := next
		if now == nil {
			now = f.load(ctx, i, n, columns)
		}
		if next = nil; i+n < len(f.groups) {
			if k := f.span(i+n, columns); k > 0 {
				next = f.load(ctx, i+n, k, columns)
			}
		}
		if err := <-now.done; err != nil {
			return err
		}
		for k := range n {
			if err := r.group(ctx, i+k, func(c int) io.Reader { return bytes.NewReader(now.data[k*len(columns)+c]) }); err != nil {
				return err
			}
		}
		i += n
	}
	if r.b.Rows > 0 {
		return r.pass()
	}
	return nil
}

// pass passes on the rows of the batch.
func (r *reading) pass() error {
	err := r.each(&r.b)
	r.b.Row, r.b.Rows = r.b.Row+int64(r.b.Rows), 0
	for c := range r.b.Columns {
		r.b.Columns[c].Reset()
	}
	return err
}

// span is how many row groups from i on are read together; 0: the first is too long.
func (f *File) span(i int, columns []int) int {
	total := int64(0)
	for n := 0; ; n++ {
		if i+n == len(f.groups) || n == maxGroups {
			return n
		}
		for _, c := range columns {
			total += f.groups[i+n].Columns[c].MetaData.TotalCompressedSize
		}
		if total > together {
			return n
		}
	}
}

// A load is row groups that are read, or are being read.
type load struct {
	data [][]byte // of each row group the columns
	done chan error
}

func (f *File) load(ctx context.Context, from, n int, columns []int) *load {
	l := &load{done: make(chan error, 1)}
	var spans []rangeio.Span
	for i := range n {
		for _, c := range columns {
			m := &f.groups[from+i].Columns[c].MetaData
			p := make([]byte, m.TotalCompressedSize)
			l.data = append(l.data, p)
			if len(p) > 0 {
				spans = append(spans, rangeio.Span{Off: begin(m), P: p})
			}
		}
	}
	slices.SortFunc(spans, func(a, b rangeio.Span) int { return int(min(max(a.Off-b.Off, -1), 1)) })
	go func() { l.done <- f.obj.ReadRanges(ctx, spans) }()
	return l
}

// A reading is one pass over a file.
type reading struct {
	f       *File
	columns []int
	window  int
	each    func(*Batch) error
	zstd    *zstd.Decoder
	b       Batch
	raw     [][]byte // memory of pages, of each column
	out     [][]byte
}

// long reads a long row group, each column by a stream of its own.
func (r *reading) long(ctx context.Context, i int) error {
	part := min(max(aheadMemory/2/int64(len(r.columns)), leastPart), mostPart)
	var open []io.Closer
	defer func() {
		for _, in := range open {
			_ = in.Close() // it only ends requests
		}
	}()
	return r.group(ctx, i, func(c int) io.Reader {
		m := &r.f.groups[i].Columns[r.columns[c]].MetaData
		if m.TotalCompressedSize == 0 {
			return bytes.NewReader(nil)
		}
		in := r.f.obj.NewReader(ctx, objstore.ReadOptions{Off: begin(m), Len: m.TotalCompressedSize, Part: part, Ahead: 1})
		open = append(open, in)
		return in
	})
}

// group reads a row group. in returns the bytes of a column.
func (r *reading) group(ctx context.Context, i int, in func(c int) io.Reader) error {
	g := &r.f.groups[i]
	if r.raw == nil {
		r.raw, r.out = make([][]byte, len(r.columns)), make([][]byte, len(r.columns))
	}
	cursors := make([]*cursor, len(r.columns))
	start := r.b.Done
	for c, k := range r.columns {
		m := &g.Columns[k].MetaData
		cursors[c] = &cursor{f: r.f, c: &r.f.columns[k], meta: m, group: i, at: begin(m), end: begin(m) + m.TotalCompressedSize, values: m.NumValues,
			in: bufio.NewReaderSize(in(c), bufferOf(m)), raw: r.raw[c], out: unpacker{zstd: r.zstd, out: r.out[c]}}
	}
	for left := g.NumRows; left > 0; {
		n := int(min(left, int64(r.window-r.b.Rows)))
		r.b.Rows, r.b.Done = r.b.Rows+n, start
		for c, x := range cursors {
			if err := x.read(&r.b.Columns[c], n); err != nil {
				return err
			}
			r.b.Done += x.at - begin(x.meta)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if r.b.Rows == r.window {
			if err := r.pass(); err != nil {
				return err
			}
		}
		left -= int64(n)
	}
	for c, x := range cursors {
		r.raw[c], r.out[c] = x.raw, x.out.out
	}
	return nil
}

// bufferOf is the memory for headers of pages.
func bufferOf(m *format.ColumnMetaData) int {
	return int(min(max(m.TotalCompressedSize, 16), maxHeader))
}
