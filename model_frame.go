package farread

import (
	"context"
	"iter"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/rangeio"
)

// frameData drives frames, and arrays in them.
type frameData struct {
	single

	f     *Frame
	a     *Array // nil: no array
	off   int64  // of the frame in its object
	cache *formats.Cache
}

// Frames by what can be done with them: a contiguous one is an object.
type (
	refusedFrame struct {
		*data
		ranges
	}
	refusedSparse struct {
		*data
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

// newFrame takes an open frame for what it is.
func newFrame(at Place, f *Frame, cache *formats.Cache) (Dataset, error) {
	x := &frameData{single: single{f.Object}, f: f, off: at.Offset, cache: cache}
	core := &data{driver: x, name: all.CFrame, place: at}
	if f.Info().Sparse {
		core.name = all.SFrame
	}
	bytes, chunks, one := ranges{f.Object}, frameChunks{x}, !f.Info().Sparse
	in := f.Info()
	switch {
	case f.Refused() != nil && !one:
		return enabled(&refusedSparse{core}, core), nil
	case f.Refused() != nil:
		return enabled(&refusedFrame{core, bytes}, core), nil //nolint:nilerr // its headers can be read, and say why the rest cannot
	case b2nd.IsArray(f.Frame):
		if err := x.array(); err != nil {
			return nil, err
		}
		if core.name = all.B2ND; one {
			return enabled(&oneArray{core, chunks, frameSlices{x}, bytes}, core), nil
		}
		return enabled(&sparseArray{core, chunks, frameSlices{x}}, core), nil
	case in.VLBlocks || in.ChunkSize <= 0 && f.Chunks() > 0:
		if one {
			return enabled(&oneItems{core, chunks, newItems(x), bytes}, core), nil
		}
		return enabled(&sparseItems{core, chunks, newItems(x)}, core), nil
	case one:
		return enabled(&oneFrame{core, chunks, bytes}, core), nil
	}
	return enabled(&sparseChunks{core, chunks}, core), nil
}

// array takes the frame for the array that it is.
func (x *frameData) array() (err error) {
	if x.a, err = ArrayOf(x.f); err != nil {
		return err
	}
	x.f = x.a.Source
	if x.cache != nil {
		x.a = &Array{x.a.WithCacheIn(x.cache, x.cacheName()), x.f}
	}
	return nil
}

// cacheName is that of the bytes in caches; "": nothing names them. Chunks of a sparse
// frame can be replaced one by one, so its index does not.
func (x *frameData) cacheName() string {
	id := versionOf(x.ob)
	if id == "" || x.f.Info().Sparse {
		return ""
	}
	return hashed(id, cursor(x.off))
}

func (x *frameData) Source(context.Context) (Source, error) {
	s := sourceOf(x.ob)
	if in := x.f.Info(); in.Sparse {
		s.Size += in.CBytes
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
	if x.a != nil {
		detail.DType = x.a.Meta().DType
	}
	out.Detail = detail
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

func (x *frameData) Entries(_ context.Context, after string) iter.Seq2[Entry, error] {
	return numbered(after, int64(x.f.Chunks()), func(i int64) Entry {
		c := x.f.Chunk(int(i))
		e := Entry{N: i, Size: int64(c.NBytes), Stored: c.MaxLen}
		if c.Special != blosc.None {
			e.Special = c.Special.String()
		}
		return e
	})
}

func (x *frameData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := x.f.Verify(ctx, progress)
	return Report{Entries: int64(r.Chunks), NBytes: r.NBytes, CBytes: r.CBytes, Detail: r}, err
}

func (x *frameData) Handle() any {
	if x.a != nil {
		return x.a
	}
	return x.f
}

// plan places the requests of a frame in its bucket.
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

// frameChunks is the Chunker part of a frame.
type frameChunks struct{ x *frameData }

func (c frameChunks) Chunks() int64 { return int64(c.x.f.Chunks()) }

func (c frameChunks) AppendStored(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	return cached(c.x.cache, c.x.cacheName(), dst, i, func() ([]byte, error) { return c.x.f.AppendStored(ctx, dst, number(i)) })
}

// cached looks for a stored chunk in a cache, or else reads it and keeps it there.
func cached(all *formats.Cache, name string, dst []byte, i int64, read func() ([]byte, error)) ([]byte, error) {
	if all == nil || name == "" {
		return read()
	}
	key := formats.CacheKey{File: name, Kind: "stored", Chunk: i}
	if p := all.Get(key); p != nil {
		return append(dst, p...), nil
	}
	out, err := read()
	if err == nil {
		all.Put(key, out[len(dst):])
	}
	return out, err
}

func (c frameChunks) ExplainStored(ctx context.Context, i int64) (Plan, error) {
	requests, err := c.x.f.ExplainStored(ctx, number(i))
	if err != nil {
		return Plan{}, err
	}
	size := c.x.f.Chunk(int(i)).MaxLen
	if len(requests) == 0 && size == 0 {
		size = blosc.HeaderLen2 // a special chunk
	}
	return c.x.plan(size, requests, nil)
}

// number is i as an int, or one that no chunk has.
func number(i int64) int {
	if int64(int(i)) != i {
		return -1
	}
	return int(i)
}

// frameSlices is the Slicer part of an array.
type frameSlices struct{ x *frameData }

func (s frameSlices) Shape() []int64 { return s.x.a.Shape() }

func (s frameSlices) DType() dtype.DType { return s.x.a.DType() }

func (s frameSlices) SizeOf(box b2nd.Box) (int64, error) { return s.x.a.SizeOf(box) }

func (s frameSlices) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	return s.x.a.ReadSlice(ctx, dst, box)
}

func (s frameSlices) ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error) {
	n, err := s.SizeOf(box)
	if err != nil {
		return Plan{}, err
	}
	requests, err := s.x.a.ExplainSlice(ctx, box)
	return s.x.plan(n, requests, err)
}
