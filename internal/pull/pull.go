// Package pull is the one reading path between formats and readers of objects.
//
// A format says which parts of an object a selection needs, and what to do with the
// bytes of a part; a [Pull] does the rest: it cuts the parts into windows, each one
// planned read, has as many windows under way as its budget of bytes allows, and
// hands the bytes on, in order ([Pull.Windows]) or as they come ([Pull.Each]).
//
// A Pull is a step: all of its reads are one phase, one deeper than what its Parts
// read to know them. A read whose second half depends on the bytes of the first is
// two Pulls. From a [Dry] reader, the same call notes what it would read.
package pull

import (
	"context"
	"runtime"

	"github.com/farread/farread/rangeio"
)

// A Part is a run of bytes that a selection needs. Empty parts are handed on, too.
type Part[T any] struct {
	From     rangeio.Reader // nil: the one of the Pull
	Off, Len int64
	More     int64 // bytes that its taking needs besides, within Window and Memory
	Ends     bool  // its window, which is read at once: the parts after it may take a while to be known
	own      bool  // From is that of the Pull
	For      T     // what the bytes are, for whoever takes them
}

func (p *Part[T]) end() int64 { return p.Off + p.Len }

// A Pull reads parts. Its fields must not change while it reads.
type Pull[T any] struct {
	From rangeio.Reader
	// Parts calls add for each part, and returns what add does if that is not nil. It
	// may read what it needs to know the parts under its context. Each calls it in the
	// goroutine of the caller, Windows in another one.
	Parts func(ctx context.Context, add func(Part[T]) error) error

	// Window is the most that is read together, unless a single part takes more.
	Window int64
	// First, if set, is the size of the first window; each is twice as long as the one
	// before, up to Window.
	First int64
	// Most is how many parts a window has at most. 0 stands for 8192: some MiB of books,
	// and a planned read that is long enough.
	Most int
	// Memory is the most that is held, unless a single window takes more. 0 stands for
	// two windows: one is under way while the other is consumed.
	Memory int64
	// Ahead, if set, is how many windows are read while one is taken, one after the other:
	// it is for whoever may stop early. 0: as many as Memory holds, side by side.
	Ahead int
	// Parallel is how many calls of Each's take run at a time; 0: GOMAXPROCS.
	Parallel int
	// Near is how many bytes between two parts are read and dropped rather than
	// skipped. 0 stands for 64: less than what another span costs to plan and to fill.
	Near int64
	// Room is the number of bytes in front of each window that Window.Room lends to
	// whoever takes it.
	Room int

	// Came, if set, looks at each window of Windows when it was read, before it is
	// handed on and beside the taking of others.
	Came func(*Window[T])
	// Failed, if set, names the parts of a window whose read failed.
	Failed func(parts []Part[T], err error) error
	// Index says that these bytes are read from a Dry reader, too.
	Index bool
	// Why names the parts of a planned request, for people, and says whether the
	// request is a guess; see Dry.
	Why func(parts []Part[T]) (why string, estimated bool)
}

const defaultMost = 8 << 10

const defaultNear = 64

func (p *Pull[T]) most() int {
	if p.Most > 0 {
		return p.Most
	}
	return defaultMost
}

func (p *Pull[T]) window() int64 { return max(p.Window, 1) }

func (p *Pull[T]) near() int64 {
	if p.Near > 0 {
		return p.Near
	}
	return defaultNear
}

func (p *Pull[T]) memory() int64 {
	if p.Memory > 0 {
		return p.Memory
	}
	return 2 * p.window()
}

func (p *Pull[T]) parallel() int {
	if p.Parallel > 0 {
		return p.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// localWindow is how many bytes of a file are read at once: more would not stay in a
// processor's own cache until it is taken.
const localWindow = 256 << 10

// WorthGoroutine is how many bytes of a file make a goroutine that takes them worth its
// start: decoding them takes a hundred times as long.
const WorthGoroutine = 128 << 10

// WindowOf is how many bytes of r are read together as a rule: one of the longest requests
// of a policy, so that each is taken as it comes while the others are under way; less
// of a reader without a round trip.
func WindowOf(r rangeio.Reader, p rangeio.Policy) int64 {
	switch {
	case rangeio.Local(r):
		return localWindow
	case p.MaxLen <= 0:
		return rangeio.Fast().MaxLen
	}
	return p.MaxLen
}

// Of gives parts that are known beforehand.
func Of[T any](parts ...Part[T]) func(context.Context, func(Part[T]) error) error {
	return func(_ context.Context, add func(Part[T]) error) error {
		for _, p := range parts {
			if err := add(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// Stretch makes the bytes [from, to) the parts, cut into windows: of first bytes, then
// of twice as many each time, up to Window.
func (p *Pull[T]) Stretch(from, to, first int64) {
	p.First = first
	p.Parts = func(_ context.Context, add func(Part[T]) error) error {
		for n := min(first, p.window()); from < to; n = min(2*n, p.window()) {
			if err := add(Part[T]{Off: from, Len: min(n, to-from)}); err != nil {
				return err
			}
			from += min(n, to-from)
		}
		return nil
	}
}
