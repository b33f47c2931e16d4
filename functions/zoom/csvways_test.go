package zoom_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/zoom"
)

// TestTimesAsWritten: dates in words and with the day first, several columns together,
// formats and zones.
func TestTimesAsWritten(t *testing.T) {
	t.Parallel()
	format := func(f string) zoom.CSVOptions { return zoom.CSVOptions{Format: f} }
	zone := func(z string) zoom.CSVOptions { return zoom.CSVOptions{Zone: z} }
	checkDates(t, map[string]dates{
		"minus":            {"date,v\nJan-1-1995,1\nDec-31-1995,2\n", zoom.CSVOptions{}, "1995-01-01 1995-12-31", "%b-%d-%Y"},
		"day first":        {"Date,v\n19-Sep-03,1\n18-Sep-03,2\n17-Sep-03,3\n", zoom.CSVOptions{}, "2003-09-17 2003-09-18 2003-09-19", "read as %d-%b-%y, and not as %y-%b-%d, which fits all of them, too"},
		"old years":        {"Date,v\n19-Sep-69,1\n9-Sep-68,2\n", zoom.CSVOptions{}, "1969-09-19 2068-09-09", "%d-%b-%y"},
		"quarters":         {"period,v\n1974Q1,1\n1974Q4,2\n", zoom.CSVOptions{}, "1974-01-01 1974-10-01", "%YQ%q"},
		"quarters, minus":  {"date,v\n1974-Q1,1\n1974-q4,2\n", zoom.CSVOptions{}, "1974-01-01 1974-10-01", "%Y-Q%q"},
		"quarters first":   {"date,v\nQ1 1974,1\nQ4 1974,2\n", zoom.CSVOptions{}, "1974-01-01 1974-10-01", "Q%q %Y"},
		"months":           {"date,v\n1974M01,1\n1974M12,2\n", zoom.CSVOptions{}, "1974-01-01 1974-12-01", "%YM%m"},
		"months, minus":    {"date,v\n1974-01,1\n1974-12,2\n", zoom.CSVOptions{}, "1974-01-01 1974-12-01", "%Y-%m"},
		"months in words":  {"date,v\nJan 1974,1\nDecember 1974,2\n", zoom.CSVOptions{}, "1974-01-01 1974-12-01", "%b %Y"},
		"short months":     {"date,v\nJan-74,1\nSept-74,2\n", zoom.CSVOptions{}, "1974-01-01 1974-09-01", "%b-%y"},
		"long":             {"date,v\n\"January 5, 2000\",1\n\"February 6, 2000 1:30 PM\",2\n", zoom.CSVOptions{}, "2000-01-05 2000-02-06T13:30:00Z", "%b %d, %Y"},
		"mail":             {"date,v\n\"Fri, 28 Mar 2025 12:00:00 +0200\",1\n", zoom.CSVOptions{}, "2025-03-28T10:00:00Z", "%a, %d %b %Y"},
		"month first":      {"date,v\n1/4/1999,1\n1/13/1999,2\n", zoom.CSVOptions{}, "1999-01-04 1999-01-13", "read as %m/%d/%Y; --time-format"},
		"day before month": {"date,v\n1/4/1999,1\n13/4/1999,2\n", zoom.CSVOptions{}, "1999-04-01 1999-04-13", "read as %d/%m/%Y; --time-format"},
		"by the days":      {"date,v\n9/1/1999,1\n10/1/1999,2\n11/1/1999,3\n12/1/1999,4\n1/1/2000,5\n", zoom.CSVOptions{}, "1999-09-01 1999-10-01 1999-11-01 1999-12-01 2000-01-01", "and not as %d/%m/%Y"},
		"not back":         {"date,v\n11/01/1999,1\n12/01/1999,2\n01/02/1999,3\n", zoom.CSVOptions{}, "1999-01-11 1999-01-12 1999-02-01", "read as %d/%m/%Y, and not as %m/%d/%Y"},
		"points":           {"Datum;v\n01.02.2026 12:30;1,5\n02.02.2026 12:30;2,5\n", zoom.CSVOptions{}, "2026-02-01T12:30:00Z 2026-02-02T12:30:00Z", "%d.%m.%Y"},
		"single digits":    {"date,v\n2012/1/9,1\n2012/1/10,2\n", zoom.CSVOptions{}, "2012-01-09 2012-01-10", "%Y/%m/%d"},
		"midnight left":    {"date,v\n1/13/2026 11:00:00 PM,1\n1/14/2026,2\n", zoom.CSVOptions{}, "2026-01-13T23:00:00Z 2026-01-14", "%m/%d/%Y"},
		"clock":            {"time,v\n12:00:00.5,1\n12:00:01,2\n", zoom.CSVOptions{}, "43200.5 43201", "times of day without a date"},
		"hours by words":   {"time,v\n1:05 AM,1\n1:05 PM,2\n", zoom.CSVOptions{}, "3900 47100", "%I:%M %p"},
		"digits, digits":   {"date,v\n20260328 120005,1\n20260328_120006,1\n", zoom.CSVOptions{}, `!line 3 at 25: column "date": "20260328_120006" is no time as "20260328 120005", which is read as %Y%m%d %H%M%S`, ""},
		"underline":        {"when,v\n20260328_1200,1\n", zoom.CSVOptions{}, "2026-03-28T12:00:00Z", "%Y%m%d_%H%M"},
		"ctime, found":     {"time,v\nTue Jan  2 15:04:05 2018,1\nTue Jan 12 15:04:05.5 2018,2\n", zoom.CSVOptions{}, "2018-01-02T15:04:05Z 2018-01-12T15:04:05Z", "%a %b %d %H:%M:%S %Y; --time-format"},
		"date":             {"time,v\nTue Jan  2 15:04:05 UTC 2018,1\n", zoom.CSVOptions{}, "2018-01-02T15:04:05Z", "%a %b %d %H:%M:%S %z %Y"},
		"git":              {"time,v\nTue Jan 2 15:04:05 2018 +0100,1\n", zoom.CSVOptions{}, "2018-01-02T14:04:05Z", "%a %b %d %H:%M:%S %Y %z"},
		"ctime, no day":    {"time,v\nJan  2 15:04:05 2018,1\n", zoom.CSVOptions{}, "2018-01-02T15:04:05Z", "%b %d %H:%M:%S %Y"},
		"end of day":       {"time,v\n2024-02-28 23:00,1\n2024-02-28 24:00,2\n2024-02-29T24:00:00.000+01:00,3\n", zoom.CSVOptions{}, "2024-02-28T23:00:00Z 2024-02-29 2024-02-29T23:00:00Z", ""},
		"end, basic":       {"time,v\n20240228T2400,1\n", zoom.CSVOptions{}, "2024-02-29", ""},
		"end, points":      {"time;v\n31.12.2024 24:00;1\n", zoom.CSVOptions{}, "2025-01-01", "%d.%m.%Y"},
		"end, clock":       {"time,v\n23:59,1\n24:00,2\n", zoom.CSVOptions{}, "86340 86400", "times of day"},
		"end, told":        {"time,v\n24:00 31/12/2024,1\n", format("%H:%M %d/%m/%Y"), "2025-01-01", ""},
		"end, digits":      {"date,v\n2024123123,1\n2024123124,2\n", zoom.CSVOptions{}, "2024-12-31T23:00:00Z 2025-01-01", "YYYYMMDDhh"},
		"end, hours":       {"year,month,day,hour,v\n2024,12,31,24,1\n", zoom.CSVOptions{}, "2025-01-01", "together"},
		"end, zone":        {"time,v\n2024-06-30 24:00,1\n", zone("Europe/Berlin"), "2024-06-30T22:00:00Z", ""},
		"behind the end":   {"time,v\n2024-02-28 23:00,1\n2024-02-28 24:01,2\n", zoom.CSVOptions{}, `!line 3 at 26: column "time": "2024-02-28 24:01" is no time in ISO 8601`, ""},
		"parts behind":     {"time,v\n2024-02-28 24:00:00.5,1\n", zoom.CSVOptions{}, "!is no time", ""},
		"noon of 24":       {"date,v\n\"January 5, 2000 24:00 PM\",1\n", zoom.CSVOptions{}, "!is no time", ""},
		"hour 25":          {"date,v\n31.12.2024 25:00,1\n", zoom.CSVOptions{}, "!is no time", ""},
		"German":           {"Datum;Uhrzeit;Wert\n28.03.2026;12:00:05;1,5\n", zoom.CSVOptions{}, "2026-03-28T12:00:05Z", `columns "Datum + Uhrzeit" together`},
		"excel":            {"date,v\n45123.5,1\n45124,2\n", zoom.CSVOptions{}, "2023-07-16T12:00:00Z 2023-07-17", "days of a spreadsheet (excel), as 2023-07-16; --times"},
		"excel, ms":        {"date,v\n45123.520833333,1\n", zoom.CSVOptions{}, "2023-07-16T12:30:00Z", "excel"},
		"told excel":       {"day,v\n59,1\n61,2\n", zoom.CSVOptions{Unit: "excel"}, "1900-02-28 1900-03-01", ""},
		"not in excel":     {"day,v\n59,1\n60,2\n", zoom.CSVOptions{Unit: "excel"}, `!"60" is no number of days of a spreadsheet`, ""},

		"date and time":    {"date,time,v\n2026-05-01,12:00:05.5,1\n2026-05-02,00:00,2\n", zoom.CSVOptions{}, "2026-05-01T12:00:05Z 2026-05-02", `columns "date + time" together`},
		"time and date":    {"Time (HH:MM),Date (MM/DD/YYYY),v\n12:00,01/31/2026,1\n13:00,01/31/2026,2\n", zoom.CSVOptions{}, "2026-01-31T12:00:00Z 2026-01-31T13:00:00Z", `columns "Date (MM/DD/YYYY) + Time (HH:MM)" together`},
		"digits and time":  {"date,time,v\n20260501,12:00,1\n", zoom.CSVOptions{}, "2026-05-01T12:00:00Z", "together"},
		"year to hour":     {"year,month,day,hour,v\n2026,5,1,0,1\n2026,5,1,13,2\n", zoom.CSVOptions{}, "2026-05-01 2026-05-01T13:00:00Z", `"year + month + day + hour"`},
		"day of the year":  {"year,doy,v\n2026,87,1\n2028,366,2\n", zoom.CSVOptions{}, "2026-03-28 2028-12-31", "year + doy"},
		"titles":           {"Exported by X\n\n# 5\nSensor 5\ndate,v\n2026-03-28,1\n", zoom.CSVOptions{}, "2026-03-28", ""},
		"serial in time":   {"timestamp,v\n45123.5,1\n", zoom.CSVOptions{}, "45123.5", "--times excel says"},
		"year and month":   {"Year;Month;v\n2026;5;1\n2026;12;2\n", zoom.CSVOptions{}, "2026-05-01 2026-12-01", "together"},
		"told year, month": {"year,MON/MMM,v\n1871,1,1\n1871,2,2\n", zoom.CSVOptions{Time: "YEAR+MON/MMM"}, "1871-01-01 1871-02-01", ""},
		"years twice":      {"year,v\n1871,1\n1871,2\n", zoom.CSVOptions{}, "!--time A+B joins it with others (year+month)", ""},
		"by content":       {"name,death_date,age\nA,1992-04-30,18\nB,1992-05-01,42\n", zoom.CSVOptions{}, "1992-04-30 1992-05-01", `"death_date" is taken for the times`},
		"degrees":          {"p (mbar),T (degC),Date Time\n996.52,-8.02,01.01.2009 00:10:00\n996.57,-8.41,13.01.2009 00:20:00\n", zoom.CSVOptions{}, "2009-01-01T00:10:00Z 2009-01-13T00:20:00Z", "%d.%m.%Y"},
		"T beside dates":   {"station_date,T\n2026-01-01,5\n", zoom.CSVOptions{}, "2026-01-01", ""},
		"index":            {",v\n2026-01-01,1\n", zoom.CSVOptions{}, "2026-01-01", ""},

		"format":           {"when,v\n28.03.26 1405,1\n", format("%d.%m.%y %H%M"), "2026-03-28T14:05:00Z", ""},
		"format, day year": {"when,v\n2024-060,1\n2026-060,2\n", format("%Y-%j"), "2024-02-29 2026-03-01", ""},
		"format, told":     {"date,v\n1/4/1999,1\n", format("%d/%m/%Y"), "1999-04-01", ""},
		"format of others": {"date,v\n1/4/1999,1\n4-5-1999,1\n", format("%d/%m/%Y"), `!line 3 at 18: column "date": "4-5-1999" is no time in the format "%d/%m/%Y"`, ""},
		"format with zone": {"t,v\n2026-05-01 12:00:00.250 +0200,1\n", format("%F %T.%f %z"), "2026-05-01T10:00:00Z", ""},
		"format of epoch":  {"t,v\nt1777636800,1\n", format("t%s"), "2026-05-01T12:00:00Z", ""},
		"ctime":            {"t,v\nFri May  1 12:00:00 2026,1\n", format("%a %b %d %H:%M:%S %Y"), "2026-05-01T12:00:00Z", ""},
		"no format":        {"t,v\n1,1\n", format("%Q"), `!format of times "%Q": "%Q" is not known`, ""},
		"no year":          {"t,v\n1,1\n", format("%d.%m."), "!it has no year", ""},
		"fields twice":     {"t,v\n1,1\n", format("%Y%Y"), "!is there twice", ""},

		"zone":            {"time,v\n2026-01-01 12:00,1\n2026-07-01 12:00,2\n2026-07-01T12:00Z,3\n", zone("Europe/Berlin"), "2026-01-01T11:00:00Z 2026-07-01T10:00:00Z 2026-07-01T12:00:00Z", ""},
		"zone of dates":   {"date,v\n20260101,1\n", zone("America/New_York"), "2026-01-01T05:00:00Z", "dates"},
		"zone of words":   {"date,v\n1-Jul-2026,1\n", zone("+05:30"), "2026-06-30T18:30:00Z", "%d-%b-%Y"},
		"clocks back":     {"time,v\n2026-10-25 02:30,1\n2026-10-25 02:45,2\n2026-10-25 02:30,3\n2026-10-25 03:00,4\n", zone("Europe/Berlin"), "2026-10-25T00:30:00Z 2026-10-25T00:45:00Z 2026-10-25T01:30:00Z 2026-10-25T02:00:00Z", "an hour that is there twice in Europe/Berlin, when clocks go back, taken in the order of the rows: 3"},
		"hours back":      {"time,v\n2026-10-25 01:00,1\n2026-10-25 02:00,2\n2026-10-25 02:00,3\n2026-10-25 03:00,4\n", zone("Europe/Berlin"), "2026-10-24T23:00:00Z 2026-10-25 2026-10-25T01:00:00Z 2026-10-25T02:00:00Z", "in the order of the rows: 2"},
		"sensors back":    {"time,v\n2026-10-25 01:00,1\n2026-10-25 01:00,1\n2026-10-25 02:00,2\n2026-10-25 02:00,3\n2026-10-25 03:00,4\n", zone("Europe/Berlin"), "2026-10-24T23:00:00Z 2026-10-24T23:00:00Z 2026-10-25 2026-10-25 2026-10-25T02:00:00Z", "in the order of the rows: 2"},
		"clocks forward":  {"time,v\n2026-03-29 01:30,1\n2026-03-29 02:30,2\n", zone("Europe/Berlin"), "2026-03-29T00:30:00Z 2026-03-29T01:30:00Z", "that clocks skip in Europe/Berlin, counted on from before: 1"},
		"no zone":         {"time,v\n2026-03-29 01:30,1\n", zone("Mars/Olympus"), `!"Mars/Olympus" is no time zone`, ""},
		"zone of seconds": {"seconds,v\n5,1\n", zone("Europe/Berlin"), "5", "says nothing about times that count"},
	})
}

