package gulp

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
)

// A ref names a frame by the position of its id in file order and its index.
type ref struct{ item, frame int }

// A batch is one window of frames that were read together.
type batch struct {
	Buffer
	refs []ref
	err  error
}

// Each calls fn for every frame of every id, in file order, with its payload,
// one call at a time. The bytes are valid during the call only. Frames are read
// in windows of Options.Window, each one planned read; the next window is read
// while fn runs, so at most two windows, or two larger frames, are held. A frame
// larger than Limits.MaxDecoded is ErrTooLarge. An error of fn ends Each and is
// returned as it is.
func (c *Chunk) Each(ctx context.Context, fn func(id string, i int, frame []byte) error) error {
	return c.stream(ctx, c.all(), false, func(r ref, p []byte) error { return fn(c.items[r.item].id, r.frame, p) })
}

// EachFrame is Each for the frames of one id that AppendFrames would read, in
// that order and with the same errors for from, to and step.
func (c *Chunk) EachFrame(ctx context.Context, id string, from, to, step int, fn func(i int, frame []byte) error) error {
	it, err := c.find(id)
	if err != nil {
		return err
	}
	n, err := selected(len(it.frames), from, to, step)
	if err != nil {
		return &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: err}
	}
	k, i := c.byID[id], from-step
	return c.stream(ctx, func() (ref, bool) {
		if n == 0 {
			return ref{}, false
		}
		n, i = n-1, i+step
		return ref{k, i}, true
	}, false, func(r ref, p []byte) error { return fn(r.frame, p) })
}

// all walks every frame in file order.
func (c *Chunk) all() func() (ref, bool) {
	k, n := 0, 0
	return func() (ref, bool) {
		for k < len(c.items) && n == len(c.items[k].frames) {
			k, n = k+1, 0
		}
		if k == len(c.items) {
			return ref{}, false
		}
		n++
		return ref{k, n - 1}, true
	}
}

// stream reads the frames that next names, a window ahead of fn.
func (c *Chunk) stream(ctx context.Context, next func() (ref, bool), padded bool, fn func(ref, []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	full, empty := make(chan *batch), make(chan *batch, 2)
	for range cap(empty) {
		empty <- &batch{Buffer: Buffer{padded: padded}}
	}
	go func() {
		defer close(full)
		c.readAhead(ctx, next, empty, full)
	}()
	defer func() {
		cancel()
		for range full { // the reader has ended when full is closed
		}
	}()
	for b := range full {
		if b.err != nil {
			return b.err
		}
		for i, r := range b.refs {
			if err := fn(r, b.frames[i]); err != nil {
				return err
			}
		}
		empty <- b
	}
	return ctx.Err()
}

// readAhead fills batches until next ends, a read fails, or ctx does.
func (c *Chunk) readAhead(ctx context.Context, next func() (ref, bool), empty <-chan *batch, full chan<- *batch) {
	window := min(c.o.Window, c.o.Limits.MaxDecoded)
	r, more := next()
	for more {
		var b *batch
		select {
		case b = <-empty:
		case <-ctx.Done():
			return
		}
		b.sel, b.refs = b.sel[:0], b.refs[:0]
		var size int64
		for more {
			f := c.items[r.item].frames[r.frame]
			if size += f.total(); size > window && len(b.sel) > 0 {
				break
			}
			b.sel, b.refs = append(b.sel, f), append(b.refs, r)
			r, more = next()
		}
		if more && b.data == nil { // a full window: the next ones differ by less than a frame
			b.data = make([]byte, 0, window)
		}
		if err := b.read(ctx, c.data, c.o.Limits.MaxDecoded); err != nil {
			b.err = wrap(c.items[b.refs[0].item].id, err)
			more = false
		}
		select {
		case full <- b:
		case <-ctx.Done():
			return
		}
	}
}

// Report is what Verify found.
type Report struct {
	Totals       // what the index says, whether it was verified or not
	JPEG   int64 // frames that begin as JPEG does (FF D8 FF)
	// Unended counts JPEG frames without an end marker (FF D9) at their end.
	// Some encoders append bytes after the marker, so this is no error.
	Unended int64
	// Other counts frames that are no JPEG, and FirstOther names the first.
	Other      int64
	FirstOther string
}

// Verify reads every frame and every pad and checks what can be checked
// without decoding: GulpIO stores no checksums. All bytes that the index claims
// must be readable and all padding zero, as GulpIO writes it; other padding
// means that an entry is wrong and a payload cut short, and is ErrCorrupt.
// Payloads may be of any image format, so Verify only reports whether they look
// like JPEG. Progress, if not nil, is told the bytes checked so far and in all,
// after each frame, by the calling goroutine. The cost is that of Each. With an
// error the Report counts the frames before it.
func (c *Chunk) Verify(ctx context.Context, progress func(done, total int64)) (Report, error) {
	rep := Report{Totals: c.totals}
	var done int64
	err := c.stream(ctx, c.all(), true, func(r ref, p []byte) error {
		it := &c.items[r.item]
		f := it.frames[r.frame]
		rep.look(it.id, r.frame, p[:f.size()])
		for i, pad := range p[f.size():] {
			if pad != 0 {
				return &formats.Error{Format: Format, Part: fmt.Sprintf("%s frame %d", partOf(it.id), r.frame),
					Off: f.dataEnd() + int64(i), Err: fmt.Errorf("padding is %#x, not zero: %w", pad, formats.ErrCorrupt)}
			}
		}
		if done += f.total(); progress != nil {
			progress(done, c.totals.Bytes+c.totals.Padding)
		}
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
