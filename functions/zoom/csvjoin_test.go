package zoom_test

import (
	"testing"

	"github.com/farread/farread/functions/zoom"
)

// TestDatesBesideTimes: a column of dates beside one of times of day, or of hours, is a time together, and
// told, with what it was read as if that is not how it stands there.
func TestDatesBesideTimes(t *testing.T) {
	t.Parallel()
	checkDates(t, map[string]dates{
		"clock of points":  {"Date;Time;CO(GT)\n10/03/2004;18.00.00;2,6\n10/03/2004;19.30.00;2\n31/03/2004;24.00.00;1\n", zoom.CSVOptions{}, "2004-03-10T18:00:00Z 2004-03-10T19:30:00Z 2004-04-01", `columns "Date + Time" together are taken for the times, as 10/03/2004 18:00:00; --time`},
		"hour":             {"Date,Hour,v\n2024-01-02,0,1\n2024-01-02,9,2\n2024-01-02,23,3\n", zoom.CSVOptions{}, "2024-01-02 2024-01-02T09:00:00Z 2024-01-02T23:00:00Z", `columns "Date + Hour" together are taken for the times, as 2024-01-02 00:00; --time`},
		"hour to 24":       {"v;hour;date\n1;01;31.12.2023\n2;24;31.12.2023\n3;1;01.01.2024\n", zoom.CSVOptions{}, "2023-12-31T01:00:00Z 2024-01-01 2024-01-01T01:00:00Z", "together"},
		"hour 25":          {"date,hour,v\n2024-01-02,0,1\n2024-01-02,25,2\n", zoom.CSVOptions{}, `!line 3 at 27: column "date + hour": "2024-01-02 25" is no time in ISO 8601, as the first is`, ""},
		"hour and minute":  {"date,hour,minute,second,v\n2024-01-02,3,5,0,1\n2024-01-02,3,15,30,2\n", zoom.CSVOptions{}, "2024-01-02T03:05:00Z 2024-01-02T03:15:30Z", `"date + hour + minute + second" together`},
		"hour and least":   {"date,hour,min,v\n2024-01-02,3,5,1\n2024-01-02,4,7,2\n", zoom.CSVOptions{}, "2024-01-02T03:00:00Z 2024-01-02T04:00:00Z", `"date + hour" together`},
		"hours of work":    {"date,hours,v\n2024-01-02,3,5\n2024-01-03,4,7\n", zoom.CSVOptions{}, "2024-01-02 2024-01-03", ""},
		"bikes":            {"instant,dteday,yr,hr,v\n1,2011-01-01,0,0,16\n2,2011-01-01,0,1,40\n", zoom.CSVOptions{}, "2011-01-01 2011-01-01T01:00:00Z", `columns "dteday + hr" together`},
		"hhmm":             {"date,hhmm,v\n20240102,0,1\n20240102,30,2\n20240102,930,3\n20240102,2400,4\n", zoom.CSVOptions{}, "2024-01-02 2024-01-02T00:30:00Z 2024-01-02T09:30:00Z 2024-01-03", `columns "date + hhmm" together are taken for the times, as 20240102 00:00`},
		"four digits":      {"time,date,v\n0930,2024-01-02,1\n1730,2024-01-02,2\n", zoom.CSVOptions{}, "2024-01-02T09:30:00Z 2024-01-02T17:30:00Z", `columns "date + time" together are taken for the times, as 2024-01-02 09:30`},
		"format as names":  {"YYYY-MM-DD,HH:MM,v\n2024-01-02,09:30,1\n2024-01-02,9:45,2\n", zoom.CSVOptions{}, "2024-01-02T09:30:00Z 2024-01-02T09:45:00Z", `"YYYY-MM-DD + HH:MM" together`},
		"told hour":        {"day;at;hour;v\n2024-01-02;x;5;1\n2024-01-03;x;24;2\n", zoom.CSVOptions{Time: "day+hour"}, "2024-01-02T05:00:00Z 2024-01-04", "passed over"},
		"told with format": {"day,hour,v\n2024-01-02,5,1\n", zoom.CSVOptions{Time: "day+hour", Format: "%Y-%m-%d %H"}, "2024-01-02T05:00:00Z", ""},
		"told date alone":  {"date,hour,v\n2024-01-02,5,1\n", zoom.CSVOptions{Time: "date"}, "2024-01-02", ""},
		"hour, clocks":     {"date,hour,v\n2026-10-25,1,1\n2026-10-25,2,2\n2026-10-25,2,3\n2026-10-25,3,4\n", zoom.CSVOptions{Zone: "Europe/Berlin"}, "2026-10-24T23:00:00Z 2026-10-25 2026-10-25T01:00:00Z 2026-10-25T02:00:00Z", "an hour that is there twice"},
		"half a day":       {"Date,Time,v\n1/2/2024,9:04:00 AM,1\n1/2/2024,3:04:00 PM,1\n", zoom.CSVOptions{}, "2024-01-02T09:04:00Z 2024-01-02T15:04:00Z", "together"},
	})
}
