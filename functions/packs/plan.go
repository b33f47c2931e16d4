// Package packs packs by parts, on many machines, what is too large for one: plans of
// package parts whose parts are pieces of one output.
package packs

import (
	"encoding/json"
	"fmt"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/objstore"
)

// KindArray is the kind of plans for one b2nd array.
const KindArray = "b2nd"

// planVersion must change if the same plan would give another array.
const planVersion = 1

// DefaultPartBytes is the size of parts, decoded.
const DefaultPartBytes = 64 << 20

// maxRuns bounds the parts of an array: each is one or two of the 10,000 parts of a
// multipart upload, two only where short ones lie between long ones.
const maxRuns = 4800

// An ArrayPlan is the plan of one b2nd array.
type ArrayPlan struct {
	Version int            `json:"farread_plan"`
	ID      string         `json:"id"`
	Kind    string         `json:"kind"`
	Source  analyze.Source `json:"source"` // of Zarr only its URI
	Parts   int            `json:"parts"`
	Bytes   int64          `json:"bytes"` // decoded
	Array   ArrayAsk       `json:"array"`
}

// An ArrayAsk says which array is to be made, and of what.
type ArrayAsk struct {
	Bucket         string              `json:"bucket"` // of the output
	Key            string              `json:"key"`
	Force          bool                `json:"force,omitempty"` // replace an output that is there
	Items          *pack.ItemsAt       `json:"items,omitempty"` // where they lie; nil: the source is Zarr or b2nd
	Zarr           bool                `json:"zarr,omitempty"`
	DeniedIsAbsent bool                `json:"denied_is_absent,omitempty"` // of Zarr
	ChunkShape     []int               `json:"chunk_shape,omitempty"`
	BlockShape     []int               `json:"block_shape,omitempty"`
	Encode         blosc.EncodeOptions `json:"encode"`
	Layers         []cframe.Metalayer  `json:"layers,omitempty"` // besides those of the source
	Index          cframe.IndexChoice  `json:"index"`
	PartBytes      int64               `json:"part_bytes"`
}

// Write has the options with which the array is written.
func (q *ArrayAsk) Write() pack.ArrayWrite {
	var o pack.ArrayWrite
	o.ChunkShape, o.BlockShape = q.ChunkShape, q.BlockShape
	o.Write.Encode, o.Write.Index, o.Write.VLMetalayers = q.Encode, q.Index, q.Layers
	return o
}

// NewArrayPlan plans an array. d is made of the source with q.Write. Its parts are runs of
// chunks of about q.PartBytes each, longer ones if there were too many.
func NewArrayPlan(d *pack.Divided, src analyze.Source, q ArrayAsk) *ArrayPlan {
	src.Time = src.Time.UTC()
	if q.PartBytes <= 0 {
		q.PartBytes = DefaultPartBytes
	}
	p := &ArrayPlan{Version: planVersion, Kind: KindArray, Source: src, Array: q}
	p.Bytes = d.NBytes()
	p.Parts = int((d.Layout.Chunks + p.run(d) - 1) / p.run(d))
	p.ID = digest.JSON([]any{p, d.Layout, d.Write.VLMetalayers})
	return p
}

// run returns how many chunks a part has; the last one may have fewer.
func (p *ArrayPlan) run(d *pack.Divided) int64 {
	most := (d.Layout.Chunks + maxRuns - 1) / maxRuns
	return max(p.Array.PartBytes/int64(d.Layout.ChunkBytes), most, 1)
}

// ParseArrayPlan reads a plan whose head is read already.
func ParseArrayPlan(head *parts.Plan) (*ArrayPlan, error) {
	var p ArrayPlan
	if err := json.Unmarshal(head.Text, &p); err != nil || p.Kind != KindArray || p.Array.Bucket == "" || p.Array.Key == "" {
		return nil, fmt.Errorf("no plan of an array: %w", formats.ErrCorrupt)
	}
	return &p, nil
}

// SourceOf is an object that is packed.
func SourceOf(uri string, in objstore.Info) analyze.Source {
	return analyze.Source{URI: uri, ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, Size: in.Size}
}
