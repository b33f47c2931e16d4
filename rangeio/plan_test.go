package rangeio_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/rangeio"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// layout is n spans of the given length, each stride after the one before.
func layout(n, length, stride int) (spans []rangeio.Span) {
	for i := range n {
		spans = append(spans, rangeio.Span{Off: int64(i * stride), P: make([]byte, length)})
	}
	return spans
}

// at makes spans from pairs of offset and length.
func at(ranges ...int) (spans []rangeio.Span) {
	for i := 0; i < len(ranges); i += 2 {
		spans = append(spans, rangeio.Span{Off: int64(ranges[i]), P: make([]byte, ranges[i+1])})
	}
	return spans
}

func lines(reqs []rangeio.Request) (out []string) {
	for _, r := range reqs {
		s := fmt.Sprintf("%d+%d:", r.Off, r.Len)
		for _, sp := range r.Spans {
			s += fmt.Sprintf(" %d+%d", sp.Off, len(sp.P))
		}
		out = append(out, s)
	}
	return out
}

func TestPlan(t *testing.T) {
	t.Parallel()
	free := rangeio.Policy{Free: 10}
	for _, c := range []struct {
		name   string
		policy rangeio.Policy
		spans  []rangeio.Span
		want   []string
	}{
		{"nothing", rangeio.Fast(), nil, nil},
		{"empty spans", rangeio.Fast(), at(5, 0, 0, 0), nil},
		{"zero policy joins nothing", rangeio.Policy{}, at(10, 10, 0, 10, 10, 5, 30, 1), []string{"0+10: 0+10", "10+10: 10+10", "10+5: 10+5", "30+1: 30+1"}},
		{"a gap of Free", free, at(0, 10, 20, 10), []string{"0+30: 0+10 20+10"}},
		{"a gap of Free and one", free, at(0, 10, 21, 10), []string{"0+10: 0+10", "21+10: 21+10"}},
		{"sorted first", free, at(100, 1, 0, 1, 5, 1), []string{"0+6: 0+1 5+1", "100+1: 100+1"}},
		{"overlapping", free, at(0, 10, 5, 10, 7, 1), []string{"0+15: 0+10 5+10 7+1"}},
		{"a span inside an earlier one hides no gap", free, at(0, 100, 10, 5, 105, 5), []string{"0+110: 0+100 10+5 105+5"}},
		{"split evenly", rangeio.Policy{MaxLen: 10}, at(3, 25), []string{"3+9: 3+9", "12+8: 12+8", "20+8: 20+8"}},
		{"split at exactly MaxLen", rangeio.Policy{MaxLen: 10}, at(0, 20), []string{"0+10: 0+10", "10+10: 10+10"}},
		{"an eighth more than MaxLen", rangeio.Policy{MaxLen: 16}, at(0, 18, 50, 19), []string{"0+18: 0+18", "50+10: 50+10", "60+9: 60+9"}},
		{"a header, and what touches it", rangeio.Policy{MaxLen: 16}, at(0, 2, 2, 16), []string{"0+2: 0+2", "2+16: 2+16"}},
		{"a header, and what touches it, joined", rangeio.Policy{MaxLen: 16, Free: 1}, at(0, 2, 2, 16, 19, 1), []string{"0+18: 0+2 2+16", "19+1: 19+1"}},
		{"no longer than MaxLen when joined", rangeio.Policy{Free: 10, MaxLen: 30}, at(0, 10, 15, 10, 30, 10), []string{"0+25: 0+10 15+10", "30+10: 30+10"}},
		{"endless MaxLen", rangeio.Policy{MaxLen: math.MaxInt64}, at(0, 100), []string{"0+100: 0+100"}},
		{"neighbours, where requests are joined at all", rangeio.Policy{Parallel: 64}, at(0, 10, 10, 10), []string{"0+20: 0+10 10+10"}},
		{
			"smallest gap first, down to Parallel", rangeio.Policy{MaxGap: 100, OverRead: 100, Parallel: 2},
			at(0, 10, 60, 10, 90, 10, 180, 10), []string{"0+100: 0+10 60+10 90+10", "180+10: 180+10"},
		},
		{
			"not over MaxGap", rangeio.Policy{MaxGap: 30, OverRead: 100, Parallel: 1},
			at(0, 10, 40, 10, 81, 10), []string{"0+50: 0+10 40+10", "81+10: 81+10"},
		},
		{
			"not over OverRead", rangeio.Policy{MaxGap: 100, OverRead: 1, Parallel: 1},
			at(0, 10, 30, 10, 60, 10), []string{"0+40: 0+10 30+10", "60+10: 60+10"},
		},
		{
			"endless OverRead", rangeio.Policy{MaxGap: 100, OverRead: math.Inf(1), Parallel: 1},
			at(0, 1, 100, 1), []string{"0+101: 0+1 100+1"},
		},
		{
			"Free gaps are never refused", rangeio.Policy{Free: 10, MaxGap: 100, Parallel: 1},
			at(0, 1, 11, 1, 32, 1), []string{"0+12: 0+1 11+1", "32+1: 32+1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, lines(rangeio.Plan(c.spans, c.policy))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestPolicies: the layouts by which the policies were chosen.
func TestPolicies(t *testing.T) {
	t.Parallel()
	type cost struct {
		requests int
		over     float64 // most bytes fetched for each wanted
	}
	for _, l := range []struct {
		name  string
		spans []rangeio.Span
		want  map[string]cost
	}{
		{"16 x 64 KiB, gaps of 192 KiB", layout(16, 64<<10, 256<<10), map[string]cost{"fast": {16, 1}, "few": {1, 3.82}, "lean": {16, 1}, "zero": {16, 1}}},
		{"256 x 16 KiB, gaps of 64 KiB", layout(256, 16<<10, 80<<10), map[string]cost{"fast": {64, 4}, "few": {2, 5}, "lean": {240, 1.25}, "zero": {256, 1}}},
		{"one of 32 MiB", layout(1, 32<<20, 0), map[string]cost{"fast": {16, 1}, "few": {2, 1}, "lean": {16, 1}, "zero": {1, 1}}},
		{"1000 x 100 bytes in a row", layout(1000, 100, 100), map[string]cost{"fast": {1, 1}, "few": {1, 1}, "lean": {1, 1}, "zero": {1000, 1}}},
		{"20 x 100 bytes, gaps of 10 KiB", layout(20, 100, 10<<10), map[string]cost{"fast": {1, 98}, "few": {1, 98}, "lean": {20, 1}, "zero": {20, 1}}},
	} {
		for name, p := range map[string]rangeio.Policy{"fast": rangeio.Fast(), "few": rangeio.Few(), "lean": rangeio.Lean(), "zero": {}} {
			var wanted, fetched int64
			for _, s := range l.spans {
				wanted += int64(len(s.P))
			}
			reqs := rangeio.Plan(l.spans, p)
			for _, r := range reqs {
				fetched += r.Len
			}
			if over, want := float64(fetched)/float64(wanted), l.want[name]; len(reqs) != want.requests || over > want.over {
				t.Errorf("%s, %s: %d requests, %.2f x the bytes; want %d, %.2f", l.name, name, len(reqs), over, want.requests, want.over)
			}
		}
	}
}

// object is what plans are run against: each byte differs from its neighbours.
func object(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 ^ i>>8)
	}
	return p
}

// checkPlan holds a plan against everything that is promised of one.
func checkPlan(t interface{ Fatalf(string, ...any) }, spans []rangeio.Span, p rangeio.Policy, size int64) {
	reqs := rangeio.Plan(spans, p)
	wantedAt := make([]bool, size)
	var wanted, dropped, widest, total int64
	nonEmpty := 0
	for _, s := range spans {
		for i := s.Off; i < s.End(); i++ {
			if !wantedAt[i] {
				wantedAt[i] = true
				wanted++
			}
		}
		total += int64(len(s.P))
		if len(s.P) > 0 {
			nonEmpty++
		}
	}
	last := int64(-1)
	for k, r := range reqs {
		if r.Off < last || r.Len <= 0 || len(r.Spans) == 0 || r.Spans[0].Off != r.Off {
			t.Fatalf("request %d of %q: out of order, empty, or not where its first span is", k, lines(reqs))
		}
		last = r.Off
		reach, before := r.Off, dropped
		for j, s := range r.Spans {
			if len(s.P) == 0 || j > 0 && s.Off < r.Spans[j-1].Off {
				t.Fatalf("request %d of %q: spans empty or out of order", k, lines(reqs))
			}
			total -= int64(len(s.P))
			widest = max(widest, s.Off-reach)
			dropped += max(0, s.Off-reach)
			reach = max(reach, s.End())
		}
		if reach != r.Off+r.Len {
			t.Fatalf("request %d of %q does not end with its spans", k, lines(reqs))
		}
		if most := float64(p.MaxLen); p.MaxLen > 0 && float64(r.Len) > most && (dropped > before || float64(r.Len) > most*9/8) {
			t.Fatalf("request %d of %q, with %d bytes of gaps, is longer than %d", k, lines(reqs), dropped-before, p.MaxLen)
		}
	}
	if total != 0 {
		t.Fatalf("%q: %d bytes of spans more or fewer than asked", lines(reqs), total)
	}
	if widest > p.Free {
		if widest > p.MaxGap || float64(dropped) > p.OverRead*float64(wanted) || len(reqs) < p.Parallel {
			t.Fatalf("%+v: %q: bridges %d, drops %d of %d wanted", p, lines(reqs), widest, dropped, wanted)
		}
	}
	if p == (rangeio.Policy{}) && len(reqs) != nonEmpty {
		t.Fatalf("the zero policy makes %d requests of %d spans", len(reqs), nonEmpty)
	}
}

// brokenReader gives some bytes and breaks.
type brokenReader struct {
	r    io.Reader
	left int
	err  error
}

func (b *brokenReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.err
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

var errBroken = errors.New("connection lost")

// runPlan runs Do over bodies that break at the places that breakAt gives, and checks
// every byte when done is called.
func runPlan(t interface{ Fatalf(string, ...any) }, data []byte, spans []rangeio.Span, p rangeio.Policy, limit int, breakAt func() int) {
	fetch := func(_ context.Context, r *rangeio.Request) error {
		var n int64
		for {
			// The body of a range ends with the range, and may break before.
			body := &brokenReader{bytes.NewReader(data[r.Off+n : r.Off+r.Len]), breakAt(), errBroken}
			before := n
			err := r.Scatter(body, &n)
			if err == nil {
				if n != r.Len {
					return fmt.Errorf("%d of %d bytes consumed", n, r.Len)
				}
				return nil
			}
			if !errors.Is(err, errBroken) || n < before || n >= r.Len && r.Len > 0 && body.left > 0 {
				return fmt.Errorf("after %d of %d bytes: %w", n, r.Len, err)
			}
		}
	}
	calls := make([]atomic.Int32, len(spans))
	wrong := atomic.Int64{}
	wrong.Store(-1)
	err := rangeio.Do(context.Background(), spans, p, limit, fetch, func(i int) error {
		calls[i].Add(1)
		if !bytes.Equal(spans[i].P, data[spans[i].Off:spans[i].End()]) {
			wrong.Store(int64(i))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	if i := wrong.Load(); i >= 0 {
		t.Fatalf("%+v: span %d, [%d, +%d), was not full when it was done", p, i, spans[i].Off, len(spans[i].P))
	}
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Fatalf("%+v: done(%d) called %d times", p, i, n)
		}
		if full := spans[i].P[:cap(spans[i].P)]; len(full) > len(spans[i].P) && full[len(full)-1] != guard {
			t.Fatalf("%+v: bytes behind span %d were written", p, i)
		}
	}
}

const guard = 0xa5

// guarded is a buffer of n bytes with one more behind it.
func guarded(n int) []byte {
	p := bytes.Repeat([]byte{guard}, n+1)
	return p[:n]
}

func drawPolicy(t *rapid.T) rangeio.Policy {
	if rapid.IntRange(0, 5).Draw(t, "zero") == 0 {
		return rangeio.Policy{}
	}
	return rangeio.Policy{
		Free:     rapid.Int64Range(0, 100).Draw(t, "Free"),
		MaxGap:   rapid.Int64Range(0, 1000).Draw(t, "MaxGap"),
		MaxLen:   rapid.SampledFrom([]int64{0, 1, 2, 7, 100, 1000, 100_000, math.MaxInt64}).Draw(t, "MaxLen"),
		OverRead: rapid.Float64Range(0, 10).Draw(t, "OverRead"),
		Parallel: rapid.IntRange(0, 20).Draw(t, "Parallel"),
	}
}

// drawSpans mixes random spans with relatives of earlier ones: the same, inside
// it, adjacent, across its end.
func drawSpans(t *rapid.T, size int) (spans []rangeio.Span) {
	for range rapid.IntRange(0, 30).Draw(t, "spans") {
		off, n := rapid.IntRange(0, size).Draw(t, "off"), rapid.IntRange(0, 500).Draw(t, "len")
		if len(spans) > 0 {
			prev := spans[rapid.IntRange(0, len(spans)-1).Draw(t, "relative to")]
			o, l := int(prev.Off), len(prev.P)
			switch rapid.SampledFrom([]string{"none", "none", "same", "inside", "next", "across"}).Draw(t, "how") {
			case "same":
				off, n = o, l
			case "inside":
				off, n = o+l/3, l/3
			case "next":
				off = o + l
			case "across":
				off = o + l/2
			}
		}
		off = min(off, size)
		spans = append(spans, rangeio.Span{Off: int64(off), P: guarded(min(n, size-off))})
	}
	return spans
}

func TestPlanProperties(t *testing.T) {
	t.Parallel()
	data := object(5000)
	rapid.Check(t, func(t *rapid.T) {
		p, spans := drawPolicy(t), drawSpans(t, len(data))
		checkPlan(t, spans, p, int64(len(data)))
		seed := rapid.Uint64().Draw(t, "seed")
		most := rapid.IntRange(1, 3000).Draw(t, "bytes before a break")
		var calls atomic.Uint64
		runPlan(t, data, spans, p, rapid.IntRange(0, 5).Draw(t, "limit"), func() int {
			return rand.New(rand.NewPCG(seed, calls.Add(1))).IntN(most + 1)
		})
	})
}

// FuzzPlan reads a policy and spans from bytes.
func FuzzPlan(f *testing.F) {
	f.Add(uint16(0), uint16(0), uint16(0), uint8(0), uint8(0), []byte("\x00\x00\x00\x10"))
	f.Add(uint16(10), uint16(100), uint16(64), uint8(4), uint8(2), []byte("\x00\x00\x00\x10\x00\x08\x00\x10\x00\x00\x00\x10\x04\x00\x01\x00"))
	data := object(1 << 12)
	f.Fuzz(func(t *testing.T, free, gap, length uint16, over, parallel uint8, raw []byte) {
		var spans []rangeio.Span
		for ; len(raw) >= 4 && len(spans) < 100; raw = raw[4:] {
			off := min(int(binary.BigEndian.Uint16(raw)), len(data))
			n := min(int(binary.BigEndian.Uint16(raw[2:])), len(data)-off)
			spans = append(spans, rangeio.Span{Off: int64(off), P: guarded(n)})
		}
		p := rangeio.Policy{Free: int64(free), MaxGap: int64(gap), MaxLen: int64(length), OverRead: float64(over) / 16, Parallel: int(parallel)}
		checkPlan(t, spans, p, int64(len(data)))
		runPlan(t, data, spans, p, 2, func() int { return 1 + int(free)%len(data) })
		joined := slices.Clone(spans[:0])
		for _, s := range spans {
			joined = append(joined, rangeio.Span{Off: s.Off, P: guarded(len(s.P))})
		}
		runPlan(t, data, joined, rangeio.Policy{}, 1, func() int { return len(data) })
		for i := range spans {
			if !bytes.Equal(spans[i].P, joined[i].P) {
				t.Fatalf("span %d differs between %+v and the zero policy", i, p)
			}
		}
	})
}

// TestScatterOfShortBody: a body that ends too early is an error.
func TestScatterOfShortBody(t *testing.T) {
	t.Parallel()
	data := object(100)
	for _, spans := range [][]rangeio.Span{at(0, 10, 20, 10), at(0, 30, 10, 10)} {
		for n := range 30 {
			r := rangeio.Plan(spans, rangeio.Policy{Free: 100})[0]
			var done int64
			if err := r.Scatter(bytes.NewReader(data[:n]), &done); !errors.Is(err, io.ErrUnexpectedEOF) || done != int64(n) {
				t.Errorf("a body of %d of 30 bytes: %v after %d", n, err, done)
			}
			if err := r.Scatter(bytes.NewReader(data[n:30]), &done); err != nil || done != 30 {
				t.Errorf("continued from %d: %v after %d", n, err, done)
			}
			for i, s := range spans {
				if !bytes.Equal(s.P, data[s.Off:s.End()]) {
					t.Errorf("continued from %d: span %d differs", n, i)
				}
			}
		}
	}
}
