package zoom_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/zoom"
)

// TestParquetSince: columns of numbers that count from 1970 are read as those of a CSV.
func TestParquetSince(t *testing.T) {
	t.Parallel()
	type whole struct {
		Time int64   `parquet:"time"`
		V    float64 `parquet:"v"`
	}
	type parts struct {
		Time float64 `parquet:"time"`
		V    float64 `parquet:"v"`
	}
	for name, c := range map[string]struct {
		file []byte
		say  zoom.CSVOptions
		want string // the origin; "": none
		warn string
	}{
		"seconds":   {parquetOf(t, []whole{{1_700_000_000, 1}, {1_700_000_001, 2}}), zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "seconds since 1970, as 2023-11-14T22:13:20Z; --times s"},
		"ms":        {parquetOf(t, []whole{{1_700_000_000_250, 1}}), zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "milliseconds since 1970"},
		"double":    {parquetOf(t, []parts{{1_700_000_000.5, 1}, {1_700_000_001, 2}}), zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "seconds since 1970"},
		"double ms": {parquetOf(t, []parts{{1_700_000_000_250.5, 1}}), zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "milliseconds since 1970"},
		"told":      {parquetOf(t, []whole{{1_700_000_000, 1}}), zoom.CSVOptions{Unit: "s"}, "", ""},
		"before":    {parquetOf(t, []whole{{631_152_000, 1}}), zoom.CSVOptions{}, "", "--time-format %s"},
		"told 1970": {parquetOf(t, []whole{{631_152_000, 1}}), zoom.CSVOptions{Format: "%s"}, "1990-01-01T00:00:00Z", ""},
		"small":     {parquetOf(t, []parts{{0.5, 1}}), zoom.CSVOptions{}, "", ""},
	} {
		about, _, err := packParquet(t, c.file, c.say)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if at, ok := about.Origin.UTC(); ok {
			got = at.Format(time.RFC3339)
		}
		if warn := strings.Join(about.Warnings, "; "); got != c.want || !strings.Contains(warn, c.warn) || c.warn == "" && warn != "" {
			t.Errorf("%s: origin %q, want %q, warnings %q", name, got, c.want, warn)
		}
	}
}

func parquetOf[T any](tb testing.TB, rows []T) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	if _, err := w.Write(rows); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestParquetEmpty: files without rows or columns are refused with words, and row groups
// without rows, whose columns pyarrow says to lie nowhere, are no matter.
func TestParquetEmpty(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"norows": "columns and no row of values", "nocolumns": "no columns", "emptygroups": ""} {
		p, err := os.ReadFile(filepath.Join("testdata", "emptyparquet", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		about, n, err := packParquet(t, p, zoom.CSVOptions{})
		if want != "" {
			if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "x.parquet: "+want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || n != 3 || about.Rows != 3 {
			t.Errorf("%s: %d samples, %d rows, %v", name, n, about.Rows, err)
		}
	}
}
