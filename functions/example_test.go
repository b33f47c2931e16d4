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

// A counting job writes how many lines an upload has.
type counting struct{ out objstore.Bucket }

func (j counting) Run(ctx context.Context, src objstore.Bucket, u functions.Upload) ([]objstore.Info, error) {
	ob, err := functions.Open(ctx, src, u, objstore.OpenOptions{})
	if err != nil {
		return nil, err
	}
	in := ob.NewReader(ctx, objstore.ReadOptions{})
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	info, err := objstore.Put(ctx, j.out, u.Key+".lines", strings.NewReader(fmt.Sprintln(bytes.Count(text, []byte("\n")))), objstore.PutOptions{})
	return []objstore.Info{info}, err
}

// A handler may have jobs of your own, which rules name like those of farread. This
// one writes its output anew for each event; functions.Single and Pair keep to one
// output a version.
func ExampleHandler() {
	ctx := context.Background()
	buckets := map[string]objstore.Bucket{"uploads": memstore.New(memstore.Config{}), "counts": memstore.New(memstore.Config{})}
	rules, err := functions.ParseRules([]byte(`[{"bucket": "uploads", "suffix": ".log", "job": "lines", "out": {"bucket": "counts"}}]`), "lines")
	if err != nil {
		fmt.Println(err)
		return
	}
	h := functions.Handler{
		Rules: rules,
		Jobs: map[string]functions.JobMaker{
			"lines": func(_ functions.Rule, out objstore.Bucket) (functions.Job, error) { return counting{out}, nil },
		},
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
	r, err := h.Handle(ctx, []byte(`{"bucket": "uploads", "key": "web.log"}`))
	fmt.Println(r.Packed, err)
	body, _, err := buckets["counts"].Get(ctx, "web.log.lines", objstore.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer body.Close()
	text, _ := io.ReadAll(body)
	fmt.Print(string(text))
	// Output:
	// 1 <nil>
	// 3
}
