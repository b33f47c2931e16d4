package gateway

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

const (
	rowChunks = 200
	rowChunk  = 8 << 10
)

// rowsFile is an array of chunks of noise, one of a row. Chunk 50 is of zeros.
var rowsFile = sync.OnceValue(func() []byte {
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{rowChunks, rowChunk}, ChunkShape: []int{1, rowChunk}, BlockShape: []int{1, rowChunk}, DType: "|u1"}, b2nd.WriteOptions{})
	must(err)
	_, err = w.Write(rowsData())
	must(err)
	must(w.Close())
	return b.Bytes()
})

var rowsData = sync.OnceValue(func() []byte {
	p := make([]byte, rowChunks*rowChunk)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p) // never fails
	clear(p[50*rowChunk : 51*rowChunk])
	return p
})

// A reading is what a client took that asked for chunks of rows.b2nd, so many at a time.
type reading struct {
	took     time.Duration
	requests int64
	bytes    int64
	early    int64 // answers that say they were read ahead
}

// readRows asks for chunks of a source that answers after 30 ms, and compares each.
func readRows(t *testing.T, order []int, flight int, c Config, m ...objstore.Middleware) (out reading) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGround(t, c, append(m, simstore.Latency(30*time.Millisecond))...)
		g.put(t, "rows.b2nd", rowsFile())
		g.get(t, "/zarr/d/rows.b2nd/zarr.json")
		before, begun := g.client.Stats(), time.Now()
		var next, early atomic.Int64
		var all sync.WaitGroup
		for range flight {
			all.Go(func() {
				for k := next.Add(1) - 1; k < int64(len(order)); k = next.Add(1) - 1 {
					w := g.ask("GET", fmt.Sprintf("/zarr/d/rows.b2nd/c/%d/0", order[k]))
					if strings.Contains(w.Header().Get("Server-Timing"), `make;desc="ahead"`) {
						early.Add(1)
					}
					checkRow(t, order[k], w.Code, w.Body.Bytes())
				}
			})
		}
		all.Wait()
		out.took = time.Since(begun)
		time.Sleep(2 * aheadIdle) // what nobody waits for comes, or ends
		synctest.Wait()
		after := g.client.Stats()
		out.requests, out.bytes, out.early = after.Requests-before.Requests, after.Bytes-before.Bytes, early.Load()
		if n := g.memory.used.Load(); n != 0 {
			t.Errorf("%d bytes of buffers are kept", n)
		}
		must(g.Close())
		synctest.Wait()
	})
	return out
}

