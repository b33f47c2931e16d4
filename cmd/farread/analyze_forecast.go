package main

import (
	"context"
	"fmt"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/cmd/farread/internal/cost"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/rangeio"
)

// defaultWorkers are those that a function has at the same time, unless its account has more.
const defaultWorkers = 1000

// A forecast is what is known of an analysis before it is explained.
type forecast struct {
	opened rangeio.Stats // what opening and planning took
	stored float64       // bytes of a chunk in the file for each decoded one; 0: not known
}

// storedAs notes how long the chunks of an array are.
func (x *analysis) storedAs(a *b2nd.Array) {
	if in := a.Frame().Info(); in.NBytes > 0 {
		x.forecast.stored = float64(in.CBytes) / float64(in.NBytes)
	}
}

// onWorkers adds to a work what workers elsewhere make of it, in calls of so many decoded bytes.
func (x *analysis) onWorkers(w cost.Work) (cost.Work, error) {
	o := x.forecast.opened
	w.Open, w.OpenBytes, w.Phases = o.Requests, o.Bytes, o.Phases
	missing := make([]int, w.Parts)
	for i := range missing {
		missing[i] = i
	}
	list, err := parts.Batches(&parts.Plan{Parts: w.Parts, Bytes: w.Decoded}, missing, int64(x.cloud.batch))
	w.Batches = len(list)
	return w, err
}

// estimated estimates a work of which the requests are known. Those that found their places
// are made by workers, too.
func (x *analysis) estimated(uri string, w cost.Work) (estimated, error) {
	if x.estimate.cloud == 0 {
		return x.estimate.of(uri, w)
	}
	on, err := x.onWorkers(w)
	if err != nil && x.cloud.on != "" {
		return estimated{}, usagef("--part-size %s: %s", &x.part, err)
	}
	e, err := x.estimate.of(uri, w)
	if err == nil {
		on.Requests += x.a.counter.Stats().Requests - x.forecast.opened.Requests
		b := e.Rates.On(on, x.estimate.cloud)
		e.Cloud = &b
	}
	return e, err
}

// usualRequest is about what a large request brings.
const usualRequest = 2 << 20

// glance estimates a work without a request, as far as that is possible.
func (x *analysis) glance(ctx context.Context, j analyze.Work) (cost.Work, error) {
	w := cost.Work{Parts: j.Parts(), Decoded: j.Bytes()}
	if a, ok := j.(*analyze.Array); ok && x.forecast.stored > 0 {
		r := a.Report()
		w.Stored = int64(float64(w.Decoded) * x.forecast.stored)
		if all := r.Blocks; r.Statistics && all > 0 && r.ChunksRead > 0 { // of the chunks that are read some blocks are not
			w.Stored = int64(float64(w.Stored) * min(1, float64(r.BlocksRead)/float64(all)*float64(r.Chunks)/float64(r.ChunksRead)))
		}
		w.Requests = max(int64(w.Parts), w.Stored/usualRequest)
		return w, nil
	}
	list, err := j.Explain(ctx)
	for _, q := range list {
		w.Stored += q.Len
	}
	w.Requests = int64(len(list))
	return w, err
}

// foretell tells on stderr what a run of some of the parts will take.
func (x *analysis) foretell(ctx context.Context, j analyze.Work, parts, batches int) error {
	if x.a.flags.quiet || x.a.flags.json || parts == 0 {
		return nil
	}
	w, err := x.glance(ctx, j)
	if err != nil {
		return err
	}
	w, err = x.onWorkers(w)
	if err != nil {
		return err
	}
	share := float64(parts) / float64(w.Parts)
	w.Parts, w.Batches = parts, batches
	w.Requests, w.Stored, w.Decoded = int64(share*float64(w.Requests)), int64(share*float64(w.Stored)), int64(share*float64(w.Decoded))
	e, err := x.estimate.of(x.source.URI, w)
	if err != nil {
		return err
	}
	b := e.Cloud
	_, err = fmt.Fprintf(x.a.stderr, "%s in %s, %s to read: about %.2g s and %.2g $ on %s (list prices of %s; --explain tells more)\n",
		human.Plural(int64(parts), "part"), human.Plural(int64(batches), "call"), human.Size(w.Stored), b.Seconds, b.Dollars, human.Plural(int64(b.Workers), "worker"), e.Prices)
	return err
}
