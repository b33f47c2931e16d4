package zarrface

import (
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// Passes says that Encode passes a stored chunk through.
func Passes(v *View, c Chunk, stored []byte) bool {
	x, err := blosc.ParseIndex(stored)
	if err != nil || v.codec != Pass || v.cast != nil || !v.inRow || !v.adjacent {
		return false
	}
	from := v.firstBlock(c)
	_, ok := v.pass(nil, x, func(off, n int) []byte { return stored[off : off+n] }, from, from+int(prod(v.inCell)))
	return ok
}

// Count is the number of chunks along each axis.
func Count(v *View) []int64 { return v.count }

// Geometry returns the shape of Zarr chunks, and whether stored blocks can be passed through.
func Geometry(m b2nd.Meta, item int, byBlock bool) (cell []int64, row bool) {
	g := newGeometry(m, item, byBlock)
	return g.cell, g.inRow && g.adjacent
}
