package zoom_test

import (
	"bytes"
	"errors"
	"fmt"
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
