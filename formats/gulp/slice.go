package gulp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSlice is matched by errors for text that is not a slice of frames.
var ErrSlice = errors.New("want A:B:STEP or one index")

// A Slice selects frames as Python does: start:stop:step, each part optional
// and negative numbers counted from the end; or one index. The zero value
// selects every frame.
type Slice struct {
	Start, Stop *int // nil if left out
	Step        int  // 0 means 1
	// Single marks one index, in Start; nil means 0. Unlike the bounds of a
	// slice, which clip, the index must exist.
	Single bool
}

// ParseSlice reads the spelling of the command line: "2", "-1", ":", "0:10",
// "::2", "10:0:-1". Other text, and step 0, is an error that matches ErrSlice.
func ParseSlice(text string) (Slice, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return Slice{}, fmt.Errorf("frames %q: %w", text, ErrSlice)
	}
	var v [3]*int
	for i, p := range parts {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		n, err := strconv.Atoi(p)
		if err != nil {
			return Slice{}, fmt.Errorf("frames %q: %w", text, ErrSlice)
		}
		v[i] = &n
	}
	s := Slice{Start: v[0], Stop: v[1], Single: len(parts) == 1}
	if s.Single && s.Start == nil {
		return Slice{}, fmt.Errorf("frames %q: %w", text, ErrSlice)
	}
	if v[2] != nil {
		if s.Step = *v[2]; s.Step == 0 {
			return Slice{}, fmt.Errorf("frames %q: step 0: %w", text, ErrSlice)
		}
	}
	return s, nil
}

// Resolve returns the arguments from, to and step of AppendFrames for an id of
// n frames. Bounds are clipped as in Python. If a single index is outside of
// [-n, n), the error matches ErrIndex and formats.ErrNoEntry.
func (s Slice) Resolve(n int) (from, to, step int, err error) {
	if s.Single {
		i := 0
		if s.Start != nil {
			i = *s.Start
		}
		if i < -n || i >= n {
			return 0, 0, 0, fmt.Errorf("frame %d of %d: %w", i, n, errNoFrame)
		}
		if i < 0 {
			i += n
		}
		return i, i + 1, 1, nil
	}
	step = s.Step
	if step == 0 {
		step = 1
	}
	lo, hi := 0, n // bounds are clipped to these, and default to them
	if step < 0 {
		lo, hi = -1, n-1
	}
	from, to = lo, hi
	if step < 0 {
		from, to = hi, lo
	}
	if s.Start != nil {
		from = clip(*s.Start, n, lo, hi)
	}
	if s.Stop != nil {
		to = clip(*s.Stop, n, lo, hi)
	}
	return from, to, step, nil
}

func clip(i, n, lo, hi int) int {
	if i < 0 {
		i += n // i is negative: no overflow
	}
	return max(lo, min(i, hi))
}
