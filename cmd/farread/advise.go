package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

func newAdvise(a *app) *cobra.Command {
	var sel selector
	var member string
	rtt := usualRoundTrip
	c := &cobra.Command{
		Use: "advise URI SLICE...", DisableFlagsInUseLine: true, Short: "The chunks of an array that would suit some slices",
		Long: `Tell what slices of an array take with its chunks of today, and with those that
farread pack --for makes: requests, bytes and time, by the planner of slice. If others
are clearly better, the last line is the one to type.

SLICE is spelled as for farread slice, by positions or by coordinates. Each is planned
by itself, as by a program that opens the array for it: what opens it counts.

URI is a .b2nd, or a .npy or Zarr that is not packed yet (x.zarr, x.zarr/temp, a zip; in
a group --member names the array). Of the array as it is the index is read, and requests
are exact. Zarr is planned as its clients read it: each chunk by a request, of a shard
its index before; lengths are those of up to 64 chunks that are asked for theirs. What
other chunks take is an estimate, marked ~: a whole array is made up in which each item
takes as many bytes as it does now; for a .npy, as if nothing were compressed. Other
chunks may be compressed somewhat better or worse.

A file on this machine is planned as if it lay in a store, where chunks matter most, and
nothing as if a cache had it. Time is that of the network: round trips of
--round-trip, and 80 MB/s on each of up to 16 connections.`,
		Example: `  farread advise s3://arrays/t2m.b2nd ':, 30, 50'
  farread advise s3://arrays/t2m.b2nd 'lat=52.1, lon=4.3' 'time=2025-03-01' --nearest
  farread advise t2m.npy ':, 5, 5' '0' --json
  farread advise s3://climate/era5.zarr --member t2m 'lat=50:54, lon=0:8'`,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.setup() }, // without the cache on disk
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return errors.New("missing URI and SLICE")
			case len(args) == 1:
				return errors.New("missing SLICE, such as ':, 0, 0'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if rtt < 0 || rtt > time.Minute {
				return usagef("--round-trip %s: want from 0s to 1m", rtt)
			}
			ad := &adviser{a: a, uri: args[0], member: member, rtt: rtt}
			if member != "" && !maybeZarr(args[0]) {
				return usagef("--member is for a group of Zarr")
			}
			for _, text := range args[1:] {
				s := sel
				if err := s.parse([]string{text}); err != nil {
					return inSlice(args[0], text, err)
				}
				ad.sels = append(ad.sels, s)
			}
			return ad.run(cmd.Context())
		},
	}
	c.Flags().BoolVar(&sel.nearest, "nearest", false, "where no item is equal to a label, take the nearest")
	c.Flags().StringVar(&member, "member", "", "the array `NAME` of a group of Zarr")
	c.Flags().DurationVar(&rtt, "round-trip", rtt, "round trip to the store")
	return c
}

// What the network is taken for: docs/design.md has the same numbers where it says when requests
// are joined.
const (
	usualRoundTrip = 30 * time.Millisecond
	connectionRate = 80_000_000 // bytes a second on one connection
	fullLink       = 16         // connections that fill the link of a machine
	inFlight       = 64         // requests
)

// An adviser compares the chunks of an array with others.
type adviser struct {
	a      *app
	uri    string
	member string // of a group of Zarr
	rtt    time.Duration
	sels   []selector

	shape         []int64
	dtype         dtype.DType
	nbytes, bytes int64      // of all items, and of what is stored of them
	boxes         []b2nd.Box // of the selectors
	packed        bool       // the array is in chunks
	sampled       bool       // bytes is an estimate
}

// advice is the JSON of `advise`.
type advice struct {
	URI       string        `json:"uri"`
	Shape     []int64       `json:"shape"`
	DType     string        `json:"dtype"`
	NBytes    int64         `json:"nbytes"`
	Stored    int64         `json:"stored"`
	Policy    string        `json:"policy"`
	RoundTrip float64       `json:"round_trip_ms"`
	Rate      int64         `json:"connection_bytes_per_second"`
	Shapes    []adviceShape `json:"shapes"` // the first one is that of today
	// Better is the --for that is clearly better than the shape of today, and Pack the line that
	// packs it; both are empty if none is.
	Better string `json:"better,omitempty"`
	Pack   string `json:"pack,omitempty"`
}

