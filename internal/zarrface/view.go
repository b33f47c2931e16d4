package zarrface

import (
	"context"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zarr"
)

// A View is an array as Zarr clients see it. It holds the document, and some kilobytes
// besides. Its methods are safe for concurrent use. It uses the array's frame as long as
// it lives, but makes no request.
type View struct {
	geometry
	doc     []byte
	frame   *cframe.Frame
	codec   Codec
	dtype   dtype.DType // of the items as served
	cast    *cast       // nil: items are served as they are stored
	fillNaN bool
	fills   map[blosc.Special]bool // if a fill value is stored: which marks of chunks are it
	meta    arraymeta.Meta
	coords  []coordinate
	runs    runs
}

// New returns a view of an array. attributes are the vlmetalayers of its frame, as
// cframe.Frame.VLMetalayers returns them. Dimensions, attributes, fill value and coordinates are those of
// the layer of package arraymeta, if there is one; layers that are no JSON are left out, and named in
// the attribute "farread". An error matches ErrOption, or formats.ErrUnsupported if no
// client reads such an array or its type cannot be cast. New looks at the offsets of some
// chunks: it makes no request, unless the frame keeps them in pages that are not in memory.
func New(ctx context.Context, a *b2nd.Array, attributes []cframe.Metalayer, o Options) (*View, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	f, err := FactsOf(ctx, a, attributes)
	if err != nil {
		return nil, err
	}
	v, err := newView(f, o)
	if err != nil {
		return nil, err
	}
	v.frame = a.Frame()
	return v, nil
}

// newView returns a view that has no frame yet.
func newView(f Facts, o Options) (*View, error) {
	v := &View{geometry: newGeometry(f.Meta, f.DType.ItemSize(), o.Blocks), codec: o.Codec}
	var err error
	if v.dtype, v.cast, err = newCast(f.DType, o.Cast); err != nil {
		return nil, err
	}
	t, err := zarr.TypeOf(v.dtype)
	if err != nil {
		return nil, err
	}
	// The bytes of such chunks are those of a little-endian NaN, whatever the type is.
	float := v.dtype.Kind() == dtype.Float && (v.cast == nil && !v.dtype.BigEndian() && v.item >= 4 ||
		v.cast != nil && v.cast.from.Kind() == dtype.Float && !v.cast.from.BigEndian())
	if v.fillNaN = float && f.NaN; v.fillNaN {
		t.Fill = "NaN"
	}
	// By their names, as an index has them, so that equal arrays have equal documents.
	layers := slices.SortedFunc(slices.Values(f.Layers), func(a, b cframe.Metalayer) int { return strings.Compare(a.Name, b.Name) })
	v.meta, layers = b2nd.Meaning(layers, f.Meta.Shape, formats.Limits{})
	v.fill(&t)
	if err := v.coordinates(); err != nil {
		return nil, err
	}
	v.doc, err = document(v, f.Meta, t, f.DType, layers, o)
	return v, err
}

// maxLook is up to how many chunks New looks at all. The document must not depend on which
// pages of offsets a process happens to have, so of longer frames the fill value is 0.
const maxLook = 1 << 10

// look looks at the offsets: whether there are chunks of a codec or filter that is not
// read, and whether the fill value may be NaN: if there are chunks of NaN and none of zeros.
// Else it is 0. Other chunks are sent, whatever it is.
func look(ctx context.Context, f *cframe.Frame) (nan bool, err error) {
	in, special := f.Info(), map[blosc.Special]bool{}
	stored, n := false, f.Chunks()
	for i := range min(n, maxLook) {
		c, err := f.Chunk(ctx, i)
		if err != nil {
			return false, err
		}
		s := c.Special
		if special[s] = true; s == blosc.None && !stored {
			stored = true
			h := blosc.Header{NBytes: 1, Codec: in.Codec, Filters: in.Filters}
			if err := h.Supported(); err != nil {
				return false, err
			}
		}
	}
	return n <= maxLook && special[blosc.NaN] && !special[blosc.Zeros] && !special[blosc.Uninit], nil
}

// absent reports whether the frame marks a chunk as the fill value, as far as that is known
// without a request. A chunk of which it is not is sent.
func (v *View) absent(number int) bool {
	special := v.frame.SpecialIfKnown(number)
	if v.fills != nil {
		return v.fills[special]
	}
	switch special {
	case blosc.NaN:
		return v.fillNaN
	case blosc.Zeros, blosc.Uninit:
		return !v.fillNaN
	default:
		return false
	}
}

// Doc returns the document zarr.json of the array. The caller must not change it.
func (v *View) Doc() []byte { return v.doc }

// ChunkShape returns the shape of the chunks of the Zarr array, in a new slice.
func (v *View) ChunkShape() []int64 { return slices.Clone(v.cell) }

// HeldBytes returns about how many bytes of memory the View keeps.
func (v *View) HeldBytes() int64 {
	n := int64(len(v.doc)) + v.runs.held() + 2<<10
	for _, c := range v.coords {
		n += int64(len(c.doc)+len(c.c.Values)) + 512
	}
	return n
}
