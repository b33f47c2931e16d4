package farread

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// TestRefusedFrames: of a frame whose data are not given, the bytes of a contiguous one
// can be read, and nothing of a sparse one, which is no object.
func TestRefusedFrames(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true})
	o := cframe.WriteOptions{Metalayers: []cframe.Metalayer{{Name: "proxy-source", Data: []byte{2}}}}
	frame(t, c, "one.b2frame", o, func(w chunkWriter) error { return w.WriteChunk(make([]byte, 100)) })
	out, err := c.Output(t.Context(), "s3://b/set/")
	if err != nil {
		t.Fatal(err)
	}
	w, err := cframe.NewSetWriter(t.Context(), out, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.WriteChunk(make([]byte, 100)), w.Close()); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"one.b2frame": true, "set/": false} {
		d := opened[Dataset](t, c, key, AnyOptions{})
		in, err := d.Describe(t.Context(), DescribeOptions{})
		if _, ok := d.(Ranger); ok != want || err != nil || in.Refused == "" {
			t.Errorf("%s: a Ranger: %t, refused: %q, %v", key, ok, in.Refused, err)
		}
		if r, ok := d.(Refuser); !ok || !errors.Is(r.Refused(), formats.ErrUnsupported) || r.Refused().Error() != in.Refused {
			t.Errorf("%s: %t, not refused", key, ok)
		}
	}
}

// A chunkWriter is a cframe.Writer, but for its end.
type chunkWriter interface {
	WriteChunk(p []byte) error
	WriteEncoded(chunk []byte) error
	WriteBlocks(blocks [][]byte) error
}

// frame writes a frame to s3://b.
func frame(t *testing.T, c *Client, key string, o cframe.WriteOptions, fill func(w chunkWriter) error) {
	t.Helper()
	b, _, err := c.Bucket(t.Context(), "s3://b/")
	if err != nil {
		t.Fatal(err)
	}
	create(t, b, key, func(out objstore.Writer) error {
		w, err := cframe.NewWriter(out, o)
		if err != nil {
			return err
		}
		return errors.Join(fill(w), w.Close())
	})
}

// create makes an object of what fill writes.
func create(t *testing.T, b objstore.Bucket, key string, fill func(out objstore.Writer) error) {
	t.Helper()
	out, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Abort()
	if err = fill(out); err == nil {
		_, err = out.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// raw makes chunks that are as long as their data, of any length.
func raw() cframe.WriteOptions {
	return cframe.WriteOptions{ChunkSize: cframe.VaryingSizes, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}
}

// cut gives consecutive parts of p, of n bytes.
func cut(p []byte, n int) [][]byte { return slices.Collect(slices.Chunk(p, n)) }

// holds reads the items [i, j) as it is planned, and holds them against want.
func holds(t *testing.T, c *Client, d Itemer, i, j int64, want [][]byte) Plan {
	t.Helper()
	plan, err := d.ExplainItems(t.Context(), i, j)
	next := i
	costs(t, c, "items", plan, err, func() (int, error) {
		return 0, d.EachItem(t.Context(), i, j, func(n int64, p []byte) error {
			if n != next || !bytes.Equal(p, want[n]) {
				t.Errorf("item %d after %d: %d bytes, %d wanted", n, next-1, len(p), len(want[n]))
			}
			next++
			return nil
		})
	})
	if next != j || plan.Cost().Estimated {
		t.Errorf("items up to %d of %d, by an estimate: %t", next, j, plan.Cost().Estimated)
	}
	return plan
}

// TestItemsAreReadTogether: chunks of various lengths are read as they are planned, some
// MiB by one request.
func TestItemsAreReadTogether(t *testing.T) {
	t.Parallel()
	for _, policy := range []rangeio.Policy{rangeio.Fast(), rangeio.Lean()} {
		c, _ := remote(Config{NoHedge: true, Policy: policy})
		items := cut(noise(300*10<<10), 10<<10)
		items = append(items, noise(7<<20), noise(5<<20), noise(1))
		frame(t, c, "d/x.b2frame", raw(), func(w chunkWriter) error {
			for _, p := range items {
				if err := w.WriteChunk(p); err != nil {
					return err
				}
			}
			return nil
		})
		d := opened[Itemer](t, c, "d/x.b2frame", AnyOptions{})
		if n := len(holds(t, c, d, 0, 300, items).Requests); n > 3 {
			t.Errorf("%d requests", n)
		}
		holds(t, c, d, 17, 18, items)
		holds(t, c, d, 299, int64(len(items)), items)
		holds(t, c, d, 5, 5, items)
	}
}

// TestBlocksAreReadOnce: whatever blocks are wanted of chunks that are not large, no byte
// of these is read twice.
func TestBlocksAreReadOnce(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	items := cut(noise(3*1024*4<<10), 4<<10)
	frame(t, c, "d/x.b2frame", raw(), func(w chunkWriter) error {
		for _, blocks := range [][][]byte{items[:1024], items[1024 : 2*1024-10], items[2*1024-10:]} {
			if err := w.WriteBlocks(blocks); err != nil {
				return err
			}
		}
		return nil
	})
	in, err := b.Head(t.Context(), "d/x.b2frame")
	if err != nil {
		t.Fatal(err)
	}
	d := opened[Itemer](t, c, "d/x.b2frame", AnyOptions{})
	if _, err := d.AppendItem(t.Context(), nil, 0); err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, 1024}, {0, 3 * 1024}, {1, 300}, {1000, 1030}, {500, 2500}, {2040, 2041}} {
		plan := holds(t, c, d, r[0], r[1], items)
		if n := plan.Cost().Bytes; n > in.Size {
			t.Errorf("%v: %d bytes of %d", r, n, in.Size)
		}
	}
	if n := holds(t, c, d, 0, 1024, items).Cost().Bytes; n > in.Size*2/5 {
		t.Errorf("%d bytes for a chunk of %d", n, in.Size/3)
	}
}

