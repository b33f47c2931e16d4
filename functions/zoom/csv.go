package zoom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

const (
	formatCSV = "csv"
	// maxLine bounds a line: MaxTracks numbers of 200 digits.
	maxLine = 1 << 20
	// csvTick is how many rows are read between two looks at the context.
	csvTick = 1024
)

// isCSVName reports whether a name is a name of a CSV. The name has to decide,
// since text has no signature.
func isCSVName(key string) bool {
	key = strings.ToLower(key)
	for _, packed := range packedSuffixes() {
		if name, ok := strings.CutSuffix(key, packed); ok {
			key = name
			break
		}
	}
	switch path.Ext(key) {
	case ".csv", ".tsv", ".txt":
		return true
	}
	return false
}

// timeNames are the names of columns that hold stamps, best first. If no column has one
// of them, the first column holds the stamps.
func timeNames() []string {
	return slices.Concat([]string{"time", "timestamp", "datetime", "date_time", "utc", "date", "t", "ts", "seconds", "sec", "time_s", "t_s", "time_sec", "time_seconds", "epoch", "unix",
		"time_ms", "timestamp_ms", "ts_ms", "t_ms", "epoch_ms", "unix_ms", "ms", "milliseconds", "time_us", "timestamp_us", "ts_us", "t_us", "epoch_us", "us",
		"microseconds", "time_ns", "timestamp_ns", "ts_ns", "t_ns", "epoch_ns", "ns", "nanoseconds",
		"times", "dates", "datum", "ymd", "yyyymmdd"}, yearNames(), []string{"yearmonth", "year_month", "yyyymm"})
}

// A table is a CSV whose header is read and whose columns are known.
type table struct {
	obj        *objstore.Object
	about      About
	comma      byte
	width      int // number of columns, with the column of stamps
	time       int // the column of the stamps
	name       string
	packed     packing
	iso        bool
	read       reading
	sure       bool     // the user said so
	unnamed    bool     // no column has a name for stamps
	others     []string // columns that have such a name, too
	maybe      form     // the form that all stamps so far could have
	epoch      bool     // the stamps count from 1970
	since      bool     // a warning tells that they count from 1970
	tracks     []int    // track of each column, -1: none
	firstLine  int64    // line number of the first values
	firstStamp string
	from       int64 // the second that is time 0
	digits     int   // ticks are 10^-digits of a second
	skip       int64 // lines up to and with the header
	back       int64 // stamps that go back
}

// About implements Series.
func (t *table) About() About { return t.about }

// openCSV reads the whole text once. The last line may still decide whether a column's
// values are whole and how fine the stamps are.
func openCSV(ctx context.Context, obj *objstore.Object, packed packing, say Times) (Series, error) {
	t := &table{obj: obj, packed: packed, about: About{Format: formatCSV, Bytes: obj.Size()}}
	var names []string
	var cols []csvColumn
	span := csvSpan{}
	var room []string
	err := t.lines(ctx, 0, func(n int64, line string, _ int64) error {
		if t.width == 0 {
			var err error
			names, err = t.header(n, line, say)
			cols = make([]csvColumn, len(names))
			return err
		}
		return t.learn(&room, n, line, names, cols, &span)
	})
	if err != nil {
		return nil, err
	}
	if t.width == 0 {
		return nil, kit.Fail("csv", obj.Info().Key, -1, kit.Corrupt("no line"))
	}
	if t.about.Rows == 0 {
		return nil, kit.Fail("csv", obj.Info().Key, -1, kit.Corrupt("a header and no line of values"))
	}
	if err := t.doubtful(); err != nil {
		return nil, err
	}
	if err := t.choose(names, cols); err != nil {
		return nil, kit.Fail("csv", obj.Info().Key, -1, err)
	}
	t.fractions(&span)
	t.settle(&span)
	return t, nil
}

// csvSpan is the result of the first reading of the stamps.
type csvSpan struct {
	low, high int64
	digits    int
	finer     bool
	last      stamp
}

