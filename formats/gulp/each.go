package gulp

import (
	"context"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A place is a frame of a chunk: the position of its id in file order, and its index.
type place struct {
	c           *Chunk
	item, frame int
}

func (p place) at() frame {
	it := &p.c.items[p.item]
	return it.frames[p.frame-it.before]
}

// A frameSource calls take for one frame after another. If take fails, it stops and
// returns that error.
type frameSource func(ctx context.Context, take func(place) error) error

// Each calls fn for every frame of every id, in file order, with its payload,
// one call at a time. frame is valid during the call only. Frames are read in
// windows of Options.Window, each one planned read; the next window is read
// while fn runs, so at most two windows, or two larger frames, are held. A frame
// larger than Limits.MaxDecoded is ErrTooLarge. An error of fn ends Each and is
// returned as it is.
func (c *Chunk) Each(ctx context.Context, fn func(id string, i int, frame []byte) error) error {
	return walk(ctx, c.reading(c.all, false), func(p place, b []byte) error { return fn(c.items[p.item].id, p.frame, b) })
}

// EachFrame is Each for the frames of one id that AppendFrames would read, in
// that order and with the same errors for from, to and step.
func (c *Chunk) EachFrame(ctx context.Context, id string, from, to, step int, fn func(i int, frame []byte) error) error {
	frames, err := c.some(id, from, to, step)
	if err != nil {
		return err
	}
	return walk(ctx, c.reading(frames, false), func(p place, b []byte) error { return fn(p.frame, b) })
}

// ExplainFrames lists the requests that EachFrame would make, without making them.
// AppendFrames makes the same requests, unless the frames exceed a window: it
// plans all of them as one read.
func (c *Chunk) ExplainFrames(ctx context.Context, id string, from, to, step int) ([]rangeio.Planned, error) {
	frames, err := c.some(id, from, to, step)
	if err != nil {
		return nil, err
	}
	return c.explain(ctx, frames)
}

// ExplainEach lists the requests that Each would make, without making them.
func (c *Chunk) ExplainEach(ctx context.Context) ([]rangeio.Planned, error) {
	return c.explain(ctx, c.all)
}

func (c *Chunk) explain(ctx context.Context, frames frameSource) ([]rangeio.Planned, error) {
	var plan pull.Plan
	r := c.reading(frames, false)
	r.From = plan.Over(c.data, "")
	err := walk(ctx, r, nil)
	return plan.Requests(), err
}

// Each is Chunk.Each for all chunks, in dataset order. It loads the dataset first, and
// then reads across the ends of chunks without a pause.
func (d *Dataset) Each(ctx context.Context, fn func(id string, i int, frame []byte) error) error {
	if err := d.Load(ctx); err != nil {
		return err
	}
	return walk(ctx, d.reading(false), func(p place, b []byte) error { return fn(p.c.items[p.item].id, p.frame, b) })
}

// ExplainEach lists the requests that Each would make after it has loaded the
// dataset. ExplainEach loads the dataset, too. Objects have the names of Pair.
func (d *Dataset) ExplainEach(ctx context.Context) ([]rangeio.Planned, error) {
	if err := d.Load(ctx); err != nil {
		return nil, err
	}
	var plan pull.Plan
	dry := make(map[*Chunk]rangeio.Reader, len(d.chunks))
	for _, l := range d.chunks {
		dry[l.c] = plan.Over(l.c.data, l.pair.Data)
	}
	err := walk(ctx, d.readingFrom(func(p place) rangeio.Reader { return dry[p.c] }, false), nil)
	return plan.Requests(), err
}

// Verify is Chunk.Verify for all chunks. It loads the dataset. The report has the
// sums.
func (d *Dataset) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	t, err := d.Totals(ctx)
	if err != nil {
		return Report{}, err
	}
	r, err := verify(ctx, d.reading(true), t, progress)
	for _, l := range d.chunks {
		if err == nil {
			r.safe(l.c)
		}
	}
	return r, err
}

func (d *Dataset) reading(padded bool) *pull.Pull[place] {
	return d.readingFrom(func(p place) rangeio.Reader { return p.c.data }, padded)
}

func (d *Dataset) readingFrom(from func(place) rangeio.Reader, padded bool) *pull.Pull[place] {
	r := reading(d.o, from, func(ctx context.Context, take func(place) error) error {
		for _, l := range d.chunks {
			if err := l.c.all(ctx, take); err != nil {
				return d.inChunk(l.c, err)
			}
		}
		return nil
	}, padded, nil)
	failed := r.Failed
	r.Failed = func(parts []pull.Part[place], err error) error { return d.inChunk(parts[0].For.c, failed(parts, err)) }
	return r
}

// inChunk adds the name of the chunk to err.
func (d *Dataset) inChunk(c *Chunk, err error) error {
	for _, l := range d.chunks {
		if l.c == c {
			return fmt.Errorf("%s: %w", l.pair.Meta, err)
		}
	}
	return err
}

// all calls take for every frame in file order.
func (c *Chunk) all(_ context.Context, take func(place) error) error {
	for k := range c.items {
		for i := range c.items[k].frames {
			if err := take(place{c, k, c.items[k].before + i}); err != nil {
				return err
			}
		}
	}
	return nil
}

