package analyze_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// TestRequests: what is asked says which requests are made, and Explain lists them before.
func TestRequests(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 8))
	values := make([]int64, 64*1024)
	for i := range values {
		values[i] = int64(i)<<20 + rnd.Int64N(1<<20)
	}
	p := encoded(t, []int64{64 * 1024}, []int{4096}, []int{512}, values, b2nd.WriteOptions{Index: cframe.WithIndex})
	var log tracetest.Log
	mem := memstore.New(memstore.Config{Name: "s3://b"})
	if _, err := objstore.Put(t.Context(), mem, "x.b2nd", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	b := objstore.Chain(mem, log.Middleware())
	o, err := objstore.Open(t.Context(), b, "x.b2nd", objstore.OpenOptions{Head: 4096, Tail: 48 << 10, Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), o, b2nd.Options{Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	log.Step("open")
	for _, c := range []struct {
		title string
		q     question
	}{
		{"extremes of all: from the index", question{"", "count,min,max", "", nil, nil}},
		{"extremes from within a chunk: the rest of it", question{"5000:", "min", "", nil, nil}},
		{"sum of what matches: the blocks that may", question{"", "sum", "41943040000 <= v < 41945137152", nil, nil}},
		{"sum of all: a request for each part", question{"", "sum", "", nil, nil}},
	} {
		opt := options(t, a, c.q)
		opt.PartBytes = 128 << 10
		j, err := analyze.NewArray(t.Context(), a, opt)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := j.Explain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, err := j.Run(t.Context(), analyze.Options{})
		if err != nil {
			t.Fatal(err)
		}
		local := opened(t, p)
		if want := answer(t, local, options(t, local, c.q), analyze.Options{Jobs: 1}); text(list.Results) != want {
			t.Errorf("%s: from afar %s, want %s", c.title, text(list.Results), want)
		}
		r := j.Report()
		log.Note(fmt.Sprintf("%d parts, %d of %d blocks, %d requests planned", j.Parts(), r.BlocksRead, r.Blocks, len(plan)))
		log.Note(text(list.Results[:1]))
		log.Step(c.title)
	}
	log.Golden(t, "testdata/requests.trace")
}

// TestWhereSorted: of sorted numbers that do not get shorter by encoding, a question about
// 2,000 of a million takes four requests and less than 2 % of the bytes, the opening included.
func TestWhereSorted(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	values := make([]int64, 1<<20)
	want := int64(0)
	const from, n = 700_001, 2000
	for i := range values {
		values[i] = int64(i)<<20 + rnd.Int64N(1<<20)
		if i >= from && i < from+n {
			want += values[i]
		}
	}
	p := encoded(t, []int64{1 << 20}, []int{1 << 16}, []int{1024}, values, b2nd.WriteOptions{
		Index: cframe.WithIndex, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})
	mem := memstore.New(memstore.Config{Name: "s3://b"})
	if _, err := objstore.Put(t.Context(), mem, "x.b2nd", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	var cost objstore.Counter
	o, err := objstore.Open(t.Context(), objstore.Chain(mem, objstore.Count(&cost)), "x.b2nd",
		objstore.OpenOptions{Head: 16 << 10, Tail: 16 << 10, Policy: rangeio.Lean(), Counter: &cost})
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), o, b2nd.Options{Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t, a, question{where: fmt.Sprintf("%d <= v < %d", values[from], values[from+n]), stats: "count,sum"})
	j, err := analyze.NewArray(t.Context(), a, opt)
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.Run(t.Context(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if count, sum := binary.LittleEndian.Uint64(got.Results[0].Items), binary.LittleEndian.Uint64(got.Results[1].Items); count != n || int64(sum) != want {
		t.Errorf("%d items of sum %d, want %d of %d", count, sum, n, want)
	}
	s := cost.Stats()
	if s.Requests != 4 || s.Phases > 3 || s.Bytes > int64(len(p))/50 {
		t.Errorf("%d requests, %d phases, %d bytes of %d", s.Requests, s.Phases, s.Bytes, len(p))
	}
}
