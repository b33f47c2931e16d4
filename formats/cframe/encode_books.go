package cframe

import (
	"errors"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

// Books are the common part of the writers of contiguous and of sparse frames:
// sizes and kind in the order of the calls, offs in the order of the chunks as
// they were written.
type books struct {
	o       WriteOptions
	in      Info
	metas   []Metalayer
	touched bool // a metalayer changed after the header was written
	vl      []Metalayer
	sizes   sizeRule // of the chunks given so far
	kind    blocksKind
	pipe    pipe
	varies  bool    // as of the chunks written so far
	offs    []int64 // of those
	first   int     // size of the first of those
	last    int     // and of the last
	err     error
}

func newBooks(o WriteOptions) books {
	o.Limits = o.Limits.WithDefaults()
	in := o.info()
	b := books{in: in, pipe: pipe{limit: o.Parallel},
		sizes: sizeRule{chunk: in.ChunkSize, mayVary: o.Vary || in.ChunkSize == 0}, varies: in.ChunkSize == 0}
	for _, m := range o.Metalayers {
		b.metas = append(b.metas, Metalayer{m.Name, append([]byte(nil), m.Data...)})
	}
	b.o = o
	return b
}

// Chunks is how many chunks were given to the writer.
func (w *books) Chunks() int { return w.sizes.n }

// Info is the header; its sizes and lengths are right once the writer is closed.
func (w *books) Info() Info { return w.in }

// admit enters a chunk of the given size into the books.
func (w *books) admit(size int, vl bool) error {
	if w.err != nil {
		return w.err
	}
	before, kind := w.sizes, w.kind
	if 8*int64(before.n+1) > w.o.Limits.MaxMeta || int64(before.n) >= w.o.Limits.MaxEntries {
		return tooLarge("chunks", -1, "more than %d", before.n)
	}
	if err := w.kind.admit(before.n, vl); err != nil {
		return err
	}
	if err := w.sizes.insert(before.n, size); err != nil {
		w.sizes, w.kind = before, kind
		return err
	}
	return nil
}

// task is the one for a chunk that was admitted just now.
func (w *books) task(size int, chunk []byte) *task {
	return &task{size: size, chunk: chunk, varies: w.sizes.varies(), plain: w.sizes.n == 1 && w.sizes.mayVary}
}

// chunkJob is the task for WriteChunk, and the function that encodes.
func (w *books) chunkJob(p []byte) (*task, func(*task) error, error) {
	if err := w.admit(len(p), false); err != nil {
		return nil, nil, err
	}
	j := w.task(len(p), nil)
	src := p
	if w.pipe.limit > 1 {
		src = bufpool.Get(len(p))
		copy(src, p)
		j.src = src
	}
	o := w.o.Encode
	return j, func(j *task) error {
		buf := bufpool.Get(len(src) + blosc.HeaderLen2)
		chunk, err := blosc.AppendEncoded(buf[:0], src, o)
		if err != nil || cap(chunk) != cap(buf) {
			bufpool.Put(buf)
		} else {
			j.pooled = true
		}
		j.chunk = chunk
		return err
	}, nil
}

func (w *books) blocksJob(blocks [][]byte) (*task, error) {
	size := int64(0)
	for _, b := range blocks {
		size += int64(len(b))
	}
	if err := w.admit(int(min(size, math.MaxInt32)), true); err != nil {
		return nil, err
	}
	chunk, err := blosc.AppendEncodedVL(nil, blocks, w.o.Encode)
	return w.task(int(size), chunk), w.fail(err)
}

func (w *books) encodedJob(chunk []byte) (*task, error) {
	h, err := checkEncoded(w.sizes.n, chunk)
	if err != nil {
		return nil, err
	}
	if err := w.admit(h.NBytes, h.VL); err != nil {
		return nil, err
	}
	return w.task(h.NBytes, chunk), nil
}

func (w *books) specialJob(kind blosc.Special, size int) (*task, error) {
	chunk, err := specialChunk(w.sizes.n, kind, size, w.o.TypeSize, w.o.BlockSize)
	if err != nil {
		return nil, err
	}
	if err := w.admit(size, false); err != nil {
		return nil, err
	}
	return w.task(size, chunk), nil
}

// specialChunk is the chunk that stands for size bytes of a kind.
func specialChunk(i int, kind blosc.Special, size, typesize, blocksize int) ([]byte, error) {
	if err := checkSize(size); err != nil {
		return nil, err
	}
	if kind != blosc.Zeros && kind != blosc.NaN && kind != blosc.Uninit {
		return nil, refuse(partOf(i), "special chunk of %s", kind)
	}
	if typesize > blosc.MaxTypeSize {
		typesize = 1
	}
	chunk, err := blosc.AppendSpecial(nil, kind, size, typesize, blocksize, nil)
	if err != nil {
		return nil, refuse(partOf(i), "%d bytes of %s in items of %d: %s", size, kind, typesize, err.Error())
	}
	return chunk, nil
}

// SetMetalayer changes a metalayer of the header, for content that is known only
// at the end. Data, which is copied, must be as long as before, else it is
// ErrRefused; a name that the header does not have is ErrNoEntry.
func (w *books) SetMetalayer(name string, data []byte) error {
	if w.err != nil {
		return w.err
	}
	if err := sameLength(w.metas, name, data); err != nil {
		return err
	}
	w.touched = true
	return nil
}

// sameLength puts data into the layer of that name.
func sameLength(layers []Metalayer, name string, data []byte) error {
	for i := range layers {
		switch {
		case layers[i].Name != name:
		case len(layers[i].Data) != len(data):
			return refuse("metalayers", "%q: %d bytes in place of %d", name, len(data), len(layers[i].Data))
		default:
			layers[i].Data = append([]byte(nil), data...)
			return nil
		}
	}
	return fail("metalayers", -1, formats.ErrNoEntry, "%q", name)
}

// SetVLMetalayer adds a metalayer to the trailer, or replaces one. It encodes
// data, which it does not keep.
func (w *books) SetVLMetalayer(name string, data []byte) error {
	if w.err != nil {
		return w.err
	}
	m, err := encodeVL(name, data)
	if err != nil {
		return err
	}
	vl := setLayer(append([]Metalayer(nil), w.vl...), m)
	if err := checkTrailer(vl); err != nil {
		return err
	}
	w.vl = vl
	return nil
}

func (w *books) push(j *task, f, next func(*task) error) error {
	return w.fail(w.pipe.push(j, f, next))
}

func (w *books) drain(next func(*task) error) error {
	if w.err != nil {
		return w.err
	}
	return w.fail(w.pipe.drain(next))
}

// fail keeps an error, after which the frame cannot be finished.
func (w *books) fail(err error) error {
	if err == nil || w.err != nil {
		return w.err
	}
	w.err = err
	w.pipe.drop()
	return err
}

// place checks encoded chunk i and says by which offset it is known, or that it
// must be stored.
func place(i int, j *task, o *WriteOptions) (off int64, stored bool, err error) {
	h, err := checkEncoded(i, j.chunk)
	switch {
	case err != nil:
		return 0, false, err
	case h.NBytes != j.size:
		return 0, false, fmt.Errorf("%s: %s: encoded %d bytes for %d", Format, partOf(i), h.NBytes, j.size)
	}
	if off, ok := asOffset(&h, o.TypeSize); ok && !j.varies {
		return off, false, nil
	}
	chunk, err := asStored(&h, j.chunk, j.varies || j.plain, o.Limits.MaxDecoded)
	if len(chunk) != len(j.chunk) {
		j.release()
	}
	j.chunk = chunk
	return 0, true, err
}

// enter notes that a chunk was written.
func (w *books) enter(j *task, off int64) {
	if len(w.offs) == 0 {
		w.first = j.size
	}
	w.last = j.size
	w.offs = append(w.offs, off)
}

// storeSpecials stores the special chunks written so far: once sizes vary,
// nothing else tells how long they are.
func (w *books) storeSpecials(store func(i int, chunk []byte) (int64, error)) error {
	w.varies = true
	for i, off := range w.offs {
		kind := specialOf(off)
		if kind == blosc.None {
			continue
		}
		size := w.first
		if i == len(w.offs)-1 {
			size = w.last
		}
		chunk, err := specialChunk(i, kind, size, w.o.TypeSize, w.o.BlockSize)
		if err != nil {
			return err
		}
		if chunk, err = plainChunk(chunk, w.o.Limits.MaxDecoded); err != nil {
			return err
		}
		if w.offs[i], err = store(i, chunk); err != nil {
			return err
		}
	}
	return nil
}

var errClosed = errors.New("cframe: writer is closed")

// tail completes the header but for its lengths and makes offsets and trailer.
func (w *books) tail() ([]byte, error) {
	w.in.VLBlocks, w.in.HasVL = w.kind == kindVL, len(w.vl) > 0
	w.sizes.put(&w.in)
	tail, err := appendOffsets(nil, w.offs)
	if err != nil {
		return nil, err
	}
	return appendTrailer(tail, w.vl), nil
}

// Abort waits for chunks on their way and drops what was not written. It is
// harmless after Close. The caller drops the output.
func (w *books) Abort() {
	if w.err == nil {
		w.err = errClosed
		w.pipe.drop()
	}
}
