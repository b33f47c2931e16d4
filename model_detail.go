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
	// index, by a pass over it; and all objects below a folder, not only those of one
	// level. If Scan finds damage, Describe returns an error.
	Scan bool
}

// A FrameDetail is the Description.Detail of a frame, and of an array in a frame.
type FrameDetail struct {
	cframe.Info

	// Metalayers and VLMetalayers are as they are stored.
	Metalayers, VLMetalayers []cframe.Metalayer
	// DType is the text that the array holds. If this text is not a type, or does not
	// fit the size of items, items are read as another type, Description.DType.
	DType string
	// Index is what is known of the index of the frame.
	Index FrameIndex
	// Statistics are those of the array in its index. They are nil if it has none, and for
	// a frame that is no array.
	Statistics *ArrayStatistics
}

// A FrameIndex describes the index of a frame.
type FrameIndex struct {
	Bytes  int64  `json:"bytes"`            // 0: no index is used
	Inside bool   `json:"inside"`           // the index is in the frame; else it is beside the frame, under its name and index.Suffix
	Unused string `json:"unused,omitempty"` // why an index that is there is not used
}

// UsedIndex returns what is known of the index of the frame. If none lies inside, it looks
// for one beside the frame, at the cost of one request, unless a read has done so.
func (f *Frame) UsedIndex(ctx context.Context) (FrameIndex, error) {
	info, err := f.Index(ctx)
	return FrameIndexOf(info), err
}

// FrameIndexOf describes the index of a frame that package cframe knows.
func FrameIndexOf(info cframe.IndexInfo) FrameIndex {
	x := FrameIndex{Bytes: info.Size, Inside: info.Inside}
	if info.Unused != nil {
		x.Unused = index.Reason(info.Unused)
	}
	return x
}

// A GulpDetail is the Description.Detail of a gulp chunk, and of a dataset of gulp
// chunks.
type GulpDetail struct {
	gulp.Totals

	Chunks    int
	MetaBytes int64 // bytes of all indexes
	// Named is the object by whose key a chunk was opened. It is zero for a dataset.
	Named objstore.Info
	// Unfinished lists data objects of a dataset that never got an index.
	Unfinished []string
}

// A GulpReport is the Report.Detail of a gulp chunk, and of a dataset of gulp chunks.
type GulpReport struct {
	gulp.Report

	// Index is the index beside a chunk, or nil if there is none. An index that cannot be
	// used is no fault of the chunk. For a dataset it is nil.
	Index *GulpIndex `json:",omitempty"`
}

// A BloscpackDetail is the Description.Detail of a Bloscpack file.
type BloscpackDetail struct {
	bloscpack.Header

	Aborted  bool            // the writer did not finish the file
	Metadata json.RawMessage // metadata as stored
	Contents bloscpack.Contents
	// Names are the names of all items if all items are files with names, and nil
	// otherwise. They are shared: do not change them.
	Names []string
	// Array is the NumPy array in the chunks, or nil if there is none. If metadata
	// promise an array but cannot be used, ArrayErr says why; the chunks can still be
	// read.
	Array    *bloscpack.Array
	ArrayErr error
}

// A ZoomDetail is the Description.Detail of a series.
type ZoomDetail struct {
	Major, Minor int        // version of the format
	Index        *ZoomIndex // index of the series; nil: no usable index
	// Counts has one count for each of Description.Tracks, in order. It is nil if there
	// is no index and DescribeOptions.Scan is not set.
	Counts []zoomcache.TrackCount
}

// A ZoomIndex describes the index of a series.
type ZoomIndex struct {
	Bytes  int64 `json:"bytes"`
	Inside bool  `json:"inside"` // the index is in the file; else it is beside the file, under the file's name and index.Suffix
}

// UsedIndex returns the index that the file uses, or nil if there is no usable index.
// To find it costs as much as for the first View, and nothing after that.
func (z *Zoom) UsedIndex(ctx context.Context) (*ZoomIndex, error) {
	size, inside, ok, err := z.HasIndex(ctx)
	if err != nil || !ok {
		return nil, err
	}
	if !inside {
		size += index.TrailerLen // the index takes the whole object
	}
	return &ZoomIndex{size, inside}, nil
}

// detail returns the detail of a series: its index, and the number of samples of its
// tracks.
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
