package cframe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
)

// A Report is the result of Verify.
type Report struct {
	Chunks int
	NBytes int64 // decoded bytes of all chunks
	CBytes int64 // encoded bytes of the stored chunks, by their headers
	// Dead is the number of bytes that belong to no chunk although they are in
	// the section of chunks, and not to the index. It is 0 in a sparse frame.
	Dead int64
	// Index is the index that Verify has compared with the chunks, or the reason
	// why it is not used.
	Index IndexInfo
	// Special counts special chunks by kind, whether they have bytes in the
	// frame or not.
	Special      map[blosc.Special]int64
	VLMetalayers int
}

// Verify reads the whole frame. It checks that header, offsets and metalayers agree
// with each other and with the object, and it checks the header, the blocks and the
// decoded size of every chunk. Blosc stores no checksums, so Verify cannot see a
// flipped bit that changes only decoded bytes. If progress is not nil, it is told the
// decoded bytes so far and in all, without special chunks of the index, one call at a
// time, from any goroutine. Verify costs as much as EachConcurrent for all chunks. If
// the frame has an index, Verify reads that too, and the block starts of the chunks: an
// index that is whole and says something else is ErrCorrupt, after all chunks were read.
// One that is damaged, or not in use, is no error, as readers do without it; the Report
// says why.
func (f *Frame) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	return f.VerifyEach(ctx, progress, 0, nil)
}

