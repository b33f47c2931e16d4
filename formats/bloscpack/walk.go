package bloscpack

import (
	"context"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

const (
	// Headers of chunks are looked for in windows. These begin small and grow as long
	// as chunks are small enough to be read through.
	minAhead, maxAhead = 64 << 10, 4 << 20
	// jumpAhead is how many bytes are read at a chunk's start if chunks are so long
	// that they are jumped over: more than its header, and still one packet.
	jumpAhead = 512
)

// A follower goes from chunk to chunk by their headers. It reads ahead if chunks are
// short.
type follower struct {
	f    *File
	i    int64 // number of the next chunk
	off  int64 // where it begins
	from int64 // where the follower began

	at    int64 // of buf in the file
	buf   []byte
	ahead int64
	most  int64 // chunks up to this, on average, are read through
}

func (f *File) follow(i, off int64) *follower {
	// A jump takes as long as Policy.MaxGap bytes, but bytes cost something, too.
	w := &follower{f: f, i: i, off: off, from: off, ahead: minAhead, most: max(f.o.Policy.Free, f.o.Policy.MaxGap/4)}
	if b := f.head0(off); len(b) > 0 {
		w.at, w.buf = off, b
	}
	return w
}

// head0 gives the bytes from off on that Open has read.
func (f *File) head0(off int64) []byte {
	if off >= int64(len(f.first)) {
		return nil
	}
	return f.first[off:]
}

// next gives the next chunk: its place, header, and length with its digest.
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

// bytes gives the bytes at the next chunk, enough for its header unless the file ends.
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
	if int64(cap(w.buf)) < n || w.at < int64(len(w.f.first)) { // the buffer that Open filled is not ours to write to
		w.buf = make([]byte, n)
	}
	w.at, w.buf = w.off, w.buf[:n]
	if err := w.f.r.ReadRanges(ctx, []rangeio.Span{{Off: w.at, P: w.buf}}); err != nil {
		w.buf = nil
		return nil, err
	}
	return w.buf, nil
}

const lensPage = 4096

// walk keeps the places of chunks that were found by following headers, in a file
// without a table or with a wrong one: 4 bytes a chunk.
type walk struct {
	mu    chan struct{} // held while reading; a context can end the wait for it
	lens  [][]uint32    // of chunks with their digests, lensPage in each but the last
	marks []int64       // where the first chunk of each page begins
	w     *follower
}

// walked gives the places of the chunks [i, j), following headers as far as
// needed.
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
