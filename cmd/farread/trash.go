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

// make registers a path and then calls create. Both are one step: if the file were
// made later, after the run is over, nobody would remove it.
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

// publish lets an output appear, by a move of path or of the files in it. After an
// interrupt no output appears: whoever hears of the interrupt finds none.
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

// register is add for a caller that holds the lock.
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

// makeParents makes dir and its parents. Folders that did not exist stay only if they
// are not empty at the end of the run.
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

// sweepTime is how long a run may go on removing files that an abandoned command still
// writes. Together with grace it is less than a second.
const sweepTime = 250 * time.Millisecond

// empty removes everything. An abandoned command may write into a folder while it is
// being removed; then removing fails. Once the folder is gone, the command cannot get
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
		_ = os.Remove(dir) // fails if the folder is not empty
	}
	t.paths, t.parents = nil, nil
}
