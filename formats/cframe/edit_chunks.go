package cframe

import (
	"math"
	"slices"

	"github.com/farread/farread/formats/blosc"
)

// Extend encodes p as a new last chunk. It does not keep p.
func (e *Editor) Extend(p []byte) error { return e.Insert(len(e.offs), p) }

// ExtendEncoded appends an encoded chunk to the frame; see Writer.WriteEncoded.
func (e *Editor) ExtendEncoded(chunk []byte) error { return e.InsertEncoded(len(e.offs), chunk) }

// ExtendSpecial appends a special chunk of size decoded bytes to the frame; see
// Writer.WriteSpecial.
func (e *Editor) ExtendSpecial(kind blosc.Special, size int) error {
	return e.InsertSpecial(len(e.offs), kind, size)
}

// Insert encodes p as a new chunk before chunk i, or as the last chunk if i is
// Chunks(). It does not keep p. As all methods that change chunks, it returns
// ErrRefused if a chunk would have a size that the frame does not allow; see
// WriteOptions.Vary.
func (e *Editor) Insert(i int, p []byte) error {
	return e.make(i, len(e.offs)+1, p, e.InsertEncoded)
}

// Update encodes p and replaces chunk i by it. It does not keep p.
func (e *Editor) Update(i int, p []byte) error {
	return e.make(i, len(e.offs), p, e.UpdateEncoded)
}

// make checks and encodes p, and calls f with the result.
func (e *Editor) make(i, n int, p []byte, f func(int, []byte) error) error {
	if err := e.check(i, n); err != nil {
		return err
	}
	if err := checkSize(len(p)); err != nil {
		return err
	}
	chunk, err := blosc.AppendEncoded(nil, p, e.encode)
	if err != nil {
		return wrap(partOf(i), -1, err)
	}
	return f(i, chunk)
}

// InsertSpecial inserts a special chunk of size decoded bytes before chunk i;
// see Writer.WriteSpecial.
func (e *Editor) InsertSpecial(i int, kind blosc.Special, size int) error {
	chunk, err := specialChunk(i, kind, size, e.in.TypeSize, e.block)
	if err != nil {
		return err
	}
	return e.InsertEncoded(i, chunk)
}

// UpdateSpecial replaces chunk i by a special chunk of size decoded bytes.
func (e *Editor) UpdateSpecial(i int, kind blosc.Special, size int) error {
	chunk, err := specialChunk(i, kind, size, e.in.TypeSize, e.block)
	if err != nil {
		return err
	}
	return e.UpdateEncoded(i, chunk)
}

// InsertEncoded inserts an encoded chunk before chunk i; see Writer.WriteEncoded.
func (e *Editor) InsertEncoded(i int, chunk []byte) error {
	if err := e.check(i, len(e.offs)+1); err != nil {
		return err
	}
	if int64(len(e.offs)) >= e.o.Limits.MaxEntries {
		return tooLarge("chunks", -1, "more than %d", len(e.offs))
	}
	h, err := checkEncoded(i, chunk)
	if err != nil {
		return err
	}
	before, kind := e.sizes, e.kind
	if err := e.kind.admit(i, h.VL); err != nil {
		return err
	}
	if err := e.sizes.insert(i, h.NBytes); err != nil {
		e.kind = kind
		return err
	}
	off, err := e.put(&h, chunk, before)
	if err != nil {
		return err
	}
	e.offs = slices.Insert(e.offs, i, off)
	e.index.insert(i)
	return nil
}

// UpdateEncoded replaces chunk i by an encoded chunk; see Writer.WriteEncoded.
func (e *Editor) UpdateEncoded(i int, chunk []byte) error {
	if err := e.check(i, len(e.offs)); err != nil {
		return err
	}
	h, err := checkEncoded(i, chunk)
	if err != nil {
		return err
	}
	old, err := e.sizeAt(i)
	if err != nil {
		return err
	}
	before, kind := e.sizes, e.kind
	if len(e.offs) == 1 {
		e.kind = kindOpen
	}
	if err := e.kind.admit(i, h.VL); err != nil {
		e.kind = kind
		return err
	}
	if err := e.sizes.replace(i, old, h.NBytes); err != nil {
		e.kind = kind
		return err
	}
	off, err := e.put(&h, chunk, before)
	if err != nil {
		return err
	}
	e.offs[i] = off
	e.index.renew(i)
	return nil
}

// put stores a chunk, after e.sizes has counted it, and returns its offset. If
// sizes vary from this chunk on, it also stores all special chunks that had no
// bytes: an offset alone no longer tells their size.
func (e *Editor) put(h *blosc.Header, chunk []byte, before sizeRule) (int64, error) {
	e.changed = true
	if e.sizes.varies() && !before.varies() {
		for i, off := range e.offs {
			kind := specialOf(off)
			if kind == blosc.None {
				continue
			}
			stored, err := specialChunk(i, kind, before.at(i), e.in.TypeSize, e.block)
			if err != nil {
				return 0, e.fail(err)
			}
			if stored, err = plainChunk(stored, e.o.Limits.MaxDecoded); err != nil {
				return 0, e.fail(err)
			}
			if e.offs[i], err = e.write(i, stored); err != nil {
				return 0, err
			}
			e.index.renew(i)
		}
	}
	if !e.sizes.varies() {
		if off, ok := asOffset(h, e.in.TypeSize); ok {
			return off, nil
		}
	}
	stored, err := asStored(h, chunk, e.sizes.varies(), e.o.Limits.MaxDecoded)
	if err != nil {
		return 0, e.fail(err)
	}
	return e.write(len(e.offs), stored)
}

// write writes a chunk at the end of the file, and returns its offset.
func (e *Editor) write(i int, chunk []byte) (int64, error) {
	off := e.end
	if off > math.MaxInt64/4 {
		return 0, e.fail(tooLarge(partOf(i), off, "a frame too long"))
	}
	if _, err := e.f.WriteAt(chunk, off); err != nil {
		return 0, e.fail(wrap(partOf(i), off, err))
	}
	e.end += int64(len(chunk))
	return off - e.in.HeaderLen, nil
}

// Delete removes chunk i. Its bytes stay in the file as dead bytes.
func (e *Editor) Delete(i int) error {
	if err := e.check(i, len(e.offs)); err != nil {
		return err
	}
	old, err := e.sizeAt(i)
	if err != nil {
		return err
	}
	e.sizes.remove(old)
	e.offs = slices.Delete(e.offs, i, i+1)
	e.index.remove(i)
	if len(e.offs) == 0 {
		e.kind = kindOpen
	}
	e.changed = true
	return nil
}

// Reorder gives chunk order[i] the new number i. It returns ErrRefused if order
// does not have every number exactly once, or if it moves a last chunk that is
// shorter than the others.
func (e *Editor) Reorder(order []int) error {
	if e.err != nil {
		return e.err
	}
	if len(order) != len(e.offs) {
		return refuse("chunks", "an order of %d for %d", len(order), len(e.offs))
	}
	offs := make([]int64, len(order))
	seen := make([]bool, len(order))
	for i, k := range order {
		if k < 0 || k >= len(order) || seen[k] {
			return refuse(partOf(i), "order %d", k)
		}
		seen[k], offs[i] = true, e.offs[k]
	}
	n := len(order)
	if n > 0 && !e.sizes.varies() && order[n-1] != n-1 && e.sizes.last() != e.sizes.chunk {
		return refuse("chunks", "the last is shorter than the others and must stay the last")
	}
	e.offs, e.changed = offs, true
	e.index.reorder(order)
	return nil
}
