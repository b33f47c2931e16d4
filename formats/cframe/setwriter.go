package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// A SetWriter writes a sparse frame. It publishes each chunk that needs bytes as
// an object of its own at once, and the index in Close. So a folder without an
// index is an unfinished frame. A SetWriter has the methods and the rules of
// Writer. WriteOptions.Parallel is the number of chunks that are encoded and
// published at the same time.
//
// If the frame is given up, published chunks stay. The caller has to remove them,
// since a SetWriter does not know whether the folder has other objects.
type SetWriter struct {
	books
	ctx context.Context //nolint:containedctx // for the whole frame: a chunk may be published after its call has returned
	out formats.SetOutput
}

// NewSetWriter checks o as NewWriter does. It creates no object. ctx is for the whole
// frame: if it ends, later calls fail.
func NewSetWriter(ctx context.Context, out formats.SetOutput, o WriteOptions) (*SetWriter, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	w := &SetWriter{books: newBooks(o), ctx: ctx, out: out}
	w.in.Sparse = true
	return w, nil
}

// WriteChunk encodes p as the next chunk. It does not keep p. If WriteOptions.Parallel is
// above 1, this and the other methods may return before the chunk is published; then a
// later call returns the chunk's error. Errors of the SetOutput are wrapped, so that
// errors.Is finds them.
func (w *SetWriter) WriteChunk(p []byte) error {
	j, encode, err := w.chunkJob(p)
	if err != nil {
		return err
	}
	i := w.sizes.n - 1
	return w.push(j, func(j *task) error {
		if err := encode(j); err != nil {
			return err
		}
		return w.publish(i, j)
	}, w.put)
}

// WriteBlocks is as Writer.WriteBlocks.
func (w *SetWriter) WriteBlocks(blocks [][]byte) error {
	j, err := w.blocksJob(blocks)
	if err != nil {
		return err
	}
	return w.later(j)
}

// WriteEncoded is as Writer.WriteEncoded.
func (w *SetWriter) WriteEncoded(chunk []byte) error {
	j, err := w.encodedJob(chunk)
	if err != nil {
		return err
	}
	if w.pipe.limit > 1 { // the chunk is used after the call
		j.chunk = append([]byte(nil), chunk...)
	}
	return w.later(j)
}

// WriteSpecial is as Writer.WriteSpecial.
func (w *SetWriter) WriteSpecial(kind blosc.Special, size int) error {
	j, err := w.specialJob(kind, size)
	if err != nil {
		return err
	}
	return w.later(j)
}

// later publishes an encoded chunk, perhaps after the call.
func (w *SetWriter) later(j *task) error {
	i := w.sizes.n - 1
	return w.push(j, func(j *task) error { return w.publish(i, j) }, w.put)
}

// publish stores chunk i, unless an offset stands for it. It runs concurrently
// with other calls and changes only j.
func (w *SetWriter) publish(i int, j *task) error {
	off, stored, err := place(i, j, &w.o)
	if err != nil {
		return err
	}
	if j.off = off; stored {
		j.off = int64(i)
		err = w.store(ChunkFile(j.off), j.chunk)
	}
	return err
}

func (w *SetWriter) store(name string, p []byte) error {
	obj, err := w.out.Create(w.ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", Format, name, err)
	}
	defer obj.Abort()
	if _, err := obj.Write(p); err != nil {
		return fmt.Errorf("%s: %s: %w", Format, name, err)
	}
	if err := obj.Commit(w.ctx); err != nil {
		return fmt.Errorf("%s: %s: %w", Format, name, err)
	}
	return nil
}

// put counts a published chunk. It is called in the order of chunks.
func (w *SetWriter) put(j *task) error {
	if j.varies && !w.varies {
		err := w.storeSpecials(func(i int, chunk []byte) (int64, error) {
			w.in.CBytes += int64(len(chunk))
			return int64(i), w.store(ChunkFile(int64(i)), chunk)
		})
		if err != nil {
			return err
		}
	}
	if j.off >= 0 {
		w.in.CBytes += int64(len(j.chunk))
	}
	w.enter(j, j.off)
	return nil
}

// Close waits for all chunks and then publishes the index. A second Close
// returns an error.
func (w *SetWriter) Close() error {
	if err := w.drain(w.put); err != nil {
		return err
	}
	tail, err := w.offsets()
	if err != nil {
		return w.fail(err)
	}
	tail = appendTrailer(tail, w.vl)
	w.in.FrameLen = w.in.HeaderLen + int64(len(tail))
	index := append(appendHeader(nil, &w.in, w.metas), tail...)
	if err := w.store(IndexName, index); err != nil {
		return w.fail(err)
	}
	w.err = errClosed
	return nil
}
