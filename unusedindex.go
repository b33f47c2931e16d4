package farread

import (
	"errors"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/objstore"
)

// An UnusedIndex is an index that lies beside a file, or inside it, and that reads do not
// use. They read without it what it would have told.
type UnusedIndex struct {
	Reason string `json:"reason"`
	// Anew is set if a new index would be used. If it is not, the store gives no strong
	// ETag, which an index beside a file needs.
	Anew bool `json:"anew"`
	// Unread is set if the index could not be read: it may serve the next time.
	Unread bool `json:"unread,omitempty"`
}

// FindUnusedIndex returns what the reads of a dataset have found of an index that they do
// not use, or nil. It looks for none: it makes no request. Of a dataset of gulp chunks it
// is about the first such chunk.
func FindUnusedIndex(d Dataset) *UnusedIndex {
	switch h := d.Handle().(type) {
	case *Array:
		return unusedIndex(h.Source.KnownIndex().Unused, h.Source.Object.Info().ETag)
	case *Frame:
		return unusedIndex(h.KnownIndex().Unused, h.Object.Info().ETag)
	case *Zoom:
		return unusedIndex(h.UnusedIndex(), h.Object.Info().ETag)
	case *Gulp:
		return h.unusedIndex()
	case *GulpByID:
		return h.unusedIndex()
	case *GulpDataset:
		for k := range h.Len() {
			if g := h.set.have(h.Pair(k)); g != nil {
				if x := g.unusedIndex(); x != nil {
					return x
				}
			}
		}
	}
	return nil
}

func (g *GulpByID) unusedIndex() *UnusedIndex {
	if w := g.whole.Load(); w != nil && w.unused != nil {
		return w.unusedIndex()
	}
	return unusedIndex(g.found, g.Meta.Info().ETag, g.Data.Info().ETag)
}

func (g *Gulp) unusedIndex() *UnusedIndex {
	return unusedIndex(g.unused, g.Meta.Info().ETag, g.Data.Info().ETag)
}

// unusedIndex describes the error of opening an index. etags are those of the objects that
// the index has to be about.
func unusedIndex(err error, etags ...string) *UnusedIndex {
	if err == nil {
		return nil
	}
	x := &UnusedIndex{Reason: index.Reason(err), Anew: true}
	if e, ok := errors.AsType[*objstore.Error](err); ok && !errors.Is(err, objstore.ErrChanged) && !errors.Is(err, objstore.ErrNotFound) {
		x.Reason, x.Unread = e.Error(), true
	}
	for _, etag := range etags {
		x.Anew = x.Anew && index.Weakness("", etag) == ""
	}
	return x
}
