package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// IndexName is the name of the object in a sparse frame that holds header,
// offsets and trailer.
const IndexName = "chunks.b2frame"

// ChunkFile returns the name of a chunk's object in a sparse frame. number is
// ChunkInfo.Off. Names never come from the data.
func ChunkFile(number int64) string { return fmt.Sprintf("%08X.chunk", number) }

// OpenSet reads the index of a sparse frame, which is the object IndexName of s. It
// checks the index as Open does, with the same errors. It costs one open and the reads of
// Open. Later reads open the objects of chunks in s; one EachConcurrent opens several at
// a time, in one phase. Bytes that an object holds from its opening need no second
// request. Errors of s are wrapped, so that errors.Is finds them.
func OpenSet(ctx context.Context, s formats.Set, o Options) (*Frame, error) {
	r, err := s.Open(ctx, IndexName)
	if err != nil {
		return nil, wrap("index", -1, err)
	}
	f := &Frame{set: s, index: r, o: o.withDefaults(r), sizes: newChunkStarts(), heads: newFrameIndex()}
	if err := f.open(ctx, true); err != nil {
		return nil, err
	}
	return f, nil
}

// sparseJob returns the job of a chunk whose object r is open.
func (f *Frame) sparseJob(j *job, r rangeio.Reader) *job {
	k := *j
	k.src, k.off, k.most, k.n = r, 0, r.Size(), r.Size()
	if k.nbytes >= 0 {
		if most := f.longest(k.nbytes); most >= 0 {
			k.most = min(k.most, most) // bytes after the chunk have no meaning
		}
	}
	return &k
}

// open opens the objects of chunks. It adds chunks that are best read whole to the
// Pull of run, and for all others it passes the part with the block starts to add.
func (r *reading) open(ctx context.Context, jobs []job, add func(pull.Part[*job]) error) error {
	if r.f.dry != nil {
		r.f.noteOpens(ctx, jobs)
		return nil
	}
	if jobs[0].src != nil { // the objects are open already: the first read did not get all block starts
		for i := range jobs {
			if err := add(jobs[i].headPart(jobs[i].src)); err != nil {
				return err
			}
		}
		return nil
	}
	one := newGate()
	return r.f.opened(ctx, jobs, func(j *job, src rangeio.Reader) error {
		if j.n <= unknownMax && (j.all() || wholeAnyway(j.cost(j.n), r.f.o.Policy)) {
			return r.add(pull.Part[piece]{From: src, Len: j.n, Ends: true, For: piece{j: j}})
		}
		one <- struct{}{}
		defer func() { <-one }()
		return add(j.headPart(src))
	})
}

// opened opens the objects of chunks in parallel and calls fn with each.
func (f *Frame) opened(ctx context.Context, jobs []job, fn func(j *job, src rangeio.Reader) error) error {
	return par.Do(ctx, len(jobs), openFlight, func(ctx context.Context, i int) error {
		j := &jobs[i]
		src, err := f.set.Open(ctx, ChunkFile(j.off))
		if err != nil {
			return f.inChunk(j, err)
		}
		if j = f.sparseJob(j, src); j.most < minChunkHeader {
			return f.inChunk(j, fmt.Errorf("a chunk of %d bytes: %w", j.most, formats.ErrCorrupt))
		}
		return fn(j, src)
	})
}

// openHead is the number of bytes that an object holds from its opening, by
// default.
const openHead = 64 << 10

// noteOpens notes in a plan the requests to open the objects of chunks, and to read the
// bytes that they do not hold from their opening. The index does not tell the lengths
// of chunks, so it assumes the mean.
func (f *Frame) noteOpens(ctx context.Context, jobs []job) {
	stored := int64(0)
	for i := range f.table.n {
		if kind, _ := special(f.table.at(i)); kind == 0 {
			stored++
		}
	}
	open, data := rangeio.Steps(ctx)
	for i := range jobs {
		j := &jobs[i]
		n := f.info.CBytes / max(stored, 1)
		if j.most >= 0 {
			n = min(n, j.most)
		}
		q := rangeio.Planned{Object: ChunkFile(j.off), Len: min(n, openHead), Why: "open " + chunkName(j.chunk), Estimated: true}
		f.dry.Note(open, q)
		if g := j.cost(n); !wholeAnyway(g, f.o.Policy) {
			n = min(n, openHead+g.blocks-j.headSize(n))
		}
		if n > openHead {
			q.Off, q.Len, q.Why = openHead, n-openHead, "what is wanted of "+chunkName(j.chunk)
			f.dry.Note(data, q)
		}
	}
}

// specialHeader returns the header that a special chunk without bytes in the
// frame would have.
func specialHeader(in *Info, nbytes int, kind blosc.Special) blosc.Header {
	size := in.BlockSize
	if size <= 0 {
		size = nbytes
	}
	return blosc.Header{TypeSize: in.TypeSize, NBytes: nbytes, BlockSize: size, CBytes: minChunkLen, Special: kind, Extended: true}
}
