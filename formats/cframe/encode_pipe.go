package cframe

import "github.com/farread/farread/internal/bufpool"

// A task is a chunk that a writer encodes and writes.
type task struct {
	src    []byte // decoded bytes, from bufpool
	chunk  []byte // encoded chunk; its memory is from bufpool if pooled is set
	pooled bool
	size   int
	off    int64 // offset; in a sparse frame, set when the chunk is published
	varies bool  // sizes vary in the frame as of this chunk
	plain  bool  // if it is stored, it must not be a special chunk
	err    error
	done   chan struct{} // closed when the task is done; nil: it is done
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

// A pipe runs tasks in goroutines, at most limit at a time, and passes them on
// in the order of push. The goroutines end by themselves, so a pipe that is no
// longer used leaks only buffers.
type pipe struct {
	limit int
	jobs  []*task // oldest first
}

// push runs f for j: in a goroutine if limit is above 1, else at once. If too
// many tasks are under way, it first waits for the oldest one and passes it to
// next.
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

// pop waits for the oldest task and passes it to next.
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

// drain waits for all tasks and passes them to next. It stops at the first
// error.
func (p *pipe) drain(next func(*task) error) error {
	for len(p.jobs) > 0 {
		if err := p.pop(next); err != nil {
			return err
		}
	}
	return nil
}

// drop waits for all tasks and discards their results.
func (p *pipe) drop() {
	for _, j := range p.jobs {
		if j.done != nil {
			<-j.done
		}
		j.release()
	}
	p.jobs = nil
}