// TestIndexColumn: a first column without a name is an index, as pandas and R write it, unless it has the times or
// all there is.
func TestIndexColumn(t *testing.T) {
	t.Parallel()
	const passed = "the first column has no name: it is taken for an index, and passed over"
	for name, c := range map[string]struct {
		text   string
		say    zoom.CSVOptions
		tracks []string
		warn   string
	}{
		"pandas":         {",time,v\n0,2026-01-01,5\n1,2026-01-02,6\n", zoom.CSVOptions{}, []string{"v"}, passed},
		"R":              {"\"\",\"time\",\"v\"\n\"1\",\"2026-01-01\",5\n\"2b\",\"2026-01-02\",6\n", zoom.CSVOptions{}, []string{"v"}, passed},
		"R without it":   {"time,v\n\"1\",2026-01-01,5\n\"2\",2026-01-02,6\n", zoom.CSVOptions{}, []string{"v"}, passed},
		"words":          {",time,v\nroof,2026-01-01,5\ncellar,2026-01-02,6\n", zoom.CSVOptions{}, []string{"v"}, passed},
		"nothing in it":  {",time,v\n,2026-01-01,5\n,2026-01-02,6\n", zoom.CSVOptions{}, []string{"v"}, ""},
		"the times":      {",v\n2026-01-01,5\n2026-01-02,6\n", zoom.CSVOptions{}, []string{"v"}, ""},
		"nothing else":   {",time\n4,2026-01-01\n5,2026-01-02\n", zoom.CSVOptions{}, []string{""}, ""},
		"told":           {",time,v\n0,2026-01-01,5\n", zoom.CSVOptions{Columns: []string{"", "v"}}, []string{"", "v"}, ""},
		"another column": {"time,,v\n2026-01-01,0,5\n", zoom.CSVOptions{}, []string{"", "v"}, ""},
	} {
		_, s, err := timesOf(t, c.text, c.say)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, k := range s.About().Tracks {
			got = append(got, k.Name)
		}
		if warn := strings.Join(s.About().Warnings, "; "); !slices.Equal(got, c.tracks) || warn != c.warn {
			t.Errorf("%s: %q, want %q; warnings %q", name, got, c.tracks, warn)
		}
	}
}