// An adviceShape is what slices take with chunks of one shape.
type adviceShape struct {
	For        string       `json:"for"` // today, or a value of --for
	Estimated  bool         `json:"estimated"`
	ChunkShape []int        `json:"chunkshape"` // null if items are stored as they are
	BlockShape []int        `json:"blockshape"`
	Reads      []adviceRead `json:"reads"` // of each slice
	All        adviceCost   `json:"all"`   // the sums of them
}

type adviceRead struct {
	Slice    string `json:"slice"`
	Returned int64  `json:"returned"` // bytes of the selected items
	adviceCost
}

type adviceCost struct {
	Requests int64   `json:"requests"`
	Phases   int64   `json:"phases"`
	Bytes    int64   `json:"bytes"`
	Millis   float64 `json:"ms"`
}

// add adds up the costs of reads, one after the other.
func (c *adviceCost) add(d adviceCost) {
	c.Requests += d.Requests
	c.Phases += d.Phases
	c.Bytes += d.Bytes
	c.Millis += d.Millis
}

const today = "today"

// blockMemory is the memory that a block of an array takes that is made up: with 1 GiB there may be 16 Mi,
// which make 1 TiB of items.
const blockMemory = 64

func (ad *adviser) run(ctx context.Context) error {
	out := advice{URI: ad.uri, Policy: string(ad.a.flags.policy), RoundTrip: ad.rtt.Seconds() * 1000, Rate: connectionRate}
	plan, line := ad.now, packLine
	if maybeZarr(ad.uri) {
		plan, line = ad.nowZarr, func(uri, use string) string { return zarrPackLine(uri, ad.member, use) }
	}
	now, err := plan(ctx)
	if err != nil {
		return err
	}
	out.Shapes = append(out.Shapes, now)
	out.Shape, out.DType, out.NBytes, out.Stored = ad.shape, ad.dtype.String(), ad.nbytes, ad.bytes
	for _, u := range b2nd.Uses() {
		s, err := ad.other(ctx, u)
		if err != nil {
			return at(ad.uri, err)
		}
		known := func(x adviceShape) bool {
			return slices.Equal(x.ChunkShape, s.ChunkShape) && slices.Equal(x.BlockShape, s.BlockShape)
		}
		if !slices.ContainsFunc(out.Shapes, known) {
			out.Shapes = append(out.Shapes, s)
		}
	}
	out.choose()
	if out.Better != "" {
		out.Pack = line(ad.uri, out.Better)
	}
	if ad.a.flags.json {
		return writeJSON(ad.a.stdout, out)
	}
	return ad.tell(&out)
}

// now plans the slices of the array as it is.
func (ad *adviser) now(ctx context.Context) (adviceShape, error) {
	place, err := ad.a.client.Place(ctx, ad.uri)
	if err != nil {
		return adviceShape{}, at(ad.uri, err)
	}
	place.Bucket = afar{place.Bucket}
	out := adviceShape{For: today}
	for _, s := range ad.sels {
		before := ad.a.counter.Stats()
		d, err := ad.a.client.OpenPlace(ctx, place, farread.AnyOptions{})
		if err != nil {
			return out, at(ad.uri, unlisted(err))
		}
		arr, ok := d.(farread.Slicer)
		if !ok {
			return out, at(ad.uri, fmt.Errorf("no array, but %s: %w", cmp.Or(d.Format(), "a folder"), formats.ErrUnsupported))
		}
		t := &frameContent{opened: opened{target{ad.uri, place.Bucket, place.Key}, ad.a, d}, arr: arr}
		box, err := t.box(ctx, s)
		if err == nil {
			err = ad.know(t, box)
		}
		if err == nil {
			err = ad.read(ctx, &out, t, box, before)
		}
		if err != nil {
			return out, inSlice(ad.uri, s.sliceText, err)
		}
	}
	return out, nil
}

