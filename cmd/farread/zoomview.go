package main

import (
	"bufio"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/zoomcache"
)

// The formats that view writes.
const (
	viewJSON = "json"
	viewCSV  = "csv"
	viewText = "text"
)

// viewFormats are the formats for points of some width, or for stored summaries.
func viewFormats(width bool) []string {
	list := []string{viewJSON, viewCSV, viewText}
	if width {
		list = append(list, viewNpy, viewPeaks, viewDat, viewPNG, viewSVG)
	}
	return list
}

// A zoomView is the stored summaries of one level of a track.
type zoomView struct {
	timeRange

	t      *zoomContent
	k      *zoomcache.Track
	level  int
	format string
}

var _ selection = (*zoomView)(nil)

// pickView selects summaries.
func (t *zoomContent) pickView(ctx context.Context, s selector) (selection, error) {
	if s.has("width") {
		return t.pickWidth(ctx, s)
	}
	if s.has("bits") {
		return nil, usagef("--bits goes with --width")
	}
	k, err := t.track(s)
	if err != nil {
		return nil, err
	}
	if s.level < 1 {
		return nil, usagef("--level %d: 1 is the finest", s.level)
	}
	x := &zoomView{t: t, k: k, level: s.level, format: s.format}
	x.timeRange, err = t.within(ctx, k, s)
	return x, err
}

func (x *zoomView) total() int64 { return -1 }

func (x *zoomView) sink(out string) (sink.Sink, error) {
	if x.format == "" {
		x.format = viewText
		if out != "-" {
			x.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
		}
		if !slices.Contains(viewFormats(false), x.format) {
			return nil, usagef("%s: want a name in .json or .csv, or --format %s", printable(out), strings.Join(viewFormats(false), ", "))
		}
	}
	return x.t.a.byteSink(out)
}

func (x *zoomView) copy(ctx context.Context, s sink.Sink, b bar) error {
	w := bufio.NewWriterSize(s, fileBuffer)
	p := newPointWriter(w, x.format, x.k, x.level)
	if err := p.begin(); err != nil {
		return err
	}
	err := x.t.f.EachSummary(ctx, x.k.Number, x.level, x.first, x.last, func(s *zoomcache.Summary) error {
		b.add(s.Size())
		return p.point(viewPoint{s.Entry, s.Exit, -1, s.Channels})
	})
	if err == nil && p.n == 0 {
		err = x.nothing(ctx)
	}
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// nothing is the error for a view without summaries: the track has none of that level,
// or none in that time. It is nil if the track has no samples either, or the time lies
// in a gap.
func (x *zoomView) nothing(ctx context.Context) error {
	list, err := x.t.known(ctx)
	if err != nil {
		return err
	}
	c, ok := countOf(x.k, list)
	if !ok {
		return nil
	}
	var levels []string
	for i, n := range c.Levels {
		if n > 0 {
			levels = append(levels, strconv.Itoa(i+1))
		}
	}
	switch n := len(levels); {
	case n == 0:
		return usagef("--level %d: track %d has no stored summaries; --width makes points of its samples", x.level, x.k.Number)
	case slices.Contains(levels, strconv.Itoa(x.level)):
		return x.t.outside(x.k, x.timeRange, list)
	case n > 2 && levels[n-1] == strconv.Itoa(n):
		return usagef("--level %d: track %d has none; its levels: 1 to %d", x.level, x.k.Number, n)
	}
	return usagef("--level %d: track %d has none; its levels: %s", x.level, x.k.Number, strings.Join(levels, ", "))
}

// plan notes the requests that copy would make, as an upper bound: stored summaries
// lie all over the file.
func (x *zoomView) plan(ctx context.Context) error {
	plan, err := x.t.f.ExplainSummaries(ctx, x.k.Number, x.level, x.first, x.last)
	x.t.planned(plan)
	return err
}

// A viewPoint is the output for a span of samples.
type viewPoint struct {
	entry, exit int64
	count       int64 // of samples, -1 if nobody knows
	channels    []zoomcache.Stats
}

// A pointWriter writes points in one of the formats.
type pointWriter struct {
	w     *bufio.Writer
	form  string
	k     *zoomcache.Track
	level int
	n     int
	t     *table
	buf   []byte
}

func newPointWriter(w *bufio.Writer, form string, k *zoomcache.Track, level int) *pointWriter {
	return &pointWriter{w: w, form: form, k: k, level: level}
}

// pointColumns are the columns of a point, or of one of its channels.
func pointColumns() []string {
	return []string{"min", "max", "mean", "rms", "first", "last", "count"}
}

func (p *pointWriter) begin() error {
	switch p.form {
	case viewJSON:
		p.buf = append(p.buf, `{"track":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.k.Number), 10)
		p.buf = append(p.buf, `,"level":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.level), 10)
		p.buf = append(p.buf, `,"points":[`...)
		return p.flush()
	case viewCSV:
		_, err := p.w.WriteString(strings.Join(p.head(), ",") + "\n")
		return err
	}
	head := p.head()
	for i := range head {
		head[i] = ">" + strings.ToUpper(head[i])
	}
	p.t = newTable(head...)
	return nil
}

