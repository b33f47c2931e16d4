package pack

import (
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/gulpindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// IndexPair lets p write an index of its gulp chunk beside the data, if the .gmeta is so
// large that an index is worth while. made returns the Writer of the chunk, once that is
// written.
func IndexPair(p *functions.Pair, made func() *gulp.Writer) {
	p.SideKey = p.Data + index.Suffix
	p.Side = func(data, meta objstore.Info) ([]byte, error) { return BuildIndex(made(), data, meta) }
}

// BuildIndex makes the index of a gulp chunk, such as a gulp.Writer has written, to the
// objects data and meta. It returns nil if an index is not worth while, or cannot be: the store gives no
// ETags.
func BuildIndex(c gulpindex.Source, data, meta objstore.Info) ([]byte, error) {
	if !gulpindex.Worth(meta.Size) {
		return nil, nil
	}
	of := func(in objstore.Info) gulpindex.Version {
		return gulpindex.Version{Size: in.Size, ETag: in.ETag}
	}
	pair := gulpindex.Pair{Data: of(data), Meta: of(meta)}
	if !pair.Bound() {
		return nil, nil
	}
	return gulpindex.Build(c, pair)
}
