package sink

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A Dataset is the chunks of a gulp dataset. If a chunk is full when a new id comes,
// another one begins. It implements pack.Frames.
type Dataset struct {
	DatasetOptions

	ctx context.Context //nolint:containedctx // pack.Frames has no room for it; lives as long as one command
	out *Chunks
	at  map[string]*gulp.Writer // id to chunk
	now *gulp.Writer
}

// DatasetOptions are the options of a Dataset.
type DatasetOptions struct {
	Prefix string               // prefix of all keys
	Next   int                  // number of the next chunk
	Full   int64                // a chunk is full when it has Full bytes
	Taken  func(id string) bool // whether an older chunk has an id
}

// NewDataset puts new chunks of a dataset into out, as long as ctx lives.
func NewDataset(ctx context.Context, out *Chunks, o DatasetOptions) *Dataset {
	return &Dataset{DatasetOptions: o, ctx: ctx, out: out, at: map[string]*gulp.Writer{}}
}

// WriteFrame implements pack.Frames.
func (r *Dataset) WriteFrame(id string, payload []byte) error {
	w, known := r.at[id]
	switch {
	case known && w != r.now:
		return pack.Apart(id)
	case !known:
		if r.Taken(id) {
			return fmt.Errorf("id %s is in the dataset already: %w", human.Printable(id), objstore.ErrExists)
		}
		if err := r.roll(); err != nil {
			return err
		}
		r.at[id] = r.now
	}
	return r.now.WriteFrame(id, payload)
}

func (r *Dataset) roll() error {
	if r.now != nil {
		if !gulp.ChunkEnds(r.now.Totals().DataBytes, r.Full) {
			return nil
		}
		if err := r.out.end(r.ctx); err != nil {
			return err
		}
	}
	pair := gulp.ChunkPair(r.Next)
	r.Next++
	var err error
	r.now, err = r.out.Begin(r.ctx, gulp.Pair{Data: r.Prefix + pair.Data, Meta: r.Prefix + pair.Meta})
	return err
}

// AddMeta implements pack.Frames.
func (r *Dataset) AddMeta(id string, meta json.RawMessage) error { return r.at[id].AddMeta(id, meta) }

// Reorder lists the frames of an id in another order.
func (r *Dataset) Reorder(id string, order []int) error {
	return r.at[id].Reorder(id, order)
}
