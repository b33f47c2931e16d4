package analyze

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

// density is how many samples an offset has.
func density(c zoomcache.TrackCount) float64 {
	return float64(max(c.Samples, 1)) / (float64(c.Exit) - float64(c.Entry) + 1)
}

// mostParts is about how many parts PartBytes may make.
const mostParts = 1 << 20

// cut cuts the samples that are left into parts: runs of PartBytes, or less if the states of
// their cells would take too much memory. Without an index each read of samples is a pass
// over the file, so there is one part.
func (s *Series) cut(o *SeriesOptions, got *zoomindex.Exactly, count zoomcache.TrackCount, known int64) {
	size := float64(s.item * int64(s.track.Codec.Width()))
	if s.track.Variable {
		size += 8
	}
	per := density(count)
	s.report = SeriesReport{Spans: got.Spans, SpansBytes: got.Read}
	most := max(1, o.Memory/2/tables/s.plan.CellBytes()/int64(s.track.Codec.Width())) // windows
	all := 0.0
	for _, r := range got.Rest {
		all += float64(r.To) - float64(r.From) + 1
	}
	longest := max(float64(o.PartBytes)/size/per, all/mostParts, 1) // offsets
	var part []zoomindex.Range
	length := 0.0
	flush := func() {
		if len(part) > 0 {
			s.parts = append(s.parts, part)
		}
		part, length = nil, 0
	}
	for _, r := range got.Rest {
		all := float64(r.To) - float64(r.From) + 1
		s.report.Read += int64(all * per)
		for got.Indexed {
			n := float64(r.To) - float64(r.From) + 1
			if len(part) > 0 && (length+n > longest || int64(s.window(r.To)-s.window(part[0].From)) >= most) {
				flush()
			}
			to := r.To
			if n > longest {
				to = r.From + int64(longest) - 1
			}
			if k := int64(s.window(r.From)) + most - 1; k < int64(len(s.ends)) {
				to = min(to, s.ends[k])
			}
			if to >= r.To {
				length += n
				break
			}
			part = append(part, zoomindex.Range{From: r.From, To: to})
			flush()
			r.From = to + 1
		}
		part = append(part, r)
	}
	flush()
	s.report.Samples = s.report.Read + known
	s.bytes = int64(float64(s.report.Read) * size)
}

// answers are those of the parts and of the index.
func (s *Series) answers(context.Context) (*Answers, error) {
	list, err := s.total.Results()
	if err != nil {
		return nil, err
	}
	a := &Answers{Shape: s.plan.Shape, Results: list}
	if s.times != nil {
		a.Axes = append(a.Axes, Axis{Name: "time", Labels: s.times})
	}
	if n := s.track.Codec.Channels; n > 0 {
		labels := make([]string, n)
		for i := range labels {
			labels[i] = strconv.Itoa(i)
		}
		a.Axes = append(a.Axes, Axis{Name: "channel", Labels: labels})
	}
	for i := range list {
		if r := &list[i]; r.Stat.Name == "argmin" || r.Stat.Name == "argmax" {
			s.offsets(r)
		}
	}
	return a, nil
}

// offsets turns indexes of window, offset and channel into those that a sample has.
func (s *Series) offsets(r *Result) {
	keep := 2
	if s.track.Codec.Channels == 0 {
		keep = 1
	}
	var out []byte
	for i := 0; i < len(r.Items); i += 3 * 8 {
		out = append(out, r.Items[i+8:i+8+8*keep]...)
	}
	r.Shape = slices.Clone(r.Shape)
	r.Items, r.Shape[len(r.Shape)-1] = out, int64(keep)
}

// readers is how many ranges of a part are read at the same time.
const readers = 16

// part reduces the samples of a part.
func (s *Series) part(ctx context.Context, n int) (*cells.Table, error) {
	list := s.parts[n]
	ctx, cancel := context.WithCancelCause(rangeio.OnePhase(ctx))
	defer cancel(nil)
	out := make([]*sampler, min(readers, len(list)))
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	take := func() (r zoomindex.Range, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(list) || ctx.Err() != nil {
			return r, false
		}
		next++
		return list[next-1], true
	}
	for i := range out {
		out[i] = s.sampler(list)
		wg.Go(func() {
			for r, ok := take(); ok; r, ok = take() {
				if err := s.f.EachPacket(ctx, s.track.Number, r.From, r.To, out[i].add); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	for _, x := range out[1:] {
		out[0].table.Merge(x.table)
	}
	return out[0].table, nil
}

// A sampler adds the samples of packets to a table.
type sampler struct {
	s     *Series
	adder *cells.Adder
	table *cells.Table
	each  bool // samples one by one: their offsets are asked for, and do not follow each other
	piece cells.Piece
	items []byte
	mask  []uint64
}

// sampler makes a sampler for ranges.
func (s *Series) sampler(list []zoomindex.Range) *sampler {
	lo, hi := s.window(list[0].From), s.window(list[len(list)-1].To)
	width, size := int64(s.track.Codec.Width()), s.item
	return &sampler{
		s: s, adder: s.plan.NewAdder(), each: s.track.Variable && s.plan.ByPlaces(),
		table: s.plan.NewTable(s.plan.Region([]int64{int64(lo), 0, 0}, []int64{int64(hi - lo + 1), 1, width})),
		piece: cells.Piece{Out: make([]int64, 3), N: []int64{1, 0, width}, Step: []int64{0, width * size, size}},
	}
}

// add adds the samples of a packet.
func (x *sampler) add(p *zoomcache.Packet) error {
	if x.items = p.Values.AppendItems(x.items[:0]); p.Values.Kind == zoomcache.Unit {
		x.items = append(x.items[:0], make([]byte, p.Values.N)...)
	}
	if w := x.s.where; w != nil {
		x.mask = w.p.Mask(x.mask, x.items)
		x.piece.Mask = x.mask
	}
	for i := 0; i < int(p.Count); {
		off := p.Offset(i)
		k := x.s.window(off)
		j := i + 1
		switch {
		case x.each:
		case p.Stamps == nil:
			j += int(min(int64(p.Count)-int64(j), x.s.ends[k]-off))
		default:
			for lo := x.s.begin(k); j < int(p.Count) && p.Stamps[j] >= lo && p.Stamps[j] <= x.s.ends[k]; {
				j++
			}
		}
		at := int64(i)
		if x.s.plan.ByPlaces() {
			at = off - x.s.box.Start[1]
		}
		x.piece.Out[0], x.piece.Out[1], x.piece.N[1] = int64(k), at, int64(j-i)
		x.piece.Off, x.piece.Items = int64(i)*x.piece.Step[1], x.items
		x.adder.Add(x.table, &x.piece)
		i = j
	}
	return nil
}

// begin returns the first offset of a window.
func (s *Series) begin(k int) int64 {
	if k == 0 {
		return math.MinInt64
	}
	return s.ends[k-1] + 1
}
