package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"testing"

	"github.com/farread/farread/formats/gulp"
)

// A sent batch is what a client reads of one.
type sentBatch struct {
	batchHead

	frames [][]byte
}

// sentBatches reads an answer.
func sentBatches(t *testing.T, body io.Reader) (list []sentBatch) {
	t.Helper()
	r := bufio.NewReader(body)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return list
		}
		must(err)
		var b sentBatch
		must(json.Unmarshal(line, &b.batchHead))
		for _, s := range b.Samples {
			for _, n := range s.Sizes {
				p := make([]byte, n)
				_, err := io.ReadFull(r, p)
				must(err)
				b.frames = append(b.frames, p)
			}
		}
		list = append(list, b)
	}
}

// shards puts a dataset of three chunks, and returns its frames by id.
func shards(t *testing.T, g *ground) map[string][][]byte {
	t.Helper()
	all := map[string][][]byte{}
	for k := range 3 {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for i := range 7 {
			id := fmt.Sprintf("id%d%d", k, i)
			for f := range 1 + i%3 {
				p := bytes.Repeat([]byte{byte(k), byte(i), byte(f), 0xff}, 100+i)
				must(w.WriteFrame(id, p))
				all[id] = append(all[id], p)
			}
			must(w.AddMeta(id, json.RawMessage(fmt.Sprintf(`{"label":%d}`, i))))
		}
		must(w.WriteMeta(&meta))
		g.put(t, fmt.Sprintf("set/data_%d.gulp", k), data.Bytes())
		g.put(t, fmt.Sprintf("set/meta_%d.gmeta", k), meta.Bytes())
	}
	return all
}

// TestBatches: over ranks and workers each sample comes once, with its own bytes; an order
// goes on from a cursor with exactly what was left.
func TestBatches(t *testing.T) {
	g := newGround(t, Config{})
	all := shards(t, g)
	seen := map[string]int{}
	for share := range 4 {
		path := fmt.Sprintf("/batches/d/set?n=4&seed=7&epoch=1&rank=%d&world=2&worker=%d&workers=2&block=2", share/2, share%2)
		list := sentBatches(t, g.get(t, path).Body)
		left := list[0].Left
		for i, b := range list[1:] {
			at := 0
			for _, s := range b.Samples {
				frames := b.frames[at : at+len(s.Sizes)]
				if at += len(s.Sizes); !slices.EqualFunc(frames, all[s.ID], bytes.Equal) || string(s.Meta) != fmt.Sprintf(`[{"label":%c}]`, s.ID[3]) {
					t.Errorf("%s: %d frames, %s", s.ID, len(frames), s.Meta)
				}
				seen[s.ID]++
			}
			if left -= int64(len(b.Samples)); b.Left != left {
				t.Errorf("%d left, want %d", b.Left, left)
			}
			cursor, err := json.Marshal(b.Cursor)
			must(err)
			rest := sentBatches(t, g.get(t, "/batches/d/set?n=4&cursor="+url.QueryEscape(string(cursor))).Body)
			if fmt.Sprint(rest[1:]) != fmt.Sprint(list[i+2:]) {
				t.Errorf("from batch %d on: other batches", i)
			}
		}
		if left != 0 {
			t.Errorf("%d left at the end", left)
		}
	}
	if len(seen) != 21 {
		t.Errorf("%d samples", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// TestBatchesAt: samples by their places in an order, and frames as samples.
func TestBatchesAt(t *testing.T) {
	g := newGround(t, Config{})
	all := shards(t, g)
	list := sentBatches(t, g.get(t, "/batches/d/set?sequential=1&at=20,0,3").Body)
	if len(list) != 2 || list[0].Left != 21 || list[1].Samples[0].ID != "id26" || list[1].Samples[1].ID != "id00" || list[1].Samples[2].Index != 3 || !bytes.Equal(list[1].frames[0], all["id26"][0]) {
		t.Errorf("%+v", list)
	}
	list = sentBatches(t, g.get(t, "/batches/d/set?frames=1&sequential=1&at=5").Body)
	if len(list) != 2 || list[1].Samples[0].ID != "id02" || list[1].Samples[0].Frame != 2 || !bytes.Equal(list[1].frames[0], all["id02"][2]) {
		t.Errorf("%+v", list)
	}
	stale := url.QueryEscape(`{"version":1,"world":1,"samples":5,"dataset":"x"}`)
	for query, want := range map[string]int{"at=21": 404, "at=x": 404, "n=0": 400, "n=x": 400, "rank=2&world=2": 400, "seed=-1": 400, "frames=x": 400, "cursor=x": 400, "cursor=" + stale: 409, "window=1": 400, "size=1": 400} {
		if w := g.ask("GET", "/batches/d/set?"+query); w.Code != want {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if w := g.ask("HEAD", "/batches/d/set"); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %d bytes", w.Code, w.Body.Len())
	}
	if w := g.ask("GET", "/batches/d/v.b2nd"); w.Code != 422 {
		t.Errorf("of an array: %d %s", w.Code, w.Body)
	}
}
