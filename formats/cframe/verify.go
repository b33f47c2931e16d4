package cframe

import (
	"context"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// A Report is what Verify has found.
type Report struct {
	Chunks int
	NBytes int64 // decoded
	CBytes int64 // of the chunks that are stored, as their headers say
	// Dead bytes lie between chunks and belong to none; 0 in a sparse frame.
	Dead int64
	// Special counts chunks without content by kind, stored or not.
	Special      map[blosc.Special]int64
	VLMetalayers int
}

// Verify reads everything: header, offsets and metalayers against each other and the
// object, and the header, the blocks and the decoded size of every chunk. Blosc stores
// no checksums, so a flipped bit that decodes to something else goes unseen. progress,
// if not nil, is told the decoded bytes so far and in all, one call at a time, from any
// goroutine; special chunks have none. It costs what ChunkHeaders costs, and then what
// EachConcurrent costs for all chunks.
func (f *Frame) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	vl, err := f.VLMetalayers(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := f.Refused(); err != nil {
		return Report{}, err
	}
	r := Report{Chunks: f.Chunks(), Special: map[blosc.Special]int64{}, VLMetalayers: len(vl)}
	var coded []Want // special chunks have nothing behind their headers that could be wrong
	var total int64
	err = f.EachHeader(ctx, 0, f.Chunks(), func(i int, h blosc.Header) error {
		if r.count(h, f.Chunk(i).Special == blosc.None); h.Special == blosc.None {
			coded, total = append(coded, Want{Chunk: i}), total+int64(h.NBytes)
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	if r.NBytes != f.info.NBytes {
		return r, corrupt("header", 0, "%d decoded bytes, the chunks have %d", f.info.NBytes, r.NBytes)
	}
	if f.info.NBytes > 0 && !f.info.Sparse {
		r.Dead = f.info.CBytes - r.CBytes
	}
	var mu sync.Mutex
	var done int64
	return r, f.EachConcurrent(ctx, coded, func(_, _ int, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		done += int64(len(p))
		progress.Tell(done, total)
		return nil
	})
}

func (r *Report) count(h blosc.Header, stored bool) {
	r.NBytes += int64(h.NBytes)
	if stored {
		r.CBytes += int64(h.CBytes)
	}
	if h.Special != blosc.None {
		r.Special[h.Special]++
	}
}
