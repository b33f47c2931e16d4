package zoom

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
)

const (
	// maxDraft is how many bytes a function writes into its temporary file, on a disk of
	// 512 MB.
	maxDraft = 384 << 20
	// maxPassed is how long a dataset may be that a function reads: all of it, where an upload
	// comes late or the index cannot tell how to go on.
	maxPassed = 1 << 30
	// passRate is the rate by which the time is estimated that the readings of a dataset take.
	passRate = 40 << 20
	// exact is the greatest integer up to which floats hold all of them.
	exact = 1 << 53
	// fine are the ticks a second of a dataset of tables: any time of another one is whole ticks.
	fine = 1_000_000_000
)

// join makes the series of an upload a part of the dataset To.
func (j *Job) join(ctx context.Context, src objstore.Bucket, u functions.Upload, s Series, o WriteOptions, layout, noteTag string) ([]objstore.Info, error) {
	g := &seriesGrower{s: s, o: o, still: func(context.Context) error { return nil }}
	if noteTag != "" {
		g.still = func(ctx context.Context) error { return kit.StillNoted(ctx, src, u.Key, noteTag) }
	}
	if err := g.look(ctx); err != nil {
		return nil, kit.Fail("upload", u.Key, -1, err)
	}
	joined := functions.Joined{Bucket: j.Out, Key: j.To, Layout: layout, Moved: func(rows int64) {
		if j.Late != nil {
			j.Late(u.Key, fmt.Sprintf("%d samples of %s lay behind its place and were moved", rows, j.To))
		}
	}}
	return joined.Publish(ctx, src, u, g)
}

// seriesGrower is a functions.Grower of one series.
type seriesGrower struct {
	s     Series
	o     WriteOptions
	still func(context.Context) error // fails if the series is not what it was
	rows  []int64                     // samples of each track
	far   int64                       // greatest distance of a stamp from time 0
	f     *zoomindex.File             // the dataset that was opened last
}

// look counts the samples, and refuses what would make the dataset another one if uploads
// came in another order.
func (g *seriesGrower) look(ctx context.Context) error {
	about := g.s.About()
	switch n := len(about.Tracks); {
	case n == 0:
		return kit.Unsupported("a series without tracks has nothing to append")
	case n > maxIndexed:
		return kit.Unsupported("%d tracks: a rule with append takes at most %d", n, maxIndexed)
	case !about.Tracks[0].Variable && (about.Origin.Den != 0 || g.o.Origin.Den != 0):
		return kit.Unsupported("it tells when it begins, and samples of a constant rate have no times of their own: a rule with append puts them behind each other, whatever was between. Leave its origin out, or make one file of each upload")
	case !about.Tracks[0].Variable:
		g.rows = []int64{about.Rows}
		return nil
	}
	g.rows = make([]int64, len(about.Tracks))
	return g.s.Each(ctx, zoomcache.DefaultWatermark, func(b *Block) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		for i := range b.Columns {
			c := &b.Columns[i]
			g.rows[i] += int64(len(c.Stamps))
			for _, at := range c.Stamps {
				g.far = max(g.far, abs(at))
			}
			if err := g.wide(c); err != nil {
				return fmt.Errorf("track %q: %w", about.Tracks[i].Name, err)
			}
		}
		return nil
	})
}

// wide refuses integers of a table that would change as floats.
func (g *seriesGrower) wide(c *Column) error {
	if g.o.Codec != nil || g.s.About().Format != formatCSV {
		return nil
	}
	for _, x := range c.Values.I64 {
		if x > exact || x < -exact {
			return kit.Unsupported("%d does not fit into f64, of which the tracks of appended tables are: say \"codec\" in the rule, as \"i64\"", x)
		}
	}
	for _, x := range c.Values.U64 {
		if x > exact {
			return kit.Unsupported("%d does not fit into f64, of which the tracks of appended tables are: say \"codec\" in the rule, as \"u64\"", x)
		}
	}
	return nil
}

// Rows implements functions.Grower.
func (g *seriesGrower) Rows() []int64 { return g.rows }

