package render

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/human"
)

// Summaries are the formats that Points writes.
func Summaries() []string { return []string{JSON, CSV, Text} }

// Points writes points of a level of a track of the file of a header. each hands them
// over; a count below 0 is not known.
func Points(out io.Writer, h *zoomcache.Header, k *zoomcache.Track, level int, format string, each func(put func(p *zoomindex.Point) error) error) error {
	p := &pointWriter{w: bufio.NewWriterSize(out, FileBuffer), form: format, h: h, k: k, level: level}
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
	h     *zoomcache.Header
	k     *zoomcache.Track
	level int
	n     int
	t     *human.Table
	buf   []byte
}

// pointNames are the columns of a point, or of one of its channels.
var pointNames = [...]string{"min", "max", "mean", "rms", "first", "last", "count"}

func (p *pointWriter) begin() error {
	switch p.form {
	case JSON:
		p.buf = append(p.buf, `{"track":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.k.Number), 10)
		p.buf = append(p.buf, `,"level":`...)
		p.buf = strconv.AppendInt(p.buf, int64(p.level), 10)
		if utc, ok := p.h.Origin.UTC(); ok {
			p.buf = append(utc.AppendFormat(append(p.buf, `,"utc_origin":"`...), time.RFC3339Nano), '"')
		}
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
	return append(head, pointNames[:]...)
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
		for i := range pointNames {
			line = append(line, strings.Trim(strings.TrimPrefix(string(p.number(nil, v, c, i)), "null"), `"`))
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
	p.buf = appendFloat(p.buf, p.k.Rate.Seconds(v.Entry))
	p.buf = append(p.buf, `,"t1":`...)
	p.buf = appendFloat(p.buf, p.k.Rate.Seconds(v.Exit))
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
	for i, name := range pointNames {
		if i > 0 {
			p.buf = append(p.buf, ',')
		}
		p.buf = append(append(append(p.buf, '"'), name...), `":`...)
		p.buf = p.number(p.buf, v, c, i)
	}
}

// number appends the value of column i of pointNames, as JSON.
func (p *pointWriter) number(b []byte, v *zoomindex.Point, c, i int) []byte {
	s, kind := &v.Channels[c], p.k.Codec.Kind
	switch i {
	case 0:
		return appendNumber(b, s.Min)
	case 1:
		return appendNumber(b, s.Max)
	case 2, 3:
		switch {
		case kind == zoomcache.Bool && i == 2:
			return appendFloat(b, s.Expected)
		case kind == zoomcache.Unit || kind == zoomcache.Bool:
			return append(b, "null"...)
		case i == 2:
			return appendFloat(b, s.Mean)
		}
		return appendFloat(b, s.RMS)
	case 4:
		return appendNumber(b, s.First)
	case 5:
		return appendNumber(b, s.Last)
	}
	switch {
	case v.Count >= 0:
		return strconv.AppendInt(b, v.Count, 10)
	case kind == zoomcache.Unit:
		return strconv.AppendInt(b, int64(s.Count), 10)
	}
	return append(b, "null"...)
}

// appendNumber appends a number as JSON.
func appendNumber(b []byte, n zoomcache.Number) []byte {
	switch {
	case !n.Present():
		return append(b, "null"...)
	case n.Kind().Float():
		return appendFloat(b, n.Float())
	}
	if x, ok := n.Int(); ok {
		return strconv.AppendInt(b, x, 10)
	}
	return append(b, n.String()...)
}

// appendFloat appends a number as JSON, which has no word for infinity.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "null"...)
	case math.IsInf(f, 1):
		return append(b, `"inf"`...)
	case math.IsInf(f, -1):
		return append(b, `"-inf"`...)
	}
	return appendPlain(b, f)
}

// plainFloat is the shortest decimal that reads back as the same float64. If whole
// numbers are no longer exact it has an exponent: some readers of JSON take a number
// of digits alone for an integer, and that integer is another number.
func plainFloat(f float64) string { return string(appendPlain(nil, f)) }

// appendPlain appends plainFloat.
func appendPlain(b []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1<<53) {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, 64)
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
