package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A handler may have jobs of your own, which rules name like those of farread. This
// one writes how many lines an upload has: once for each version, in any order of
// events. A Job of your own that needs more than bytes in, bytes out publishes by
// functions.Single or Pair.
func ExampleTransform() {
	lines := functions.Transform{Suffix: ".lines", Do: func(_ context.Context, _ functions.Upload, in []byte) ([]byte, error) {
		return fmt.Appendln(nil, bytes.Count(in, []byte("\n"))), nil
	}}

	ctx := context.Background()
	buckets := map[string]objstore.Bucket{"uploads": memstore.New(memstore.Config{}), "counts": memstore.New(memstore.Config{})}
	rules, err := functions.ParseRules([]byte(`[{"bucket": "uploads", "suffix": ".log", "job": "lines", "out": {"bucket": "counts"}}]`), "lines")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := functions.Handler{
		Rules:   rules,
		Jobs:    map[string]functions.JobMaker{"lines": lines.Job},
		Buckets: func(name string) (objstore.Bucket, error) { return buckets[name], nil },
	}
	if err := h.Check(); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := objstore.Put(ctx, buckets["uploads"], "web.log", strings.NewReader("a\nb\nc\n"), objstore.PutOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		r, err := h.Handle(ctx, []byte(`{"bucket": "uploads", "key": "web.log"}`))
		fmt.Println(r.Packed, r.Unchanged, err)
	}
	body, _, err := buckets["counts"].Get(ctx, "web.log.lines", objstore.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	text, _ := io.ReadAll(body)
	fmt.Print(string(text))
	// Output:
	// 1 0 <nil>
	// 0 1 <nil>
	// 3
}