// TestLargeChunksOfItems: a chunk is read once, although its length is known only by its
// header, and it is too large to be held decoded.
func TestLargeChunksOfItems(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true})
	p := noise(12 << 20)
	items := cut(p, 16<<10)
	frame(t, c, "d/blocks", raw(), func(w chunkWriter) error { return w.WriteBlocks(items) })
	frame(t, c, "d/chunks", raw(), func(w chunkWriter) error { return errors.Join(w.WriteChunk(p), w.WriteChunk(p)) })
	for _, tc := range []struct {
		key   string
		items [][]byte
		i, j  int64
	}{{"d/blocks", items, 0, 1}, {"d/blocks", items, 0, 768}, {"d/blocks", items, 100, 500}, {"d/blocks", items, 767, 768},
		{"d/chunks", [][]byte{p, p}, 0, 2}, {"d/chunks", [][]byte{p, p}, 1, 2}} {
		d := opened[Itemer](t, c, tc.key, AnyOptions{})
		if _, err := d.AppendItem(t.Context(), nil, 0); err != nil {
			t.Fatal(err)
		}
		before, next := c.Stats(), tc.i
		err := d.EachItem(t.Context(), tc.i, tc.j, func(i int64, p []byte) error {
			if i != next || !bytes.Equal(p, tc.items[i]) {
				t.Errorf("%s: item %d after %d: %d bytes", tc.key, i, next-1, len(p))
			}
			next++
			return nil
		})
		most := int64(13 << 20)
		if tc.key == "d/chunks" {
			most *= tc.j - tc.i
		}
		if n := c.Stats().Bytes - before.Bytes; err != nil || next != tc.j || n > most {
			t.Errorf("%s: items %d to %d: up to %d, %d bytes, %v", tc.key, tc.i, tc.j, next, n, err)
		}
		stop := errors.New("stop")
		if err := d.EachItem(t.Context(), tc.i, tc.j, func(int64, []byte) error { return stop }); err != stop { // the very same
			t.Errorf("%s: %v", tc.key, err)
		}
	}
}

