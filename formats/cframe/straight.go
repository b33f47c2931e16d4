package cframe

import (
	"sync/atomic"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A straight is a chunk whose data are probably stored as they are. They are read straight
// into the caller's memory, without a buffer and a copy. Only the header tells for certain:
// if the data are encoded after all, they are decoded from a copy.
type straight struct {
	head [blosc.HeaderLen2]byte
	left atomic.Int32 // parts that have not come yet
}

// leastStraight is the number of bytes from which a copy costs more than another span.
const leastStraight = 64 << 10

// The parts of a straight chunk, by piece.k.
const (
	straightHead = iota
	straightBody
)

// straight reports whether j is probably stored as it is: its place has exactly the
// length of a header and the decoded bytes, which no encoder lets a chunk take that it
// has made smaller. A chunk of a local frame is faster read in short windows.
func (f *Frame) straight(j *job) bool {
	return j.into && j.nbytes >= leastStraight && j.n == int64(j.nbytes)+blosc.HeaderLen2 && !rangeio.Local(f.r)
}

// addStraight adds the header and the data of a chunk. ends is Part.Ends of the chunk.
func addStraight(j *job, ends bool, add func(pull.Part[piece]) error) error {
	s := &straight{}
	s.left.Store(2)
	if err := add(pull.Part[piece]{Off: j.off, Len: blosc.HeaderLen2, For: piece{j: j, s: s, k: straightHead}}); err != nil {
		return err
	}
	return add(pull.Part[piece]{Off: j.off + blosc.HeaderLen2, Len: int64(j.nbytes), Ends: ends, For: piece{j: j, s: s, k: straightBody}})
}

// into is the Into of a Pull: the data of a straight chunk have the memory of the caller. A
// plan, which writes nothing, has one memory for all.
func (r *reading) into(p piece) []byte {
	switch {
	case p.s == nil || p.k != straightBody:
		return nil
	case p.j.dst != nil:
		return p.j.dst[:p.j.nbytes:p.j.nbytes]
	}
	if len(r.scratch) < p.j.nbytes {
		r.scratch = make([]byte, p.j.nbytes)
	}
	return r.scratch[:p.j.nbytes]
}

// straight takes a part of a straight chunk. The last part finishes the chunk.
func (r *reading) straight(p *piece, b []byte) error {
	s, j := p.s, p.j
	if p.k == straightHead {
		copy(s.head[:], b)
	}
	if s.left.Add(-1) > 0 {
		return nil
	}
	h, err := r.header(j, s.head[:], j.n)
	switch {
	case err != nil:
		return err
	case h.Memcpyed && h.Len() == blosc.HeaderLen2 && h.NBytes == j.nbytes && h.Supported() == nil:
		return r.give(j, -1, 0, j.dst[:j.nbytes])
	}
	all := bufpool.Get(int(j.n))
	defer bufpool.Put(all)
	copy(all[copy(all, s.head[:]):], j.dst[:j.nbytes])
	return r.chunk(j, all)
}
