package zoomindex

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A File is an open zoom-cache file and, once a method has looked for it, the
// directory of its index. The methods of the embedded zoomcache.File read the file
// without the index. All methods are safe for concurrent use. A File needs no Close.
// It uses the Reader until the last call.
type File struct {
	*zoomcache.File
	r    rangeio.Reader
	ix   *finder
	plan *pull.Plan // nil: packets are read
}

// Open is zoomcache.Open: the index is looked for when it is first needed. The limit
// MaxMeta is also one of the pages of an index that are read together.
func Open(ctx context.Context, r rangeio.Reader, o zoomcache.Options) (*File, error) {
	f, err := zoomcache.Open(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return &File{File: f, r: r, ix: &finder{r: r}}, nil
}

// A finder finds the index of a file once, when it is first needed.
type finder struct {
	r     rangeio.Reader // reader of the file
	mu    sync.Mutex
	known bool
	ix    *openIndex
	again int  // how often it was looked for
	first bool // look beside the file first
	side  func(ctx context.Context) (r rangeio.Reader, etag string, err error)
	kept  atomic.Int64 // memory of ix
	bad   atomic.Pointer[unusedIndex]
}

// An unusedIndex is why an index that was found beside the file is not used.
type unusedIndex struct{ err error }

// An openIndex is an index and its list of tracks.
type openIndex struct {
	*index.Index
	r      rangeio.Reader
	tracks map[int32]*trackMeta
	beside bool
}

// about is the index's entry for a track. It is nil if the entry describes another
// track.
func (x *openIndex) about(t *zoomcache.Track) *trackMeta {
	if x == nil {
		return nil
	}
	if m := x.tracks[t.Number]; m != nil && m.is(t) {
		return m
	}
	return nil
}

// Sidecar names the index beside the file, for a file that has none inside. open
// is called when the index is first needed; it gives the index object, and the
// ETag of the file itself, without a strong one of which the index is not used. A nil Reader means that there is no index. If open
// fails, the method that needed the index returns the error, and the next one
// calls open again. If the index proves to be wrong, or its object was replaced, it
// is opened again, up to three times.
func (f *File) Sidecar(open func(ctx context.Context) (r rangeio.Reader, etag string, err error)) {
	f.ix.mu.Lock()
	defer f.ix.mu.Unlock()
	f.ix.side, f.ix.first, f.ix.known, f.ix.ix = open, false, false, nil
}

// SidecarFirst is Sidecar for a file whose index is believed to lie beside it: the
// end of the file is read only if the index beside it is not there or of no use.
func (f *File) SidecarFirst(open func(ctx context.Context) (r rangeio.Reader, etag string, err error)) {
	f.Sidecar(open)
	f.ix.mu.Lock()
	defer f.ix.mu.Unlock()
	f.ix.first = true
}

// HasIndex reports whether there is a usable index and whether it lies inside the file,
// and returns its size in bytes. To find the index costs as much as for the first View,
// and nothing after that.
func (f *File) HasIndex(ctx context.Context) (size int64, inside, ok bool, err error) {
	ix, err := f.ix.open(ctx, f)
	if err != nil || ix == nil {
		return 0, false, false, err
	}
	return ix.Trailer.Len, ix.Trailer.Off > 0, true, nil
}

// UnusedIndex returns why an index that was found beside the file is not used; nil if none
// was found, or an index is used. It looks for none: it makes no request.
func (f *File) UnusedIndex() error {
	if bad := f.ix.bad.Load(); bad != nil && f.ix.kept.Load() == 0 {
		return bad.err
	}
	return nil
}

// open returns the index, or nil if there is none. An error comes from reading; the
// next call tries again.
func (x *finder) open(ctx context.Context, f *File) (*openIndex, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known {
		return x.ix, nil
	}
	ix, err := x.find(ctx, f)
	if err != nil {
		return nil, err
	}
	x.known, x.ix = true, nil
	if ix != nil {
		if tracks, ok := parseMeta(ix.Meta); ok {
			ix.tracks, x.ix = tracks, ix
			x.kept.Store(ix.HeldBytes() + heldTracks(tracks))
		}
	}
	return x.ix, nil
}

// heldTracks is about how much memory the entries for tracks take.
func heldTracks(tracks map[int32]*trackMeta) (n int64) {
	const entry = 168 // a trackMeta, and its place in the map
	for _, m := range tracks {
		n += entry + int64(len(m.ident)+8*cap(m.count.Levels))
	}
	return n
}

// HeldBytes returns about how many bytes of memory the File keeps: headers, and the
// directory of the index after it was looked for. It does not count the memory of
// Readers, and does not wait for other calls.
func (f *File) HeldBytes() int64 { return f.File.HeldBytes() + f.ix.kept.Load() }

// find looks for the index in the file and beside it.
func (x *finder) find(ctx context.Context, f *File) (ix *openIndex, err error) {
	if x.first {
		if ix, err = x.outside(ctx, f); ix != nil || err != nil {
			return ix, err
		}
	}
	if ix, err = x.inside(ctx, f); ix != nil || err != nil || x.first {
		return ix, err
	}
	return x.outside(ctx, f)
}

func (x *finder) inside(ctx context.Context, f *File) (*openIndex, error) {
	ix, err := index.Open(ctx, x.r, index.Options{Gap: zoomcache.BlockHeaderLen, Limits: f.Limits()})
	switch {
	case errors.Is(err, index.ErrUnusable):
		return nil, nil
	case err != nil:
		return nil, wrapRead(f.Size(), err)
	case ix.Trailer.Plain < f.Body() || ix.Trailer.Plain > ix.Trailer.Off-zoomcache.BlockHeaderLen:
		return nil, nil
	}
	return &openIndex{Index: ix, r: x.r}, nil
}

func (x *finder) outside(ctx context.Context, f *File) (*openIndex, error) {
	if x.side == nil {
		return nil, nil
	}
	r, etag, err := x.side(ctx)
	if r == nil || err != nil {
		return nil, err
	}
	ix, err := index.Open(ctx, r, index.Options{Bind: index.Binding{Size: f.Size(), ETag: etag}, Limits: f.Limits()})
	switch {
	case errors.Is(err, index.ErrUnusable):
		x.bad.Store(&unusedIndex{err})
		return nil, nil
	case err != nil:
		return nil, wrapRead(-1, err)
	case ix.Trailer.Plain > f.Size():
		return nil, nil
	}
	return &openIndex{Index: ix, r: r, beside: true}, nil
}

// maxAgain is how many times an index beside the file is looked for again.
const maxAgain = 3

// drop forgets an index that proved to be wrong. An index beside the file may have been
// replaced, so it is looked for again.
func (x *finder) drop(ix *openIndex) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ix != ix {
		return
	}
	x.ix = nil
	if ix.beside && x.again < maxAgain {
		x.again++
		x.known = false
	}
}
