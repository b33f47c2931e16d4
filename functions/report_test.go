package functions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestReportsOfVersions: versions of an upload fail, each in its own way. All are
// told, and the report under the upload's own name is that of the newest version, for
// any order and number of events.
func TestReportsOfVersions(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, key := range []string{"d/a b.tar", "long/" + strings.Repeat("ü", 500), "d/ends-0123456789abcdef"} {
			in, out := memstore.New(memstore.Config{Versioned: true}), memstore.New(memstore.Config{})
			h := handler(in, out)
			h.Jobs = failing()
			events := [][]byte{}
			for n := range 4 {
				info := put(t, in, key, fmt.Appendf(nil, "version %d", n), nil)
				events = append(events, s3Event(record(key, info, n+1)))
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			events = append(events, events[rng.IntN(4)], events[rng.IntN(4)])
			rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			for _, e := range events {
				if r, err := h.Handle(t.Context(), e); err != nil || r.Failed != 1 {
					t.Fatalf("%+v %v", r, err)
				}
			}
			told := map[string]bool{}
			for _, k := range keys(out, "errors/") {
				var r functions.Report
				if err := json.Unmarshal(body(t, out, k), &r); err != nil || r.Key != key {
					t.Fatal(k, r, err)
				}
				told[r.Sequencer] = true
				if k == functions.ErrorKey(key) && r.Sequencer != "000004" {
					t.Errorf("seed %d, %.20s: %s is of version %s", seed, key, k, r.Sequencer)
				}
			}
			if len(told) != 4 && len(told) != 3 || !told["000004"] {
				t.Errorf("seed %d, %.20s: reports of versions %v, %q", seed, key, told, keys(out, ""))
			}
		}
	}
}

// failing is a job that fails on each upload in another way.
func failing() map[string]functions.JobMaker {
	return map[string]functions.JobMaker{"pack": func(functions.Rule, objstore.Bucket) (functions.Job, error) {
		return jobFunc(func(_ context.Context, u functions.Upload) ([]objstore.Info, error) {
			return nil, errors.Join(formats.ErrCorrupt, fmt.Errorf("of %s", u.VersionID))
		}), nil
	}}
}
