package gulp

import (
	"encoding/binary"
	"fmt"

	"github.com/farread/farread/formats"
)

// each calls f for each frame of an entry's compact index, until f returns false.
func each(p []byte, f func(off, size int64) bool) {
	var off int64
	for len(p) > 0 {
		v, n := binary.Uvarint(p)
		p = p[n:]
		if v&1 == 1 {
			hole, n := binary.Varint(p)
			p = p[n:]
			off += hole
		}
		size := int64(v >> 1)
		if !f(off, size) {
			return
		}
		off += size + -size&3
	}
}

// Reorder changes the order in which the index lists the frames of id: the
// present frame order[k] becomes frame k. Their bytes do not move; readers of
// GulpIO follow the list. It is for archives with unsorted entries. If order is
// not a permutation of the frames, the error matches ErrIndex; if id is
// unknown, it matches formats.ErrNoEntry. After an error nothing is changed.
func (w *Writer) Reorder(id string, order []int) error {
	if w.err != nil {
		return w.err
	}
	e := w.byID[id]
	if e == nil {
		return &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: formats.ErrNoEntry}
	}
	type place struct{ off, size int64 }
	var old []place
	each(e.frames, func(off, size int64) bool {
		old = append(old, place{off, size})
		return true
	})
	seen := make([]bool, len(old))
	good := len(order) == len(old)
	for _, k := range order {
		good = good && k >= 0 && k < len(old) && !seen[k]
		if !good {
			break
		}
		seen[k] = true
	}
	if !good {
		return &formats.Error{Format: Format, Part: partOf(id), Off: -1,
			Err: fmt.Errorf("an order of %d numbers that is no permutation of %d frames: %w", len(order), len(old), ErrIndex)}
	}
	before := len(e.frames)
	e.frames, e.end = e.frames[:0:0], 0
	for _, k := range order {
		p, v := old[k], uint64(old[k].size)<<1
		hole := p.off - e.end
		if hole != 0 {
			v |= 1
		}
		e.frames = binary.AppendUvarint(e.frames, v)
		if hole != 0 {
			e.frames = binary.AppendVarint(e.frames, hole)
		}
		e.end = p.off + p.size + -p.size&3
	}
	return w.count(len(e.frames) - before)
}
