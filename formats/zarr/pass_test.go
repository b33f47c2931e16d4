package zarr_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// A counted is a store that counts what is asked of it: objects that are opened, and calls that read
// ranges, with the requests that a policy makes of them.
type counted struct {
	memStore

	mu            sync.Mutex
	opens         map[string]int
	reads, ranges int
	fail          string // key whose opening fails once
}

func (s *counted) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens[key]++
	if key == s.fail {
		s.fail = ""
		return nil, context.Canceled
	}
	r, err := s.memStore.Open(ctx, key, head, tail)
	if err != nil || head > 0 {
		return r, err
	}
	return &countedReader{r, s, r.Size() - tail}, nil
}

type countedReader struct {
	rangeio.Reader

	s    *counted
	tail int64 // from here on it came with the opening
}

func (r *countedReader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if spans[0].Off < r.tail {
		r.s.mu.Lock()
		r.s.reads++
		r.s.ranges += len(rangeio.Plan(spans, rangeio.Fast()))
		r.s.mu.Unlock()
	}
	return r.Reader.ReadRanges(ctx, spans)
}

// written is a store with an array of int32, whose items are their numbers.
func written(t *testing.T, shape, chunk, shard []int64) (*counted, *zarr.Array, []byte) {
	t.Helper()
	d, err := dtype.Parse("<i4")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := nd.Prod(shape)
	all := make([]byte, 4*n)
	for i := range n {
		copy(all[4*i:], []byte{byte(i), byte(i >> 8), byte(i >> 16), 1})
	}
	s := &counted{memStore: memStore{}, opens: map[string]int{}}
	err = zarr.Write(t.Context(), zarr.NewArray{Shape: shape, ChunkShape: chunk, ShardShape: shard, DType: d}, zarr.WriteOptions{}, func(_ context.Context, box nd.Box, dst []byte) error {
		nd.CopyBox(dst, box.Counts(), make([]int64, len(shape)), all, shape, box.Start, box.Counts(), 4)
		return nil
	}, func(key string, p []byte) error { s.memStore[key] = bytes.Clone(p); return nil })
	if err != nil {
		t.Fatal(err)
	}
	node, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, node.Array, all
}

// through reads an array by boxes of a shape, several at a time.
func through(t *testing.T, p *zarr.Pass, most int64, shape, cut []int64, side int) ([]byte, error) {
	t.Helper()
	n, _ := nd.Prod(shape)
	out := make([]byte, 4*n)
	g, err := nd.NewGrid(shape, cut)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	err = par.Do(t.Context(), int(g.Total), side, func(ctx context.Context, k int) error {
		lo, hi, size := make([]int64, len(shape)), make([]int64, len(shape)), make([]int64, len(shape))
		for i := len(shape) - 1; i >= 0; i-- {
			lo[i] = int64(k) % g.Count[i] * cut[i]
			k /= int(g.Count[i])
			hi[i] = min(lo[i]+cut[i], shape[i])
			size[i] = hi[i] - lo[i]
		}
		items, _ := nd.Prod(size)
		dst := make([]byte, 4*items)
		if err := p.ReadBox(ctx, dst, nd.Sub(lo, hi)); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if p.Held() > most {
			t.Errorf("%d bytes are kept, at most %d", p.Held(), most)
		}
		nd.CopyBox(out, shape, lo, dst, size, make([]int64, len(size)), size, 4)
		return nil
	})
	return out, err
}

// TestPassCounts: each chunk is fetched once, whatever the boxes are, as long as a row of chunks fits
// into the memory; chunks of one shard that follow each other are read by one request.
func TestPassCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                     string
		shape, chunk, shard, cut []int64
		memory                   int64
		opens, requests          int // of chunks or shards, and of runs in shards
	}{
		{"as they are", []int64{40, 40}, []int64{10, 10}, nil, []int64{10, 10}, 1 << 20, 16, 0},
		{"planes to columns", []int64{40, 40}, []int64{1, 40}, nil, []int64{40, 5}, 1 << 20, 40, 0},
		{"columns to planes", []int64{40, 40}, []int64{40, 5}, nil, []int64{1, 40}, 1 << 20, 8, 0},
		{"across", []int64{50, 50}, []int64{7, 9}, nil, []int64{9, 7}, 1 << 20, 48, 0},
		{"across, a row fits", []int64{50, 50}, []int64{7, 9}, nil, []int64{9, 7}, 4 * 7 * 9 * 20, 48, 0},
		{"a shard", []int64{64, 64}, []int64{4, 4}, []int64{64, 64}, []int64{4, 4}, 1 << 20, 1, 1},
		{"shards in rows", []int64{64, 64}, []int64{4, 4}, []int64{16, 64}, []int64{4, 4}, 1 << 20, 4, 4},
		{"shards of a grid", []int64{64, 64}, []int64{4, 4}, []int64{16, 16}, []int64{4, 4}, 1 << 20, 16, 64},
		{"shards, other chunks", []int64{64, 64}, []int64{4, 4}, []int64{16, 16}, []int64{32, 32}, 1 << 20, 16, 16},
		{"shards, across", []int64{64, 64}, []int64{4, 4}, []int64{16, 16}, []int64{6, 10}, 1 << 20, 16, 48},
		{"shards, boxes of several", []int64{64, 64}, []int64{4, 4}, []int64{16, 16}, []int64{4, 24}, 1 << 20, 16, 64},
		{"little memory", []int64{64, 64}, []int64{4, 4}, []int64{64, 64}, []int64{4, 4}, 4 * 64 * 8, 1, 32},
	} {
		s, a, want := written(t, c.shape, c.chunk, c.shard)
		clear(s.opens)
		p := a.Pass(c.memory)
		got, err := through(t, p, c.memory, c.shape, c.cut, 1)
		if p.Held() != 0 {
			t.Errorf("%s: %d bytes are kept of which all was read", c.name, p.Held())
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other items, %v", c.name, err)
		}
		sum := 0
		for _, n := range s.opens {
			sum += n
		}
		if sum != c.opens || s.ranges != c.requests {
			t.Errorf("%s: %d opens, %d requests for %d runs, want %d and %d", c.name, sum, s.ranges, s.reads, c.opens, c.requests)
		}
		s.ranges = 0
		if got, err := through(t, a.Pass(c.memory), c.memory, c.shape, c.cut, 8); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, side by side: other items, %v", c.name, err)
		}
		if c.memory == 1<<20 && s.ranges != c.requests {
			t.Errorf("%s, side by side: %d requests, want %d", c.name, s.ranges, c.requests)
		}
		s.ranges = 0
		ahead := a.Pass(c.memory)
		wait := ahead.ReadAhead()
		if got, err := through(t, ahead, c.memory, c.shape, c.cut, 8); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, ahead: other items, %v", c.name, err)
		}
		wait()
		if c.memory == 1<<20 && s.ranges != c.requests {
			t.Errorf("%s, ahead: %d requests, want %d", c.name, s.ranges, c.requests)
		}
		if ahead.Held() != 0 {
			t.Errorf("%s, ahead: %d bytes are kept of which all was read", c.name, ahead.Held())
		}
		if got, err := through(t, a.Pass(0), 0, c.shape, c.cut, 8); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, without memory: other items, %v", c.name, err)
		}
	}
}

