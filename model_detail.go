package farread

import (
	"context"
	"encoding/json"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// DescribeOptions tune Describe.
type DescribeOptions struct {
	// Scan also finds out what only the payload tells: the decoded bytes of items of
	// any length, by their headers; the packets and samples of a series without an
	// index, by a pass over it; all that lies below a folder, not one level alone. Damage
	// that is found on the way is an error.
	Scan bool
}

// A FrameDetail is the Description.Detail of a frame, and of an array in one.
type FrameDetail struct {
	cframe.Info

	// Metalayers and VLMetalayers are as they are stored.
	Metalayers, VLMetalayers []cframe.Metalayer
	// DType is the text that the array holds. Description.DType, by which items are
	// read, is another one if that text is no type or does not fit the size of items.
	DType string
}

// A GulpDetail is the Description.Detail of a gulp chunk, and of a dataset of them.
type GulpDetail struct {
	gulp.Totals

	Chunks    int
	MetaBytes int64 // of all indexes
	// Named is the object by whose key a chunk was opened; of a dataset it is zero.
	Named objstore.Info
	// Unfinished are data objects of a dataset that never got an index.
	Unfinished []string
}

// A BloscpackDetail is the Description.Detail of a Bloscpack file.
type BloscpackDetail struct {
	bloscpack.Header

	Aborted  bool            // its writing did not end
	Metadata json.RawMessage // as stored
	Contents bloscpack.Contents
}

// A ZoomDetail is the Description.Detail of a series.
type ZoomDetail struct {
	Major, Minor int        // version of the format
	Index        *ZoomIndex // nil: there is none that can be used
	// Counts are those of Description.Tracks, one by one; nil if neither an index nor
	// DescribeOptions.Scan tells them.
	Counts []zoomcache.TrackCount
}

// A ZoomIndex is the index of a series.
type ZoomIndex struct {
	Bytes  int64 `json:"bytes"`
	Inside bool  `json:"inside"` // or beside the file, under its name and index.Suffix
}

// UsedIndex is the index of the file; nil: there is none that can be used. To find it
// costs what it costs the first View, and nothing after that.
func (z *Zoom) UsedIndex(ctx context.Context) (*ZoomIndex, error) {
	size, inside, ok, err := z.HasIndex(ctx)
	if err != nil || !ok {
		return nil, err
	}
	if !inside {
		size += index.TrailerLen // all of the object
	}
	return &ZoomIndex{size, inside}, nil
}

// detail of a series: its index, and how many samples its tracks have.
func (x *zoomData) detail(ctx context.Context, o DescribeOptions) (d ZoomDetail, err error) {
	h := x.f.Header()
	d.Major, d.Minor = int(h.Major), int(h.Minor)
	if o.Scan {
		r, err := x.f.Count(ctx)
		if err != nil {
			return d, err
		}
		d.Counts = r.Tracks
	} else if d.Counts, _, err = x.f.Totals(ctx); err != nil {
		return d, err
	}
	d.Index, err = x.f.UsedIndex(ctx)
	return d, err
}
