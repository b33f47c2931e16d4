package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/farread/farread/analyze/internal/cells"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/internal/digest"
	"github.com/farread/farread/rangeio"
)

// A Stat is what is asked of the items of a cell.
type Stat = cells.Stat

// A Result is the answer to a Stat: an array with an item, or a list of items, for each
// cell.
type Result = cells.Result

// StatNames returns the names of all stats.
func StatNames() []string { return cells.Names() }

// ParseStats reads a list of stats, such as "mean,hist(64,-5:10),quantiles(.ms,0.5,0.99)".
// A member of structured items stands first in parentheses, after a dot.
func ParseStats(text string) ([]Stat, error) { return cells.ParseStats(text) }

// Defaults of ArrayOptions.
const (
	DefaultPartBytes = 64 << 20
	DefaultMemory    = 1 << 30
)

// ArrayOptions say what is asked of an array.
type ArrayOptions struct {
	Box   b2nd.Box // the items that are asked about
	Stats []Stat
	// Over are the axes of the result of the box that are reduced, counted from the end if
	// negative. nil means all; an empty list means none.
	Over []int
	// Every[i] is the length of windows along the axis Over[i], which remains with an
	// index for each window, the last one of which may be shorter. Axes without one are
	// reduced as a whole.
	Every []int64
	// Where, if not nil, is a comparison: of other items than those that match nothing is
	// asked.
	Where *predicate.Expr
	// PartBytes is how many decoded bytes a part has at most, if it has more than one
	// chunk. 0 means DefaultPartBytes.
	PartBytes int64
	// Memory bounds the states of cells. 0 means DefaultMemory.
	Memory int64
	// Streamed is for answers that may be longer than memory has room for: the states of a
	// cell are held only until all parts with items of it are there. There must be one
	// stat. [Array.Stream] says who takes the answer.
	Streamed bool
	// Source identifies the bytes of the array: a checkpoint of another Source is refused.
	Source string

	room int64 // for states of cells on the machine that opens a plan; 0: Memory bounds them
}

// An Array is the [Work] that reduces an array.
type Array struct {
	steps

	a     *b2nd.Array
	o     ArrayOptions // with defaults
	plan  *cells.Plan
	scan  *b2nd.Scan
	parts [][]int // chunks of each part
	known []summary
	total *cells.Table
	flow  *flow // if the answer is streamed, and then total is nil
	room  chan struct{}
}

// A summary is what the statistics say of some items of a cell.
type summary struct {
	cell  int64
	stats []stats.Stat // of the columns of the plan
}

// ErrQuestion is matched by errors of NewArray for options that do not fit the array, but
// for those that match formats.ErrUnsupported, ErrNoEntry or ErrTooLarge.
var ErrQuestion = errors.New("a question that the array does not have")

