package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats"
)

// A flow is the answer of an Array that is streamed.
type flow struct {
	*cells.Flow
	sweep *cells.Sweep
	next  int // part
	held  []byte
}

// streamed plans an answer that is streamed.
func (j *Array) streamed(chunks []int, o *ArrayOptions) error {
	if len(o.Stats) != 1 {
		return fmt.Errorf("%w: one stat is streamed, not %d", ErrQuestion, len(o.Stats))
	}
	l := j.plan.Layout
	f := &flow{sweep: cells.NewSweep(l, j.a.Meta().ChunkShape)}
	if slices.ContainsFunc(o.Box.Step, func(n int64) bool { return n < 0 }) { // the order of the items of the box
		slices.SortFunc(chunks, func(a, b int) int { return slices.Compare(j.place(f.sweep, a), j.place(f.sweep, b)) })
	}
	j.cut(chunks, o)
	j.limit(o)
	var err error
	if f.Flow, err = j.plan.NewFlow(f.sweep, o.Where != nil); err != nil {
		return err
	}
	if err := j.fits(f, o); err != nil {
		return err
	}
	cols := j.a.StatColumns()
	for _, k := range j.known {
		f.Sure(k.cell, cols, k.stats)
	}
	f.To(func(items []byte) error {
		f.held = append(f.held, items...)
		return nil
	})
	j.flow = f
	j.steps = &work[*cells.Share]{finish: j.flowed, job: Job[*cells.Share]{
		ID: j.identify(o), Parts: len(j.parts), Map: j.share, Merge: j.take,
		Encode: func(s *cells.Share) ([]byte, error) { return s.MarshalJSON() },
		Decode: f.ParseShare,
	}}
	return nil
}

// place returns the place of a chunk in the order of a run.
func (j *Array) place(s *cells.Sweep, chunk int) []int64 {
	out, _ := j.scan.Part(chunk)
	return s.Place(out)
}

// ends returns the places of the first and the last chunk of a part.
func (j *Array) ends(s *cells.Sweep, part int) (from, to []int64) {
	list := j.parts[part]
	return j.place(s, list[0]), j.place(s, list[len(list)-1])
}

// fits reports an error if what has to be held at the same time is more than memory has
// room for: tables of parts, states of cells that several parts have items of, and answers
// of cells before which others are not answered.
func (j *Array) fits(f *flow, o *ArrayOptions) error {
	open, held, region, done := int64(0), int64(0), int64(0), int64(0)
	for n := range j.parts {
		_, to := j.ends(f.sweep, n)
		open = max(open, f.sweep.Touched(to)-f.sweep.Closed(to))
		held = max(held, f.sweep.LastClosed(to)+1-done)
		done = f.sweep.FirstOpen(to)
		region = max(region, j.region(n).Cells())
	}
	open += int64(len(j.known))
	cell, item, room := j.plan.CellBytes(), int64(f.Bytes()), o.Memory/4
	if err := roomFor(4*region*cell, o.room); err != nil { // two parts, as tables and as lines
		return err
	}
	switch {
	case region > room/cell:
		return fmt.Errorf("a chunk has items of %d cells of about %d bytes, a quarter of %d allowed: %w", region, cell, o.Memory, formats.ErrTooLarge)
	case open > room/cell:
		return fmt.Errorf("%d cells of about %d bytes have items of several parts, a quarter of %d allowed: %w", open, cell, o.Memory, formats.ErrTooLarge)
	case held > room/item:
		return fmt.Errorf("a row of chunks answers %d cells of %d bytes, a quarter of %d allowed: %w", held, item, o.Memory, formats.ErrTooLarge)
	}
	return nil
}

// share is the job's Map.
func (j *Array) share(ctx context.Context, part int) (*cells.Share, error) {
	t, err := j.part(ctx, part)
	if err != nil {
		return nil, err
	}
	from, to := j.ends(j.flow.sweep, part)
	return j.flow.Share(t, from, to)
}

// take is the job's Merge. Behind a part that failed nothing is passed on.
func (j *Array) take(part int, s *cells.Share) error {
	if part != j.flow.next {
		return nil
	}
	j.flow.next++
	_, to := j.ends(j.flow.sweep, part)
	return j.flow.Take(s, to)
}

func (j *Array) flowed(context.Context) (*Answers, error) {
	if err := j.flow.Finish(); err != nil {
		return nil, err
	}
	r := j.Answer()
	r.Items = j.flow.held
	return &Answers{Shape: j.plan.Shape, Results: []Result{r}}, nil
}

// Answer is the answer to the only stat of an Array that is streamed, without its items.
func (j *Array) Answer() Result { return j.plan.Answer() }

// Stream lets put take the items of the answer, in their order, as they become known: it is
// called before Run. put may not keep them. Without Stream they are in the Answers, as
// those of an Array that is not streamed, but for Result.None.
func (j *Array) Stream(put func(items []byte) error) {
	j.flow.To(func(items []byte) error {
		if err := put(items); err != nil {
			return fmt.Errorf("%w: %w", errPut, err)
		}
		return nil
	})
}
