package zoom_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore/memstore"
)

// fuzzed opens bytes as an upload: they end with one of the sentinels, or make a
// file that holds as many samples as they say.
func fuzzed(t *testing.T, key string, p []byte, note *zoom.Note) {
	t.Helper()
	s, err := series(t, key, p, note)
	if err != nil {
		known(t, err)
		return
	}
	about := s.About()
	if about.Bytes > int64(len(p)) && about.Format != "parquet" {
		t.Fatalf("%d bytes of samples in %d", about.Bytes, len(p))
	}
	if about.Rows > 1<<16 || len(about.Tracks) > 64 {
		return // large, and honest
	}
	var file bytes.Buffer
	n, err := zoom.Write(context.Background(), &file, s, zoom.WriteOptions{Watermark: 16})
	if err != nil {
		if about.Format != "parquet" { // opening has checked everything
			t.Fatal(err)
		}
		known(t, err)
		return
	}
	_, list := read(t, opened(t, filled(t, file.Bytes()), "x"))
	total := int64(0)
	for _, x := range list {
		total += int64(len(x.Values))
		if about.Format != "csv" && about.Format != "parquet" && int64(len(x.Values)) != about.Rows {
			t.Fatalf("%d samples, %d rows", len(x.Values), about.Rows)
		}
	}
	if total != n.Samples {
		t.Fatalf("%d samples, wrote %d", total, n.Samples)
	}
}

func known(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrTooLarge) {
		t.Fatalf("no sentinel: %v", err)
	}
}

func FuzzWAV(f *testing.F) {
	le, be := binary.LittleEndian, binary.BigEndian
	p := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, x := range [][]byte{
		small(), wav("RIFF", form(le, 0xFFFE, 2, 6, 24, extensible(1)...), data(p)), wav("RF64", ds64(12), form(le, 3, 1, 4, 32), chunk(le, "data", 1<<32-1, p)),
		wav("RIFX", form(be, 3, 1, 8, 64), chunk(be, "data", 8, p)), wav("BW64", chunk(le, "JUNK", 3, []byte("abc")), form(le, 1, 3, 3, 8), data(p)),
	} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzed(t, "x.wav", p, nil) })
}

func FuzzNPY(f *testing.F) {
	p := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	for _, typ := range []string{"<i2", ">f2", "|b1", "<u4", ">f4"} {
		f.Add(npyOf(f, typ, false, p, 3))
		f.Add(npyOf(f, typ, true, p, 1, 3))
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzed(t, "x.npy", p, nil) })
}

func FuzzCSV(f *testing.F) {
	for _, x := range []string{
		"date,v\n19-Sep-03,1\n2-Jan-04,2\n", "date;time;v\n1/2/2026;12:00;1,5\n", "year,quarter,v\n1974,1,2\n", "period,v\n1974Q1,2\n", "date,v\n45123.5,1\n",
		"\xff\xfet\x00,\x00a\x00\n\x001\x00,\x002\x00", "time,a\r1,2\r", "\"a\"\n\"1\",2\n", "Title,,\n,when,v\nx,\"Fri, 28 Mar 2025 1:05 PM +0200\",1\n",
		"time,a,b\n0,1,0.5\n0.25,,1e3\n", "t;v\r\n\"10\";7\r\n", "a\tdate\n1\t2026-05-01T12:00:00.25+02:00\n2\t2026-05-01\n",
		"\ufeff#\n\ntime,a\n-0.30000000000000004,18446744073709551615\n17000000000000000.25,true\n",
	} {
		f.Add([]byte(x))
	}
	f.Fuzz(func(t *testing.T, p []byte) { fuzzed(t, "x.csv", p, nil) })
}

func FuzzParquet(f *testing.F) {
	for _, name := range parquetFiles(f) {
		if p := realParquet(f, name); len(p) < 8<<10 {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) > 4 {
			p = append([]byte("PAR1"), p[4:]...) // to get at the rest of it
		}
		fuzzed(t, "x.parquet", p, nil)
	})
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte("abcdefgh"), []byte(`{"dtype":"<i2","shape":[2,2],"order":"F","rate":"30000/1001","origin":"2026-05-01","names":["a","b"]}`))
	f.Add([]byte("abcdefgh"), []byte(`{"dtype":">f4","shape":[1],"offset":4,"rate":0.5}`))
	f.Add([]byte("abcdefgh"), []byte(`{"dtype":"<i2","shape":[2,2],"rate":"X0"}`))
	f.Fuzz(func(t *testing.T, p, text []byte) {
		n, err := zoom.ParseNote(text)
		if err != nil {
			known(t, err)
			return
		}
		fuzzed(t, "x.raw", p, &n)
	})
}

func FuzzRate(f *testing.F) {
	for _, x := range []string{"1000", "0.1", "30000/1001", "1e3", "1e-400", "0x1p-3", "1X0", "/", "."} {
		f.Add(x)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := zoom.ParseRate(text)
		if err != nil {
			known(t, err)
			return
		}
		if r.Num <= 0 || r.Den <= 0 {
			t.Fatalf("%q: %v", text, r)
		}
		if again, err := zoom.ParseRate(text); err != nil || again != (zoomcache.Rate{Num: r.Num, Den: r.Den}) {
			t.Fatal(err)
		}
	})
}

// FuzzFormat: a format that is taken reads stamps without a panic, and one that was read
// is a time that can be written.
func FuzzFormat(f *testing.F) {
	for _, x := range [][2]string{{"%d/%m/%Y %H:%M", "1/2/2026 12:30"}, {"%F %T.%f %z", "2026-05-01 12:00:00.25 +0200"}, {"%YQ%q", "1974Q4"}, {"%a, %d %B %y %I:%M %p", "Fri, 28 March 25 1:05 PM"}, {"%j %s", "1 5"}} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, format, stamp string) {
		if _, err := zoom.ParseFormat(format); err != nil {
			known(t, err)
		}
		if strings.ContainsAny(stamp, "\",\r\n\x00") {
			return
		}
		obj := stored(t, memstore.New(memstore.Config{}), "x.csv", []byte("time,v\n\""+stamp+"\",1\n"))
		s, err := zoom.Open(t.Context(), obj, zoom.Options{Table: zoom.CSVOptions{Format: format}})
		if err != nil {
			known(t, err)
			return
		}
		written(t, s, zoom.WriteOptions{})
	})
}
