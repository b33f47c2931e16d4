package analyze

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/rangeio"
)

// SeriesOptions say what is asked of a series.
type SeriesOptions struct {
	Track int32
	// From and To bound the time of the samples, as Header.Offsets has it: without To. nil
	// means no bound.
	From, To *zoomcache.Moment
	// Every, if not nil, is the length of windows of time. They begin at From, or are counted
	// from time 0, and those remain, as an axis of the answers, from the one that has the
	// first sample to the one that has the last.
	Every *zoomcache.Moment
	Stats []Stat // without members
	// Where, if not nil, is a comparison of the values, which are v: of other samples than
	// those that match nothing is asked. Of several channels each value stands for itself.
	Where *predicate.Expr
	// BySamples reads the samples even where the index has the answer.
	BySamples bool
	// PartBytes is how many decoded bytes of samples a part has at most. 0 means
	// DefaultPartBytes.
	PartBytes int64
	// Memory bounds the states of cells. 0 means DefaultMemory.
	Memory int64
	// Source identifies the bytes of the file: a checkpoint of another Source is refused.
	Source string

	room int64 // for states of cells on the machine that opens a plan; 0: Memory bounds them
}

// A Series is the [Work] that reduces a track of a zoom-cache file. The channels of a track
// that has several are an axis of the answers, the last one.
type Series struct {
	*work[*cells.Table]
	f           *zoomindex.File
	o           SeriesOptions // with defaults
	track       *zoomcache.Track
	first, last int64   // offsets of the samples that are asked about
	ends        []int64 // the last offset of each window
	times       []string
	box         nd.Box // of windows, offsets, channels
	item        int64  // bytes of a value
	plan        *cells.Plan
	parts       [][]zoomindex.Range
	bytes       int64 // of the samples of all parts
	report      SeriesReport
	total       *cells.Table
	where       *seriesWhere // nil: all samples match
}

// A SeriesReport says where answers come from.
type SeriesReport struct {
	Samples    int64 `json:"samples"` // that are asked about; at variable rate about
	Read       int64 `json:"read"`    // that are read
	Spans      int64 `json:"spans"`   // summaries of the index
	SpansBytes int64 `json:"spans_bytes"`
}

// NewSeries plans the job. It asks the index of the file, if it has one: what is asked is
// taken from the summaries of spans where these tell it exactly, and samples are read where
// they do not, as in spans across two windows. Counts, NaN, minimum and maximum are exact of all
// types; sums, and so means, of integers and bools, unless the sum of a span is too great
// for the index. Samples are read of all else. Errors match ErrQuestion as those of NewArray
// do, and zoomcache.ErrNoRate and ErrNoOrigin for times that the file does not have.
func NewSeries(ctx context.Context, f *zoomindex.File, o SeriesOptions) (*Series, error) {
	t, err := f.Track(o.Track)
	if err != nil {
		return nil, err
	}
	s := &Series{f: f, track: t}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.PartBytes <= 0 {
		o.PartBytes = DefaultPartBytes
	}
	if err := s.check(o.Stats); err != nil {
		return nil, err
	}
	count, err := s.bound(ctx, &o)
	if err != nil {
		return nil, err
	}
	if err := s.lay(&o); err != nil {
		return nil, err
	}
	if need := s.plan.Cells * s.plan.CellBytes(); need > o.Memory/2 {
		return nil, fmt.Errorf("%d cells of about %d bytes, half of %d allowed: %w", s.plan.Cells, s.plan.CellBytes(), o.Memory, formats.ErrTooLarge)
	}
	if err := roomFor(s.plan.Cells*s.plan.CellBytes(), o.room); err != nil {
		return nil, err
	}
	s.o = o
	if err := s.ask(ctx, &o, count); err != nil {
		return nil, err
	}
	s.work = tableWork(s.plan, s.total, Job[*cells.Table]{ID: s.identify(&o), Parts: len(s.parts), Map: s.part}, s.answers)
	return s, nil
}