// know notes what other chunks are planned by.
func (ad *adviser) know(t *frameContent, box b2nd.Box) error {
	ad.boxes = append(ad.boxes, box)
	ad.shape, ad.dtype = t.arr.Shape(), t.arr.DType()
	n, err := t.arr.SizeOf(b2nd.Whole(ad.shape))
	ad.nbytes, ad.bytes = n, n
	if h, ok := t.d.Handle().(*farread.Array); ok {
		ad.packed, ad.bytes = true, h.Source.Info().CBytes
	}
	return err
}

// read plans a slice and adds what it takes to a shape. The requests since before are those that have
// opened the array.
func (ad *adviser) read(ctx context.Context, s *adviceShape, t *frameContent, box b2nd.Box, before rangeio.Stats) error {
	s.ChunkShape, s.BlockShape = t.arr.Cells()
	x := &itemSelection{t: t, box: box, dtype: t.arr.DType()}
	most := ad.a.window()
	if s.BlockShape != nil {
		most = x.slab()
	}
	var p farread.Plan
	var err error
	if p.Size = x.total(); p.Size > 0 {
		if p, err = t.arr.ExplainSlabs(ctx, box, most); err != nil {
			return err
		}
	}
	after := ad.a.counter.Stats()
	made := adviceCost{Requests: after.Requests - before.Requests, Phases: after.Phases - before.Phases, Bytes: after.Bytes - before.Bytes}
	r := adviceRead{Slice: strings.TrimSpace(ad.sels[len(s.Reads)].sliceText), Returned: p.Size, adviceCost: ad.cost(made, p.Requests)}
	s.Reads = append(s.Reads, r)
	s.All.add(r.adviceCost)
	return nil
}

// cost adds planned requests to those that were made, and tells the time that all take: a round trip
// for each phase (phase 0 is one of those made), one more for every 64 requests in it that have to wait, and the time of
// the bytes on the connections that the requests of a phase keep busy.
func (ad *adviser) cost(made adviceCost, planned []rangeio.Planned) adviceCost {
	c := made
	took := ad.rtt.Seconds()*float64(made.Phases) + float64(made.Bytes)/connectionRate
	for from := 0; from < len(planned); {
		to, bytes := from, int64(0)
		for ; to < len(planned) && planned[to].Phase == planned[from].Phase; to++ {
			bytes += planned[to].Len
		}
		n, phases := int64(to-from), min(int64(planned[from].Phase), 1)
		took += ad.rtt.Seconds()*float64((n-1)/inFlight+phases) + float64(bytes)/float64(connectionRate*min(n, fullLink))
		c.Requests, c.Bytes, c.Phases = c.Requests+n, c.Bytes+bytes, c.Phases+phases
		from = to
	}
	c.Millis = took * 1000
	return c
}

// other plans the slices of the array in chunks for a use.
func (ad *adviser) other(ctx context.Context, u b2nd.Use) (adviceShape, error) {
	out := adviceShape{For: u.String(), Estimated: true}
	m := b2nd.Meta{Shape: ad.shape, DType: ad.dtype.String()}
	m.ChunkShape, m.BlockShape = b2nd.ShapesFor(u, ad.shape, ad.dtype.ItemSize())
	s, err := b2nd.Suppose(m, b2nd.SupposeOptions{CBytes: ad.bytes, Index: cframe.CheapIndex, MaxBlocks: int64(ad.a.flags.maxMemory) / blockMemory})
	if errors.Is(err, formats.ErrTooLarge) {
		return out, fmt.Errorf("chunks for %s: %w; --max-memory allows more", u, err)
	}
	if err != nil {
		return out, err
	}
	for i, box := range ad.boxes {
		before := ad.a.counter.Stats()
		arr, err := ad.a.client.OpenSupposed(ctx, s)
		if err != nil {
			return out, err
		}
		t := &frameContent{opened: opened{a: ad.a, d: arr}, arr: arr}
		if err := ad.read(ctx, &out, t, box, before); err != nil {
			return out, inSlice(ad.uri, ad.sels[i].sliceText, err)
		}
	}
	return out, nil
}

// Another shape is clearly better if it takes at most this share of the time, or, in about the same time,
// of the bytes.
const (
	betterTime  = 0.8
	betterBytes = 0.5
	aboutTime   = 1.05
)

