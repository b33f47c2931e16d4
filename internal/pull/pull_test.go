package pull_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// object is n bytes that tell where they lie.
func object(n int) []byte {
	p := make([]byte, n)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// store is a far object: every read takes a second.
type store struct {
	data   []byte
	reads  atomic.Int64
	phases rangeio.Phases
	fail   func(off int64) error
}

func (s *store) Size() int64 { return int64(len(s.data)) }

func (s *store) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return s.ReadEach(ctx, spans, nil)
}

func (s *store) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	defer s.phases.Begin(ctx)()
	s.reads.Add(1)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	for i, sp := range spans {
		if s.fail != nil {
			if err := s.fail(sp.Off); err != nil {
				return err
			}
		}
		copy(sp.P, s.data[sp.Off:sp.End()])
		if done != nil {
			if err := done(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func lengths(lens ...int64) (out []pull.Part[int]) {
	off := int64(0)
	for i, n := range lens {
		out = append(out, pull.Part[int]{Off: off, Len: n, For: i})
		off += n
	}
	return out
}

// TestProperties: whatever the parts and the sizes, both ways give each part once
// with its bytes, Windows in order.
func TestProperties(t *testing.T) { // alone: it counts the buffers of the process
	data := object(4000)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "parts")
		parts := make([]pull.Part[int], n)
		at := int64(0)
		for i := range parts {
			if rapid.Bool().Draw(t, "jump") {
				at = rapid.Int64Range(0, 4000).Draw(t, "at")
			}
			size := min(rapid.Int64Range(0, 150).Draw(t, "len"), 4000-at)
			parts[i] = pull.Part[int]{Off: at, Len: size, For: i}
			at = min(at+size+rapid.Int64Range(0, 100).Draw(t, "gap"), 4000)
		}
		p := pull.Pull[int]{
			From:     rangeio.FromReaderAt(bytes.NewReader(data), int64(len(data))),
			Parts:    pull.Of(parts...),
			Window:   rapid.Int64Range(0, 500).Draw(t, "window"),
			First:    rapid.Int64Range(0, 500).Draw(t, "first"),
			Memory:   rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Just[int64](math.MaxInt64)).Draw(t, "memory"),
			Parallel: rapid.IntRange(0, 4).Draw(t, "parallel"),
			Room:     rapid.IntRange(0, 20).Draw(t, "room"),
		}
		before := bufpool.Loans()
		next := 0
		for w, err := range p.Windows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range w.Parts {
				if q.For != next || !bytes.Equal(w.Bytes(i), data[q.Off:][:q.Len]) {
					t.Fatalf("part %d came as number %d, or has other bytes", q.For, next)
				}
				next++
			}
			if b := w.Room(p.Room); len(b) < p.Room || len(w.Parts) == 1 && !bytes.Equal(b[p.Room:], w.Bytes(0)) {
				t.Fatal("the room is not in front of the bytes")
			}
		}
		if next != n {
			t.Fatalf("%d of %d parts came", next, n)
		}
		var mu sync.Mutex
		seen := make([]int, n)
		if err := p.Each(context.Background(), func(q pull.Part[int], b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			seen[q.For]++
			if !bytes.Equal(b, data[q.Off:][:q.Len]) {
				return fmt.Errorf("part %d has other bytes", q.For)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
			t.Fatalf("parts came %v times", seen)
		}
		if now := bufpool.Loans(); now != before {
			t.Fatalf("%d buffers lent, %d before", now, before)
		}
	})
}

// TestAhead: in virtual time, reads of a second each are made while what came before
// is consumed, as many side by side as memory holds.
func TestAhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory  int64
		seconds int // ten windows, a second of work each
	}{
		{100, 20}, // one by one
		{200, 11}, // one ahead
		{500, 11},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{data: object(1000)}
			p := pull.Pull[struct{}]{From: s, Window: 100, Memory: c.memory}
			p.Stretch(0, 1000, 100)
			begin := time.Now()
			n := 0
			for _, err := range p.Windows(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				n++
				time.Sleep(time.Second)
			}
			if got := time.Since(begin); n != 10 || got != time.Duration(c.seconds)*time.Second {
				t.Errorf("memory %d: %d windows in %v, want 10 in %d s", c.memory, n, got, c.seconds)
			}
			if s.phases.Depth() != 1 {
				t.Errorf("memory %d: %d phases, want 1", c.memory, s.phases.Depth())
			}
		})
	}
}

