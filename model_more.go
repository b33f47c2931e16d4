package farread

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

// Datasets that are one object.
type (
	npyFile struct {
		*data
		npySlices
		ranges
	}
	blpFile struct {
		*data
		blpItems
		ranges
	}
	zoomFile struct {
		*data
		zoomView
		ranges
	}
	oneChunk struct {
		*data
		bareChunk
		ranges
	}
)

// --- .npy

type npyData struct {
	single
	a *Npy
}

func newNpy(at Place, a *Npy) Dataset {
	x := &npyData{single{a.Object}, a}
	core := &data{driver: x, name: npy.Format, place: at}
	return enabled(&npyFile{core, npySlices{a}, ranges{a.Object}}, core)
}

func (x *npyData) describe(_ context.Context, _ DescribeOptions, out *Description) error {
	out.Detail = x.a.h
	out.Entries, out.Shape, out.DType, out.Order = 0, x.a.Shape(), x.a.h.DType.String(), "C"
	if x.a.h.Fortran {
		out.Order = "F"
	}
	var err error
	out.NBytes, err = x.a.h.NBytes()
	out.CBytes, out.TypeSize = out.NBytes, x.a.h.DType.ItemSize()
	return err
}

// Entries yields nothing: an array that is stored as it is has no parts.
func (x *npyData) Entries(_ context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	return numbered(o.After, 0, nil)
}

func (x *npyData) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	n, err := x.a.h.NBytes()
	if err != nil {
		return Report{}, err
	}
	const window = 8 << 20
	buf := make([]byte, min(n, window))
	for off := int64(0); off < n; off += window {
		p := buf[:min(window, n-off)]
		if err := x.ob.ReadRanges(ctx, []rangeio.Span{{Off: x.a.base + off, P: p}}); err != nil {
			return Report{NBytes: off, CBytes: off}, err
		}
		progress.Tell(off+int64(len(p)), n)
	}
	return Report{NBytes: n, CBytes: n}, ctx.Err()
}

func (x *npyData) HeldBytes() int64 { return ownBytes + x.ob.HeldBytes() }

func (x *npyData) Handle() any { return x.a }

// npySlices is the Slicer part of a .npy.
type npySlices struct{ a *Npy }

func (s npySlices) Shape() []int64 { return s.a.Shape() }

func (s npySlices) DType() dtype.DType { return s.a.h.DType }

func (s npySlices) SizeOf(box b2nd.Box) (int64, error) { return s.a.SizeOf(box) }

func (s npySlices) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	return s.a.ReadSlice(ctx, dst, box)
}

func (s npySlices) ReadField(ctx context.Context, dst []byte, box b2nd.Box, f dtype.Field) error {
	return s.a.ReadField(ctx, dst, box, f)
}

func (s npySlices) Slabs(box b2nd.Box, most int64) iter.Seq[b2nd.Box] {
	return box.Slabs(s.a.h.DType.ItemSize(), most)
}

func (s npySlices) local() bool { return rangeio.Local(s.a.Object) }

func (s npySlices) EachSlab(ctx context.Context, box b2nd.Box, most int64, f *dtype.Field, fn func(slab b2nd.Box, p []byte) error) error {
	return eachSlab(ctx, s, box, most, f, fn)
}

func (s npySlices) ExplainSlabs(ctx context.Context, box b2nd.Box, most int64) (Plan, error) {
	return explainSlabs(ctx, s, box, most)
}

func (npySlices) Cells() (chunk, block []int) { return nil, nil }

func (s npySlices) ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error) {
	n, err := s.SizeOf(box)
	if err != nil {
		return Plan{}, err
	}
	requests, err := s.a.ExplainSlice(ctx, box)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Size: n, Requests: located(requests, s.a.Object.Info().Key, 0)}, nil
}

// --- Bloscpack

type blpData struct {
	single
	f   *Bloscpack
	off int64 // offset of the file in its object
}

func newBloscpack(at Place, f *Bloscpack) Dataset {
	x := &blpData{single{f.Object}, f, at.Offset}
	core := &data{driver: x, name: bloscpack.Format, place: at}
	return enabled(&blpFile{core, blpItems{f, at.Offset}, ranges{f.Object}}, core)
}

