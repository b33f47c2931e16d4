package functions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestSameBytesAgain: if the same bytes are uploaded again only the index is written,
// with the later sequencer. A late event of other bytes between them changes nothing.
func TestSameBytesAgain(t *testing.T) {
	t.Parallel()
	in := &contentTags{b: memstore.New(memstore.Config{})}
	inner := memstore.New(memstore.Config{})
	out := &contentTags{b: inner}
	h := handler(in, out)
	run := func(seq int, seed int) {
		t.Helper()
		info := put(t, in, stormKey, upload(t, seed), nil)
		if r, err := h.Handle(t.Context(), s3Event(record(stormKey, info, seq))); err != nil || r.Packed != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	data := func() string { // memstore gives every write a new tag
		t.Helper()
		i, err := inner.Head(t.Context(), stormKey+".gulp")
		if err != nil {
			t.Fatal(err)
		}
		return i.ETag
	}
	run(1, 1)
	first := data()
	run(3, 1)
	if data() != first {
		t.Error("the same data were written again")
	}
	i, err := out.Head(t.Context(), stormKey+".gmeta")
	if of, _ := functions.SourceOf(i.Meta); err != nil || of.Sequencer != "000003" {
		t.Errorf("the index is of %+v, %v", of, err)
	}
	checkNewest(t, in, out)
	// The event between them comes late, and its bytes could still be had.
	between := put(t, &contentTags{b: memstore.New(memstore.Config{})}, stormKey, upload(t, 2), nil)
	p := functions.Pair{Bucket: out, Data: stormKey + ".gulp", Meta: stormKey + ".gmeta", Layout: i.Meta[functions.MetaLayout]}
	infos, err := p.Publish(t.Context(), in, functions.Upload{Bucket: "uploads", Key: stormKey, ETag: between.ETag, Sequencer: "000002"}, nil)
	if err != nil || infos != nil {
		t.Errorf("%v, %v", infos, err)
	}
	checkNewest(t, in, out)
	run(4, 2)
	if data() == first {
		t.Error("other data were not written")
	}
	checkNewest(t, in, out)
}

// TestOtherLayoutAgain: the same bytes in another layout are other data.
func TestOtherLayoutAgain(t *testing.T) {
	t.Parallel()
	inner := memstore.New(memstore.Config{})
	u := functions.Upload{Bucket: "uploads", Key: "k", ETag: `"A"`, Sequencer: "1"}
	for i, c := range []struct {
		etag, version, layout string
		again                 bool
	}{{`"A"`, "", "one", true}, {`"A"`, "", "one", false}, {`"A"`, "", "two", true}, {`"A"`, "v2", "two", true}, {`"A"`, "v2", "two", false}, {`W/"A"`, "v2", "two", true}, {`W/"A"`, "v2", "two", true}} {
		u.ETag, u.VersionID, u.Sequencer = c.etag, c.version, fmt.Sprint(i+1)
		before, _ := inner.Head(t.Context(), "k.gulp")
		p := functions.Pair{Bucket: &contentTags{b: inner}, Data: "k.gulp", Meta: "k.gmeta", Layout: c.layout}
		if infos, err := p.Publish(t.Context(), nil, u, letters); err != nil || len(infos) != 2 {
			t.Fatalf("%d: %v, %v", i, infos, err)
		}
		after, err := inner.Head(t.Context(), "k.gulp")
		if err != nil || (after.ETag != before.ETag) != c.again {
			t.Errorf("%d: data %s, then %s, %v", i, before.ETag, after.ETag, err)
		}
	}
}

// TestOlderDataUnderNewerIndex: a worker that mends the pair of a version may put that
// version's data over those of a newer one, whose worker has seen its pair whole and
// ended. That is possible if the data's ETag is again the one that the older worker
// had found. The older worker sees the result and mends again.
func TestOlderDataUnderNewerIndex(t *testing.T) {
	t.Parallel()
	version := func(etag, seq string) functions.Upload {
		return functions.Upload{Bucket: "uploads", Key: "k", ETag: etag, Sequencer: seq}
	}
	publish := func(b objstore.Bucket, u functions.Upload) {
		t.Helper()
		if err := pairOrders.publish(b, u); err != nil {
			t.Fatal(err)
		}
	}
	out, other := &contentTags{b: memstore.New(memstore.Config{})}, memstore.New(memstore.Config{})
	newest := version(`"A"`, "4")
	publish(out, newest)
	publish(other, version(`"B"`, "3"))
	info, err := other.Head(t.Context(), "k.gulp")
	if err != nil {
		t.Fatal(err)
	}
	for _, late := range []functions.Upload{version(`"A"`, "2"), version(`"B"`, "3"), newest} {
		put(t, out, "k.gulp", body(t, other, "k.gulp"), info.Meta)
		publish(out, late)
		pairOrders.check(t, out, newest)
	}
}

// letters makes data that depend on the upload's ETag.
func letters(_ context.Context, u functions.Upload, data io.Writer) (func(io.Writer) error, error) {
	if _, err := io.WriteString(data, strings.Repeat(u.ETag, 3)); err != nil {
		return nil, err
	}
	return func(w io.Writer) error {
		_, err := io.WriteString(w, "index of "+u.ETag)
		return err
	}, nil
}

// TestOrders: contents that come back under later sequencers, all of them still
// readable, are given in any order to workers that meet. In the end the highest
// sequencer stands, in a whole pair, whatever tags the store gives.
func TestOrders(t *testing.T) {
	t.Parallel()
	rounds := rounds(60)
	for name, out := range map[string]func() objstore.Bucket{
		"unique tags":  func() objstore.Bucket { return memstore.New(memstore.Config{}) },
		"content tags": func() objstore.Bucket { return &contentTags{b: memstore.New(memstore.Config{})} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				orders(t, jittery{out()}, uint64(round), pairOrders)
				orders(t, jittery{out()}, uint64(round), singleOrders)
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
		})
	}
}

