package b2nd

import (
	"context"
	"errors"
	"sync"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/rangeio"
)

// maxSieve bounds the memory of what is known of single blocks: bits of 2^28 blocks. Of
// further chunks every block is read.
const maxSieve = 1 << 28

// A sieve tells which chunks and blocks may have items that match. It takes none for
// certain: what is read is always looked at.
type sieve struct {
	a     *Array
	none  bool              // no item of the array matches
	chunk []predicate.Match // of chunks in the box; nil: no statistics are used
	block map[int][]uint64  // bits of the blocks that may match, of chunks of which only some may
}

// sieve asks the statistics of the array about the chunks of a box. The second result is
// why there are none of use, or nil; other errors are the third one.
func (a *Array) sieve(ctx context.Context, box Box, p *predicate.Predicate) (v *sieve, unused, err error) {
	v = &sieve{a: a}
	s, err := a.Statistics(ctx)
	if err == nil && s != nil && (len(p.Columns()) == 0 || p.Columns()[len(p.Columns())-1] < s.Columns()) {
		err = v.ask(ctx, s, box, p)
	}
	if errors.Is(err, index.ErrUnusable) {
		return &sieve{a: a}, err, nil
	}
	return v, nil, err
}

// ask reads statistics: of all items, of the chunks of the box, and of the blocks of those
// chunks of which some items may match.
func (v *sieve) ask(ctx context.Context, s *Statistics, box Box, p *predicate.Predicate) error {
	all, err := s.All(ctx, p.Columns())
	if err != nil {
		return err
	}
	v.chunk = make([]predicate.Match, v.a.g.chunks.Total)
	if v.none = p.Match(all) == predicate.None; v.none {
		return nil
	}
	g := v.a.g
	var chunks []int
	for n := range g.chunks.Meet(box, make([]int64, len(g.shape)), g.shape) {
		chunks = append(chunks, int(n))
	}
	var some []int
	err = s.Chunks(ctx, p.Columns(), chunks, func(i int, list []stats.Stat) error {
		c := chunks[i]
		if v.chunk[c] = p.Match(list); v.chunk[c] == predicate.Some && !v.a.free(c) {
			some = append(some, c)
		}
		return ctx.Err()
	})
	if err != nil || !s.HasBlocks() || len(some) == 0 {
		return err
	}
	some = some[:min(int64(len(some)), maxSieve/g.blocks.Total)]
	v.block = make(map[int][]uint64, len(some))
	if !s.s.Held(p.Columns(), some) {
		var heads sync.WaitGroup // of the chunks, in the same phase: blocks of most of them will be read
		defer heads.Wait()
		ctx = rangeio.OnePhase(ctx)
		heads.Go(func() { v.a.f.FetchHeads(ctx, some) })
	}
	return s.Blocks(ctx, p.Columns(), some, func(i int, list []stats.Stat) error {
		bits := make([]uint64, (g.blocks.Total+63)/64)
		n := len(p.Columns())
		for k := range int(g.blocks.Total) {
			if p.Match(list[k*n:(k+1)*n]) != predicate.None {
				bits[k/64] |= 1 << (k % 64)
			}
		}
		v.block[some[i]] = bits
		return ctx.Err()
	})
}

// free reports whether it is known that the items of a chunk cost no request: all are
// zeros.
func (a *Array) free(chunk int) bool {
	s := a.f.SpecialIfKnown(chunk)
	return s == blosc.Zeros || s == blosc.Uninit
}

// mayMatch reports whether a chunk may have items that match.
func (v *sieve) mayMatch(chunk int) bool {
	return !v.none && (v.chunk == nil || v.chunk[chunk] != predicate.None)
}

// has reports whether a block of a chunk that may match may match, too.
func (v *sieve) has(chunk, block int) bool {
	bits := v.block[chunk]
	return bits == nil || bits[block/64]>>(block%64)&1 == 1
}
