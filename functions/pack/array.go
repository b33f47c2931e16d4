package pack

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

const (
	npySuffix = ".npy" // also the suffix of the members of a .npz
	npzSuffix = ".npz"
)

// An Array is an n-d array of an upload: a .npy, a member of a .npz, or raw bytes
// with a note that describes them.
type Array struct {
	Name   string      // name of the member, without .npy; "" if the upload is one array
	DType  dtype.DType // type of the written items: gaps between members become members (see TypeLayer)
	Shape  []int64
	NBytes int64 // bytes of its items

	header npy.Header
	source dtype.DType // the type as the source spells it
	// If the items can be read in any order: they begin at byte base of r.
	r    rangeio.Reader
	base int64
	// Otherwise each opens them from front to end, and checks them against the
	// archive's CRC.
	each func(ctx context.Context, f func(items io.Reader) error) error
	// reader of the archive, if the member is not compressed; base is the offset of its
	// items
	stored rangeio.Reader
	zarr   *zarr.Array            // if the source is Zarr
	b2nd   *storedArray           // if the source is b2nd already
	coords []arraymeta.Coord      // of Zarr
	beside map[string]*zarr.Array // of Zarr: arrays of coordinates, by dimensions
}

// ArrayOptions tune Arrays. The zero value is right for .npy and .npz.
type ArrayOptions struct {
	Limits Limits
	// Note describes raw bytes; nil: the content decides.
	Note *npy.Note
}

// ArrayWrite has the options of Array.Write. The zero value is right for most.
type ArrayWrite struct {
	Write b2nd.WriteOptions
	// ChunkShape and BlockShape are the shapes of the b2nd. Nil means
	// b2nd.DefaultShapes; for a source in Fortran order, they are computed with
	// the axes reversed, so that a chunk is one piece of the source.
	ChunkShape, BlockShape []int
	// Progress is told the bytes of items. Several goroutines, the ones that read, call
	// it at the same time.
	Progress formats.Progress
}

// Arrays finds the arrays of an object by its content, or by o.Note alone. It costs
// the request that opened the object, for a .npz also those of its directory and one of
// 64 KiB for each member that the requests before did not reach. If the object holds no
// arrays, the error is formats.ErrUnsupported; if it is empty or too short for them,
// formats.ErrCorrupt. Arrays read from obj when they are written.
func Arrays(ctx context.Context, obj *objstore.Object, o ArrayOptions) ([]Array, error) {
	f, err := look(ctx, obj)
	if err != nil {
		return nil, err
	}
	return f.arrays(ctx, o)
}

func (f *found) arrays(ctx context.Context, o ArrayOptions) ([]Array, error) {
	if o.Note != nil {
		a, err := rawArray(f.obj, *o.Note)
		return []Array{a}, err
	}
	if err := f.empty(); err != nil {
		return nil, err
	}
	switch f.kind {
	case kindNPY:
		a, err := npyArray(ctx, f.obj)
		return []Array{a}, err
	case kindZip:
		return members(ctx, f.obj, o)
	case kindNone, kindTar, kindGzip, kindZstd, kindJPEG:
	}
	return nil, kit.Fail("upload", f.obj.Info().Key, -1, kit.Unsupported("neither .npy nor .npz, and no note says what the bytes are"))
}

func rawArray(obj *objstore.Object, n npy.Note) (Array, error) {
	a, err := newArray("", n.Header())
	if err != nil {
		return Array{}, err
	}
	if have := obj.Size() - n.Offset; have != a.NBytes {
		return Array{}, kit.Fail("raw", obj.Info().Key, n.Offset, kit.Corrupt("%d bytes from here on, and the note says %d", max(have, 0), a.NBytes))
	}
	a.r, a.base = obj, n.Offset
	return a, nil
}