// header finds the columns, and among them the column of the stamps.
func (t *table) header(n int64, line string, say Times) ([]string, error) {
	if line == "" {
		return nil, nil
	}
	cells, err := t.split(nil, line)
	if err != nil {
		return nil, err
	}
	if len(cells) > MaxTracks+1 {
		return nil, kit.TooLarge("%d columns, over %d", len(cells), MaxTracks)
	}
	if len(cells) < 2 {
		return nil, kit.Corrupt("one column, want a column of times and one of values at least")
	}
	values := 0
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
		if t.isValue(cells[i]) {
			values++
		}
	}
	if values == len(cells) {
		return nil, kit.Corrupt("numbers where the names of the columns should be: the first line must name them")
	}
	t.width, t.skip = len(cells), n
	if err := t.find(cells, say.Column); err != nil {
		return nil, err
	}
	t.read.shift, t.epoch = unitOf(t.name)
	if err := t.told(say.Unit); err != nil {
		return nil, err
	}
	return slices.Delete(slices.Clone(cells), t.time, t.time+1), nil
}

// isValue reports whether a cell of the first line is a number, a stamp or empty, and
// so not the name of a column.
func (t *table) isValue(cell string) bool {
	if _, err := strconv.ParseFloat(t.plain(cell), 64); err == nil || isMissing(cell) {
		return true
	}
	_, iso := parseISO(cell)
	return iso
}

// plain replaces a decimal comma by a point, if commas do not separate cells.
func (t *table) plain(cell string) string {
	if t.comma == ',' || strings.IndexByte(cell, '.') >= 0 {
		return cell
	}
	if i := strings.IndexByte(cell, ','); i >= 0 && strings.IndexByte(cell[i+1:], ',') < 0 {
		return cell[:i] + "." + cell[i+1:]
	}
	return cell
}

// learn takes in one line of values.
func (t *table) learn(room *[]string, n int64, line string, names []string, cols []csvColumn, span *csvSpan) error {
	if t.blank(line) {
		return nil
	}
	first := t.about.Rows == 0
	if first {
		t.firstLine = n
	}
	same := false
	err := t.cells(room, line, func(s stamp) {
		same = !first && s == span.last
		if first {
			span.low, span.high = s.sec, s.sec
			t.from, span.last = s.sec, s
		}
		if s.before(span.last) {
			t.back++
		}
		span.last = s
		span.low, span.high = min(span.low, s.sec), max(span.high, s.sec)
		span.digits = max(span.digits, s.digits())
		span.finer = span.finer || s.finer
	}, func(i int, cell string) error {
		return cols[i].learn(names[i], n, cell)
	})
	if err == nil && same {
		err = t.again()
	}
	t.about.Rows++
	return err
}

// blank reports whether all cells of a line are empty: spreadsheets end tables with
// such lines.
func (t *table) blank(line string) bool {
	for i := range len(line) {
		if line[i] != t.comma && line[i] != ' ' {
			return false
		}
	}
	return true
}

// stamp reads a stamp. The stamp of the first line decides how all others are read.
func (t *table) stamp(text string) (s stamp, err error) {
	if t.about.Rows == 0 && !t.iso {
		if s, t.iso = parseISO(text); t.iso && (!t.sure || t.read.form == formDay) {
			return s, nil
		}
		t.iso = false
		t.firstStamp = text
		if err := t.guess(text); err != nil {
			return s, err
		}
	}
	ok := false
	if t.iso {
		s, ok = parseISO(text)
	} else {
		s, ok = t.number(text)
		t.doubt(text)
	}
	if !ok {
		return s, kit.Corrupt("column %.60q: %.60q is %s", t.name, text, t.wrong())
	}
	return s, nil
}

// guessUnit recognises whole numbers that are too large for seconds: other programs
// write counts since 1970 in parts of a second. It returns whether the number is such a
// count.
func (t *table) guessUnit(text string) bool {
	digits := strings.TrimLeft(whole(t.plain(text)), "0")
	if t.read.shift != 0 || !allDigits(digits) || len(digits) < 12 || len(digits) > 19 {
		return false
	}
	name := ""
	switch n := len(digits); {
	case n < 15:
		t.read.shift, name = 3, "milliseconds"
	case n < 18:
		t.read.shift, name = 6, "microseconds"
	default:
		t.read.shift, name = 9, "nanoseconds"
	}
	t.epoch, t.since = true, true
	t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: stamps such as %s are taken for %s since 1970", t.name, text, name))
	return true
}

// cells takes a line apart: it calls at with the stamp and value with each cell that is
// not missing. room is its memory.
func (t *table) cells(room *[]string, line string, at func(stamp), value func(i int, cell string) error) error {
	cells, err := t.split((*room)[:0], line)
	if err != nil {
		return err
	}
	*room = cells
	if len(cells) != t.width {
		return kit.Corrupt("%d cells, the header has %d", len(cells), t.width)
	}
	text := strings.TrimSpace(cells[t.time])
	s, err := t.stamp(text)
	if err != nil {
		return err
	}
	at(s)
	for i, cell := range cells {
		if i == t.time {
			continue
		}
		if cell = t.plain(strings.TrimSpace(cell)); isMissing(cell) {
			continue
		}
		if i > t.time {
			i--
		}
		if err := value(i, cell); err != nil {
			return err
		}
	}
	return nil
}

