package cost

import (
	"fmt"
	"math"
)

// A Bill is what a work takes on workers elsewhere. Its counts are those of the state
// machine and its functions. What the command does itself is not in it: two reads, writes
// and lists, and a list of parts every few seconds while it follows.
type Bill struct {
	Workers   int     `json:"workers"` // at the same time
	Seconds   float64 `json:"seconds"`
	Part      float64 `json:"part_seconds"`  // of a part of those of a call
	Batch     float64 `json:"batch_seconds"` // of the first call of a worker
	GBSeconds float64 `json:"gb_seconds"`
	Dollars   float64 `json:"dollars"` // the sum of those below

	Compute float64 `json:"compute_dollars"`
	Calls   float64 `json:"invocation_dollars"`
	Reads   float64 `json:"get_dollars"`
	Writes  float64 `json:"put_dollars"`
	Steps   float64 `json:"transition_dollars"`

	Counts

	// Limits are those that the work does not keep.
	Limits []string `json:"limits,omitempty"`
}

// Counts are what is paid by the piece.
type Counts struct {
	Invocations int64 `json:"invocations"`
	Gets        int64 `json:"gets"`
	Puts        int64 `json:"puts"`
	Lists       int64 `json:"lists"` // pages
	Transitions int64 `json:"transitions"`
}

// Limits of Lambda and Step Functions, looked up on 2026-11-28 in stored pages: 10,000
// children, 25,000 events and 256 KiB stand in docs.aws.amazon.com/step-functions (dg,
// service-quotas and Distributed Map) and in the documentation of ItemBatcher of aws-cdk-lib
// 2.278. The 1 MB of 2026-01 is about asynchronous calls, SQS and EventBridge alone. That a
// function gains 1,000 workers in 10 s stands in docs.aws.amazon.com/lambda (dg,
// scaling-behavior).
const (
	MaxChildren = 10_000 // of a map, at the same time
	MaxPayload  = 256 << 10
	MaxHistory  = 25_000
)

// What functions/analyze does.
const (
	jobs  = 2     // parts of a call at the same time
	ahead = 16    // parts that the last step reads at the same time
	page  = 1_000 // keys of a list
)

// counts returns what is paid by the piece, if so many workers are started. The first call
// of a worker reads the plan and opens the source, each call lists the parts that are
// there, and each part is read and written. The last step does all of it once more, but
// reads the parts' results. The map reads its list itself.
func (r *Rates) counts(w Work, batches, workers int) Counts {
	again := int64(math.Ceil(r.Retries * float64(batches)))
	merge := 1 + 1 + w.Open + int64(w.Parts) // answers that may be there, plan, source, parts
	return Counts{
		Invocations: int64(batches) + again + 1,
		Gets:        1 + int64(workers)*(1+w.Open) + int64(math.Ceil(float64(w.Requests)*(1+r.Retries))) + merge,
		Puts:        int64(w.Parts) + 1,
		Lists:       int64(batches) + again + max(1, (int64(w.Parts)+page-1)/page),
		Transitions: 1 + 2 + 2*int64(batches) + again, // starts of executions are some, too
	}
}

// On estimates a work on so many workers, each of which makes a batch of parts after the
// other; the last of them merges.
func (r *Rates) On(w Work, workers int) Bill {
	if w.Parts == 0 {
		return Bill{}
	}
	if w.Batches == 0 {
		w.Batches = w.Parts
	}
	if w.Phases == 0 {
		w.Phases = w.Open
	}
	parts, batches := float64(w.Parts), float64(w.Batches)
	b := Bill{Workers: min(workers, w.Batches)}
	open := (1+float64(w.Phases))*r.Latency + float64(w.OpenBytes)/r.WorkerBandwidth
	turns := math.Ceil(parts / batches / jobs) // each waits for its first bytes and for its write
	wait := max(turns*min(1, float64(w.Requests)/parts)*r.Latency, float64(w.Requests)/batches*r.Latency/r.InFlight) + turns*r.Latency
	read := max(float64(w.Stored)/batches/r.WorkerBandwidth, float64(w.Decoded)/batches/(r.Decode*r.WorkerCores))
	warm := r.Latency + wait + read // with the list of what is there
	b.Batch = r.Start + open + warm
	b.Part = b.Batch / math.Ceil(parts/batches)
	pages := math.Ceil(parts / page)
	merge := r.Latency + open + pages*r.Latency + math.Ceil(parts/ahead)*r.Latency + r.Latency
	b.Seconds = float64(b.Workers)/r.Ramp + b.Batch + (math.Ceil(batches/float64(b.Workers))-1)*warm + merge
	b.GBSeconds = (float64(b.Workers)*(r.Start+open) + batches*warm*(1+r.Retries) + merge) * r.WorkerMemory
	b.Counts = r.counts(w, w.Batches, b.Workers)
	b.Compute = b.GBSeconds * r.GBSecond
	b.Calls = float64(b.Invocations) * r.Invocation
	b.Reads = float64(b.Gets) * r.Get
	b.Writes = float64(b.Puts+b.Lists) * r.Put
	b.Steps = float64(b.Transitions) * r.Transition
	b.Dollars = b.Compute + b.Calls + b.Reads + b.Writes + b.Steps
	if b.Batch > r.Timeout {
		b.Limits = append(b.Limits, fmt.Sprintf("a call takes %.0f s of %.0f: what it has made by then stays, and the next try goes on", b.Batch, r.Timeout))
	}
	if part := r.Start + open + 3*r.Latency + read*batches/parts; part > r.Timeout {
		b.Limits = append(b.Limits, fmt.Sprintf("a part takes %.0f s of %.0f: make parts smaller", part, r.Timeout))
	}
	if b.Workers > MaxChildren {
		b.Limits = append(b.Limits, fmt.Sprintf("%d workers of %d at the same time", b.Workers, MaxChildren))
	}
	return b
}
