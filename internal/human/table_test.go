package human

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	x := NewTable(">N", "NAME")
	x.Add("1", "one")
	x.Add("100", "")
	var b strings.Builder
	if err := x.Print(&b); err != nil {
		t.Fatal(err)
	}
	if want := "  N  NAME\n  1  one\n100\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestLongTable counts bytes: a table must not cost the square of its rows.
func TestLongTable(t *testing.T) {
	allocated := func(rows int) uint64 {
		x := NewTable(">CHUNK", ">OFFSET", "SPECIAL")
		for range rows {
			x.Add("12,345", "1,234,567", "zeros")
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := x.Print(io.Discard); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := allocated(1000), allocated(16000)
	if many > 40*few {
		t.Errorf("16 times the rows take %d bytes in place of %d", many, few)
	}
}

// TestTableInParts: a long table has one head, and columns that never get narrower.
func TestTableInParts(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	x := NewTable(">N", "NAME")
	for _, part := range [][][]string{{{"1", "a"}, {"22", "b"}}, {{"3", "c"}}, nil, {{"444", "d"}, {"5", "e"}}} {
		for _, row := range part {
			x.Add(row...)
		}
		if err := x.Print(&b); err != nil {
			t.Fatal(err)
		}
	}
	if want := " N  NAME\n 1  a\n22  b\n 3  c\n444  d\n  5  e\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
