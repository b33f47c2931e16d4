package stats_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/stats"
)

// golden is a line of testdata/stats.jsonl; stats.py says what is in it.
type golden struct {
	DType        string
	Items, Fill  []byte
	Shape, Valid []int64
	Columns      []struct {
		Name             string
		Count, NaN, Fill int64
		Min, Max         []byte
	}
}

func parse(tb testing.TB, text string) dtype.DType {
	tb.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func columns(tb testing.TB, d dtype.DType, fill []byte) []stats.Column {
	tb.Helper()
	c, err := stats.Columns(d, fill)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestNumPy: Stats are what NumPy says, of runs and of boxes.
func TestNumPy(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/stats.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for s := bufio.NewScanner(f); s.Scan(); lines++ {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		cols := columns(t, parse(t, g.DType), g.Fill)
		if len(cols) != len(g.Columns) {
			t.Errorf("line %d: %s: %d columns, want %d", lines+1, g.DType, len(cols), len(g.Columns))
			continue
		}
		for i, c := range cols {
			got, want := c.Of(g.Items), g.Columns[i]
			if g.Valid != nil {
				got = c.OfBox(g.Items, g.Shape, g.Valid)
			}
			var lo, hi []byte
			if got.Ranged {
				lo, hi = c.Append(nil, got.Min), c.Append(nil, got.Max)
			}
			if c.Name() != want.Name || got.Items != want.Count || got.NaN != want.NaN || got.Fill != want.Fill || !bytes.Equal(lo, want.Min) || !bytes.Equal(hi, want.Max) {
				t.Errorf("line %d: %s: column %q: %+v, %x to %x, want %+v", lines+1, g.DType, c.Name(), got, lo, hi, want)
			}
		}
	}
	if lines < 200 {
		t.Errorf("%d lines", lines)
	}
}

// TestFillSize: a fill value of another size is refused.
func TestFillSize(t *testing.T) {
	t.Parallel()
	if _, err := stats.Columns(parse(t, "<i4"), make([]byte, 8)); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
}