func npyArray(ctx context.Context, obj *objstore.Object) (Array, error) {
	// The head that Open has kept holds the header, unless its type is very long.
	h, n, err := npy.ParseHeader(bufio.NewReader(io.NewSectionReader(obj.WithContext(ctx), 0, obj.Size())))
	if err != nil {
		return Array{}, err
	}
	a, err := newArray("", h)
	if err != nil {
		return Array{}, err
	}
	// As in NumPy, bytes behind the array are ignored.
	if have := obj.Size() - n; have < a.NBytes {
		return Array{}, kit.Fail("npy", obj.Info().Key, n, kit.Corrupt("truncated: %d bytes of items, the header says %d", have, a.NBytes))
	}
	a.r, a.base = obj, n
	return a, nil
}

func newArray(name string, h npy.Header) (Array, error) {
	n, err := h.NBytes()
	if err != nil {
		return Array{}, err
	}
	source := h.DType
	h.DType = source.Packed()
	return Array{Name: name, DType: h.DType, Shape: h.Shape, NBytes: n, header: h, source: source}, nil
}

// npzRatio is above the greatest ratio of deflate, 1032 to one: an array of zeros is
// not an attack.
const npzRatio = 1100

// members reads the headers of a .npz. Names are checked as in any archive. If a member
// is not an array, the archive is not a .npz.
func members(ctx context.Context, obj *objstore.Object, o ArrayOptions) ([]Array, error) {
	l := o.Limits.WithDefaults()
	l.Ratio = max(l.Ratio, npzRatio)
	z, err := openZip(ctx, obj, About{Format: "npz", Name: stemOf(obj.Info().Key), Size: obj.Size()}, l)
	if err != nil {
		return nil, err
	}
	var out []Array
	seen := map[string]bool{}
	at := -1
	err = z.some(ctx, 0, len(z.members), zipPeek, func(e File, r io.Reader) error {
		at++
		if isJunk(e.Name) {
			return errEnough
		}
		name, ok := strings.CutSuffix(e.Name, npySuffix)
		switch part := fmt.Sprintf("%q", e.Name); {
		case !ok || name == "" || strings.HasSuffix(name, "/"):
			return kit.Fail("npz", part, e.Off, kit.Unsupported("not a .npy"))
		case seen[name]:
			return kit.Fail("npz", part, e.Off, kit.Corrupt("a second member of this name"))
		}
		seen[name] = true
		a, err := z.array(obj, at, e, name, r)
		if err != nil {
			return err
		}
		out = append(out, a)
		return errEnough
	})
	if err == nil && len(out) == 0 {
		err = kit.Fail("npz", obj.Info().Key, -1, kit.Unsupported("no arrays"))
	}
	return out, err
}

// array describes member i. r begins with its header.
func (z *zipped) array(obj *objstore.Object, i int, e File, name string, r io.Reader) (Array, error) {
	bad := func(err error) (Array, error) { return Array{}, kit.Fail("npz", fmt.Sprintf("%q", e.Name), e.Off, err) }
	h, n, err := npy.ParseHeader(r)
	if err != nil {
		return bad(err)
	}
	a, err := newArray(name, h)
	if err != nil {
		return bad(err)
	}
	if e.Size-n < a.NBytes {
		return bad(kit.Corrupt("truncated: %d bytes of items, the header says %d", e.Size-n, a.NBytes))
	}
	a.each = func(ctx context.Context, f func(io.Reader) error) error {
		return z.some(ctx, i, i+1, zipPart, func(_ File, r io.Reader) error {
			if _, err := io.CopyN(io.Discard, r, n); err != nil {
				return err
			}
			return f(io.LimitReader(r, a.NBytes))
		})
	}
	if z.members[i].method == zipStored {
		a.stored, a.base = obj, e.Off+n
	}
	return a, nil
}

// OrderLayer is the vlmetalayer of an array whose source was in Fortran order. It holds
// the msgpack text "F", so that unpacking can give the same bytes back.
const OrderLayer = "farread-order"

// TypeLayer is the vlmetalayer of an array whose source has gaps between the members
// of its items. In the array the gaps are members of their own, as python-blosc2 has
// them. The layer holds the type with the gaps, as msgpack text.
const TypeLayer = "farread-dtype"

