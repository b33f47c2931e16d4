package farread

import (
	"fmt"
	"strconv"
	"time"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

// A listed is what a listing says of an object.
type listed struct {
	size int64
	etag string
	time time.Time
}

// listedCost is about the memory of a listed, with its place.
const listedCost = 144

// Pin returns what the listing of the dataset says of its chunks: their bytes, the time of
// the newest object, and as ETag a hash of the names, sizes and ETags of all. It makes no
// request. From then on a chunk is opened only if its objects are as listed; if they are
// not, as those of a chunk that is open already, the error matches objstore.ErrChanged. So
// two machines that Pin the same read the same bytes, whichever chunks each of them opens.
// The ID is that of Dataset.Source, which opens all chunks, and so is left out.
func (d *GulpDataset) Pin() (Source, error) {
	s := d.set
	out, texts := Source{}, []string{s.b.Name(), s.prefix}
	for k := range d.Len() {
		p := d.Pair(k)
		for _, name := range []string{p.Meta, p.Data} {
			in := s.listed[name]
			out.Size += in.size
			if in.time.After(out.Time) {
				out.Time = in.time
			}
			texts = append(texts, name, strconv.FormatInt(in.size, 10), in.etag)
			if in.etag == "" {
				texts = append(texts, in.time.UTC().Format(time.RFC3339Nano))
			}
		}
	}
	out.ETag = hashed(texts...)
	s.mu.Lock()
	s.pinned = true
	s.mu.Unlock()
	for k := range d.Len() {
		if meta, data := d.Objects(k); meta != nil {
			if err := s.asListed(d.Pair(k), meta, data); err != nil {
				return Source{}, err
			}
		}
	}
	return out, nil
}

// MetaBytes returns how many bytes the indexes of the chunks have, by the listing.
func (d *GulpDataset) MetaBytes() (n int64) {
	for k := range d.Len() {
		n += d.set.listed[d.Pair(k).Meta].size
	}
	return n
}

// asListed refuses objects of a chunk that are not those of the listing, once the dataset is
// pinned.
func (s *gulpSet) asListed(p gulp.Pair, meta, data *objstore.Object) error {
	s.mu.Lock()
	pinned := s.pinned
	s.mu.Unlock()
	if !pinned {
		return nil
	}
	for name, ob := range map[string]*objstore.Object{p.Meta: meta, p.Data: data} {
		in := s.listed[name]
		if in.size != ob.Size() || in.etag != "" && in.etag != ob.Info().ETag {
			return &objstore.Error{Op: "open", Bucket: s.b.Name(), Key: s.prefix + name, Err: fmt.Errorf("it is not what was listed: %w", objstore.ErrChanged)}
		}
	}
	return nil
}
