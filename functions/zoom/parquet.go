package zoom

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/functions/internal/parquet"
	"github.com/farread/farread/objstore"
)

const (
	formatParquet = "parquet"
	// timeRows is how many times are read together at first.
	timeRows = 4096
	// firstSecond and lastSecond are those of the years 1 to 9999.
	firstSecond, lastSecond = -62_135_596_800, 253_402_300_799
)

// columnar is a Parquet file of which the columns are known. How its times are read, a
// table says as for a CSV.
type columnar struct {
	t      *table
	f      *parquet.File
	native bool  // the times are a column of times, and not texts or numbers
	wanted []int // columns that are read: those of the times, then the tracks
}

// About implements Series.
func (s *columnar) About() About { return s.t.about }

// openParquet reads the footer, the first row, and the columns of the times. Types of
// the other columns stand in the footer.
func openParquet(ctx context.Context, obj *objstore.Object, say CSVOptions) (Series, error) {
	f, err := parquet.Open(ctx, obj)
	if err != nil {
		return nil, err
	}
	s, err := beginParquet(ctx, obj, f, say)
	if err != nil {
		return nil, err
	}
	if err := s.readTimes(ctx); err != nil {
		return nil, s.placed(err)
	}
	return s.t.inOrder(s), nil
}

// placed is an error with the object as its place, if it has none.
func (s *columnar) placed(err error) error {
	if unplaced(err) {
		err = kit.Fail(formatParquet, s.t.obj.Info().Key, -1, err)
	}
	return err
}

