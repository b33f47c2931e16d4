package pull_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// places is the memory that some parts are wanted in, with bytes between that nobody may
// write.
type places struct {
	arena []byte
	of    map[int][]byte // by part
	free  []bool         // of arena: it is a part's
}

const mark = 0xa5

// placesOf draws memory, in any order, for about half of the parts, sometimes more of it
// than the part has bytes.
func placesOf(t *rapid.T, parts []pull.Part[int]) *places {
	s := &places{of: map[int][]byte{}}
	type place struct{ part, at, n, more int }
	var list []place
	for _, p := range rapid.Permutation(parts).Draw(t, "order") {
		if !rapid.Bool().Draw(t, "own") {
			continue
		}
		at := len(s.arena) + rapid.IntRange(0, 5).Draw(t, "before")
		more := rapid.IntRange(0, 3).Draw(t, "more")
		list = append(list, place{p.For, at, int(p.Len), more})
		s.arena = append(s.arena, make([]byte, at+int(p.Len)+more-len(s.arena))...)
	}
	s.free = make([]bool, len(s.arena))
	for i := range s.arena {
		s.arena[i] = mark
	}
	for _, p := range list {
		s.of[p.part] = s.arena[p.at : p.at+p.n+p.more]
		for i := range p.n {
			s.free[p.at+i] = true
		}
	}
	return s
}

// into is a Pull's Into.
func (s *places) into(part int) []byte { return s.of[part] }

// spoilt tells whether bytes were written that are no part's.
func (s *places) spoilt() bool {
	for i, b := range s.arena {
		if !s.free[i] && b != mark {
			return true
		}
	}
	return false
}

// check holds the bytes of a part that was handed on against the object.
func (s *places) check(t interface{ Errorf(string, ...any) }, data []byte, p pull.Part[int], b []byte) {
	if !bytes.Equal(b, data[p.Off:][:p.Len]) || cap(b) > len(b) && s.of[p.For] != nil {
		t.Errorf("part %d: other bytes, or room for more", p.For)
	}
	if own := s.of[p.For]; len(b) > 0 && own != nil && &own[0] != &b[0] {
		t.Errorf("part %d is not where it is wanted", p.For)
	}
}

// drawn draws parts of an object of so many bytes: near to each other and not, in order
// and not, overlapping, empty.
func drawn(t *rapid.T, size int64) []pull.Part[int] {
	parts := make([]pull.Part[int], rapid.IntRange(0, 40).Draw(t, "parts"))
	at := int64(0)
	for i := range parts {
		if rapid.IntRange(0, 3).Draw(t, "jump") == 0 {
			at = rapid.Int64Range(0, size).Draw(t, "at")
		}
		n := min(rapid.Int64Range(0, 150).Draw(t, "len"), size-at)
		parts[i] = pull.Part[int]{Off: at, Len: n, More: rapid.Int64Range(0, 20).Draw(t, "needs"), For: i}
		at = min(at+n+rapid.Int64Range(0, 100).Draw(t, "gap"), size)
	}
	return parts
}

// drawnPull draws how parts are read.
func drawnPull(t *rapid.T, r rangeio.Reader, parts []pull.Part[int], s *places) *pull.Pull[int] {
	return &pull.Pull[int]{
		From: r, Parts: pull.Of(parts...), Into: s.into,
		Window:   rapid.Int64Range(0, 500).Draw(t, "window"),
		First:    rapid.Int64Range(0, 500).Draw(t, "first"),
		Most:     rapid.IntRange(0, 10).Draw(t, "most"),
		Memory:   rapid.Int64Range(0, 2000).Draw(t, "memory"),
		Near:     rapid.Int64Range(0, 120).Draw(t, "near"),
		Parallel: rapid.IntRange(0, 4).Draw(t, "parallel"),
	}
}

