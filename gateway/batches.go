package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
)

const (
	batchMedia  = "application/vnd.farread.batches"
	batchMemory = 24 << 20 // four windows that are read ahead, and a batch
	mostBatch   = 1 << 16  // samples
	mostPicks   = 4096     // samples that are named one by one
	pickFlight  = 16       // of these, read side by side
)

// batchParams are the parameters of an order of samples.
func batchParams() []string {
	return []string{"n", "seed", "epoch", "rank", "world", "worker", "workers", "block", "window", "sequential", "frames", "cursor", "at"}
}

// A batchHead is the line of JSON before the bytes of a batch.
type batchHead struct {
	Cursor  gulp.Cursor   `json:"cursor"` // behind the batch
	Left    int64         `json:"left"`   // samples behind it
	Samples []batchSample `json:"samples"`
}

// A batchSample tells of a sample; the bytes of its frames have these lengths.
type batchSample struct {
	ID    string          `json:"id"`
	Index int64           `json:"index"`
	Frame int             `json:"frame"`
	Sizes []int           `json:"sizes"`
	Meta  json.RawMessage `json:"meta,omitempty"`
}

// batches streams the samples of a gulp dataset in an order: a line that tells where it
// begins, and for each batch a line of JSON and the bytes of its frames. The answer ends
// with the order; one that fails in the middle ends the connection, and whoever has the
// last cursor asks for what is left.
func (s *Server) batches(c *call) error {
	return s.again(c, func(h *handle) error {
		d, ok := h.d.Handle().(*farread.GulpDataset)
		if !ok {
			return wrongKind(h.d, "folder of gulp chunks, data_0.gulp and so on")
		}
		ctx := c.count(c.r.Context())
		order, err := orderOf(ctx, c, d)
		if err != nil {
			return err
		}
		n, err := whole(c, "n", 1)
		if err != nil || n < 1 || n > mostBatch {
			return badf("query", "n %q: want the samples of a batch, 1 to %d", clip(c.query.Get("n")), mostBatch)
		}
		all := d.Batches(ctx, order, int(n))
		if c.head() {
			all = func(func(*gulp.Batch, error) bool) {}
		}
		if c.query.Has("at") {
			all = picks(ctx, d, order, c.query.Get("at"))
		}
		l, err := s.memory.take(ctx, min(batchMemory, s.memory.all), s.c.Wait)
		if err != nil {
			return err
		}
		defer l.release()
		return s.sendBatches(c, order, all)
	})
}

// sendBatches sends batches as they come.
func (s *Server) sendBatches(c *call, order *gulp.Order, all iter.Seq2[*gulp.Batch, error]) error {
	first := batchHead{Cursor: order.Cursor(), Left: order.Len() - order.Cursor().Next, Samples: []batchSample{}}
	begin := func() {
		h := c.w.Header()
		h["Content-Type"], h["Cache-Control"] = []string{batchMedia}, []string{"no-store"}
		s.begin200(c, http.StatusOK)
		s.writeHead(c, &first)
	}
	for b, err := range all {
		switch {
		case err != nil && c.begun:
			c.err, c.code = err, "cut"
			panic(http.ErrAbortHandler) // never a short answer that looks whole
		case err != nil:
			return err
		case !c.begun:
			begin()
		}
		if err := s.sendBatch(c, order, b); err != nil {
			c.err, c.code = err, "cut"
			panic(http.ErrAbortHandler)
		}
		if c.err != nil {
			return nil // the client has gone
		}
		if f, ok := c.w.(http.Flusher); ok {
			f.Flush()
		}
		s.unhurried(c)
	}
	if !c.begun {
		begin()
	}
	return nil
}

// sendBatch sends one batch.
func (s *Server) sendBatch(c *call, order *gulp.Order, b *gulp.Batch) error {
	head := batchHead{Cursor: order.Cursor(), Left: order.Len() - order.Cursor().Next, Samples: make([]batchSample, len(b.Samples))}
	for i := range b.Samples {
		x := &b.Samples[i]
		meta, err := x.Chunk.MetaData(x.ID)
		if err != nil {
			return err
		}
		to := &head.Samples[i]
		*to = batchSample{ID: x.ID, Index: x.N, Frame: x.Frame, Sizes: make([]int, len(x.Frames)), Meta: meta}
		for k, p := range x.Frames {
			to.Sizes[k] = len(p)
		}
	}
	s.writeHead(c, &head)
	for i := range b.Samples {
		for _, p := range b.Samples[i].Frames {
			if c.err == nil {
				s.write(c, p)
			}
		}
	}
	return nil
}

