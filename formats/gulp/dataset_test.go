package gulp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/rangeio"
)

// A folder is a Set and an Output in memory, and records the calls.
type folder struct {
	mu      sync.Mutex
	objects map[string][]byte
	log     []string
	opened  atomic.Int32
	fail    func(op, name string) error
}

func newFolder() *folder { return &folder{objects: map[string][]byte{}} }

func (f *folder) note(op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, op+" "+name)
	if f.fail != nil {
		return f.fail(op, name)
	}
	return nil
}

func (f *folder) List(context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for n := range f.objects {
		names = append(names, n)
	}
	sort.Strings(names)
	return names, nil
}

func (f *folder) Open(_ context.Context, name string) (rangeio.Reader, error) {
	f.opened.Add(1)
	if err := f.note("open", name); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytesReader(f.objects[name]), nil
}

func (f *folder) Create(_ context.Context, name string) (formats.Object, error) {
	return &object{f: f, name: name}, f.note("create", name)
}

type object struct {
	f    *folder
	name string
	buf  bytes.Buffer
	done bool
}

func (o *object) Write(p []byte) (int, error) { return o.buf.Write(p) }

func (o *object) Commit(context.Context) error {
	if err := o.f.note("commit", o.name); err != nil {
		return err
	}
	o.f.mu.Lock()
	defer o.f.mu.Unlock()
	o.f.objects[o.name], o.done = o.buf.Bytes(), true
	return nil
}

func (o *object) Abort() {
	if !o.done {
		_ = o.f.note("abort", o.name)
	}
	o.done = true
}

func fixtureFolder(t *testing.T, name string) *folder {
	t.Helper()
	f := newFolder()
	dir := filepath.Join("testdata", "chunks", name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		f.objects[e.Name()] = load(t, "chunks/"+name+"/"+e.Name())
	}
	return f
}