func checkRow(t *testing.T, i, status int, body []byte) {
	t.Helper()
	want := rowsData()[i*rowChunk:][:rowChunk]
	if i == 50 {
		if status != 404 || len(body) > 0 {
			t.Errorf("chunk %d: %d", i, status)
		}
		return
	}
	if p, err := blosc.AppendDecoded(nil, body); status != 200 || err != nil || !bytes.Equal(p, want) {
		t.Errorf("chunk %d: %d, %d bytes, %v", i, status, len(p), err)
	}
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// alone is what the same reading takes without reading ahead: an answer a request.
func alone(order []int) (bytes int64) {
	seen := map[int]bool{50: true}
	for _, i := range order {
		if !seen[i] {
			seen[i] = true
			bytes += rowChunk + 32 // a chunk that is stored as it is
		}
	}
	return bytes
}

// TestReadAhead: who reads chunks in a row waits for few of them, and no byte is read twice.
// Who reads in no order takes what it took without.
func TestReadAhead(t *testing.T) {
	shuffled := upTo(rowChunks)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	strided, boxes, back := []int{}, []int{}, upTo(rowChunks)
	for i := range rowChunks / 7 {
		strided = append(strided, 7*i)
	}
	for i := range 9 {
		boxes = append(boxes, 20*i, 20*i+1, 20*i+2, 20*i+3, 20*i+4, 20*i+5)
	}
	slices.Reverse(back)
	for _, x := range []struct {
		name   string
		order  []int
		flight int
		phases int     // of 30 ms, at most
		more   float64 // bytes, to those without
	}{
		{"in a row, ten at a time", upTo(rowChunks), 10, 8, 1},
		{"in a row, one at a time", upTo(rowChunks), 1, 13, 1},
		{"in a row, sixty-four at a time", upTo(rowChunks), 64, 5, 1},
		{"the first thirty", upTo(30), 10, 3, 2},
		{"thirty-two, ten at a time", upTo(32), 10, 3, 2},
		{"in no order", shuffled[:100], 10, 10, 1.05},
		{"in no order, all", shuffled, 10, 20, 1.05},
		{"every seventh", strided, 4, 7, 1},
		{"backwards", back, 10, 20, 1},
		{"boxes of six", boxes, 6, 9, 1.5},
	} {
		t.Run(x.name, func(t *testing.T) {
			most := int64(float64(alone(x.order)) * x.more)
			fits := func(r *reading) bool {
				return r.took <= time.Duration(x.phases)*30*time.Millisecond && r.bytes <= most && r.bytes >= alone(x.order)*9/10
			}
			r := readRows(t, x.order, x.flight, Config{})
			// Answers that are kept take no time here, so the scheduler now and then leaves one
			// client more than a row behind the others. That is another order.
			for range 2 {
				if !fits(&r) {
					r = readRows(t, x.order, x.flight, Config{})
				}
			}
			if !fits(&r) {
				t.Errorf("%d phases, %d requests, %d bytes, want %d and %d to %d", r.took/(30*time.Millisecond), r.requests, r.bytes, x.phases, alone(x.order), most)
			}
			if x.more == 1.05 && r.early > 5 || x.flight == 10 && x.more == 1 && x.name != "backwards" && r.early < rowChunks/2 {
				t.Errorf("%d answers were read ahead", r.early)
			}
			t.Logf("%d phases, %d requests, %.2f times the bytes, %d early", r.took/(30*time.Millisecond), r.requests, float64(r.bytes)/float64(alone(x.order)), r.early)
		})
	}
}

// TestReadAheadSteps is the golden list of what is read ahead, for requests in many
// orders: after which request which chunks.
func TestReadAheadSteps(t *testing.T) {
	jitter, mixed := upTo(60), []int{}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range jitter[1:] {
		if j := min(i+r.IntN(4), len(jitter)-1); r.IntN(3) == 0 {
			jitter[i], jitter[j] = jitter[j], jitter[i]
		}
	}
	for i := range 40 {
		mixed = append(mixed, i, 100+i)
	}
	var out strings.Builder
	for _, x := range []struct {
		name  string
		order []int
	}{
		{"in a row", upTo(100)}, {"a little out of order", jitter}, {"two clients far from each other", mixed}, {"two clients, one behind the other", append(upTo(30), upTo(30)...)},
		{"three boxes of eight", []int{0, 1, 2, 3, 4, 5, 6, 7, 40, 41, 42, 43, 44, 45, 46, 47, 80, 81, 82, 83, 84, 85, 86, 87}},
		{"a pause in the middle", append(upTo(20), 150, 151, 20, 21, 22, 23, 24)},
	} {
		fmt.Fprintf(&out, "%s\n----\n", x.name)
		var a ahead
		for _, i := range x.order {
			st := a.note(int64(i), rowChunks, 1<<20, 64<<20)
			if st.from < st.to {
				st.run.end = st.to
				fmt.Fprintf(&out, "%d: %d to %d\n", i, st.from, st.to-1)
			}
			a.leave(st.run)
		}
		for _, r := range a.runs {
			if r != nil {
				a.forget(r)
			}
		}
		fmt.Fprintf(&out, "asked %d, lost %d\n\n", a.asked>>20, a.lost>>20)
	}
	const name = "testdata/ahead.trace"
	if os.Getenv("FARREAD_UPDATE") != "" {
		must(os.WriteFile(name, []byte(out.String()), 0o666))
	}
	want, err := os.ReadFile(name)
	if diff := cmp.Diff(string(want), out.String()); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestReadAheadEnds: a client that leaves takes the reads ahead along, and a read ahead
// that fails is not the client's error.
func TestReadAheadEnds(t *testing.T) {
	t.Run("the client leaves", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var x gate
			g := newGround(t, Config{}, x.middleware())
			g.put(t, "rows.b2nd", rowsFile())
			g.get(t, "/zarr/d/rows.b2nd/zarr.json")
			for i := range 3 {
				g.get(t, fmt.Sprintf("/zarr/d/rows.b2nd/c/%d/0", i))
			}
			x.shut()
			w := g.begin(t.Context(), "/zarr/d/rows.b2nd/c/3/0")
			synctest.Wait()
			if n := x.held.Load(); n < 2 {
				t.Errorf("%d requests on the way", n)
			}
			time.Sleep(10 * aheadIdle) // it waits, and so does what was read ahead
			if n := x.dropped.Load(); n > 0 {
				t.Errorf("%d requests ended", n)
			}
			x.lift()
			<-w
			x.shut()
			for i := 4; i < 8; i++ { // the last one asks for more
				g.get(t, fmt.Sprintf("/zarr/d/rows.b2nd/c/%d/0", i))
			}
			synctest.Wait()
			before := x.held.Load()
			time.Sleep(2 * aheadIdle)
			if x.dropped.Load() != before || before == 0 || x.held.Load() != 0 || g.memory.used.Load() != 0 {
				t.Errorf("%d of %d requests ended", x.dropped.Load(), before)
			}
			x.lift()
			g.get(t, "/zarr/d/rows.b2nd/c/8/0")
			must(g.Close())
			synctest.Wait()
		})
	})
	t.Run("the source fails", func(t *testing.T) {
		r := readRows(t, upTo(rowChunks), 10, Config{}, simstore.Replace(func(_ context.Context, c simstore.Call) error {
			if c.Op == "get" && c.Range.Len > 2*rowChunk { // several chunks
				return objstore.ErrDenied
			}
			return nil
		}))
		if r.bytes > alone(upTo(rowChunks)) {
			t.Errorf("%d requests, %d bytes", r.requests, r.bytes)
		}
	})
	t.Run("no memory", func(t *testing.T) {
		r := readRows(t, upTo(rowChunks), 10, Config{Memory: 1 << 20, Cache: 64 << 10})
		if r.bytes > alone(upTo(rowChunks))*3/2 {
			t.Errorf("%d requests, %d bytes", r.requests, r.bytes)
		}
	})
}