// beginParquet reads the first row, which tells the columns of the times.
func beginParquet(ctx context.Context, obj *objstore.Object, f *parquet.File, say CSVOptions) (*columnar, error) {
	t := &table{obj: obj, say: say, comma: ',', width: len(f.Columns()), about: About{Format: formatParquet, Bytes: obj.Size()}}
	s := &columnar{t: t, f: f}
	var err error
	if t.zone, err = ParseZone(say.Zone); err != nil {
		return nil, err
	}
	bad := func(err error) (*columnar, error) { return nil, s.placed(err) }
	switch {
	case t.width == 0:
		return bad(kit.Corrupt("no columns"))
	case f.Rows() == 0:
		return bad(kit.Corrupt("columns and no row of values"))
	case t.width > MaxTracks+1:
		return bad(kit.TooLarge("%d columns, over %d", t.width, MaxTracks))
	}
	for _, c := range f.Columns() {
		t.names = append(t.names, c.Name)
	}
	cells, err := s.firstRow(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := t.begin(cells); err != nil {
		return bad(err)
	}
	for _, i := range t.times {
		if c := f.Columns()[i]; c.Type == parquet.Other {
			return bad(kit.Unsupported("column %.60q has no times, but %s; %s says otherwise", c.Name, c.Kind, sayColumn))
		}
	}
	return s, nil
}

var errEnough = errors.New("enough")

// firstRow returns the texts of the first row, by which the column of the times is found.
// Any time stands for the times of a column of times.
func (s *columnar) firstRow(ctx context.Context) ([]string, error) {
	cells := make([]string, s.t.width)
	if s.t.say.Time != "" {
		return cells, nil
	}
	var read []int
	for i, c := range s.f.Columns() {
		switch c.Type {
		case parquet.Other:
		case parquet.Time:
			cells[i] = "2000-01-01"
		case parquet.Clock:
			cells[i] = "12:00"
		default:
			read = append(read, i)
		}
	}
	err := s.f.Each(ctx, read, 1, func(b *parquet.Batch) error {
		for k, i := range read {
			cells[i] = textOf(&s.f.Columns()[i], &b.Columns[k], 0, 0)
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return cells, err
}

// readTimes learns from all times how they are read, and chooses the tracks.
func (s *columnar) readTimes(ctx context.Context) error {
	t := s.t
	s.native = t.marks == nil && s.f.Columns()[t.times[0]].Type == parquet.Time
	if s.native {
		if t.iso = true; t.say.Unit+t.say.Format != "" {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q says itself how its times are meant: --times and --time-format say nothing about them", t.name))
		}
		t.read, t.sure, t.say.Unit, t.say.Format = reading{}, false, "", ""
	}
	r := firstReading{t: t}
	clock := zoneClock{zone: t.zone}
	if s.native {
		r.may = []*candidate{{}}
	}
	cells := make([]string, t.width)
	t.firstLine = 1
	err := s.f.Each(ctx, t.times, timeRows, func(b *parquet.Batch) error {
		at := make([]int, len(t.times))
		for i := range b.Rows {
			row := b.Row + int64(i) + 1
			err := s.learn(&r, b, i, at, cells, &clock, row)
			if unplaced(err) {
				err = kit.Fail(formatParquet, t.place(row), -1, err)
			}
			if err != nil {
				return err
			}
			t.about.Rows++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.doubtful(); err != nil {
		return err
	}
	c := r.may[0]
	if s.native {
		c.clock = clock
	} else {
		c = t.decide(r.may)
	}
	if err := t.order(c); err != nil {
		return err
	}
	t.from = c.span.first.sec
	if t.sorts {
		t.from = c.span.early.sec
	}
	if err := s.choose(); err != nil {
		return err
	}
	t.fractions(&c.span)
	t.early()
	t.settle(&c.span)
	t.about.Warnings = append(t.about.Warnings, c.clock.remarks()...)
	return nil
}

// learn takes in the time of a row. at is where the values of the row are.
func (s *columnar) learn(r *firstReading, b *parquet.Batch, i int, at []int, cells []string, clock *zoneClock, row int64) error {
	if s.native {
		x, err := s.stamp(b, i, at, clock)
		if err == nil {
			r.may[0].span.add(x, s.t.about.Rows == 0, row, "")
		}
		return err
	}
	s.texts(b, i, at, cells)
	return r.stamp(s.t.stampOf(cells), row)
}

// stamp is the time of a row in a column of times.
func (s *columnar) stamp(b *parquet.Batch, i int, at []int, clock *zoneClock) (stamp, error) {
	v := &b.Columns[0]
	if v.Null[i] {
		return stamp{}, kit.Corrupt("column %.60q has no time there; --time takes another column", s.t.name)
	}
	x := stamp{sec: v.Int[at[0]], nano: v.Nano[at[0]]}
	at[0]++
	if x.sec < firstSecond || x.sec > lastSecond {
		return stamp{}, kit.Corrupt("column %.60q: a time %d s from 1970 lies in no year from 1 to 9999", s.t.name, x.sec)
	}
	if s.f.Columns()[s.t.times[0]].Local {
		x = clock.utc(x)
	}
	return x, nil
}

// texts puts the texts of the times of a row into their cells.
func (s *columnar) texts(b *parquet.Batch, i int, at []int, cells []string) {
	for k, c := range s.t.times {
		cells[c] = textOf(&s.f.Columns()[c], &b.Columns[k], i, at[k])
		if !b.Columns[k].Null[i] {
			at[k]++
		}
	}
}

// textOf is how a CSV has a value, that of row i, which is number at of those that are
// there; "" for one that is not.
func textOf(c *parquet.Column, v *parquet.Values, i, at int) string {
	if v.Null[i] {
		return ""
	}
	switch c.Type {
	case parquet.Text:
		return strings.TrimSpace(v.Text[at])
	case parquet.Time:
		text := time.Unix(v.Int[at], int64(v.Nano[at])).UTC().Format("2006-01-02T15:04:05.999999999")
		if text = strings.TrimSuffix(text, "T00:00:00"); !c.Local {
			text += "Z"
		}
		return text
	case parquet.Clock:
		return time.Unix(v.Int[at], int64(v.Nano[at])).UTC().Format("15:04:05.999999999")
	case parquet.Bool:
		return strconv.FormatBool(v.Int[at] != 0)
	case parquet.U64:
		return strconv.FormatUint(uint64(v.Int[at]), 10)
	case parquet.F32:
		return strconv.FormatFloat(v.Float[at], 'f', -1, 32)
	case parquet.F64:
		return strconv.FormatFloat(v.Float[at], 'f', -1, 64)
	default:
		return strconv.FormatInt(v.Int[at], 10)
	}
}

// kindOfType is the type of a track.
func kindOfType(t parquet.Type) (zoomcache.Kind, bool) {
	k, ok := map[parquet.Type]zoomcache.Kind{parquet.Bool: zoomcache.Bool, parquet.I8: zoomcache.I8, parquet.I16: zoomcache.I16, parquet.I32: zoomcache.I32,
		parquet.I64: zoomcache.I64, parquet.U8: zoomcache.U8, parquet.U16: zoomcache.U16, parquet.U32: zoomcache.U32, parquet.U64: zoomcache.U64,
		parquet.F32: zoomcache.F32, parquet.F64: zoomcache.F64}[t]
	return k, ok
}

// choose makes a track of each column of numbers, with their type. A remark names the
// columns that it passes over.
func (s *columnar) choose() error {
	t := s.t
	s.wanted = append([]int(nil), t.times...)
	var names, over, indexes []string
	for i, c := range s.f.Columns() {
		_, number := kindOfType(c.Type)
		switch {
		case t.out[i]:
		case !number && len(t.say.Columns) > 0:
			return kit.Unsupported("column %.60q has no numbers, but %s", c.Name, c.Kind)
		case !number:
			over = append(over, fmt.Sprintf("%s (%s)", c.Name, c.Kind))
		case strings.HasPrefix(c.Name, "__index_level_") && len(t.say.Columns) == 0:
			indexes = append(indexes, c.Name)
		default:
			s.wanted, names = append(s.wanted, i), append(names, c.Name)
		}
	}
	if len(names) == 0 {
		if len(over) > 0 {
			return kit.Unsupported("no column of numbers beside the times: there are %s", listed(over))
		}
		return kit.Unsupported("no column of numbers beside the times")
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"columns without numbers, which are passed over", over}, {"index of pandas, which is passed over", indexes}} {
		if len(x.list) > 0 {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("%s: %s", x.what, listed(x.list)))
		}
	}
	t.aboutTimes()
	t.about.Tracks = tracks(len(names), zoomcache.Codec{}, zoomcache.Rate{}, names, "")
	for k, i := range s.wanted[len(t.times):] {
		kind, _ := kindOfType(s.f.Columns()[i].Type)
		t.about.Tracks[k].Codec, t.about.Tracks[k].Variable = zoomcache.Codec{Kind: kind}, true
		const exact = 15 // digits that each f64 keeps
		if n := s.f.Columns()[i].Digits; n > exact {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q: decimals of up to %d digits, of which f64 keeps 15 to 17: longer values are rounded", t.names[i], n))
		}
		if s.f.Nulls(i) == s.f.Rows() {
			t.about.Warnings = append(t.about.Warnings, fmt.Sprintf("column %.60q has no values", t.names[i]))
		}
	}
	t.about.Bytes = s.f.Bytes(s.wanted)
	return nil
}

// Each implements Series.
func (s *columnar) Each(ctx context.Context, window int, f func(*Block) error) error {
	t := s.t
	out := &Block{Columns: make([]Column, len(t.about.Tracks))}
	for i := range out.Columns {
		out.Columns[i].Values.Kind = t.about.Tracks[i].Codec.Kind
	}
	clock := zoneClock{zone: t.zone}
	cells := make([]string, t.width)
	stamps := make([]int64, 0, window)
	return s.f.Each(ctx, s.wanted, window, func(b *parquet.Batch) error {
		stamps = stamps[:0]
		at := make([]int, len(t.times))
		for i := range b.Rows {
			x, ok := stamp{}, true
			if s.native {
				var err error
				if x, err = s.stamp(b, i, at, &clock); err != nil {
					return errChanged
				}
			} else {
				s.texts(b, i, at, cells)
				x, ok = t.time(t.layout, &clock, t.stampOf(cells))
			}
			if !ok {
				return errChanged
			}
			stamps = append(stamps, x.ticks(t.from, t.digits))
		}
		if t.sorts {
			out.times = stamps
		}
		for i := range out.Columns {
			out.Columns[i].take(&b.Columns[len(t.times)+i], stamps)
		}
		out.Done = b.Done
		return f(out)
	})
}

// take replaces the values of a column by those of a batch, each with the time of its row.
func (c *Column) take(from *parquet.Values, stamps []int64) {
	c.Stamps, c.rows = c.Stamps[:0], c.rows[:0]
	for i, null := range from.Null {
		if !null {
			c.Stamps = append(c.Stamps, stamps[i])
			c.rows = append(c.rows, int32(i))
		}
	}
	if c.Stamps == nil {
		c.Stamps = []int64{}
	}
	v := &c.Values
	v.N = len(c.Stamps)
	switch v.Kind {
	case zoomcache.Bool:
		v.Bool = sized(v.Bool, v.N)
		for i, x := range from.Int {
			v.Bool[i] = x != 0
		}
	case zoomcache.F32:
		v.F32 = sized(v.F32, v.N)
		for i, x := range from.Float {
			v.F32[i] = float32(x)
		}
	case zoomcache.F64:
		v.F64 = append(v.F64[:0], from.Float...)
	case zoomcache.I8:
		narrowed(&v.I8, from.Int)
	case zoomcache.I16:
		narrowed(&v.I16, from.Int)
	case zoomcache.I32:
		narrowed(&v.I32, from.Int)
	case zoomcache.U8:
		narrowed(&v.U8, from.Int)
	case zoomcache.U16:
		narrowed(&v.U16, from.Int)
	case zoomcache.U32:
		narrowed(&v.U32, from.Int)
	case zoomcache.U64:
		narrowed(&v.U64, from.Int)
	default:
		narrowed(&v.I64, from.Int)
	}
}

func narrowed[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](dst *[]T, from []int64) {
	*dst = sized(*dst, len(from))
	for i, x := range from {
		(*dst)[i] = T(x)
	}
}
