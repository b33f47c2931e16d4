package zoom_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore/memstore"
)

// TestSorted: a table in any order of its rows becomes the file of one in the order of its times, where rows
// of one time stay in their order; so it does behind another one.
func TestSorted(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 8))
	var rows []string
	for i := range 3000 {
		row := fmt.Sprintf("2026-05-01T%02d:%02d:%02d.5Z,%d,%g,%t", i/3/3600, i/3/60%60, i/3%60, i, r.Float64(), i%5 == 0)
		if i%7 == 0 {
			row = strings.Join(strings.Split(row, ",")[:2], ",") + ",,"
		}
		rows = append(rows, row)
	}
	mixed := slices.Clone(rows)
	r.Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
	// Rows of one time are told apart by their first value: they stay as the table has them.
	want := slices.Clone(mixed)
	slices.SortStableFunc(want, func(a, b string) int { return strings.Compare(a[:22], b[:22]) })
	file := func(rows []string, o zoom.CSVOptions) []byte {
		text := "time,a,b,c\n" + strings.Join(rows, "\n") + "\n"
		s, err := zoom.Open(t.Context(), stored(t, memstore.New(memstore.Config{}), "x.csv", []byte(text)), zoom.Options{Table: o})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := zoom.Write(t.Context(), &b, s, zoom.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	sorted := zoom.CSVOptions{Sort: true}
	if !bytes.Equal(file(mixed, sorted), file(want, zoom.CSVOptions{})) || !bytes.Equal(file(want, sorted), file(want, zoom.CSVOptions{})) {
		t.Error("other files")
	}
	s, err := series(t, "x.csv", []byte("time,a\n2026-05-01T00:00:00Z,1\n2026-05-01T00:00:05Z,3\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := onDisk(t, s, zoom.WriteOptions{})
	more, err := zoom.Open(t.Context(), stored(t, memstore.New(memstore.Config{}), "y.csv", []byte("time,a\n2026-05-01T00:00:09Z,1\n2026-05-01T00:00:04Z,3\n")), zoom.Options{Table: sorted})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := grow(t, f, more, zoom.AppendOptions{}); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "2026-05-01T00:00:04Z comes behind 2026-05-01T00:00:05Z; line 3 has its earliest time") {
		t.Error(err)
	}
}

// TestSortedByItself: a table with its latest row first, and one of several series below each other, are put in
// order, with a remark; one whose times go back otherwise is an error.
func TestSortedByItself(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		days []int
		want string // of the remark; "": an error
	}{
		"latest first":          {[]int{9, 8, 8, 3, 1}, "the latest time comes first: rows are put in the order of their times"},
		"series":                {[]int{1, 2, 9, 1, 5, 9, 3, 8, 9}, "times begin again 2 times, first in line 5, as in tables of several series below each other: rows are put in the order of their times"},
		"two rows":              {[]int{2, 1}, ""},
		"a step back":           {[]int{1, 2, 3, 4, 3, 5, 6}, ""},
		"one restart":           {[]int{1, 2, 9, 1, 2}, ""},
		"restarts near the end": {[]int{1, 2, 9, 1, 5, 9, 6, 8, 9}, ""},
		"in no order":           {[]int{9, 1, 8, 2}, ""},
	} {
		text := "date,a\n"
		for i, d := range c.days {
			text += fmt.Sprintf("2026-05-%02d,%d\n", d, i)
		}
		s, err := series(t, "x.csv", []byte(text), nil)
		if c.want == "" {
			if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "its times go back") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !slices.Contains(s.About().Warnings, c.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		last := int64(math.MinInt64)
		err = s.Each(t.Context(), 4, func(b *zoom.Block) error {
			for _, at := range b.Columns[0].Stamps {
				if at < last {
					t.Errorf("%s: %d behind %d", name, at, last)
				}
				last = at
			}
			return nil
		})
		if err != nil || last == math.MinInt64 {
			t.Errorf("%s: %d, %v", name, last, err)
		}
	}
}
