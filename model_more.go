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
	"github.com/farread/farread/objstore"
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

// Entries: an array that is stored as it is has no parts.
func (x *npyData) Entries(_ context.Context, after string) iter.Seq2[Entry, error] {
	return numbered(after, 0, nil)
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

func (x *npyData) Handle() any { return x.a }

// npySlices is the Slicer part.
type npySlices struct{ a *Npy }

func (s npySlices) Shape() []int64 { return s.a.Shape() }

func (s npySlices) DType() dtype.DType { return s.a.h.DType }

func (s npySlices) SizeOf(box b2nd.Box) (int64, error) { return s.a.SizeOf(box) }

func (s npySlices) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	return s.a.ReadSlice(ctx, dst, box)
}

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
	f *Bloscpack
}

func newBloscpack(at Place, f *Bloscpack) Dataset {
	x := &blpData{single{f.Object}, f}
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
	if a, ok, err := x.f.Array(); ok && err == nil {
		out.Shape, out.DType, out.Order = a.Shape, a.DType.String(), "C"
		if a.Fortran {
			out.Order = "F"
		}
	}
	m := x.f.Metadata()
	switch {
	case m == nil:
	case json.Valid(m):
		out.meta("", m)
	default:
		out.Opaque = []string{""}
	}
	if x.f.Aborted() {
		out.Refused = "its writing did not end"
	}
	out.Detail = BloscpackDetail{h, x.f.Aborted(), m, x.f.Contents()}
	return nil
}

func (x *blpData) Entries(ctx context.Context, after string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		from, err := resume(after)
		if err == nil && from > max(x.f.Len(), 0) {
			err = fmt.Errorf("cursor %q of %d entries: %w", after, x.f.Len(), objstore.ErrInvalid)
		}
		if err != nil {
			yield(Entry{}, err)
			return
		}
		names := x.f.Names()
		const batch = 1 << 12
		more := true
		for ; from < x.f.Len() && more; from += batch {
			err := x.f.Entries(ctx, from, min(from+batch, x.f.Len()), false, func(i int64, b bloscpack.Entry) error {
				e := Entry{Cursor: cursor(i), N: i, Size: b.NBytes, Stored: b.CBytes}
				if b.Missing() {
					e.Stored = 0
				}
				if names != nil {
					e.Name = names[i]
				}
				if !yield(e, nil) {
					more = false
					return errStop
				}
				return nil
			})
			if err != nil && more {
				yield(Entry{}, err)
				return
			}
		}
	}
}

// errStop ends a walk whose caller has enough.
var errStop = fmt.Errorf("enough: %w", context.Canceled)

func (x *blpData) Handle() any { return x.f }

// blpItems is the Itemer part.
type blpItems struct {
	f   *Bloscpack
	off int64
}

func (t blpItems) Items() int64 { return t.f.Header().Chunks }

func (t blpItems) ItemNumber(_ context.Context, name string) (int64, error) {
	if i := slices.Index(t.f.Names(), name); i >= 0 {
		return int64(i), nil
	}
	return 0, noItem(bloscpack.Format, fmt.Sprintf("%q", name))
}

func (t blpItems) AppendItem(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	return t.f.AppendItem(ctx, dst, i)
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

func (x *zoomData) Entries(_ context.Context, after string) iter.Seq2[Entry, error] {
	tracks := x.f.Header().Tracks
	return numbered(after, int64(len(tracks)), func(i int64) Entry {
		return Entry{N: int64(tracks[i].Number), Name: tracks[i].Name, Size: -1, Stored: -1}
	})
}

func (x *zoomData) Handle() any { return x.f }

// zoomView is the Viewer part.
type zoomView struct {
	f   *Zoom
	off int64
}

func (v zoomView) View(ctx context.Context, track int32, from, to int64, width int) (zoomindex.View, error) {
	return v.f.View(ctx, track, from, to, width)
}

func (v zoomView) EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *zoomcache.Packet) error) error {
	return v.f.EachPacket(ctx, track, from, to, fn)
}

func (v zoomView) ExplainView(ctx context.Context, track int32, from, to int64, width int) (Plan, error) {
	return v.plan(v.f.ExplainView(ctx, track, from, to, width))
}

func (v zoomView) ExplainPackets(ctx context.Context, track int32, from, to int64) (Plan, error) {
	return v.plan(v.f.ExplainPackets(ctx, track, from, to))
}

// plan names the objects of requests: those of an index beside the file have one.
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
