package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
)

// A SetWriter writes a sparse frame: each chunk that takes room as an object of
// its own, published at once, and by Close the index. So a frame without an index
// is an unfinished one. It has the methods of Writer, and the same rules; Parallel
// counts chunks that are encoded and published at the same time.
//
// Chunks that were published stay if the frame is given up. The caller removes
// them, who knows whether others lie in the folder.
type SetWriter struct {
	books
	ctx context.Context //nolint:containedctx // of the whole frame: publishing goes on after the call that began it
	out formats.SetOutput
}

// NewSetWriter checks o, as NewWriter does. It creates nothing. ctx ends the writing of
// the frame.
func NewSetWriter(ctx context.Context, out formats.SetOutput, o WriteOptions) (*SetWriter, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	w := &SetWriter{books: newBooks(o), ctx: ctx, out: out}
	w.in.Sparse = true
	return w, nil
}

// WriteChunk encodes p, which it does not keep, as the next chunk. With
// Parallel it may return before the chunk is published, as the other methods
// may, and the errors of a chunk come from a later call. Errors of the SetOutput keep their identity.
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

// WriteBlocks is Writer.WriteBlocks.
func (w *SetWriter) WriteBlocks(blocks [][]byte) error {
	j, err := w.blocksJob(blocks)
	if err != nil {
		return err
	}
	return w.later(j)
}

// WriteEncoded is Writer.WriteEncoded.
func (w *SetWriter) WriteEncoded(chunk []byte) error {
	j, err := w.encodedJob(chunk)
	if err != nil {
		return err
	}
	if w.pipe.limit > 1 { // the chunk outlives the call
		j.chunk = append([]byte(nil), chunk...)
	}
	return w.later(j)
}

// WriteSpecial is Writer.WriteSpecial.
func (w *SetWriter) WriteSpecial(kind blosc.Special, size int) error {
	j, err := w.specialJob(kind, size)
	if err != nil {
		return err
	}
	return w.later(j)
}

// later publishes a chunk that is encoded.
func (w *SetWriter) later(j *task) error {
	i := w.sizes.n - 1
	return w.push(j, func(j *task) error { return w.publish(i, j) }, w.put)
}

// publish stores chunk i, unless an offset says it all. It runs beside other
// calls and touches nothing but j.
func (w *SetWriter) publish(i int, j *task) error {
	off, stored, err := place(i, j, &w.o)
	if err != nil {
		return err
	}
	if j.off = off; stored {
		j.off = int64(i)
		err = w.store(chunkFile(j.off), j.chunk)
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

// put enters a chunk that was published, in order.
func (w *SetWriter) put(j *task) error {
	if j.varies && !w.varies {
		err := w.storeSpecials(func(i int, chunk []byte) (int64, error) {
			w.in.CBytes += int64(len(chunk))
			return int64(i), w.store(chunkFile(int64(i)), chunk)
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

// Close waits for all chunks, then publishes the index. A second Close is an
// error.
func (w *SetWriter) Close() error {
	if err := w.drain(w.put); err != nil {
		return err
	}
	tail, err := w.tail()
	if err != nil {
		return w.fail(err)
	}
	w.in.FrameLen = w.in.HeaderLen + int64(len(tail))
	index := append(appendHeader(nil, &w.in, w.metas), tail...)
	if err := w.store(IndexName, index); err != nil {
		return w.fail(err)
	}
	w.err = errClosed
	return nil
}
