package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// parquetFiles are files that pyarrow has written.
func parquetFiles(tb testing.TB) []string {
	tb.Helper()
	list, err := filepath.Glob(filepath.Join("testdata", "realparquet", "*.parquet"))
	if err != nil || len(list) < 8 {
		tb.Fatalf("%d files, %v", len(list), err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	return list
}

func realParquet(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata", "realparquet", name))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// packParquet opens and writes a file, and returns an error of either.
func packParquet(tb testing.TB, p []byte, o zoom.CSVOptions) (zoom.About, int, error) {
	tb.Helper()
	s, err := zoom.Open(context.Background(), stored(tb, memstore.New(memstore.Config{}), "x.parquet", p), zoom.Options{Table: o})
	if err != nil {
		return zoom.About{}, 0, err
	}
	var b bytes.Buffer
	n, err := zoom.Write(context.Background(), &b, s, zoom.WriteOptions{NoIndex: true, Parallel: 1})
	return s.About(), int(n.Samples), err
}

// TestParquetCut: a file that was cut anywhere is refused, with a place.
func TestParquetCut(t *testing.T) {
	t.Parallel()
	for _, name := range parquetFiles(t)[:racetest.Share(4, 2)] {
		p := realParquet(t, name)
		for n := 0; n < len(p); n += len(p)/200 + 1 {
			_, _, err := packParquet(t, p[:n], zoom.CSVOptions{})
			var e *formats.Error
			if !errors.As(err, &e) || !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) {
				t.Fatalf("%s cut to %d bytes: %v", name, n, err)
			}
		}
	}
}

// TestParquetDamaged: whatever byte is wrong, there is an error or a series, and no
// panic, and memory is not taken for what is not there.
func TestParquetDamaged(t *testing.T) {
	t.Parallel()
	for _, name := range parquetFiles(t) {
		p := realParquet(t, name)
		if len(p) > 8<<10 {
			continue
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range racetest.Share(400, 8) {
			q := slices.Clone(p)
			for range 1 + r.IntN(3) {
				q[4+r.IntN(len(q)-4)] = byte(r.Uint32())
			}
			if _, _, err := packParquet(t, q, zoom.CSVOptions{}); err != nil {
				known(t, err)
			}
		}
	}
}

// TestParquetLies: lengths and counts that are not true end with an error that names the
// place.
func TestParquetLies(t *testing.T) {
	t.Parallel()
	p := realParquet(t, "sunspots-delta.parquet")
	footer := len(p) - 8 - int(binary.LittleEndian.Uint32(p[len(p)-8:]))
	with := func(at int, b ...byte) []byte {
		q := slices.Clone(p)
		copy(q[at:], b)
		return q
	}
	rows := bytes.Index(p[footer:], binary.AppendVarint(nil, 309)) + footer // number of rows
	for what, c := range map[string]struct {
		p    []byte
		text string
	}{
		"footer too long": {with(len(p)-8, 0xff, 0xff, 0xff, 0x7f), "a footer of 2147483647 bytes in a file of"},
		"no end":          {with(len(p)-1, '2'), "no PAR1 at the end"},
		"encrypted":       {with(len(p)-1, 'E'), "encrypted"},
		"other rows":      {with(rows, 0xea, 0x05), "rows"},
		"first page":      {with(4, 0x15, 0x00, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f), "row group 0, column"},
		"empty":           {append([]byte("PAR1\x00\x01\x00\x00\x00"), "PAR1"...), "footer"},
		"huge list":       {append([]byte("PAR1\x29\xfc\xff\xff\xff\xff\x0f\x07\x00\x00\x00"), "PAR1"...), "footer"},
	} {
		_, _, err := packParquet(t, c.p, zoom.CSVOptions{})
		var e *formats.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", what, err, c.text)
		}
	}
}

// TestParquetColumns: flags choose columns as they do for a CSV, and remarks tell what was
// passed over.
func TestParquetColumns(t *testing.T) {
	t.Parallel()
	p := realParquet(t, "stocks-words.parquet")
	about, n, err := packParquet(t, p, zoom.CSVOptions{Sort: true, Columns: []string{"price"}, Time: "date", Format: "%b %d %Y"})
	if err != nil || n != 560 || len(about.Tracks) != 1 || about.Format != "parquet" {
		t.Errorf("%+v, %d, %v", about, n, err)
	}
	if _, _, err := packParquet(t, p, zoom.CSVOptions{Sort: true, Columns: []string{"symbol"}}); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), `"symbol" has no numbers, but text`) {
		t.Error(err)
	}
	if _, _, err := packParquet(t, p, zoom.CSVOptions{Sort: true, Skip: []string{"price"}}); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
	if _, _, err := packParquet(t, p, zoom.CSVOptions{Time: "when"}); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), `no column "when"`) {
		t.Error(err)
	}
	about, _, err = packParquet(t, realParquet(t, "iowa-berlin-us.parquet"), zoom.CSVOptions{Unit: "s"})
	if text := fmt.Sprint(about.Warnings); err != nil || !strings.Contains(text, "--times and --time-format say nothing") || !strings.Contains(text, "times begin again 2 times, first in row 18, as in tables of several series") || !strings.Contains(text, `"source (text)"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestParquetRequests: a file with its end at hand costs a request for the first row, one
// for the times, and one for all columns, since its row groups are short.
func TestParquetRequests(t *testing.T) {
	t.Parallel()
	p := realParquet(t, "stocks-index.parquet")
	p = append(slices.Clone(p[:4]), p[4:]...)
	b := memstore.New(memstore.Config{})
	stored(t, b, "x.parquet", p)
	obj, err := objstore.Open(t.Context(), b, "x.parquet", objstore.OpenOptions{Head: 12, Tail: 4096})
	if err != nil {
		t.Fatal(err)
	}
	before := obj.Stats()
	s, err := zoom.Open(t.Context(), obj, zoom.Options{Table: zoom.CSVOptions{Sort: true}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := zoom.Write(t.Context(), &out, s, zoom.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if after := obj.Stats(); after.Requests-before.Requests > 3 || after.Bytes-before.Bytes > int64(2*len(p)) {
		t.Errorf("%d requests, %d bytes of %d", after.Requests-before.Requests, after.Bytes-before.Bytes, len(p))
	}
}

// TestParquetIsCSV: a table makes the same file whether it comes as a CSV or as Parquet of
// another writer than pyarrow, in row groups of any length, with its gaps.
func TestParquetIsCSV(t *testing.T) {
	t.Parallel()
	type row struct {
		Time int64    `parquet:"time,timestamp(millisecond)"`
		Temp *float64 `parquet:"temp,optional,zstd"`
		Pump int64    `parquet:"pump,delta"`
		Site string   `parquet:"site,dict,snappy"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.PageBufferSize(4000), parquet.DataPageVersion(2))
	var text strings.Builder
	text.WriteString("time,temp,pump,site\n")
	const start = 1_767_225_600_000 // 2026
	for i := range 20_000 {
		at := int64(start + 250*i)
		if i >= 12_000 {
			at += 3 * 3600 * 1000 // a gap
		}
		r := row{Time: at, Pump: int64(i % 5), Site: "roof"}
		cell := ""
		if i%7 > 0 {
			x := float64(i%100) + 0.5
			r.Temp, cell = &x, fmt.Sprint(x)
		}
		if _, err := w.Write([]row{r}); err != nil {
			t.Fatal(err)
		}
		if i%3333 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintf(&text, "%s,%s,%d,roof\n", time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z"), cell, r.Pump)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var files [2][]byte
	for i, src := range []struct {
		name string
		p    []byte
	}{{"x.csv", []byte(text.String())}, {"x.parquet", b.Bytes()}} {
		s, err := series(t, src.name, src.p, nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := zoom.Write(t.Context(), &out, s, zoom.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		files[i] = out.Bytes()
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Errorf("%d and %d bytes differ", len(files[0]), len(files[1]))
	}
	f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(files[1]), int64(len(files[1]))), zoomcache.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const before, behind = 250 * 11_999, 250*12_000 + 3*3600*1000
	err = f.EachSummary(t.Context(), 1, 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
		if s.Entry*10 <= before && s.Exit*10 >= behind {
			t.Errorf("a packet of [%d, %d] goes over the gap", s.Entry, s.Exit)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// tinyParquet has a time and a value, twice.
func tinyParquet(tb testing.TB) []byte {
	tb.Helper()
	type row struct {
		T int64 `parquet:"t"`
		A int32 `parquet:"a"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write([]row{{0, 1}, {1, 2}}); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
