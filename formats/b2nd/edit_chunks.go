package b2nd

import "github.com/farread/farread/formats/blosc"

// load decodes chunk k into e.chunk. zero tells that the chunk is stored as
// zeros, without data.
func (e *Editor) load(k int) (chunk []byte, zero bool, err error) {
	if _, err := e.fetch(k); err != nil {
		return nil, false, err
	}
	return e.decoded(k)
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
	if e.stored, err = blosc.AppendEncoded(e.stored[:0], chunk, e.encode); err != nil {
		return err
	}
	return e.ed.UpdateEncoded(k, e.stored)
}
