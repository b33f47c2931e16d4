package predicate_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
)

// golden is a line of testdata/masks.jsonl; masks.py says what is in it.
type golden struct {
	DType string
	Items []byte
	Masks [][2]json.RawMessage
}

func parse(tb testing.TB, text string) dtype.DType {
	tb.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func bind(tb testing.TB, text string, d dtype.DType) *predicate.Predicate {
	tb.Helper()
	e, err := predicate.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	p, err := e.Bind(d)
	if err != nil {
		tb.Fatalf("%s: %s: %v", d, text, err)
	}
	return p
}

// statsOf returns the statistics that p.Match takes, of the items in b.
func statsOf(tb testing.TB, p *predicate.Predicate, d dtype.DType, b []byte) []stats.Stat {
	tb.Helper()
	cols, err := stats.Columns(d, nil)
	if err != nil {
		tb.Fatal(err)
	}
	var list []stats.Stat
	for _, c := range p.Columns() {
		list = append(list, cols[c].Of(b))
	}
	return list
}

// bitsOf returns the bits of a mask of n items, one a bool.
func bitsOf(mask []uint64, n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = mask[i/64]>>(i%64)&1 == 1
	}
	return out
}

// TestNumPy: masks are those of NumPy, for all of the items and for each alone, where the
// statistics of the item have to tell.
func TestNumPy(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/masks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	masks := 0
	lines := bufio.NewScanner(f)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var g golden
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		d := parse(t, g.DType)
		items := slices.Collect(slices.Chunk(g.Items, d.ItemSize()))
		for _, m := range g.Masks {
			var text string
			var want []byte
			if json.Unmarshal(m[0], &text) != nil || json.Unmarshal(m[1], &want) != nil {
				t.Fatalf("%s", m)
			}
			masks++
			p := bind(t, text, d)
			got := p.Mask(nil, g.Items)
			var words []uint64
			for i := 0; i < len(want); i += 8 {
				words = append(words, binary.LittleEndian.Uint64(append(slices.Clone(want[i:min(i+8, len(want))]), make([]byte, 8)...)))
			}
			if !slices.Equal(got, words) {
				t.Errorf("%s: %s: mask %x, want %x", d, text, got, words)
			}
			if len(p.Columns()) > 1 {
				continue
			}
			for i, set := range bitsOf(words, len(items)) {
				want := predicate.None
				if set {
					want = predicate.All
				}
				if m := p.Match(statsOf(t, p, d, items[i])); m != want {
					t.Errorf("%s: %s: of item %d alone %v match, want %v", d, text, i, m, want)
				}
			}
		}
	}
	if lines.Err() != nil || masks < 2000 {
		t.Errorf("%d masks, %v", masks, lines.Err())
	}
}