func (x *blpData) describe(ctx context.Context, o DescribeOptions, out *Description) (err error) {
	h := x.f.Header()
	out.Entries, out.TypeSize, out.NBytes = h.Chunks, h.TypeSize, x.f.NBytes()
	if !h.Variable && h.ChunkSize > 0 {
		out.ChunkSize = h.ChunkSize
	}
	if out.NBytes < 0 && o.Scan && !x.f.Aborted() {
		if out.NBytes, err = x.f.Size(ctx); err != nil {
			return err
		}
	}
	detail := BloscpackDetail{Header: h, Aborted: x.f.Aborted(), Metadata: x.f.Metadata(), Contents: x.f.Contents(), Names: x.f.Names()}
	a, ok, err := x.f.Array()
	if detail.ArrayErr = err; ok && err == nil {
		detail.Array = &a
		out.Shape, out.DType, out.Order = a.Shape, a.DType.String(), "C"
		if a.Fortran {
			out.Order = "F"
		}
	}
	switch m := detail.Metadata; {
	case m == nil:
	case json.Valid(m):
		out.meta("", m)
	default:
		out.Opaque = []string{""}
	}
	if x.f.Aborted() {
		out.Refused = "its writing did not end"
	}
	out.Detail = detail
	return nil
}

func (x *blpData) Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		n, names := x.f.Len(), x.f.Names()
		from, err := o.from(max(n, 0))
		if err == nil {
			err = x.f.Entries(ctx, from, o.to(from, n), o.Scan, func(i int64, b bloscpack.Entry) error {
				e := Entry{Cursor: cursor(i), N: i, Off: -1, Size: b.NBytes}
				if !b.Missing() {
					e.Off, e.Stored = b.Off+x.off, b.CBytes
				}
				if b.Chunk != nil {
					e.Special = special(b.Chunk.Special)
				}
				if names != nil {
					e.Name = names[i]
				}
				if !yield(e, nil) {
					return errStop
				}
				return nil
			})
		}
		if err != nil && err != errStop { //nolint:errorlint // nobody else has it
			yield(Entry{}, err)
		}
	}
}

// errStop ends a walk early, if the caller needs no more.
var errStop = fmt.Errorf("enough: %w", context.Canceled)

func (x *blpData) HeldBytes() int64 { return ownBytes + x.f.HeldBytes() }

func (x *blpData) Handle() any { return x.f }

// blpItems is the Itemer part of a Bloscpack file.
type blpItems struct {
	f   *Bloscpack
	off int64
}

func (t blpItems) Items() int64 { return t.f.Header().Chunks }

// Refused implements Refuser.
func (t blpItems) Refused() error {
	if !t.f.Aborted() {
		return nil
	}
	return t.f.Each(context.Background(), 0, 0, nil) // Each fails before it reads
}

func (t blpItems) ItemNumber(_ context.Context, name string) (int64, error) {
	if i := slices.Index(t.f.Names(), name); i >= 0 {
		return int64(i), nil
	}
	return 0, noItem(bloscpack.Format, fmt.Sprintf("%q", name))
}

func (t blpItems) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	return t.f.AppendItem(ctx, dst, i)
}

// StartItem implements Starter.
func (t blpItems) StartItem(ctx context.Context, i int64) (int64, func(ctx context.Context, dst []byte) ([]byte, error), error) {
	s, err := t.f.StartItem(ctx, i)
	if err != nil {
		return 0, nil, err
	}
	return s.Len(), s.Append, nil
}

func (t blpItems) EachItem(ctx context.Context, i, j int64, fn func(i int64, p []byte) error) error {
	return t.f.Each(ctx, i, j, fn)
}

func (t blpItems) ExplainItems(ctx context.Context, i, j int64) (Plan, error) {
	requests, err := t.f.ExplainItems(ctx, i, j)
	if err != nil {
		return Plan{}, err
	}
	return Plan{Size: -1, Requests: located(requests, t.f.Object.Info().Key, t.off)}, nil
}

// --- series

type zoomData struct {
	single
	f *Zoom
}

