package silence

import (
	"sync"
	"time"
)

// A Strain carries the time that was lost in tries that were ended for their silence from
// one call to later calls to the same thing. So a side that falls silent in each call
// uses up one limit in all of them, not one in each. Time in which no call waits in vain
// makes good as much time that was lost, and nothing is lost while any call moves bytes.
// The zero value is ready; a nil Strain carries nothing. It is safe for concurrent use.
type Strain struct {
	mu    sync.Mutex
	lost  time.Duration
	until time.Time // end of what was lost last
	moved time.Time // when a call last moved a Unit
}

// Share lets the clock begin with what s has lost by now, and adds to s what the clock
// loses. If the clock ends its call, s begins anew: the next call has the whole limit. At
// least a twentieth of the limit is left to the clock.
func (c *Clock) Share(s *Strain) { c.share(s, false) }

// ShareAid is Share for a call without which the caller goes on. If the clock ends it, s
// keeps what that took: what follows has the rest of its limit.
func (c *Clock) ShareAid(s *Strain) { c.share(s, true) }

func (c *Clock) share(s *Strain, aid bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.strain, c.aid, c.lost = s, aid, s.now()
	if c.limit > 0 {
		c.lost = min(c.lost, c.limit-c.limit/looks)
	}
}

// ended tells the strain that the clock has ended its call.
func (c *Clock) ended() {
	if c.aid {
		c.strain.add(c.silent)
		return
	}
	c.strain.clear()
}

func (s *Strain) now() time.Duration {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(s.lost-time.Since(s.until), 0)
}

// add notes that a try was silent for d until now. Tries side by side lose their common
// time once.
func (s *Strain) add(d time.Duration) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	from := now.Add(-d)
	for _, t := range []time.Time{s.until, s.moved} {
		if t.After(from) {
			from = t
		}
	}
	s.lost = max(s.lost-from.Sub(s.until), 0) + now.Sub(from)
	s.until = now
}

func (s *Strain) move(now time.Time) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved = now
}

func (s *Strain) clear() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = 0
}

// giveUp ends a try that was silent for d.
func (t *Try) giveUp(d time.Duration) {
	t.over, t.after = true, d
	t.c.given += t.silent
	t.c.strain.add(t.silent)
	t.cancel()
}

// settle is called when a Unit has come: the silence before it either was lost, as far as
// it passed in tries that were ended, or makes good what was lost before.
func (c *Clock) settle() {
	if c.given > 0 {
		c.lost += c.given
	} else {
		c.lost = max(c.lost-c.silent, 0)
	}
	c.given = 0
	if c.strain != nil {
		c.strain.move(time.Now())
	}
}
