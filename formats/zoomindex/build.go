package zoomindex

import (
	"context"

	"github.com/farread/farread/formats/index"
)

// BuildIndex makes the index of a file by one pass over the file, like EachBlock. The
// caller stores the index beside the file, under the file's name and index.Suffix. etag
// is the ETag of the file. Damage is an error as in EachBlock. The result belongs to
// the caller.
func (f *File) BuildIndex(ctx context.Context, etag string, o WriteOptions) ([]byte, error) {
	x := NewBuilder(f.Header().Tracks, o)
	x.decoded = true
	end, err := f.Watch(ctx, x, o.Progress)
	if err != nil {
		return nil, err
	}
	ix, err := x.finish(index.Binding{Size: f.Size(), ETag: etag})
	if err != nil {
		return nil, err
	}
	return index.Beside(ix, end), nil
}
