package bloscpack

import (
	"context"
	"sync/atomic"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

const (
	// A follower reads windows of the file. Windows begin with minAhead and double up
	// to maxAhead while chunks are small.
	minAhead, maxAhead = 64 << 10, 4 << 20
	// jumpAhead is the number of bytes that are read of each chunk if chunks are
	// long: more than a header, and still one network packet.
	jumpAhead = 512
)

// A follower goes from chunk to chunk by their headers. It reads short chunks
// through, and jumps over long ones.
type follower struct {
	f    *File
	i    int64 // number of the next chunk
	off  int64 // offset of the next chunk
	from int64 // offset of the first chunk

	at    int64 // offset of buf in the file
	buf   []byte
	ahead int64
	most  int64 // chunks are read through if their average length is at most this
}

func (f *File) follow(i, off int64) *follower {
	// A jump takes as long as reading Policy.MaxGap bytes. A quarter of that is
	// the limit, since bytes cost money, too.
	w := &follower{f: f, i: i, off: off, from: off, ahead: minAhead, most: max(f.o.Policy.Free, f.o.Policy.MaxGap/4)}
	if b := f.head0(off); len(b) > 0 {
		w.at, w.buf = off, b
	}
	return w
}

// head0 returns the bytes from off on that Open has read.
func (f *File) head0(off int64) []byte {
	if off >= int64(len(f.first)) {
		return nil
	}
	return f.first[off:]
}

// next returns the place and the header of the next chunk; n is its length with
// its digest.
func (w *follower) next(ctx context.Context) (p place, h blosc.Header, n int64, err error) {
	p = place{i: w.i, off: w.off, room: w.f.size - w.off}
	if err := w.f.inFile(p); err != nil {
		return p, h, 0, err
	}
	b, err := w.bytes(ctx)
	if err != nil {
		return p, h, 0, wrap(w.f.h.Part(w.i), w.off, err)
	}
	h, n, err = w.f.head(p, b)
	if err != nil {
		return p, h, 0, err
	}
	p.room, p.sure = n, true
	w.i, w.off = w.i+1, w.off+n
	return p, h, n, nil
}

// bytes returns bytes from the start of the next chunk on: at least its header, unless
// the file ends before.
func (w *follower) bytes(ctx context.Context) ([]byte, error) {
	need := min(blosc.HeaderLen2, w.f.size-w.off)
	if have := w.at + int64(len(w.buf)) - w.off; have >= need {
		return w.buf[w.off-w.at:], nil
	}
	n := int64(jumpAhead)
	if count := w.i; w.off == w.from || (w.off-w.from) <= w.most*max(count, 1) {
		n = w.ahead
		w.ahead = min(2*w.ahead, maxAhead)
	}
	n = min(n, w.f.size-w.off)
	if int64(cap(w.buf)) < n || w.at < int64(len(w.f.first)) { // buf is File.first, which others read
		w.buf = make([]byte, n)
	}
	w.at, w.buf = w.off, w.buf[:n]
	if err := w.f.r.ReadRanges(ctx, []rangeio.Span{{Off: w.at, P: w.buf}}); err != nil {
		w.buf = nil
		return nil, err
	}
	return w.buf, nil
}

const (
	lensPage = 4096
	markCost = 32 // bytes that a page takes besides its lengths
)

// walk keeps the lengths of chunks that were found by their headers, 4 bytes for
// each chunk, if a file has no table or a wrong one.
type walk struct {
	mu    chan struct{} // a lock that a context can stop waiting for
	lens  [][]uint32    // lengths of chunks with their digests, in pages of lensPage
	marks []int64       // offset of the first chunk of each page
	w     *follower
	kept  atomic.Int64 // memory of all this
}

// walked returns the places of the chunks [i, j). It reads headers of chunks
// from the last known one on.
func (f *File) walked(ctx context.Context, i, j int64) ([]place, error) {
	k := &f.walk
	select {
	case k.mu <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-k.mu }()
	if k.w == nil {
		k.w = f.follow(0, f.body)
	}
	for k.w.i < j {
		p, _, n, err := k.w.next(ctx)
		if err != nil {
			return nil, err
		}
		if p.i%lensPage == 0 {
			k.lens, k.marks = append(k.lens, nil), append(k.marks, p.off)
		}
		last := len(k.lens) - 1
		k.lens[last] = append(k.lens[last], uint32(n))
		k.kept.Store(int64(last)*(4*lensPage+markCost) + int64(4*cap(k.lens[last])+cap(k.w.buf)))
	}
	out := make([]place, 0, j-i)
	off := int64(0)
	for c := i / lensPage * lensPage; c < j; c++ {
		if c%lensPage == 0 {
			off = k.marks[c/lensPage]
		}
		n := int64(k.lens[c/lensPage][c%lensPage])
		if c >= i {
			out = append(out, place{i: c, off: off, room: n, sure: true})
		}
		off += n
	}
	return out, nil
}
