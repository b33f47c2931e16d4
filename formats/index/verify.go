package index

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/farread/farread/rangeio"
)

// Verify reads the whole index and all that was spilled, a MiB at a time, and
// compares them with the hash in the trailer: ErrUnusable if they differ. It does not read
// again what Open has read.
func (ix *Index) Verify(ctx context.Context) error {
	h := sha256.New()
	for _, e := range append(ix.Extents(), Extent{ix.Trailer.Off, ix.Trailer.Len}) {
		var kept []byte // what will be held of e: its first bytes
		if ix.known(e.Off, e.Len) == nil {
			kept = ix.hold.begin(e.Len)
		}
		for off, end := e.Off, e.Off+e.Len; off < end; {
			p, err := ix.piece(ctx, off, end, kept[min(off-e.Off, int64(len(kept))):])
			if err != nil {
				return err
			}
			if at := off - ix.Trailer.Off; at >= 0 && at < int64(len(magic)) && !strings.HasPrefix(string(p), magic[at:min(at+int64(len(p)), int64(len(magic)))]) {
				return unusable("it does not begin as one")
			}
			h.Write(p)
			off += int64(len(p))
		}
		ix.hold.add(e.Off, kept)
	}
	if [sha256.Size]byte(h.Sum(nil)) != ix.Trailer.SHA256 {
		return unusable("its hash is another")
	}
	return nil
}

// verifyStep is how many bytes Verify reads at a time.
const verifyStep = 1 << 20

// piece returns bytes of [off, end), and has them in room if that is not empty.
func (ix *Index) piece(ctx context.Context, off, end int64, room []byte) ([]byte, error) {
	if p := ix.known(off, end-off); p != nil {
		copy(room, p)
		return p, nil
	}
	p := room[:min(len(room), verifyStep)]
	if len(p) == 0 {
		p = make([]byte, min(end-off, verifyStep))
	}
	if off < ix.at {
		p = p[:min(int64(len(p)), ix.at-off)]
	}
	return p, ix.r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}})
}

// Hold lets Verify keep in memory what it reads, up to most bytes, until the last caller of
// Hold has called release: so who compares the pages with what they are about does not read
// them again.
func (ix *Index) Hold(most int64) (release func()) {
	x := &ix.hold
	x.mu.Lock()
	defer x.mu.Unlock()
	x.users++
	x.most = max(x.most, most)
	return sync.OnceFunc(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.users--; x.users == 0 {
			x.pieces, x.used, x.most = nil, 0, 0
		}
	})
}

// A hold is bytes of an object that Verify has read.
type hold struct {
	mu         sync.Mutex
	users      int // if there are none, nothing is held
	used, most int64
	pieces     []rangeio.Span
}

// begin returns memory for bytes to be held: n, or fewer, which Verify reads in whole steps.
func (x *hold) begin(n int64) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if left := x.most - x.used; n > left {
		n = left &^ (verifyStep - 1)
	}
	if x.users == 0 || n <= 0 {
		return nil
	}
	x.used += n
	return make([]byte, n)
}

// add holds p, what lies at off, in memory of begin.
func (x *hold) add(off int64, p []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.users > 0 && len(p) > 0 {
		x.pieces = append(x.pieces, rangeio.Span{Off: off, P: p})
	}
}

// get returns n bytes at off, or nil if they are not held.
func (x *hold) get(off, n int64) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.pieces {
		if s.Off <= off && off+n <= s.End() {
			return s.P[off-s.Off : off-s.Off+n : off-s.Off+n]
		}
	}
	return nil
}

// size returns the bytes that are held.
func (x *hold) size() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.used
}
