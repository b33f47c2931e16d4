package zoom_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore/memstore"
)

// TestCSV: types, stamps and gaps of tables as people write them.
func TestCSV(t *testing.T) {
	t.Parallel()
	ticks := func(n int64) zoomcache.Rate { return zoomcache.Rate{Num: n, Den: 1} }
	for name, c := range map[string]struct {
		text   string
		tracks []track
		origin string
		warn   string
	}{
		"seconds": {"time,a,b\n0,1,0.5\n0.25,-2,1e3\n0.5,3,nan\n",
			[]track{{"i64", "a", ticks(100), []string{"1", "-2", "3"}, []int64{0, 25, 50}}, {"f64", "b", ticks(100), []string{"0.5", "1000", "NaN"}, []int64{0, 25, 50}}}, "", ""},
		"whole seconds": {"t;v\r\n10;7\r\n11;8", []track{{"i64", "v", ticks(1), []string{"7", "8"}, []int64{10, 11}}}, "", ""},
		"gaps": {"time,a,b\n1,,5\n2,NA,6\n3,4,\n4,null,\n",
			[]track{{"i64", "a", ticks(1), []string{"4"}, []int64{3}}, {"i64", "b", ticks(1), []string{"5", "6"}, []int64{1, 2}}}, "", ""},
		"no values":      {"time,a,b\n1,,5\n", []track{{"f64", "a", ticks(1), nil, nil}, {"i64", "b", ticks(1), []string{"5"}, []int64{1}}}, "", `"a" has no values`},
		"sorted":         {"time,a,b\n5,1,\n-1.5,2,7\n5,3,8\n", []track{{"i64", "a", ticks(10), []string{"2", "1", "3"}, []int64{-15, 50, 50}}, {"i64", "b", ticks(10), []string{"7", "8"}, []int64{-15, 50}}}, "", "rows are put in the order of their times: 1 go back, the first in line 3"},
		"first column":   {"when ever,a\n1,1\n", []track{{"i64", "a", ticks(1), []string{"1"}, []int64{1}}}, "", `the first, "when ever", is taken for the times, in seconds`},
		"time last":      {"a\tTimestamp\n1\t3\n2\t4\n", []track{{"i64", "a", ticks(1), []string{"1", "2"}, []int64{3, 4}}}, "", ""},
		"best name":      {"t,time,a\n1,100,2\n", []track{{"i64", "t", ticks(1), []string{"1"}, []int64{100}}, {"i64", "a", ticks(1), []string{"2"}, []int64{100}}}, "", `"time" is taken for the times, in seconds, and not "t"`},
		"quotes":         {"\"time\",\"level, m\"\n\"1\" , \"2\"\n3,\"4\"\n", []track{{"i64", "level, m", ticks(1), []string{"2", "4"}, []int64{1, 3}}}, "", ""},
		"doubled quotes": {"time,\"a \"\"b\"\"\"\n1,2\n", []track{{"i64", `a "b"`, ticks(1), []string{"2"}, []int64{1}}}, "", ""},
		"comments":       {"\ufeff# made by a logger\n\n#\ntime,a\n1,2\n\n2,3\n\n", []track{{"i64", "a", ticks(1), []string{"2", "3"}, []int64{1, 2}}}, "", ""},
		"truth":          {"time,a\n1,true\n2,False\n", []track{{"bool", "a", ticks(1), []string{"true", "false"}, []int64{1, 2}}}, "", ""},
		"large":          {"time,a,b\n1,18446744073709551615,9223372036854775807\n", []track{{"u64", "a", ticks(1), []string{"18446744073709551615"}, []int64{1}}, {"i64", "b", ticks(1), []string{"9223372036854775807"}, []int64{1}}}, "", ""},
		"larger":         {"time,a,b\n1,18446744073709551616,-9223372036854775808\n2,1,+5\n", []track{{"f64", "a", ticks(1), []string{"1.8446744073709552e+19", "1"}, []int64{1, 2}}, {"i64", "b", ticks(1), []string{"-9223372036854775808", "5"}, []int64{1, 2}}}, "", ""}, // 2^64 is one of f64
		"large and -1":   {"time,a\n1,18446744073709551615\n2,-1\n", []track{{"f64", "a", ticks(1), []string{"1.8446744073709552e+19", "-1"}, []int64{1, 2}}}, "", `column "a": whole numbers beyond 2^53 that f64 rounds: 1, the first 18446744073709551615 in line 2, which becomes 18446744073709551616`},
		"-1 and large":   {"time,a\n1,-1\n2,18446744073709551615\n", []track{{"f64", "a", ticks(1), []string{"-1", "1.8446744073709552e+19"}, []int64{1, 2}}}, "", "f64 rounds: 1"},
		"2^53 and parts": {"time,a,b\n1,9007199254740993,9007199254740993\n2,-9007199254740995,9007199254740993\n3,9007199254740992,1\n4,0.5,2\n", []track{{"f64", "a", ticks(1), []string{"9.007199254740992e+15", "-9.007199254740996e+15", "9.007199254740992e+15", "0.5"}, []int64{1, 2, 3, 4}},
			{"i64", "b", ticks(1), []string{"9007199254740993", "9007199254740993", "1", "2"}, []int64{1, 2, 3, 4}}}, "", `column "a": whole numbers beyond 2^53 that f64 rounds: 2, the first 9007199254740993 in line 2, which becomes 9007199254740992`},
		"late fraction": {"time,a\n1,1\n2,2\n3,2.5\n", []track{{"f64", "a", ticks(1), []string{"1", "2", "2.5"}, []int64{1, 2, 3}}}, "", ""},
		"out of range":  {"time,a\n1,1e999\n", []track{{"f64", "a", ticks(1), []string{"+Inf"}, []int64{1}}}, "", ""},
		"exponents":     {"time,a\n1.5e1,1\n25e-3,2\n", []track{{"i64", "a", ticks(1000), []string{"2", "1"}, []int64{25, 15000}}}, "", "go back"},
		"nanoseconds":   {"time,a\n1700000000.123456789,1\n", []track{{"i64", "a", ticks(1e9), []string{"1"}, []int64{123456789}}}, "2023-11-14T22:13:20Z", "seconds since 1970"},
		"too fine":      {"time,a\n0.30000000000000004,1\n-0.30000000000000004,2\n", []track{{"i64", "a", ticks(1e9), []string{"2", "1"}, []int64{-300000001, 300000000}}}, "", "finer than 1e-09"},
		"parts of ms":   {"time,a\n1700000000000.123456,1\n", []track{{"i64", "a", ticks(1e9), []string{"1"}, []int64{123456}}}, "2023-11-14T22:13:20Z", "milliseconds since 1970"},
		"much too far":  {"time,a\n17000000000000000.25,1\n", []track{{"i64", "a", ticks(100), []string{"1"}, []int64{1700000000000000025}}}, "", "taken for seconds; --time-format %s"},
		"too far, fine": {"time,a\n17000000000000000.2525,1\n", []track{{"i64", "a", ticks(100), []string{"1"}, []int64{1700000000000000025}}}, "", "finer than 0.01 s"},
		"iso": {"time,a\n2026-05-01T12:00:00.5Z,1\n2026-05-01 14:00:01+02:00,2\n",
			[]track{{"i64", "a", ticks(10), []string{"1", "2"}, []int64{5, 10}}}, "2026-05-01T12:00:00Z", ""},
		"iso without marks": {"time,a\n20260501T120000.5Z,1\n20260501T1400+0200,2\n20260501t120002,3\n",
			[]track{{"i64", "a", ticks(10), []string{"2", "1", "3"}, []int64{0, 5, 20}}}, "2026-05-01T12:00:00Z", "go back"},
		"twice": {"time,v,w,v\n1,2,3,4\n", []track{{"i64", "v", ticks(1), []string{"2"}, []int64{1}}, {"i64", "w", ticks(1), []string{"3"}, []int64{1}}, {"i64", "v", ticks(1), []string{"4"}, []int64{1}}}, "", `several columns have one name, and numbers tell their tracks apart: "v"`},
		"dates": {"date;a\n1969-12-31;1\n1970-01-02;2\n", []track{{"i64", "a", ticks(1), []string{"1", "2"}, []int64{0, 2 * 86400}}}, "1969-12-31T00:00:00Z", ""},
		"cells of lines": {"time,\"a\nb\",c\r\n\"1\n\",\"\n2\",3\n2,3,\"4\r\n\"\n",
			[]track{{"i64", "a\nb", ticks(1), []string{"2", "3"}, []int64{1, 2}}, {"i64", "c", ticks(1), []string{"3", "4"}, []int64{1, 2}}}, "", ""},
		"remark in cell": {"time,\"a\n# b\n\nc\"\n1,2\n", []track{{"i64", "a\n# b\n\nc", ticks(1), []string{"2"}, []int64{1}}}, "", ""},
		"long stamp":     {"time,a\n0.5" + strings.Repeat("0", 70) + ",1\n", []track{{"i64", "a", ticks(10), []string{"1"}, []int64{5}}}, "", ""},
		"zones": {"time,a\n2026-05-01T12:00:00Z,1\n2026-05-01T17:30+05:30,2\n2026-05-01 08:30:01 -0330,3\n2026-05-01T12:00:02 UTC,4\n",
			[]track{{"i64", "a", ticks(1), []string{"1", "2", "3", "4"}, []int64{0, 0, 1, 2}}}, "2026-05-01T12:00:00Z", ""},
		"quotes inside": {"time,5\" pipe\n1,2\n", []track{{"i64", "5\" pipe", ticks(1), []string{"2"}, []int64{1}}}, "", ""},
		"tabs behind":   {"\"at\nall\"\ttime\t\"level, m, and\"\n1\t2\t3\n", []track{{"i64", "at\nall", ticks(1), []string{"1"}, []int64{2}}, {"i64", "level, m, and", ticks(1), []string{"3"}, []int64{2}}}, "", ""},
		"decimal comma": {"t;v;w\n0,5;3,25;1\n1,0;-1,5e3;2\n", []track{{"f64", "v", ticks(10), []string{"3.25", "-1500"}, []int64{5, 10}}, {"i64", "w", ticks(10), []string{"1", "2"}, []int64{5, 10}}}, "", ""},
		"empty lines":   {"time,a,b\n1,2,3\n,,\n , ,\n2,3,4\n,,\n", []track{{"i64", "a", ticks(1), []string{"2", "3"}, []int64{1, 2}}, {"i64", "b", ticks(1), []string{"3", "4"}, []int64{1, 2}}}, "", ""},
		"milliseconds":  {"time (ms),a\n0,1\n250.5,2\n1e3,3\n", []track{{"i64", "a", ticks(10000), []string{"1", "2", "3"}, []int64{0, 2505, 10000}}}, "", ""},
		"epoch":         {"epoch,a\n1777636800.25,1\n1777636801,2\n", []track{{"i64", "a", ticks(100), []string{"1", "2"}, []int64{25, 100}}}, "2026-05-01T12:00:00Z", ""},
		"epoch ms":      {"timestamp_ms,a\n1777636800250,1\n1777636801000,2\n", []track{{"i64", "a", ticks(100), []string{"1", "2"}, []int64{25, 100}}}, "2026-05-01T12:00:00Z", ""},
		"surely ms":     {"time,a\n1777636800250,1\n1777636801000,2\n", []track{{"i64", "a", ticks(100), []string{"1", "2"}, []int64{25, 100}}}, "2026-05-01T12:00:00Z", "milliseconds since 1970"},
		"surely us":     {"time,a\n1777636800250000,1\n", []track{{"i64", "a", ticks(100), []string{"1"}, []int64{25}}}, "2026-05-01T12:00:00Z", "microseconds since 1970"},
		"surely ns":     {"time,a\n1777636800250000001,1\n", []track{{"i64", "a", ticks(1e9), []string{"1"}, []int64{250000001}}}, "2026-05-01T12:00:00Z", "nanoseconds since 1970"},
		"old epoch":     {"timestamp,a\n5,1\n", []track{{"i64", "a", ticks(1), []string{"1"}, []int64{5}}}, "", ""},
		"negative ms":   {"t_ms,a\n-5,1\n0.5,2\n", []track{{"i64", "a", ticks(10000), []string{"1", "2"}, []int64{-50, 5}}}, "", ""},
		"iso, comma": {"time;a\n2026-02-28 23:59:60,25;1\n2026-02-28T23:59Z;2\n",
			[]track{{"i64", "a", ticks(100), []string{"2", "1"}, []int64{0, 6025}}}, "2026-02-28T23:59:00Z", "go back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := zoom.Open(t.Context(), stored(t, memstore.New(memstore.Config{}), "x.csv", []byte(c.text)), zoom.Options{Table: zoom.CSVOptions{Sort: true}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.About().Warnings, "; "); !strings.Contains(got, c.warn) || c.warn == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.warn)
			}
			f, list := written(t, s, zoom.WriteOptions{})
			if d := cmp.Diff(c.tracks, list); d != "" {
				t.Error(d)
			}
			origin, ok := f.Header().Origin.UTC()
			if got := origin.Format(time.RFC3339); ok != (c.origin != "") || ok && got != c.origin {
				t.Errorf("origin %s, want %s", got, c.origin)
			}
		})
	}
}