// TestEachAhead: Each has as many reads under way as memory holds, and works with as
// many hands as it may.
func TestEachAhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory   int64
		parallel int
		seconds  int // ten windows, a second of work each
	}{
		{100, 1, 20}, {200, 1, 11}, {200, 2, 10}, {1000, 1, 11}, {1000, 2, 6}, {1000, 10, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{data: object(1000)}
			p := pull.Pull[int]{From: s, Parts: pull.Of(lengths(slices.Repeat([]int64{100}, 10)...)...), Window: 100, Memory: c.memory, Parallel: c.parallel}
			begin := time.Now()
			var now, hands atomic.Int64
			err := p.Each(t.Context(), func(pull.Part[int], []byte) error {
				hands.Store(max(hands.Load(), now.Add(1)))
				defer now.Add(-1)
				time.Sleep(time.Second)
				return nil
			})
			if got := time.Since(begin); err != nil || got != time.Duration(c.seconds)*time.Second {
				t.Errorf("memory %d, %d hands: %v, %v, want %d s", c.memory, c.parallel, got, err, c.seconds)
			}
			if hands.Load() > int64(c.parallel) || s.phases.Depth() != 1 {
				t.Errorf("memory %d: %d hands of %d, %d phases", c.memory, hands.Load(), c.parallel, s.phases.Depth())
			}
		})
	}
}

// TestMore: what the taking of parts needs counts like their bytes.
func TestMore(t *testing.T) {
	t.Parallel()
	p := pull.Pull[int]{From: rangeio.FromReaderAt(bytes.NewReader(object(100)), 100), Window: 30, Parts: pull.Of(
		pull.Part[int]{Len: 10, More: 10}, pull.Part[int]{Off: 10, Len: 10}, pull.Part[int]{Off: 20, Len: 10, More: 100}, pull.Part[int]{Off: 30, Len: 30})}
	var got []int
	for w, err := range p.Windows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, len(w.Parts))
	}
	if !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("windows of %v parts, want 2, 1, 1", got)
	}
}

// TestWork: what is made of a window is bounded, besides its bytes.
func TestWork(t *testing.T) {
	t.Parallel()
	data := object(100)
	parts := pull.Of(pull.Part[int]{Len: 10, Made: 10}, pull.Part[int]{Off: 10, Len: 10, Made: 20}, pull.Part[int]{Off: 20, Len: 10, Made: 1},
		pull.Part[int]{Off: 30, Len: 30, Made: 1000}, pull.Part[int]{Off: 60, Len: 1}, pull.Part[int]{Off: 61, Len: 1})
	for _, c := range []struct {
		work int64
		want []int
	}{{0, []int{6}}, {30, []int{2, 1, 1, 2}}, {1, []int{1, 1, 1, 1, 2}}, {5000, []int{6}}} {
		p := pull.Pull[int]{From: rangeio.FromReaderAt(bytes.NewReader(data), 100), Window: 100, Work: c.work, Parts: parts}
		var got []int
		for w, err := range p.Windows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(w.Parts))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("windows of %v parts with %d bytes of work, want %v", got, c.work, c.want)
		}
	}
}

