package render

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
)

// Summaries are the formats that Points writes.
func Summaries() []string { return []string{JSON, CSV, Text} }

// Points writes points of a level of a track. each hands them over; a count below 0 is
// not known.
func Points(out io.Writer, k *zoomcache.Track, level int, format string, each func(put func(p *zoomindex.Point) error) error) error {
	p := &pointWriter{w: bufio.NewWriterSize(out, FileBuffer), form: format, k: k, level: level}
	if err := p.begin(); err != nil {
		return err
	}
	if err := each(p.point); err != nil {
		return err
	}
	if err := p.end(); err != nil {
		return err
	}
	return p.w.Flush()
}

// A pointWriter writes points in one of the formats.
type pointWriter struct {
	w     *bufio.Writer
	form  string
	k     *zoomcache.Track
	level int
	n     int
	t     *human.Table
	buf   []byte
}

// pointColumns are the columns of a point, or of one of its channels.
func pointColumns() []string {
	return []string{"min", "max", "mean", "rms", "first", "last", "count"}
}

func (p *pointWriter) begin() error {
	switch p.form {
	case JSON:
		p.buf = append(p.buf, `{"track":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.k.Number), 10)
		p.buf = append(p.buf, `,"level":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.level), 10)
		p.buf = append(p.buf, `,"points":[`...)
		return p.flush()
	case CSV:
		_, err := p.w.WriteString(strings.Join(p.head(), ",") + "\n")
		return err
	}
	head := p.head()
	for i := range head {
		head[i] = ">" + strings.ToUpper(head[i])
	}
	p.t = human.NewTable(head...)
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
func (p *pointWriter) point(v *zoomindex.Point) error {
	p.n++
	if p.form == JSON {
		p.json(v)
		return p.flush()
	}
	cells := []string{plainFloat(p.k.Rate.Seconds(v.Entry)), plainFloat(p.k.Rate.Seconds(v.Exit)),
		strconv.FormatInt(v.Entry, 10), strconv.FormatInt(v.Exit, 10)}
	for c := range v.Channels {
		line := slices.Clone(cells)
		if p.k.Codec.Channels > 0 {
			line = append(line, strconv.Itoa(c))
		}
		for _, text := range p.numbers(v, c) {
			line = append(line, strings.Trim(strings.TrimPrefix(text, "null"), `"`))
		}
		if p.form == CSV {
			p.buf = append(append(p.buf, strings.Join(line, ",")...), '\n')
			continue
		}
		if p.t.Add(line...); p.t.Len() >= human.LongTable {
			if err := p.t.Print(p.w); err != nil {
				return err
			}
		}
	}
	return p.flush()
}

func (p *pointWriter) json(v *zoomindex.Point) {
	if p.n > 1 {
		p.buf = append(p.buf, ',')
	}
	p.buf = append(p.buf, "\n{\"t0\":"...)
	p.buf = append(p.buf, jsonFloat(p.k.Rate.Seconds(v.Entry))...)
	p.buf = append(p.buf, `,"t1":`...)
	p.buf = append(p.buf, jsonFloat(p.k.Rate.Seconds(v.Exit))...)
	p.buf = append(p.buf, `,"entry":`...)
	p.buf = strconv.AppendInt(p.buf, v.Entry, 10)
	p.buf = append(p.buf, `,"exit":`...)
	p.buf = strconv.AppendInt(p.buf, v.Exit, 10)
	if p.k.Codec.Channels == 0 {
		p.buf = append(p.buf, ',')
		p.fields(v, 0)
		p.buf = append(p.buf, '}')
		return
	}
	p.buf = append(p.buf, `,"channels":[`...)
	for c := range v.Channels {
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
func (p *pointWriter) fields(v *zoomindex.Point, c int) {
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
func (p *pointWriter) numbers(v *zoomindex.Point, c int) [7]string {
	s := &v.Channels[c]
	mean, rms, n := "null", "null", "null"
	switch p.k.Codec.Kind {
	case zoomcache.Unit:
		n = strconv.Itoa(int(s.Count))
	case zoomcache.Bool:
		mean = jsonFloat(s.Expected)
	default:
		mean, rms = jsonFloat(s.Mean), jsonFloat(s.RMS)
	}
	if v.Count >= 0 {
		n = strconv.FormatInt(v.Count, 10)
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
	case JSON:
		_, err := io.WriteString(p.w, "]}\n")
		return err
	case Text:
		return p.t.Print(p.w)
	}
	return nil
}
