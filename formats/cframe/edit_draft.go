package cframe

import (
	"fmt"

	"github.com/farread/farread/formats/blosc"
)

// endBelow returns the end of the last chunk that begins before the offset limit of a file,
// or that of the header.
func (e *Editor) endBelow(limit int64) (int64, error) {
	i, last := -1, int64(-1)
	for k, off := range e.offs {
		if specialOf(off) == blosc.None && off > last && off < limit-e.in.HeaderLen {
			i, last = k, off
		}
	}
	if i < 0 {
		return e.in.HeaderLen, nil
	}
	h, err := e.head(i)
	if err != nil {
		return 0, err
	}
	return e.in.HeaderLen + last + int64(h.CBytes), nil
}

// slide moves the new chunks of a draft over the dead bytes in front of them: chunks at the
// end of the file that new ones have replaced.
func (e *Editor) slide() error {
	to, err := e.endBelow(e.fresh)
	if err != nil || to >= e.fresh {
		return err
	}
	buf := make([]byte, min(slideBytes, e.end-e.fresh))
	for at := e.fresh; at < e.end; {
		p := buf[:min(int64(len(buf)), e.end-at)]
		if err := readAt(e.f, p, at); err != nil {
			return err
		}
		if _, err := e.f.WriteAt(p, at-e.fresh+to); err != nil {
			return fmt.Errorf("%s: %w", Format, err)
		}
		at += int64(len(p))
	}
	for i, off := range e.offs {
		if specialOf(off) == blosc.None && off >= e.fresh-e.in.HeaderLen {
			e.offs[i] = off - e.fresh + to
		}
	}
	e.end += to - e.fresh
	return nil
}

// slideBytes is how much of a draft is moved at a time.
const slideBytes = 1 << 20

// cutDraft ends a draft behind its trailer.
func (e *Editor) cutDraft() error {
	if err := e.f.Truncate(e.in.FrameLen); err != nil {
		return fmt.Errorf("%s: %w", Format, err)
	}
	e.end, e.fresh = e.in.FrameLen, e.in.FrameLen
	return nil
}