// check refuses what the values of the track do not have.
func (s *Series) check(list []Stat) error {
	kind := s.track.Codec.Kind
	if kind == zoomcache.Integer {
		return fmt.Errorf("integers of any length are not analyzed, their low 64 bits are: %w", formats.ErrUnsupported)
	}
	for i := range list {
		switch st := &list[i]; {
		case st.Field != "":
			return fmt.Errorf("%s: samples have no member %q: %w", st.Key(), st.Field, formats.ErrNoEntry)
		case kind == zoomcache.Unit && st.Name != "count":
			return fmt.Errorf("%s: events have no values, only a count: %w", st.Key(), formats.ErrUnsupported)
		}
	}
	return nil
}

// bound finds the samples that are asked about and the windows.
func (s *Series) bound(ctx context.Context, o *SeriesOptions) (zoomcache.TrackCount, error) {
	h := s.f.Header()
	var err error
	if s.first, s.last, err = h.Offsets(s.track, o.From, o.To); err != nil {
		return zoomcache.TrackCount{}, err
	}
	c, err := s.f.Extent(ctx, o.Track)
	if err != nil {
		return c, err
	}
	if c.Samples == 0 && c.Entry <= c.Exit {
		return c, fmt.Errorf("track %d has summaries and no samples, and the summaries of a file are rounded: %w", o.Track, formats.ErrUnsupported)
	}
	s.first, s.last = max(s.first, c.Entry), min(s.last, c.Exit)
	if o.Every == nil {
		s.ends = []int64{math.MaxInt64}
		return c, nil
	}
	w, err := h.Windows(s.track, o.From, *o.Every, s.first)
	if errors.Is(err, zoomcache.ErrMoment) {
		err = fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	s.times = []string{}
	if err != nil || s.first > s.last {
		return c, err
	}
	k := w.Of(s.first)
	n := uint64(w.Of(s.last)-k) + 1
	most := uint64(o.Memory / 256)
	if o.room > 0 {
		most = min(most, uint64(o.room/64)) // of texts
	}
	if n == 0 || n > most {
		return c, fmt.Errorf("%d windows, %d allowed: %w", n, most, formats.ErrTooLarge)
	}
	for ; n > 0; n, k = n-1, k+1 {
		s.times = append(s.times, w.Text(k))
		s.ends = append(s.ends, w.First(k+1)-1)
	}
	s.ends[len(s.ends)-1] = math.MaxInt64
	return c, nil
}

// lay makes the plan: windows are kept, offsets are reduced, and channels are kept if there
// are several.
func (s *Series) lay(o *SeriesOptions) error {
	text := s.track.Codec.Kind.ItemType()
	if s.track.Codec.Kind == zoomcache.Unit {
		text = "|u1"
	}
	d, err := dtype.Parse(text)
	if err != nil {
		return err
	}
	s.item = int64(d.ItemSize())
	if o.Where != nil {
		if err := s.sift(o.Where, d); err != nil {
			return err
		}
	}
	over := []int{1}
	if o.Every == nil {
		over = append(over, 0)
	}
	if s.track.Codec.Channels == 0 {
		over = append(over, 2)
	}
	width := int64(s.track.Codec.Width())
	// Without places, samples of a packet may have any number: that in the packet.
	start, stop := int64(0), int64(math.MaxInt32)+1
	plain, err := cells.NewPlan(&cells.Layout{}, o.Stats, d)
	if err != nil {
		return err
	}
	if plain.ByPlaces() && s.first <= s.last {
		start, stop = s.first, s.last+1
		if _, err := nd.Prod([]int64{int64(len(s.ends)), stop - start, width}); err != nil || stop <= start {
			return fmt.Errorf("argmin, argmax: offsets from %d to %d: %w", s.first, s.last, formats.ErrTooLarge)
		}
	}
	s.box = nd.Sub([]int64{0, start, 0}, []int64{int64(len(s.ends)), stop, width})
	l, err := cells.NewLayout(s.box, over, nil)
	if err != nil {
		return err
	}
	s.plan, err = cells.NewPlan(l, o.Stats, d)
	return err
}

// window returns the number of the window that has an offset.
func (s *Series) window(off int64) int {
	return sort.Search(len(s.ends)-1, func(k int) bool { return s.ends[k] >= off })
}

// ask takes what the index says of spans, and makes parts of the samples that are left.
func (s *Series) ask(ctx context.Context, o *SeriesOptions, count zoomcache.TrackCount) error {
	ok, sums := s.plan.BySummaries()
	opt := zoomindex.ExactOptions{Until: func(off int64) int64 { return s.ends[s.window(off)] }, Sums: sums, None: !ok || o.BySamples}
	if s.where != nil { // spans of which no sample matches are passed over, whatever is asked
		opt.Sums, opt.None = false, o.BySamples
		opt.Longest = max(1, int64(sieveSpan/(float64(s.item*int64(s.track.Codec.Width()))*density(count))))
	}
	for {
		s.total = s.plan.NewTable(s.plan.All())
		known, spans := int64(0), int64(0)
		var back []zoomindex.Range // spans whose samples have to be looked at
		got, err := s.f.Exact(ctx, o.Track, s.first, s.last, opt, func(k *zoomindex.Known) error {
			if s.where != nil && !s.takeMatching(k, ok && !sums) {
				back = append(back, zoomindex.Range{From: k.Entry, To: k.Exit})
				return nil
			}
			known, spans = known+k.Count, spans+1
			if s.where == nil {
				s.take(k)
			}
			return nil
		})
		if errors.Is(err, index.ErrUnusable) {
			continue // it is no longer used
		}
		if err != nil {
			return err
		}
		if s.where != nil {
			got.Rest, got.Spans = joined(append(got.Rest, back...)), spans
		}
		s.cut(o, &got, count, known)
		return nil
	}
}

// take takes a span into its window.
func (s *Series) take(k *zoomindex.Known) {
	for i := range k.Channels {
		s.takeChannel(k, i)
	}
}

func (s *Series) takeChannel(k *zoomindex.Known, i int) {
	c := &k.Channels[i]
	at := int64(s.window(k.Entry)*len(k.Channels) + i)
	s.total.AddSummary(at, cells.Summary{Items: k.Count, NaN: c.NaN, Min: item(c.Min), Max: item(c.Max), Sum: c.Sum})
}

func item(n zoomcache.Number) cells.Item {
	if v, ok := n.Int(); ok {
		return cells.Item{I: v, F: float64(v)}
	}
	if v, ok := n.Uint(); ok {
		return cells.Item{I: int64(v)}
	}
	return cells.Item{F: n.Float()}
}

// identify returns a hash of all that the results of parts depend on.
func (s *Series) identify(o *SeriesOptions) string {
	return digest.JSON(struct {
		Version     int
		Source      string
		Track       int32
		Codec       string
		First, Last int64
		Times       []string
		Stats       []Stat
		Parts       [][]zoomindex.Range
		Where       string `json:",omitempty"`
	}{checkpointVersion, o.Source, o.Track, s.track.Codec.Ident(), s.first, s.last, s.times, o.Stats, s.parts, whereText(o.Where)})
}

func whereText(e *predicate.Expr) string {
	if e == nil {
		return ""
	}
	return e.String()
}

// Bytes returns about how many decoded bytes the samples of all parts have.
func (s *Series) Bytes() int64 { return s.bytes }

// Shape returns the shape of the answers: windows, and channels if there are several.
func (s *Series) Shape() []int64 { return s.plan.Shape }

// Report says where the answers come from.
func (s *Series) Report() SeriesReport { return s.report }

// Explain lists the requests that Run would make, by the code of Run. Those for the index
// NewSeries has made.
func (s *Series) Explain(ctx context.Context) ([]rangeio.Planned, error) {
	var out []rangeio.Planned
	for _, part := range s.parts {
		for _, r := range part {
			list, err := s.f.ExplainPackets(ctx, s.track.Number, r.From, r.To)
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return out, nil
}
