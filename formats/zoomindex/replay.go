package zoomindex

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// replayMemory is how much of the index of a file that is there is held: that of a few
// gigabytes of samples.
const replayMemory = 256 << 20

// Replay calls f, which gives the Builder the windows and blocks of a file that is there,
// with values as readers get them (zoomcache.Resume), before a Writer goes on with that file.
// As nothing can be written into it then, the memory bound is 256 MiB until f returns.
func (x *Builder) Replay(f func() error) error {
	most := x.o.MaxMemory
	x.o.MaxMemory, x.decoded = max(most, replayMemory), true
	err := f()
	x.o.MaxMemory, x.decoded = most, false
	x.grace, x.behind.checked, x.checks = x.held(), -1, true // the first Between writes it
	return err
}

// Track is the number of the undeclared track that the index lies on, inside the file.
func (x *Builder) Track() int32 { return x.indexTrack() }

// Lose reads the packet b of r, which holds a part of an index from before, between the
// blocks of the file, and lists it in the new one as bytes that belong to no section. So
// a copy of the file without its index leaves them out.
func (x *Builder) Lose(ctx context.Context, r rangeio.Reader, b zoomcache.Block) error {
	if b.Len < 8 { // less than a page and its checksum
		return nil
	}
	p := make([]byte, min(b.Len, 1<<20))
	err := x.b.Lose(b.Off+zoomcache.BlockHeaderLen, b.Len, func(off, n int64) ([]byte, error) {
		if err := r.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p[:n]}}); err != nil {
			return nil, wrapRead(off, err)
		}
		return p[:n], nil
	}, int64(len(p)))
	if err != nil {
		return fmt.Errorf("the index that is there: %w", err)
	}
	x.spilled += zoomcache.BlockHeaderLen + b.Len
	return nil
}
