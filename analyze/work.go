package analyze

import (
	"context"
	"fmt"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// A Work is an analysis that is planned: the parts of a [Job] together with what they are
// made of and what comes out. It is run once, here by Run or elsewhere part by part: Part
// may be called on any machine that has planned the Work of the same ID, and Take and
// Finish on one that has all lines.
type Work interface {
	// ID identifies the plan: source, questions and parts.
	ID() string
	// Parts returns the number of parts.
	Parts() int
	// Bytes returns how many decoded bytes all parts have.
	Bytes() int64
	// Plan returns the plan as data. src is what the constructor was given as a string.
	Plan(src Source) *Plan
	// Explain lists the requests that Run would make, by the code of Run. It makes those
	// that find places itself and does not list them.
	Explain(ctx context.Context) ([]rangeio.Planned, error)
	// Run runs all parts and returns the answers.
	Run(ctx context.Context, o Options) (*Answers, error)
	// Part returns the result of a part as a line of JSON. It may be called from several
	// goroutines.
	Part(ctx context.Context, part int) ([]byte, error)
	// Take takes the line of a part. The parts come in their order. A line that Part does
	// not make matches formats.ErrCorrupt.
	Take(part int, line []byte) error
	// Finish returns the answers, once all parts are taken.
	Finish(ctx context.Context) (*Answers, error)
}

// Answers are what comes out of a Work.
type Answers struct {
	Shape   []int64  // the cells along the axes that remain
	Axes    []Axis   // what each of them is; nil: positions
	Results []Result // in the order of the stats
	// Skipped is how many items were passed over, since they could not be parsed.
	Skipped int64
}

// An Axis says what the cells along an axis of the answers are called.
type Axis struct {
	Name   string   // such as "time", or ".path"
	Labels []string // one for each cell
	With   []Axis   // what else they are called, such as by the second of two fields
}

// steps are the methods of a work.
type steps interface {
	ID() string
	Parts() int
	Run(ctx context.Context, o Options) (*Answers, error)
	Part(ctx context.Context, part int) ([]byte, error)
	Take(part int, line []byte) error
	Finish(ctx context.Context) (*Answers, error)
}

// A work is what is the same in every Work.
type work[T any] struct {
	job    Job[T]
	finish func(ctx context.Context) (*Answers, error)
}

func (w *work[T]) ID() string { return w.job.ID }

func (w *work[T]) Parts() int { return w.job.Parts }

func (w *work[T]) Run(ctx context.Context, o Options) (*Answers, error) {
	if err := Run(ctx, &w.job, o); err != nil {
		return nil, err
	}
	return w.finish(ctx)
}

func (w *work[T]) Part(ctx context.Context, part int) ([]byte, error) {
	if part < 0 || part >= w.job.Parts {
		return nil, fmt.Errorf("part %d of %d: %w", part, w.job.Parts, formats.ErrNoEntry)
	}
	r, err := w.job.Map(ctx, part)
	if err != nil {
		return nil, err
	}
	return w.job.Encode(r)
}

func (w *work[T]) Take(part int, line []byte) error {
	r, err := w.job.Decode(line)
	if err != nil {
		return err
	}
	return w.job.Merge(part, r)
}

func (w *work[T]) Finish(ctx context.Context) (*Answers, error) { return w.finish(ctx) }

// tableWork returns work on the cells of a plan, whose parts are merged into total.
func tableWork(p *cells.Plan, total *cells.Table, job Job[*cells.Table], finish func(ctx context.Context) (*Answers, error)) *work[*cells.Table] {
	job.Merge = func(_ int, t *cells.Table) error {
		total.Merge(t)
		return nil
	}
	job.Encode = func(t *cells.Table) ([]byte, error) { return t.MarshalJSON() }
	job.Decode = p.ParseTable
	return &work[*cells.Table]{job, finish}
}
