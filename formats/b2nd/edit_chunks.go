package b2nd

import (
	"bytes"
	"fmt"

	"github.com/farread/farread/formats/blosc"
)

// edges are encoded chunks that Resize has read at the edge of the array, by the index of their first item, so
// that a write behind the edge does not read them again.
type edges struct {
	by   map[string][]byte
	size int
}

// maxEdges is how many bytes of chunks are kept.
const maxEdges = 8 << 20

func (x *edges) clear() { *x = edges{} }

func (x *edges) keep(origin []int64, stored []byte) {
	name := fmt.Sprint(origin)
	if _, ok := x.by[name]; ok || x.size+len(stored) > maxEdges {
		return
	}
	if x.by == nil {
		x.by = map[string][]byte{}
	}
	x.by[name] = bytes.Clone(stored)
	x.size += len(stored)
}

// take returns a chunk and forgets it.
func (x *edges) take(origin []int64) (stored []byte, ok bool) {
	name := fmt.Sprint(origin)
	stored, ok = x.by[name]
	delete(x.by, name)
	x.size -= len(stored)
	return stored, ok
}

// load decodes chunk k into e.chunk. zero tells that the chunk is stored as
// zeros, without data.
func (e *Editor) load(k int) (chunk []byte, zero bool, err error) {
	if len(e.edges.by) > 0 {
		if stored, ok := e.edges.take(e.originOf(k)); ok {
			e.stored = append(e.stored[:0], stored...)
			return e.decoded(k)
		}
	}
	if _, err := e.fetch(k); err != nil {
		return nil, false, err
	}
	return e.decoded(k)
}

// originOf returns the index of the first item of chunk k.
func (e *Editor) originOf(k int) []int64 {
	at := make([]int64, len(e.g.shape))
	e.g.origin(at, int64(k))
	return at
}

// fetch reads the encoded chunk k into e.stored, and returns its kind.
func (e *Editor) fetch(k int) (kind blosc.Special, err error) {
	if e.stored, err = e.ed.AppendStored(e.stored[:0], k); err != nil {
		return 0, err
	}
	h, err := blosc.ParseHeader(e.stored)
	return h.Special, err
}

// decoded decodes chunk k out of e.stored; see load.
func (e *Editor) decoded(k int) (chunk []byte, zero bool, err error) {
	h, err := blosc.ParseHeader(e.stored)
	if err != nil {
		return nil, false, err
	}
	if h.NBytes != e.g.chunkBytes {
		return nil, false, corrupt(chunkName(int64(k)), "%d bytes, want %d", h.NBytes, e.g.chunkBytes)
	}
	if cap(e.chunk) < h.NBytes {
		e.chunk = make([]byte, h.NBytes)
	}
	e.chunk = e.chunk[:h.NBytes]
	if h.Special == blosc.Zeros || h.Special == blosc.Uninit {
		clear(e.chunk)
		return e.chunk, h.Special == blosc.Zeros, nil
	}
	_, err = e.decode.DecodeInto(e.chunk, e.stored)
	return e.chunk, false, err
}

func (e *Editor) store(k int, chunk []byte) (err error) {
	if len(e.edges.by) > 0 {
		e.edges.take(e.originOf(k))
	}
	if e.stored, err = blosc.AppendEncoded(e.stored[:0], chunk, e.encode); err != nil {
		return err
	}
	return e.ed.UpdateEncoded(k, e.stored)
}