// TestCSVErrors: a line that does not parse is named.
func TestCSVErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		is   error
		want string
	}{
		"empty":           {"", formats.ErrCorrupt, "empty"},
		"blank":           {"\n\n", formats.ErrCorrupt, "no line"},
		"header only":     {"time,a\n", formats.ErrCorrupt, "no line of values"},
		"no header":       {"1,2\n3,4\n", formats.ErrCorrupt, "line 1 at 0: numbers where the names"},
		"one column":      {"time\n1\n", formats.ErrCorrupt, "line 1 at 0: one column"},
		"word":            {"time,a\n1,2\n2,high\n", formats.ErrCorrupt, `line 3 at 11: column "a": "high" is no number`},
		"word at last":    {"time,a\n1,2\n2,3\n3,x", formats.ErrCorrupt, "line 4 at 15"},
		"mixed":           {"time,a\n1,2\n2,true\n", formats.ErrCorrupt, "line 3 at 11"},
		"short":           {"time,a,b\n1,2,3\n2,3\n", formats.ErrCorrupt, "line 3 at 15: 2 cells, the header has 3"},
		"long":            {"time,a\n1,2,3\n", formats.ErrCorrupt, "line 2 at 7: 3 cells"},
		"no time":         {"time,a\n1,2\n,3\n", formats.ErrCorrupt, "line 3 at 11"},
		"other time":      {"time,a\n1,2\n2026-05-01,3\n", formats.ErrCorrupt, `"2026-05-01" is no time in seconds`},
		"no date":         {"time,a\n2026-02-30,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"no minute":       {"time,a\n20260203T12061,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"no month":        {"time,a\n20261303T1206,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"no hour":         {"time,a\n2026-02-03T25:00,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"no zone":         {"time,a\n2026-02-03T12:00+,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"half a zone":     {"time,a\n2026-02-03T12:00+02:,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"zone in words":   {"time,a\n2026-02-03T12:00+02:x0,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"no such zone":    {"time,a\n2026-02-03T12:00+24,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"month in words":  {"time,a\n2026-x2-03,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"day in words":    {"time,a\n2026-02-x3,3\n", formats.ErrCorrupt, "no time in seconds or ISO 8601"},
		"very far time":   {"time,a\n1e300,3\n", formats.ErrCorrupt, "no time"},
		"just too far":    {"time,a\n1.2e18,3\n", formats.ErrCorrupt, "no time"},
		"far time":        {"time,a\n92233720368547758070,3\n", formats.ErrCorrupt, "no time"},
		"nan time":        {"time,a\nnan,3\n", formats.ErrCorrupt, "no time"},
		"open quote":      {"time,a\n1,\"2\n", formats.ErrCorrupt, "line 2 at 7: a quote that is not closed"},
		"open for long":   {"time,a\n1,2\n3,\"2\n" + strings.Repeat("4,5\n", 1<<19), formats.ErrCorrupt, "line 3 at 11: a quote that is not closed"},
		"behind lines":    {"time,a\n1,\"2\n\"\n3,x\n", formats.ErrCorrupt, "line 4 at 14: column \"a\""},
		"half utf-16":     {"\xff\xfet\x00,\x00a\x00\n\x001", formats.ErrCorrupt, "half a character of UTF-16"},
		"nul":             {"time,a\n1,2\n\x00\x00\x00\n", formats.ErrCorrupt, "line 3 at 11: a NUL byte"},
		"nul in header":   {"ti\x00me,a\n1,2\n", formats.ErrCorrupt, "line 1 at 0: a NUL byte"},
		"lines of \\r":    {"time,a\r1,2\r2,x\r", formats.ErrCorrupt, `line 3 at 11: column "a"`},
		"stamps no names": {"2026-05-01T12:00:00Z,2\n", formats.ErrCorrupt, "numbers where the names"},
		"time of another": {"t_ms,a\n1,2\n2026-05-01,3\n", formats.ErrCorrupt, "no time in 10^-3 s"},
		"thousands":       {"t;a\n1;1.234,56,7\n", formats.ErrUnsupported, `of column "a" "1.234,56,7" in line 2 is no number`},
		"behind a quote":  {"time,a\n1,\"2\"3\n", formats.ErrCorrupt, "line 2 at 7: text behind"},
		"endless line":    {"time,a\n" + strings.Repeat("1", 2<<20), formats.ErrTooLarge, "line 2 at 7: longer than"},
		"back":            {"time,a\n1,2\n5,3\n\n4,5\n3,1\n", formats.ErrUnsupported, `csv: line 5: column "time": its times go back, "4" comes behind "5" (2 in all do so); --sort, or the metadata sort=true of an upload, puts the rows in order`},
		"back, clocks":    {"time,a\n2024-10-27 02:30,2\n2024-10-27 02:00,3\n", formats.ErrUnsupported, `"2024-10-27 02:00" comes behind "2024-10-27 02:30" (1 in all do so); --sort, or the metadata sort=true of an upload, puts the rows in order; if clocks go back there, --tz ZONE says where`},
		"wide":            {strings.Repeat("a,", 5000) + "\n", formats.ErrTooLarge, "line 1 at 0: 5001 columns"},
	} {
		_, err := series(t, "x.csv", []byte(c.text), nil)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestHalfStamps: stamps in ISO 8601 of which a part is missing are none.
func TestHalfStamps(t *testing.T) {
	t.Parallel()
	for _, stamp := range []string{"-05-01", "2026--01", "2026-05-", "2026-05-01T", "2026-05-01T12", "2026-05-01T12Z", "2026-05-01T12:", "2026-05-01T:30",
		"2026-05-01T12:00:", "2026-05-01T12:00:Z", "2026-05-01T12:00:05.", "2026-05-01T12:00:05.Z"} {
		if _, err := series(t, "x.csv", []byte("when,a\n"+stamp+",1\n"), nil); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", stamp, err)
		}
	}
}

// TestStampsExact: whatever the stamps, the ticks of the file say the same times.
func TestStampsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		digits := rapid.IntRange(0, 9).Draw(rt, "digits")
		list := rapid.SliceOfN(rapid.Int64Range(-4e18, 4e18), 1, 20).Draw(rt, "ns")
		slices.Sort(list)
		step := int64(1)
		for range 9 - digits {
			step *= 10
		}
		var b strings.Builder
		b.WriteString("seconds,v\n") // whatever they look like
		iso := rapid.Bool().Draw(rt, "iso")
		for i, ns := range list {
			list[i] = ns / step * step
			if iso {
				fmt.Fprintf(&b, "%s,%d\n", time.Unix(0, list[i]).UTC().Format(time.RFC3339Nano), i)
				continue
			}
			sign, whole, rest := "", list[i]/1e9, list[i]%1e9
			if list[i] < 0 {
				sign, whole, rest = "-", -whole, -rest
			}
			fmt.Fprintf(&b, "%s%d.%09d,%d\n", sign, whole, rest, i)
		}
		s, err := series(t, "x.csv", []byte(b.String()), nil)
		if err != nil {
			rt.Fatal(err)
		}
		about := s.About()
		zero := int64(0)
		if at, ok := about.Origin.UTC(); ok {
			zero = at.UnixNano()
		}
		_, tracks := written(t, s, zoom.WriteOptions{})
		tick := int64(1e9) / about.Tracks[0].Rate.Num
		for i, at := range tracks[0].Stamps {
			// Times that are 2^63 ns apart or more may have to be rounded; then there
			// is a warning.
			if got := zero + at*tick; got != list[i] && len(about.Warnings) == 0 {
				rt.Fatalf("stamp %d: %d ns, want %d", i, got, list[i])
			}
		}
	})
}
