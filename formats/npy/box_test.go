package npy_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// boxOf draws an array of bytes, whose runs may lie close to each other or far apart, and
// a box of it.
func boxOf(t *rapid.T) (npy.Header, nd.Box) {
	d, err := dtype.Parse("|u1")
	if err != nil {
		t.Fatal(err)
	}
	h := npy.Header{DType: d, Fortran: rapid.Bool().Draw(t, "fortran"), Shape: []int64{}}
	left := int64(1 << 19)
	var text []string
	for range rapid.IntRange(0, 4).Draw(t, "axes") {
		n := min(rapid.SampledFrom([]int64{1, 2, 3, 7, 60, 500, 4000, 9000}).Draw(t, "length"), left)
		left /= n
		h.Shape = append(h.Shape, n)
		lo := rapid.Int64Range(0, n-1).Draw(t, "from")
		hi := rapid.Int64Range(lo, n).Draw(t, "to")
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			text = append(text, ":")
		case 1:
			text = append(text, fmt.Sprintf("%d:%d:%d", lo, hi, rapid.IntRange(2, 50).Draw(t, "step")))
		default:
			text = append(text, fmt.Sprintf("%d:%d", lo, hi))
		}
	}
	s, err := nd.ParseSlice(strings.Join(text, ", "))
	if err != nil {
		t.Fatal(err)
	}
	box, err := s.Resolve(h.Shape)
	if err != nil {
		t.Fatal(err)
	}
	return h, box
}

// TestReadBoxIsTheItems: whatever the box, ReadBox gives its items, from a file and from
// afar, by the requests of ExplainBox, all in one phase.
func TestReadBoxIsTheItems(t *testing.T) { // alone: it counts the buffers of the process
	const base = 3
	file := make([]byte, base+1<<19)
	for i := range file {
		file[i] = byte(i * 31 >> 3)
	}
	rapid.Check(t, func(t *rapid.T) {
		h, box := boxOf(t)
		items, err := box.Items()
		if err != nil {
			t.Fatal(err)
		}
		want := make([]byte, items)
		ss := nd.Strides(h.Shape, 1)
		if h.Fortran {
			ss = nd.StridesF(h.Shape, 1)
		}
		for k := range want { // item by item
			off, rest := int64(base), int64(k)
			for i := len(ss) - 1; i >= 0; i-- {
				off += (box.Start[i] + rest%box.Count(i)*box.Step[i]) * ss[i]
				rest /= box.Count(i)
			}
			want[k] = file[off]
		}
		near := rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file)))
		before := bufpool.Loans()
		for _, r := range []*noting{{Reader: near, local: true}, {Reader: near}} {
			plan, err := h.ExplainBox(t.Context(), r, base, box)
			if err != nil || len(r.asked) > 0 {
				t.Fatalf("%v, %d reads for a plan", err, len(r.asked))
			}
			got := make([]byte, items)
			if err := h.ReadBox(t.Context(), r, base, got, box); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("local %t, %v %v: %v, or other items", r.local, h.Shape, box, err)
			}
			slices.SortFunc(r.asked, func(a, b rangeio.Planned) int { return int(a.Off - b.Off) })
			if !slices.Equal(plan, r.asked) {
				t.Fatalf("local %t, %v %v: planned %v, read %v", r.local, h.Shape, box, plan, r.asked)
			}
		}
		if now := bufpool.Loans(); now != before {
			t.Fatalf("%d buffers lent, %d before", now, before)
		}
	})
}

// noting notes the spans that are read, and is local or not.
type noting struct {
	rangeio.Reader
	local bool
	mu    sync.Mutex
	asked []rangeio.Planned
}

func (n *noting) Local() bool { return n.local }

func (n *noting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return n.ReadEach(ctx, spans, nil)
}

func (n *noting) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	n.mu.Lock()
	for _, s := range spans {
		n.asked = append(n.asked, rangeio.Planned{Phase: 1, Off: s.Off, Len: int64(len(s.P)), Why: "items"})
	}
	n.mu.Unlock()
	return n.Reader.ReadEach(ctx, spans, done)
}

// TestReadBoxMemory: memory besides that of the items does not grow with the number of
// runs, however short.
func TestReadBoxMemory(t *testing.T) { //nolint:paralleltest // it counts allocations
	d, err := dtype.Parse("|u1")
	if err != nil {
		t.Fatal(err)
	}
	h := npy.Header{DType: d, Shape: []int64{1 << 20, 4}}
	file := make([]byte, 1<<22)
	r := rangeio.FromReaderAt(bytes.NewReader(file), 1<<22)
	dst := make([]byte, 1<<20)
	box := nd.Sub([]int64{0, 1}, []int64{1 << 20, 2}) // a million runs
	got := testing.AllocsPerRun(5, func() {
		if err := h.ReadBox(t.Context(), r, 0, dst, box); err != nil {
			t.Fatal(err)
		}
	})
	// About 20; the race detector makes pools drop some of what is given back. A list of
	// runs or of groups of them would take thousands.
	if t.Logf("%.0f allocations", got); got > 200 {
		t.Errorf("%.0f allocations for 4 MiB in a million runs", got)
	}
}

func BenchmarkReadBox(b *testing.B) {
	d, err := dtype.Parse("<i2")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		shape, lo, hi []int64
	}{
		{"row", []int64{1000, 2048}, []int64{7, 0}, []int64{8, 2048}},
		{"rows", []int64{1000, 8192}, []int64{7, 10}, []int64{23, 60}},
		{"near column", []int64{120000, 100}, []int64{0, 3}, []int64{120000, 4}},
		{"far column", []int64{2000, 8192}, []int64{0, 3}, []int64{2000, 4}},
		{"half of each row", []int64{8192, 2048}, []int64{0, 0}, []int64{8192, 1024}},
	} {
		h := npy.Header{DType: d, Shape: c.shape}
		file := make([]byte, c.shape[0]*c.shape[1]*2)
		r := rangeio.FromReaderAt(bytes.NewReader(file), int64(len(file)))
		box := nd.Sub(c.lo, c.hi)
		items, _ := box.Items()
		dst := make([]byte, items*2)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if err := h.ReadBox(b.Context(), r, 0, dst, box); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
