// Package pull is the one reading path between formats and readers of objects.
//
// A format says which parts of an object a selection needs, and what to do with the
// bytes of a part. A [Pull] does the rest. It cuts the parts into windows, and
// reads each window by one planned read. It reads as many windows at a time as its
// budget of bytes allows. It passes the bytes on in order ([Pull.Windows]) or in
// any order ([Pull.Each]).
//
// All reads of a Pull are one phase. The phase is one deeper than the reads that
// its Parts makes to find the parts. If the second half of a read depends on the
// bytes of the first half, the read takes two Pulls. If a Pull reads from a [Dry]
// reader, it notes what it would read.
package pull

import (
	"context"
	"runtime"

	"github.com/farread/farread/rangeio"
)

// A Part is a run of bytes that a selection needs. A Pull passes on empty parts,
// too.
type Part[T any] struct {
	From     rangeio.Reader // reader of the object; nil: the reader of the Pull
	Off, Len int64
	More     int64 // bytes that the taker of the part needs besides; they count for Window and Memory
	Made     int64 // bytes that the taker makes of the part; they count for Work
	Ends     bool  // the part is the last of its window, which is read at once: the next part may take long to find
	own      bool  // From is the reader of the Pull
	For      T     // tells the taker of the part what the bytes are
}

func (p *Part[T]) end() int64 { return p.Off + p.Len }

// A Pull reads parts. Its fields must not change while it reads.
type Pull[T any] struct {
	From rangeio.Reader
	// Parts calls add for each part. If add returns an error, Parts returns this
	// error. Parts may read indexes under its context to find the parts. Each calls
	// Parts in the goroutine of the caller, Windows calls Parts in another one.
	Parts func(ctx context.Context, add func(Part[T]) error) error

	// Window is the most bytes of a window. A single part may be longer.
	Window int64
	// First, if set, is the most bytes of the first window. Each window may be twice
	// as long as the window before it, up to Window.
	First int64
	// Work, if set, is the most bytes that the takers make of a window, unless it has a single
	// part. Of a file that is compressed well a short window is long work, which several
	// goroutines can share only window by window.
	Work int64
	// Most is the most parts of a window. 0 means 8192: enough for a long planned read,
	// and their bookkeeping takes some MiB.
	Most int
	// Memory is the most bytes that all windows hold together. A single window may
	// hold more. 0 means two windows: one is read while the other is consumed.
	Memory int64
	// Ahead, if set, is the number of windows that Windows reads ahead, one after the
	// other, while the caller takes one. Set it if the caller may stop early. 0 means as
	// many windows as Memory holds, read at the same time.
	Ahead int
	// Parallel is the most calls of take that Each runs at the same time. 0
	// means GOMAXPROCS.
	Parallel int
	// Near is the longest gap between two parts, in bytes, that is read and dropped,
	// so that the parts share a span. 0 means 64: to read so few bytes costs less than
	// to plan and fill another span.
	Near int64
	// Into, if set, returns the caller's memory for a part, of Len bytes or more, or nil
	// if the caller has none for it. what is the For of the part. If a part has such
	// memory, a span of its own is read straight into it, and its bytes count neither for
	// Window nor for Memory. After an error the bytes of this memory are undefined.
	Into func(what T) []byte
	// Room is the number of free bytes in front of the bytes of each window; see
	// Window.Room.
	Room int

	// Came, if set, is called by Windows for each window after it is read and
	// before it is yielded. It may run while the caller takes another window, and
	// several calls may run at the same time.
	Came func(*Window[T])
	// Failed, if set, adds the names of the parts to the error err of a
	// window's read.
	Failed func(parts []Part[T], err error) error
	// Index is set if the parts are an index, which a plan needs: they are read
	// from a Dry reader, too.
	Index bool
	// Why describes the parts of a planned request for people, and reports
	// whether the request is an estimate; see Dry.
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

// localWindow is the most bytes of a file in one window. The bytes of a longer
// window would leave the processor's own cache before they are taken.
const localWindow = 256 << 10

// WorthGoroutine is the number of bytes of a file from which another goroutine that
// takes them saves time: to decode them takes a hundred times as long as to start the
// goroutine.
const WorthGoroutine = 128 << 10

// WorthWork is the same of the bytes that are made of them: some 0.3 ms where they are
// compressed well.
const WorthWork = 1 << 20

// WindowOf returns the usual size of a window of r, in bytes. It is the length of the
// longest request of p, so that the bytes of a request are taken while other requests are
// under way. Windows of a reader without a round trip are shorter.
func WindowOf(r rangeio.Reader, p rangeio.Policy) int64 {
	switch {
	case rangeio.Local(r):
		return localWindow
	case p.MaxLen <= 0:
		return rangeio.Fast().MaxLen
	}
	return p.MaxLen
}

// Of returns a Pull.Parts for parts that are known beforehand.
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

// Stretch sets Parts and First so that p reads the bytes [from, to). Each part is one
// window. The first window has first bytes, and each window is twice as long as the
// window before it, up to Window.
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
