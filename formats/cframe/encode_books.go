package cframe

import (
	"errors"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
)

// books is the common part of Writer and SetWriter. The fields sizes and kind
// count a chunk when it is given to the writer; the fields varies to last count
// it when it is written.
type books struct {
	o       WriteOptions
	in      Info
	metas   []Metalayer
	touched bool // a metalayer changed after the header was written
	vl      []Metalayer
	sizes   sizeRule // sizes of the chunks given so far
	kind    blocksKind
	pipe    pipe
	varies  bool    // sizes vary among the chunks written so far
	offs    []int64 // offsets of the chunks written so far
	first   int     // decoded size of the first chunk written
	last    int     // decoded size of the last chunk written
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

// Chunks returns the number of chunks given to the writer.
func (w *books) Chunks() int { return w.sizes.n }

// Info returns the header. Its sizes and lengths are right after Close.
func (w *books) Info() Info { return w.in }

// admit counts a chunk of size decoded bytes, or returns an error if the frame
// cannot take it.
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

// task returns the task for the chunk that was admitted last.
func (w *books) task(size int, chunk []byte) *task {
	return &task{size: size, chunk: chunk, varies: w.sizes.varies(), plain: w.sizes.n == 1 && w.sizes.mayVary}
}

// chunkJob returns the task for WriteChunk, and the function that encodes the
// chunk.
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

// specialChunk returns the encoded special chunk of a kind for size decoded
// bytes.
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

// SetMetalayer replaces the data of a metalayer of the header, for data that are
// known only at the end. data is copied. SetMetalayer returns ErrRefused if data
// is not exactly as long as before, and ErrNoEntry if the header has no
// metalayer of this name.
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

// sameLength replaces the data of the layer with the given name by a copy of
// data, which must have the same length.
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

// SetVLMetalayer adds a metalayer to the trailer, or replaces the one of the
// same name. It encodes data and does not keep it.
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

// fail keeps err as the error of all later calls: the frame cannot be finished.
func (w *books) fail(err error) error {
	if err == nil || w.err != nil {
		return w.err
	}
	w.err = err
	w.pipe.drop()
	return err
}

// place checks the encoded chunk i. If the chunk needs no bytes in the frame,
// place returns the offset that stands for it, else stored is true.
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

// enter notes the offset and the size of a chunk that was written.
func (w *books) enter(j *task, off int64) {
	if len(w.offs) == 0 {
		w.first = j.size
	}
	w.last = j.size
	w.offs = append(w.offs, off)
}

// storeSpecials stores the special chunks so far, which had no bytes: if sizes
// vary, an offset alone does not tell their size.
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

// offsets sets the fields of the header except its lengths, and returns the
// encoded offsets.
func (w *books) offsets() ([]byte, error) {
	w.in.VLBlocks, w.in.HasVL = w.kind == kindVL, len(w.vl) > 0
	w.sizes.put(&w.in)
	return appendOffsets(nil, w.offs)
}

// Abort gives up the writer. It waits for chunks that are being encoded. It
// does nothing after Close. The caller aborts the Output.
func (w *books) Abort() {
	if w.err == nil {
		w.err = errClosed
		w.pipe.drop()
	}
}
