package gulp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/farread/farread/formats"
)

// DatasetOptions tune a DatasetWriter. The zero value is right for a new
// dataset.
type DatasetOptions struct {
	// First is the number of the first chunk. Extend sets it.
	First int
	// A chunk is full when its data object has MaxBytes bytes, or its index has
	// MaxIDs ids. An id is never split, so a data object may be longer than
	// MaxBytes by less than one id. MaxBytes 0 means 256 MiB: little for a
	// failed upload to repeat, and few objects for a large dataset. MaxIDs 0 is
	// no bound; GulpIO calls it videos per chunk.
	MaxBytes int64
	MaxIDs   int64
	// Writer tunes each chunk.
	Writer WriteOptions
	// Taken, if not nil, reports whether an id exists already. Extend sets it.
	Taken func(id string) bool
}

const defaultMaxBytes = 256 << 20

// ChunkEnds reports whether a chunk whose data object has so many bytes ends before the
// next id: the rule of all writers of datasets.
func ChunkEnds(data, maxBytes int64) bool { return data >= maxBytes }

func (o DatasetOptions) withDefaults() DatasetOptions {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	return o
}

// A DatasetWriter writes ids, one after another, into chunks data_N.gulp and
// meta_N.gmeta. It publishes a full chunk when the next id begins, and the last
// chunk in Close. It commits the data object first, and then creates, writes
// and commits the index. So an index never names missing bytes, and an Output
// can bind the index to the version of the data object. Its memory is that of
// one Writer, and the ids so far. A DatasetWriter is for one goroutine.
type DatasetWriter struct {
	ctx  context.Context //nolint:containedctx // of the whole dataset
	out  formats.SetOutput
	o    DatasetOptions
	n    int // number of the chunk being written, or of the next one
	w    *Writer
	data formats.Object
	id   string // id of the next frames
	open bool   // the id has been begun
	ids  map[string]struct{}
	done []Pair
	err  error
}

// NewDatasetWriter starts a dataset, or new chunks of one, in out. Nothing is
// created before the first Begin. ctx ends the writing of the dataset.
func NewDatasetWriter(ctx context.Context, out formats.SetOutput, o DatasetOptions) *DatasetWriter {
	o = o.withDefaults()
	return &DatasetWriter{ctx: ctx, out: out, o: o, n: o.First, ids: map[string]struct{}{}}
}

// Extend starts new chunks behind those of d, from the number Next on; First and
// Taken of o are ignored. It loads d, since Begin refuses ids that d already has: a
// reader could not tell the two apart. d does not see the new chunks. ctx is also
// for the writing of all chunks.
func (d *Dataset) Extend(ctx context.Context, out formats.SetOutput, o DatasetOptions) (*DatasetWriter, error) {
	if err := d.Load(ctx); err != nil {
		return nil, err
	}
	o.First = d.Next()
	o.Taken = func(id string) bool { _, ok := d.byID[id]; return ok }
	return NewDatasetWriter(ctx, out, o), nil
}

// Begin starts an id with copies of its meta_data objects. The next frames
// belong to this id. If the chunk is full, Begin publishes it first. Begin
// returns ErrCorrupt if the id exists already or is not UTF-8, or if meta_data
// are not JSON objects; then no id is open, frames are refused, and Begin may be
// called again. After any other error the chunk being written is dropped, and
// every later call returns that error.
func (w *DatasetWriter) Begin(id string, meta ...json.RawMessage) error {
	w.open = false
	if w.err != nil {
		return w.err
	}
	texts, err := w.check(id, meta)
	if err != nil {
		return err
	}
	if w.w != nil {
		t := w.w.Totals()
		if ChunkEnds(t.DataBytes, w.o.MaxBytes) || w.o.MaxIDs > 0 && t.IDs >= w.o.MaxIDs {
			if err := w.finish(); err != nil {
				return err
			}
		}
	}
	if w.w == nil {
		data, err := w.out.Create(w.ctx, ChunkPair(w.n).Data)
		if err != nil {
			return w.fail(err)
		}
		w.data, w.w = data, NewWriter(data, w.o.Writer)
	}
	if err := w.w.enter(id, texts...); err != nil {
		return w.fail(err)
	}
	w.id, w.open = id, true
	w.ids[id] = struct{}{}
	return nil
}

// check checks a new id and its meta_data before anything is written for them.
func (w *DatasetWriter) check(id string, meta []json.RawMessage) ([]json.RawMessage, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if _, dup := w.ids[id]; dup || w.o.Taken != nil && w.o.Taken(id) {
		return nil, &formats.Error{Format: Format, Part: partOf(id), Off: -1,
			Err: fmt.Errorf("the dataset has this id already: %w", formats.ErrCorrupt)}
	}
	texts := make([]json.RawMessage, 0, len(meta))
	for _, m := range meta {
		text, err := metaOf(id, m)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

var errNoID = errors.New("gulp: a frame without an id: none was begun, or the last one was refused")

// WriteFrame is Writer.WriteFrame for the id of the last Begin.
func (w *DatasetWriter) WriteFrame(payload []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	return w.w.WriteFrame(w.id, payload)
}

// CopyFrame is Writer.CopyFrame for the id of the last Begin.
func (w *DatasetWriter) CopyFrame(r io.Reader) (int64, error) {
	if err := w.ready(); err != nil {
		return 0, err
	}
	return w.w.CopyFrame(w.id, r)
}

func (w *DatasetWriter) ready() error {
	if w.err == nil && !w.open {
		return errNoID
	}
	return w.err
}

// finish publishes the chunk being written.
func (w *DatasetWriter) finish() error {
	pair := ChunkPair(w.n)
	if err := w.w.err; err != nil {
		return w.fail(err)
	}
	if err := w.data.Commit(w.ctx); err != nil {
		return w.fail(fmt.Errorf("%s: %w", pair.Data, err))
	}
	meta, err := w.out.Create(w.ctx, pair.Meta)
	if err != nil {
		return w.fail(err)
	}
	defer meta.Abort()
	if err := w.w.WriteMeta(meta); err != nil {
		return w.fail(err)
	}
	if err := meta.Commit(w.ctx); err != nil {
		return w.fail(fmt.Errorf("%s: %w", pair.Meta, err))
	}
	w.done = append(w.done, pair)
	w.w, w.data = nil, nil
	w.n++
	return nil
}

func (w *DatasetWriter) fail(err error) error {
	w.err = err
	w.Abort()
	return err
}

var errClosed = errors.New("gulp: dataset writer is closed")

// Close publishes the last chunk and returns the names of all published chunks,
// even if it fails. If there was no Begin, there is no chunk. After Close every
// call except Abort fails.
func (w *DatasetWriter) Close() ([]Pair, error) {
	if w.err != nil {
		return w.done, w.err
	}
	if w.w != nil {
		if err := w.finish(); err != nil {
			return w.done, err
		}
	}
	w.err = errClosed
	return w.done, nil
}

// Abort drops the chunk being written. Published chunks stay. Every later call
// fails. Abort does nothing after Close.
func (w *DatasetWriter) Abort() {
	if w.data != nil {
		w.data.Abort()
	}
	w.w, w.data = nil, nil
	if w.err == nil {
		w.err = errClosed
	}
}
