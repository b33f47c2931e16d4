package farread

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/rangeio"
)

// frameData is the driver of frames, and of arrays in frames.
type frameData struct {
	single

	f     *Frame
	a     *Array // array in the frame; nil: none
	off   int64  // offset of the frame in its object
	cache *formats.Cache
	piece int64       // decoded bytes that are read at a time
	items *frameItems // items of the frame; nil: its chunks and blocks are no items

	naming sync.Once
	name   string // in caches
}

// Frames with different capabilities. A contiguous frame is one object.
type (
	refusedFrame struct {
		*data
		refusal
		ranges
	}
	refusedSparse struct {
		*data
		refusal
	}
	sparseChunks struct {
		*data
		frameChunks
	}
	oneFrame struct {
		*data
		frameChunks
		ranges
	}
	sparseArray struct {
		*data
		frameChunks
		frameSlices
	}
	oneArray struct {
		*data
		frameChunks
		frameSlices
		ranges
	}
	sparseItems struct {
		*data
		frameChunks
		*frameItems
	}
	oneItems struct {
		*data
		frameChunks
		*frameItems
		ranges
	}
)

// frame returns the Dataset of an open frame.
func (p opening) frame(f *Frame) (Dataset, error) {
	at := p.Place
	x := &frameData{single: single{f.Object}, f: f, off: at.Offset, cache: p.o.Cache, piece: p.c.piece()}
	core := &data{driver: x, name: all.CFrame, place: at}
	if f.Info().Sparse {
		core.name = all.SFrame
	}
	bytes, chunks, one := ranges{f.Object}, frameChunks{x}, !f.Info().Sparse
	in := f.Info()
	switch {
	case f.Refused() != nil && !one:
		return enabled(&refusedSparse{core, refusal{f}}, core), nil
	case f.Refused() != nil:
		return enabled(&refusedFrame{core, refusal{f}, bytes}, core), nil //nolint:nilerr // its headers can be read, and say why the rest cannot
	case b2nd.IsArray(f.Frame):
		if err := x.array(); err != nil {
			return nil, err
		}
		if core.name = all.B2ND; one {
			return enabled(&oneArray{core, chunks, frameSlices{x}, bytes}, core), nil
		}
		return enabled(&sparseArray{core, chunks, frameSlices{x}}, core), nil
	case in.VLBlocks || in.ChunkSize <= 0 && f.Chunks() > 0:
		if x.items = newItems(x); one {
			return enabled(&oneItems{core, chunks, x.items, bytes}, core), nil
		}
		return enabled(&sparseItems{core, chunks, x.items}, core), nil
	case one:
		return enabled(&oneFrame{core, chunks, bytes}, core), nil
	}
	return enabled(&sparseChunks{core, chunks}, core), nil
}

// array opens the array in the frame.
func (x *frameData) array() (err error) {
	if x.a, err = ArrayOf(x.f); err != nil {
		return err
	}
	x.f = x.a.Source
	if x.cache != nil && !x.f.Info().Sparse { // chunks of a sparse frame may be replaced while it is open
		x.a = &Array{x.a.WithCacheIn(x.cache, x.cacheName()), x.f}
	}
	return nil
}

// cacheName returns the name of the frame's bytes in caches, or "" if no name
// identifies them. The chunks of a sparse frame can be replaced one by one, so the
// version of its index does not identify them.
func (x *frameData) cacheName() string {
	x.naming.Do(func() {
		if id := versionOf(x.ob); id != "" && !x.f.Info().Sparse {
			x.name = hashed(id, cursor(x.off))
		}
	})
	return x.name
}

// Source identifies nothing of a sparse frame: the version of its index does not name
// its chunks.
func (x *frameData) Source(context.Context) (Source, error) {
	s := sourceOf(x.ob)
	if in := x.f.Info(); in.Sparse {
		s.Size += in.CBytes
		s.ID = ""
	}
	return s, nil
}

func (x *frameData) describe(ctx context.Context, _ DescribeOptions, out *Description) error {
	in := x.f.Info()
	out.Entries, out.NBytes, out.CBytes = int64(x.f.Chunks()), in.NBytes, in.CBytes
	out.TypeSize, out.ChunkSize, out.BlockSize = in.TypeSize, max(int64(in.ChunkSize), 0), max(int64(in.BlockSize), 0)
	out.Codec, out.Level, out.Filters = in.Codec.String(), in.Level, filterNames(in.Filters)
	if x.a != nil {
		m := x.a.Meta()
		out.Shape, out.DType, out.Order = m.Shape, x.a.DType().String(), "C"
		out.ChunkShape, out.BlockShape = m.ChunkShape, m.BlockShape
	}
	if err := x.f.Refused(); err != nil {
		out.Refused = err.Error()
	}
	vl, err := x.f.VLMetalayers(ctx)
	if err != nil {
		return err
	}
	detail := FrameDetail{Info: in, Metalayers: x.f.Metalayers(), VLMetalayers: vl}
	if detail.Index, err = x.f.UsedIndex(ctx); err != nil {
		return err
	}
	if x.a != nil {
		detail.DType = x.a.Meta().DType
		if detail.Statistics, err = x.a.Ranges(ctx); err != nil {
			return err
		}
	}
	out.Detail = detail
	if x.a != nil {
		m, _ := b2nd.Meaning(slices.Concat(vl, detail.Metalayers), out.Shape, x.a.Limits())
		out.Dims, out.Attrs, out.Fill = m.Dims, m.Attrs, m.Fill
		out.Coords = coordinates(m, out.Shape)
	}
	for _, l := range slices.Concat(detail.Metalayers, vl) {
		text, err := l.JSON(cframe.JSONLimits{})
		if err != nil {
			out.Opaque = append(out.Opaque, l.Name)
			continue
		}
		out.meta(l.Name, text)
	}
	return nil
}

