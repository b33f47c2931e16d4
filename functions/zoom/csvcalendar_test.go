package zoom_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// timesOf reads a CSV and gives the times of its first track: in UTC if the file has an
// origin, otherwise in seconds.
func timesOf(t *testing.T, text string, say zoom.CSVOptions) (times string, s zoom.Series, err error) {
	t.Helper()
	obj := stored(t, memstore.New(memstore.Config{}), "x.csv", []byte(text))
	if s, err = zoom.Open(t.Context(), obj, zoom.Options{Table: say}); err != nil {
		return "", nil, err
	}
	f, list := written(t, s, zoom.WriteOptions{})
	origin, utc := f.Header().Origin.UTC()
	var out []string
	for _, at := range list[0].Stamps {
		rate := list[0].Rate.Num
		if utc {
			out = append(out, strings.TrimSuffix(origin.Add(time.Duration(at%rate)*time.Second/time.Duration(rate)).AddDate(0, 0, int(at/rate/86400)).Add(time.Duration(at/rate%86400)*time.Second).Format(time.RFC3339), "T00:00:00Z"))
			continue
		}
		out = append(out, fmt.Sprint(float64(at)/float64(rate)))
	}
	return strings.Join(out, " "), s, nil
}

// TestDates: numbers that are dates are read as dates if their column and name say so,
// and are never silently taken for seconds. The tables look like those that people
// have. A warning of one line says what the numbers were taken for, and how to change
// that.
func TestDates(t *testing.T) {
	t.Parallel()
	checkDates(t, map[string]dates{
		"days":           {"date,co2\n19580329,316.1\n19580405,317.3\n", zoom.CSVOptions{}, "1958-03-29 1958-04-05", `column "date": stamps such as 19580329 are taken for dates (YYYYMMDD, UTC); --times`},
		"last days":      {"date,co2\n19580331,316.1\n20000229,317.3\n", zoom.CSVOptions{}, "1958-03-31 2000-02-29", "dates"},
		"upper case":     {"DATE,co2\n19580329,316.1\n", zoom.CSVOptions{}, "1958-03-29", "dates"},
		"months":         {"date,v\n195803,1\n195804,2\n", zoom.CSVOptions{}, "1958-03-01 1958-04-01", "months (YYYYMM, UTC)"},
		"years":          {"\"YEAR\",\"SUNACTIVITY\"\n1700,5\n1701,11\n", zoom.CSVOptions{}, "1700-01-01 1701-01-01", `column "YEAR": stamps such as 1700 are taken for years (UTC)`},
		"year behind":    {"\"Obs\",\"TOTEMP\",\"YEAR\"\n1,60323,1947\n2,61122,1948\n", zoom.CSVOptions{}, "1947-01-01 1948-01-01", "years"},
		"parts of years": {"time,v\n1959,315.42\n1959.25,316\n", zoom.CSVOptions{}, "1959 1959.25", `column "time": stamps such as 1959 are taken for seconds; --times year says that they are years`},
		"years as date":  {"Date,v\n1871,1120\n1872,1160\n", zoom.CSVOptions{}, "1871-01-01 1872-01-01", "years"},
		"fractions":      {"year,v\n1950.25,1\n", zoom.CSVOptions{}, "1950-04-02T06:00:00Z", `column "year": stamps such as 1950.25 are taken for years (UTC)`},
		"leap year":      {"year,v\n1952,0\n1952.5,1\n1953.5,2\n", zoom.CSVOptions{}, "1952-01-01 1952-07-02 1953-07-02T12:00:00Z", "years"},
		"one per mill":   {"year,v\n1900.001,1\n2000.001,2\n2000.9999999999,3\n", zoom.CSVOptions{}, "1900-01-01T08:45:36Z 2000-01-01T08:47:02Z 2001-01-01", "years"},
		"Mauna Loa":      {"year,month,decimal date,average\n1958,3,1958.2027,315.70\n1958,4,1958.2877,317.45\n", zoom.CSVOptions{}, "1958-03-15T23:39:07Z 1958-04-16T00:15:07Z", `column "decimal date": stamps such as 1958.2027 are taken for years (UTC)`},
		"dates, parts":   {"Date,v\n1871.5,1120\n1872,1160\n", zoom.CSVOptions{}, "1871-07-02T12:00:00Z 1872-01-01", "years"},
		"decimal commas": {"year;v\n1950,25;1,5\n", zoom.CSVOptions{}, "1950-04-02T06:00:00Z", "years"},
		"month first":    {"month,v\n200601,5\n200602,6\n", zoom.CSVOptions{}, "2006-01-01 2006-02-01", "months"},
		"slashes":        {"date,v\n2012/01/01,5\n2012/01/02 06:30,6\n", zoom.CSVOptions{}, "2012-01-01 2012-01-02T06:30:00Z", ""},
		"epoch":          {"date,v\n1777636800,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "seconds since 1970"},
		"epoch ms":       {"date,v\n1777636800000,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "milliseconds since 1970"},
		"hours":          {"time (h),v\n0.5,5\n1,6\n", zoom.CSVOptions{}, "1800 3600", "hours"},

		"year and quarter": {"year,quarter,v\n1959,1,2\n1959,2,3\n", zoom.CSVOptions{}, "1959-01-01 1959-04-01", `columns "year + quarter" together are taken for the times; --time NAME`},
		"no date":          {"date,v\n19580329,1\n19580399,2\n", zoom.CSVOptions{}, `!line 3 at 18: column "date": "19580399" is none of the dates (YYYYMMDD, UTC)`, ""},
		"two forms":        {"date,v\n19580329,1\n195804,2\n", zoom.CSVOptions{}, `!"195804" is none of the dates`, ""},
		"days of 1960":     {"date,v\n18282,1\n", zoom.CSVOptions{}, `!line 2 at 7: column "date": "18282" is no date such as 19580329, 195803 or 1958-03-29, and no count of seconds since 1970: --times UNIT`, ""},
		"short years":      {"year,v\n85,1\n", zoom.CSVOptions{}, `!column "year": "85" is no year`, ""},
		"no fractions":     {"year,v\n1950.,1\n", zoom.CSVOptions{}, `!column "year": "1950." is no year such as 1958 or 1958.2027`, ""},
		"parts of parts":   {"year,v\n1950.2.5.1,1\n", zoom.CSVOptions{}, `!column "year": "1950.2.5.1" is no time`, ""},
		"not all years":    {"year,v\n1950.25,1\n1950-5,2\n", zoom.CSVOptions{}, `!column "year": "1950-5" is none of the years (UTC)`, ""},
		"year 3000.5":      {"year,v\n3000.5,1\n", zoom.CSVOptions{}, "!is no year", ""},
		"day":              {"day,v\n1,1\n", zoom.CSVOptions{}, `!column "day": "1" may count from anywhere`, ""},
		"hour":             {"Hour,v\n1,1\n", zoom.CSVOptions{}, `!column "Hour": "1" may count`, ""},
		"days of no name":  {"when,v\n19580329,1\n19580405,2\n", zoom.CSVOptions{}, `!line 2: column "when": "19580329" and all others may be dates (YYYYMMDD, UTC) or seconds: --times UNIT`, ""},
		"years as time":    {"time,v\n1871,1\n1872,2\n", zoom.CSVOptions{}, `!column "time": "1871" and all others may be years (UTC) or seconds`, ""},
		"months as t":      {"t,v\n195812,1\n195901,2\n", zoom.CSVOptions{}, "!may be months", ""},
		"words":            {"date,v\nJan 1 2000,1\nFeb 29 2000,1\n", zoom.CSVOptions{}, "2000-01-01 2000-02-29", "times such as Jan 1 2000 are read as %b %d %Y; --time-format"},
		"month first, /":   {"date,v\n1/1/85,1\n", zoom.CSVOptions{}, "1985-01-01", "are read as %m/%d/%y, and not as %d/%m/%y, which fits all of them, too; --time-format FORMAT"},

		"not all dates":     {"time,v\n1799,1\n1800,2\n2101,3\n", zoom.CSVOptions{}, "1799 1800 2101", ""},
		"whole seconds":     {"seconds,v\n1871,1\n", zoom.CSVOptions{}, "1871", ""},
		"told seconds":      {"date,v\n19580329,1\n", zoom.CSVOptions{Unit: "s"}, "1.9580329e+07", ""},
		"told year":         {"time,v\n1871,1\n", zoom.CSVOptions{Unit: "year"}, "1871-01-01", ""},
		"told fractions":    {"time,v\n1958.2027,315.70\n1958.2877,317.45\n", zoom.CSVOptions{Unit: "year"}, "1958-03-15T23:39:07Z 1958-04-16T00:15:07Z", ""},
		"told years twice":  {"year,quarter,v\n1959,1,2\n1959,2,3\n", zoom.CSVOptions{Unit: "year"}, "1959-01-01 1959-01-01", ""},
		"told dates":        {"when,v\n19580329,1\n", zoom.CSVOptions{Unit: "date"}, "1958-03-29", ""},
		"told months":       {"when,v\n195803,1\n", zoom.CSVOptions{Unit: "date"}, "1958-03-01", ""},
		"told iso is date":  {"when,v\n1958-03-29,1\n", zoom.CSVOptions{Unit: "date"}, "1958-03-29", ""},
		"told days":         {"day,v\n1,1\n2.5,1\n", zoom.CSVOptions{Unit: "d"}, "86400 216000", ""},
		"told ms":           {"time,v\n1777636800000,5\n", zoom.CSVOptions{Unit: "ms"}, "2026-05-01T12:00:00Z", ""},
		"told column":       {"time,year,v\n1,1951,3\n2,1952,4\n", zoom.CSVOptions{Time: "YEAR"}, "1951-01-01 1952-01-01", "years"},
		"told no column":    {"time,v\n1,1\n", zoom.CSVOptions{Time: "when"}, `!no column "when": there are "time", "v"`, ""},
		"told no unit":      {"time,v\n1,1\n", zoom.CSVOptions{Unit: "weeks"}, `!"weeks" is no unit of times`, ""},
		"two columns":       {"YEAR,v,TIME\n1951,3,1\n1952,4,2\n", zoom.CSVOptions{}, "1951-01-01 1952-01-01", `column "YEAR" is taken for the times, and not "TIME", which counts; --time NAME`},
		"two, one said":     {"YEAR,v,TIME\n1951,3,1\n1952,4,2\n", zoom.CSVOptions{Time: "time"}, "1 2", ""},
		"two, one iso":      {"year,v,time\n1951,3,1951-02-03\n", zoom.CSVOptions{}, "1951-02-03", ""},
		"too many days":     {"day,v\n922337203685477,1\n", zoom.CSVOptions{Unit: "d"}, "!is no time", ""},
		"day 0":             {"date,v\n19580300,1\n", zoom.CSVOptions{}, "!is no date", ""},
		"day 32":            {"date,v\n19580332,1\n", zoom.CSVOptions{}, "!is no date", ""},
		"month 0":           {"date,v\n19580012,1\n", zoom.CSVOptions{}, "!is no date", ""},
		"month 13":          {"date,v\n19581312,1\n", zoom.CSVOptions{}, "!is no date", ""},
		"year 3000":         {"year,v\n3000,1\n", zoom.CSVOptions{}, "!is no year", ""},
		"no leap day":       {"date,v\n19000229,1\n", zoom.CSVOptions{}, "!is no date", ""},
		"years, then words": {"year,v\n1958,1\nlater,2\n", zoom.CSVOptions{}, `!line 3 at 14: column "year": "later" is none of the years (UTC)`, ""},
	})
}

// dates is a CSV, what its user says of it, and the expected times.
type dates struct {
	text string
	say  zoom.CSVOptions
	want string // times, or an error behind "!"
	warn string
}

func checkDates(t *testing.T, cases map[string]dates) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, s, err := timesOf(t, c.text, c.say)
			if want, bad := strings.CutPrefix(c.want, "!"); bad {
				if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrCorrupt) {
					t.Fatalf("%s, %v", got, err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Fatalf("%s, want %s, %v", got, c.want, err)
			}
			if warn := strings.Join(s.About().Warnings, "; "); !strings.Contains(warn, c.warn) || c.warn == "" && warn != "" {
				t.Errorf("warnings %q, want %q", warn, c.warn)
			}
		})
	}
}

