package objstore

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// A pattern finds out how ReadAt is called, and says what is worth reading ahead. It
// knows runs (reads that follow each other forwards or backwards) and strides (runs at
// equal distances). It makes no requests, and what it says depends on the reads alone,
// not on time.
//
// What it reads ahead in vain is bounded: never much more than the bytes that the run
// has read already, and if more than a small part of all bytes was read in vain, a
// small part of the run. So reads without a pattern cost what they cost without it.
type pattern struct {
	block int64 // bytes of a block: reads less than a block apart follow each other
	size  int64 // bytes of the object
	most  int64 // most bytes read ahead and not read yet, of all runs
	// parts are ranges in which runs end, in order, as far as the object tells; nil: it tells none.
	parts func() []Range

	asked atomic.Int64 // bytes that reads needed from the store, read ahead or not
	lost  atomic.Int64 // bytes that were read ahead in vain

	mu      sync.Mutex
	tick    int64
	runs    [8]readRun
	strides [2]stride
	streak  streak
	told    []Range // what Prefetch has loaded: the caller knows best what follows
}

// Limits of reading ahead.
const (
	aheadWindow  = 4 << 20  // of a long run: while one is read, the next is fetched
	aheadShort   = 5 << 20  // most bytes ahead of a run that is not long yet
	aheadLong    = 16 << 20 // a run is long after so many bytes: half of what is ahead of it is lost at little cost
	aheadMost    = 16 << 20 // default of OpenOptions.Ahead: two streams of full windows, or more of shorter ones
	aheadAfter   = 1 << 20  // most bytes ahead of a run whose second read is long, since the run before it was
	aheadStrides = 64       // most strides of one window: requests in flight
	sameLength   = 2        // streaks as long as the one before after which the next one will be, too
	sameThrifty  = 4        // the same if much was lost
	lostFree     = 256 << 10
	lostShare    = 16 // one byte in so many may be lost
	mostTold     = 64 // ranges of Prefetch that are remembered
	staleAfter   = 64 // reads after which a run that did not go on makes room for others
)

// A readRun is a list of reads that follow each other. The bytes [lo, hi) were read, but for gaps below a block.
type readRun struct {
	lo, hi int64
	dir    int64 // 1: forwards, -1: backwards, 0: a single read
	end    int64 // up to here was read ahead: above hi, or below lo
	read   int64 // bytes read in this direction
	before int64 // the same without the last read and without gaps
	n      int64 // bytes of the last read
	proved bool  // bytes that were read ahead were read
	limit  int64 // where it ends if it is as long as the run before it; 0: unknown
	seen   int64 // tick of the last read; 0: no run
	of     *stride
}

// A streak is what was read front to end since the last jump, whatever was read there before.
type streak struct {
	lo, hi int64
	length int64 // of the one before
	same   int   // how many before that one were as long
}

// step adds a read to the streak, or begins another one.
func (k *streak) step(off, n, block int64) {
	if near(off, k.hi, block) {
		k.hi = max(k.hi, off+n)
		return
	}
	if long := k.hi - k.lo; near(long, k.length, block) {
		k.same++
	} else {
		k.same, k.length = 0, long
	}
	k.lo, k.hi = off, off+n
}

// end returns where a run that began with the streak will end if that is as long as the last ones, else 0.
func (k *streak) end(s *readRun) int64 {
	if k.same < sameLength || s.lo != k.lo || s.dir < 0 {
		return 0
	}
	return k.lo + k.length
}

// A stride is a list of runs at equal distances.
type stride struct {
	step  int64
	next  int64 // where the next run is expected
	n     int64 // bytes of a run
	loose int64 // by how much the distances may differ
	runs  int64 // runs read
	ahead int64 // runs read ahead
	seen  int64
}

// note tells of a read of [off, off+n), n > 0, and returns what to read ahead now. The
// result may begin with bytes of the read itself, and may have parts that are kept
// already. It is nil most of the time.
func (d *pattern) note(off, n int64) []Range {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.told {
		if off >= r.Off && off < r.Off+r.Len {
			return nil
		}
	}
	d.tick++
	d.streak.step(off, n, d.block)
	if s := d.follow(off, n); s != nil {
		if r := d.extend(s, off, n); r.Len > 0 {
			return []Range{r}
		}
		return nil
	}
	return d.inStride(d.begin(off, n))
}

// tell notes a range that Prefetch loads: reads in it are part of no pattern.
func (d *pattern) tell(r Range) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.told); n > 0 && d.told[n-1].Off+d.told[n-1].Len == r.Off {
		d.told[n-1].Len += r.Len
		return
	}
	if len(d.told) == mostTold {
		copy(d.told, d.told[1:])
		d.told = d.told[:mostTold-1]
	}
	d.told = append(d.told, r)
}

