package lambda

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts processes from one thread that lives as long as the spawner:
// on Linux a child that asks to die with its parent dies with the thread that
// started it, and other threads may end at any time.
type spawner struct {
	jobs chan spawn
	quit chan struct{}
	once sync.Once
	done chan struct{}
}

type spawn struct {
	cmd *exec.Cmd
	err chan error
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan spawn), quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for {
			select {
			case j := <-s.jobs:
				j.err <- j.cmd.Start()
			case <-s.quit:
				return
			}
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	j := spawn{cmd, make(chan error, 1)}
	select {
	case s.jobs <- j:
		return <-j.err
	case <-s.quit:
		return ErrClosed
	}
}

func (s *spawner) close() {
	s.once.Do(func() { close(s.quit) })
	<-s.done
}
