package soak_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// invocation is as short as the reserve and the margin of a function allow: its jobs
// have six seconds.
const invocation = 9 * time.Second

// TestSickStore: GETs are answered 503, or not at all, for three deliveries of every
// upload; then the store is well. Nothing is lost and nothing is reported, for any
// share of the requests.
func TestSickStore(t *testing.T) {
	t.Parallel()
	shares := []float64{0.45, 1}
	if full() {
		shares = []float64{0.45, 0.6, 0.8, 1}
	}
	count := scale(1, 6)
	for _, f := range []fault{slowDown, hang} {
		for i, share := range shares {
			t.Run(fmt.Sprintf("%s %v", f, share), func(t *testing.T) {
				t.Parallel()
				c := start(t, options{seed: uint64(50 + i), tries: 100, concurrency: 4, args: []string{"--timeout", invocation.String()}})
				c.proxy.failGets(share, f)
				begun := time.Now()
				var all []string
				for n := range count {
					for _, k := range kinds() {
						c.put(t, k.key(n), k.data(t, uint64(n), 200<<10))
						all = append(all, k.key(n))
					}
				}
				retried := 0
				for _, key := range all {
					for n := 1; n <= 3; n++ {
						r, err := c.wait(key, n)
						if err != nil {
							t.Fatal(err)
						}
						if !r.failed {
							break
						}
						retried++
					}
				}
				_, faults, _ := c.proxy.seen()
				c.proxy.fail(0)
				packed := 0
				for n := range count {
					for _, k := range kinds() {
						if r, _, err := c.settled(k.key(n)); err != nil || r.failed {
							t.Errorf("%s: %+v, %v", k.key(n), r, err)
						}
						if there, err := k.check(t.Context(), c.out, k.key(n), k.data(t, uint64(n), 200<<10)); !there || err != nil {
							t.Errorf("%s: %t, %v", k.key(n), there, err)
							continue
						}
						packed++
					}
				}
				reports := keys(t.Context(), t, c.out, "errors/")
				if len(reports) > 0 {
					t.Errorf("reported as bad uploads: %q", reports)
				}
				figure(t, "E6", fmt.Sprintf("%.0f %% of GETs: %s, until %d uploads were delivered three times", 100*share, f, len(all)),
					fmt.Sprintf("%d calls failed, %d tries given back; then %d packed, %d reported; %.0f s", sum(faults), retried, packed, len(reports), time.Since(begun).Seconds()),
					"all packed, 0 reported", packed == len(all) && len(reports) == 0)
			})
		}
	}
}

// TestTooLarge: an upload that is too much work for an invocation, with a store that
// is well, is reported at its second delivery. It has the slowest codec, bytes that
// are costly for it, and one processor.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	c := start(t, options{tries: 10, wrap: "export GOMAXPROCS=1", args: []string{"--timeout", invocation.String()}, codec: "zlib-9"})
	const key = "items/genes.bin"
	data := bytes.Clone(noise(1, 80<<20)) // below the size that is refused at once
	for i, b := range data {
		data[i] = "ACGT"[b%4]
	}
	c.put(t, key, data)
	r, runs, err := c.settled(key)
	if err != nil || r.failed || runs < 2 {
		t.Errorf("%+v after %d deliveries, %v", r, runs, err)
	}
	text := &bytes.Buffer{}
	obj, err := objstore.Open(t.Context(), c.out, functions.ErrorKey(key), objstore.OpenOptions{})
	if err == nil {
		_, err = text.ReadFrom(obj.NewReader(t.Context(), objstore.ReadOptions{}))
	}
	var report functions.Report
	if err == nil {
		err = json.Unmarshal(text.Bytes(), &report)
	}
	if err != nil || report.Kind != "too large" || !strings.HasPrefix(report.Command, "farread pack ") {
		t.Errorf("%v: %s", err, text)
	}
	if got := keys(t.Context(), t, c.out, "items/"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
