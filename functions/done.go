package functions

import (
	"context"
	"log/slog"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// An Outcome is what became of one upload. The text is the message of its log
// line.
type Outcome string

// The outcomes. All but Retried acknowledge the event.
const (
	Packed    Outcome = "packed"    // outputs were written
	Unchanged Outcome = "unchanged" // they, or newer ones, were there
	Ignored   Outcome = "ignored"   // not meant for the job, or waits for a marker
	Own       Outcome = "own"       // an output of farread
	Dropped   Outcome = "dropped"   // the upload was deleted or replaced
	Failed    Outcome = "failed"    // failed for good; reported under errors/
	Retried   Outcome = "again"     // failed for now: the event has to come again
)

// A Done describes one run of a job: its result and its costs.
type Done struct {
	Rule        Rule
	Upload      Upload
	Outcome     Outcome
	Outputs     []objstore.Info // result of the job, even if it then failed
	Err         error           // error of the job; nil if it did not fail
	Report      string          // key, in the rule's output bucket, of the report of a failure for good
	NotReported error           // why a failure for good could not be reported
	Took        time.Duration
	// Stats has the requests, bytes read and retries of the rule's buckets during the
	// run, including the ones of jobs that ran at the same time. It is zero without a
	// Handler.Counter.
	Stats rangeio.Stats
}

// Written returns the number of bytes of all outputs together.
func (d Done) Written() int64 {
	var n int64
	for i := range d.Outputs {
		n += d.Outputs[i].Size
	}
	return n
}

// since is the difference of two readings of the counters.
func since(before, after rangeio.Stats) rangeio.Stats {
	return rangeio.Stats{Requests: after.Requests - before.Requests, Bytes: after.Bytes - before.Bytes, Retries: after.Retries - before.Retries}
}

// level is how loud the log line of an outcome is.
func (d Done) level() slog.Level {
	switch {
	case d.Outcome == Failed, d.NotReported != nil:
		return slog.LevelError
	case d.Outcome == Retried:
		return slog.LevelWarn
	case d.Outcome == Ignored, d.Outcome == Own:
		return slog.LevelDebug // every file of an incomplete folder
	default:
		return slog.LevelInfo
	}
}

// log writes one line for an upload. The names are listed in docs/operations.md.
func (h *Handler) log(ctx context.Context, d Done) {
	level := d.level()
	if !h.Log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("job", d.Rule.Job), slog.String("bucket", d.Upload.Bucket), slog.String("key", d.Upload.Key), slog.String("version", d.Upload.VersionID),
	}
	if h.Counter != nil {
		attrs = append(attrs, slog.Int64("requests", d.Stats.Requests), slog.Int64("bytes", d.Stats.Bytes), slog.Int64("retries", d.Stats.Retries))
	}
	attrs = append(attrs, slog.Int64("ms", d.Took.Milliseconds()), slog.String("request", h.request(ctx)))
	if len(d.Outputs) > 0 {
		keys := make([]string, len(d.Outputs))
		for i := range d.Outputs {
			keys[i] = d.Outputs[i].Key
		}
		attrs = append(attrs, slog.Any("output", keys), slog.Int64("written", d.Written()))
	}
	if d.Err != nil {
		attrs = append(attrs, slog.String("error", d.Err.Error()))
	}
	switch {
	case d.NotReported != nil:
		attrs = append(attrs, slog.String("not reported", d.NotReported.Error()))
	case d.Outcome == Failed:
		attrs = append(attrs, slog.String("report", d.Rule.Out.Bucket+"/"+d.Report))
	}
	h.Log.LogAttrs(ctx, level, string(d.Outcome), attrs...)
}
