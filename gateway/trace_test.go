package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/objstore"
)

type spanKey struct{}

// TestTrace: a request to the source has the values of the context of the request that
// caused it, which is how spans find their parents; and the log names the trace.
func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var spans []string
	var log bytes.Buffer
	g := newGround(t, Config{Log: slog.New(slog.NewJSONHandler(&log, nil))}, objstore.TraceContext(func(ctx context.Context, e objstore.Event) {
		mu.Lock()
		defer mu.Unlock()
		span, _ := ctx.Value(spanKey{}).(string)
		spans = append(spans, e.Op+" "+span)
	}))
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for i, path := range []string{"/slice/d/v.b2nd?s=0", "/raw/d/v.npy", "/ls/d/", "/view/d/day.zoom?track=1"} {
		spans = nil
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
		g.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(t.Context(), spanKey{}, path)))
		if len(spans) == 0 {
			t.Errorf("%s: no spans", path)
		}
		for _, s := range spans {
			if !strings.HasSuffix(s, " "+path) {
				t.Errorf("%s: span %q", path, s)
			}
		}
		var line struct {
			ID    string
			Trace string `json:"trace_id"`
		}
		if err := json.Unmarshal(bytes.Split(log.Bytes(), []byte("\n"))[i], &line); err != nil || line.Trace != trace {
			t.Errorf("%s: log %+v, %v", path, line, err)
		}
	}
	for _, bad := range []string{"", "00", "00-" + trace, "00-" + trace + "-00f067aa0ba902b7", "00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01", "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01",
		"00-" + trace + "-0000000000000000-01", "ff-" + trace + "-00f067aa0ba902b7-01", "00-" + trace + "-00f067aa0ba902b7-01-x", strings.Repeat("-", 1000)} {
		if got := traceOf(map[string][]string{"Traceparent": {bad}}); got != "" {
			t.Errorf("%q is of trace %q", bad, got)
		}
	}
	if got := traceOf(map[string][]string{"Traceparent": {"01-" + trace + "-00f067aa0ba902b7-01-more"}}); got != trace {
		t.Errorf("a later version: %q", got)
	}
}
