package cframe

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// IndexLayer is the name of the vlmetalayer that holds the index of a frame. It is the
// last one of the trailer. VLMetalayers leaves it out.
const IndexLayer = "farread-index"

const (
	atFingerprint  = 5  // in the last endLen bytes: a marker, the kind, and the fingerprint
	fingerprint128 = 3  // the kind of a fingerprint of 128 bits; 0: there is none
	sidecarWorth   = 16 // chunks whose block starts are worth looking for an index beside the frame
)

// An IndexInfo says what is known of the index of a frame; see package frameindex.
type IndexInfo struct {
	Size   int64 // bytes of the index, with all its pages; 0: no index is used
	Inside bool  // the index lies inside the frame, not beside it
	// Unused is the reason why an index that was found is not used. It matches
	// index.ErrUnusable.
	Unused error
}

// A frameIndex finds the index of a frame and keeps it. Frames share it.
type frameIndex struct {
	sum     frameindex.Sum                 // of the header
	offsets atomic.Pointer[frameindex.Sum] // of the offsets chunk; nil: it was not read
	inside  bool                           // an index was found inside the frame, of use or not
	side    func(ctx context.Context) (r rangeio.Reader, etag string, err error)
	looking gate // held while side is called
	looked  atomic.Bool
	now     atomic.Pointer[usedIndex]
	bad     atomic.Pointer[badStats]
}

// A usedIndex is an open index, or the reason why there is none.
type usedIndex struct {
	ix   *frameindex.Index // nil: none
	info IndexInfo
}

func newFrameIndex() *frameIndex { return &frameIndex{looking: newGate()} }

// used returns the index, nil if none is in use.
func (x *frameIndex) used() *frameindex.Index {
	if u := x.now.Load(); u != nil {
		return u.ix
	}
	return nil
}

// drop gives up an index that proved to be wrong.
func (x *frameIndex) drop(ix *frameindex.Index, reason error) {
	if u := x.now.Load(); u != nil && u.ix == ix {
		x.now.CompareAndSwap(u, &usedIndex{info: IndexInfo{Inside: u.info.Inside, Unused: reason}})
	}
}

// compare gives up an index that is about other offsets than those that were read, of n
// chunks.
func (x *frameIndex) compare(n int) {
	if ix, sum := x.used(), x.offsets.Load(); ix != nil && sum != nil && (ix.Offsets() != *sum || ix.Chunks() != n) {
		x.drop(ix, errOffsets)
	}
}

// unused notes why an index is not used.
func (x *frameIndex) unused(inside bool, reason error) {
	x.now.Store(&usedIndex{info: IndexInfo{Inside: inside, Unused: reason}})
}

// An indexError is a reason not to use an index that this package found.
type indexError string

func (e indexError) Error() string { return string(e) }

// Is makes the error one about an index.
func (e indexError) Is(target error) bool { return target == index.ErrUnusable }

const (
	errEdited  = indexError("the frame was edited after it")
	errHeads   = indexError("it says something else than the chunk")
	errOffsets = indexError("it says something else than the offsets")
)

// sumOf identifies a frame by the numbers of its header.
func sumOf(in *Info) (s frameindex.Sum) {
	h := sha256.New()
	var b []byte
	for _, v := range [...]int64{in.HeaderLen, in.NBytes, in.CBytes, int64(in.TypeSize), int64(in.BlockSize), int64(in.ChunkSize)} {
		b = binary.BigEndian.AppendUint64(b, uint64(v))
	}
	h.Write(b)
	copy(s[:], h.Sum(nil))
	return s
}

// offsetsSum identifies an encoded offsets chunk.
func offsetsSum(offsets []byte) (s frameindex.Sum) {
	h := sha256.Sum256(offsets)
	copy(s[:], h[:])
	return s
}

// fingerprint returns what the trailer of a frame has if its index is about this state
// of the frame. trailer is the trailer of the index. c-blosc2 writes zeros with each
// edit, also where it replaces a chunk in place and nothing else changes.
func fingerprint(trailer []byte, s frameindex.Sum) []byte {
	h := sha256.New()
	h.Write(trailer)
	h.Write(s[:])
	return h.Sum(nil)[:len(s)]
}

// openIndex opens the index inside the frame, unless openLate has, after the offsets were
// read.
func (f *Frame) openIndex(ctx context.Context, k *known) error {
	if f.heads.now.Load() == nil {
		return f.openInside(ctx, k)
	}
	f.heads.compare(f.table.n)
	return nil
}

// openInside opens the index inside the frame, if the end of the frame has one. It makes
// no request if k has the directory.
func (f *Frame) openInside(ctx context.Context, k *known) error {
	f.heads.sum = sumOf(&f.info)
	end := f.info.FrameLen - endLen
	tail, ok := k.get(end-index.TrailerLen, index.TrailerLen+endLen)
	if !ok || f.info.Sparse {
		return nil
	}
	t, err := index.ParseTrailer(tail[:index.TrailerLen], end, 0)
	if err != nil {
		if f.hasLayer(IndexLayer) { // another layer was added behind it
			f.heads.inside = true
			f.heads.unused(true, errEdited)
		}
		return nil
	}
	f.heads.inside = true
	fp := tail[index.TrailerLen+atFingerprint:]
	if fp[1] != fingerprint128 || string(fp[2:]) != string(fingerprint(tail[:index.TrailerLen], f.heads.sum)) {
		f.heads.unused(true, errEdited)
		return nil
	}
	r := &held{Reader: rangeio.Section(f.index, 0, end), k: k}
	o := f.indexOptions()
	o.Tail, o.Limits = min(k.before(end), t.Len+index.TrailerLen), f.o.Limits
	ix, err := frameindex.Open(ctx, r, o)
	r.k = nil
	return f.use(ix, true, err)
}