// NewArray plans the job. It asks the statistics of the array, if it has some: chunks of
// which no item matches Where are not read, and chunks whose items are all asked about in
// one cell are not read if only count, nan, min and max are. If states of cells would take
// more than Memory, the error matches formats.ErrTooLarge.
func NewArray(ctx context.Context, a *b2nd.Array, o ArrayOptions) (*Array, error) {
	l, err := cells.NewLayout(o.Box, o.Over, o.Every)
	if errors.Is(err, formats.ErrTooLarge) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	j := &Array{a: a}
	if j.plan, err = cells.NewPlan(l, o.Stats, a.DType()); err != nil {
		return nil, err
	}
	var p *predicate.Predicate
	if o.Where != nil {
		if p, err = o.Where.Bind(a.DType()); err != nil {
			return nil, err
		}
	}
	if j.scan, err = a.Scan(ctx, o.Box, p); err != nil {
		return nil, err
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.PartBytes <= 0 {
		o.PartBytes = DefaultPartBytes
	}
	if need := l.Cells * j.plan.CellBytes(); !o.Streamed {
		if need > o.Memory/2 {
			return nil, fmt.Errorf("%d cells of about %d bytes, half of %d allowed: %w", l.Cells, j.plan.CellBytes(), o.Memory, formats.ErrTooLarge)
		}
		if err := roomFor(need, o.room); err != nil {
			return nil, err
		}
	}
	j.o = o
	rest, err := j.ask(ctx, o.Where == nil)
	if err != nil {
		return nil, err
	}
	if o.Streamed {
		return j, j.streamed(rest, &o)
	}
	j.cut(rest, &o)
	j.limit(&o)
	j.total = j.plan.NewTable(l.All())
	j.steps = tableWork(j.plan, j.total, Job[*cells.Table]{ID: j.identify(&o), Parts: len(j.parts), Map: j.part}, j.answers)
	return j, nil
}

// ask takes what the statistics say of chunks, and returns the chunks that must be read.
func (j *Array) ask(ctx context.Context, all bool) (rest []int, err error) {
	chunks := j.scan.Chunks()
	if !all || !j.plan.ByStats() {
		return chunks, nil
	}
	s, err := j.a.Statistics(ctx)
	if err == nil && s != nil {
		cols, ok := j.plan.Columns(j.a.StatColumns())
		if ok && cols[len(cols)-1] < s.Columns() {
			if rest, err = j.askChunks(ctx, s, cols, chunks); err == nil {
				return rest, nil
			}
		}
	}
	if err != nil && !errors.Is(err, index.ErrUnusable) {
		return nil, err
	}
	j.known = nil
	return chunks, nil
}

func (j *Array) askChunks(ctx context.Context, s *b2nd.Statistics, cols, chunks []int) (rest []int, err error) {
	var whole []int
	var at []int64 // cells
	for _, c := range chunks {
		r := j.plan.Region(j.scan.Part(c))
		if r.Cells() == 1 && j.scan.HasAll(c) {
			whole, at = append(whole, c), append(at, j.plan.Cell(r.Lo))
		} else {
			rest = append(rest, c)
		}
	}
	err = s.Chunks(ctx, cols, whole, func(i int, list []stats.Stat) error {
		j.known = append(j.known, summary{at[i], append([]stats.Stat{}, list...)})
		return ctx.Err()
	})
	return rest, err
}

// tables is how many tables of parts are supposed to be held at the same time.
const tables = 16

// most is how many cells a part has at most, if it has several chunks.
func (j *Array) most(o *ArrayOptions) int64 {
	return max(1, o.Memory/2/tables/j.plan.CellBytes())
}

// cut cuts chunks into parts: runs of PartBytes, or less if the states of their cells
// would take too much memory.
func (j *Array) cut(chunks []int, o *ArrayOptions) {
	most := j.most(o)
	var region cells.Region
	size, bytes, from := int64(j.a.Frame().Info().ChunkSize), int64(0), 0
	for i, c := range chunks {
		one := j.plan.Region(j.scan.Part(c))
		joined := region.Join(one)
		if i > from && (bytes+size > o.PartBytes || joined.Cells() > most) {
			j.parts = append(j.parts, chunks[from:i])
			bytes, from, joined = 0, i, one
		}
		bytes, region = bytes+size, joined
	}
	if from < len(chunks) {
		j.parts = append(j.parts, chunks[from:])
	}
}

// identify returns a hash of all that the results of parts depend on.
func (j *Array) identify(o *ArrayOptions) string {
	where := ""
	if o.Where != nil {
		where = o.Where.String()
	}
	return digest.JSON(struct {
		Version int
		Source  string
		DType   string
		Shape   []int64
		Box     b2nd.Box
		Stats   []Stat
		Over    []int
		Every   []int64
		Where   string
		Parts   [][]int

		Streamed bool `json:",omitempty"`
	}{checkpointVersion, o.Source, j.a.DType().String(), j.a.Shape(), o.Box, o.Stats, o.Over, o.Every, where, j.parts, o.Streamed})
}

// Bytes returns how many decoded bytes the chunks of all parts have.
func (j *Array) Bytes() int64 {
	n := 0
	for _, p := range j.parts {
		n += len(p)
	}
	return int64(n) * int64(j.a.Frame().Info().ChunkSize)
}

// Shape returns the shape of the answers: the cells along the axes that remain.
func (j *Array) Shape() []int64 { return j.plan.Shape }

// Windows returns how many items a cell has along each axis of the result of the box; 0: the
// axis is reduced as a whole.
func (j *Array) Windows() []int64 { return slices.Clone(j.plan.Windows) }

// Report says what is read. Chunks that the statistics answer are not.
func (j *Array) Report() b2nd.SearchReport {
	r := j.scan.Report(slices.Concat(j.parts...))
	r.Statistics = r.Statistics || len(j.known) > 0
	return r
}

// Explain lists the requests that Run would make, by the code of Run. It makes those for the
// places of blocks itself and does not list them.
func (j *Array) Explain(ctx context.Context) ([]rangeio.Planned, error) {
	var out []rangeio.Planned
	for _, chunks := range j.parts {
		list, err := j.scan.Explain(ctx, chunks)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// answers are those of the parts and of the statistics.
func (j *Array) answers(context.Context) (*Answers, error) {
	cols := j.a.StatColumns()
	for _, k := range j.known {
		j.total.AddStats(k.cell, cols, k.stats)
	}
	list, err := j.total.Results()
	if err != nil {
		return nil, err
	}
	return &Answers{Shape: j.plan.Shape, Results: list}, nil
}

// part reduces the items of a part. Blocks come from several goroutines, each of which
// takes a table of its own out of a list.
func (j *Array) part(ctx context.Context, n int) (*cells.Table, error) {
	region := j.region(n)
	if j.room != nil {
		select {
		case j.room <- struct{}{}:
			defer func() { <-j.room }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		return j.bigPart(ctx, n, region)
	}
	var pool workers
	err := j.scan.Each(ctx, j.parts[n], func(p *b2nd.Piece) error {
		w := pool.take(func() *worker { return &worker{j.plan.NewAdder(), j.plan.NewTable(region)} })
		w.adder.Add(w.table, (*cells.Piece)(p))
		pool.give(w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(pool.idle) == 0 { // no item matches
		return j.plan.NewTable(region), nil
	}
	for _, w := range pool.idle[1:] {
		pool.idle[0].table.Merge(w.table)
	}
	return pool.idle[0].table, nil
}

// bigPart is part for so many cells that there is one table only: each block has one of
// its own cells first.
func (j *Array) bigPart(ctx context.Context, n int, region cells.Region) (*cells.Table, error) {
	var pool workers
	var mu sync.Mutex
	all := j.plan.NewTable(region)
	err := j.scan.Each(ctx, j.parts[n], func(p *b2nd.Piece) error {
		w := pool.take(func() *worker { return &worker{adder: j.plan.NewAdder()} })
		t := j.plan.NewTable(j.plan.Region(p.Out, p.N))
		w.adder.Add(t, (*cells.Piece)(p))
		pool.give(w)
		mu.Lock()
		defer mu.Unlock()
		all.Merge(t)
		return nil
	})
	return all, err
}

// region returns the cells with items of a part.
func (j *Array) region(n int) cells.Region {
	var r cells.Region
	for _, c := range j.parts[n] {
		r = r.Join(j.plan.Region(j.scan.Part(c)))
	}
	return r
}

// limit bounds how many parts are worked on at the same time, if some have more cells than
// cut wants.
func (j *Array) limit(o *ArrayOptions) {
	most := int64(0)
	for n := range j.parts {
		most = max(most, j.region(n).Cells())
	}
	if most > j.most(o) {
		j.room = make(chan struct{}, max(1, o.Memory/4/(most*j.plan.CellBytes())))
	}
}

// A worker adds blocks to a table.
type worker struct {
	adder *cells.Adder
	table *cells.Table
}

// workers are those that nobody uses.
type workers struct {
	mu   sync.Mutex
	idle []*worker
}

func (p *workers) take(newOne func() *worker) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k := len(p.idle); k > 0 {
		w := p.idle[k-1]
		p.idle = p.idle[:k-1]
		return w
	}
	return newOne()
}

func (p *workers) give(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, w)
}