// Begin implements functions.Grower.
func (g *seriesGrower) Begin(ctx context.Context, w objstore.Writer, record []byte) error {
	if err := g.still(ctx); err != nil {
		return err
	}
	o := g.o
	o.Record = record
	_, err := Write(ctx, w, g.first(), o)
	return err
}

// first is the series as it begins a dataset: its tracks hold what those of later uploads may
// have. Whether all numbers of a table are whole, and how fine its times are, is a matter of
// chance in a short one.
func (g *seriesGrower) first() Series {
	about := g.s.About()
	if !about.Tracks[0].Variable {
		return g.s
	}
	f := &firstSeries{Series: g.s, about: about, mul: 1}
	f.about.Tracks = slices.Clone(about.Tracks)
	rate := about.Tracks[0].Rate
	for rate.Den == 1 && f.mul*10 <= fine/max(rate.Num, 1) && g.far < math.MaxInt64/4/(f.mul*10) {
		f.mul *= 10
	}
	for i := range f.about.Tracks {
		t := &f.about.Tracks[i]
		if t.Rate.Num *= f.mul; g.o.Codec == nil && about.Format == formatCSV && t.Codec.Kind.Numeric() {
			t.Codec = zoomcache.Codec{Kind: zoomcache.F64}
		}
	}
	return f
}

// A firstSeries has other tracks, with finer ticks.
type firstSeries struct {
	Series
	about About
	mul   int64
}

func (f *firstSeries) About() About { return f.about }

func (f *firstSeries) Each(ctx context.Context, window int, do func(*Block) error) error {
	return f.Series.Each(ctx, window, func(b *Block) error {
		for i := range b.Columns {
			at := b.Columns[i].Stamps
			for k := range at {
				at[k] *= f.mul
			}
		}
		return do(b)
	})
}

// Open implements functions.Grower. It reads the headers and the index.
func (g *seriesGrower) Open(ctx context.Context, o *objstore.Object) (functions.Grown, error) {
	key := o.Info().Key
	f, err := zoomindex.Open(ctx, o, zoomcache.Options{})
	if err != nil {
		return functions.Grown{}, fmt.Errorf("%s: %w", key, err)
	}
	record, err := recordOf(ctx, f)
	if err != nil {
		return functions.Grown{}, fmt.Errorf("%s: %w", key, err)
	}
	if record == nil {
		return functions.Grown{}, nil
	}
	list, ok, err := f.Totals(ctx)
	if err != nil {
		return functions.Grown{}, err
	}
	if !ok {
		return functions.Grown{}, fmt.Errorf("%s: %w", key, kit.Corrupt("its index is not that of its tracks"))
	}
	m := &grower{h: f.Header(), about: g.s.About(), o: AppendOptions{Rate: g.o.Rate}}
	if err := m.match(); err != nil {
		return functions.Grown{}, fmt.Errorf("does not go with %s: %w", key, err)
	}
	was := functions.Grown{Record: record}
	for i := range list {
		was.Rows = append(was.Rows, list[i].Samples)
		was.Adds = append(was.Adds, g.rows[min(m.from[i], len(g.rows)-1)])
	}
	g.f = f
	return was, nil
}

// Replace implements functions.Grower.
func (g *seriesGrower) Replace(ctx context.Context, o *objstore.Object, f *draft.File, row, drop []int64, record []byte) error {
	if err := g.still(ctx); err != nil {
		return err
	}
	p := &placer{f: g.f, old: o, to: f, row: row, drop: drop, record: record}
	p.pass = func(times int64) error { return passes(ctx, o.Size(), times) }
	if _, limited := ctx.Deadline(); limited {
		p.most = maxDraft
	}
	return p.put(ctx, g.s, AppendOptions{Rate: g.o.Rate})
}

// passes checks that a function can read a dataset of size bytes so many times.
func passes(ctx context.Context, size, times int64) error {
	if _, limited := ctx.Deadline(); limited && size > maxPassed {
		return fmt.Errorf("a dataset of %d bytes, over %d, which are read again for this upload: let the rule begin another one: %w", size, int64(maxPassed), functions.ErrTooLong)
	}
	return kit.Fits(ctx, times*size, passRate)
}
