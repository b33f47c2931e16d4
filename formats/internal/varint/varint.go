// Package varint reads the numbers of directories and pages of indexes.
package varint

import "encoding/binary"

// A Reader reads numbers and bytes from the front of P until one is wrong. From then on
// P is empty, Bad is set, and all is zero.
type Reader struct {
	P   []byte
	Bad bool
}

// Uint reads an unsigned number.
func (r *Reader) Uint() uint64 {
	v, n := binary.Uvarint(r.P)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.P = r.P[n:]
	return v
}

// Int reads a zigzag number.
func (r *Reader) Int() int64 {
	v, n := binary.Varint(r.P)
	if n <= 0 {
		r.Fail()
		return 0
	}
	r.P = r.P[n:]
	return v
}

// Bytes reads n bytes, which stay part of P's memory.
func (r *Reader) Bytes(n uint64) []byte {
	if n > uint64(len(r.P)) {
		r.Fail()
		return nil
	}
	p := r.P[:n]
	r.P = r.P[n:]
	return p
}

// Fail notes that something is wrong with what was read.
func (r *Reader) Fail() { r.Bad, r.P = true, nil }