func filterNames(filters [6]blosc.Filter) (names []string) {
	for _, f := range filters {
		if f.ID != blosc.NoFilter {
			names = append(names, f.ID.String())
		}
	}
	return names
}

func (x *frameData) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	n := int64(x.f.Chunks())
	return func(yield func(Entry, error) bool) {
		give := func(e Entry) error {
			if e.Cursor = cursor(e.N); !yield(e, nil) {
				return errStop
			}
			return nil
		}
		from, err := o.from(n)
		to := o.to(from, n)
		switch {
		case err != nil:
		case !o.Scan || x.f.Refused() != nil:
			err = x.f.EachChunk(ctx, int(from), int(n), func(i int, c cframe.ChunkInfo) error { return give(x.entry(i, c)) })
		default:
			err = x.f.EachHeader(ctx, int(from), int(to), func(i int, c cframe.ChunkInfo, h blosc.Header) error {
				e := x.entry(i, c)
				if e.Size = int64(h.NBytes); e.Off >= 0 {
					e.Stored, e.Special = int64(h.CBytes), special(h.Special)
				}
				return give(e)
			})
		}
		if err != nil && err != errStop { //nolint:errorlint // nobody else has it
			yield(Entry{}, err)
		}
	}
}

// entry returns what the offsets say of chunk i.
func (x *frameData) entry(i int, c cframe.ChunkInfo) Entry {
	e := Entry{N: int64(i), Off: -1, Size: int64(c.NBytes), Stored: c.MaxLen, Special: special(c.Special)}
	switch {
	case c.Special != blosc.None:
	case x.f.Info().Sparse:
		e.Object, e.Off = cframe.ChunkFile(c.Off), 0
	default:
		e.Off = c.Off + x.off
	}
	return e
}

// special returns the name of a kind of special chunks, or "" for a usual chunk.
func special(s blosc.Special) string {
	if s == blosc.None {
		return ""
	}
	return s.String()
}

func (x *frameData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	if x.a != nil {
		r, err := x.a.Verify(ctx, progress)
		return Report{Entries: int64(r.Chunks), NBytes: r.NBytes, CBytes: r.CBytes, Detail: r}, err
	}
	r, err := x.f.Verify(ctx, progress)
	return Report{Entries: int64(r.Chunks), NBytes: r.NBytes, CBytes: r.CBytes, Detail: r}, err
}

func (x *frameData) HeldBytes() int64 {
	n := int64(ownBytes)
	if x.items != nil {
		n += x.items.heldBytes()
	}
	if x.a != nil {
		return n + x.a.HeldBytes()
	}
	return n + x.f.HeldBytes()
}

func (x *frameData) Handle() any {
	if x.a != nil {
		return x.a
	}
	return x.f
}

// plan sets the keys and offsets in the bucket for the requests of a frame.
func (x *frameData) plan(size int64, requests []rangeio.Planned, err error) (Plan, error) {
	if err != nil {
		return Plan{}, err
	}
	for i := range requests {
		if r := &requests[i]; r.Object != "" {
			r.Object = x.f.Folder + r.Object
		} else {
			r.Object, r.Off = x.ob.Info().Key, r.Off+x.off
		}
	}
	return Plan{Size: size, Requests: requests}, nil
}

// refusal is the Refuser part of a refused frame.
type refusal struct{ f *Frame }

func (r refusal) Refused() error { return r.f.Refused() }

// frameSlices is the Slicer part of an array.
type frameSlices struct{ x *frameData }

func (s frameSlices) Shape() []int64 { return s.x.a.Shape() }

func (s frameSlices) DType() dtype.DType { return s.x.a.DType() }

// Limits returns the limits that Slice obeys.
func (s frameSlices) Limits() formats.Limits { return s.x.a.Limits() }

func (s frameSlices) SizeOf(box b2nd.Box) (int64, error) { return s.x.a.SizeOf(box) }

func (s frameSlices) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	return s.x.a.ReadSlice(ctx, dst, box)
}

func (s frameSlices) ReadField(ctx context.Context, dst []byte, box b2nd.Box, f dtype.Field) error {
	return s.x.a.ReadField(ctx, dst, box, f)
}

func (s frameSlices) Slabs(box b2nd.Box, most int64) iter.Seq[b2nd.Box] {
	return s.x.a.Slabs(box, most)
}

func (s frameSlices) local() bool { return s.x.f.Local() }

func (s frameSlices) EachSlab(ctx context.Context, box b2nd.Box, most int64, f *dtype.Field, fn func(slab b2nd.Box, p []byte) error) error {
	return eachSlab(ctx, s, box, most, f, fn)
}

func (s frameSlices) ExplainSlabs(ctx context.Context, box b2nd.Box, most int64) (Plan, error) {
	return explainSlabs(ctx, s, box, most)
}

func (s frameSlices) Cells() (chunk, block []int) {
	m := s.x.a.Meta()
	return slices.Clone(m.ChunkShape), slices.Clone(m.BlockShape)
}

func (s frameSlices) ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error) {
	n, err := s.SizeOf(box)
	if err != nil {
		return Plan{}, err
	}
	requests, err := s.x.a.ExplainSlice(ctx, box)
	return s.x.plan(n, requests, err)
}
