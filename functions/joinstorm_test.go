package functions_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

const joinKey = "sets/minutes.b2nd"

func joinRules() functions.Rules {
	return functions.Rules{{Bucket: "uploads", Job: "pack", Format: "b2nd", Append: true, To: "minutes.b2nd", Out: functions.Out{Bucket: "datasets", Prefix: "sets/"}}}
}

// part is a .npy of rows of <i4: the number of the upload, its version, the row, and how
// many rows there are.
func part(tb testing.TB, n, version int) []byte {
	tb.Helper()
	d, err := dtype.Parse("<i4")
	if err != nil {
		tb.Fatal(err)
	}
	rows := partRows(n, version)
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: []int64{int64(rows), 4}})
	if err != nil {
		tb.Fatal(err)
	}
	return append(p, partItems(n, version)...)
}

func partRows(n, version int) int { return (n*7 + version*3) % 5 }

func partItems(n, version int) []byte {
	var p []byte
	rows := partRows(n, version)
	for i := range rows {
		for _, v := range []int{n, version, i, rows} {
			p = binary.LittleEndian.AppendUint32(p, uint32(v))
		}
	}
	return p
}

// whole says what is wrong with the items of a dataset of minutes, if it is not a row of
// whole uploads in their order.
func whole(p []byte, items func(n, version int) []byte) error {
	last := -1
	for len(p) > 0 {
		n, version := int(binary.LittleEndian.Uint32(p)), int(binary.LittleEndian.Uint32(p[4:]))
		want := items(n, version)
		if n <= last || !bytes.HasPrefix(p, want) || len(want) == 0 {
			return fmt.Errorf("upload %d, version %d, behind %d", n, version, last)
		}
		last, p = n, p[len(want):]
	}
	return nil
}

// dataset reads all items; nil if there is no dataset.
func dataset(ctx context.Context, b objstore.Bucket, key string) ([]byte, error) {
	obj, err := objstore.Open(ctx, b, key, objstore.OpenOptions{})
	if errors.Is(err, objstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a, err := b2nd.Open(ctx, obj, b2nd.Options{})
	if err != nil {
		return nil, err
	}
	var got bytes.Buffer
	_, err = a.CopyTo(ctx, &got, b2nd.Whole(a.Shape()), 0)
	return got.Bytes(), err
}

// forgetful fails after some commits that have taken place, as a worker does that is killed
// before it answers.
type forgetful struct{ objstore.Bucket }

var errKilled = errors.New("killed after the commit")

func (f forgetful) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	w, err := f.Bucket.Create(ctx, key, o)
	return forgetfulWriter{w}, err
}

type forgetfulWriter struct{ objstore.Writer }

func (w forgetfulWriter) Commit(ctx context.Context) (objstore.Info, error) {
	info, err := w.Writer.Commit(ctx)
	if err == nil && rand.IntN(4) == 0 {
		err = errKilled
	}
	return info, err
}