// TestPassFaults: a chunk that lies is named, and a caller that ends takes no other one with it.
func TestPassFaults(t *testing.T) {
	t.Parallel()
	s, a, want := written(t, []int64{40, 40}, []int64{10, 10}, nil)
	s.fail = "c/1/2"
	if _, err := through(t, a.Pass(1<<20), 1<<20, []int64{40, 40}, []int64{4, 4}, 1); err == nil {
		t.Error("no error")
	}
	p := a.Pass(1 << 20)
	s.fail = "c/0/0"
	if err := p.ReadBox(t.Context(), make([]byte, 4*16), nd.Sub([]int64{0, 0}, []int64{4, 4})); err == nil {
		t.Error("no error")
	}
	if got, err := through(t, p, 1<<20, []int64{40, 40}, []int64{4, 4}, 8); err != nil || !bytes.Equal(got, want) {
		t.Errorf("after a fault: other items, %v", err)
	}
	s, a, _ = written(t, []int64{16, 16}, []int64{4, 4}, []int64{16, 16})
	for i := range 8 {
		s.memStore["c/0/0"][i] ^= 0x55
	}
	_, err := through(t, a.Pass(1<<20), 1<<20, []int64{16, 16}, []int64{4, 4}, 1)
	if err == nil || !strings.Contains(fmt.Sprint(err), `chunk "c/0/0" chunk 0 0`) {
		t.Error(err)
	}
	if err := a.Pass(1).ReadBox(t.Context(), make([]byte, 3), nd.Sub([]int64{0, 0}, []int64{4, 4})); err == nil || strings.Contains(err.Error(), formats.ErrNoEntry.Error()) {
		t.Error(err)
	}
}

// TestPassAhead: while a run of a shard is read the next one is fetched, of the next shard, too, once, and no third one; without
// memory for both, and behind the last, none.
func TestPassAhead(t *testing.T) {
	t.Parallel()
	shape := []int64{32, 32}
	s, a, _ := written(t, shape, []int64{4, 4}, []int64{16, 32}) // 32 chunks of 64 bytes in each of two shards
	for _, c := range []struct {
		name   string
		memory int64
		first  []int64 // chunk that is asked for
		want   []int   // runs that were read, after each of the chunks that follow each other
	}{
		{"halves of shards", 4 * 16 * 64, []int64{0, 0}, []int{2, 2}},
		{"next run", 4 * 16 * 64, []int64{1, 7}, []int{2, 3}},
		{"next shard", 4 * 32 * 64, []int64{3, 7}, []int{2, 2}},
		{"the last run", 4 * 32 * 64, []int64{7, 6}, []int{1, 1}},
		{"no memory", 3 * 64, []int64{0, 0}, []int{1, 2}},
	} {
		_, err := a.ReadChunk(t.Context(), make([]byte, 64), []int64{0, 0}) // the indexes are there
		_, err2 := a.ReadChunk(t.Context(), make([]byte, 64), []int64{4, 0})
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		p := a.Pass(c.memory)
		wait := p.ReadAhead()
		s.reads = 0
		at := c.first
		for i, want := range c.want {
			lo := []int64{at[0] * 4, at[1] * 4}
			if err := p.ReadBox(t.Context(), make([]byte, 64), nd.Sub(lo, []int64{lo[0] + 4, lo[1] + 4})); err != nil {
				t.Fatal(err)
			}
			if wait(); s.reads != want {
				t.Errorf("%s: %d runs were read after chunk %d, want %d", c.name, s.reads, i, want)
			}
			if at = []int64{at[0], at[1] + 1}; at[1] == 8 {
				at = []int64{at[0] + 1, 0}
			}
		}
	}
}