func newZoom(at Place, f *Zoom) Dataset {
	x := &zoomData{single{f.Object}, f}
	core := &data{driver: x, name: all.Zoomcache, place: at}
	return enabled(&zoomFile{core, zoomView{f, at.Offset}, ranges{f.Object}}, core)
}

func (x *zoomData) describe(ctx context.Context, o DescribeOptions, out *Description) error {
	h := x.f.Header()
	out.Entries, out.CBytes, out.Tracks = int64(len(h.Tracks)), x.f.Size(), slices.Clone(h.Tracks)
	if utc, ok := h.Origin.UTC(); ok {
		out.Origin = utc.Format(time.RFC3339Nano)
	}
	d, err := x.detail(ctx, o)
	out.Detail = d
	return err
}

func (x *zoomData) Entries(_ context.Context, o EntriesOptions) iter.Seq2[Entry, error] {
	tracks := x.f.Header().Tracks
	return numbered(o.After, int64(len(tracks)), func(i int64) Entry {
		return Entry{N: int64(tracks[i].Number), Name: tracks[i].Name, Off: -1, Size: -1, Stored: -1}
	})
}

func (x *zoomData) HeldBytes() int64 { return ownBytes + x.f.HeldBytes() }

func (x *zoomData) Handle() any { return x.f }

// zoomView is the Viewer part of a series.
type zoomView struct {
	f   *Zoom
	off int64
}

func (v zoomView) Header() *zoomcache.Header { return v.f.Header() }

func (v zoomView) View(ctx context.Context, track int32, from, to int64, width int) (zoomindex.View, error) {
	return v.f.View(ctx, track, from, to, width)
}

func (v zoomView) Pixels(ctx context.Context, track int32, from, to, span int64, o zoomindex.PixelOptions) (zoomindex.View, error) {
	return v.f.Pixels(ctx, track, from, to, span, o)
}

func (v zoomView) Totals(ctx context.Context) (list []zoomcache.TrackCount, ok bool, err error) {
	return v.f.Totals(ctx)
}

func (v zoomView) EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *zoomcache.Packet) error) error {
	return v.f.EachPacket(ctx, track, from, to, fn)
}

func (v zoomView) EachSummary(ctx context.Context, track int32, level int, from, to int64, fn func(s *zoomcache.Summary) error) error {
	return v.f.EachSummary(ctx, track, level, from, to, fn)
}

func (v zoomView) EachPacketOfAll(ctx context.Context, fn func(p *zoomcache.Packet) error) error {
	var p zoomcache.Packet
	return v.f.EachBlock(ctx, func(b zoomcache.Block, t *zoomcache.Track, content []byte) error {
		if t == nil || b.Summary {
			return nil
		}
		if err := t.DecodePacket(&p, b, content, v.f.Limits()); err != nil {
			return err
		}
		return fn(&p)
	})
}

func (v zoomView) ExplainView(ctx context.Context, track int32, from, to int64, width int) (Plan, error) {
	return v.plan(v.f.ExplainView(ctx, track, from, to, width))
}

func (v zoomView) ExplainPixels(ctx context.Context, track int32, from, to, span int64, o zoomindex.PixelOptions) (Plan, error) {
	return v.plan(v.f.ExplainPixels(ctx, track, from, to, span, o))
}

func (v zoomView) ExplainPackets(ctx context.Context, track int32, from, to int64) (Plan, error) {
	return v.plan(v.f.ExplainPackets(ctx, track, from, to))
}

func (v zoomView) ExplainSummaries(ctx context.Context, track int32, level int, from, to int64) (Plan, error) {
	return v.plan(v.f.ExplainSummaries(ctx, track, level, from, to))
}

func (v zoomView) ExplainPacketsOfAll(ctx context.Context) (Plan, error) {
	return v.plan(v.f.ExplainBlocks(ctx))
}

// plan completes a plan of a series. A request without an Object is for the file; other
// requests are for the index beside the file.
func (v zoomView) plan(requests []rangeio.Planned, err error) (Plan, error) {
	for i := range requests {
		r := &requests[i]
		if side := v.f.Beside(); r.Object != "" && side != nil {
			r.Object = side.Info().Key
		} else {
			r.Object, r.Off = v.f.Object.Info().Key, r.Off+v.off
		}
	}
	return Plan{Size: -1, Requests: requests}, err
}
