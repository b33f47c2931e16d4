package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
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
// of Open. Each chunk that is read later is opened in s, the chunks of one Read
// side by side, in one phase; bytes that the opening of an object keeps need no
// second request. Errors of s keep their identity.
func OpenSet(ctx context.Context, s formats.Set, o Options) (*Frame, error) {
	r, err := s.Open(ctx, IndexName)
	if err != nil {
		return nil, wrap("index", -1, err)
	}
	f := &Frame{set: s, index: r, o: o.withDefaults(r), sizes: &chunkStarts{}}
	if err := f.open(ctx, true); err != nil {
		return nil, err
	}
	return f, nil
}

// sparseJob is the job of a chunk whose object is open: all of r.
func (f *Frame) sparseJob(j *job, r rangeio.Reader) *job {
	k := *j
	k.off, k.most, k.n = 0, r.Size(), r.Size()
	if k.nbytes >= 0 {
		if most := f.longest(k.nbytes); most >= 0 {
			k.most = min(k.most, most) // what comes after the chunk is nobody's
		}
	}
	return &k
}

// sparseHeaders reads the header of each chunk from its own object.
func (r *reading) sparseHeaders(ctx context.Context, from int, out []blosc.Header) error {
	return par.Do(ctx, len(out), smallFlight, func(ctx context.Context, k int) error {
		j := r.f.jobOf(from + k)
		if kind := r.f.Chunk(j.chunk).Special; kind != blosc.None {
			out[k] = specialHeader(&r.f.info, j.nbytes, kind)
			return nil
		}
		src, err := r.f.set.Open(r.phase(ctx, 0), chunkFile(j.off))
		if err != nil {
			return r.f.inChunk(&j, err)
		}
		s := r.f.sparseJob(&j, src)
		b := make([]byte, min(s.most, minChunkLen))
		if err := read(r.phase(ctx, 1), src, []rangeio.Span{{P: b}}); err != nil {
			return r.f.inChunk(&j, err)
		}
		out[k], err = r.header(s, b, s.most)
		return r.f.inChunk(&j, err)
	})
}

// specialHeader is what the header of a chunk that is not stored would say.
func specialHeader(in *Info, nbytes int, kind blosc.Special) blosc.Header {
	size := in.BlockSize
	if size <= 0 {
		size = nbytes
	}
	return blosc.Header{TypeSize: in.TypeSize, NBytes: nbytes, BlockSize: size, CBytes: minChunkLen, Special: kind, Extended: true}
}
