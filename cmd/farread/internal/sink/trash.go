package sink

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"time"
)

// ErrInterrupted is the end of a run, and of all that it would still have made.
var ErrInterrupted = errors.New("interrupted")

// Grace is how long a command may take to stop after an interrupt before it is cut
// short; with the clean-up it stays within the second that the manual promises.
const Grace = 700 * time.Millisecond

// A Trash knows the temporary files and folders that must not outlive the run.
type Trash struct {
	mu        sync.Mutex
	paths     map[string]bool
	parents   []string // folders made on the way to an output
	closed    bool     // the run is over, or interrupted
	moving    int      // outputs that are appearing
	published bool     // an output has appeared
}

// make registers a path and calls create, in one step: a file that is made after
// the end of the run would not be removed.
func (t *Trash) make(path string, create func() error) error {
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
// interrupt no output appears any more.
func (t *Trash) publish(path string, move func() error) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return ErrInterrupted
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

// Shut notes that the run was interrupted.
func (t *Trash) Shut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}

// Appearing reports whether an output is being moved to its place.
func (t *Trash) Appearing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.moving > 0
}

// Settled reports whether an output has appeared.
func (t *Trash) Settled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.published
}

// Add registers a path before it is made. It fails after the end of the run.
func (t *Trash) Add(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.register(path)
}

// register is Add for a caller that holds the lock.
func (t *Trash) register(path string) error {
	if t.closed {
		return ErrInterrupted
	}
	if t.paths == nil {
		t.paths = map[string]bool{}
	}
	t.paths[path] = true
	return nil
}

// makeParents makes dir and its parents. Folders that did not exist stay only if they
// are not empty at the end of the run.
func (t *Trash) makeParents(dir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrInterrupted
	}
	t.parents = append(t.parents, missing(dir)...)
	return os.MkdirAll(dir, dirPerm)
}

// keep forgets a path, once it is removed.
func (t *Trash) keep(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.paths, path)
}

// sweepTime is how long a run may go on removing files that an abandoned command still
// writes. Together with Grace it is less than a second.
const sweepTime = 250 * time.Millisecond

// Empty removes everything. An abandoned command may write into a folder while it is
// being removed; then removing fails. Once the folder is gone, the command cannot get
// back into it.
func (t *Trash) Empty() {
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