func (p *pointWriter) head() []string {
	head := []string{"t0", "t1", "entry", "exit"}
	if p.k.Codec.Channels > 0 {
		head = append(head, "channel")
	}
	return append(head, pointColumns()...)
}

func (p *pointWriter) flush() error {
	_, err := p.w.Write(p.buf)
	p.buf = p.buf[:0]
	return err
}

// point writes one point.
func (p *pointWriter) point(v viewPoint) error {
	p.n++
	if p.form == viewJSON {
		p.json(v)
		return p.flush()
	}
	cells := []string{plainFloat(p.k.Rate.Seconds(v.entry)), plainFloat(p.k.Rate.Seconds(v.exit)),
		strconv.FormatInt(v.entry, 10), strconv.FormatInt(v.exit, 10)}
	for c := range v.channels {
		line := slices.Clone(cells)
		if p.k.Codec.Channels > 0 {
			line = append(line, strconv.Itoa(c))
		}
		for _, text := range p.numbers(v, c) {
			line = append(line, strings.Trim(strings.TrimPrefix(text, "null"), `"`))
		}
		if p.form == viewCSV {
			p.buf = append(append(p.buf, strings.Join(line, ",")...), '\n')
			continue
		}
		if p.t.add(line...); p.t.Len() >= longTable {
			if err := p.t.write(p.w); err != nil {
				return err
			}
		}
	}
	return p.flush()
}

func (p *pointWriter) json(v viewPoint) {
	if p.n > 1 {
		p.buf = append(p.buf, ',')
	}
	p.buf = append(p.buf, "\n{\"t0\":"...)
	p.buf = append(p.buf, jsonFloat(p.k.Rate.Seconds(v.entry))...)
	p.buf = append(p.buf, `,"t1":`...)
	p.buf = append(p.buf, jsonFloat(p.k.Rate.Seconds(v.exit))...)
	p.buf = append(p.buf, `,"entry":`...)
	p.buf = strconv.AppendInt(p.buf, v.entry, 10)
	p.buf = append(p.buf, `,"exit":`...)
	p.buf = strconv.AppendInt(p.buf, v.exit, 10)
	if p.k.Codec.Channels == 0 {
		p.buf = append(p.buf, ',')
		p.fields(v, 0)
		p.buf = append(p.buf, '}')
		return
	}
	p.buf = append(p.buf, `,"channels":[`...)
	for c := range v.channels {
		if c > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(p.buf, '{')
		p.fields(v, c)
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, "]}"...)
}

// fields writes the numbers of a channel with their names.
func (p *pointWriter) fields(v viewPoint, c int) {
	numbers := p.numbers(v, c)
	for i, name := range pointColumns() {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(append(append(p.buf, '"'), name...), `":`...)
		p.buf = append(p.buf, numbers[i]...)
	}
}

// numbers are the values of pointColumns, as JSON.
func (p *pointWriter) numbers(v viewPoint, c int) [7]string {
	s := &v.channels[c]
	mean, rms, n := "null", "null", "null"
	switch p.k.Codec.Kind {
	case zoomcache.Unit:
		n = strconv.Itoa(int(s.Count))
	case zoomcache.Bool:
		mean = jsonFloat(s.Expected)
	default:
		mean, rms = jsonFloat(s.Mean), jsonFloat(s.RMS)
	}
	if v.count >= 0 {
		n = strconv.FormatInt(v.count, 10)
	}
	return [7]string{jsonNumber(s.Min), jsonNumber(s.Max), mean, rms, jsonNumber(s.First), jsonNumber(s.Last), n}
}

func jsonNumber(n zoomcache.Number) string {
	switch {
	case !n.Present():
		return "null"
	case n.Kind().Float():
		return jsonFloat(n.Float())
	}
	return n.String()
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "null"
	case math.IsInf(f, 1):
		return `"inf"`
	case math.IsInf(f, -1):
		return `"-inf"`
	}
	return plainFloat(f)
}

// plainFloat is the shortest decimal that reads back as the same float64. If whole
// numbers are no longer exact it has an exponent: some readers of JSON take a number
// of digits alone for an integer, and that integer is another number.
func plainFloat(f float64) string {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1<<53) {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

func (p *pointWriter) end() error {
	switch p.form {
	case viewJSON:
		_, err := io.WriteString(p.w, "]}\n")
		return err
	case viewText:
		return p.t.write(p.w)
	}
	return nil
}
