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

// IndexName is the object of a sparse frame that holds header, offsets and
// trailer.
const IndexName = "chunks.b2frame"

// chunkFile names the object of a chunk of a sparse frame. No name is ever
// taken from a file.
func chunkFile(number int64) string { return fmt.Sprintf("%08X.chunk", number) }

// OpenSet reads the index of a sparse frame, the object IndexName of s. The index
// is checked as by Open, with the same errors, and costs one open and the reads
// of Open. Each chunk that is read later is opened in s, the chunks of one EachConcurrent
// side by side, in one phase; bytes that the opening of an object keeps need no
// second request. Errors of s keep their identity.
func OpenSet(ctx context.Context, s formats.Set, o Options) (*Frame, error) {
	r, err := s.Open(ctx, IndexName)
	if err != nil {
		return nil, wrap("index", -1, err)
	}
	f := &Frame{set: s, index: r, o: o.withDefaults(r), sizes: newChunkStarts()}
	if err := f.open(ctx, true); err != nil {
		return nil, err
	}
	return f, nil
}

// sparseJob is the job of a chunk whose object is open: all of r.
func (f *Frame) sparseJob(j *job, r rangeio.Reader) *job {
	k := *j
	k.src, k.off, k.most, k.n = r, 0, r.Size(), r.Size()
	if k.nbytes >= 0 {
		if most := f.longest(k.nbytes); most >= 0 {
			k.most = min(k.most, most) // what comes after the chunk is nobody's
		}
	}
	return &k
}

// open opens the objects of chunks. It adds the chunks that are best read whole, and
// to add the block starts of the others.
func (r *reading) open(ctx context.Context, jobs []job, add func(pull.Part[*job]) error) error {
	if r.f.dry != nil {
		r.f.noteOpens(ctx, jobs)
		return nil
	}
	if jobs[0].src != nil { // their objects are open: the first bytes were too few
		for i := range jobs {
			if err := add(jobs[i].headPart(jobs[i].src)); err != nil {
				return err
			}
		}
		return nil
	}
	one := newGate()
	return r.f.opened(ctx, jobs, func(j *job, src rangeio.Reader) error {
		if j.n <= unknownMax && (j.all() || wholeAnyway(j.group(j.n), r.f.o.Policy)) {
			return r.add(pull.Part[piece]{From: src, Len: j.n, Ends: true, For: piece{j: j}})
		}
		one <- struct{}{}
		defer func() { <-one }()
		return add(j.headPart(src))
	})
}

// opened opens the objects of chunks side by side and calls fn with each.
func (f *Frame) opened(ctx context.Context, jobs []job, fn func(j *job, src rangeio.Reader) error) error {
	return par.Do(ctx, len(jobs), openFlight, func(ctx context.Context, i int) error {
		j := &jobs[i]
		src, err := f.set.Open(ctx, chunkFile(j.off))
		if err != nil {
			return f.inChunk(j, err)
		}
		if j = f.sparseJob(j, src); j.most < minChunkHeader {
			return f.inChunk(j, fmt.Errorf("a chunk of %d bytes: %w", j.most, formats.ErrCorrupt))
		}
		return fn(j, src)
	})
}

// openHead is what an object keeps of its own opening, unless it was opened
// otherwise.
const openHead = 64 << 10

// noteOpens notes what opening the objects of chunks, and reading what they do not keep
// of it, would take. An index does not tell how long they are: it is the mean.
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
		q := rangeio.Planned{Object: chunkFile(j.off), Len: min(n, openHead), Why: "open " + chunkName(j.chunk), Estimated: true}
		f.dry.Note(open, q)
		if g := j.group(n); !wholeAnyway(g, f.o.Policy) {
			n = min(n, openHead+g.blocks-j.headSize(n))
		}
		if n > openHead {
			q.Off, q.Len, q.Why = openHead, n-openHead, "what is wanted of "+chunkName(j.chunk)
			f.dry.Note(data, q)
		}
	}
}

// specialHeader is what the header of a chunk that is not stored would say.
func specialHeader(in *Info, nbytes int, kind blosc.Special) blosc.Header {
	size := in.BlockSize
	if size <= 0 {
		size = nbytes
	}
	return blosc.Header{TypeSize: in.TypeSize, NBytes: nbytes, BlockSize: size, CBytes: minChunkLen, Special: kind, Extended: true}
}
