// Package backfill runs the objects that lie below a prefix through the handler of the
// cloud functions, as their events would. A [Filler] reads the listing as it is worked
// on, with a bounded number of objects begun behind the first unfinished one. It counts
// each object once, tries again what failed for now, and can keep a checkpoint in a file,
// from which a later Filler goes on.
package backfill

import (
	"slices"
	"strings"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// Options are the options of a backfill.
type Options struct {
	URI     string // URI of Name and Prefix, for the report
	Name    string // name of the bucket in rules and events
	Prefix  string
	Bucket  objstore.Bucket    // the one called Name, to list
	Handler *functions.Handler // Run takes a copy: without Counter if Jobs run at a time, with buckets that are only read in a dry run
	Since   time.Time          // only objects changed at or after; zero: all
	Age     string             // the age that Since was counted from, if it was: a checkpoint then keeps the Since of the first run
	DryRun  bool
	Jobs    int    // objects to work on at a time; 0: one
	Mark    string // the file of the checkpoint, made, read and removed; "": none. A dry run has none

	Would func(key, job, output string) error // a dry run: hears of each object that would be packed, one after the other
	Done  func()                              // called after each finished object, one call at a time; nil: not called
	Text  func(error) string                  // text of an error in the report; nil: its own text
}

// A Report counts the objects of a prefix by their outcome, with those of earlier runs
// with the same checkpoint.
type Report struct {
	Prefix    string    `json:"prefix"`
	DryRun    bool      `json:"dry_run"`
	Complete  bool      `json:"complete"` // everything was looked at
	Listed    int64     `json:"listed"`   // objects
	Done      int64     `json:"done"`     // packed; in a dry run: would be
	Skipped   int64     `json:"skipped"`  // the sum of the reasons below
	Unchanged int64     `json:"unchanged"`
	Unmatched int64     `json:"unmatched"` // objects that no rule matches
	Older     int64     `json:"older"`     // objects older than Options.Since
	Ignored   int64     `json:"ignored"`   // folders, files that wait for their marker, files that the job does not pack
	Own       int64     `json:"own"`       // our own outputs
	Dropped   int64     `json:"dropped"`   // the object was deleted or replaced
	Failed    int64     `json:"failed"`    // objects that failed for good, reported under errors/
	Retry     int64     `json:"retry"`     // objects that failed for now
	Failures  []Failure `json:"failures"`  // the first hundred of failed and retry
}

// A Failure is an object that failed.
type Failure struct {
	Key   string `json:"key"`
	Error string `json:"error"`
	Retry bool   `json:"retry"` // the object failed for now: a later run tries it again
}

// maxFailures bounds the report.
const maxFailures = 100

// passed counts listed objects that are skipped.
type passed struct{ unmatched, older int64 }

func (r *Report) pass(p passed) {
	r.Listed += p.unmatched + p.older
	r.Skipped += p.unmatched + p.older
	r.Unmatched += p.unmatched
	r.Older += p.older
}

// A fate is the outcome of an object.
type fate struct {
	key     string
	outcome functions.Outcome
	text    string // text of the error
}

// count counts the outcome of one object.
func (r *Report) count(e fate) {
	switch e.outcome {
	case functions.Packed:
		r.Done++
		return
	case functions.Failed, functions.Retried:
		retry := e.outcome == functions.Retried
		if retry {
			r.Retry++
		} else {
			r.Failed++
		}
		if len(r.Failures) < maxFailures {
			r.Failures = append(r.Failures, Failure{e.key, e.text, retry})
		}
		return
	case functions.Unchanged:
		r.Unchanged++
	case functions.Own:
		r.Own++
	case functions.Dropped:
		r.Dropped++
	default:
		r.Ignored++
	}
	r.Skipped++
}

// AnyRule reports whether some rule is for a bucket and for keys that begin like
// prefix.
func AnyRule(rules functions.Rules, bucket, prefix string) bool {
	return slices.ContainsFunc(rules, func(r functions.Rule) bool {
		return r.Bucket == bucket && (strings.HasPrefix(prefix, r.Prefix) || strings.HasPrefix(r.Prefix, prefix))
	})
}
