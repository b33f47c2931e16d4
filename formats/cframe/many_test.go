package cframe_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

const manyChunk = 512 // decoded bytes of a chunk

// A crowd is a frame of many short chunks of various lengths. Every 11th has no bytes, of
// which every other one is NaN, and no two chunks have the same data.
type crowd struct {
	n      int
	bytes  []byte
	policy rangeio.Policy
}

// data returns the decoded chunk i.
func (c *crowd) data(i int) []byte {
	p := make([]byte, manyChunk)
	for k := 0; k < manyChunk; k += 4 {
		v := uint32(0)
		switch {
		case i%22 == 21:
			v = 0x7fc00000
		case i%11 == 10:
		case k < 16:
			v = uint32(i*(k+1) + 1)
		case k < 16+i*i%31*8: // so that lengths differ
			v = uint32(i*k+k)*2654435761 | 1
		}
		binary.LittleEndian.PutUint32(p[k:], v)
	}
	return p
}

// An output keeps what is written.
type output struct{ bytes.Buffer }

func (o *output) Patch(off int64, p []byte) error {
	copy(o.Bytes()[off:], p)
	return nil
}

func newCrowd(tb testing.TB, n int, o cframe.WriteOptions) *crowd {
	tb.Helper()
	c := &crowd{n: n}
	out := &output{}
	o.TypeSize, o.ChunkSize, o.BlockSize = 4, manyChunk, manyChunk
	o.Encode = blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}
	w, err := cframe.NewWriter(out, o)
	for i := range n {
		if err == nil {
			err = w.WriteChunk(c.data(i))
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	c.bytes = out.Bytes()
	return c
}

// A side is the reader of an index beside a frame, and the ETag of the frame.
type side = func(ctx context.Context) (rangeio.Reader, string, error)

// open opens the frame as one that is far away.
func (c *crowd) open(t *testing.T, o objstore.OpenOptions, count *objstore.Counter, beside side) *cframe.Frame {
	t.Helper()
	b := memstore.New(memstore.Config{})
	if _, err := objstore.Put(t.Context(), b, "x", bytes.NewReader(c.bytes), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	o.Counter = count
	bk := objstore.Chain(b, simstore.Latency(rtt), simstore.Bandwidth(80_000_000), objstore.Count(count))
	obj, err := objstore.Open(t.Context(), bk, "x", o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cframe.Open(t.Context(), obj, cframe.Options{Tail: o.Tail, Sidecar: beside, Policy: c.policy})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read reads chunks and checks them.
func (c *crowd) read(ctx context.Context, f *cframe.Frame, chunks ...int) error {
	wants := make([]cframe.Want, len(chunks))
	for k, i := range chunks {
		wants[k] = cframe.Want{Chunk: i}
	}
	var mu sync.Mutex
	seen := 0
	err := f.EachConcurrent(ctx, wants, func(k, block int, p []byte) error {
		mu.Lock()
		defer mu.Unlock()
		if seen++; !bytes.Equal(p, c.data(chunks[k])) {
			return fmt.Errorf("chunk %d, block %d: other bytes", chunks[k], block) //nolint:err113 // of the test
		}
		return nil
	})
	if err == nil && seen != len(chunks) {
		err = fmt.Errorf("%d of %d chunks", seen, len(chunks)) //nolint:err113 // likewise
	}
	return err
}

// TestManyChunks: with an index inside, a frame of many chunks is opened without its
// offsets, and a point is there after two phases.
func TestManyChunks(t *testing.T) {
	racetest.Skip(t, racetest.Large)
	t.Parallel()
	const n = 100_000
	plain, inside := newCrowd(t, n, cframe.WriteOptions{}), newCrowd(t, n, cframe.WriteOptions{Index: cframe.CheapIndex})
	t.Logf("%d chunks, %d bytes, %d more with the index", n, len(plain.bytes), len(inside.bytes)-len(plain.bytes))
	fast := objstore.OpenOptions{Head: 8 << 10, Tail: 64 << 10}
	spread := make([]int, 0, 1000)
	for i := range cap(spread) {
		spread = append(spread, i*n/cap(spread))
	}
	for _, tc := range []struct {
		name   string
		open   objstore.OpenOptions
		chunks []int
		phases int64
		bytes  int64 // beyond the chunks
	}{
		{"a point, fast", fast, []int{n/2 + 7}, 2, 96_000},
		{"a point, lean", leanOpen, []int{n/2 + 7}, 2, 48_000},
		{"a special chunk, lean", leanOpen, []int{n/22*11 + 10}, 2, 48_000},
		{"the ends, fast", fast, []int{0, n - 1}, 2, 110_000},
		{"10 points, lean", leanOpen, []int{5, 17, 900, n / 3, n/3 + 1, n / 2, n/2 + 7, n - 900, n - 2, n - 1}, 2, 130_000},
		{"1000 points, fast", fast, spread, 3, 16_000_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var of [2]rangeio.Stats
				for k, c := range []*crowd{inside, plain} {
					var count objstore.Counter
					start := time.Now()
					f := c.open(t, tc.open, &count, nil)
					if s := count.Stats(); k == 0 && (s.Phases != 1 || s.Requests > 2) {
						t.Errorf("open: %+v", s)
					}
					if err := c.read(t.Context(), f, tc.chunks...); err != nil {
						t.Error(err)
					}
					of[k] = count.Stats()
					t.Logf("index %t: %v, %d requests, %d phases, %d bytes", k == 0, time.Since(start), of[k].Requests, of[k].Phases, of[k].Bytes)
					before := count.Stats()
					if q, err := f.ExplainConcurrent(t.Context(), []cframe.Want{{Chunk: tc.chunks[0]}}); err != nil || len(q) > 1 || count.Stats() != before {
						t.Errorf("explained as %v, %v", q, err)
					}
					if k == 0 && f.HeldBytes() > 200<<10 && len(tc.chunks) < 100 {
						t.Errorf("%d bytes held", f.HeldBytes())
					}
				}
				if of[0].Phases > tc.phases || of[0].Bytes > tc.bytes || of[0].Phases > of[1].Phases || of[0].Bytes > of[1].Bytes+10_000 {
					t.Errorf("want %d phases and %d bytes", tc.phases, tc.bytes)
				}
			})
		})
	}
}

// TestManyWays: each way of reading finds its chunks by pages, or by the offsets.
func TestManyWays(t *testing.T) {
	t.Parallel()
	const n = 20_000
	c := newCrowd(t, n, cframe.WriteOptions{Index: cframe.WithIndex})
	at := n/2 + 5
	whole := func(t *testing.T, p []byte, from int) {
		t.Helper()
		for i := range len(p) / manyChunk {
			if !bytes.Equal(p[i*manyChunk:][:manyChunk], c.data(from+i)) {
				t.Fatalf("chunk %d: other bytes", from+i)
			}
		}
	}
	for name, read := range map[string]func(ctx context.Context, t *testing.T, f *cframe.Frame) error{
		"AppendChunk": func(ctx context.Context, t *testing.T, f *cframe.Frame) error {
			t.Helper()
			p, err := f.AppendChunk(ctx, nil, at)
			whole(t, p, at)
			return err
		},
		"AppendStored": func(ctx context.Context, t *testing.T, f *cframe.Frame) error {
			t.Helper()
			p, err := f.AppendStored(ctx, nil, at)
			if err == nil {
				p, err = blosc.DecodeOptions{}.AppendDecoded(nil, p)
			}
			whole(t, p, at)
			return err
		},
		"ReadBytes": func(ctx context.Context, t *testing.T, f *cframe.Frame) error {
			t.Helper()
			p := make([]byte, 3*manyChunk)
			err := f.ReadBytes(ctx, p, int64(at)*manyChunk)
			whole(t, p, at)
			return err
		},
		"Each": func(ctx context.Context, t *testing.T, f *cframe.Frame) error {
			t.Helper()
			return f.Each(ctx, at, at+3, func(i, _ int, p []byte) error { whole(t, p, i); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var count objstore.Counter
				f := c.open(t, leanOpen, &count, nil)
				if err := read(t.Context(), t, f); err != nil {
					t.Error(err)
				}
				if s := count.Stats(); s.Phases != 2 || s.Bytes > 60_000 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
	f, err := cframe.Open(t.Context(), reader(c.bytes), cframe.Options{Tail: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	g, err := cframe.Open(t.Context(), reader(newCrowd(t, n, cframe.WriteOptions{}).bytes), cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 10, 21, at, n - 1} {
		got, err := f.Chunk(t.Context(), i)
		want, err2 := g.Chunk(t.Context(), i)
		if err := errors.Join(err, err2); err != nil || got.Off != want.Off || got.Special != want.Special || got.MaxLen > want.MaxLen {
			t.Errorf("chunk %d: %+v, %+v, %v", i, got, want, err)
		}
	}
	if _, err := f.Chunk(t.Context(), n); !errors.Is(err, formats.ErrNoEntry) {
		t.Error(err)
	}
	p := make([]byte, n*manyChunk)
	if err := f.ReadBytes(t.Context(), p, 0); err != nil {
		t.Error(err)
	}
	whole(t, p, 0)
	rep, err := f.Verify(t.Context(), nil)
	if err != nil || rep.Index.Size == 0 || !rep.Index.Inside || rep.Dead != 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// flawedIndexes returns a frame with an index inside that is right, stale, damaged, of
// another frame, and wrong in ways that its checksums pass.
func flawedIndexes(t *testing.T, n int) map[string]struct {
	p    []byte
	used bool
} {
	t.Helper()
	type flawed = struct {
		p    []byte
		used bool
	}
	right := newCrowd(t, n, cframe.WriteOptions{Index: cframe.WithIndex}).bytes
	f, err := cframe.Open(t.Context(), reader(right), cframe.Options{Tail: 16 << 10})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]flawed{"right": {right, true}}
	// As c-blosc2 leaves it after an edit: the trailer is written anew.
	stale := bytes.Clone(right)
	clear(stale[len(stale)-17:])
	out["stale"] = flawed{stale, false}
	// A page of places behind the chunks.
	damaged := bytes.Clone(right)
	last, err := f.Chunk(t.Context(), n-1) // the pages lie behind it
	if err != nil {
		t.Fatal(err)
	}
	for k := range int64(n / 100) {
		damaged[last.Off+last.MaxLen+k*100] ^= 4
	}
	out["damaged"] = flawed{damaged, false}
	// The trailer with the index of another frame of as many chunks.
	other := newCrowd(t, n, cframe.WriteOptions{Index: cframe.WithIndex, Metalayers: []cframe.Metalayer{{Name: "m", Data: []byte{0xc0}}}}).bytes
	g, err := cframe.Open(t.Context(), reader(other), cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(right) - len(other) + int(g.Info().HeaderLen-f.Info().HeaderLen); n != 0 {
		t.Fatalf("%d bytes", n)
	}
	foreign := bytes.Clone(right)
	copy(foreign[len(foreign)-2000:], other[len(other)-2000:])
	out["of another frame"] = flawed{foreign, false}
	return out
}

// TestManyFlawed: with an index that is of use or not, all chunks are right, and Verify
// says what is wrong with it.
func TestManyFlawed(t *testing.T) {
	t.Parallel()
	const n = 12_000
	c := crowd{n: n}
	every := make([]int, n)
	for i := range every {
		every[i] = i
	}
	for name, x := range flawedIndexes(t, n) {
		lists := [][]int{{n / 2}, {n - 1, 3, n / 3}, every}
		if racetest.On {
			lists = lists[:2]
		}
		for _, chunks := range lists {
			var count objstore.Counter
			f := (&crowd{n: n, bytes: x.p}).open(t, leanOpen, &count, nil)
			if err := c.read(t.Context(), f, chunks...); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			info, err := f.Index(t.Context())
			used := x.used || name == "damaged" && len(chunks) > 1 // so many pages that the offsets were read instead
			if err != nil || info.Size > 0 != used || !used && !errors.Is(info.Unused, index.ErrUnusable) {
				t.Errorf("%s: %+v, %v", name, info, err)
			}
		}
		f, err := cframe.Open(t.Context(), reader(x.p), cframe.Options{Tail: 16 << 10})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := f.Verify(t.Context(), nil)
		if err != nil || rep.Index.Size > 0 != x.used || !x.used && !errors.Is(rep.Index.Unused, index.ErrUnusable) {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}
