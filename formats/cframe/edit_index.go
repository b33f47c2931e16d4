package cframe

import (
	"context"
	"errors"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
)

// An editIndex is what an Editor keeps of the index of its frame, to make a new one. All
// methods may be called on nil.
type editIndex struct {
	heads  *frameindex.HeadList
	sizes  []int64 // bytes of the chunks of that index, if it has places; else nil
	was    []int32 // for each chunk its number in that index, or isNew
	choice IndexChoice
}

const (
	isNew = -1
	// mostDead is the share of the chunks that dead bytes may take, as a divisor, if an
	// index is written that will be dead after the next commit.
	mostDead = 4
	indexRun = 16 // chunks in a row whose heads are looked up in the old index
)

// editIndex returns what an Editor needs of the index inside the frame, nil if that is not
// in use. The offsets of f must be in memory.
func (f *Frame) editIndex(ctx context.Context) (*editIndex, error) {
	ix := f.heads.used()
	if ix == nil || !f.heads.inside {
		return nil, nil //nolint:nilnil // there is none
	}
	x := &editIndex{choice: CheapIndex, was: make([]int32, f.table.n)}
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
	if ix.Size() > f.info.CBytes/cheapShare {
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
		e.index = nil
		return appendTrailer(offsets, e.vl), nil
	}
	var b frameindex.Builder
	sizes, err := e.addHeads(&b)
	if err != nil {
		return nil, err
	}
	if !x.heads.Any() {
		b.DropHeads()
	}
	live := int64(0)
	for _, n := range sizes {
		live += n
	}
	p := indexPlan{heads: &b, choice: x.choice, offsets: offsets, vl: e.vl, most: e.o.Limits.MaxMeta,
		place: func(i int) frameindex.Place { return placeOf(e.offs[i], sizes[i]) }}
	if !p.fit(live) || in.CBytes-live+b.Len() > live/mostDead {
		e.index = nil
		return appendTrailer(offsets, e.vl), nil
	}
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

// addHeads adds the heads of all chunks to b, and returns the lengths of the chunks. Heads
// of chunks that the old index has in a row come from there, the others from the file.
func (e *Editor) addHeads(b *frameindex.Builder) ([]int64, error) {
	sizes := make([]int64, len(e.offs))
	x := e.index
	for i := 0; i < len(e.offs); {
		var run []int
		for k := i; k < len(e.offs) && x.was[k] >= 0 && (k == i || int(x.was[k]) > run[k-i-1]); k++ {
			run = append(run, int(x.was[k]))
		}
		if len(run) < min(indexRun, len(e.offs)) {
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