// TestSteps: parts that are read to know other parts are a phase before these, in
// whatever order the reads are made.
func TestSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{data: object(1000)}
		p := pull.Pull[int]{From: s, Window: 100, Parts: func(ctx context.Context, add func(pull.Part[int]) error) error {
			for i := range 5 {
				if err := s.ReadRanges(ctx, []rangeio.Span{{Off: int64(i), P: make([]byte, 1)}}); err != nil {
					return err
				}
				if err := add(pull.Part[int]{Off: int64(i) * 100, Len: 100}); err != nil {
					return err
				}
			}
			return nil
		}}
		for _, err := range p.Windows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if s.phases.Depth() != 2 {
			t.Errorf("%d phases, want 2", s.phases.Depth())
		}
		second := pull.Pull[int]{From: s, Window: 100, Parts: pull.Of(lengths(10)...)}
		if err := second.Each(t.Context(), func(pull.Part[int], []byte) error { return nil }); err != nil || s.phases.Depth() != 3 {
			t.Errorf("the next Pull: %v, %d phases in all, want 3", err, s.phases.Depth())
		}
	})
}

// TestEnds: an error of a read, of the parts, of whoever takes them, a loop that is
// left and a context that ends all stop what is under way, and say why.
func TestEnds(t *testing.T) { // alone: it counts the buffers of the process
	bad := errors.New("bad")
	for _, c := range []struct {
		name  string
		fail  error // of the read at 500
		parts error // after 700
		take  error // at 300
		stop  bool  // leave at 300
		end   time.Duration
		want  error
	}{
		{name: "read", fail: bad, want: bad},
		{name: "parts", parts: bad, want: bad},
		{name: "take", take: bad, want: bad},
		{name: "left", stop: true},
		{name: "cancelled", end: 500 * time.Millisecond, want: context.DeadlineExceeded},
	} {
		for _, memory := range []int64{100, 200, 10000} {
			synctest.Test(t, func(t *testing.T) {
				s := &store{data: object(1000), fail: func(off int64) error {
					if off == 500 {
						return c.fail
					}
					return nil
				}}
				p := pull.Pull[int]{From: s, Window: 100, Memory: memory, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
					for i := range 10 {
						if i == 7 && c.parts != nil {
							return c.parts
						}
						if err := add(pull.Part[int]{Off: int64(i) * 100, Len: 100, For: i}); err != nil {
							return err
						}
					}
					return nil
				}, Failed: func(parts []pull.Part[int], err error) error {
					return fmt.Errorf("part %d: %w", parts[0].For, err)
				}}
				ctx := t.Context()
				if c.end > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.end)
					defer cancel()
				}
				before := bufpool.Loans()
				if got := loop(ctx, &p, c.take, c.stop); !errors.Is(got, c.want) {
					t.Errorf("%s, memory %d: Windows: %v, want %v", c.name, memory, got, c.want)
				} else if c.fail != nil && got.Error() != "part 5: bad" {
					t.Errorf("%s, memory %d: Windows: %v does not name the part", c.name, memory, got)
				}
				if c.stop {
					return
				}
				if c.end > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(t.Context(), c.end)
					defer cancel()
				}
				got := p.Each(ctx, func(q pull.Part[int], _ []byte) error {
					if q.For == 3 {
						return c.take
					}
					return nil
				})
				if !errors.Is(got, c.want) {
					t.Errorf("%s, memory %d: Each: %v, want %v", c.name, memory, got, c.want)
				}
				if c.take != nil && got != c.take {
					t.Errorf("%s: the error of take came back as %v", c.name, got)
				}
				if now := bufpool.Loans(); now != before {
					t.Errorf("%s: %d buffers lent, %d before", c.name, now, before)
				}
			})
		}
	}
}

func loop(ctx context.Context, p *pull.Pull[int], take error, stop bool) error {
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		if w.Parts[0].For == 3 && stop {
			break
		}
		if w.Parts[0].For == 3 && take != nil {
			return take
		}
	}
	return nil
}

