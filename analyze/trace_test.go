package analyze_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
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
