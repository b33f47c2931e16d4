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
	"time"
	"unicode/utf8"

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

// A table is a CSV whose header is read and whose columns are known.
type table struct {
	obj    *objstore.Object
	about  About
	say    CSVOptions
	zone   *time.Location // of local times; nil: UTC
	packed packing
	comma  byte
	said   bool     // the first line says which separator there is
	names  []string // names of all columns
	width  int      // number of columns, with those of the stamps

	times      []int     // the columns whose cells make a stamp
	marks      []string  // what stands before each of them but the first, and behind the last; nil: one column
	parts      []dayPart // what the cells of each of them have; set if marks are
	joined     string    // format of the joined cells; "": found out
	name       string    // name of the column of the stamps, for people
	call       string    // the same without a unit or a format in brackets
	iso        bool
	read       reading
	layout     *layout    // how stamps are read that are neither numbers nor ISO 8601
	sure       bool       // the user said so
	unnamed    bool       // no column has a name for stamps
	others     []string   // columns that have such a name, too
	maybe      form       // the form that all stamps so far could have
	epoch      bool       // the stamps count from 1970
	since      bool       // a warning tells that they count from 1970
	out        []bool     // columns that the user or the stamps leave out
	tracks     []int      // track of each column, -1: none
	ways       []grouping // of numbers with marks between thousands, of each column
	firstLine  int64      // line number of the first values
	firstStamp string
	from       int64 // the second that is time 0
	digits     int   // ticks are 10^-digits of a second
	sorts      bool  // rows are put in order
	asked      bool  // since the user says so
	skip       int64 // lines up to and with the header, and the units below it
	title      int64 // the first line of one cell above it
	titles     int   // number of such lines
}

// About implements Series.
func (t *table) About() About { return t.about }

// openCSV reads the whole text once. The last line may still decide whether a column's
// values are whole and how fine the stamps are.
func openCSV(ctx context.Context, obj *objstore.Object, packed packing, say CSVOptions) (Series, error) {
	t := &table{obj: obj, packed: packed, say: say, about: About{Format: formatCSV, Bytes: obj.Size()}}
	var err error
	if t.zone, err = ParseZone(say.Zone); err != nil {
		return nil, err
	}
	r := &firstReading{t: t}
	err = t.lines(ctx, 0, func(n int64, line string, _ int64) error {
		if t.width == 0 {
			return t.header(n, line)
		}
		return r.learn(n, line)
	})
	if err != nil {
		return nil, err
	}
	if t.width == 0 && t.titles > 0 {
		return nil, t.oneColumn()
	}
	if t.width == 0 {
		return nil, kit.Fail("csv", obj.Info().Key, -1, kit.Corrupt("no line with the names of columns"))
	}
	if err := r.noUnits(); err != nil {
		return nil, err
	}
	if t.about.Rows == 0 {
		return nil, kit.Fail("csv", obj.Info().Key, -1, kit.Corrupt("a header and no line of values"))
	}
	if err := t.doubtful(); err != nil {
		return nil, err
	}
	c := t.decide(r.may)
	if err := t.order(c); err != nil {
		return nil, err
	}
	t.from = c.span.first.sec
	if t.sorts {
		t.from = c.span.early.sec
	}
	if err := t.choose(r.cols); err != nil {
		return nil, kit.Fail("csv", obj.Info().Key, -1, err)
	}
	t.fractions(&c.span)
	t.early()
	t.settle(&c.span)
	t.about.Warnings = append(t.about.Warnings, c.clock.remarks()...)
	return t.inOrder(t), nil
}