// choose names the best of the other shapes, if it is clearly better than that of today: of those
// that take about the least time the one of the fewest bytes.
func (o *advice) choose() {
	now, others := o.Shapes[0].All, o.Shapes[1:]
	least := math.Inf(1)
	for _, s := range others {
		least = min(least, s.All.Millis)
	}
	var best *adviceShape
	for i := range others {
		if s := &others[i]; s.All.Millis <= aboutTime*least && (best == nil || s.All.Bytes < best.All.Bytes) {
			best = s
		}
	}
	if best == nil {
		return
	}
	c := best.All
	if c.Millis <= betterTime*now.Millis || c.Millis <= aboutTime*now.Millis && float64(c.Bytes) <= betterBytes*float64(now.Bytes) {
		o.Better = best.For
	}
}

// packLine is the line that packs the array for a use, beside the array as it is if it can be written there.
func packLine(uri, use string) string {
	dst := strings.TrimSuffix(uri, path.Ext(uri))
	if strings.HasPrefix(uri, "http") {
		name, _, _ := strings.Cut(uri, "?")
		dst = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	return fmt.Sprintf("farread pack %s %s --for %s", quoted(uri), quoted(strings.TrimPrefix(dst, "file://")+"-"+use+pack.ArraySuffix), use)
}

// tell writes advice for people.
func (ad *adviser) tell(o *advice) error {
	t := human.NewTable("SLICE", "FOR", "CHUNKS", "BLOCKS", ">REQUESTS", ">PHASES", ">BYTES", ">TIME")
	row := func(first string, s *adviceShape, c adviceCost) {
		guess := ""
		if s.Estimated {
			guess = "~"
		}
		t.Add(first, s.For, cellText(s.ChunkShape), cellText(s.BlockShape), guess+human.Count(c.Requests), guess+human.Count(c.Phases), guess+human.Size(c.Bytes), guess+millis(c.Millis))
	}
	for i, r := range o.Shapes[0].Reads {
		for k := range o.Shapes {
			row(onlyFirst(r.Slice, k), &o.Shapes[k], o.Shapes[k].Reads[i].adviceCost)
		}
	}
	for k := range o.Shapes {
		if len(ad.sels) > 1 {
			row(onlyFirst("all", k), &o.Shapes[k], o.Shapes[k].All)
		}
	}
	if err := t.Print(ad.a.stdout); err != nil {
		return err
	}
	how := "each item took as many bytes as now"
	switch {
	case !ad.packed:
		how = "nothing were compressed"
	case ad.sampled:
		how += fmt.Sprintf(", by the lengths of %d chunks", zarrProbes)
	}
	text := fmt.Sprintf("~ is an estimate, as if %s\ntime at %s a round trip and %d MB/s a connection, policy %s\n", how, ad.rtt, connectionRate/1_000_000, o.Policy)
	if o.Better == "" {
		text += "no other shape is clearly better\n"
	} else {
		i := slices.IndexFunc(o.Shapes, func(s adviceShape) bool { return s.For == o.Better })
		now, best := o.Shapes[0].All, o.Shapes[i].All
		text += fmt.Sprintf("%s would take %s times the time and %s times the bytes:\n  %s\n", o.Better, partOf(best.Millis, now.Millis), partOf(float64(best.Bytes), float64(now.Bytes)), human.Printable(o.Pack))
	}
	_, err := fmt.Fprint(ad.a.stdout, text)
	return err
}

func onlyFirst(text string, i int) string {
	if i > 0 {
		return ""
	}
	return text
}

func cellText(shape []int) string {
	if shape == nil {
		return "none"
	}
	return human.Shape(shape)
}

// millis is a time in few digits.
func millis(ms float64) string {
	if ms < 1000 {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.3g s", ms/1000)
}

// partOf is a part of a whole in few digits.
func partOf(part, whole float64) string {
	if whole <= 0 {
		return "no"
	}
	return fmt.Sprintf("%.2g", part/whole)
}

// afar is a bucket that is read by requests, as a store is, although its files may be on this machine.
type afar struct{ objstore.Bucket }

// Unwrap implements objstore.Wrapper.
func (b afar) Unwrap() objstore.Bucket { return b.Bucket }
