package cframe

import "github.com/farread/farread/internal/bufpool"

// A task is one chunk on its way: what it is made of, then what came of it.
type task struct {
	src    []byte // lent by bufpool
	chunk  []byte // lent by bufpool where pooled
	pooled bool
	size   int
	off    int64 // of a sparse frame, once published
	varies bool  // the frame is one of varying sizes from this chunk on
	plain  bool  // it must not be a special chunk, if it is stored
	err    error
	done   chan struct{} // nil: the job is done
}

func (j *task) release() {
	if j.src != nil {
		bufpool.Put(j.src)
		j.src = nil
	}
	if j.pooled {
		bufpool.Put(j.chunk)
		j.pooled = false
	}
	j.chunk = nil
}

func (j *task) run(f func(*task) error) {
	if f != nil {
		j.err = f(j)
	}
	if j.done != nil {
		close(j.done)
	}
}

// A pipe runs jobs in goroutines, at most limit at a time, and hands them on in
// the order in which they came. The goroutines end by themselves: whoever drops
// a pipe leaks nothing but the buffers of the jobs in it.
type pipe struct {
	limit int
	jobs  []*task // oldest first
}

// push starts f for j, or runs it, and calls next for the jobs that must go
// first to make room.
func (p *pipe) push(j *task, f func(*task) error, next func(*task) error) error {
	if p.limit <= 1 {
		j.run(f)
		return p.hand(j, next)
	}
	if len(p.jobs) >= p.limit {
		if err := p.pop(next); err != nil {
			j.release()
			return err
		}
	}
	if f != nil {
		j.done = make(chan struct{})
		go j.run(f)
	}
	p.jobs = append(p.jobs, j)
	return nil
}

// pop hands on the oldest job.
func (p *pipe) pop(next func(*task) error) error {
	j := p.jobs[0]
	p.jobs[0] = nil
	p.jobs = p.jobs[1:]
	return p.hand(j, next)
}

func (*pipe) hand(j *task, next func(*task) error) error {
	if j.done != nil {
		<-j.done
	}
	err := j.err
	if err == nil {
		err = next(j)
	}
	j.release()
	return err
}

// drain hands on all jobs, up to the first error.
func (p *pipe) drain(next func(*task) error) error {
	for len(p.jobs) > 0 {
		if err := p.pop(next); err != nil {
			return err
		}
	}
	return nil
}

// drop waits for all jobs and throws away what came of them.
func (p *pipe) drop() {
	for _, j := range p.jobs {
		if j.done != nil {
			<-j.done
		}
		j.release()
	}
	p.jobs = nil
}