// TestInto: parts come with their bytes where they are wanted, others somewhere, and
// nothing else is written, from a reader that is near and one that is far.
func TestInto(t *testing.T) { // alone: it counts the buffers of the process
	data := object(4000)
	far := readerOf{rangeio.FromReaderAt(bytes.NewReader(data), 4000)}
	rapid.Check(t, func(t *rapid.T) {
		parts := drawn(t, 4000)
		from := rapid.SampledFrom([]rangeio.Reader{far, far.Reader}).Draw(t, "from")
		before := bufpool.Loans()
		s := placesOf(t, parts)
		next := 0
		for w, err := range drawnPull(t, from, parts, s).Windows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if b := w.Room(0); len(b) > 0 && !slices.ContainsFunc(w.Parts, func(p pull.Part[int]) bool { return s.of[p.For] == nil }) {
				t.Errorf("%d bytes of memory for parts that have their own", len(b))
			}
			for i, q := range w.Parts {
				if s.check(t, data, q, w.Bytes(i)); q.For != next {
					t.Errorf("part %d came as number %d", q.For, next)
				}
				next++
			}
		}
		s2 := placesOf(t, parts)
		seen := make([]int, len(parts))
		var mu sync.Mutex
		if err := drawnPull(t, from, parts, s2).Each(context.Background(), func(q pull.Part[int], b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			seen[q.For]++
			s2.check(t, data, q, b)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			for _, s := range []*places{s, s2} {
				if own := s.of[p.For]; own != nil && !bytes.Equal(own[:p.Len], data[p.Off:][:p.Len]) {
					t.Errorf("part %d has other bytes in the end", p.For)
				}
			}
		}
		if next != len(parts) || slices.ContainsFunc(seen, func(k int) bool { return k != 1 }) {
			t.Errorf("%d parts of %d came, and %v times", next, len(parts), seen)
		}
		if s.spoilt() || s2.spoilt() {
			t.Error("bytes beside the parts were written")
		}
		if now := bufpool.Loans(); now != before {
			t.Errorf("%d buffers lent, %d before", now, before)
		}
	})
}

// readerOf hides that a reader is local.
type readerOf struct{ rangeio.Reader }

// TestIntoFails: of an object that ends early, fails somewhere or is left, no byte beside
// the parts is written, and what was handed on is right.
func TestIntoFails(t *testing.T) { // alone: it counts the buffers of the process
	data := object(4000)
	bad := errors.New("bad")
	rapid.Check(t, func(t *rapid.T) {
		parts := drawn(t, 4000)
		ends := rapid.Int64Range(0, 4000).Draw(t, "ends")
		how := rapid.SampledFrom([]string{"short", "says so", "fails", "left"}).Draw(t, "how")
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var from rangeio.Reader
		switch how {
		case "short": // shorter than it says
			from = readerOf{rangeio.FromReaderAt(bytes.NewReader(data[:ends]), 4000)}
		case "says so":
			from = rangeio.FromReaderAt(bytes.NewReader(data), ends)
		default:
			from = &broken{data: data, from: ends, end: func() error {
				if how == "left" {
					cancel()
					return context.Canceled
				}
				return bad
			}}
		}
		before := bufpool.Loans()
		s := placesOf(t, parts)
		var mu sync.Mutex
		p := drawnPull(t, from, parts, s)
		err := p.Each(ctx, func(q pull.Part[int], b []byte) error {
			mu.Lock()
			defer mu.Unlock()
			s.check(t, data, q, b)
			return nil
		})
		fails := slices.ContainsFunc(parts, func(p pull.Part[int]) bool { return p.Len > 0 && p.Off+p.Len > ends })
		want := map[string]error{"short": io.ErrUnexpectedEOF, "says so": rangeio.ErrOutside, "fails": bad, "left": context.Canceled}[how]
		if fails && !errors.Is(err, want) || err != nil && !errors.Is(err, want) {
			t.Errorf("%s at %d: %v", how, ends, err)
		}
		if s.spoilt() {
			t.Errorf("%s: bytes beside the parts were written", how)
		}
		if now := bufpool.Loans(); now != before {
			t.Errorf("%d buffers lent, %d before", now, before)
		}
	})
}