// TestItemsOfSparseFrames: items are the same if each chunk is an object.
func TestItemsOfSparseFrames(t *testing.T) {
	t.Parallel()
	c, _ := remote(Config{NoHedge: true})
	items := append(cut(noise(40*9000), 9000), noise(10))
	for key, fill := range map[string]func(w chunkWriter) error{
		"chunks/": func(w chunkWriter) error {
			var err error
			for i := 0; i < len(items) && err == nil; i++ {
				err = w.WriteChunk(items[i])
			}
			return err
		},
		"blocks/": func(w chunkWriter) error { return errors.Join(w.WriteBlocks(items[:30]), w.WriteBlocks(items[30:])) },
	} {
		out, err := c.Output(t.Context(), "s3://b/"+key)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cframe.NewSetWriter(t.Context(), out, raw())
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(fill(w), w.Close()); err != nil {
			t.Fatal(err)
		}
		d := opened[Itemer](t, c, key, AnyOptions{})
		for _, r := range [][2]int64{{0, 41}, {3, 4}, {25, 35}} {
			next := r[0]
			err := d.EachItem(t.Context(), r[0], r[1], func(i int64, p []byte) error {
				if i != next || !bytes.Equal(p, items[i]) {
					t.Errorf("%s: item %d after %d: %d bytes", key, i, next-1, len(p))
				}
				next++
				return nil
			})
			plan, eerr := d.ExplainItems(t.Context(), r[0], r[1])
			if err != nil || eerr != nil || next != r[1] || len(plan.Requests) == 0 || !plan.Cost().Estimated {
				t.Errorf("%s: %v: up to %d, planned %+v, %v, %v", key, r, next, plan.Cost(), err, eerr)
			}
		}
	}
}

// TestItemsInBoundedMemory: items are not held that have not their turn yet, however
// little is stored of them. It is alone: it measures the heap.
func TestItemsInBoundedMemory(t *testing.T) { //nolint:paralleltest // see above
	const mib = 1 << 20
	c, _ := remote(Config{NoHedge: true})
	zeros, err := blosc.AppendSpecial(nil, blosc.Zeros, 64*mib, 1, mib, nil)
	if err != nil {
		t.Fatal(err)
	}
	frame(t, c, "chunks", raw(), func(w chunkWriter) error {
		var err error
		for i := 0; i < 256 && err == nil; i++ {
			err = w.WriteEncoded(zeros)
		}
		return err
	})
	blocks := cut(make([]byte, 16*mib), 4*mib)
	frame(t, c, "blocks", cframe.WriteOptions{ChunkSize: cframe.VaryingSizes}, func(w chunkWriter) error {
		var err error
		for i := 0; i < 24 && err == nil; i++ {
			err = w.WriteBlocks(blocks)
		}
		return err
	})
	blocks = nil
	for _, tc := range []struct {
		key         string
		items, size int
		most        uint64
	}{{"chunks", 256, 64 * mib, 160 * mib}, {"blocks", 96, 4 * mib, 64 * mib}} {
		d := opened[Itemer](t, c, tc.key, AnyOptions{})
		var before, now runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools hold goes the second time
		runtime.ReadMemStats(&before)
		most := uint64(0)
		err := d.EachItem(t.Context(), 0, int64(tc.items), func(i int64, p []byte) error {
			if len(p) != tc.size {
				t.Errorf("%s: item %d: %d bytes", tc.key, i, len(p))
			}
			if i%16 == 8 {
				runtime.GC() // what is held, not what was
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
			return nil
		})
		held := most - min(most, before.HeapAlloc)
		t.Logf("%s: %d MiB held", tc.key, held/mib)
		if err != nil || held > tc.most {
			t.Errorf("%s: %d MiB held, at most %d wanted, %v", tc.key, held/mib, tc.most/mib, err)
		}
	}
}

// TestCountingObeysContexts: who waits for another's count of items ends with the own
// context, and Items does not wait.
func TestCountingObeysContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, b := remote(Config{NoHedge: true})
		frame(t, c, "d/x.b2frame", raw(), func(w chunkWriter) error {
			return errors.Join(w.WriteBlocks(cut(noise(300000), 150000)), w.WriteBlocks(cut(noise(300000), 300000)))
		})
		c.buckets["s3://b"] = store{b, objstore.Chain(b, simstore.Latency(10*time.Second))}
		d := opened[Itemer](t, c, "d/x.b2frame", AnyOptions{})
		first := make(chan error)
		go func() {
			_, err := d.AppendItem(t.Context(), nil, 1)
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if _, err := d.AppendItem(ctx, nil, 0); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if n := d.Items(); n != -1 || time.Since(begin) != time.Second {
			t.Errorf("%d items after %v", n, time.Since(begin))
		}
		if err := <-first; err != nil || d.Items() != 3 {
			t.Errorf("%d items, %v", d.Items(), err)
		}
	})
}