func TestDatasetFixtures(t *testing.T) {
	for name, want := range expected(t).Datasets {
		t.Run(name, func(t *testing.T) {
			f := fixtureFolder(t, name)
			d, err := gulp.OpenDataset(t.Context(), f, gulp.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var chunks [][2]string
			for k := range d.Len() {
				chunks = append(chunks, [2]string{d.Pair(k).Data, d.Pair(k).Meta})
			}
			if diff := cmp.Diff(want.Chunks, chunks); diff != "" || d.Next() != len(chunks) || f.opened.Load() != 0 {
				t.Errorf("next %d, %d opened, chunks -want +got\n%s", d.Next(), f.opened.Load(), diff)
			}
			found := map[string]string{}
			for id, data := range want.ChunkOfID {
				c, k, err := d.Find(t.Context(), id)
				if err != nil || !c.Has(id) {
					t.Fatalf("%q: %v", id, err)
				}
				if found[id] = d.Pair(k).Data; found[id] != data {
					t.Errorf("%q is in %s, want %s", id, found[id], data)
				}
			}
			n := int64(0)
			for s, err := range d.Samples(t.Context()) {
				if err != nil || s.N != n || found[s.ID] != d.Pair(s.K).Data {
					t.Fatalf("sample %d: %+v, %v", n, s, err)
				}
				n++
			}
			if int(n) != len(want.ChunkOfID) || int(f.opened.Load()) != 2*len(chunks) {
				t.Errorf("%d samples, %d opened", n, f.opened.Load())
			}
			if _, _, err := d.Find(t.Context(), "no such id"); !errors.Is(err, formats.ErrNoEntry) {
				t.Error(err)
			}
		})
	}
}

func TestDatasetNames(t *testing.T) {
	f := newFolder()
	for _, n := range []string{"10", "9", "2", "010", "100000000000000000000000000", "-3-train"} {
		f.objects["data_"+n+".gulp"], f.objects["meta_"+n+".gmeta"] = nil, []byte("{}")
	}
	for _, n := range []string{"label2idx.json", "data_77.gulp", "sub/data_1.gulp", "sub/meta_5.gmeta", "datax.gulp", "metax.gmeta", "x1.gulp", "data_4.gmeta", "meta_4.gulp"} {
		f.objects[n] = nil
	}
	d, err := gulp.OpenDataset(t.Context(), f, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for k := range d.Len() {
		got = append(got, d.Pair(k).Meta)
	}
	want := []string{"meta_2.gmeta", "meta_-3-train.gmeta", "meta_9.gmeta", "meta_010.gmeta", "meta_10.gmeta", "meta_100000000000000000000000000.gmeta"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"data_77.gulp"}, d.Unfinished()); diff != "" || d.Next() != 78 {
		t.Errorf("next %d, unfinished %s", d.Next(), diff)
	}
	f.objects["meta_5.gmeta"] = []byte("{}")
	if _, err := gulp.OpenDataset(t.Context(), f, gulp.Options{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("index without data: %v", err)
	}
	empty, err := gulp.OpenDataset(t.Context(), newFolder(), gulp.Options{})
	if err != nil || empty.Len() != 0 || empty.Next() != 0 {
		t.Errorf("empty folder: %v", err)
	}
}

func TestDatasetDuplicateAndFailure(t *testing.T) {
	f := fixtureFolder(t, "append_ingest_gulpio24")
	f.objects["data_4.gulp"], f.objects["meta_4.gmeta"] = f.objects["data_1.gulp"], f.objects["meta_1.gmeta"]
	d, err := gulp.OpenDataset(t.Context(), f, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	f.fail = func(op, name string) error {
		if name == "data_2.gulp" {
			return boom
		}
		return nil
	}
	if err := d.Load(t.Context()); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	f.fail = nil // a failure is not remembered
	err = d.Load(t.Context())
	if !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), `id "a2": in meta_1.gmeta and in meta_4.gmeta`) {
		t.Error(err)
	}
}

// manyIDs is a dataset of the given numbers of ids in its chunks.
func manyIDs(tb testing.TB, counts []int) (*gulp.Dataset, []string) {
	tb.Helper()
	f := newFolder()
	var all []string
	for k, n := range counts {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for i := range n {
			id := fmt.Sprintf("%d-%d", k, i)
			all = append(all, id)
			if err := w.WriteFrame(id, []byte(id)); err != nil {
				tb.Fatal(err)
			}
		}
		if err := w.WriteMeta(&meta); err != nil {
			tb.Fatal(err)
		}
		p := gulp.ChunkPair(k)
		f.objects[p.Data], f.objects[p.Meta] = data.Bytes(), meta.Bytes()
	}
	d, err := gulp.OpenDataset(context.Background(), f, gulp.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return d, all
}

// TestOrder checks the promises of the shuffle on random datasets. Over all ranks
// every sample comes once, shares are even, and a cursor, through JSON, resumes with
// exactly the remaining samples.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 6).Draw(r, "counts")
		o := gulp.OrderOptions{
			Seed: rapid.Uint64().Draw(r, "seed"), Epoch: rapid.Uint64().Draw(r, "epoch"),
			World: rapid.IntRange(1, 7).Draw(r, "world"), Sequential: rapid.Bool().Draw(r, "sequential"),
		}
		d, all := manyIDs(t, counts)
		var got []string
		for o.Rank = range o.World {
			w, err := d.Order(t.Context(), o)
			if err != nil {
				r.Fatal(err)
			}
			if share := int(w.Len()); share < len(all)/o.World || share > len(all)/o.World+1 {
				r.Fatalf("rank %d has %d of %d", o.Rank, share, len(all))
			}
			var ids []string
			stop := rapid.IntRange(0, int(w.Len())).Draw(r, "stop")
			for range stop {
				s, _ := w.Next()
				ids = append(ids, s.ID)
			}
			text, err := json.Marshal(w.Cursor())
			if err != nil {
				r.Fatal(err)
			}
			var c gulp.Cursor
			if err := json.Unmarshal(text, &c); err != nil {
				r.Fatal(err)
			}
			again, err := d.Resume(t.Context(), c)
			if err != nil {
				r.Fatal(err)
			}
			var rest, resumed []string
			for s := range w.All() {
				rest = append(rest, s.ID)
			}
			for s := range again.All() {
				if !s.Chunk.Has(s.ID) || all[s.N] != s.ID {
					r.Fatalf("sample %+v", s)
				}
				resumed = append(resumed, s.ID)
			}
			if !slices.Equal(rest, resumed) {
				r.Fatalf("resumed with %v, want %v", resumed, rest)
			}
			if ids = append(ids, rest...); int64(len(ids)) != w.Len() {
				r.Fatalf("rank %d: %d samples, want %d", o.Rank, len(ids), w.Len())
			}
			got = append(got, ids...)
		}
		if o.Sequential && o.World == 1 && !slices.Equal(got, all) {
			r.Fatalf("sequential: %v", got)
		}
		sort.Strings(got)
		want := slices.Sorted(slices.Values(all))
		if !slices.Equal(got, want) {
			r.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestOrderByFrame: over all ranks each frame comes once, under its id and number, also
// behind ids without frames; a cursor goes on in the midst of an id, and is none of an
// order by id.
func TestOrderByFrame(t *testing.T) {
	f := newFolder()
	var all []string
	for k, counts := range [][]int{{2, 0, 3}, {0}, {1, 4, 0}} {
		meta, data := "", []byte{}
		for i, n := range counts {
			id, frames := fmt.Sprintf("%d-%d", k, i), []string{}
			for j := range n {
				frames = append(frames, fmt.Sprintf("[%d,0,1]", len(data)))
				data = append(data, byte(len(all)))
				all = append(all, fmt.Sprintf("%s/%d", id, j))
			}
			meta += fmt.Sprintf(`,"%s":{"meta_data":[{}],"frame_info":[%s]}`, id, strings.Join(frames, ","))
		}
		p := gulp.ChunkPair(k)
		f.objects[p.Data], f.objects[p.Meta] = data, []byte("{"+meta[1:]+"}")
	}
	d, err := gulp.OpenDataset(t.Context(), f, gulp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []gulp.OrderOptions{{Sequential: true}, {Seed: 5}, {Seed: 6, World: 3}} {
		o.Frames = true
		var got []string
		for o.Rank = range max(o.World, 1) {
			w, err := d.Order(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for n := w.Len(); n > 0; n-- {
				if w, err = d.Resume(t.Context(), w.Cursor()); err != nil {
					t.Fatal(err)
				}
				s, ok := w.Next()
				p, err := s.Chunk.AppendFrame(t.Context(), nil, s.ID, s.Frame)
				if name := fmt.Sprintf("%s/%d", s.ID, s.Frame); !ok || err != nil || all[s.N] != name || int64(p[0]) != s.N {
					t.Errorf("%+v: %s, want %s, %v", o, name, all[s.N], err)
				}
				got = append(got, all[s.N])
			}
			if s, ok := w.Next(); ok {
				t.Errorf("one more: %+v", s)
			}
		}
		if o.Sequential != slices.Equal(got, all) {
			t.Errorf("%+v: in the order of the dataset: %v", o, got)
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(all)); !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", o, got, want)
		}
	}
	w, err := d.Order(t.Context(), gulp.OrderOptions{Frames: true})
	if err != nil {
		t.Fatal(err)
	}
	c := w.Cursor()
	c.Frames = false
	if _, err := d.Resume(t.Context(), c); !errors.Is(err, gulp.ErrCursor) {
		t.Errorf("a cursor of frames for ids: %v", err)
	}
}

// TestOrderPinned pins the order itself: another order breaks the cursors that people
// keep, and needs another Cursor.Version.
func TestOrderPinned(t *testing.T) {
	d, _ := manyIDs(t, []int{4, 3, 5})
	var got []string
	for epoch := range uint64(2) {
		w, err := d.Order(t.Context(), gulp.OrderOptions{Seed: 42, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		var n []string
		for s := range w.All() {
			n = append(n, fmt.Sprint(s.N))
		}
		got = append(got, strings.Join(n, " "))
	}
	want := []string{"4 9 1 8 5 3 0 2 11 10 6 7", "9 4 10 5 11 3 6 0 1 8 2 7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestOrderEven counts where each of a few samples goes over many seeds: every
// place must be about equally likely.
func TestOrderEven(t *testing.T) {
	const n, seeds = 6, 6000
	d, _ := manyIDs(t, []int{n})
	var seen [n][n]int
	for seed := range uint64(seeds) {
		w, err := d.Order(t.Context(), gulp.OrderOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for pos := range n {
			s, _ := w.Next()
			seen[s.N][pos]++
		}
	}
	for s, row := range seen {
		for pos, got := range row { // 1000 expected, standard deviation 29
			if got < 850 || got > 1150 {
				t.Errorf("sample %d came %d times in place %d, want about %d", s, got, pos, seeds/n)
			}
		}
	}
}

func TestOrderErrors(t *testing.T) {
	d, _ := manyIDs(t, []int{4, 3})
	other, _ := manyIDs(t, []int{4, 4})
	w, err := d.Order(t.Context(), gulp.OrderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	good := w.Cursor()
	if _, err := other.Resume(t.Context(), good); !errors.Is(err, gulp.ErrCursor) {
		t.Error(err)
	}
	for _, change := range []func(c *gulp.Cursor){
		func(c *gulp.Cursor) { c.Next = -1 }, func(c *gulp.Cursor) { c.Next = 8 }, func(c *gulp.Cursor) { c.Version = 2 },
		func(c *gulp.Cursor) { c.Dataset = "" }, func(c *gulp.Cursor) { c.Rank = 1 }, func(c *gulp.Cursor) { c.World = -1 },
	} {
		c := good
		change(&c)
		if _, err := d.Resume(t.Context(), c); !errors.Is(err, gulp.ErrCursor) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, o := range []gulp.OrderOptions{{Rank: 1}, {Rank: -1, World: 2}, {World: -1}, {Rank: 2, World: 2}} {
		if _, err := d.Order(t.Context(), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}