// fail tells that reading ahead has failed: n bytes did not come. All runs begin anew.
func (d *pattern) fail(n int64) {
	d.lost.Add(n)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs, d.strides = [len(d.runs)]readRun{}, [len(d.strides)]stride{}
}

// thrifty reports whether so much was read ahead in vain that it should hardly go on.
func (d *pattern) thrifty() bool { return d.lost.Load() > lostFree+d.asked.Load()/lostShare }

// follow finds the run that a read belongs to, and adds the read to it.
func (d *pattern) follow(off, n int64) *readRun {
	for i := range d.runs {
		s := &d.runs[i]
		if s.seen == 0 || off+n < s.lo-d.block || off > s.hi+d.block {
			continue
		}
		forward, back := off+n-s.hi, s.lo-off
		switch {
		case forward <= 0 && back <= 0: // bytes that were read before
		case off >= s.hi-d.block && forward > 0 && (s.dir >= 0 || back <= 0):
			d.move(s, 1, forward, n)
			s.hi = off + n
		case off+n <= s.lo+d.block && back > 0:
			d.move(s, -1, back, n)
			s.lo = off
		default:
			continue
		}
		s.seen = d.tick
		if s.of != nil {
			s.of.n = max(s.of.n, s.hi-s.lo)
		}
		return s
	}
	return nil
}

// move counts a step of a run: n bytes, by of them new.
func (d *pattern) move(s *readRun, dir, by, n int64) {
	if s.dir == -dir { // it turns round
		d.lost.Add(s.out())
		s.before, s.n, s.read, s.proved, s.dir = 0, n, n, false, dir
		s.end = 0
		return
	}
	s.dir = dir
	s.before += s.n
	s.n = min(n, by)
	s.read += by
	s.proved = s.proved || s.out() > 0
}

// out returns the number of bytes that are read ahead and not read yet.
func (s *readRun) out() int64 {
	switch {
	case s.end == 0 || s.dir == 0:
		return 0
	case s.dir > 0:
		return max(s.end-s.hi, 0)
	default:
		return max(s.lo-s.end, 0)
	}
}

// begin makes a run of a read that follows no other.
func (d *pattern) begin(off, n int64) *readRun {
	s := &d.runs[0]
	for i := range d.runs {
		if x := &d.runs[i]; d.worth(x) < d.worth(s) {
			s = x
		}
	}
	d.lost.Add(s.out())
	*s = readRun{lo: off, hi: off + n, read: n, n: n, seen: d.tick}
	if last := d.last(s); last != nil && last.dir > 0 {
		s.limit = off + last.hi - last.lo
	}
	return s
}

// last is the run that was read last before s, or nil.
func (d *pattern) last(s *readRun) (last *readRun) {
	for i := range d.runs {
		if x := &d.runs[i]; x != s && x.seen > 0 && (last == nil || x.seen > last.seen) {
			last = x
		}
	}
	return last
}

// worth orders runs by what their end would cost: single reads go first, and runs that
// did not go on.
func (d *pattern) worth(s *readRun) int64 {
	if s.dir != 0 && d.tick-s.seen < staleAfter {
		return s.seen + d.tick
	}
	return s.seen
}

// extend returns the next window of a run, whose last read is [off, off+n). A short read
// that has nothing ahead is part of the window: one request brings both. A long one goes
// past the cache.
func (d *pattern) extend(s *readRun, off, n int64) Range {
	want := s.before // a long read after a short one need not go on: half of it more costs little
	if n > wholeBlocks*d.block {
		want = max(want, n/2, min((s.limit-s.lo)/4, aheadAfter))
	}
	left := want / 2
	switch {
	case s.proved && s.read >= aheadLong:
		want = 2 * aheadWindow
		left = want / 2
	case s.proved:
		// Where a run ends, nobody knows, and what is ahead then is lost. So windows are hardly
		// longer than what was read. They are fetched late, when the one before is all but
		// read: so few windows bring as many bytes as longer ones that are fetched early.
		want = min(s.read+s.read/4, aheadShort)
		left = want / 16
	}
	if d.thrifty() {
		want = s.read / lostShare
		left = want / 2
	}
	if end := d.streak.end(s); end > 0 && near(s.hi, end, d.block) {
		return Range{}
	} else if end-s.hi > want && (d.streak.same >= sameThrifty || !d.thrifty()) { // perhaps more than was read: it has always been so
		want = min(end-s.hi, aheadShort)
		left = want / 16
	}
	want = min(want, d.share())
	out := s.out()
	if s.dir == 0 || want < d.block || out > min(left, want/2) {
		return Range{}
	}
	joined := out == 0 && n <= wholeBlocks*d.block
	if s.dir < 0 {
		return d.backwards(s, want, joined)
	}
	return d.forwards(s, want, joined, off)
}

