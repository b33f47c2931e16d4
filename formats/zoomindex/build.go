package zoomindex

import (
	"context"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// BuildIndex makes the index of a file by one pass over the file, like EachBlock. The
// caller stores the index beside the file, under the file's name and index.Suffix. etag
// is the ETag of the file; without a strong one the error is formats.ErrUnsupported (index.Binding).
// Damage is an error as in EachBlock. The result belongs to the caller.
func (f *File) BuildIndex(ctx context.Context, etag string, o WriteOptions) ([]byte, error) {
	bind := index.Binding{Size: f.Size(), ETag: etag}
	if err := bind.Check(); err != nil {
		return nil, &formats.Error{Format: zoomcache.Format, Off: -1, Part: "index", Err: err}
	}
	x := NewBuilder(f.Header().Tracks, o)
	x.decoded = true
	end, err := f.Watch(ctx, x, o.Progress)
	if err != nil {
		return nil, err
	}
	ix, err := x.finish(bind) //nolint:contextcheck // it packs the pages that are there, and waits for nothing
	if err != nil {
		return nil, err
	}
	return index.Beside(ix, end), nil
}