func (f *Frame) indexOptions() frameindex.Options {
	return frameindex.Options{Header: f.heads.sum, Offsets: f.heads.offsets.Load(), Chunks: f.table.n}
}

// use takes an index into use, or notes why it cannot be used. err is the error of its
// opening; use returns it if it is not about the index.
func (f *Frame) use(ix *frameindex.Index, inside bool, err error) error {
	switch {
	case errors.Is(err, index.ErrUnusable):
		f.heads.unused(inside, err)
	case err != nil:
		return wrap("index", -1, err)
	default:
		f.heads.now.Store(&usedIndex{ix, IndexInfo{Size: ix.Size(), Inside: inside}})
	}
	return nil
}

// hasLayer reports whether the trailer, if it is in memory, has a layer of that name.
func (f *Frame) hasLayer(name string) bool {
	layers, err := parseTrailer(f.trailer, f.trailerOff)
	return err == nil && slices.ContainsFunc(layers, func(m Metalayer) bool { return m.Name == name })
}

// A held reader reads from bytes that Open has, as long as k is set.
type held struct {
	rangeio.Reader
	k *known
}

func (r *held) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if r.k != nil {
		left := spans[:0:0]
		for _, s := range spans {
			if b, ok := r.k.get(s.Off, int64(len(s.P))); ok {
				copy(s.P, b)
			} else {
				left = append(left, s)
			}
		}
		if spans = left; len(spans) == 0 {
			return nil
		}
	}
	return r.Reader.ReadRanges(ctx, spans)
}

// before returns how many bytes that end at end k has without a gap.
func (k *known) before(end int64) int64 {
	from := end
	for found := true; found; {
		found = false
		for _, s := range k.pieces {
			if s.Off < from && from <= s.End() {
				from, found = s.Off, true
			}
		}
	}
	return end - from
}

// Sidecar names the index beside the frame, for a frame that has none inside. open is
// called once, when a read from afar needs the block starts of 16 chunks or more; it gives the
// index object, and the ETag of the frame's object; without a strong one it is not used. A nil Reader means that there is
// none. If open fails, so does the read, and the next one calls it again. Call Sidecar
// before the first read.
func (f *Frame) Sidecar(open func(ctx context.Context) (r rangeio.Reader, etag string, err error)) {
	f.heads.side = open
}

// OpenSidecar opens the index beside the frame at once, so that every read uses it, if
// the frame has none inside; see Sidecar. It costs as much as index.Open. An index that
// cannot be used is no error; see Index.
func (f *Frame) OpenSidecar(ctx context.Context) error {
	x := f.heads
	if x.inside && x.used() != nil || x.side == nil || f.info.Sparse {
		return nil
	}
	select {
	case x.looking <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-x.looking }()
	if x.looked.Load() {
		return nil
	}
	r, etag, err := x.side(ctx)
	if err != nil {
		return wrap("index", -1, err)
	}
	if r != nil {
		o := f.indexOptions()
		o.Bind, o.Limits = index.Binding{Size: f.index.Size(), ETag: etag}, f.o.Limits
		ix, err := frameindex.Open(ctx, r, o)
		if err := f.use(ix, false, err); err != nil {
			return err
		}
	}
	x.looked.Store(true)
	return nil
}

// KnownIndex returns what reads have found of the index of the frame. It looks for none: it
// makes no request.
func (f *Frame) KnownIndex() IndexInfo {
	if u := f.heads.now.Load(); u != nil {
		return u.info
	}
	return IndexInfo{}
}

// Index returns what is known of the index of the frame. It looks for an index beside
// the frame if that was named and not looked for yet, as OpenSidecar does.
func (f *Frame) Index(ctx context.Context) (IndexInfo, error) {
	if err := f.OpenSidecar(ctx); err != nil {
		return IndexInfo{}, err
	}
	return f.KnownIndex(), nil
}

// CheckIndex is Index, and reads all of an index in use: one with a damaged page is not used
// any more. It does not compare the index with the chunks, as Verify does.
func (f *Frame) CheckIndex(ctx context.Context) (IndexInfo, error) {
	if err := f.OpenSidecar(ctx); err != nil {
		return IndexInfo{}, err
	}
	if ix := f.heads.used(); ix != nil {
		if err := ix.Verify(ctx); errors.Is(err, index.ErrUnusable) {
			f.heads.drop(ix, err)
		} else if err != nil {
			return IndexInfo{}, wrap("index", -1, err)
		}
	}
	return f.KnownIndex(), nil
}
