package zoom_test

import (
	"strings"
	"testing"

	"github.com/farread/farread/functions/zoom"
)

// TestUnitRow: a row of units below the header is passed over, and that of the times counts. No row of
// values is taken for one.
func TestUnitRow(t *testing.T) {
	t.Parallel()
	const below = `line 2 is passed over, as units: "ms", "degC"; column "time": stamps such as 0 are taken for ms, their unit; --times`
	checkDates(t, map[string]dates{
		"seconds":        {"time,temp\ns,degC\n0,1.5\n2,2.5\n", zoom.CSVOptions{}, "0 2", `line 2 is passed over, as units: "s", "degC"`},
		"ms":             {"time,temp\nms,degC\n0,1.5\n2000,2.5\n", zoom.CSVOptions{}, "0 2", below},
		"brackets":       {"time;temp\r\n\r\n(min);[°C]\r\n0;1,5\r\n2;2,5\r\n", zoom.CSVOptions{}, "0 120", `line 3 is passed over, as units: "(min)", "[°C]"`},
		"Latin-1":        {"time;temp\ns;\xb0C\n0;1,5\n", zoom.CSVOptions{}, "0", `"s", "°C"`},
		"of no unit":     {"time,temp,n\nh,K,1\n0,1.5,3\n1,2,4\n", zoom.CSVOptions{}, "0 3600", `"h", "K", "1"`},
		"none of times":  {"time,temp\n,degC\n0,1.5\n", zoom.CSVOptions{}, "0", `"", "degC"`},
		"by name":        {"time_ms,temp\nms,degC\n0,1.5\n2000,2.5\n", zoom.CSVOptions{}, "0 2", "as units"},
		"dates":          {"time,temp\nUTC,degC\n2024-01-01,1.5\n", zoom.CSVOptions{}, "2024-01-01", "as units"},
		"since 1970":     {"time,temp\ns,degC\n1700000000,1.5\n", zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "seconds since 1970"},
		"ms since 1970":  {"time,temp\nms,degC\n1700000000000,1.5\n", zoom.CSVOptions{}, "2023-11-14T22:13:20Z", "taken for ms"},
		"told":           {"time,temp\nticks,degC\n0,1.5\n2000,2.5\n", zoom.CSVOptions{Unit: "ms"}, "0 2", "as units"},
		"told column":    {"n,temp\nms,degC\n0,1.5\n2000,2.5\n", zoom.CSVOptions{Time: "n"}, "0 2", "as units"},
		"year, month":    {"year,month,v\nyr,mo,mm\n2024,2,1\n", zoom.CSVOptions{}, "2024-02-01", "as units"},
		"clock":          {"time,temp\nh,degC\n12:00,1.5\n", zoom.CSVOptions{}, "43200", "times of day"},
		"joined":         {"date,time,v\n\"y-m-d\",\"h:m\",mm\n2024-02-01,12:00,1\n", zoom.CSVOptions{}, "2024-02-01T12:00:00Z", "as units"},
		"unknown":        {"time,temp\nticks,degC\n0,1.5\n", zoom.CSVOptions{}, `!line 3 at 21: column "time": its times count in "ticks", as line 2 says: --times UNIT, or the metadata times of an upload, says what they are`, ""},
		"all text":       {"time,state\nlater,open\nlater,shut\n", zoom.CSVOptions{}, `!line 2: column "time": "later" is no time`, ""},
		"alone":          {"time,temp\ns,degC\n", zoom.CSVOptions{}, `!line 2: column "time": "s" is no time`, ""},
		"of values":      {"time,temp\n5,degC\n6,3\n", zoom.CSVOptions{}, `!column "temp": "degC" in line 2 is no number`, ""},
		"twice":          {"time,temp\ns,degC\ns,degC\n0,1\n", zoom.CSVOptions{}, `!line 2: column "time": "s" is no time`, ""},
		"later":          {"time,temp\n0,1\ns,degC\n", zoom.CSVOptions{}, `!line 3 at 14: column "time": "s" is no time`, ""},
		"a time as told": {"time,temp\nday one,x\nday two,3\n", zoom.CSVOptions{Format: "day one"}, "!it has no time", ""},
		"other cells":    {"time,temp\ns,degC,x\n0,1\n", zoom.CSVOptions{}, "!3 cells, the header has 2", ""},
		"truth":          {"time,a,b\ns,true,K\n0,true,1\n", zoom.CSVOptions{}, `!line 2`, ""},
		"a long text":    {"time,a\n" + strings.Repeat("s", 33) + ",K\n0,1\n", zoom.CSVOptions{}, `!line 2`, ""},
	})
}

// TestSaysSeparator: a first line for Excel says what is between cells.
func TestSaysSeparator(t *testing.T) {
	t.Parallel()
	checkDates(t, map[string]dates{
		"semicolon":    {"sep=;\ntime;v\n0,5;1\n", zoom.CSVOptions{}, "0.5", ""},
		"comma":        {"sep=,\r\ntime,v;w\r\n0.5,1\r\n", zoom.CSVOptions{}, "0.5", ""},
		"tab":          {"SEP=\t\ntime\tv\n0,5\t1\n", zoom.CSVOptions{}, "0.5", ""},
		"bar":          {"\ufeff\"sep=|\"\n# of a logger\ntime|\"v|w\"\n0,5|1\n", zoom.CSVOptions{}, "0.5", ""},
		"units, too":   {"sep=;\ntime;v\nms;K\n500;1\n", zoom.CSVOptions{}, "0.5", "line 3 is passed over, as units"},
		"none":         {"sep=\ntime,v\n0,1\n", zoom.CSVOptions{}, `!line 1 at 0: "sep=": want sep= with one of`, ""},
		"two":          {"sep=;;\ntime;v\n0;1\n", zoom.CSVOptions{}, `!line 1 at 0: "sep=;;": want sep=`, ""},
		"letter":       {"sep=x\ntimexv\n0x1\n", zoom.CSVOptions{}, "!want sep=", ""},
		"another one":  {"sep=;\ntime,v\n0,1\n", zoom.CSVOptions{}, "!one column", ""},
		"below others": {"# x\n\nsep=;\ntime;v\n0,5;1\n", zoom.CSVOptions{}, "0.5", ""},
	})
}
