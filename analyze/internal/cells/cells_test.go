package cells_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/racetest"
)

func parsed(t *testing.T, text string) dtype.DType {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func stats(t *testing.T, text string) []cells.Stat {
	t.Helper()
	list, err := cells.ParseStats(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// pieces cuts a box into pieces of an array that lies in memory in row-major order.
func pieces(rnd *rand.Rand, box nd.Box, shape []int64, item int, p []byte) []cells.Piece {
	counts := box.Counts()
	strides := nd.Strides(shape, item)
	out := []cells.Piece{{Out: make([]int64, len(counts)), N: counts}}
	for range rnd.IntN(6) { // halve one along an axis
		k, axis := rnd.IntN(len(out)), rnd.IntN(len(counts))
		a := out[k]
		if a.N[axis] < 2 {
			continue
		}
		cut := 1 + rnd.Int64N(a.N[axis]-1)
		b := cells.Piece{Out: slices.Clone(a.Out), N: slices.Clone(a.N)}
		b.Out[axis] += cut
		b.N[axis] -= cut
		a.N = slices.Clone(a.N)
		a.N[axis] = cut
		out[k] = a
		out = append(out, b)
	}
	for k := range out {
		out[k].Items = p
		out[k].Step = make([]int64, len(counts))
		for i, o := range out[k].Out {
			out[k].Off += (box.Start[i] + o*box.Step[i]) * strides[i]
			out[k].Step[i] = box.Step[i] * strides[i]
		}
	}
	rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// simple reduces float64 items by the definition of each stat.
func simple(box nd.Box, list []float64, shape, window []int64, mask []uint64) map[string][]float64 {
	counts := box.Counts()
	groups := map[int64][]float64{}
	args := map[int64][]int64{}
	n, _ := box.Items()
	along := make([]int64, len(counts))
	cellsTotal := int64(1)
	for i := range counts {
		along[i] = (counts[i] + window[i] - 1) / window[i]
		cellsTotal *= along[i]
	}
	strides := nd.Strides(shape, 1)
	for place := range n {
		rest, cell, at, step := place, int64(0), int64(0), int64(1)
		for i := len(counts) - 1; i >= 0; i-- {
			k := rest % counts[i]
			rest /= counts[i]
			cell += k / window[i] * step
			step *= along[i]
			at += (box.Start[i] + k*box.Step[i]) * strides[i]
		}
		if mask != nil && mask[at/64]>>(at%64)&1 == 0 || math.IsNaN(list[at]) {
			continue
		}
		groups[cell] = append(groups[cell], list[at])
		args[cell] = append(args[cell], at)
	}
	out := map[string][]float64{}
	for cell := range cellsTotal {
		g := groups[cell]
		sum := new(big.Float).SetPrec(3000)
		lo, hi, argLo := math.NaN(), math.NaN(), -1.0
		for i, x := range g {
			sum.Add(sum, big.NewFloat(x))
			if i == 0 || x < lo {
				lo, argLo = x, float64(args[cell][i])
			}
			if i == 0 || x > hi {
				hi = x
			}
		}
		v, _ := sum.Float64()
		for name, x := range map[string]float64{"count": float64(len(g)), "sum": v, "min": lo, "max": hi, "argmin": argLo} {
			out[name] = append(out[name], x)
		}
	}
	return out
}

// TestReduce: cells of any windows of any box are what their definition says, whatever the
// pieces, and whether tables are one, merged, or stored in between.
func TestReduce(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	f8 := parsed(t, "<f8")
	for round := range racetest.Share(300, 8) { // one goroutine
		dims := 1 + rnd.IntN(3)
		shape, window := make([]int64, dims), make([]int64, dims)
		var over []int
		var every []int64
		slice := make([]string, dims)
		for i := range shape {
			shape[i] = 1 + rnd.Int64N(9)
			slice[i] = []string{":", "::2", "::-1", "1:", "::-3"}[rnd.IntN(5)]
		}
		sl, err := nd.ParseSlice(strings.Join(slice, ","))
		if err != nil {
			t.Fatal(err)
		}
		box, err := sl.Resolve(shape)
		if err != nil {
			t.Fatal(err)
		}
		over = []int{}
		for i, n := range box.Counts() {
			window[i] = 1
			if rnd.IntN(2) == 0 {
				over, window[i] = append(over, i), max(n, 1)
				if len(every) == len(over)-1 && rnd.IntN(2) == 0 {
					window[i] = 1 + rnd.Int64N(4)
					every = append(every, window[i])
				}
			}
		}
		items, _ := nd.Prod(shape)
		list, p := make([]float64, items), []byte{}
		for i := range list {
			list[i] = []float64{rnd.NormFloat64(), float64(rnd.IntN(3)), math.NaN(), -1}[rnd.IntN(4)]
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(list[i]))
		}
		var mask []uint64
		if rnd.IntN(2) == 0 {
			mask = make([]uint64, items/64+1)
			for i := range mask {
				mask[i] = rnd.Uint64()
			}
		}
		l, err := cells.NewLayout(box, over, every)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := cells.NewPlan(l, stats(t, "count,sum,min,max,argmin,std,hist(3,-1:1),quantiles(0.5)"), f8)
		if err != nil {
			t.Fatal(err)
		}
		one, total := plan.NewTable(l.All()), plan.NewTable(l.All())
		add := plan.NewAdder()
		for _, piece := range pieces(rnd, box, shape, 8, p) {
			if box.Empty() {
				break
			}
			piece.Mask = mask
			add.Add(one, &piece)
			part := plan.NewTable(l.Region(piece.Out, piece.N))
			add.Add(part, &piece)
			text, err := json.Marshal(part)
			if err != nil {
				t.Fatal(err)
			}
			if part, err = plan.ParseTable(text); err != nil {
				t.Fatal(err)
			}
			total.Merge(part)
		}
		got, err := one.Results()
		if err != nil {
			t.Fatal(err)
		}
		merged, err := total.Results()
		if err != nil {
			t.Fatal(err)
		}
		want := simple(box, list, shape, window, mask)
		for k, r := range got {
			if !bytes.Equal(r.Items, merged[k].Items) {
				t.Fatalf("round %d: %s differs by pieces", round, r.Stat.Key())
			}
			if d := cmp.Diff(want[r.Stat.Name], numbers(r, shape), cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); d != "" && want[r.Stat.Name] != nil {
				t.Fatalf("round %d: %v [%v] over %v every %v: %s: %s", round, shape, slice, over, every, r.Stat.Key(), d)
			}
		}
	}
}

// numbers returns the values of a result; those of argmin as the number of the item.
func numbers(r cells.Result, shape []int64) []float64 {
	var out []float64
	for i := 0; i < len(r.Items); i += 8 {
		v := binary.LittleEndian.Uint64(r.Items[i:])
		if r.Type.Kind() == dtype.Float {
			out = append(out, math.Float64frombits(v))
		} else {
			out = append(out, float64(int64(v)))
		}
	}
	if r.Stat.Name == "argmin" {
		var flat []float64
		for at := range slices.Chunk(out, len(shape)) {
			n := 0.0
			for i, k := range at {
				n = n*float64(shape[i]) + k
			}
			flat = append(flat, max(n, -1))
		}
		out = flat
	}
	for i := range r.None {
		if r.None[i] && r.Stat.Name != "argmin" {
			out[i] = math.NaN()
		}
	}
	return out
}

// TestParseStats: texts are read, and what is none is refused by its part.
func TestParseStats(t *testing.T) {
	t.Parallel()
	list := stats(t, "count, mean(.a.b),hist(64,-5:10.5),quantiles(.x,0.01, 1)")
	var keys []string
	for _, s := range list {
		keys = append(keys, s.Key())
	}
	if want := []string{"count", "mean(.a.b)", "hist", "quantiles(.x)"}; !slices.Equal(keys, want) {
		t.Errorf("%v, want %v", keys, want)
	}
	for short, want := range map[string]string{"quantiles": "quantiles(0.01,0.5,0.99)", "quantiles(.ms)": "quantiles(.ms,0.01,0.5,0.99)"} {
		if got := stats(t, short)[0].String(); got != want {
			t.Errorf("%s is %s, want %s", short, got, want)
		}
	}
	for bad, want := range map[string]string{
		"":                                   `stat ""`,
		"count,":                             `stat ""`,
		"median":                             `stat "median": want some of count`,
		"mean,mean":                          "mean is there twice",
		"mean(3)":                            `takes no "3"`,
		"mean(.)":                            "no name",
		"mean(.a":                            "no closing",
		"mean(.a)x":                          "want a comma",
		"hist":                               "hist(64,-5:10)",
		"hist(0,1:2)":                        "0 bins",
		"hist(4,2:2)":                        "range 2:2",
		"hist(4,nan:2)":                      "range nan:2",
		"hist(4,-inf:2)":                     "range -inf:2",
		"hist(4,-1e308:1e308)":               "range",
		"hist(4,1e16:1.0000000000000004e16)": "range 1e16:1.0000000000000004e16: too narrow for 4 bins",
		"hist(64,0:1e-322)":                  "too narrow for 64 bins",
		"quantiles()":                        `"": want a number from 0 to 1`,
		"quantiles(2)":                       `"2": want`,
		"quantiles(0.5,0.5)":                 "0.5 is there twice",
		"quantiles(nan)":                     `"nan"`,
		"hist(9999999999,0:1)":               "bins",
		"hist(4,0:1),hist(8,0)":              "hist",
	} {
		if _, err := cells.ParseStats(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}

// TestNarrowHist: bins whose number divided by their range is beyond float64 count each item.
func TestNarrowHist(t *testing.T) {
	t.Parallel()
	const n = 64 // units of the least number above zero
	items := make([]byte, 0, 8*(n+2))
	for k := range uint64(n + 2) {
		items = binary.LittleEndian.AppendUint64(items, k)
	}
	var sl nd.Slice
	box, err := sl.Resolve([]int64{n + 2})
	if err != nil {
		t.Fatal(err)
	}
	l, err := cells.NewLayout(box, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := reduced(t, l, stats(t, "hist(64,0:3.16e-322)"), parsed(t, "<f8"), items, n+2)[0]
	for i := range n {
		want := uint64(1)
		if i == n-1 {
			want = 2 // with the upper edge
		}
		if c := binary.LittleEndian.Uint64(got.Items[8*i:]); c != want {
			t.Errorf("bin %d has %d items, want %d", i, c, want)
		}
	}
}

// TestRefused: what makes no sense of a type is refused by its name.
func TestRefused(t *testing.T) {
	t.Parallel()
	var sl nd.Slice
	box, err := sl.Resolve([]int64{3})
	if err != nil {
		t.Fatal(err)
	}
	l, err := cells.NewLayout(box, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][3]string{
		{"<c8", "min", "min: items of type <c8 have count, nan, sum, mean only"},
		{"<M8[s]", "mean", "mean: items of type <M8[s] have count"},
		{"<m8[s]", "hist(3,0:1)", "hist"},
		{"|S3", "count", "|S3 are not analyzed"},
		{"<f16", "count", "are not analyzed"},
		{"[('a', '<f4'), ('b', '<i4', (2,))]", "count,nan", "nan: items have members: name one, .a or .b"},
		{"[('a', '<f4'), ('b', '<i4', (2,))]", "count(.c)", `no member "c"`},
		{"[('a', '<f4'), ('b', '<i4', (2,))]", "count(.b)", "sub-array"},
		{"<f4", "count(.b)", `no member "b"`},
	} {
		if _, err := cells.NewPlan(l, stats(t, c[1]), parsed(t, c[0])); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s of %s: %v, want %q", c[1], c[0], err, c[2])
		}
	}
	for _, c := range []struct {
		over  []int
		every []int64
	}{{[]int{1}, nil}, {[]int{-2}, nil}, {[]int{0, -1}, nil}, {[]int{0}, []int64{0}}, {[]int{0}, []int64{1, 1}}} {
		if _, err := cells.NewLayout(box, c.over, c.every); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// TestOneStat: each stat can be asked alone, of each type that has it, of many items with
// NaN among them.
func TestOneStat(t *testing.T) {
	t.Parallel()
	const n = 3000
	items := make([]byte, 16*n)
	rnd := rand.New(rand.NewPCG(9, 9))
	for i := 0; i < len(items); i += 8 {
		binary.LittleEndian.PutUint64(items[i:], math.Float64bits(rnd.NormFloat64()))
		if rnd.IntN(100) == 0 {
			binary.LittleEndian.PutUint64(items[i:], math.Float64bits(math.NaN()))
		}
	}
	var sl nd.Slice
	box, err := sl.Resolve([]int64{n})
	if err != nil {
		t.Fatal(err)
	}
	l, err := cells.NewLayout(box, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, typ := range []string{"|b1", "|u1", "<i2", ">u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "<M8[s]", "<m8[s]"} {
		d := parsed(t, typ)
		var all []cells.Stat
		for _, name := range []string{"count", "nan", "min", "max", "argmin", "argmax", "sum", "mean", "std", "hist(4,-1:1)", "quantiles(0.5)"} {
			list := stats(t, name)
			if _, err := cells.NewPlan(l, list, d); err == nil && (name != "sum" || d.ItemSize() != 8 || typ == "<f8" || typ == "<c8") {
				all = append(all, list...)
			}
		}
		for i, s := range all {
			one, together := reduced(t, l, all[i:i+1], d, items, n), reduced(t, l, all, d, items, n)
			if diff := cmp.Diff(together[i], one[0]); diff != "" {
				t.Errorf("%s of %s alone: %s", s.Key(), typ, diff)
			}
			tried++
		}
	}
	if tried < 100 {
		t.Errorf("only %d are asked", tried)
	}
}

// reduced reduces n items that lie one behind the other.
func reduced(t *testing.T, l *cells.Layout, list []cells.Stat, d dtype.DType, items []byte, n int64) []cells.Result {
	t.Helper()
	p, err := cells.NewPlan(l, list, d)
	if err != nil {
		t.Fatal(err)
	}
	table := p.NewTable(l.All())
	p.NewAdder().Add(table, &cells.Piece{Out: []int64{0}, N: []int64{n}, Step: []int64{int64(d.ItemSize())}, Items: items})
	out, err := table.Results()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRuns: short windows of rows have the answers that they have if each item comes as a
// piece of its own, for all types, with a mask and without.
func TestRuns(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 1))
	shape := []int64{5, 23}
	var sl nd.Slice
	box, err := sl.Resolve(shape)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []string{"|b1", "|u1", ">i2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<M8[s]"} {
		d := parsed(t, typ)
		size := int64(d.ItemSize())
		var list []cells.Stat
		for _, name := range []string{"count", "nan", "min", "max", "argmin", "argmax", "mean", "std", "hist(4,-9:9)", "quantiles(0.5)"} {
			s := stats(t, name)
			l, _ := cells.NewLayout(box, nil, nil)
			if _, err := cells.NewPlan(l, s, d); err == nil {
				list = append(list, s...)
			}
		}
		for _, every := range [][]int64{{2, 3}, {1, 7}, {5, 1}, {3, 16}} {
			for _, stats := range [][]cells.Stat{list, slices.DeleteFunc(slices.Clone(list), func(s cells.Stat) bool { return s.Name == "hist" || s.Name == "quantiles" })} {
				l, err := cells.NewLayout(box, nil, every)
				if err != nil {
					t.Fatal(err)
				}
				p, err := cells.NewPlan(l, stats, d)
				if err != nil {
					t.Fatal(err)
				}
				items, mask := someItems(rnd, typ, 5*23, int(size))
				if rnd.IntN(2) == 0 {
					mask = nil
				}
				whole, single, adder := p.NewTable(l.All()), p.NewTable(l.All()), p.NewAdder()
				piece := cells.Piece{Out: []int64{0, 0}, N: shape, Step: []int64{23 * size, size}, Items: items, Mask: mask}
				adder.Add(whole, &piece)
				for i := range int64(5 * 23) {
					one := piece
					one.Out, one.N, one.Off = []int64{i / 23, i % 23}, []int64{1, 1}, i*size
					adder.Add(single, &one)
				}
				a, err := whole.Results()
				b, err1 := single.Results()
				if err != nil || err1 != nil {
					t.Fatal(err, err1)
				}
				if diff := cmp.Diff(b, a); diff != "" {
					t.Errorf("%s, windows %v, mask %v: %s", typ, every, mask != nil, diff)
				}
			}
		}
	}
}

// someItems returns items of small numbers, with NaN or NaT among them, and a mask.
func someItems(rnd *rand.Rand, typ string, n, size int) (items []byte, mask []uint64) {
	for range n {
		v := int64(rnd.IntN(9) - 4)
		var b []byte
		switch nan := rnd.IntN(30) == 0; {
		case typ == "<f4" && nan:
			b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.NaN())))
		case typ == "<f4":
			b = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v)*1.1))
		case typ == "<f8" && nan:
			b = binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.NaN()))
		case typ == "<f8":
			b = binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(v)*1.1e30))
		case typ == "<M8[s]" && nan:
			b = binary.LittleEndian.AppendUint64(nil, 1<<63)
		default:
			b = binary.LittleEndian.AppendUint64(nil, uint64(v))
		}
		items = append(items, b[:size]...)
	}
	for range (n + 63) / 64 {
		mask = append(mask, rnd.Uint64())
	}
	return items, mask
}
