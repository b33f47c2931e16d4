package rangeio

import (
	"context"
	"errors"
	"io"
	"time"
)

// A Runner is a Reader that can read a Run. So a long request is under way in the memory
// of a piece of it.
type Runner interface {
	Reader
	// Runs reports whether one request would bring the n bytes from off on, and all of
	// them: the Reader has none of them already.
	Runs(off, n int64) bool
	// ReadRun reads a Run, for whose bytes Runs has returned true.
	ReadRun(ctx context.Context, r *Run) error
}

// A Run is pieces of an object that touch each other and come by one request, each into
// memory that is asked for when its bytes are due. Its functions are called in the
// goroutine of ReadRun, for one piece after the other.
type Run struct {
	Off  int64
	Lens []int64
	// Memory returns memory for piece i. If there is none yet, it waits for it, but
	// not longer than patience unless that is 0: then it returns ErrLater.
	Memory func(i int, patience time.Duration) ([]byte, error)
	Done   func(i int) // piece i is in its memory

	at     int           // the piece that comes next
	before int64         // bytes of the pieces before
	p      []byte        // memory of the piece; nil: none yet
	waited time.Duration // for memory
}

// ErrLater is returned by Run.Memory, and by Scatter then: there is no memory yet.
var ErrLater = errors.New("no memory yet")

// runPatience is how long a body waits for memory. Then it is given up, and the rest is
// asked for when there is memory: who has the memory may wait for the connection, or for
// its place in a limit.
const runPatience = 2 * time.Second

// Request returns the request that brings r.
func (r *Run) Request() *Request {
	q := &Request{Off: r.Off, run: r}
	for _, n := range r.Lens {
		q.Len += n
	}
	return q
}

// Waited returns how long Scatter has waited for memory.
func (r *Request) Waited() time.Duration {
	if r.run == nil {
		return 0
	}
	return r.run.waited
}

// WaitMemory waits for the memory for which Scatter returned ErrLater.
func (r *Request) WaitMemory() error { return r.run.next(0) }

// next gets memory for the piece that comes next.
func (r *Run) next(patience time.Duration) error {
	start := time.Now()
	p, err := r.Memory(r.at, patience)
	r.waited += time.Since(start)
	if err == nil {
		r.p = p[:r.Lens[r.at]]
	}
	return err
}

// scatter is Request.Scatter for a run.
func (r *Run) scatter(body io.Reader, done *int64) error {
	for r.at < len(r.Lens) {
		if r.p == nil {
			if err := r.next(runPatience); err != nil {
				return err
			}
		}
		n, err := io.ReadFull(body, r.p[*done-r.before:])
		*done += int64(n)
		if err != nil {
			return noEOF(err)
		}
		i := r.at
		r.before += r.Lens[i]
		r.at, r.p = i+1, nil
		r.Done(i)
	}
	return nil
}
