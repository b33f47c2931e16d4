package zoomcache

import (
	"runtime"

	"github.com/farread/farread/internal/par"
)

// A piece is the result of one goroutine for a run of windows of one track. The Writer
// owns the pieces, since it works on one track at a time.
type piece struct {
	payload []byte
	ends    []int  // end of each window's payload
	plain   []byte // a payload before it is compressed
	z       deflater
}

const (
	// pieceValues is the number of values that are worth a goroutine: about 100
	// us of work.
	pieceValues = 64 << 10
	// slowValue is the work for a value that is compressed or of variable length,
	// in units of plain values. It takes three to twenty times as long.
	slowValue = 16
	// batchPieces is the number of pieces for each goroutine. With more than one,
	// goroutines wait less for the slowest one.
	batchPieces = 2
)

// A batch holds the windows that were made ahead.
type batch[T Value] struct {
	next, until int // first window not taken, and end of the windows
	per         int // windows in a piece; 0: only the summaries are made
	accs        []acc[T]
	one         [][]T // scratch memory of each piece, see summarise
}

// goroutines returns how many goroutines may work at a time.
func (w *Writer) goroutines() int {
	if w.o.Parallel > 0 {
		return w.o.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// prepare makes payloads and level-1 summaries ahead, on several goroutines, if v
// begins with enough windows of n values. payload and push then use these results
// instead of making the same ones.
func (l *typedLane[T]) prepare(v []T, stamps []int64, n int) error {
	w := l.tw.w
	limit := w.goroutines()
	values := w.pieceAt
	if l.tw.t.Zlib || l.tw.t.Codec.Size() < 0 {
		values /= slowValue
	}
	b := &l.batch
	b.per = max(values/(n*l.width), 1)
	pieces := min(len(v)/(n*l.width*b.per), limit*batchPieces)
	if pieces < 2 || limit == 1 {
		l.prepareMany(v, stamps, n)
		return nil
	}
	for len(w.pieces) < pieces {
		w.pieces = append(w.pieces, piece{})
	}
	for len(b.one) < pieces {
		b.one = append(b.one, nil)
	}
	b.next, b.until = 0, pieces*b.per
	if need := b.until * l.width; len(b.accs) < need {
		b.accs = make([]acc[T], need)
	}
	return par.Each(pieces, limit, func(i int) error {
		p := &w.pieces[i]
		p.payload, p.ends = p.payload[:0], p.ends[:0]
		end, done := (i+1)*b.per, 0
		for k := i * b.per; k < end; k++ {
			win := v[k*n*l.width:][:n*l.width]
			var at []int64
			dur := int64(n - 1)
			if stamps != nil {
				at = stamps[k*n:][:n]
				dur = at[n-1] - at[0]
			}
			switch {
			case k < done:
			case k+1 < end && l.together(stamps):
				done = k + l.k.many(v[k*n:end*n], n, dur, b.accs[k:])
			default:
				b.one[i] = l.summarise(b.accs[k*l.width:][:l.width], win, at, dur, b.one[i])
			}
			if w.o.NoRaw {
				continue
			}
			var err error
			if p.payload, err = l.encode(p.payload, win, at, p); err != nil {
				return err
			}
			p.ends = append(p.ends, len(p.payload))
		}
		return nil
	})
}

// together reports whether several windows can be summarised at a time.
func (l *typedLane[T]) together(stamps []int64) bool {
	return l.k.many != nil && l.width == 1 && stamps == nil
}

// prepareMany summarises the next windows if v holds several.
func (l *typedLane[T]) prepareMany(v []T, stamps []int64, n int) {
	if !l.together(stamps) || len(v) < 2*n {
		return
	}
	b := &l.batch
	if len(b.accs) < 4 {
		b.accs = make([]acc[T], 4)
	}
	b.next, b.until, b.per = 0, l.k.many(v, n, int64(n-1), b.accs), 0
}

// ready returns the payload of the next window if prepare has made it.
func (l *typedLane[T]) ready() ([]byte, bool) {
	b := &l.batch
	if b.next >= b.until || b.per == 0 {
		return nil, false
	}
	p, k := &l.tw.w.pieces[b.next/b.per], b.next%b.per
	start := 0
	if k > 0 {
		start = p.ends[k-1]
	}
	return p.payload[start:p.ends[k]], true
}

// squeeze compresses the payloads of a group of tracks that flush together. It takes a
// goroutine for each if several have enough to compress.
func (w *Writer) squeeze(group []*TrackWriter) error {
	busy := 0
	for _, t := range group {
		if t.lane.squeezes(w.pieceAt / slowValue / 8) {
			busy++
		}
	}
	if busy < 2 {
		return nil
	}
	for len(w.squeezed) < len(group) {
		w.squeezed = append(w.squeezed, piece{})
	}
	return par.Each(len(group), len(group), func(i int) error {
		if t := group[i]; t.lane.squeezes(0) {
			return t.lane.squeeze(&w.squeezed[i])
		}
		return nil
	})
}

// squeezes reports whether more than that many values are not compressed yet.
func (l *typedLane[T]) squeezes(values int) bool {
	return l.tw.t.Zlib && len(l.cur) > values && l.batch.next >= l.batch.until
}

func (l *typedLane[T]) squeeze(p *piece) (err error) {
	p.payload, err = l.encode(p.payload[:0], l.cur, l.curAt, p)
	l.squeezed = p
	return err
}