func (s *Server) writeHead(c *call, h *batchHead) {
	if c.head() {
		return
	}
	p, _ := json.Marshal(h) //nolint:errchkjson // texts, numbers and JSON that was read
	s.write(c, append(p, '\n'))
}

// whole reads a parameter that is a whole number.
func whole(c *call, name string, otherwise int64) (int64, error) {
	text := c.query.Get(name)
	if text == "" {
		return otherwise, nil
	}
	return number(name, text)
}

// orderOf is the order that a request asks for: that of a cursor, or a new one.
func orderOf(ctx context.Context, c *call, d *farread.GulpDataset) (*gulp.Order, error) {
	if text := c.query.Get("cursor"); text != "" {
		var at gulp.Cursor
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			return nil, badf("cursor", "the cursor is no JSON of one")
		}
		o, err := d.Resume(ctx, at)
		if errors.Is(err, gulp.ErrCursor) {
			err = refusef(http.StatusConflict, "changed", "%s", err)
		}
		return o, err
	}
	var o gulp.OrderOptions
	var err error
	for name, to := range map[string]*uint64{"seed": &o.Seed, "epoch": &o.Epoch} {
		if text := c.query.Get(name); text != "" {
			if *to, err = strconv.ParseUint(text, 10, 64); err != nil {
				return nil, badf("query", "%s %q: want a number from 0 on", name, clip(text))
			}
		}
	}
	for name, to := range map[string]*int{"rank": &o.Rank, "world": &o.World, "worker": &o.Worker, "workers": &o.Workers, "block": &o.Block, "window": &o.Window} {
		n, err := whole(c, name, 0)
		if err != nil || n > 1<<31-1 {
			return nil, badf("query", "%s %q: want a number from 0 on", name, clip(c.query.Get(name)))
		}
		*to = int(n)
	}
	for name, to := range map[string]*bool{"sequential": &o.Sequential, "frames": &o.Frames} {
		if text := c.query.Get(name); text != "" {
			if *to, err = strconv.ParseBool(text); err != nil {
				return nil, badf("query", "%s: want 1", name)
			}
		}
	}
	order, err := d.Order(ctx, o)
	if _, store := errors.AsType[*objstore.Error](err); err != nil && !store && explain(err).code == "internal" {
		err = badf("query", "%s", err) // of impossible ranks, shares and windows
	}
	return order, err
}

// picks reads the samples at some places of an order, as one batch.
func picks(ctx context.Context, d *farread.GulpDataset, order *gulp.Order, text string) iter.Seq2[*gulp.Batch, error] {
	return func(yield func(*gulp.Batch, error) bool) {
		b, err := pick(ctx, d, order, text)
		if err != nil {
			b = nil
		}
		yield(b, err)
	}
}

func pick(ctx context.Context, d *farread.GulpDataset, order *gulp.Order, text string) (*gulp.Batch, error) {
	places := strings.Split(text, ",")
	if len(places) > mostPicks {
		return nil, beyondf("%d samples, %d allowed", len(places), mostPicks)
	}
	b := &gulp.Batch{Samples: make([]gulp.Loaded, len(places))}
	for i, p := range places {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil || n < 0 || n >= order.Len() {
			return nil, refusef(http.StatusNotFound, "no-entry", "no sample %q of %d", clip(p), order.Len())
		}
		at := order.Cursor()
		at.Next = n
		one, err := d.Resume(ctx, at)
		if err != nil {
			return nil, err
		}
		b.Samples[i].Sample, _ = one.Next()
	}
	err := par.Do(ctx, len(places), pickFlight, func(ctx context.Context, i int) (err error) {
		x := &b.Samples[i]
		from, to := x.Frame, x.Frame+1
		if !order.Cursor().Frames {
			from = 0
			if to, err = x.Chunk.Frames(x.ID); err != nil {
				return err
			}
		}
		x.Frames, err = x.Chunk.AppendFrames(ctx, nil, x.ID, from, to, 1)
		return err
	})
	return b, err
}