// TestWholeDates: a whole number is the same date however it is written. Programs write
// whole numbers with a point if a cell of the column was empty.
func TestWholeDates(t *testing.T) {
	t.Parallel()
	checkDates(t, map[string]dates{
		"days":             {"date,v\n19580329.0,2\n19580330,3\n", zoom.CSVOptions{}, "1958-03-29 1958-03-30", "stamps such as 19580329.0 are taken for dates (YYYYMMDD, UTC)"},
		"months":           {"date,v\n195803.0,2\n195804.00,3\n", zoom.CSVOptions{}, "1958-03-01 1958-04-01", "months"},
		"years":            {"YEAR,v\n1700.0,2\n1701.0,3\n", zoom.CSVOptions{}, "1700-01-01 1701-01-01", "years"},
		"years as date":    {"date,v\n1871.0,2\n1872.0,3\n", zoom.CSVOptions{}, "1871-01-01 1872-01-01", "years"},
		"exponent":         {"date,v\n1.9580329e7,2\n1.9580330e+07,3\n", zoom.CSVOptions{}, "1958-03-29 1958-03-30", "dates"},
		"exponent of year": {"year,v\n1.958e3,2\n", zoom.CSVOptions{}, "1958-01-01", "years"},
		"plus":             {"date,v\n+19580329,2\n", zoom.CSVOptions{}, "1958-03-29", "dates"},
		"quoted":           {"date,v\n\" 19580329.0 \",2\n", zoom.CSVOptions{}, "1958-03-29", "dates"},
		"decimal comma":    {"date;v\n19580329,0;2\n", zoom.CSVOptions{}, "1958-03-29", "dates"},
		"told":             {"when,v\n19580329.0,2\n", zoom.CSVOptions{Unit: "date"}, "1958-03-29", ""},
		"told months":      {"when,v\n195803.0,2\n", zoom.CSVOptions{Unit: "date"}, "1958-03-01", ""},
		"told seconds":     {"t,v\n19580329.0,2\n", zoom.CSVOptions{Unit: "s"}, "1.9580329e+07", ""},
		"epoch ms":         {"time,v\n1777636800000.0,5\n1777636800500.0,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z 2026-05-01T12:00:00Z", "column \"time\": stamps such as 1777636800000.0 are taken for milliseconds since 1970"},
		"epoch ms, 1e12":   {"time,v\n1.7776368e+12,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "milliseconds since 1970"},
		"epoch ns":         {"time,v\n1777636800000000000.0,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "nanoseconds since 1970"},
		"epoch as date":    {"date,v\n1777636800.0,5\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "seconds since 1970"},

		"days as t":         {"t,v\n19580329.0,2\n19580330.0,3\n", zoom.CSVOptions{}, `!line 2: column "t": "19580329.0" and all others may be dates (YYYYMMDD, UTC) or seconds: --times UNIT`, ""},
		"days as time":      {"time,v\n20240501.0,2\n", zoom.CSVOptions{}, "!may be dates (YYYYMMDD, UTC) or seconds", ""},
		"years as time":     {"time,v\n1871.0,1\n1872.0,2\n1873.0,3\n", zoom.CSVOptions{}, "!may be years (UTC) or seconds", ""},
		"months as time":    {"time,v\n195803.0,1\n", zoom.CSVOptions{}, "!may be months (YYYYMM, UTC) or seconds", ""},
		"both ways":         {"time,v\n1871,1\n1872.0,2\n", zoom.CSVOptions{}, "!may be years", ""},
		"exponent as t":     {"t,v\n1.9580329e7,2\n1.958033e7,3\n", zoom.CSVOptions{}, "!may be dates", ""},
		"capital exponent":  {"t,v\n1.9580329E+07,2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"plus as t":         {"t,v\n+19580329,2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"bare point as t":   {"t,v\n19580329.,2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"quoted as t":       {"t,v\n\"19580329.0\",2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"comma as t":        {"t;v\n19580329,0;2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"first column":      {"when,v\n19580329.0,2\n", zoom.CSVOptions{}, "!may be dates", ""},
		"beside a year":     {"year,time,v\n2024,20240501.0,2\n", zoom.CSVOptions{}, `!"20240501.0" may be seconds, but there is "year", too`, ""},
		"thousands":         {"t,v\n\"19,580,329\",2\n", zoom.CSVOptions{}, "!is no time in seconds", ""},
		"thousands, points": {"t;v\n19.580.329;2\n", zoom.CSVOptions{}, "!is no time in seconds", ""},
		"empty first":       {"time,v\n,1\n20240501.0,2\n", zoom.CSVOptions{}, `!column "time": "" is no time`, ""},
		"day of parts":      {"day,v\n3.0,2\n", zoom.CSVOptions{}, "!may count from anywhere", ""},
		"no day":            {"date,v\n19580399.0,2\n", zoom.CSVOptions{}, "!is no date", ""},
		"negative date":     {"date,v\n-19580329,2\n", zoom.CSVOptions{}, "!is no date", ""},
		"negative year":     {"year,v\n-44.0,2\n", zoom.CSVOptions{}, "!is no year", ""},

		"negative":         {"time,v\n-1871.0,2\n", zoom.CSVOptions{}, "-1871", ""},
		"parts of seconds": {"time,v\n1871.0,1\n2500.5,2\n", zoom.CSVOptions{}, "1871 2500.5", ""},
		"parts of years":   {"time,v\n1959.0,1\n1959.25,2\n", zoom.CSVOptions{}, "1959 1959.25", "--times year says that they are years"},
		"whole seconds":    {"seconds,v\n1871.0,1\n", zoom.CSVOptions{}, "1871", ""},
		"empty lines":      {"date,v\n,\n19580329.0,2\n", zoom.CSVOptions{}, "1958-03-29", "dates"},
	})
}

// TestEpochDates: a name of counts since 1970 makes no seconds of dates in silence.
func TestEpochDates(t *testing.T) {
	t.Parallel()
	cases := map[string]dates{
		"since 1970":    {"timestamp,v\n1777636800,1\n1777636801,2\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z 2026-05-01T12:00:01Z", ""},
		"a clock unset": {"timestamp,v\n5,1\n1777636801,2\n", zoom.CSVOptions{}, "5 1.777636801e+09", ""},
		"not all":       {"ts,v\n1990,1\n2101,2\n", zoom.CSVOptions{}, "1990 2101", ""},
		"parts":         {"timestamp,v\n1959.25,1\n", zoom.CSVOptions{}, "1959.25", `column "timestamp": stamps such as 1959.25 are taken for seconds; --times year says that they are years`},
		"told":          {"timestamp,v\n19900101,1\n", zoom.CSVOptions{Unit: "date"}, "1990-01-01", ""},
		"told seconds":  {"timestamp,v\n19900101,1\n", zoom.CSVOptions{Unit: "s"}, "1.9900101e+07", ""},
		"beside t":      {"timestamp,t,v\n5,6,7\n", zoom.CSVOptions{}, "5", `column "timestamp" is taken for the times, in seconds, and not "t"`},
		"beside a date": {"timestamp,date,v\n19900101,1,7\n", zoom.CSVOptions{}, `!"19900101" may be seconds, but there is "date", too`, ""},
		"after 2030":    {"epoch,v\n1961010112,1\n", zoom.CSVOptions{}, "2032-02-21T21:01:52Z", `column "epoch": stamps such as 1961010112 are taken for seconds; --times date says that they are dates and hours (YYYYMMDDhh, UTC)`},
		"before 2030":   {"ts,v\n1704050112,1\n", zoom.CSVOptions{}, "2023-12-31T19:15:12Z", ""},
	}
	for _, name := range []string{"timestamp", "TIMESTAMP", "ts", "utc"} {
		cases[name+" days"] = dates{name + ",v\n19900101,1\n19900201,2\n", zoom.CSVOptions{}, `!line 2: column "` + name + `": "19900101" and all others may be dates (YYYYMMDD, UTC) or seconds: --times UNIT`, ""}
		cases[name+" years"] = dates{name + ",v\n1990,1\n1991,2\n2019,3\n", zoom.CSVOptions{}, "!may be years (UTC) or seconds", ""}
		cases[name+" .0"] = dates{name + ",v\n20240501.0,1\n", zoom.CSVOptions{}, "!may be dates (YYYYMMDD, UTC) or seconds", ""}
		cases[name+" hours"] = dates{name + ",v\n2024050112,1\n", zoom.CSVOptions{}, "!may be dates and hours (YYYYMMDDhh, UTC) or seconds", ""}
	}
	for _, name := range []string{"epoch", "Unix", "unixtime", "unix_time"} {
		cases[name+" days"] = dates{name + ",v\n19900101,1\n", zoom.CSVOptions{}, "1.9900101e+07", `column "` + name + `": stamps such as 19900101 are taken for seconds; --times date says that they are dates (YYYYMMDD, UTC)`}
		cases[name+" years"] = dates{name + ",v\n1990.0,1\n", zoom.CSVOptions{}, "1990", "--times year says that they are years (UTC)"}
	}
	checkDates(t, cases)
}

// TestSince: numbers that are counts since 1970 by their size are taken for these, whatever the
// name of their column, and a remark tells so, except if the name says it. Numbers that may be are told.
func TestSince(t *testing.T) {
	t.Parallel()
	const (
		at   = "2023-11-14T22:13:20Z"
		told = `are taken for seconds since 1970, as 2023-11-14T22:13:20Z; --times s, or the metadata times of an upload, says that they are seconds from another time on`
		by   = "; --times UNIT, or the metadata times of an upload, says otherwise"
	)
	cases := map[string]dates{
		"whole":            {"t,v\n1700000000,1\n1700000001,2\n", zoom.CSVOptions{}, at + " 2023-11-14T22:13:21Z", `column "t": stamps such as 1700000000 ` + told},
		"exponent":         {"time,v\n1.7e9,1\n", zoom.CSVOptions{}, at, told},
		"decimal comma":    {"time;v\n1700000000,5;1\n", zoom.CSVOptions{}, at, told},
		"unit":             {"time (s),v\n1700000000.5,1\n", zoom.CSVOptions{}, at, told},
		"seconds":          {"seconds,v\n1700000000.5,1\n", zoom.CSVOptions{}, at, told},
		"no name":          {"when,v\n1700000000,1\n", zoom.CSVOptions{}, at, told},
		"a column told":    {"n,when,v\n1,1700000000,1\n", zoom.CSVOptions{Time: "when"}, at, told},
		"not all dates":    {"time,v\n1961010112,1\n1961010199,2\n", zoom.CSVOptions{}, "2032-02-21T21:01:52Z 2032-02-21T21:03:19Z", "seconds since 1970"},
		"beside a date":    {"time,date,v\n1700000000,19900101,1\n", zoom.CSVOptions{}, at, told},
		"dates":            {"dates,v\n1700000000,1\n", zoom.CSVOptions{}, at, "seconds since 1970, as " + at + by},
		"parts of ms":      {"t,v\n1700000000000.25,1\n", zoom.CSVOptions{}, at, "milliseconds since 1970, as " + at + by},
		"parts of us":      {"t,v\n1700000000000000.25,1\n", zoom.CSVOptions{}, at, "microseconds since 1970"},
		"named ms":         {"time_ms,v\n1700000000000,1\n", zoom.CSVOptions{}, at, "milliseconds since 1970, as " + at + by},
		"first of 2001":    {"time,v\n978307200,1\n", zoom.CSVOptions{}, "2001-01-01", "seconds since 1970"},
		"last":             {"time,v\n9999999999.5,1\n", zoom.CSVOptions{}, "2286-11-20T17:46:39Z", "seconds since 1970"},
		"named, silent":    {"timestamp_ms,v\n1700000000000,1\n", zoom.CSVOptions{}, at, ""},
		"epoch, silent":    {"unix,v\n1700000000.5,1\n", zoom.CSVOptions{}, at, ""},
		"before 2001":      {"time,v\n631152000,1\n", zoom.CSVOptions{}, "6.31152e+08", `column "time": stamps such as 631152000 are taken for seconds; --time-format %s, or the metadata time-format of an upload, says that they count from 1970`},
		"named, before":    {"epoch,v\n631152000,1\n", zoom.CSVOptions{}, "6.31152e+08", "--time-format %s"},
		"beyond":           {"time,v\n10000000000.5,1\n", zoom.CSVOptions{}, "1.00000000005e+10", "--time-format %s"},
		"told s":           {"time,v\n1700000000,1\n", zoom.CSVOptions{Unit: "s"}, "1.7e+09", ""},
		"told since 1970":  {"time,v\n631152000.5,1\n", zoom.CSVOptions{Format: "%s"}, "1990-01-01", ""},
		"told ms of other": {"time,v\n5000,1\n", zoom.CSVOptions{Unit: "ms"}, "5", ""},
		"hours":            {"time (h),v\n1700000000,1\n", zoom.CSVOptions{}, "6.12e+12", "hours"},
		"small":            {"time,v\n99999999,1\n", zoom.CSVOptions{}, "9.9999999e+07", ""},
	}
	for _, name := range []string{"time", "Time", "T", "times", "time_s", "sec"} {
		cases[name] = dates{name + ",v\n1700000000.5,1\n", zoom.CSVOptions{}, at, `column "` + name + `": stamps such as 1700000000.5 ` + told}
	}
	checkDates(t, cases)
}

// TestClockDates: if all numbers of a column have twelve or fourteen digits and are
// dates with a time, they are not taken for milliseconds of another century. Numbers of
// ten digits are not silently taken for seconds.
func TestClockDates(t *testing.T) {
	t.Parallel()
	cases := map[string]dates{
		"hours":          {"date,v\n2024050112,1\n2024050113,2\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z 2024-05-01T13:00:00Z", "dates and hours (YYYYMMDDhh, UTC)"},
		"parts":          {"datetime,v\n20240501120000.25,1\n20240501120001.5,1\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z 2024-05-01T12:00:01Z", "YYYYMMDDhhmmss"},
		"whole":          {"datetime,v\n20240501120000.0,1\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z", "YYYYMMDDhhmmss"},
		"exponent":       {"datetime,v\n2.02405011200e11,1\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z", "YYYYMMDDhhmm"},
		"leap second":    {"datetime,v\n20161231235960,1\n", zoom.CSVOptions{}, "2017-01-01", "YYYYMMDDhhmmss"},
		"first of month": {"month,v\n202405011200,1\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z", "YYYYMMDDhhmm"},
		"told":           {"t,v\n20240501120001,1\n", zoom.CSVOptions{Unit: "date"}, "2024-05-01T12:00:01Z", ""},
		"told minutes":   {"t,v\n202405011201,1\n", zoom.CSVOptions{Unit: "date"}, "2024-05-01T12:01:00Z", ""},
		"told hours":     {"t,v\n2024050112,1\n", zoom.CSVOptions{Unit: "date"}, "2024-05-01T12:00:00Z", ""},
		"told ms":        {"datetime,v\n202405011200,1\n", zoom.CSVOptions{Unit: "ms"}, "2.024050112e+08", ""},
		"ms":             {"datetime,v\n1777636800000,1\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "milliseconds since 1970"},
		"early ms":       {"datetime,v\n915148800000,1\n", zoom.CSVOptions{}, "1999-01-01", "milliseconds since 1970"},
		"parts of ms":    {"datetime,v\n1777636800000.5,1\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "milliseconds since 1970"},
		"too large":      {"datetime,v\n17776368000000000.5,1\n", zoom.CSVOptions{}, `!"17776368000000000.5" is no date and no count of seconds since 1970: --times UNIT`, ""},
		"one of ms":      {"t,v\n200001010000,1\n200001999999,2\n", zoom.CSVOptions{}, "1976-05-03T19:50:10Z 1976-05-03T20:06:39Z", "milliseconds since 1970"},

		"not all":    {"datetime,v\n20240501120000,1\n20240501126000,2\n", zoom.CSVOptions{}, `!line 3 at 28: column "datetime": "20240501126000" is none of the dates and times (YYYYMMDDhhmmss, UTC)`, ""},
		"as t":       {"t,v\n20240501120000,1\n20240501120001,2\n", zoom.CSVOptions{}, `!line 2: column "t": "20240501120000" and all others may be dates and times (YYYYMMDDhhmmss, UTC) or milliseconds: --times UNIT`, ""},
		"minutes, t": {"t,v\n202405011200,1\n", zoom.CSVOptions{}, "!may be dates and times (YYYYMMDDhhmm, UTC) or milliseconds", ""},
		"parts, t":   {"t,v\n20240501120000.25,1\n", zoom.CSVOptions{}, "!may be dates and times (YYYYMMDDhhmmss, UTC) or seconds", ""},
		"seconds":    {"seconds,v\n20240501120000,1\n", zoom.CSVOptions{}, "!or milliseconds", ""},
		"epoch":      {"epoch,v\n20240501120000,1\n", zoom.CSVOptions{}, "!or milliseconds", ""},
		"named ms":   {"time_ms,v\n20240501120000.0,1\n", zoom.CSVOptions{}, "!(YYYYMMDDhhmmss, UTC) or milliseconds: --times UNIT, or the metadata times of an upload, says which (date or ms)", ""},
		"named us":   {"t_us,v\n20240501120000,1\n", zoom.CSVOptions{}, "!(date or us)", ""},
		"no name":    {"when,v\n202405011200,1\n", zoom.CSVOptions{}, "!or milliseconds", ""},
		"year":       {"year,v\n202405011200,1\n", zoom.CSVOptions{}, "!is no year", ""},
		"hours as t": {"time,v\n2024050112,1\n", zoom.CSVOptions{}, "!may be dates and hours (YYYYMMDDhh, UTC) or seconds", ""},
	}
	for _, name := range []string{"datetime", "Date", "time", "timestamp", "TS", "utc"} {
		cases[name+" seconds"] = dates{name + ",v\n20240501120000,1\n20240501120001,2\n", zoom.CSVOptions{}, "2024-05-01T12:00:00Z 2024-05-01T12:00:01Z", `column "` + name + `": stamps such as 20240501120000 are taken for dates and times (YYYYMMDDhhmmss, UTC); --times UNIT`}
		cases[name+" minutes"] = dates{name + ",v\n150001010000,1\n219912312359,2\n", zoom.CSVOptions{}, "1500-01-01 2199-12-31T23:59:00Z", "dates and times (YYYYMMDDhhmm, UTC)"}
	}
	checkDates(t, cases)
}

// TestTextColumns: columns of text are passed over, and named; a column of numbers with
// one bad cell is none of these.
func TestTextColumns(t *testing.T) {
	t.Parallel()
	many := "time,v,note\n"
	for i := range 150 {
		many += fmt.Sprintf("%d,%d,word %d\n", i, i, i)
	}
	for name, c := range map[string]struct {
		text   string
		tracks string
		warn   string
		err    string
	}{
		"one":              {"time,site,temp\n1,roof,20.5\n2,cellar,11\n", "temp", `column of text, which is passed over: "site"`, ""},
		"in front of time": {"symbol,date,price\nMSFT,2000-01-01,39.81\nMSFT,2000-02-01,36.35\n", "price", `"symbol"`, ""},
		"several":          {"time,a,b,c\n1,x,2,y\n", "b", `columns of text, which are passed over: "a", "c"`, ""},
		"late":             {"time,a,b\n1,,2\n2,,3\n3,x,4\n", "b", `"a"`, ""},
		"number later":     {many + "150,150,7\n", "v", `"note"`, ""},
		"with nan":         {"time,a,b\n1,x,nan\n2,y,2\n", "b", `"a"`, ""},
		"only text":        {"time,a\n1,x\n", "", "", `no column of numbers beside the times: of column "a" "x" in line 2 is no number`},
		"number, text":     {"time,a,b\n1,2,3\n2,x,3\n", "", "", `line 3 at 15: column "a": "x" is no number`},
		"text, number":     {"time,a,b\n1,x,3\n2,2,3\n", "", "", `line 3 at 15: column "a": "x" in line 2 is no number, as "2" is`},
		"text at last":     {strings.ReplaceAll(many, "word ", "") + "150,150,x\n", "", "", `column "note": "x" is no number`},
		"nan, text":        {"time,a,b\n1,nan,3\n2,x,3\n", "", "", `column "a": "x" is no number`},
		"truth, text":      {"time,a,b\n1,true,3\n2,x,3\n", "", "", `column "a": "x" is no number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := series(t, "x.csv", []byte(c.text), nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatal(err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if warn := strings.Join(s.About().Warnings, "; "); !strings.Contains(warn, c.warn) {
				t.Errorf("warnings %q", warn)
			}
			_, list := written(t, s, zoom.WriteOptions{})
			var names []string
			for _, k := range list {
				names = append(names, k.Name)
				if len(k.Values) != int(s.About().Rows) {
					t.Errorf("%s: %d values of %d rows", k.Name, len(k.Values), s.About().Rows)
				}
			}
			if d := cmp.Diff(c.tracks, strings.Join(names, ",")); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestTimesOfMetadata: the metadata of an upload say what its stamps are, and the log
// says what they were taken for.
func TestTimesOfMetadata(t *testing.T) {
	t.Parallel()
	w := newWorks()
	var told []string
	run := func(meta map[string]string) (zoomcache.Origin, error) {
		info, err := objstore.Put(context.Background(), w.in, "a.csv", strings.NewReader("n,when,v\n1,1871,1\n2,1872,2\n"), objstore.PutOptions{Meta: meta})
		if err != nil {
			t.Fatal(err)
		}
		j := &zoom.Job{Out: w.out, Warn: func(_, text string) { told = append(told, text) }}
		if _, err = j.Run(t.Context(), w.in, functions.Upload{Bucket: "uploads", Key: "a.csv", ETag: info.ETag, VersionID: info.VersionID}); err != nil {
			return zoomcache.Origin{}, err
		}
		f, _ := read(t, opened(t, w.out, "a.csv.zoom"))
		return f.Header().Origin, nil
	}
	if o, err := run(nil); err != nil || o.Den != 0 || len(told) != 1 || !strings.Contains(told[0], `the first, "n", is taken for the times`) {
		t.Errorf("%+v, %v, %q", o, err, told)
	}
	o, err := run(map[string]string{"time-column": "when", "times": "year"})
	if utc, ok := o.UTC(); err != nil || !ok || utc.Year() != 1871 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := run(map[string]string{"time-column": "where"}); !errors.Is(err, formats.ErrUnsupported) {
		t.Error(err)
	}
}
