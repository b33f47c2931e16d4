package arraymeta

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ints are the bytes of int64s.
func ints(list ...int64) []byte {
	var out []byte
	for _, v := range list {
		out = binary.LittleEndian.AppendUint64(out, uint64(v))
	}
	return out
}

// TestCoarsenCoords: means of windows, as xarray has them.
func TestCoarsenCoords(t *testing.T) {
	t.Parallel()
	days := map[string]json.RawMessage{"units": json.RawMessage(`"days since 2025-01-01"`)}
	for _, c := range []struct {
		name      string
		in        Coord
		n, window int64
		want      string // type and texts; "": no coordinate
	}{
		{"regular", Coord{DType: "<f8", Start: "10", Step: "0.5"}, 6, 2, "<f8 10.25 11.25 12.25"},
		{"a short last window", Coord{DType: "<f8", Start: "0", Step: "1"}, 7, 3, "<f8 1 4 6"},
		{"float32", Coord{DType: "<f4", Start: "0", Step: "1"}, 4, 2, "<f4 0.5 2.5"},
		{"integers", Coord{DType: "<i2", Start: "0", Step: "1"}, 4, 2, "<f8 0.5 2.5"},
		{"values", Coord{DType: "<i8", Values: ints(1, 2, 6, 9)}, 4, 3, "<f8 3 9"},
		{"units", Coord{DType: "<i8", Values: ints(0, 1, 2, 3), Attrs: days}, 4, 2, "<f8 2025-01-01T12:00 2025-01-03T12:00"},
		{"days", Coord{DType: "<M8[D]", Start: "0", Step: "1"}, 4, 2, "<M8[h] 1970-01-01T12:00 1970-01-03T12:00"},
		{"whole days", Coord{DType: "<M8[D]", Start: "0", Step: "1"}, 6, 3, "<M8[D] 1970-01-02 1970-01-05"},
		{"weeks", Coord{DType: "<M8[W]", Start: "0", Step: "2"}, 4, 2, "<M8[W] 1970-01-08 1970-02-05"},
		{"ten minutes", Coord{DType: "<M8[10m]", Start: "0", Step: "1"}, 4, 2, "<M8[m] 1970-01-01T00:05 1970-01-01T00:25"},
		{"nanoseconds", Coord{DType: "<M8[ns]", Values: ints(0, 1)}, 2, 2, "<M8[ns] 1970-01-01"},
		{"durations", Coord{DType: "<m8[s]", Values: ints(0, 1)}, 2, 2, "<m8[ms] 500"},
		{"no time", Coord{DType: "<M8[s]", Values: ints(0, -1<<63)}, 2, 2, ""},
		{"beyond nanoseconds", Coord{DType: "<M8[s]", Values: ints(1<<50, 1<<50, 1<<50+1)}, 3, 3, ""},
		{"months", Coord{DType: "<M8[M]", Start: "0", Step: "2"}, 4, 2, "<M8[M] 1970-02-01 1970-06-01"},
		{"half months", Coord{DType: "<M8[M]", Start: "0", Step: "1"}, 4, 2, ""},
		{"texts", Coord{DType: "<U1", Values: make([]byte, 16)}, 4, 2, ""},
		{"beside", Coord{DType: "<f8", Array: "x.b2nd"}, 4, 2, ""},
		{"long", Coord{DType: "<f8", Start: "0", Step: "1"}, 1<<20 + 1, 2, ""},
	} {
		c.in.Dim = "x"
		m := Meta{Dims: []string{"x", "y", "z"}, Coords: []Coord{c.in, {Dim: "y", DType: "<f8", Array: "y.b2nd"}}}
		out := m.Coarsen([]int64{c.n, 5, 9}, []int64{c.window, 1, 0})
		got := ""
		if x, ok := out.Coord("x"); ok {
			n := (c.n + c.window - 1) / c.window
			a, err := x.Axis(n)
			if err != nil {
				t.Fatal(c.name, err)
			}
			got = x.DType
			for i := range n {
				got += " " + a.Text(i)
			}
		}
		if _, ok := out.Coord("y"); got != c.want || !ok || fmt.Sprint(out.Dims) != "[x y]" {
			t.Errorf("%s: %q, want %q; %v", c.name, got, c.want, out.Dims)
		}
		if err := out.check([]int64{(c.n + c.window - 1) / c.window, 5}); err != nil {
			t.Error(c.name, err)
		}
	}
	attrs := map[string]json.RawMessage{"units": json.RawMessage(`"m"`), "bounds": json.RawMessage(`"b"`)}
	m := Meta{Dims: []string{"x"}, Coords: []Coord{{Dim: "x", DType: "<f8", Start: "0", Step: "1", Attrs: attrs}}}
	if c := m.Coarsen([]int64{4}, []int64{2}).Coords[0]; cmp.Diff(c.Attrs, map[string]json.RawMessage{"units": json.RawMessage(`"m"`)}) != "" {
		t.Errorf("%+v", c)
	}
	if got := (Meta{Attrs: attrs}).Coarsen([]int64{4}, []int64{2}); got.Dims != nil || len(got.Attrs) != 2 {
		t.Errorf("%+v", got)
	}
}
