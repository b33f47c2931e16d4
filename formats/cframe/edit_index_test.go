package cframe

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// editable writes a frame of n chunks of 16 blocks, of 6 KiB encoded or so.
func editable(t *testing.T, n int) (p []byte, data [][]byte) {
	t.Helper()
	o := WriteOptions{ChunkSize: 8192, BlockSize: 512, Index: CheapIndex, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}}
	p = write(t, o, func(w *Writer) {
		for i := range n {
			c := someChunk(i)
			data = append(data, c)
			must(t, w.WriteChunk(c))
		}
	})
	return p, data
}

func someChunk(i int) []byte {
	c := make([]byte, 8192)
	if i%13 == 5 {
		return c
	}
	for k := 0; k < len(c); k += 512 {
		copy(c[k:], noise(300+(i*k)%150, i+k))
	}
	return c
}

// TestEditIndex: after each commit the index is about the new state of the frame, and
// Verify finds each head and place in it right, whatever was changed.
func TestEditIndex(t *testing.T) {
	for _, n := range []int{60, 5000} {
		p, data := editable(t, n)
		m := &memFile{b: bytes.Clone(p)}
		r := rand.New(rand.NewPCG(uint64(n), 1))
		next := 1 << 20
		for name, change := range map[string]func(e *Editor){
			"append": func(e *Editor) {
				for range 3 {
					next++
					must(t, e.Extend(someChunk(next)))
					data = append(data, someChunk(next))
				}
			},
			"insert": func(e *Editor) {
				next++
				i := r.IntN(len(data))
				must(t, e.Insert(i, someChunk(next)))
				data = slices.Insert(data, i, someChunk(next))
			},
			"update": func(e *Editor) {
				next++
				i := r.IntN(len(data))
				must(t, e.Update(i, someChunk(next)))
				data[i] = someChunk(next)
			},
			"delete": func(e *Editor) {
				i := r.IntN(len(data))
				must(t, e.Delete(i))
				data = slices.Delete(data, i, i+1)
			},
			"zeros": func(e *Editor) {
				i := r.IntN(len(data))
				must(t, e.UpdateSpecial(i, blosc.Zeros, 8192))
				data[i] = make([]byte, 8192)
			},
			"reorder": func(e *Editor) {
				order := r.Perm(len(data))
				if n > 1000 { // some in a row
					for i := range order {
						order[i] = (i + 1234) % len(order)
					}
				}
				old := slices.Clone(data)
				for i, k := range order {
					data[i] = old[k]
				}
				must(t, e.Reorder(order))
			},
			"layer": func(e *Editor) { must(t, e.SetVLMetalayer(fmt.Sprint("v", next%5), []byte{1, 2})) },
			"twice": func(e *Editor) {
				next++
				must(t, e.Extend(someChunk(next)), e.Commit(), e.Delete(0))
				data = append(data[1:], someChunk(next))
			},
		} {
			e, err := Edit(t.Context(), m, EditOptions{})
			must(t, err)
			if change(e); e.index == nil {
				t.Fatalf("%s: no index to begin with", name)
			}
			must(t, e.Close())
			f, err := openBytes(t.Context(), m.b)
			must(t, err)
			rep, err := f.Verify(t.Context(), nil)
			if err != nil || rep.Index.Size == 0 || !rep.Index.Inside || f.heads.used().HasPlaces() != (n == 5000) || !f.heads.used().HasHeads() {
				t.Fatalf("%d chunks, %s: %+v, %v", n, name, rep, err)
			}
			wants := make([]Want, len(data))
			for i := range wants {
				wants[i] = Want{Chunk: i, Blocks: []int{i % 16}}
			}
			f = openLate(t, m.b, Options{Policy: blockwise})
			must(t, f.EachConcurrent(t.Context(), wants, func(i, block int, p []byte) error {
				if want := data[i][i%16*512:][:512]; block >= 0 && !bytes.Equal(p, want) {
					return fmt.Errorf("%s: chunk %d: other bytes", name, i)
				}
				return nil
			}))
		}
		t.Logf("%d chunks: %d bytes, %d after 9 commits", n, len(p), len(m.b))
	}
}

// TestEditIndexCrash: a commit that was cut anywhere leaves the old frame or the new one,
// each with its own index.
func TestEditIndexCrash(t *testing.T) {
	for _, n := range []int{60, 1500} {
		p, data := editable(t, n)
		m := &memFile{b: bytes.Clone(p)}
		e, err := Edit(t.Context(), m, EditOptions{})
		must(t, err)
		must(t, e.Update(7, someChunk(99)), e.Close())
		disk := bytes.Clone(p)
		old, now := 0, 0
		for i, o := range m.ops {
			for _, cut := range []int{0, len(o.p) / 3, len(o.p) - 1} {
				state := bytes.Clone(disk)
				if cut > 0 && o.kind == 'w' && o.off > 0 {
					o := o
					o.p = o.p[:cut]
					state = o.apply(state)
				}
				f, err := openBytes(t.Context(), state)
				must(t, err)
				got, err := f.AppendChunk(t.Context(), nil, 7)
				must(t, err)
				switch {
				case bytes.Equal(got, data[7]):
					old++
				case bytes.Equal(got, someChunk(99)):
					now++
				default:
					t.Fatalf("%d cut at %d: neither the old nor the new chunk", i, cut)
				}
				if rep, err := f.Verify(t.Context(), nil); err != nil || rep.Index.Size == 0 {
					t.Fatalf("%d cut at %d: %+v, %v", i, cut, rep, err)
				}
			}
			disk = o.apply(disk)
		}
		if old == 0 || !bytes.Equal(disk, m.b) {
			t.Errorf("the old chunk %d times, the new one %d times", old, now)
		}
	}
}

// TestEditIndexEnds: commits that would leave too many dead bytes leave no index, and a
// frame that was without chunks has none either.
func TestEditIndexEnds(t *testing.T) {
	p, data := editable(t, 60)
	m := &memFile{b: bytes.Clone(p)}
	ended := 0
	for i := range 200 {
		e, err := Edit(t.Context(), m, EditOptions{})
		must(t, err)
		must(t, e.Update(i%60, someChunk(i)), e.Close())
		f, err := openBytes(t.Context(), m.b)
		must(t, err)
		info, err := f.Index(t.Context())
		must(t, err)
		if info.Size == 0 {
			ended = i
			break
		}
	}
	if ended < 2 || len(m.b) > len(p)*3/2 {
		t.Errorf("ended after %d commits, at %d bytes of %d", ended, len(m.b), len(p))
	}
	f, err := openBytes(t.Context(), m.b)
	must(t, err)
	if rep, err := f.Verify(t.Context(), nil); err != nil || rep.Index != (IndexInfo{}) {
		t.Errorf("%+v, %v", rep, err)
	}
	m = &memFile{b: bytes.Clone(p)}
	e, err := Edit(t.Context(), m, EditOptions{})
	must(t, err)
	for range data {
		must(t, e.Delete(0))
	}
	must(t, e.Commit(), e.Extend(someChunk(1)), e.Close())
	f, err = openBytes(t.Context(), m.b)
	must(t, err)
	if rep, err := f.Verify(t.Context(), nil); err != nil || rep.Index != (IndexInfo{}) || rep.Chunks != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}