// TestDry: a plan says the requests that the reads make, and none is made for it but
// those of indexes.
func TestDry(t *testing.T) {
	t.Parallel()
	s := &store{data: object(1000)}
	var plan pull.Plan
	dry := plan.Over(s, "")
	read := func(ctx context.Context, r rangeio.Reader) error {
		heads := pull.Pull[int]{From: r, Window: 50, Index: true, Parts: pull.Of(lengths(10, 10, 10)...)}
		var mu sync.Mutex
		var parts []pull.Part[string]
		if err := heads.Each(ctx, func(p pull.Part[int], b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			if len(b) == 10 {
				parts = append(parts, pull.Part[string]{Off: 100 + int64(p.For)*200, Len: 150, For: fmt.Sprint("block ", p.For)})
			}
			return nil
		}); err != nil {
			return err
		}
		slices.SortFunc(parts, func(a, b pull.Part[string]) int { return int(a.Off - b.Off) })
		blocks := pull.Pull[string]{From: r, Window: 200, Parts: pull.Of(parts...),
			Why: func(p []pull.Part[string]) (string, bool) { return p[0].For, false }}
		return blocks.Each(ctx, func(pull.Part[string], []byte) error { return nil })
	}
	synctest.Test(t, func(t *testing.T) {
		if err := read(t.Context(), dry); err != nil {
			t.Fatal(err)
		}
		if n := s.reads.Load(); n != 1 {
			t.Errorf("%d reads were made for the plan, want that of the heads", n)
		}
		want := []rangeio.Planned{
			{Phase: 1, Off: 100, Len: 150, Why: "block 0"},
			{Phase: 1, Off: 300, Len: 150, Why: "block 1"},
			{Phase: 1, Off: 500, Len: 150, Why: "block 2"},
		}
		if got := plan.Requests(); !slices.Equal(got, want) {
			t.Errorf("planned %+v, want %+v", got, want)
		}
		if err := read(t.Context(), s); err != nil || s.reads.Load() != 1+4 {
			t.Errorf("%v, %d reads", err, s.reads.Load())
		}
	})
}

// odd is a reader that cannot be compared, as a caller's may be.
type odd struct {
	*store
	_ []int
}

// TestReaders: parts of one reader share a window, also if it cannot be compared; parts
// that name such a reader have windows of their own.
func TestReaders(t *testing.T) {
	data := object(1000)
	for _, c := range []struct {
		named bool
		reads int64
	}{{false, 1}, {true, 5}} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{data: data}
			r := odd{store: s}
			p := pull.Pull[int]{From: r, Window: 1000, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
				for i := range 5 {
					part := pull.Part[int]{Off: int64(200 * i), Len: 100, For: i}
					if c.named {
						part.From = r
					}
					if err := add(part); err != nil {
						return err
					}
				}
				return nil
			}}
			for w, err := range p.Windows(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				for i, part := range w.Parts {
					if !bytes.Equal(w.Bytes(i), data[part.Off:part.Off+part.Len]) {
						t.Errorf("part %d: other bytes", part.For)
					}
				}
			}
			if n := s.reads.Load(); n != c.reads {
				t.Errorf("%d reads, want %d", n, c.reads)
			}
		})
	}
}

// TestPartEnds: a part that ends its window is read while the parts after it are not known.
func TestPartEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{data: object(1000)}
		took := make(map[int]time.Duration)
		var mu sync.Mutex
		start := time.Now()
		p := pull.Pull[int]{From: s, Window: 500, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
			if err := add(pull.Part[int]{Len: 10, Ends: true}); err != nil {
				return err
			}
			time.Sleep(5 * time.Second)
			return add(pull.Part[int]{Off: 10, Len: 10, For: 1})
		}}
		if err := p.Each(t.Context(), func(p pull.Part[int], _ []byte) error {
			mu.Lock()
			defer mu.Unlock()
			took[p.For] = time.Since(start)
			return nil
		}); err != nil || took[0] != time.Second || took[1] != 6*time.Second {
			t.Errorf("%v, %v, want 1 s and 6 s", took, err)
		}
	})
}

