package cframe_test

import (
	"context"
	"encoding/binary"
	"testing"
	"testing/synctest"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// TestManyPlans: of a frame whose offsets are in pages, what a plan reads and what it lists
// is together what the read takes: requests, bytes and phases, on a cold frame and on one
// whose pages are in memory.
func TestManyPlans(t *testing.T) {
	t.Parallel()
	const n = 12_000
	short := newCrowd(t, n, cframe.WriteOptions{Index: cframe.WithIndex})
	long := widerCrowd(t, 6000)
	type way struct {
		read func(ctx context.Context, f *cframe.Frame) error
		plan func(ctx context.Context, f *cframe.Frame) ([]rangeio.Planned, error)
	}
	wants := func(blocks []int, chunks ...int) way {
		list := make([]cframe.Want, len(chunks))
		for k, i := range chunks {
			list[k] = cframe.Want{Chunk: i, Blocks: blocks}
		}
		return way{
			func(ctx context.Context, f *cframe.Frame) error {
				return f.EachConcurrent(ctx, list, func(int, int, []byte) error { return nil })
			},
			func(ctx context.Context, f *cframe.Frame) ([]rangeio.Planned, error) {
				return f.ExplainConcurrent(ctx, list)
			},
		}
	}
	spread := make([]int, 0, 200)
	for i := range cap(spread) {
		spread = append(spread, i*n/cap(spread))
	}
	for _, tc := range []struct {
		name string
		c    *crowd
		way
	}{
		{"a point", short, wants(nil, n/2)},
		{"the ends", short, wants(nil, 0, n-1)},
		{"many points", short, wants(nil, spread...)},
		{"a special chunk", short, wants(nil, n/22*11+10)},
		{"a block of a long chunk", long, wants([]int{5}, 1234)},
		{"blocks of long chunks", long, wants([]int{1, 9}, 77, 78, 3000)},
		{"long chunks", long, wants(nil, 77, 3000)},
		{"a block of many long chunks", long, wants([]int{3}, spread[:80]...)},
		{"bytes", short, way{
			func(ctx context.Context, f *cframe.Frame) error {
				return f.ReadBytes(ctx, make([]byte, 3000), 5000*manyChunk+7)
			},
			func(ctx context.Context, f *cframe.Frame) ([]rangeio.Planned, error) {
				return f.ExplainBytes(ctx, 5000*manyChunk+7, 3000)
			},
		}},
		{"in order", short, way{
			func(ctx context.Context, f *cframe.Frame) error {
				return f.Each(ctx, 9000, 9040, func(int, int, []byte) error { return nil })
			},
			func(ctx context.Context, f *cframe.Frame) ([]rangeio.Planned, error) {
				return f.ExplainEach(ctx, 9000, 9040)
			},
		}},
		{"stored", short, way{
			func(ctx context.Context, f *cframe.Frame) error {
				_, err := f.AppendStored(ctx, nil, n/3)
				return err
			},
			func(ctx context.Context, f *cframe.Frame) ([]rangeio.Planned, error) {
				return f.ExplainStored(ctx, n/3)
			},
		}},
	} {
		for policy, ends := range map[string]objstore.OpenOptions{"fast": {Head: 8 << 10, Tail: 24 << 10}, "lean": leanOpen} {
			t.Run(tc.name+", "+policy, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					took, told := manyCost(t, tc.c, ends, tc.read, tc.plan)
					if took != told || took.phases < 2 {
						t.Errorf("it takes %+v, the plan tells %+v", took, told)
					}
				})
			})
		}
	}
}

// A manyPrice is what opening and reading take, and what the same read takes again.
type manyPrice struct{ requests, phases, bytes, again, more int64 }

func manyCost(t *testing.T, c *crowd, ends objstore.OpenOptions, read func(context.Context, *cframe.Frame) error, plan func(context.Context, *cframe.Frame) ([]rangeio.Planned, error)) (took, told manyPrice) {
	t.Helper()
	var count objstore.Counter
	f := c.open(t, ends, &count, nil)
	if err := read(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	s := count.Stats()
	took = manyPrice{requests: s.Requests, phases: s.Phases, bytes: s.Bytes}
	if err := read(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	again := count.Stats()
	took.again, took.more = again.Requests-s.Requests, again.Bytes-s.Bytes

	count = objstore.Counter{}
	f = c.open(t, ends, &count, nil)
	list, err := plan(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	s = count.Stats()
	told = manyPrice{requests: s.Requests + int64(len(list)), phases: s.Phases, bytes: s.Bytes}
	for _, r := range list {
		told.bytes += r.Len
		told.phases = max(told.phases, s.Phases+int64(r.Phase))
	}
	if list, err = plan(t.Context(), f); err != nil || count.Stats() != s {
		t.Errorf("planned again: %v, %+v", err, count.Stats())
	}
	told.again = int64(len(list))
	for _, r := range list {
		told.more += r.Len
	}
	return took, told
}

// widerCrowd is a frame of chunks of 16 blocks that the policy reads alone.
func widerCrowd(t *testing.T, n int) *crowd {
	t.Helper()
	out := &output{}
	const size = 4096
	w, err := cframe.NewWriter(out, cframe.WriteOptions{TypeSize: 4, ChunkSize: size, BlockSize: size / 16, Index: cframe.WithIndex,
		Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}})
	p := make([]byte, size)
	for i := range n {
		for k := 0; k < size; k += 4 {
			if k%256 < 80+i*i%31*4 { // so that lengths differ
				binary.LittleEndian.PutUint32(p[k:], uint32(i*k+k)*2654435761|1)
			}
		}
		if err == nil {
			err = w.WriteChunk(p)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{n, out.Bytes(), rangeio.Policy{Free: 256, MaxGap: 1 << 10, MaxLen: 2 << 20, OverRead: 0.25, Parallel: 64}}
}