// TestJoinStorm: uploads, some of them in several versions, whose events come twice or three
// times, shuffled, to workers side by side that are killed between commit and answer. In the
// end the dataset is the newest version of each, in the order of keys, and all that readers
// ever see is a row of whole uploads.
func TestJoinStorm(t *testing.T) {
	t.Parallel()
	for name, stores := range map[string]func() (in, out objstore.Bucket){
		"unique tags": func() (in, out objstore.Bucket) {
			return memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
		},
		"content tags": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads"})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets"})}
		},
		"versions": func() (in, out objstore.Bucket) {
			return &contentTags{b: memstore.New(memstore.Config{Name: "mem://uploads", Versioned: true})}, &contentTags{b: memstore.New(memstore.Config{Name: "mem://datasets", Versioned: true})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range max(rounds(2), 1) {
				in, out := stores()
				joinStorm(t, arrayPlay(), in, out, uint64(round))
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// A joinPlay is a kind of dataset of many uploads.
type joinPlay struct {
	key, format string
	rules       functions.Rules
	upload      func(tb testing.TB, n, version int) (key string, p []byte)
	items       func(n, version int) []byte // rows as partItems has them
	read        func(ctx context.Context, b objstore.Bucket, key string) ([]byte, error)
}

func arrayPlay() joinPlay {
	return joinPlay{key: joinKey, format: b2nd.Format, rules: joinRules(), items: partItems, read: dataset,
		upload: func(tb testing.TB, n, version int) (string, []byte) {
			tb.Helper()
			return fmt.Sprintf("minutes/%02d.npy", n), part(tb, n, version)
		}}
}

func joinStorm(t *testing.T, d joinPlay, in, out objstore.Bucket, seed uint64) {
	t.Helper()
	const uploads, workers, receives = 20, 6, 60
	rng := rand.New(rand.NewPCG(seed, 3))
	var events [][]byte
	var want []byte
	for n := range uploads {
		version := 0
		for ; version == 0 || rng.IntN(4) == 0; version++ {
			key, p := d.upload(t, n, version)
			info, err := objstore.Put(t.Context(), in, key, bytes.NewReader(p), objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(3) {
				events = append(events, s3Event(record(key, info, version+1)))
			}
		}
		want = append(want, d.items(n, version-1)...)
	}
	rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	h := handlerOf(play{format: d.format}, in, jittery{forgetful{out}})
	h.Rules = d.rules
	queue := make(chan []byte, len(events))
	for _, e := range events {
		queue <- e
	}
	close(queue)
	ctx, cancel := context.WithCancel(t.Context())
	looks := make(chan int)
	go func() { looks <- look(ctx, t, d, out) }()
	var pool sync.WaitGroup
	var packed atomic.Int64
	for range workers {
		pool.Go(func() {
			for e := range queue {
				for try := 1; ; try++ {
					r, err := h.Handle(t.Context(), sqsEvent(e))
					if err != nil || r.Failed+r.Unmatched+r.Own+r.Ignored > 0 || try > receives {
						t.Errorf("%+v, %v", r, errors.Join(err, r.Err))
						return
					}
					if packed.Add(int64(r.Packed)); len(r.Failures) == 0 {
						break
					}
					if !errors.Is(r.Err, errKilled) && !errors.Is(r.Err, functions.ErrBusy) {
						t.Error(r.Err)
					}
				}
			}
		})
	}
	pool.Wait()
	cancel()
	if n := <-looks; n == 0 {
		t.Error("nobody looked")
	}
	got, err := d.read(t.Context(), out, d.key)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d: %v, %v", len(got), len(want), whole(got, d.items), err)
	}
}

// look reads the dataset until ctx ends.
func look(ctx context.Context, t *testing.T, d joinPlay, out objstore.Bucket) (looks int) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; looks++ {
		<-tick.C
		got, err := d.read(context.WithoutCancel(ctx), out, d.key)
		if errors.Is(err, objstore.ErrChanged) {
			continue // it opens the dataset again
		}
		if err == nil {
			err = whole(got, d.items)
		}
		if err != nil {
			t.Error(err)
			return looks
		}
	}
	return looks
}

// TestJoinOutcomes: what becomes of uploads that a dataset cannot take, and why.
func TestJoinOutcomes(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
	h := handlerOf(play{format: b2nd.Format}, in, out)
	h.Rules = joinRules()
	seq := 0
	send := func(key string, p []byte) (functions.Result, []byte) {
		t.Helper()
		info, err := objstore.Put(t.Context(), in, key, bytes.NewReader(p), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seq++
		e := s3Event(record(key, info, seq))
		r, err := h.Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return r, e
	}
	again := func(e []byte) functions.Result {
		t.Helper()
		r, err := h.Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, e := send("m/1.npy", part(t, 1, 0))
	if first.Packed != 1 || again(e).Unchanged != 1 {
		t.Errorf("%+v", first)
	}
	if r := again([]byte(`{"bucket":"uploads","key":"m/1.npy"}`)); r.Unchanged != 1 { // a backfill
		t.Errorf("%+v", r)
	}
	for key, p := range map[string][]byte{"m/2.npy": grid(t, 1), "m/3.npy": []byte("\x93NUMPY no"), "m/4.txt.npy": []byte("text")} {
		if r, _ := send(key, p); r.Failed != 1 {
			t.Errorf("%s: %+v", key, r)
		}
	}
	before, err := out.Head(t.Context(), joinKey)
	if err != nil {
		t.Fatal(err)
	}
	// The same bytes again: another event, another version, the same rows.
	if r, _ := send("m/1.npy", part(t, 1, 0)); r.Packed != 1 {
		t.Errorf("%+v", r)
	}
	if r, _ := send("m/1.npy", part(t, 1, 1)); r.Packed != 1 || again(e).Dropped != 1 {
		t.Errorf("%+v", r)
	}
	if got, err := dataset(t.Context(), out, joinKey); err != nil || !bytes.Equal(got, partItems(1, 1)) {
		t.Errorf("% x, %v", got, err)
	}
	if now, err := out.Head(t.Context(), joinKey); err != nil || now.ETag == before.ETag || !functions.IsDerived(now.Meta) {
		t.Errorf("%+v, %v", now, err)
	}
	// A dataset that no rule has begun is left alone.
	if _, err := objstore.Put(t.Context(), out, joinKey, bytes.NewReader([]byte("mine")), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, _ := send("m/5.npy", part(t, 5, 0)); r.Failed != 1 || !errors.Is(r.Done[0].Err, functions.ErrTaken) {
		t.Errorf("%+v", r)
	}
	if got := body(t, out, joinKey); string(got) != "mine" {
		t.Errorf("%q", got)
	}
}

// TestJoinRaw: raw data join by their note, whichever of the two comes last, and again if
// the note says something else.
func TestJoinRaw(t *testing.T) {
	t.Parallel()
	in, out := memstore.New(memstore.Config{Name: "mem://uploads"}), memstore.New(memstore.Config{Name: "mem://datasets"})
	h := handlerOf(play{format: b2nd.Format}, in, out)
	h.Rules = joinRules()
	items := partItems(2, 0)
	seq, outcomes := 0, ""
	for _, u := range []struct{ key, text string }{
		{"m/1.raw", string(items[:32])}, {"m/1.raw.json", `{"dtype":"<i4","shape":[2,4]}`},
		{"m/0.raw.json", `{"dtype":"<i4","shape":[1,4]}`}, {"m/0.raw", string(items[32:48])},
		{"m/1.raw.json", `{"dtype":"<i4","shape":[1,4],"offset":16}`},
	} {
		info, err := objstore.Put(t.Context(), in, u.key, bytes.NewReader([]byte(u.text)), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		seq++
		for range 2 {
			r, err := h.Handle(t.Context(), s3Event(record(u.key, info, seq)))
			if err != nil {
				t.Fatal(err)
			}
			outcomes += fmt.Sprint(r.Packed, r.Unchanged, r.Ignored, " ")
		}
	}
	if want := "0 0 1 0 0 1 1 0 0 0 1 0 0 0 1 0 0 1 1 0 0 0 1 0 1 0 0 0 1 0 "; outcomes != want {
		t.Errorf("%q", outcomes)
	}
	got, err := dataset(t.Context(), out, joinKey)
	if want := slices.Concat(items[32:48], items[16:32]); err != nil || !bytes.Equal(got, want) {
		t.Errorf("% x, %v", got, err)
	}
}