// TestEmptyParts: parts without bytes come, and nothing is read for them.
func TestEmptyParts(t *testing.T) {
	t.Parallel()
	s := &store{data: object(10)}
	n := 0
	p := pull.Pull[int]{From: s, Window: 10, Parallel: 1, Parts: pull.Of(pull.Part[int]{}, pull.Part[int]{Ends: true}, pull.Part[int]{})}
	if err := p.Each(t.Context(), func(pull.Part[int], []byte) error { n++; return nil }); err != nil || n != 3 || s.reads.Load() != 0 {
		t.Errorf("%d parts by %d reads, %v", n, s.reads.Load(), err)
	}
}

// TestWithin: a Pull that finds the parts of another is the phase before it, and adds
// parts from whichever goroutine takes its own.
func TestWithin(t *testing.T) {
	t.Parallel()
	for _, local := range []bool{false, true} {
		s := &store{data: object(1000)}
		var from rangeio.Reader = s
		if local {
			from = rangeio.FromReaderAt(bytes.NewReader(s.data), 1000)
		}
		synctest.Test(t, func(t *testing.T) {
			var now, most, n atomic.Int64
			p := pull.Pull[int]{From: from, Window: 50, Memory: 200, Parallel: 3, Parts: func(ctx context.Context, add func(pull.Part[int]) error) error {
				heads := pull.Pull[int]{From: from, Window: 40, Memory: 40, Parallel: 1, Parts: pull.Of(lengths(slices.Repeat([]int64{20}, 20)...)...)}
				return heads.Each(ctx, func(h pull.Part[int], _ []byte) error {
					return add(pull.Part[int]{Off: int64(h.For) * 50, Len: 50, For: h.For})
				})
			}}
			if err := p.Each(t.Context(), func(p pull.Part[int], b []byte) error {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				if n.Add(1); !bytes.Equal(b, s.data[p.Off:][:50]) {
					return errors.New("other bytes")
				}
				time.Sleep(time.Second)
				return nil
			}); err != nil || n.Load() != 20 || most.Load() > 3 {
				t.Errorf("local %t: %d parts, %d at a time, %v", local, n.Load(), most.Load(), err)
			}
		})
		if !local && s.phases.Depth() != 2 {
			t.Errorf("%d phases, want 2", s.phases.Depth())
		}
	}
}

// TestManyHands: more goroutines than windows may be under way take no place from one
// another.
func TestManyHands(t *testing.T) {
	t.Parallel()
	data := object(4000)
	var parts []pull.Part[int]
	for i := range 400 {
		parts = append(parts, pull.Part[int]{Off: int64(10 * i), Len: 10})
	}
	for _, from := range []rangeio.Reader{rangeio.FromReaderAt(bytes.NewReader(data), 4000), &store{data: data}} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int64
			p := pull.Pull[int]{From: from, Window: 10, Memory: 1 << 20, Parallel: 70, Near: 1, Parts: pull.Of(parts...)}
			if err := p.Each(t.Context(), func(pull.Part[int], []byte) error { n.Add(1); return nil }); err != nil || n.Load() != 400 {
				t.Errorf("%d parts, %v", n.Load(), err)
			}
		})
	}
}

// TestWhyOfGap: a request for nothing but the bytes between two parts is named by the one
// before it.
func TestWhyOfGap(t *testing.T) {
	t.Parallel()
	var plan pull.Plan
	kept := planner{rangeio.FromReaderAt(bytes.NewReader(object(300)), 300)}
	p := pull.Pull[int]{From: plan.Over(kept, ""), Window: 300,
		Parts: pull.Of(pull.Part[int]{Len: 100, For: 1}, pull.Part[int]{Off: 140, Len: 160, For: 2}),
		Why:   func(parts []pull.Part[int]) (string, bool) { return strconv.Itoa(parts[0].For), false }}
	if err := p.Each(t.Context(), func(pull.Part[int], []byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if q := plan.Requests(); len(q) != 1 || q[0].Why != "1" || q[0].Off != 100 || q[0].Len != 40 {
		t.Errorf("%+v", q)
	}
}

// A planner has kept all but the bytes [100, 140).
type planner struct{ rangeio.Reader }

func (planner) Plan([]rangeio.Span) []rangeio.Request { return []rangeio.Request{{Off: 100, Len: 40}} }