func (d *pattern) forwards(s *readRun, want int64, joined bool, off int64) Range {
	from, to := max(s.hi, s.end), s.hi+want
	if joined {
		from = off
	}
	if s.limit > 0 && s.limit+d.block > s.hi {
		to = min(to, s.limit+d.block)
	}
	if to < d.size {
		to -= to % d.block
	}
	to = min(d.stop(s, to), d.size)
	if to <= from || to <= s.hi {
		return Range{}
	}
	s.end = to
	return Range{from, to - from}
}

// stop returns to, or where a run probably ends before that, or less than a block behind.
func (d *pattern) stop(s *readRun, to int64) int64 {
	if end := d.streak.end(s); end > s.hi && to > end-d.block {
		to = end
	}
	if d.parts == nil {
		return to
	}
	list := d.parts()
	i, _ := slices.BinarySearchFunc(list, s.hi, func(r Range, hi int64) int { return cmp.Compare(r.Off+r.Len, hi) })
	// A run that has left the part in which it began reads more than one.
	if i < len(list) && list[i].Off <= s.lo && to > list[i].Off+list[i].Len-d.block {
		to = list[i].Off + list[i].Len
	}
	return to
}

func (d *pattern) backwards(s *readRun, want int64, joined bool) Range {
	to := s.lo
	switch {
	case s.out() > 0:
		to = s.end
	case joined:
		to += s.n
	}
	from := max(s.lo-want, 0)
	from += (d.block - from%d.block) % d.block
	if from >= to || from >= s.lo {
		return Range{}
	}
	s.end = from
	return Range{from, to - from}
}

// share is how much one of the present runs may have ahead.
func (d *pattern) share() int64 {
	n := int64(0)
	for i := range d.runs {
		if s := &d.runs[i]; s.out() > 0 && d.tick-s.seen < staleAfter {
			n++
		}
	}
	return d.most / max(n, 1)
}

// inStride finds the stride that a new run belongs to, and returns the next runs of it.
func (d *pattern) inStride(s *readRun) []Range {
	t := d.stride(s)
	if t == nil {
		return nil
	}
	t.seen, s.of = d.tick, t
	s.limit = s.lo + t.n
	t.ahead = max(t.ahead-1, 0)
	k := t.runs // as many as were read
	if t.runs > 3 {
		k *= 2
	}
	blocks := (t.n/d.block + 1) * d.block
	k = min(k, aheadStrides, d.most/2/blocks)
	if d.thrifty() || t.ahead > k/2 {
		return nil
	}
	var out []Range
	if t.ahead == 0 {
		out = append(out, Range{s.lo, min(t.n, d.size-s.lo)})
		if t.n > s.hi-s.lo {
			s.dir, s.end = 1, s.lo+t.n
		}
	}
	for ; t.ahead < k; t.ahead++ {
		off := t.next + t.ahead*t.step
		if off < 0 || off >= d.size {
			break
		}
		out = append(out, Range{off, min(t.n, d.size-off)})
	}
	return out
}

// stride returns the stride of which s is the next run, or a new one if s and two
// earlier runs lie at equal distances.
func (d *pattern) stride(s *readRun) *stride {
	old := &d.strides[0]
	for i := range d.strides {
		t := &d.strides[i]
		if t.step != 0 && near(s.lo, t.next, t.loose) {
			t.next = s.lo + t.step
			t.runs++
			return t
		}
		if t.seen < old.seen {
			old = t
		}
	}
	for i := range d.runs {
		u := &d.runs[i]
		step := s.lo - u.lo
		if u.seen == 0 || u == s || u.dir < 0 {
			continue
		}
		// Only of long runs the distances may differ a little: parts of a file of which
		// each has its own header.
		loose := int64(0)
		if u.dir > 0 && u.hi-u.lo >= wholeBlocks*d.block {
			loose = d.block
		}
		for k := range d.runs {
			if v := &d.runs[k]; v.seen != 0 && v != u && v != s && near(v.lo, u.lo-step, loose) {
				d.lost.Add(old.ahead * old.n)
				*old = stride{step: step, next: s.lo + step, n: max(u.hi-u.lo, s.hi-s.lo), loose: loose, runs: 3}
				return old
			}
		}
	}
	return nil
}

func near(a, b, loose int64) bool { return max(a-b, b-a) <= loose }