// VerifyEach is Verify that also calls each with each decoded block or chunk, as
// EachConcurrent does for Wants of this blockSize: in any order, from several goroutines.
// It is not called for special chunks, which are headers alone. An error of each is
// returned as it is. A nil each is not called.
func (f *Frame) VerifyEach(ctx context.Context, progress formats.Progress, blockSize int, each func(chunk, block int, p []byte) error) (Report, error) {
	vl, err := f.VLMetalayers(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := f.Refused(); err != nil {
		return Report{}, err
	}
	if f, err = f.whole(ctx); err != nil {
		return Report{}, err
	}
	r := Report{Chunks: f.Chunks(), Special: map[blosc.Special]int64{}, VLMetalayers: len(vl)}
	release, err := f.HoldIndex(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	lie, err := f.verifyIndex(ctx, &r)
	if err != nil {
		return r, err
	}
	if err := f.verifyChunks(ctx, &r, progress, blockSize, each); err != nil {
		return r, err
	}
	if r.NBytes != f.info.NBytes {
		return r, corrupt("header", 0, "%d decoded bytes, the chunks have %d", f.info.NBytes, r.NBytes)
	}
	if f.info.NBytes > 0 && !f.info.Sparse {
		r.Dead += f.info.CBytes - r.CBytes
	}
	return r, lie
}

// HoldIndex lets Verify keep in memory what it reads of the index, up to 16 MiB, until release
// is called: so who compares more of the index with the chunks does not read it again. It
// looks for an index as Index does.
func (f *Frame) HoldIndex(ctx context.Context) (release func(), err error) {
	if err := f.OpenSidecar(ctx); err != nil {
		return nil, err
	}
	if ix := f.heads.used(); ix != nil {
		return ix.Hold(), nil
	}
	return func() {}, nil
}

// verifyChunks reads and decodes all chunks that have bytes in the frame, and counts
// chunks by their headers. blockSize and each are those of VerifyEach. All offsets must be
// known.
func (f *Frame) verifyChunks(ctx context.Context, r *Report, progress formats.Progress, blockSize int, each func(chunk, block int, p []byte) error) error {
	total := f.info.NBytes
	counted := make([]bool, f.table.n)
	coded := make([]Want, 0, f.table.n)
	for i := range f.table.n {
		c := f.chunk(i)
		if c.Special == blosc.None {
			coded = append(coded, Want{Chunk: i, BlockSize: blockSize, Kept: max(c.NBytes, 0)}) // as fast as reading them into memory
			continue
		}
		h := specialHeader(&f.info, c.NBytes, c.Special)
		r.count(h, false)
		counted[i] = true
		total -= int64(h.NBytes)
	}
	var mu sync.Mutex
	var done int64
	err := f.each(ctx, coded, hooks{headed: func(chunk int, h *blosc.Header) {
		mu.Lock()
		defer mu.Unlock()
		if !counted[chunk] {
			counted[chunk] = true
			r.count(*h, true)
		}
	}}, func(want, block int, p []byte) error {
		if each != nil {
			if err := each(coded[want].Chunk, block, p); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		done += int64(len(p))
		progress.Tell(done, total)
		return nil
	})
	for i := range f.table.n {
		if err != nil {
			return err
		}
		if !counted[i] { // an empty chunk, which has no bytes to decode
			err = f.EachHeader(ctx, i, i+1, func(_ int, _ ChunkInfo, h blosc.Header) error {
				r.count(h, true)
				return nil
			})
		}
	}
	return err
}

// verifyIndex compares the index in use with the chunks. lie is that it says something
// else. An index that is damaged, or lies, is not used any more.
func (f *Frame) verifyIndex(ctx context.Context, r *Report) (lie, err error) {
	if r.Index, err = f.Index(ctx); err != nil {
		return nil, err
	}
	ix := f.heads.used()
	if ix == nil {
		return nil, nil
	}
	if r.Index.Inside && f.info.NBytes > 0 {
		r.Dead -= ix.Outside()
	}
	if err := ix.Verify(ctx); errors.Is(err, index.ErrUnusable) {
		f.heads.drop(ix, err)
		r.Index = f.KnownIndex()
		return nil, nil
	} else if err != nil {
		return nil, wrap("index", -1, err)
	}
	if ix.HasPlaces() {
		err = f.verifyPlaces(ctx, ix)
	}
	if err == nil {
		err = f.verifyHeads(ctx, ix)
	}
	if errors.Is(err, index.ErrUnusable) {
		f.heads.drop(ix, err)
		return fail("index", -1, formats.ErrCorrupt, "%s", err.Error()), nil
	}
	return nil, err
}

// verifyHeads compares the block starts in the index with those of the chunks. The error
// matches index.ErrUnusable if they differ.
func (f *Frame) verifyHeads(ctx context.Context, ix *frameindex.Index) error {
	var chunks []int // some thousand: a page of the index is decoded once for all of its chunks
	var heads [][]byte
	return f.eachHead(ctx, 0, f.table.n, func(i int, head []byte) error {
		chunks, heads = append(chunks, i), append(heads, head)
		if len(chunks) < scanBatch && i < f.table.n-1 {
			return nil
		}
		err := ix.Heads(ctx, chunks, func(k int, got []byte) error {
			if len(got) > 0 && !bytes.Equal(got, heads[k]) {
				return fmt.Errorf("%s: %w", chunkName(chunks[k]), errHeads)
			}
			return nil
		})
		chunks, heads = chunks[:0], heads[:0]
		return err
	})
}

// verifyPlaces compares the places of chunks in the index with the offsets and with the
// chunks. The error matches index.ErrUnusable if they differ.
func (f *Frame) verifyPlaces(ctx context.Context, ix *frameindex.Index) error {
	for from := 0; from < f.table.n; {
		to := min(f.table.n, from+scanBatch)
		headers, err := f.ChunkHeaders(ctx, from, to)
		if err != nil {
			return err
		}
		chunks := make([]int, to-from)
		for k := range chunks {
			chunks[k] = from + k
		}
		err = ix.Places(ctx, chunks, func(k int, p frameindex.Place) error {
			c, i := f.chunk(chunks[k]), chunks[k]
			lo, hi, _ := ix.Guess(i)
			switch {
			case p.Special != c.Special:
			case p.Special != blosc.None:
				return nil
			case p.Off+f.info.HeaderLen == c.Off && p.Size >= int64(headers[k].CBytes) && p.Size <= f.table.roomOf(i) && lo <= p.Off && p.Off+p.Size <= hi:
				return nil
			}
			return fmt.Errorf("%s: %w", chunkName(i), errOffsets)
		})
		if err != nil {
			return err
		}
		from = to
	}
	return nil
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
