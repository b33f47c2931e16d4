package cells_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

// BenchmarkReduce reduces blocks of 16,384 items: to one cell, and to a cell for each 4 x 4.
func BenchmarkReduce(b *testing.B) {
	for _, c := range []struct {
		name, typ, stats string
		every            int64
	}{
		{"four", "<f4", "mean,std,min,max", 0},
		{"four", "<f8", "mean,std,min,max", 0},
		{"four", "|u1", "mean,std,min,max", 0},
		{"four", "<i2", "mean,std,min,max", 0},
		{"four", "<i4", "mean,std,min,max", 0},
		{"four", "<i8", "mean,std,min,max", 0},
		{"mean", "<f4", "mean", 0},
		{"extremes", "<M8[s]", "min,max", 0},
		{"hist", "<f4", "hist(64,-3:3)", 0},
		{"quantiles", "<f4", "quantiles(0.5)", 0},
		{"mean", "<f4", "mean", 4},
		{"mean", "<u2", "mean", 4},
	} {
		b.Run("stats="+c.name+"/type="+strings.Trim(c.typ, "<|[]s")+"/every="+strconv.FormatInt(c.every, 10), func(b *testing.B) {
			benchReduce(b, c.typ, c.stats, c.every)
		})
	}
}

func benchReduce(b *testing.B, typ, stats string, every int64) {
	b.Helper()
	d, err := dtype.Parse(typ)
	if err != nil {
		b.Fatal(err)
	}
	list, err := cells.ParseStats(stats)
	if err != nil {
		b.Fatal(err)
	}
	var sl nd.Slice
	box, err := sl.Resolve([]int64{128, 128})
	if err != nil {
		b.Fatal(err)
	}
	var windows []int64
	if every > 0 {
		windows = []int64{every, every}
	}
	l, err := cells.NewLayout(box, nil, windows)
	if err != nil {
		b.Fatal(err)
	}
	p, err := cells.NewPlan(l, list, d)
	if err != nil {
		b.Fatal(err)
	}
	const n = 128 * 128
	size := d.ItemSize()
	rnd := rand.New(rand.NewPCG(1, 2))
	items := make([]byte, 0, n*size)
	for range n {
		x := rnd.NormFloat64()
		switch typ {
		case "<f4":
			items = binary.LittleEndian.AppendUint32(items, math.Float32bits(float32(x)))
		case "<f8":
			items = binary.LittleEndian.AppendUint64(items, math.Float64bits(x))
		default:
			items = append(items, binary.LittleEndian.AppendUint64(nil, uint64(int64(x*100)))[:size]...)
		}
	}
	table, adder := p.NewTable(l.All()), p.NewAdder()
	piece := &cells.Piece{Out: []int64{0, 0}, N: []int64{128, 128}, Step: []int64{int64(128 * size), int64(size)}, Items: items}
	b.SetBytes(int64(len(items)))
	b.ReportAllocs()
	for b.Loop() {
		adder.Add(table, piece)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}
