package peek

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A text is the beginning of a text.
type text struct {
	p     []byte // unpacked, and no part of a line at its end unless there is one line alone
	all   bool   // this is all of the text
	share float64
}

// beginning cuts a text behind its last whole line. share is how much of the object it was made of.
func beginning(p []byte, all bool, share float64) text {
	n := len(p)
	if !all {
		end := []byte("\n")
		switch {
		case len(p) > 1 && (p[0] == 0xff && p[1] == 0xfe || p[1] == 0): // UTF-16
			end = []byte("\n\x00")
		case len(p) > 1 && (p[0] == 0xfe && p[1] == 0xff || p[0] == 0):
			end = []byte("\x00\n")
		}
		if i := bytes.LastIndex(p, end); i >= 0 {
			n = i + len(end)
		}
	}
	return text{p[:n], all, share * float64(n) / float64(max(len(p), 1))}
}

// lines is how many lines there are, or about how many.
func (t text) lines() int64 {
	n := int64(bytes.Count(t.p, []byte("\n")))
	if len(t.p) > 0 && t.p[len(t.p)-1] != '\n' {
		n++
	}
	return n
}

// count is a number of things in the text, of which the text has n.
func (t text) count(n int64) string {
	if t.all {
		return human.Count(n)
	}
	return "about " + human.Count(int64(float64(n)/max(t.share, 1e-12)))
}

// lines describes a text whose lines are packed.
func lines(format string, t text) (f Found, ok bool) {
	if len(t.p) == 0 || bytes.IndexByte(t.p, 0) >= 0 || !utf8.Valid(t.p) && t.all {
		return f, false
	}
	f = Found{Format: format, Pack: Items}
	f.add("lines", t.count(t.lines()))
	first, _, _ := bytes.Cut(t.p, []byte("\n"))
	f.add("first", human.Shorten(strings.TrimRight(strings.ToValidUTF8(string(first), "?"), "\r"), 120))
	return f, true
}

// table describes a CSV by its first lines, as the packer of series reads them.
func table(ctx context.Context, name string, t text) (f Found, ok bool, err error) {
	ob, err := held(ctx, strings.ToLower(name), t.p)
	if err != nil {
		return f, false, err
	}
	s, err := zoom.Open(ctx, ob, zoom.Options{Table: zoom.CSVOptions{Sort: true}})
	switch {
	case foreign(err) && t.lines() < 2 && ext(name) != ".txt":
		return f, false, nil // nothing tells that it is a table
	case foreign(err):
		if f, ok = lines("text", t); ok && ext(name) != ".txt" {
			f.add("remark", "no series: "+reason(err))
		}
		return f, ok, nil
	case err != nil:
		return f, false, err
	}
	a := s.About()
	f = Found{Format: a.Format, Pack: Series, Sort: a.Back != ""}
	f.add("rows", t.count(a.Rows))
	f.columns(a)
	if !t.all {
		f.add("remark", "by the first "+human.Size(int64(len(t.p)))+"; pack reads all, and may find more")
	}
	return f, true, nil
}

// held is an object of bytes in memory.
func held(ctx context.Context, name string, p []byte) (*objstore.Object, error) {
	b := memstore.New(memstore.Config{})
	w, err := b.Create(ctx, name, objstore.PutOptions{})
	if err == nil {
		_, err = w.Write(p)
	}
	if err == nil {
		_, err = w.Commit(ctx)
	}
	if err != nil {
		return nil, err
	}
	return objstore.Open(ctx, b, name, objstore.OpenOptions{})
}

// columns tells what becomes of the columns of a table.
func (f *Found) columns(a zoom.About) {
	f.add("columns", human.Count(int64(len(a.Columns))))
	track := 0
	for i, name := range a.Columns {
		what := "passed over"
		switch {
		case slices.Contains(a.Times, i):
			what = "the times"
			if at, ok := a.Origin.UTC(); ok {
				what += ", from " + at.Format("2006-01-02T15:04:05.999999999Z")
			}
		case track < len(a.Tracks) && a.Tracks[track].Name == name:
			what = "a track of " + a.Tracks[track].Codec.String()
			track++
		}
		f.entry(Entry{name, -1, what})
	}
	for _, w := range a.Warnings {
		f.add("remark", w)
	}
}

// parquet describes a Parquet file by its footer and its first row.
func parquet(ctx context.Context, ob *objstore.Object) (f Found, ok bool, err error) {
	g, err := zoom.LookParquet(ctx, ob, zoom.Options{})
	if foreign(err) {
		return f, false, nil
	}
	if err != nil {
		return f, false, err
	}
	f = Found{Format: "parquet", Pack: Series, Sort: g.Sort}
	f.add("rows", human.Count(g.Rows))
	f.add("columns", human.Count(int64(len(g.Columns))))
	for _, c := range g.Columns {
		what := "passed over"
		switch {
		case c.Time:
			what = "the times"
		case c.Track:
			what = "a track"
		}
		what += " (" + c.Kind + ")"
		f.entry(Entry{c.Name, -1, what})
	}
	for _, w := range g.Warnings {
		f.add("remark", w)
	}
	if g.Err != nil {
		f.Pack = ""
		f.add("remark", "no series: "+reason(g.Err))
	}
	return f, true, nil
}

// reason is an error in words, without the name of the copy.
func reason(err error) string {
	if e := errors.Unwrap(err); e != nil {
		return e.Error()
	}
	return err.Error()
}
