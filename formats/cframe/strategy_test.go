package cframe

import (
	"slices"
	"testing"

	"github.com/farread/farread/rangeio"
)

// TestShareLast: the last chunks have the goroutines that have nothing else to do any more.
func TestShareLast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parallel, chunks, nbytes, starts int
		want                             []int
	}{
		{1, 2, 4 << 20, 0, []int{0, 0}},
		{2, 3, 4 << 20, 0, []int{0, 0, 2}},
		{8, 6, 4 << 20, 0, []int{0, 0, 0, 0, 4, 8}},
		{8, 2, 4 << 20, 0, []int{4, 8}},
		{8, 2, 1 << 10, 0, []int{0, 0}}, // not worth it
		{8, 2, 4 << 20, 1, []int{0, 0}}, // blocks follow
		{8, 0, 0, 0, nil},
	} {
		p := strategy{whole: slices.Repeat([]job{{nbytes: c.nbytes}}, c.chunks), starts: make([]job, c.starts)}
		p.shareLast(c.parallel)
		var got []int
		for i := range p.whole {
			got = append(got, p.whole[i].inside)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d goroutines, %d chunks of %d bytes, %d others: %v, want %v", c.parallel, c.chunks, c.nbytes, c.starts, got, c.want)
		}
	}
}

// TestChoose: the layouts by which choose was made, with those of the design
// (a, b, c: see TestFarAway).
func TestChoose(t *testing.T) {
	t.Parallel()
	point := func(whole, blocks int64, n int) []readCost {
		return slices.Repeat([]readCost{{whole: whole, blocks: blocks}}, n)
	}
	a, b, c := int64(812_500), int64(6_500_000), int64(100_000)
	policies := map[string]rangeio.Policy{"fast": rangeio.Fast(), "few": rangeio.Few(), "lean": rangeio.Lean(), "zero": {}}
	for _, tc := range []struct {
		name  string
		costs []readCost
		whole string // the policies that read every chunk whole
	}{
		{"nothing", nil, "fast few lean zero"},
		{"a whole chunk", point(b, b, 1), "fast few lean zero"},
		{"a thousand whole chunks", point(c, c, 1000), "fast few lean zero"},
		{"a point of a", point(a, a/64+300, 1), "fast few"},
		{"a point of b", point(b, b/64+300, 1), ""},
		{"two points of a", point(a, a/64+300, 2), "fast few"},
		{"four points of a", point(a, a/64+300, 4), "few"}, // 3.2 MB more than wanted are too much for a round trip
		{"600 x 600 of a", []readCost{{a, a}, {a, a/4 + 300}, {a, a/4 + 300}, {a, a/16 + 300}}, "fast few"},
		{"a column of c", point(c, c/16+100, 1000), "few"},
		{"three quarters of each of 1000", point(c, c*3/4, 1000), "fast few"},
		{"nearly all of a large one", point(100*b, 99*b, 1), "fast"}, // 6.5 MB are 0.1 s on one connection, but it has 16
		{"half of much", point(100*b, 50*b, 100), ""},
		{"small chunks", point(3000, 500, 10), "fast few lean"},
		{"small chunks, many", point(3000, 500, 10_000), "fast few lean"},
		{"no estimate above the chunk", []readCost{{whole: 10, blocks: 1 << 40}}, "fast few lean zero"},
	} {
		for name, p := range policies {
			got := choose(tc.costs, p)
			if len(got) != len(tc.costs) {
				t.Fatalf("%s: %d decisions for %d chunks", tc.name, len(got), len(tc.costs))
			}
			want := slices.Contains(fields(tc.whole), name)
			if all := !slices.Contains(got, false); all != want {
				t.Errorf("%s, %s: whole is %t, want %t", tc.name, name, all, want)
			}
		}
	}
}

func fields(s string) (out []string) {
	for len(s) > 0 {
		i := 0
		for i < len(s) && s[i] != ' ' {
			i++
		}
		out = append(out, s[:i])
		s = s[min(i+1, len(s)):]
	}
	return out
}

// TestChooseMixed: where the second phase is needed anyway, chunks of which most
// is wanted are still read whole, the others not.
func TestChooseMixed(t *testing.T) {
	t.Parallel()
	costs := []readCost{{600 << 20, 100 << 10}, {6 << 20, 4 << 20}, {6 << 20, 6 << 20}, {40 << 10, 10 << 10}, {6 << 20, 2 << 20}}
	for _, tc := range []struct {
		name   string
		policy rangeio.Policy
		want   []bool
	}{
		{"fast", rangeio.Fast(), []bool{false, true, true, true, false}},
		{"lean", rangeio.Lean(), []bool{false, false, true, false, false}},
		{"few", rangeio.Few(), []bool{false, true, true, true, true}},
		{"zero", rangeio.Policy{}, []bool{false, false, true, false, false}},
	} {
		if got := choose(costs, tc.policy); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestGroup: what is estimated of a chunk of 64 blocks in 1000 bytes each.
func TestGroup(t *testing.T) {
	t.Parallel()
	base := job{nbytes: 64 << 14, bsize: 1 << 14, n: 64_000, most: 64_000}
	head := int64(32 + 4*64 + 4)
	for _, tc := range []struct {
		name string
		edit func(j *job)
		want int64
	}{
		{"all", func(*job) {}, 64_000},
		{"one block", func(j *job) { j.blocks = []int{5} }, head + 1000},
		{"half", func(j *job) { j.blocks = make([]int, 32) }, head + 32_000},
		{"every block by name", func(j *job) { j.blocks = make([]int, 64) }, 64_000},
		{"bytes of one block", func(j *job) { j.from, j.to = 100, 200 }, head + 1000},
		{"bytes of two blocks", func(j *job) { j.from, j.to = 1<<14-1, 1<<14+1 }, head + 2000},
		{"bytes, blocks unknown", func(j *job) { j.from, j.to, j.bsize = 0, 1<<16, 0 }, headGuess + 8000},
		{"blocks of unknown size", func(j *job) { j.blocks, j.bsize = []int{1}, 0 }, 64_000},
		{"a chunk of unknown length", func(j *job) { j.blocks, j.nbytes = []int{1}, -1 }, 64_000},
	} {
		j := base
		tc.edit(&j)
		if got := j.cost(j.n); got.blocks != tc.want || got.whole != j.n {
			t.Errorf("%s: %+v, want %d", tc.name, got, tc.want)
		}
	}
}