// TestColumns: the columns that are taken and passed over.
func TestColumns(t *testing.T) {
	t.Parallel()
	const text = "time,site,temp_C,note,level\n1,roof,20.5,x,3\n2,roof,21.5,,4\n3,cellar,x,,5\n"
	for name, c := range map[string]struct {
		say  zoom.CSVOptions
		want string // names of tracks, or an error behind "!"
		warn string
	}{
		"bad":        {zoom.CSVOptions{}, `!line 4 at 59: column "temp_C": "x" is no number; --skip passes the column over`, ""},
		"skip":       {zoom.CSVOptions{Skip: []string{"TEMP_C"}}, "level", `columns of text, which are passed over: "site", "note"`},
		"skip more":  {zoom.CSVOptions{Skip: []string{"temp_C", "when"}}, "level", `no column "when" to pass over`},
		"skip all":   {zoom.CSVOptions{Skip: []string{"temp_C", "site", "note", "level"}}, "!no column of values is left beside the times", ""},
		"columns":    {zoom.CSVOptions{Columns: []string{"level"}}, "level", ""},
		"of text":    {zoom.CSVOptions{Columns: []string{"site", "level"}}, `!column "site": "roof" in line 2 is no number`, ""},
		"not there":  {zoom.CSVOptions{Columns: []string{"speed"}}, `!no column "speed": there are "time", "site", "temp_C", "note", "level"`, ""},
		"times only": {zoom.CSVOptions{Columns: []string{"time"}}, "!no column beside the times", ""},
	} {
		_, s, err := timesOf(t, text, c.say)
		if want, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrCorrupt) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var names []string
		for _, k := range s.About().Tracks {
			names = append(names, k.Name)
		}
		warn := strings.Join(s.About().Warnings, "; ")
		if got := strings.Join(names, " "); got != c.want || !strings.Contains(warn, c.warn) || c.warn == "" && warn != "" {
			t.Errorf("%s: %s, want %s; warnings %q", name, got, c.want, warn)
		}
	}
}

