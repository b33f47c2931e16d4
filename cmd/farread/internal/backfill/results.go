package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// maxResult bounds the result of a batch: a state machine passes on 256 KiB, which may be
// written as a text in JSON.
const maxResult = 2 << 20

// Results are what became of the batches of a run, as far as it is known. They are not safe
// for concurrent use.
type Results struct {
	plan   *Plan
	work   objstore.Bucket
	prefix string
	read   map[int]bool     // batches whose results are read, from first on
	first  int              // the first one that is not
	counts Report           // of those that are read
	failed map[int][]failed // what failed in a batch
	inRow  int              // failures for now since the last success, in the order of batches as they end
}

// failed is an object of a batch that failed.
type failed struct {
	n     int // in its batch
	error string
	retry bool
}

// Results are those of a run, of which none is read.
func (p *Plan) Results(work objstore.Bucket, in Input, run string) *Results {
	return &Results{plan: p, work: work, prefix: in.Results + run + "/", read: map[int]bool{}, failed: map[int][]failed{}}
}

// Poll reads the results that are new. It fails if so many objects failed for now, and
// nothing else, that they are not the cause.
func (r *Results) Poll(ctx context.Context) error {
	after := ""
	if r.first > 0 {
		after = r.prefix + batchName(r.first-1) + ".json"
	}
	for info, err := range objstore.ListAfter(ctx, r.work, r.prefix, after) {
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(info.Key, r.prefix), ".json"))
		if err != nil || n < r.first || n >= r.plan.Batches || r.prefix+batchName(n)+".json" != info.Key || r.read[n] {
			continue
		}
		if err := r.add(ctx, n, info.Key); err != nil {
			return err
		}
	}
	return nil
}

// machineAnswer is what the state machine writes of an object: the answer of the function,
// or what it failed with.
type machineAnswer struct {
	functions.Answer

	Cause string `json:"cause"`
}

func (r *Results) add(ctx context.Context, n int, key string) error {
	answers, err := r.get(ctx, key)
	if err != nil {
		return err
	}
	for i, a := range answers {
		f := fate{outcome: a.Outcome, text: a.Error}
		if a.Outcome == functions.Retried {
			f.text = reason(a.Error, a.Cause)
		}
		if r.counts.count(f); a.Outcome == functions.Failed || a.Outcome == functions.Retried {
			r.failed[n] = append(r.failed[n], failed{i, f.text, a.Outcome == functions.Retried})
		}
		r.counts.Failures = nil
		r.inRow++
		if a.Outcome != functions.Retried {
			r.inRow = 0
		}
		if r.plan.o.Done != nil {
			r.plan.o.Done()
		}
		if r.inRow >= giveUp {
			return fmt.Errorf("%w: %s: %w", ErrGiveUp, f.text, objstore.ErrUnavailable)
		}
	}
	for r.read[n] = true; r.read[r.first]; r.first++ {
		delete(r.read, r.first)
	}
	return nil
}

// get reads the answers of a batch.
func (r *Results) get(ctx context.Context, key string) ([]machineAnswer, error) {
	body, info, err := r.work.Get(ctx, key, objstore.GetOptions{})
	if err != nil {
		return nil, err
	}
	defer body.Close()
	if info.Size > maxResult {
		return nil, fmt.Errorf("%s: %d bytes: %w", key, info.Size, formats.ErrTooLarge)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var quoted string
	if json.Unmarshal(text, &quoted) == nil { // written as a text
		text = []byte(quoted)
	}
	var answers []machineAnswer
	if err := json.Unmarshal(text, &answers); err != nil {
		return nil, fmt.Errorf("%s is not what became of a batch: %w: %w", key, err, formats.ErrCorrupt)
	}
	return answers, nil
}

// reason is the text of a failure as Step Functions has it: of a function's error the
// message alone.
func reason(name, cause string) string {
	var lambda struct {
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal([]byte(cause), &lambda) == nil && lambda.Message != "" {
		return lambda.Message
	}
	if cause == "" {
		return name
	}
	return name + ": " + cause
}

// errNoResult: a batch ended without a result, or did not begin.
var errNoResult = errors.New("the run has no result of its batch")

// Report is of all objects of the plan. Those whose results are not there have failed for
// now, if the run has ended; else they are not counted.
func (r *Results) Report(ended bool) (Report, error) {
	out := r.counts
	var all []Failure
	missing := false
	err := r.plan.batches(func(n int, b batch) error {
		if n >= r.first && !r.read[n] {
			missing = true
			if ended {
				out.Retry += int64(len(b.Keys))
				all = append(all, Failure{b.Keys[0], errNoResult.Error(), true})
			}
		}
		for _, f := range r.failed[n] {
			if f.n < len(b.Keys) {
				all = append(all, Failure{b.Keys[f.n], f.error, f.retry})
			}
		}
		return nil
	})
	p := r.plan.report
	out.Prefix, out.Listed, out.Skipped, out.Unmatched, out.Older = p.Prefix, p.Listed, out.Skipped+p.Skipped, out.Unmatched+p.Unmatched, out.Older+p.Older
	out.Failures = append([]Failure{}, sorted(all)...)
	out.Complete = ended && !missing
	return out, err
}