// text32 begins a msgpack text whose length takes four bytes.
const text32 = 0xdb

// typeLayer is the metalayer that tells the type.
func typeLayer(d dtype.DType) cframe.Metalayer {
	return cframe.Metalayer{Name: TypeLayer, Data: textLayer([]byte(d.String()))}
}

// SourceType returns the type of an array's items in the source, with gaps between
// members, which a layer of its frame stores. It returns d, the type in the array, if
// the layers store no such type, or one that does not fit d.
func SourceType(layers []cframe.Metalayer, d dtype.DType) dtype.DType {
	for _, l := range layers {
		text, ok := layerText(l.Data)
		if l.Name != TypeLayer || !ok {
			continue
		}
		if source, err := dtype.Parse(string(text)); err == nil && source.Packed().Equal(d) {
			return source
		}
	}
	return d
}

// Write writes the array as a b2nd frame into w. The caller then commits w.
// o.Write.MaxMemory bounds the memory, for any size and order of the items. A
// compressed member in Fortran order must fit into half of it; otherwise the error is
// formats.ErrTooLarge. Write reads each byte of the source once, in requests of a
// chunk, or of 9 MiB from a .npz. It checks members of a .npz against their CRC, except
// stored members in Fortran order that are larger than half of the memory. Write may be
// called more than once.
func (a Array) Write(ctx context.Context, w formats.Output, o ArrayWrite) error {
	x, ok, err := a.boxed(o)
	if err != nil {
		return err
	}
	if ok {
		return a.writeBoxed(ctx, w, x, o.Progress)
	}
	m, wo := a.numpy(o)
	if !a.header.Fortran {
		return a.writeStream(ctx, w, m, wo, o.Progress)
	}
	return a.writeHeld(ctx, w, m, wo, o.Progress)
}

// writeStream takes the items in the order of the stream.
func (a Array) writeStream(ctx context.Context, w formats.Output, m b2nd.Meta, o b2nd.WriteOptions, p formats.Progress) error {
	b, err := b2nd.NewWriter(w, m, o)
	if err != nil {
		return err
	}
	defer b.Abort()
	var done int64
	err = a.each(ctx, func(items io.Reader) error {
		_, err := b.ReadFrom(&tap{r: items, on: func(n int) {
			done += int64(n)
			p.Tell(done, a.NBytes)
		}})
		return err
	})
	if err != nil {
		return err
	}
	return b.Close()
}

// heldShare is the divisor of the memory that a member in Fortran order may take while
// it is transposed: the writer needs the rest.
const heldShare = 2

// writeHeld transposes a member in Fortran order in memory. Since it is compressed, it
// cannot be read in another order, and the writer cannot write in its order.
func (a Array) writeHeld(ctx context.Context, w formats.Output, m b2nd.Meta, o b2nd.WriteOptions, progress formats.Progress) error {
	most := o.MaxMemory
	if most == 0 {
		most = b2nd.DefaultMaxMemory
	}
	if a.NBytes > most/heldShare && a.stored != nil {
		return a.writeBoxed(ctx, w, a.boxedIn(a.stored, a.base, m, o), progress)
	}
	if a.NBytes > most/heldShare {
		return kit.Fail("npz", fmt.Sprintf("%q", a.Name+npySuffix), -1,
			kit.TooLarge("%d bytes in Fortran order, over %d: unpack the archive and pack its .npy", a.NBytes, most/heldShare))
	}
	p := make([]byte, a.NBytes)
	if err := a.each(ctx, func(items io.Reader) error {
		_, err := io.ReadFull(items, p)
		return err
	}); err != nil {
		return err
	}
	o.MaxMemory = most - a.NBytes
	return a.writeBoxed(ctx, w, a.boxedIn(rangeio.FromReaderAt(bytes.NewReader(p), a.NBytes), 0, m, o), progress)
}
