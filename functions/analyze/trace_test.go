package analyze_test

import (
	"fmt"
	"testing"

	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
)

// TestRequests: what a call of the function costs, the first of an instance and later ones.
func TestRequests(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	dir, _, _ := c.plan(t)
	batch := func(from, to int) string {
		return fmt.Sprintf(`{"analyze":{"bucket":"work","plan":"%s","from":%d,"to":%d}}`, dir.PlanKey(), from, to)
	}
	quiet := &parts.Function{Open: c.fn.Open, Buckets: c.fn.Buckets}
	for from := 4; from < total; from += 4 {
		if _, err := quiet.Handle(t.Context(), []byte(batch(from, from+4))); err != nil {
			t.Fatal(err)
		}
	}
	var log tracetest.Log
	c.bucket = objstore.Chain(c.bucket, log.Middleware())
	c.fn.Jobs = 1 // in order
	call := func(title, event string) {
		t.Helper()
		if _, err := c.fn.Handle(t.Context(), []byte(event)); err != nil {
			t.Fatal(title, err)
		}
		log.Step(title)
	}
	call("first batch", batch(0, 2))
	call("first batch again", batch(0, 2))
	call("next batch", batch(2, 4))
	call("a failure", fmt.Sprintf(`{"failed":{"bucket":"work","plan":"%s","from":4,"to":6,"run":"r","error":"e","cause":"c"}}`, dir.PlanKey()))
	call("answers", fmt.Sprintf(`{"reduce":{"bucket":"work","plan":"%s"}}`, dir.PlanKey()))
	call("answers again", fmt.Sprintf(`{"reduce":{"bucket":"work","plan":"%s"}}`, dir.PlanKey()))
	log.Golden(t, "testdata/requests.trace")
}
