package cframe

import (
	"context"
	"errors"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

// An editIndex is what an Editor keeps of the index of its frame, to make a new one. All
// methods may be called on nil.
type editIndex struct {
	ix     *frameindex.Index    // nil: there was none, or it could not be used
	heads  *frameindex.HeadList // nil if ix is
	sizes  []int64              // bytes of the chunks of that index, if it has places; else nil
	was    []int32              // for each chunk its number in that index, or isNew
	choice IndexChoice
	stats  *frameindex.Stats // those that commits keep; nil: none
	made   bool              // a commit has made a newer one
}

// freshIndex returns an editIndex that takes the heads of n chunks from the file.
func freshIndex(n int, choice IndexChoice) *editIndex {
	x := &editIndex{choice: choice, was: make([]int32, n)}
	for i := range x.was {
		x.was[i] = isNew
	}
	return x
}

// Indexed reports whether the last commit has left an index inside the frame.
func (e *Editor) Indexed() bool { return e.indexed }

// startIndex sets what commits need of the index of the frame. stale says that the
// trailer has one, of use or not.
func (e *Editor) startIndex(ctx context.Context, f *Frame, stale *Metalayer) (err error) {
	if e.index, err = f.editIndex(ctx); err != nil || e.index != nil {
		return err
	}
	choice := e.o.Index
	if choice == NoIndex && stale != nil {
		if choice = CheapIndex; int64(len(stale.Data)) > f.info.CBytes/cheapShare {
			choice = WithIndex
		}
	}
	if choice != NoIndex {
		e.index = freshIndex(len(e.offs), choice)
	}
	return nil
}

// renewIndex takes the index that was just committed for the one that the next commit
// starts from, where that saves work: where the heads of all chunks came from the file, or
// there are statistics.
func (e *Editor) renewIndex() {
	if e.index == nil || !e.index.made || e.index.heads != nil && e.summer == nil {
		return
	}
	ctx := context.Background() // a local file, of which some KB are read
	f, err := Open(ctx, rangeio.FromReaderAt(e.f, e.in.FrameLen), Options{Limits: e.o.Limits, Parallel: 1})
	if err == nil {
		f, err = f.whole(ctx)
	}
	var x *editIndex
	if err == nil {
		x, err = f.editIndex(ctx)
	}
	if err != nil || x == nil || len(x.was) != len(e.offs) {
		e.summer = nil // the index from before does for heads, which are in memory
		return
	}
	e.index = x
	if s := e.summer; s != nil {
		s.Committed()
		e.findStats(ctx, s)
	}
}

const (
	isNew = -1
	// mostDead is the share of the chunks that dead bytes may take, as a divisor, if an
	// index is written that will be dead after the next commit.
	mostDead = 4
	indexRun = 16 // chunks in a row whose heads are looked up in the old index
)

// editIndex returns what an Editor needs of the index of the frame, nil if none is in use.
// The offsets of f must be in memory.
func (f *Frame) editIndex(ctx context.Context) (*editIndex, error) {
	ix := f.heads.used()
	if ix == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	x := &editIndex{ix: ix, choice: CheapIndex, was: make([]int32, f.table.n)}
	every := make([]int, f.table.n)
	for i := range every {
		every[i], x.was[i] = i, int32(i)
	}
	var err error
	if x.heads, err = ix.List(ctx); err == nil && ix.HasPlaces() {
		x.sizes = make([]int64, f.table.n)
		err = ix.Places(ctx, every, func(i int, p frameindex.Place) error {
			x.sizes[i] = p.Size
			return nil
		})
	}
	if errors.Is(err, index.ErrUnusable) {
		return nil, nil //nolint:nilnil // likewise: nobody can use it
	}
	if ix.Size() > f.info.CBytes/cheapShare || !f.KnownIndex().Inside { // one beside was asked for
		x.choice = WithIndex
	}
	return x, err
}

func (x *editIndex) insert(i int) {
	if x != nil {
		x.was = slices.Insert(x.was, i, isNew)
	}
}

func (x *editIndex) renew(i int) {
	if x != nil {
		x.was[i] = isNew
	}
}

func (x *editIndex) remove(i int) {
	if x != nil {
		x.was = slices.Delete(x.was, i, i+1)
	}
}

func (x *editIndex) reorder(order []int) {
	if x == nil {
		return
	}
	was := make([]int32, len(order))
	for i, k := range order {
		was[i] = x.was[k]
	}
	x.was = was
}

// tail returns the encoded offsets and the trailer, with a new index if the frame has one
// and it is not too long. Its pages are written behind the end of the file.
func (e *Editor) tail(in *Info, offsets []byte) ([]byte, error) {
	in.CBytes = e.end - in.HeaderLen
	x := e.index
	if x == nil || len(e.offs) == 0 {
		return e.withoutIndex(offsets), nil
	}
	var b frameindex.Builder
	sizes, err := e.addHeads(&b)
	if err != nil {
		return nil, err
	}
	if x.heads != nil && !x.heads.Any() {
		b.DropHeads()
	}
	e.addStats(&b)
	live := int64(0)
	for _, n := range sizes {
		live += n
	}
	p := indexPlan{heads: &b, choice: x.choice, offsets: offsets, vl: e.vl, most: e.o.Limits.MaxMeta,
		place: func(i int) frameindex.Place { return placeOf(e.offs[i], sizes[i]) }}
	if !p.fit(live) || !b.Trim(live/mostDead-in.CBytes+live) {
		return e.withoutIndex(offsets), nil
	}
	x.made, e.indexed = true, true
	return p.tail(in, func(pieces ...[]byte) (int64, error) {
		off := e.end
		for _, q := range pieces {
			if _, err := e.f.WriteAt(q, e.end); err != nil {
				return 0, wrap("index", e.end, err)
			}
			e.end += int64(len(q))
		}
		in.CBytes = e.end - in.HeaderLen
		return off, nil
	})
}

// withoutIndex returns offsets and trailer of a frame without an index.
func (e *Editor) withoutIndex(offsets []byte) []byte {
	if e.index = nil; e.o.Index != NoIndex {
		e.index = freshIndex(len(e.offs), e.o.Index)
	}
	e.summer, e.indexed = nil, false
	return appendTrailer(offsets, e.vl)
}

// run lists the numbers that chunks from i on had in the old index, as far as they ascend.
func (x *editIndex) run(i int) (run []int) {
	for ; i < len(x.was) && x.was[i] >= 0 && (len(run) == 0 || int(x.was[i]) > run[len(run)-1]); i++ {
		run = append(run, int(x.was[i]))
	}
	return run
}

// addHeads adds the heads of all chunks to b, and returns the lengths of the chunks. Heads
// of chunks that the old index has in a row come from there, the others from the file.
func (e *Editor) addHeads(b *frameindex.Builder) ([]int64, error) {
	sizes := make([]int64, len(e.offs))
	x, least := e.index, min(indexRun, len(e.offs))
	if e.o.Draft { // its file asks a store
		least = 1
	}
	for i := 0; i < len(e.offs); {
		run := x.run(i)
		if len(run) < least {
			if err := e.addHead(b, i, sizes); err != nil {
				return nil, err
			}
			i++
			continue
		}
		err := x.heads.Each(run, func(k int, head []byte) error {
			b.Add(head)
			return e.noteSize(i+k, run[k], head, sizes)
		})
		if err != nil {
			return nil, wrap("index", -1, err)
		}
		i += len(run)
	}
	return sizes, nil
}

// noteSize sets the length of chunk i, which had the number was in the old index.
func (e *Editor) noteSize(i, was int, head []byte, sizes []int64) error {
	if specialOf(e.offs[i]) != blosc.None {
		return nil
	}
	if h, err := blosc.ParseHeader(head); err == nil {
		sizes[i] = int64(h.CBytes)
		return nil
	}
	if e.index.sizes != nil {
		sizes[i] = e.index.sizes[was]
		return nil
	}
	h, err := e.head(i)
	sizes[i] = int64(h.CBytes)
	return err
}

// addHead adds the head of chunk i, from the file.
func (e *Editor) addHead(b *frameindex.Builder, i int, sizes []int64) error {
	if specialOf(e.offs[i]) != blosc.None {
		b.Add(nil)
		return nil
	}
	h, err := e.head(i)
	if err != nil {
		return err
	}
	sizes[i] = int64(h.CBytes)
	p := make([]byte, min(h.IndexLen(), h.CBytes))
	if err := readAt(e.f, p, e.in.HeaderLen+e.offs[i]); err != nil {
		return err
	}
	b.Add(frameindex.HeadOf(p))
	return nil
}