// some returns a source of the frames from, from+step, … of id.
func (c *Chunk) some(id string, from, to, step int) (frameSource, error) {
	it, err := c.find(id)
	if err != nil {
		return nil, err
	}
	n, err := selected(it.count(), from, to, step)
	if err != nil {
		return nil, &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: err}
	}
	if n > 0 {
		if err := it.holds(from, from+(n-1)*step); err != nil {
			return nil, err
		}
	}
	k := c.byID[id]
	return func(_ context.Context, take func(place) error) error {
		for i := range n {
			if err := take(place{c, k, from + i*step}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// reading returns a Pull of frames, with their padding if padded is set.
func (c *Chunk) reading(frames frameSource, padded bool) *pull.Pull[place] {
	return reading(c.o, func(place) rangeio.Reader { return nil }, frames, padded, c.data)
}

// reading returns a Pull of frames of one or several chunks. from returns the reader
// of a frame; if from is nil, all frames come from data.
func reading(o Options, from func(place) rangeio.Reader, frames frameSource, padded bool, data rangeio.Reader) *pull.Pull[place] {
	return &pull.Pull[place]{
		From:   data,
		Window: min(o.Window, o.Limits.MaxDecoded),
		Parts: func(ctx context.Context, add func(pull.Part[place]) error) error {
			return frames(ctx, func(p place) error {
				f := p.at()
				n := f.size()
				if padded {
					n = f.total()
				}
				if n > o.Limits.MaxDecoded || n > math.MaxInt {
					return tooLarge(p.c.items[p.item].id, n, o.Limits.MaxDecoded)
				}
				return add(pull.Part[place]{From: from(p), Off: f.off, Len: n, For: p})
			})
		},
		Failed: func(parts []pull.Part[place], err error) error {
			p := parts[0].For
			return wrap(p.c.items[p.item].id, err)
		},
	}
}

// walk passes the frames of r to fn, in order.
func walk(ctx context.Context, r *pull.Pull[place], fn func(p place, b []byte) error) error {
	for w, err := range r.Windows(ctx) {
		if err != nil {
			return err
		}
		for i := range w.Parts {
			if err := fn(w.Parts[i].For, w.Bytes(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Report is the result of Verify.
type Report struct {
	Totals       // the totals of the index, whether the frames were verified or not
	JPEG   int64 // frames that begin as JPEG does (FF D8 FF)
	// Unended counts JPEG frames without an end marker (FF D9) at their end.
	// Some encoders append bytes after the marker, so this is not an error.
	Unended int64
	// Other counts frames that are not JPEG, and FirstOther names the first.
	Other      int64
	FirstOther string
	// Unsafe counts ids that SafePath refuses, and FirstUnsafe is the first of
	// them. They are counted after all frames are verified.
	Unsafe      int64
	FirstUnsafe string
}

// Verify reads every frame and its padding, and checks them as far as that is
// possible without decoding: GulpIO stores no checksums. All bytes that the
// index names must be readable, and all padding must be zero, as GulpIO writes
// it. Other padding is ErrCorrupt: it means that an entry is wrong and cuts a
// payload short. Payloads may be of any image format, so Verify only reports
// whether they look like JPEG. Progress, if not nil, is told the bytes checked
// so far and in all, after each frame, by the calling goroutine. The cost is
// that of Each. With an error the Report counts the frames before it.
func (c *Chunk) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	r, err := verify(ctx, c.reading(c.all, true), c.totals, progress)
	if err == nil {
		r.safe(c)
	}
	return r, err
}

// safe counts the ids of c that SafePath refuses.
func (r *Report) safe(c *Chunk) {
	for i := range c.items {
		if _, err := SafePath(c.items[i].id); err == nil {
			continue
		}
		if r.Unsafe++; r.Unsafe == 1 {
			r.FirstUnsafe = c.items[i].id
		}
	}
}

// verify checks the frames of r. t are their totals.
func verify(ctx context.Context, r *pull.Pull[place], t Totals, progress formats.Progress) (Report, error) {
	rep := Report{Totals: t}
	var done int64
	err := walk(ctx, r, func(p place, b []byte) error {
		id, f := p.c.items[p.item].id, p.at()
		rep.look(id, p.frame, b[:f.size()])
		for i, pad := range b[f.size():] {
			if pad != 0 {
				return &formats.Error{Format: Format, Part: fmt.Sprintf("%s frame %d", partOf(id), p.frame),
					Off: f.dataEnd() + int64(i), Err: fmt.Errorf("padding is %#x, not zero: %w", pad, formats.ErrCorrupt)}
			}
		}
		done += f.total()
		progress.Tell(done, t.Bytes+t.Padding)
		return nil
	})
	return rep, err
}

func (r *Report) look(id string, i int, p []byte) {
	n := len(p)
	switch {
	case n < 4 || p[0] != 0xFF || p[1] != 0xD8 || p[2] != 0xFF:
		if r.Other++; r.Other == 1 {
			r.FirstOther = fmt.Sprintf("%s frame %d", partOf(id), i)
		}
		return
	case p[n-2] != 0xFF || p[n-1] != 0xD9:
		r.Unended++
	}
	r.JPEG++
}