// TestEncodings: the same table in every encoding, with every end of lines and every
// separator.
func TestEncodings(t *testing.T) {
	t.Parallel()
	const table = "date;Höhe µm;b\n2026-05-01;1,5;2\n2026-05-02;2,5;3\n"
	wide := func(order binary.AppendByteOrder, mark bool, text string) string {
		var p []byte
		if mark {
			text = "\ufeff" + text
		}
		for _, u := range utf16.Encode([]rune(text)) {
			p = order.AppendUint16(p, u)
		}
		return string(p)
	}
	for name, text := range map[string]string{
		"utf-8":         table,
		"mark":          "\ufeff" + table,
		"utf-16":        wide(binary.LittleEndian, true, table),
		"utf-16 big":    wide(binary.BigEndian, true, table),
		"without mark":  wide(binary.LittleEndian, false, table),
		"without, big":  wide(binary.BigEndian, false, table),
		"latin-1":       strings.NewReplacer("ö", "\xf6", "µ", "\xb5").Replace(table),
		"crlf":          strings.ReplaceAll(table, "\n", "\r\n"),
		"cr":            strings.ReplaceAll(table, "\n", "\r"),
		"tabs":          strings.ReplaceAll(table, ";", "\t"),
		"a title":       "Heights of the river;;\n" + table,
		"empty columns": strings.ReplaceAll(table, "\n", ";;\n"),
		"empty cells":   strings.ReplaceAll(strings.ReplaceAll(table, "5;2", "5;2;;"), "5;3", "5;3;"),
		"long":          wide(binary.LittleEndian, true, table+strings.Repeat("2026-05-03;3,5;4\n", 20_000)),
	} {
		times, s, err := timesOf(t, text, zoom.CSVOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, list := written(t, s, zoom.WriteOptions{})
		if len(list) != 2 || list[0].Name != "Höhe µm" || list[0].Values[1] != "2.5" || list[1].Values[1] != "3" || !strings.HasPrefix(times, "2026-05-01 2026-05-02") {
			t.Errorf("%s: %s, %q", name, times[:min(len(times), 100)], s.About().Warnings)
		}
		if want := int64(2); name != "long" && s.About().Rows != want {
			t.Errorf("%s: %d rows", name, s.About().Rows)
		}
	}
}
