package pack

import (
	"context"
	"io"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A boxed array is one whose items can be read in any order, with all that is written.
type boxed struct {
	meta  b2nd.Meta
	write b2nd.WriteOptions
	read  func(ctx context.Context, dst []byte, box b2nd.Box) error
	end   func() // nothing is read any more
}

// boxed returns what is written of an array whose items can be read in any order; false: they
// cannot.
func (a Array) boxed(o ArrayWrite) (x boxed, ok bool, err error) {
	x.end = func() {}
	switch {
	case a.zarr != nil:
		x, err = a.boxedZarr(o)
	case a.b2nd != nil:
		x, err = a.boxedStored(o)
	case a.r != nil:
		m, wo := a.numpy(o)
		x = a.boxedIn(a.r, a.base, m, wo)
	default:
		return x, false, nil
	}
	return x, true, err
}

// boxedIn is what is written of items that lie in r, from base on.
func (a Array) boxedIn(r rangeio.Reader, base int64, m b2nd.Meta, o b2nd.WriteOptions) boxed {
	return boxed{m, o, func(ctx context.Context, dst []byte, box b2nd.Box) error {
		return a.header.ReadBox(ctx, r, base, dst, box)
	}, func() {}}
}

// writeBoxed writes an array whose items can be read in any order.
func (a Array) writeBoxed(ctx context.Context, w formats.Output, x boxed, p formats.Progress) error {
	defer x.end()
	return b2nd.WriteFrom(a.phase(ctx), w, x.meta, a.told(x, p), x.write)
}

// told reads boxes and tells the progress.
func (a Array) told(x boxed, p formats.Progress) b2nd.ReadBox {
	var done atomic.Int64
	return func(ctx context.Context, box b2nd.Box, dst []byte) error {
		err := x.read(ctx, dst, box)
		p.Tell(done.Add(int64(len(dst))), a.NBytes)
		return err
	}
}

// phase is the context for the reads: those of chunks are made side by side.
func (a Array) phase(ctx context.Context) context.Context {
	if a.zarr == nil && a.b2nd == nil {
		return ctx
	}
	return rangeio.OnePhase(ctx)
}

// A Divided is an Array that is written by parts, on any machines: WriteRun writes the bytes
// of some chunks, and Compose makes what lies before and behind all of them. The frame is the
// one that Array.Write writes.
type Divided struct {
	Layout b2nd.Layout
	Write  b2nd.WriteOptions // as they are written, with all layers

	a Array
	o ArrayWrite
}

// Divide makes an Array one that is written by parts. If its items cannot be read in any
// order, or if it has none, the error is formats.ErrUnsupported.
func (a Array) Divide(o ArrayWrite) (*Divided, error) {
	at := a
	if at.r == nil && at.stored != nil { // a member of an archive that is not compressed
		at.r, at.each = at.stored, nil
	}
	x, ok, err := at.boxed(o)
	if err != nil {
		return nil, err
	}
	x.end()
	if !ok {
		return nil, kit.Fail("npz", a.Name+npySuffix, -1, kit.Unsupported("compressed, so it is read from front to end: unpack the archive, and pack its .npy by parts"))
	}
	l, err := b2nd.LayoutOf(x.meta, x.write)
	if err == nil && (l.ChunkBytes == 0 || l.Chunks == 0) {
		err = kit.Fail("array", "", -1, kit.Unsupported("an array of no items has no parts"))
	}
	return &Divided{l, x.write, at, o}, err
}

// NBytes returns the bytes of the items.
func (d *Divided) NBytes() int64 { return d.a.NBytes }

// WriteRun writes the bytes of the chunks from one to before another to w, one behind the
// other. It may be called from several goroutines.
func (d *Divided) WriteRun(ctx context.Context, w io.Writer, from, to int64) (*cframe.Run, error) {
	x, _, err := d.a.boxed(d.o)
	if err != nil {
		return nil, err
	}
	defer x.end()
	return b2nd.WriteRun(d.a.phase(ctx), w, x.meta, d.a.told(x, d.o.Progress), x.write, from, to)
}

// Compose begins the frame of all runs.
func (d *Divided) Compose() (*b2nd.Composer, error) { return b2nd.NewComposer(d.Layout.Meta, d.Write) }

// numpy is what is written of an array of NumPy, or of raw bytes.
func (a Array) numpy(o ArrayWrite) (b2nd.Meta, b2nd.WriteOptions) {
	m := b2nd.Meta{Shape: a.Shape, ChunkShape: o.ChunkShape, BlockShape: o.BlockShape, DType: a.DType.String()}
	if a.header.Fortran && m.ChunkShape == nil && m.BlockShape == nil {
		rev := slices.Clone(a.Shape)
		slices.Reverse(rev)
		m.ChunkShape, m.BlockShape = b2nd.DefaultShapes(rev, a.DType.ItemSize())
		slices.Reverse(m.ChunkShape)
		slices.Reverse(m.BlockShape)
	}
	if a.header.Fortran {
		o.Write.VLMetalayers = append(slices.Clone(o.Write.VLMetalayers), cframe.Metalayer{Name: OrderLayer, Data: []byte{0xa1, 'F'}})
	}
	if !a.source.Equal(a.DType) {
		o.Write.VLMetalayers = append(slices.Clone(o.Write.VLMetalayers), typeLayer(a.source))
	}
	return m, o.Write
}

// ItemsAt says where the items of an Array lie in its object.
type ItemsAt struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Fortran bool    `json:"fortran,omitempty"`
	Offset  int64   `json:"offset"`
}

// Items returns where the items lie; nil: in Zarr or b2nd.
func (d *Divided) Items() *ItemsAt {
	if d.a.r == nil {
		return nil
	}
	return &ItemsAt{d.a.source.String(), d.a.Shape, d.a.header.Fortran, d.a.base}
}

// ArrayAt returns the Array whose items lie so in an object.
func ArrayAt(obj *objstore.Object, i ItemsAt) (Array, error) {
	d, err := dtype.Parse(i.DType)
	if err != nil {
		return Array{}, err
	}
	a, err := newArray("", npy.Header{DType: d, Fortran: i.Fortran, Shape: i.Shape})
	if err != nil {
		return Array{}, err
	}
	if i.Offset < 0 || obj.Size()-i.Offset < a.NBytes {
		return Array{}, kit.Fail("items", obj.Info().Key, i.Offset, kit.Corrupt("%d bytes of them in an object of %d", a.NBytes, obj.Size()))
	}
	a.r, a.base = obj, i.Offset
	return a, nil
}
