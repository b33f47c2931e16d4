package b2nd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// bind parses a comparison of items of a type.
func bind(t tester, where string, d dtype.DType) *predicate.Predicate {
	t.Helper()
	e, err := predicate.Parse(where)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Bind(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// found returns what a search finds: the indexes in the array, and the items.
func found(t tester, a *b2nd.Array, box b2nd.Box, p *predicate.Predicate, o b2nd.SearchOptions) (at, items []byte, r b2nd.SearchReport) {
	t.Helper()
	last := int64(-1)
	index := make([]int64, len(a.Shape()))
	r, err := a.Search(t.Context(), box, p, o, func(h b2nd.Hit) error {
		for _, n := range h.At {
			if n <= last {
				return fmt.Errorf("place %d behind %d", n, last)
			}
			last = n
			b2nd.Index(index, box, n)
			for _, k := range index {
				at = binary.LittleEndian.AppendUint64(at, uint64(k))
			}
		}
		items = append(items, h.Items...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return at, items, r
}

// withStats opens an array with an index beside it that has statistics.
func withStats(t tester, p []byte, o b2nd.Options) *b2nd.Array {
	t.Helper()
	a, err := b2nd.Open(t.Context(), reader(p), o)
	if err != nil {
		t.Fatal(err)
	}
	side, err := a.BuildIndex(t.Context(), "e", nil)
	if err != nil {
		return nil // no chunk has block starts
	}
	a.Frame().Sidecar(func(context.Context) (rangeio.Reader, string, error) { return reader(side), "e", nil })
	return a
}

// TestSearchNumPy: a search finds what NumPy finds, without statistics and with them, in
// any memory.
func TestSearchNumPy(t *testing.T) {
	t.Parallel()
	type line struct {
		File, Slice, Where, At, Items string
		Hits                          int
	}
	lines := bufio.NewScanner(bytes.NewReader(load(t, "where/where.jsonl")))
	arrays := map[string][2]*b2nd.Array{}
	n, skipped := 0, int64(0)
	for ; lines.Scan(); n++ {
		if racetest.On && n%25 != 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		two, ok := arrays[l.File]
		if !ok {
			data := load(t, l.File)
			a, err := b2nd.Open(t.Context(), reader(data), b2nd.Options{})
			if err != nil {
				t.Fatalf("%s: %v", l.File, err)
			}
			two = [2]*b2nd.Array{a, withStats(t, data, b2nd.Options{})}
			arrays[l.File] = two
		}
		s, err := b2nd.ParseSlice(l.Slice)
		if err != nil {
			t.Fatal(err)
		}
		box, err := s.Resolve(two[0].Shape())
		if err != nil {
			t.Fatal(err)
		}
		for k, a := range two {
			if a == nil {
				continue
			}
			for memory := range int64(2) {
				if memory == 1 && n%3 > 0 {
					continue // many small reads
				}
				at, items, r := found(t, a, box, bind(t, l.Where, a.DType()), b2nd.SearchOptions{Memory: memory * 4096})
				if got := [2]string{digest(at)[:24], digest(items)[:24]}; got != [2]string{l.At, l.Items} || len(items) != l.Hits*a.ItemSize() {
					t.Errorf("%s [%s] where %s, statistics %t: %d hits, want %d; %v", l.File, l.Slice, l.Where, k == 1, len(items)/a.ItemSize(), l.Hits, got)
				}
				if r.Statistics != (k == 1) || r.BlocksRead > r.Blocks && memory == 0 {
					t.Errorf("%s [%s] where %s: %+v", l.File, l.Slice, l.Where, r)
				}
				if k == 1 && memory == 0 {
					skipped += r.Blocks - r.BlocksRead
				}
			}
		}
	}
	if n < 800 || skipped < 1000 && !racetest.On {
		t.Errorf("%d lines, %d blocks not read", n, skipped)
	}
}

// stepped draws items of a type, with steps between runs of them so that some blocks do not
// match, and with NaN and both zeros.
func stepped(t *rapid.T, text string, n int) []byte {
	var p []byte
	base := rapid.IntRange(-3, 3).Draw(t, "base")
	for i := range n {
		x := base + i/max(n/7, 1) + rapid.IntRange(-1, 1).Draw(t, "x")
		switch text {
		case "<i2":
			p = binary.LittleEndian.AppendUint16(p, uint16(x))
		case "|u1":
			p = append(p, byte(x&7))
		case ">i8":
			p = binary.BigEndian.AppendUint64(p, uint64(x)+1<<62)
		case "<f4":
			f := float32(x)
			if x == 2 {
				f = float32(math.NaN())
			} else if x == 0 && i%2 == 0 {
				f = float32(math.Copysign(0, -1))
			}
			p = binary.LittleEndian.AppendUint32(p, math.Float32bits(f))
		default: // a struct of u2 and M8[s], in big endian and little
			p = binary.BigEndian.AppendUint16(p, uint16(x&15))
			if x == 1 {
				p = binary.LittleEndian.AppendUint64(p, 1<<63) // NaT
			} else {
				p = binary.LittleEndian.AppendUint64(p, uint64(x))
			}
		}
	}
	return p
}

func wheres(text string) []string {
	switch text {
	case ">i8":
		return []string{"v > 4611686018427387905", "v == 4611686018427387904", "v < 0"}
	case "<f4":
		return []string{"v > 1", "v == 0", "v != 3", "not v < 2", "v == nan"}
	case "[('a', '>u2'), ('b', '<M8[s]')]":
		return []string{"a > 3", "b < '1970-01-01T00:00:02'", "a == 2 or b >= '1970-01-01T00:00:03'", "not b == 'NaT' and a < 9"}
	}
	return []string{"v > 1", "v == 0", "v != 3", "1 <= v < 4", "not v < 2"}
}

// TestSearchProperty: for any shapes, types, boxes, memory, and an index inside, beside or
// none, a search finds the items whose comparison is true, and verify agrees with the
// statistics.
func TestSearchProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"<i2", "|u1", ">i8", "<f4", "[('a', '>u2'), ('b', '<M8[s]')]"}).Draw(t, "type")
		d, err := dtype.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var m b2nd.Meta
		m.DType = text
		n := 1
		for range rapid.IntRange(0, 3).Draw(t, "axes") {
			k := rapid.IntRange(1, 14).Draw(t, "length")
			c := rapid.IntRange(1, k+2).Draw(t, "chunk")
			m.Shape, m.ChunkShape = append(m.Shape, int64(k)), append(m.ChunkShape, c)
			m.BlockShape = append(m.BlockShape, rapid.IntRange(1, c).Draw(t, "block"))
			n *= k
		}
		items := stepped(t, text, n)
		choice := rapid.SampledFrom([]cframe.IndexChoice{cframe.NoIndex, cframe.WithIndex}).Draw(t, "index")
		data := build(t, m, items, b2nd.WriteOptions{Index: choice, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
		a, err := b2nd.Open(t.Context(), reader(data), b2nd.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if choice == cframe.NoIndex && rapid.Bool().Draw(t, "beside") {
			if b := withStats(t, data, b2nd.Options{}); b != nil {
				a = b
			}
		}
		box := b2nd.Whole(m.Shape)
		for i, k := range m.Shape {
			step := rapid.SampledFrom([]int64{1, 1, 2, 5, -1, -3}).Draw(t, "step")
			lo := rapid.Int64Range(0, k).Draw(t, "lo")
			hi := rapid.Int64Range(lo, k).Draw(t, "hi")
			box.Start[i], box.Stop[i], box.Step[i] = lo, hi, step
			if step < 0 {
				box.Start[i], box.Stop[i] = hi-1, lo-1
			}
			box.OutShape[i] = box.Count(i)
		}
		where := rapid.SampledFrom(wheres(text)).Draw(t, "where")
		p := bind(t, where, d)
		all := slice(t, a, box)
		mask := p.Mask(nil, all)
		var at, want []byte
		index := make([]int64, len(m.Shape))
		for i := range len(all) / d.ItemSize() {
			if mask[i/64]>>(i%64)&1 == 1 {
				b2nd.Index(index, box, int64(i))
				for _, k := range index {
					at = binary.LittleEndian.AppendUint64(at, uint64(k))
				}
				want = append(want, all[i*d.ItemSize():][:d.ItemSize()]...)
			}
		}
		o := b2nd.SearchOptions{Memory: rapid.Int64Range(0, 300).Draw(t, "memory")}
		plan, pr, err := a.ExplainSearch(t.Context(), box, p, o)
		if err != nil {
			t.Fatal(err)
		}
		gotAt, got, r := found(t, a, box, p, o)
		if !bytes.Equal(gotAt, at) || !bytes.Equal(got, want) || pr != r || len(plan) > 0 && r.BlocksRead == 0 {
			t.Errorf("%s: %x at %x, want %x at %x; %+v, planned %+v", where, got, gotAt, want, at, r, pr)
		}
		if _, err := a.Verify(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
}

// TestStatisticsOfLossyFilters: the statistics are those of the items that a reader gets.
func TestStatisticsOfLossyFilters(t *testing.T) {
	t.Parallel()
	var items []byte
	for i := range 4000 {
		items = binary.LittleEndian.AppendUint32(items, math.Float32bits(float32(i-2000)*1.0001))
	}
	m := b2nd.Meta{Shape: []int64{4000}, ChunkShape: []int{1000}, BlockShape: []int{100}, DType: "<f4"}
	data := build(t, m, items, b2nd.WriteOptions{Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4,
		Filters: []blosc.Filter{{ID: blosc.TruncPrec, Meta: 4}, {ID: blosc.Shuffle}}}})
	a, err := b2nd.Open(t.Context(), reader(data), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.Verify(t.Context(), nil); err != nil || r.Statistics != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	s, err := a.Statistics(t.Context())
	if err != nil || s == nil {
		t.Fatal(s, err)
	}
	cols, err := stats.Columns(a.DType(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.All(t.Context(), []int{0})
	if whole := slice(t, a, b2nd.Whole(m.Shape)); err != nil || !slices.Equal(all, []stats.Stat{cols[0].Of(whole)}) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSearchAhead: the next window is read while fn has one, but not before fn has had the
// first; the end of a search waits for all reads.
func TestSearchAhead(t *testing.T) {
	t.Parallel()
	items := make([]byte, 1<<16)
	for i := range items {
		items[i] = byte(i >> 8)
	}
	m := b2nd.Meta{Shape: []int64{1 << 16}, ChunkShape: []int{4096}, BlockShape: []int{1024}, DType: "|u1"}
	a, err := b2nd.Open(t.Context(), reader(build(t, m, items, b2nd.WriteOptions{})), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := bind(t, "v >= 0", a.DType())
	stop := errors.New("enough")
	for after, want := range map[int]string{1: "R.", 2: "R.RR.", 1000: "R.RR.R.R.R.R."} {
		var log strings.Builder
		hits, last := 0, int64(0)
		o := b2nd.SearchOptions{Memory: 32 << 10, Reads: func(int) { log.WriteByte('R') }}
		_, err := a.Search(t.Context(), b2nd.Whole(m.Shape), p, o, func(h b2nd.Hit) error {
			if s := log.String(); !strings.HasSuffix(s, ".") {
				if hits++; hits > after {
					return stop
				}
				log.WriteByte('.')
			}
			if h.At[0] != last {
				t.Fatalf("item %d where %d was due", h.At[0], last)
			}
			if last = h.At[len(h.At)-1] + 1; hits == after {
				return stop
			}
			return nil
		})
		if got := log.String(); got != want || err != nil && !errors.Is(err, stop) || err == nil && last != 1<<16 {
			t.Errorf("after %d windows: %s, want %s; %v", after, got, want, err)
		}
	}
}

// TestSearchHeadsAlong: pages of the block starts of chunks are read with those of the
// statistics of their blocks.
func TestSearchHeadsAlong(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	items := make([]byte, 0, 8*n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(n) {
		items = binary.LittleEndian.AppendUint64(items, i<<20+r.Uint64N(1<<20))
	}
	m := b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{65536}, BlockShape: []int{64}, DType: "<u8"}
	p := build(t, m, items, b2nd.WriteOptions{Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	phases := &rangeio.Phases{}
	x := &phased{Reader: reader(p), phases: phases}
	a, err := b2nd.Open(t.Context(), x, b2nd.Options{Policy: rangeio.Lean(), Tail: 12 << 10})
	if err != nil {
		t.Fatal(err)
	}
	opened := phases.Depth()
	at, _, report := found(t, a, b2nd.Whole(m.Shape), bind(t, fmt.Sprintf("%d <= v < %d", 1000<<20, 1100<<20), a.DType()), b2nd.SearchOptions{})
	if len(at) != 800 || report.BlocksRead > 6 || !report.Statistics {
		t.Errorf("%d items, %+v", len(at)/8, report)
	}
	if got := phases.Depth() - opened; got != 3 { // statistics of chunks; of blocks, and block starts; blocks
		t.Errorf("%d phases", got)
	}
}

// A phased reader counts the phases of reads from afar.
type phased struct {
	rangeio.Reader
	phases *rangeio.Phases
}

func (*phased) Local() bool { return false }

func (x *phased) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	defer x.phases.Begin(ctx)()
	return x.Reader.ReadRanges(ctx, spans)
}

func (x *phased) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	defer x.phases.Begin(ctx)()
	return x.Reader.ReadEach(ctx, spans, done)
}
