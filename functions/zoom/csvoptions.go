package zoom

import (
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
)

// CSVOptions tell how a CSV is read. With the zero value, names and values of the
// columns decide.
type CSVOptions struct {
	// Time is the name of the column of the times, in upper or lower case, or the names of
	// several that make a time together, as "year+month" and "date+time"; "": columns with
	// usual names, else the first with dates, else the first.
	Time string
	// Unit is what a number there is: "s", "ms", "us", "ns", "min", "h", "d"; "date" for
	// 19580329 or 195803, with a time (195803291200) or none, "year" for 1958 and for 1958.2027, so much of that year;
	// "excel" for the days of a spreadsheet (45123.5); "": found out. Stamps in ISO 8601 need none.
	Unit   string
	Format string // how a time is written, as ParseFormat reads it; "": found out
	Zone   string // zone of times that tell none, as ParseZone reads it; "": UTC
	// Columns are the names of the columns to take; nil: all of numbers. One that is not
	// there, or has text, is an error.
	Columns []string
	Skip    []string // names of columns to pass over
	// Sort puts the rows in the order of their times. Without it times that go back are
	// formats.ErrUnsupported; with it a table of more than 8 Mi cells where some do is formats.ErrTooLarge.
	Sort bool
}

func (o CSVOptions) zero() bool {
	return !o.Sort && o.Time+o.Unit+o.Format+o.Zone == "" && len(o.Columns)+len(o.Skip) == 0
}

// Check reports what is wrong with the options, whatever the file: an unknown unit,
// format or zone is formats.ErrUnsupported.
func (o CSVOptions) Check() error {
	if _, err := ParseUnit(o.Unit); err != nil {
		return err
	}
	if _, err := ParseFormat(o.Format); err != nil {
		return err
	}
	if _, err := ParseZone(o.Zone); err != nil {
		return err
	}
	if o.Unit != "" && o.Format != "" {
		return fmt.Errorf("a unit of times, %s, and a format, %.60q, too: want one of them: %w", o.Unit, o.Format, formats.ErrUnsupported)
	}
	return nil
}

// ParseUnit checks what is to be a CSVOptions.Unit, and returns it. If text is no unit, the
// error is formats.ErrUnsupported.
func ParseUnit(text string) (string, error) {
	if _, ok := units()[text]; ok || text == "" {
		return text, nil
	}
	return "", fmt.Errorf("%.60q is no unit of times: want s, ms, us, ns, min, h, d, date (19580329, 195803, 20240501120000), year (1958, 1958.2027) or excel (45123.5): %w", text, formats.ErrUnsupported)
}

// sayTimes names the ways to specify stamps, for errors.
const sayTimes = "--times UNIT, or the metadata times of an upload,"

// sayColumn names the ways in which users say which column has the stamps.
const sayColumn = "--time NAME, or the metadata time-column of an upload,"

// sayFormat names the ways in which users say how times are written.
const sayFormat = "--time-format FORMAT, or the metadata time-format of an upload,"

// saySort names the ways to say that rows are put in order.
const saySort = "--sort, or the metadata sort=true of an upload,"

// orMeta takes from the metadata of an upload what o does not say.
func (o CSVOptions) orMeta(meta map[string]string) CSVOptions {
	for key, field := range map[string]*string{MetaTimeColumn: &o.Time, MetaZone: &o.Zone} {
		if *field == "" {
			*field = strings.TrimSpace(meta[key])
		}
	}
	if o.Unit == "" && o.Format == "" {
		o.Unit, o.Format = strings.TrimSpace(meta[MetaTimes]), meta[MetaTimeFormat]
	}
	o.Sort = o.Sort || strings.TrimSpace(meta[MetaSort]) == "true"
	for key, field := range map[string]*[]string{MetaColumns: &o.Columns, MetaSkip: &o.Skip} {
		if text := strings.TrimSpace(meta[key]); text != "" && *field == nil {
			for name := range strings.SplitSeq(text, ",") {
				*field = append(*field, strings.TrimSpace(name))
			}
		}
	}
	return o
}