// An ordered output is published in any order, and then checked.
type ordered struct {
	publish func(out objstore.Bucket, u functions.Upload) error
	check   func(t *testing.T, out objstore.Bucket, newest functions.Upload)
}

var pairOrders = ordered{
	publish: func(out objstore.Bucket, u functions.Upload) error {
		p := functions.Pair{Bucket: out, Data: "k.gulp", Meta: "k.gmeta", Layout: "l"}
		_, err := p.Publish(context.Background(), nil, u, letters)
		return err
	},
	check: func(t *testing.T, out objstore.Bucket, newest functions.Upload) {
		t.Helper()
		data, err := out.Head(t.Context(), "k.gulp")
		if err != nil {
			t.Fatal(err)
		}
		meta, err := out.Head(t.Context(), "k.gmeta")
		if err != nil {
			t.Fatal(err)
		}
		of, _ := functions.SourceOf(meta.Meta)
		if of != newest || meta.Meta[functions.MetaDataETag] != data.ETag || string(body(t, out, "k.gulp")) != strings.Repeat(newest.ETag, 3) {
			t.Errorf("the index is of %+v and names %s; data %s of %q; want %+v", of, meta.Meta[functions.MetaDataETag], data.ETag, body(t, out, "k.gulp"), newest)
		}
	},
}

var singleOrders = ordered{
	publish: func(out objstore.Bucket, u functions.Upload) error {
		s := functions.Single{Bucket: out, Key: "k.b2nd", Layout: "l"}
		_, err := s.Publish(context.Background(), nil, u, func(_ context.Context, u functions.Upload, w objstore.Writer, seal []byte) error {
			_, err := w.Write(append(seal, u.ETag...))
			return err
		})
		return err
	},
	check: func(t *testing.T, out objstore.Bucket, newest functions.Upload) {
		t.Helper()
		info, err := out.Head(t.Context(), "k.b2nd")
		if err != nil {
			t.Fatal(err)
		}
		of, _ := functions.SourceOf(info.Meta)
		if p := body(t, out, "k.b2nd"); of != newest || string(p[32:]) != newest.ETag {
			t.Errorf("the object is of %+v and holds %q; want %+v", of, p[32:], newest)
		}
	},
}

func orders(t *testing.T, out objstore.Bucket, seed uint64, o ordered) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	n := 2 + rng.IntN(6)
	var us []functions.Upload
	var newest functions.Upload
	for i := range n {
		newest = functions.Upload{Bucket: "uploads", Key: "k", ETag: fmt.Sprintf("%q", "AB"[rng.IntN(2):][:1]), Sequencer: fmt.Sprintf("%04X", i+1)}
		for range 1 + rng.IntN(2) {
			us = append(us, newest)
		}
	}
	rng.Shuffle(len(us), func(i, j int) { us[i], us[j] = us[j], us[i] })
	queue := make(chan functions.Upload)
	var pool sync.WaitGroup
	for range 1 + rng.IntN(4) {
		pool.Go(func() {
			for u := range queue {
				err := functions.ErrBusy
				for tries := 0; errors.Is(err, functions.ErrBusy) && tries < 20; tries++ {
					err = o.publish(out, u)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, u := range us {
		queue <- u
	}
	close(queue)
	pool.Wait()
	o.check(t, out, newest)
}
