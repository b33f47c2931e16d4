package analyze_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// A buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

// encoded returns a b2nd of values in small chunks. sorted ones have statistics that skip.
func encoded[T b2nd.Number](tb testing.TB, shape []int64, chunk, block []int, values []T, o b2nd.WriteOptions) []byte {
	tb.Helper()
	var out buffer
	w, err := b2nd.NewWriter(&out, b2nd.Meta{Shape: shape, ChunkShape: chunk, BlockShape: block, DType: b2nd.TypeOf[T]()}, o)
	if err != nil {
		tb.Fatal(err)
	}
	if err := binary.Write(w, binary.NativeEndian, values); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func opened(tb testing.TB, p []byte) *b2nd.Array {
	tb.Helper()
	a, err := b2nd.Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// noise returns numbers of all sizes, with NaN, infinities and a run of zeros.
func noise(n int) []float64 {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := make([]float64, n)
	for i := range list {
		switch {
		case i < n/4:
		case rnd.IntN(50) == 0:
			list[i] = math.NaN()
		default:
			list[i] = math.Ldexp(rnd.NormFloat64(), rnd.IntN(80)-40)
		}
	}
	return list
}

// A question is options as a test writes them.
type question struct {
	slice, stats, where string
	over                []int
	every               []int64
}

func options(tb testing.TB, a *b2nd.Array, q question) analyze.ArrayOptions {
	tb.Helper()
	s, err := b2nd.ParseSlice(q.slice)
	if err != nil {
		tb.Fatal(err)
	}
	o := analyze.ArrayOptions{Over: q.over, Every: q.every}
	if o.Box, err = s.Resolve(a.Shape()); err != nil {
		tb.Fatal(err)
	}
	if o.Stats, err = analyze.ParseStats(q.stats); err != nil {
		tb.Fatal(err)
	}
	if q.where != "" {
		if o.Where, err = predicate.Parse(q.where); err != nil {
			tb.Fatal(err)
		}
	}
	return o
}

// answer returns the answers as text.
func answer(t *testing.T, a *b2nd.Array, o analyze.ArrayOptions, run analyze.Options) string {
	t.Helper()
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	list, err := j.Run(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return text(list.Results)
}

// inPieces answers as machines do that share the parts.
func inPieces(t *testing.T, a *b2nd.Array, o analyze.ArrayOptions) string {
	t.Helper()
	return text(pieces(t, func() (analyze.Work, error) { return analyze.NewArray(t.Context(), a, o) }).Results)
}

// pieces lets three machines plan the same work, of which one takes what the others made.
func pieces(t *testing.T, plan func() (analyze.Work, error)) *analyze.Answers {
	t.Helper()
	var works [3]analyze.Work
	for i := range works {
		j, err := plan()
		if err != nil || i > 0 && j.ID() != works[0].ID() {
			t.Fatal(err, j.ID())
		}
		works[i] = j
	}
	for part := range works[0].Parts() {
		line, err := works[1+part%2].Part(t.Context(), part)
		if err == nil {
			err = works[0].Take(part, line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := works[0].Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func text(list []analyze.Result) string {
	var out strings.Builder
	for _, r := range list {
		fmt.Fprintf(&out, "%s %v %v %x %v %v\n", r.Stat.Key(), r.Type, r.Shape, r.Items, r.None, r.Edges)
	}
	return out.String()
}

const everything = "count,nan,min,max,argmin,argmax,sum,mean,std,hist(7,-3:3),quantiles(0,0.1,0.5,1)"

// TestSame: the answers are the same bytes for 1, 2 and 4 jobs, parts of any size, with
// statistics and without.
func TestSame(t *testing.T) {
	t.Parallel()
	values := noise(12 * 11 * 10)
	shape, chunk, block := []int64{12, 11, 10}, []int{5, 6, 10}, []int{4, 4, 5}
	with := opened(t, encoded(t, shape, chunk, block, values, b2nd.WriteOptions{Index: cframe.WithIndex}))
	without := opened(t, encoded(t, shape, chunk, block, values, b2nd.WriteOptions{NoStats: true}))
	for n, q := range []question{
		{"", everything, "", nil, nil},
		{"", "count,nan,min,max", "", nil, nil},
		{"1:11, ::2, ::-1", everything, "", []int{0}, []int64{5}},
		{"", everything, "v > 0.5 or v < -100", []int{1, 2}, []int64{4}},
		{"5", everything, "", []int{}, nil},
		{"", "count,min,max", "", []int{0, 1}, []int64{7, 9}},
		{"4:4", everything, "", []int{0}, nil},
		{"", everything, "v > 1e300", nil, nil},
	} {
		if racetest.On && n%2 != 0 {
			continue
		}
		want := answer(t, without, options(t, without, q), analyze.Options{Jobs: 1})
		for _, a := range []*b2nd.Array{with, without} {
			for k, jobs := range []int{1, 2, 4} {
				for _, size := range []int64{1, 5_000, 1 << 30}[:3-k] {
					o := options(t, a, q)
					o.PartBytes = size
					if got := answer(t, a, o, analyze.Options{Jobs: jobs}); got != want {
						t.Errorf("%+v, %d jobs, parts of %d: %s, want %s", q, jobs, size, got, want)
					}
				}
			}
			o := options(t, a, q)
			o.PartBytes = 5_000
			if got := inPieces(t, a, o); got != want {
				t.Errorf("%+v, in pieces: %s, want %s", q, got, want)
			}
		}
	}
}

// TestStatistics: sorted items are read only where some match, and count, min and max need
// no items at all.
func TestStatistics(t *testing.T) {
	t.Parallel()
	values := make([]int32, 100_000)
	for i := range values {
		values[i] = int32(i)
	}
	a := opened(t, encoded(t, []int64{100_000}, []int{1000}, []int{250}, values, b2nd.WriteOptions{Index: cframe.WithIndex}))
	for _, c := range []struct {
		q      question
		chunks int64
		want   string
	}{
		{question{"", "count,min,max", "", nil, nil}, 0, "count <i8 [] a086010000000000 [] []\nmin <i4 [] 00000000 [false] []\nmax <i4 [] 9f860100 [false] []\n"},
		{question{"500:", "max", "", nil, nil}, 1, "max <i4 [] 9f860100 [false] []\n"},
		{question{"", "max", "", []int{0}, []int64{50_000}}, 0, "max <i4 [2] 4fc300009f860100 [false false] []\n"},
		{question{"", "sum", "", nil, nil}, 100, "sum <i8 [] b02e052a01000000 [] []\n"},
		{question{"", "sum", "99000 <= v < 99003", nil, nil}, 1, "sum <i8 [] 2b88040000000000 [] []\n"},
		{question{"", "count", "v < 0", nil, nil}, 0, "count <i8 [] 0000000000000000 [] []\n"},
	} {
		o := options(t, a, c.q)
		j, err := analyze.NewArray(t.Context(), a, o)
		if err != nil {
			t.Fatal(err)
		}
		r := j.Report()
		list, err := j.Run(t.Context(), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(list.Results); got != c.want || r.ChunksRead != c.chunks || r.Chunks != 100 {
			t.Errorf("%+v: %s, want %s; %+v", c.q, got, c.want, r)
		}
	}
}

// TestResume: a run that was ended goes on with the parts that are left, and answers the
// same.
func TestResume(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{40, 50}, []int{5, 50}, []int{5, 10}, noise(2000), b2nd.WriteOptions{}))
	q := question{"", everything, "", []int{1}, nil}
	want := answer(t, a, options(t, a, q), analyze.Options{})
	o := options(t, a, q)
	o.PartBytes = 1
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	if j.Parts() != 8 {
		t.Fatalf("%d parts", j.Parts())
	}
	name := filepath.Join(t.TempDir(), "run.ckpt")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = j.Run(ctx, analyze.Options{Jobs: 1, Checkpoint: checkpoint(t, name), Progress: func(done, _ int64) {
		if done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c := checkpoint(t, name)
	if n := c.Parts(); n < 3 || n > 5 {
		t.Errorf("%d parts are kept", n)
	}
	if got := answer(t, a, o, analyze.Options{Checkpoint: c}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := answer(t, a, o, analyze.Options{Checkpoint: checkpoint(t, name)}); got != want {
		t.Errorf("all parts kept: %s, want %s", got, want)
	}
	o.PartBytes = 5000
	if j, err = analyze.NewArray(t.Context(), a, o); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(t.Context(), analyze.Options{Checkpoint: checkpoint(t, name)}); !errors.Is(err, analyze.ErrOtherPlan) {
		t.Errorf("%v", err)
	}
}

// TestMemory: more cells than memory has room for are refused before anything is read.
func TestMemory(t *testing.T) {
	t.Parallel()
	a := opened(t, encoded(t, []int64{40, 50}, []int{5, 50}, []int{5, 10}, noise(2000), b2nd.WriteOptions{}))
	o := options(t, a, question{"", everything, "", []int{}, nil})
	o.Memory = 1 << 20
	if _, err := analyze.NewArray(t.Context(), a, o); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	o.Over = []int{3}
	if _, err := analyze.NewArray(t.Context(), a, o); !errors.Is(err, analyze.ErrQuestion) {
		t.Errorf("%v", err)
	}
	// A part has no more cells than memory has room for.
	o = options(t, a, question{"", "mean", "", []int{1}, nil})
	o.Memory = 30_000
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil || j.Parts() < 4 {
		t.Errorf("%v, %d parts", err, j.Parts())
	}
}

// TestDamaged: a chunk that cannot be read fails its part, by name.
func TestDamaged(t *testing.T) {
	t.Parallel()
	p := encoded(t, []int64{40, 50}, []int{5, 50}, []int{5, 10}, noise(2000), b2nd.WriteOptions{})
	a := opened(t, p)
	for i := range slices.Backward(p[:len(p)*3/4]) {
		if i < len(p)/2 {
			break
		}
		p[i] = 0xff
	}
	o := options(t, a, question{"", "sum", "", nil, nil})
	o.PartBytes = 1
	j, err := analyze.NewArray(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = j.Run(t.Context(), analyze.Options{})
	if e, ok := errors.AsType[*analyze.FailedError](err); !ok || len(e.Errors) != 1 || !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
