package pack

import (
	"context"
	"math"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/rangeio"
)

// zarrFlight is how many chunks of Zarr are read and encoded side by side, as far as memory
// allows: each is a request of its own, so of fewer most of the time would be round trips.
const zarrFlight = 16

// ZarrArray returns the Array that Write makes of an array of Zarr. name is its path in a group,
// or "". The b2nd has the chunks of the source, but where they are longer than the array.
func ZarrArray(name string, z *zarr.Array) Array {
	return Array{Name: name, DType: z.DType(), Shape: z.Shape(), NBytes: z.Meta().NBytes(), zarr: z}
}

// ZarrLayer is what the metadata of an array of Zarr say of the meaning of its items.
func ZarrLayer(z *zarr.Array) arraymeta.Meta {
	m := z.Meta()
	return arraymeta.Meta{Dims: m.Dims, Attrs: m.Attrs, Fill: m.FillValue}
}

// writeZarr reads chunk by chunk. It holds half as much memory besides that of the writer.
func (a Array) writeZarr(ctx context.Context, w formats.Output, o ArrayWrite) error {
	m := b2nd.Meta{Shape: a.Shape, ChunkShape: o.ChunkShape, BlockShape: o.BlockShape, DType: a.DType.String()}
	if m.ChunkShape == nil {
		for i, n := range a.zarr.ChunkShape() {
			m.ChunkShape = append(m.ChunkShape, int(min(n, max(a.Shape[i], 1), math.MaxInt32)))
		}
		if m.ChunkShape == nil {
			m.ChunkShape, m.BlockShape = []int{}, []int{}
		}
	}
	if o.Write.Parallel == 0 {
		o.Write.Parallel = zarrFlight
	}
	if o.Write.MaxMemory == 0 {
		o.Write.MaxMemory = b2nd.DefaultMaxMemory
	}
	o.Write.MaxMemory -= o.Write.MaxMemory / 3
	layer := ZarrLayer(a.zarr)
	if !layer.Empty() {
		p, err := layer.Append(nil)
		if err != nil {
			return err
		}
		o.Write.VLMetalayers = append(slices.Clone(o.Write.VLMetalayers), cframe.Metalayer{Name: arraymeta.Layer, Data: p})
	}
	var done atomic.Int64
	return b2nd.WriteFrom(rangeio.OnePhase(ctx), w, m, func(ctx context.Context, box b2nd.Box, dst []byte) error {
		err := a.zarr.ReadBox(ctx, dst, box)
		o.Progress.Tell(done.Add(int64(len(dst))), a.NBytes)
		return err
	}, o.Write)
}