// header takes a line for the names of the columns, unless it is a title.
func (t *table) header(n int64, line string) error {
	if line == "" {
		return nil
	}
	cells, err := t.split(nil, line)
	if err != nil {
		return err
	}
	if len(cells) > MaxTracks+1 {
		return kit.TooLarge("%d columns, over %d", len(cells), MaxTracks)
	}
	if len(cells) < 2 { // a line of a title
		if t.title == 0 {
			t.title = n
		}
		if t.titles++; t.titles > maxTitles {
			return t.oneColumn()
		}
		return nil
	}
	values, empty := 0, 0
	for i, c := range cells {
		if cells[i] = strings.TrimSpace(c); !utf8.ValidString(cells[i]) {
			cells[i] = latin(cells[i])
		}
		if t.isValue(cells[i]) {
			values++
		}
		if cells[i] == "" {
			empty++
		}
	}
	if len(cells) > 2 && empty == len(cells)-1 && values == empty && cells[0] != "" { // a title, as spreadsheets write it above a table
		return nil
	}
	if values == len(cells) {
		return kit.Corrupt("numbers where the names of the columns should be: the first line must name them")
	}
	t.width, t.skip, t.names = len(cells), n, slices.Clone(cells)
	return nil
}

// maxTitles is how many lines of one cell may stand above the header.
const maxTitles = 32

// oneColumn is the error for a text without a header of several columns.
func (t *table) oneColumn() error {
	off := int64(-1)
	if t.title == 1 {
		off = 0
	}
	return kit.Fail("csv", fmt.Sprintf("line %d", t.title), off, kit.Corrupt("one column, want a column of times and one of values at least"))
}

// isValue reports whether a cell of the first line is a number, a stamp or empty, and
// so not the name of a column.
func (t *table) isValue(cell string) bool {
	if _, err := strconv.ParseFloat(t.plain(cell), 64); err == nil || isMissing(cell) {
		return true
	}
	_, _, iso := parseISO(cell)
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

// A firstReading learns from all lines what the columns are.
type firstReading struct {
	t    *table
	room []string
	unit unitRow
	cols []csvColumn
	may  []*candidate // the ways to read the stamps that all stamps so far allow
}

// learn takes in one line of values.
func (r *firstReading) learn(n int64, line string) error {
	t := r.t
	if t.blank(line) {
		return nil
	}
	cells, err := t.split(r.room[:0], line)
	if err != nil {
		return err
	}
	r.room = cells
	if t.about.Rows == 0 {
		if r.mayBeUnits(n, cells) {
			return nil
		}
		if err := r.units(cells); err != nil {
			return err
		}
	}
	return r.values(n, cells, line[0] == '"')
}

// values takes in the cells of a line. quoted says that the first one is.
func (r *firstReading) values(n int64, cells []string, quoted bool) error {
	t := r.t
	first := t.about.Rows == 0
	if first {
		if t.firstLine = n; len(cells) == t.width+1 && quoted { // R leaves out the name of its row names, which are quoted
			t.names, t.width = append([]string{""}, t.names...), t.width+1
		}
	}
	cells, err := t.fit(cells)
	if err != nil {
		return err
	}
	if first {
		if r.cols, err = t.begin(cells); err != nil {
			return err
		}
		r.unitOfTimes(cells)
	}
	if err := r.stamp(t.stampOf(cells), n); err != nil {
		return err
	}
	if first {
		if err := r.unknownUnit(); err != nil {
			return err
		}
	}
	for i, cell := range cells {
		if t.out[i] {
			continue
		}
		if cell = strings.TrimSpace(cell); isMissing(cell) {
			continue
		}
		if err := r.cols[i].learn(t.names[i], n, cell, t.plain(cell)); err != nil {
			return err
		}
	}
	t.about.Rows++
	return nil
}

// fit checks the number of cells. Empty cells beyond the last column are no matter.
func (t *table) fit(cells []string) ([]string, error) {
	for len(cells) > t.width && strings.TrimSpace(cells[len(cells)-1]) == "" {
		cells = cells[:len(cells)-1]
	}
	if len(cells) != t.width {
		return nil, kit.Corrupt("%d cells, the header has %d", len(cells), t.width)
	}
	return cells, nil
}

// stampOf is the text of a line's stamp.
func (t *table) stampOf(cells []string) string {
	text := strings.TrimSpace(cells[t.times[0]])
	if t.marks == nil {
		return text
	}
	text = whole(text)
	for i, c := range t.times[1:] {
		text += t.marks[i] + t.parts[i+1].text(cells[c])
	}
	return text + t.marks[len(t.marks)-1]
}

// isMissing reports whether a cell is empty or has a word that means so. "nan" is a
// value.
func isMissing(cell string) bool {
	if len(cell) > 4 {
		return false
	}
	switch cell {
	case "", "NA", "N/A", "na", "n/a", "null", "NULL", "None", "-", "--", ".", "?", "#N/A", "#NA", "<NA>":
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
	t.about.Columns, t.about.Times = t.names, t.times
	if t.epoch && t.from < oldest && !t.iso && !t.since { // an unset clock, or another kind of number
		t.epoch = false
	}
	t.epoch = t.epoch || t.sure && t.read.shift > 0 && t.from >= oldest
	if t.dated() || t.epoch {
		t.about.Origin = zoomcache.OriginOf(stamp{sec: t.from}.time())
	} else {
		t.from = 0
	}
	far := max(abs(span.low-t.from), abs(span.high-t.from))
	t.digits = min(span.digits, maxDigits(far))
	if span.finer || t.digits < span.digits {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("stamps finer than %s s are rounded down to it", strconv.FormatFloat(math.Pow10(-t.digits), 'g', -1, 64)))
	}
	if t.zone != nil && !t.dated() {
		t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("the time zone %s says nothing about times that count", t.zone))
	}
	for i := range t.about.Tracks {
		t.about.Tracks[i].Rate = zoomcache.Rate{Num: pow10(t.digits), Den: 1}
	}
}

