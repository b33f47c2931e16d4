package bootstrap

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"sort"
	"time"

	"github.com/farread/farread/functions"
)

// Namespace is where the metrics stand in CloudWatch.
const Namespace = "farread"

// maxValues is how many values one member of a line may hold:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
const maxValues = 100

// Metrics writes what invocations did in CloudWatch's embedded metric format: one line
// for the function and one for each of its jobs that ran, or one line for both if the
// figures are the same; more if there are over 100 durations. The lines of an
// invocation are written by one Write. Metrics are safe for concurrent use if Out is.
//
// Names and units: Done (outputs were written), Skipped (they were there, the upload is
// an output of farread, or it is gone), Failed (for good; reported under errors/),
// Retried (given back), Ignored (no upload, no rule, a rule of another function, not
// meant for the job), Requests, Retries (of requests), all Count; BytesRead and
// BytesWritten, Bytes; Duration of each upload whose job ran, Milliseconds.
type Metrics struct {
	Function string           // the dimension; "": farread
	Out      io.Writer        // nil: nothing is written
	Log      *slog.Logger     // logs writes that fail; nil: not logged
	Now      func() time.Time // nil: time.Now
}

type emfMetric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

// emfDirective tells CloudWatch which members of a line are metrics.
type emfDirective struct {
	Namespace  string      `json:"Namespace"`
	Dimensions [][]string  `json:"Dimensions"`
	Metrics    []emfMetric `json:"Metrics"`
}

// tally is the sum of the metrics of one set of dimensions.
type tally struct {
	job                                      string // "": none
	whole                                    bool   // a sum over the whole function, not over one job
	done, skipped, failed, retried, ignored  int
	requests, retries, bytesRead, bytesWrote int64
	durations                                []float64
}

func (t *tally) add(d functions.Done) {
	switch d.Outcome {
	case functions.Packed:
		t.done++
	case functions.Failed:
		t.failed++
	case functions.Retried:
		t.retried++
	case functions.Ignored:
		t.ignored++
	case functions.Unchanged, functions.Own, functions.Dropped:
		t.skipped++
	}
	t.requests += d.Stats.Requests
	t.retries += d.Stats.Retries
	t.bytesRead += d.Stats.Bytes
	t.bytesWrote += d.Written()
	t.durations = append(t.durations, float64(d.Took.Microseconds())/1000)
}

// tallies sums a result up: first the function, then its jobs by name.
func tallies(r functions.Result) []tally {
	jobs := map[string]*tally{}
	var all tally
	for _, d := range r.Done {
		all.add(d)
		t := jobs[d.Rule.Job]
		if t == nil {
			t = &tally{job: d.Rule.Job}
			jobs[d.Rule.Job] = t
		}
		t.add(d)
	}
	// Messages that name no upload, uploads without a rule and uploads for which no
	// time was left belong to no job.
	all.retried = r.Retry
	all.ignored = r.Ignored + r.Unmatched + r.Elsewhere
	all.whole = true
	out := []tally{all}
	for _, t := range jobs {
		if len(jobs) == 1 && t.retried == all.retried && t.ignored == all.ignored {
			all.job = t.job // the usual case is one line
			return []tally{all}
		}
		out = append(out, *t)
	}
	each := out[1:]
	sort.Slice(each, func(i, j int) bool { return each[i].job < each[j].job })
	return out
}

// Write writes the lines of one invocation, whose id is request ("": none). An
// invocation that brought nothing has none. Errors go to Log.
func (m *Metrics) Write(r functions.Result, request string) {
	if m.Out == nil || r.Uploads+r.Retry+r.Ignored == 0 {
		return
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	at := now().UnixMilli()
	var b bytes.Buffer
	for _, t := range tallies(r) {
		counts := true
		for {
			n := min(len(t.durations), maxValues)
			m.line(&b, at, request, t, t.durations[:n], counts)
			t.durations, counts = t.durations[n:], false
			if len(t.durations) == 0 {
				break
			}
		}
	}
	if _, err := m.Out.Write(b.Bytes()); err != nil && m.Log != nil {
		m.Log.Warn("metrics not written", "error", err.Error())
	}
}

// line appends one line: some durations of t, and the counts of t unless another line
// has them.
func (m *Metrics) line(b *bytes.Buffer, at int64, request string, t tally, durations []float64, counts bool) {
	line := map[string]any{"function": m.Function}
	if m.Function == "" {
		line["function"] = "farread"
	}
	d := emfDirective{Namespace: Namespace}
	if t.whole {
		d.Dimensions = append(d.Dimensions, []string{"function"})
	}
	if t.job != "" {
		line["job"] = t.job
		d.Dimensions = append(d.Dimensions, []string{"function", "job"})
	}
	if request != "" {
		line["request"] = request
	}
	put := func(name, unit string, v any) {
		d.Metrics = append(d.Metrics, emfMetric{name, unit})
		line[name] = v
	}
	if counts {
		put("Done", "Count", t.done)
		put("Skipped", "Count", t.skipped)
		put("Failed", "Count", t.failed)
		put("Retried", "Count", t.retried)
		put("Ignored", "Count", t.ignored)
		put("Requests", "Count", t.requests)
		put("Retries", "Count", t.retries)
		put("BytesRead", "Bytes", t.bytesRead)
		put("BytesWritten", "Bytes", t.bytesWrote)
	}
	if len(durations) > 0 {
		put("Duration", "Milliseconds", durations)
	}
	line["_aws"] = map[string]any{"Timestamp": at, "CloudWatchMetrics": []emfDirective{d}}
	text, err := json.Marshal(line)
	if err != nil { // numbers and texts always encode
		panic(err)
	}
	b.Write(append(text, '\n'))
}