// isMissing reports whether a cell is empty or has a word that means so. "nan" is a
// value.
func isMissing(cell string) bool {
	if len(cell) > 4 {
		return false
	}
	switch cell {
	case "", "NA", "N/A", "na", "n/a", "null", "NULL", "None", "-":
		return true
	}
	return false
}

// parseFloat takes numbers that are too large as infinite, as other programs do.
func parseFloat(cell string) (float64, error) {
	f, err := strconv.ParseFloat(cell, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return f, err
}

// settle chooses time 0 and the ticks: the coarsest power of ten of a second in which
// every stamp is exact.
func (t *table) settle(span *csvSpan) {
	if t.epoch && t.from < oldest && !t.iso && !t.since { // an unset clock, or another kind of number
		t.epoch = false
	}
	t.epoch = t.epoch || t.sure && t.read.shift > 0 && t.from >= oldest
	if !t.iso && !t.epoch && t.read.form == formCount {
		t.from = 0
	} else {
		t.about.Origin = zoomcache.OriginOf(stamp{sec: t.from}.time())
	}
	far := max(abs(span.low-t.from), abs(span.high-t.from))
	t.digits = min(span.digits, maxDigits(far))
	if span.finer || t.digits < span.digits {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("stamps finer than %s s are rounded down to it", strconv.FormatFloat(math.Pow10(-t.digits), 'g', -1, 64)))
	}
	if t.back > 0 {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("stamps that go back in time, kept as they are: %d", t.back))
	}
	for i := range t.about.Tracks {
		t.about.Tracks[i].Rate = zoomcache.Rate{Num: pow10(t.digits), Den: 1}
	}
}

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// Each implements Series.
func (t *table) Each(ctx context.Context, window int, f func(*Block) error) error {
	b := &Block{Columns: make([]Column, len(t.about.Tracks))}
	n := 0
	var room []string
	send := func(done int64) error {
		b.Done = done
		err := f(b)
		for i := range b.Columns {
			c := &b.Columns[i]
			v := &c.Values
			c.Stamps = c.Stamps[:0]
			v.N, v.Bool, v.F64, v.I64, v.U64 = 0, v.Bool[:0], v.F64[:0], v.I64[:0], v.U64[:0]
		}
		n = 0
		return err
	}
	for i := range b.Columns {
		b.Columns[i].Values.Kind = t.about.Tracks[i].Codec.Kind
		b.Columns[i].Stamps = []int64{}
	}
	err := t.lines(ctx, t.skip, func(_ int64, line string, end int64) error {
		if t.blank(line) {
			return nil
		}
		var at int64
		err := t.cells(&room, line, func(s stamp) { at = s.ticks(t.from, t.digits) }, func(i int, cell string) error {
			k := t.tracks[i]
			if k < 0 {
				return nil
			}
			c := &b.Columns[k]
			c.Stamps = append(c.Stamps, at)
			return c.put(cell)
		})
		if n++; err != nil || n < window {
			return err
		}
		return send(end)
	})
	if err != nil || n == 0 {
		return err
	}
	return send(t.about.Bytes)
}

// put appends a value. The first reading has found its kind.
func (c *Column) put(cell string) (err error) {
	v := &c.Values
	v.N++
	switch v.Kind {
	case zoomcache.Bool:
		x, is := truth(cell)
		v.Bool = append(v.Bool, x)
		if !is {
			err = errChanged
		}
	case zoomcache.I64:
		x, bad := strconv.ParseInt(cell, 10, 64)
		v.I64, err = append(v.I64, x), bad
	case zoomcache.U64:
		x, bad := strconv.ParseUint(strings.TrimPrefix(cell, "+"), 10, 64)
		v.U64, err = append(v.U64, x), bad
	default:
		x, bad := parseFloat(cell)
		v.F64, err = append(v.F64, x), bad
	}
	if err != nil {
		return errChanged
	}
	return nil
}

// errChanged is the fault of a store: the object is pinned to its version, so its text
// cannot change.
var errChanged = fmt.Errorf("other text than at the first reading: %w", objstore.ErrUnavailable)
