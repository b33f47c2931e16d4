package main

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// A trash knows the temporary files and folders that must not outlive the run.
type trash struct {
	mu        sync.Mutex
	paths     map[string]bool
	parents   []string // folders made on the way to an output
	closed    bool     // the run is over, or interrupted
	moving    int      // outputs that are appearing
	published bool     // an output has appeared
}

// make registers a path and makes what it names. Both are one step: were the path
// made later, when the run is over, nobody would remove it any more.
func (t *trash) make(path string, create func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.register(path); err != nil {
		return err
	}
	err := create()
	if err != nil {
		delete(t.paths, path)
	}
	return err
}

// publish lets an output appear, by a move of path or of what lies in it. Once the
// run was interrupted none appears: who hears that it was finds no output.
func (t *trash) publish(path string, move func() error) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return errInterrupted
	}
	t.moving++
	t.mu.Unlock()
	err := move() // without the lock: an interrupt must not wait for a disk
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moving--
	if err == nil {
		t.published = true
		delete(t.paths, path)
	}
	return err
}

// shut says that the run was interrupted.
func (t *trash) shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// appearing says whether an output is on its way; settled, whether one is there.
func (t *trash) appearing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moving > 0
}

func (t *trash) settled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.published
}

// add registers a path before it is made; once the run is over, none may be
// made any more. keep forgets it, once it is removed.
func (t *trash) add(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.register(path)
}

// register is add for who holds the lock.
func (t *trash) register(path string) error {
	if t.closed {
		return errInterrupted
	}
	if t.paths == nil {
		t.paths = map[string]bool{}
	}
	t.paths[path] = true
	return nil
}

// makeParents makes dir and the folders on the way to it. Those that were not there
// stay only if something lies in them at the end of the run.
func (t *trash) makeParents(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errInterrupted
	}
	t.parents = append(t.parents, missing(dir)...)
	return os.MkdirAll(dir, dirPerm)
}

func (t *trash) keep(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.paths, path)
}

// sweepTime is what a run may spend on removing again what a command that was
// abandoned is still writing; with grace it fits into a second.
const sweepTime = 250 * time.Millisecond

// empty removes everything. A command that was abandoned may write into a folder
// while it is being removed, which then fails; once it is gone, so is the way
// back into it.
func (t *trash) empty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	until := time.Now().Add(sweepTime)
	for path := range t.paths {
		for os.RemoveAll(path) != nil && time.Now().Before(until) {
			runtime.Gosched()
		}
	}
	for _, dir := range t.parents {
		_ = os.Remove(dir) // fails where something lies in it
	}
	t.paths, t.parents = nil, nil
}
