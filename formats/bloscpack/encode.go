package bloscpack

import (
	"slices"

	"github.com/farread/farread/formats/blosc"
)

const (
	// batchLen is the number of bytes that a goroutine encodes, or the output gets, at
	// a time. Without batches, items of a hundred bytes would cost more to pass on
	// than to encode.
	batchLen = 256 << 10
	// chunkSlack is room for the parts of a chunk that are not data: its header, a
	// length for each stream, the digest.
	chunkSlack = 1 << 10
	// bigChunk is the longest chunk that goes into a batch. The blocks of a longer
	// chunk are encoded in parallel, within the caller's call. So an encoder holds,
	// for each batch, at most two buffers of bigChunk+batchLen bytes, and one buffer
	// for the longest chunk. Longer buffers are not kept.
	bigChunk = 2 << 20
)

// An encoder encodes chunks in batches and passes the batches to put in order.
type encoder struct {
	o     blosc.EncodeOptions
	sum   Checksum
	limit int // batches encoded at the same time
	put   func(b []byte, lens []uint32) error

	cur  *batch   // the batch that add fills
	jobs []*batch // batches that goroutines encode, oldest first
	free []*batch
}

// A batch is a list of chunks, with src and ends before they are encoded, with
// out and lens after that.
type batch struct {
	src  []byte // decoded chunks, one after another
	ends []int  // offset in src at which each chunk ends
	out  []byte
	lens []uint32
	err  error
	done chan struct{}
}

func (e *encoder) batch() *batch {
	if e.cur != nil {
		return e.cur
	}
	if n := len(e.free); n > 0 {
		e.cur, e.free = e.free[n-1], e.free[:n-1]
	} else {
		e.cur = new(batch)
	}
	return e.cur
}

// add takes the decoded chunk p. It does not keep p.
func (e *encoder) add(p []byte) error {
	if e.limit > 1 && len(p) > bigChunk {
		return e.addBig(p)
	}
	b := e.batch()
	if e.limit <= 1 {
		if err := b.encode(p, e.o, e.sum); err != nil {
			return err
		}
		if len(b.out) < batchLen {
			return nil
		}
		return e.flush()
	}
	b.src = append(b.src, p...)
	b.ends = append(b.ends, len(b.src))
	if len(b.src) < batchLen && len(b.ends) < batchLen/16 {
		return nil
	}
	return e.start()
}

// addBig encodes one chunk with several goroutines, after all batches before it
// are done.
func (e *encoder) addBig(p []byte) error {
	if err := e.drain(); err != nil {
		return err
	}
	o := e.o
	o.Parallel = max(o.Parallel, e.limit)
	if err := e.batch().encode(p, o, e.sum); err != nil {
		return err
	}
	return e.flush()
}

// addEncoded takes a chunk that is encoded already, and adds its digest.
func (e *encoder) addEncoded(chunk []byte) error {
	if e.limit > 1 {
		if err := e.drain(); err != nil {
			return err
		}
	}
	b := e.batch()
	b.finish(append(b.out, chunk...), len(b.out), e.sum)
	if e.limit <= 1 && len(b.out) < batchLen {
		return nil
	}
	return e.flush()
}

// encode appends one encoded chunk and its digest to b.out.
func (b *batch) encode(p []byte, o blosc.EncodeOptions, sum Checksum) error {
	at := len(b.out)
	out, err := blosc.AppendEncoded(slices.Grow(b.out, len(p)+len(p)/32+chunkSlack), p, o)
	if err != nil {
		return err
	}
	b.finish(out, at, sum)
	return nil
}

// finish stores out as b.out. out ends with a new chunk that begins at index at;
// finish appends the digest of the chunk and notes its length.
func (b *batch) finish(out []byte, at int, sum Checksum) {
	b.out = sum.AppendSum(out, out[at:])
	b.lens = append(b.lens, uint32(len(b.out)-at))
}

// flush passes the current batch, which is encoded, to put.
func (e *encoder) flush() error {
	b := e.cur
	if b == nil {
		return nil
	}
	e.cur = nil
	return e.hand(b)
}

// start encodes the current batch in a goroutine. If too many batches are under
// way, it first waits for the oldest one and passes it to put.
func (e *encoder) start() error {
	b := e.cur
	if b == nil {
		return nil
	}
	e.cur = nil
	if len(e.jobs) >= e.limit {
		if err := e.pop(); err != nil {
			return err
		}
	}
	b.done = make(chan struct{})
	o, sum := e.o, e.sum
	go func() {
		defer close(b.done)
		at := 0
		for _, end := range b.ends {
			if b.err = b.encode(b.src[at:end], o, sum); b.err != nil {
				return
			}
			at = end
		}
	}()
	e.jobs = append(e.jobs, b)
	return nil
}

// pop waits for the oldest batch and passes it to put.
func (e *encoder) pop() error {
	b := e.jobs[0]
	e.jobs[0] = nil
	e.jobs = e.jobs[1:]
	<-b.done
	if b.err != nil {
		return b.err
	}
	return e.hand(b)
}

func (e *encoder) hand(b *batch) error {
	err := e.put(b.out, b.lens)
	if cap(b.out) > 2*(bigChunk+batchLen) {
		b.out = nil
	}
	b.src, b.ends, b.out, b.lens, b.done = b.src[:0], b.ends[:0], b.out[:0], b.lens[:0], nil
	if len(e.free) < max(e.limit, 1) {
		e.free = append(e.free, b)
	}
	return err
}

// drain waits for all batches and passes them to put. It stops at the first
// error.
func (e *encoder) drain() error {
	if e.limit > 1 {
		if err := e.start(); err != nil {
			return err
		}
		for len(e.jobs) > 0 {
			if err := e.pop(); err != nil {
				return err
			}
		}
		return nil
	}
	return e.flush()
}

// drop waits for the goroutines and discards their results.
func (e *encoder) drop() {
	for _, b := range e.jobs {
		<-b.done
	}
	e.jobs, e.cur, e.free = nil, nil, nil
}
