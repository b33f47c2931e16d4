package zoom

import (
	"context"
	"slices"

	"github.com/farread/farread/functions/internal/parquet"
	"github.com/farread/farread/objstore"
)

// A Glance is what the footer and the first row of a Parquet file tell.
type Glance struct {
	Rows     int64
	Columns  []GlanceColumn
	Sort     bool     // its times go back: Open wants CSVOptions.Sort
	Warnings []string // those of the About that Open gives, as far as can be seen
	Err      error    // why Open makes no series of it; nil: it does, as far as can be seen
}

// A GlanceColumn is a column, and what Open makes of it.
type GlanceColumn struct {
	Name  string
	Kind  string // its type in words
	Time  bool   // it has the times, alone or with others
	Track bool   // it becomes a track
}

// glanceTimes is how long the times of a Parquet file may be that LookParquet reads.
const glanceTimes = 64 << 10

// LookParquet tells the columns of a Parquet file, and which of them Open takes for the times. It
// reads the footer, of the columns of numbers and texts the first page, and all times if they take up to 64 KiB there. Err of the result says what is wrong
// with the columns; the error returned, that it is no Parquet file or a broken one.
func LookParquet(ctx context.Context, obj *objstore.Object, o Options) (Glance, error) {
	f, err := parquet.Open(ctx, obj)
	if err != nil {
		return Glance{}, err
	}
	g := Glance{Rows: f.Rows()}
	for _, c := range f.Columns() {
		g.Columns = append(g.Columns, GlanceColumn{Name: c.Name, Kind: c.Kind})
	}
	o.Table.Sort = true
	s, err := beginParquet(ctx, obj, f, o.Table)
	switch {
	case err != nil:
	case f.Bytes(s.t.times) <= glanceTimes:
		err = s.placed(s.readTimes(ctx))
	default:
		err = s.choose()
	}
	if err != nil {
		g.Err = err
		if s == nil {
			return g, nil
		}
	}
	g.Sort, g.Warnings = s.t.asked, s.t.about.Warnings
	for _, i := range s.t.times {
		g.Columns[i].Time = true
	}
	for i := range g.Columns {
		g.Columns[i].Track = g.Err == nil && !g.Columns[i].Time && slices.Contains(s.wanted, i)
	}
	return g, nil
}