// broken is a far object whose reads end at an offset.
type broken struct {
	data []byte
	from int64
	end  func() error
}

func (s *broken) Size() int64 { return int64(len(s.data)) }

func (s *broken) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return s.ReadEach(ctx, spans, nil)
}

func (s *broken) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	for i, sp := range spans {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sp.End() > s.from && len(sp.P) > 0 {
			copy(sp.P, s.data[sp.Off:max(s.from, sp.Off)])
			return s.end()
		}
		if copy(sp.P, s.data[sp.Off:]); done != nil {
			if err := done(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestIntoMemory: in virtual time, bytes that are read to where they are wanted take no
// part of Window and Memory, but for what their taking needs.
func TestIntoMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		own            bool
		more           int64
		memory         int64 // for two windows
		reads, seconds int64 // of ten parts of 100 bytes
	}{
		{"in windows", false, 0, 200, 10, 5},
		{"where they are wanted", true, 0, 200, 1, 1},
		{"with more", true, 50, 2 * (100 + 128), 5, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &store{data: object(1000)}
			dst := make([]byte, 1000)
			p := pull.Pull[int]{From: s, Window: 100, Memory: c.memory, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
				for i := range 10 {
					if err := add(pull.Part[int]{Off: int64(100 * i), Len: 100, More: c.more, For: i}); err != nil {
						return err
					}
				}
				return nil
			}, Into: func(i int) []byte {
				if c.own {
					return dst[100*i:]
				}
				return nil
			}}
			begin := time.Now()
			if err := p.Each(t.Context(), func(pull.Part[int], []byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begin); s.reads.Load() != c.reads || took != time.Duration(c.seconds)*time.Second {
				t.Errorf("%s: %d reads in %v, want %d in %d s", c.name, s.reads.Load(), took, c.reads, c.seconds)
			}
			if c.own && !bytes.Equal(dst, s.data) {
				t.Errorf("%s: other bytes", c.name)
			}
		})
	}
}

// TestIntoDry: a plan says what is read, and leaves memory alone.
func TestIntoDry(t *testing.T) {
	data := object(4000)
	rapid.Check(t, func(t *rapid.T) {
		parts := drawn(t, 4000)
		s := placesOf(t, parts)
		marked := slices.Clone(s.arena)
		var asked []rangeio.Planned
		r := &asking{Reader: rangeio.FromReaderAt(bytes.NewReader(data), 4000), list: &asked}
		var plan pull.Plan
		p := drawnPull(t, r, parts, s)
		p.Parallel = 1
		dry := *p
		dry.From = plan.Over(r, "")
		take := func(pull.Part[int], []byte) error { return nil }
		if err := dry.Each(context.Background(), take); err != nil || len(asked) > 0 || !bytes.Equal(s.arena, marked) {
			t.Fatalf("%v, %d reads for a plan, or bytes were written", err, len(asked))
		}
		if err := p.Each(context.Background(), take); err != nil {
			t.Fatal(err)
		}
		byOff := func(a, b rangeio.Planned) int { return int(a.Off-b.Off)*10000 + int(a.Len-b.Len) }
		got := plan.Requests()
		slices.SortFunc(asked, byOff)
		slices.SortFunc(got, byOff)
		if !slices.Equal(got, asked) {
			t.Errorf("planned %v, read %v", got, asked)
		}
	})
}

// asking notes the spans that are read.
type asking struct {
	rangeio.Reader
	mu   sync.Mutex
	list *[]rangeio.Planned
}

func (a *asking) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return a.ReadEach(ctx, spans, nil)
}

func (a *asking) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	a.mu.Lock()
	for _, s := range spans {
		if len(s.P) > 0 {
			*a.list = append(*a.list, rangeio.Planned{Phase: 1, Off: s.Off, Len: int64(len(s.P))})
		}
	}
	a.mu.Unlock()
	return a.Reader.ReadEach(ctx, spans, done)
}