// place is where in the file something is, for people.
func (t *table) place(n int64) string {
	if t.about.Format == formatParquet {
		return fmt.Sprintf("row %d", n)
	}
	return fmt.Sprintf("line %d", n)
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
	clock := zoneClock{zone: t.zone}
	send := func(done int64) error {
		b.Done = done
		err := f(b)
		for i := range b.Columns {
			c := &b.Columns[i]
			v := &c.Values
			c.Stamps, c.rows = c.Stamps[:0], c.rows[:0]
			v.N, v.Bool, v.F64, v.I64, v.U64 = 0, v.Bool[:0], v.F64[:0], v.I64[:0], v.U64[:0]
		}
		n, b.times = 0, b.times[:0]
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
		if err := t.row(&room, line, &clock, b); err != nil {
			return err
		}
		if n++; n < window {
			return nil
		}
		return send(end)
	})
	if err != nil || n == 0 {
		return err
	}
	return send(t.about.Bytes)
}

// row adds the values of a line to a block.
func (t *table) row(room *[]string, line string, clock *zoneClock, b *Block) error {
	cells, err := t.split((*room)[:0], line)
	if err != nil {
		return err
	}
	*room = cells
	if cells, err = t.fit(cells); err != nil {
		return err
	}
	s, ok := t.time(t.layout, clock, t.stampOf(cells))
	if !ok {
		return errChanged
	}
	at := s.ticks(t.from, t.digits)
	if t.sorts {
		b.times = append(b.times, at)
	}
	for i, cell := range cells {
		k := t.tracks[i]
		if k < 0 {
			continue
		}
		if cell = strings.TrimSpace(cell); isMissing(cell) {
			continue
		}
		if digits, _, ok := t.ways[i].number(cell); ok && t.ways[i].group != 0 {
			cell = digits
		} else {
			cell = t.plain(cell)
		}
		c := &b.Columns[k]
		c.Stamps = append(c.Stamps, at)
		if t.sorts {
			c.rows = append(c.rows, int32(len(b.times)-1))
		}
		if err := c.put(cell); err != nil {
			return err
		}
	}
	return nil
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
