// Package doctor tries out on a store what farread needs of it: ranged and conditional
// reads, conditional writes of which exactly one wins, uploads in parts, copies by the store.
package doctor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A Level is how a check ended.
type Level string

// The levels.
const (
	OK      Level = "ok"      // it works
	Note    Level = "note"    // it works, or does not matter; there is something to know
	Warning Level = "warning" // farread can do without, at a price
	Bad     Level = "bad"     // farread does not work, or not safely
	Skipped Level = "skipped" // it could not be tried
)

// A Finding is what a check has found.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Seen  string `json:"seen"`            // what was seen
	Means string `json:"means,omitempty"` // what it means for who uses the store
	Took  int64  `json:"took_us"`         // microseconds
}

// A Report is all that was found.
type Report struct {
	Bucket   string    `json:"bucket"`
	Prefix   string    `json:"prefix"`
	Findings []Finding `json:"findings"`
}

// Count returns how many checks ended so.
func (r *Report) Count(l Level) int {
	n := 0
	for i := range r.Findings {
		if r.Findings[i].Level == l {
			n++
		}
	}
	return n
}

// Options say what is tried where.
type Options struct {
	Bucket objstore.Bucket
	// Key is a folder, in which objects are written and removed again, or if ReadOnly is set
	// an object, which is read.
	Key      string
	ReadOnly bool
	Roots    string          // the variable that names CAs of one's own, for advice
	Racers   int             // writers of one name at the same time; 0: 8
	Rounds   int             // of races; 0: 5
	Tell     func(f Finding) // called after each check; nil: nobody is told
}

// A check tries one thing.
type check struct {
	name  string
	means string // if it fails
	unfit string // if the store refuses the request, where that means something else
	try   func(ctx context.Context) (Level, string, error)
}

// A patient is a store that is looked at.
type patient struct {
	b      objstore.Bucket
	o      Options
	dir    string // key of our own folder, with a slash
	report Report
	made   map[string]bool // keys that may be there
	probe  objstore.Info   // the object that is read
	data   []byte          // of probe: all of it, or nil if it is not ours
	long   bool            // there is an object that was sent in parts
	copies bool            // the store copies parts
	cert   certificate     // of a store behind TLS
	told   bool            // what is found of cert
}

// cleanTime is how long removing what was written may take once the run was ended.
const cleanTime = 20 * time.Second

// Run makes the checks. If the store cannot be reached or written to it ends early, with a
// report of what there is and the error of the store; once ctx has ended, with its cause. What
// it has written it removes in any case.
func Run(ctx context.Context, o Options) (report Report, err error) {
	if o.Racers <= 0 {
		o.Racers = 8
	}
	if o.Rounds <= 0 {
		o.Rounds = 5
	}
	p := &patient{b: o.Bucket, o: o, made: map[string]bool{}}
	p.report.Bucket, p.report.Prefix = o.Bucket.Name(), o.Key
	list := p.reads()
	if !o.ReadOnly {
		var id [6]byte
		if _, err := rand.Read(id[:]); err != nil {
			return p.report, err
		}
		p.dir = o.Key + "farread-doctor-" + hex.EncodeToString(id[:]) + "/"
		list = append(append(p.begins(), list...), p.writes()...)
		defer func() {
			c, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
			defer cancel()
			if len(p.made) > 0 {
				p.tell(p.clean(c))
			}
			report = p.report
		}()
	}
	ctx = p.cert.watch(ctx)
	for i := range list {
		if ctx.Err() != nil {
			return p.report, context.Cause(ctx)
		}
		if err := p.run(ctx, &list[i]); err != nil {
			return p.report, err
		}
	}
	return p.report, nil
}

// A stopError is an error after which nothing else can be tried.
type stopError struct{ error }

func (e stopError) Unwrap() error { return e.error }

// run makes a check. An error tells that others make no sense.
func (p *patient) run(ctx context.Context, c *check) error {
	begun := time.Now()
	level, seen, err := c.try(ctx)
	f := Finding{Check: c.name, Level: level, Seen: seen, Took: time.Since(begun).Microseconds()}
	stop, stops := errors.AsType[stopError](err)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.certify() == Bad && stops {
		return stop.error // of the certificate, not of what was tried
	}
	if err != nil {
		f.Seen = said(err)
		if level == "" || level == OK {
			f.Level = Bad
		}
	}
	switch {
	case f.Level != Bad && f.Level != Warning:
	case c.unfit != "" && errors.Is(err, objstore.ErrInvalid):
		f.Means = c.unfit
	default:
		f.Means = c.means
	}
	p.tell(f)
	if stops {
		return stop.error
	}
	return nil
}

// certify tells of the store's certificate, once it was shown.
func (p *patient) certify() Level {
	f, ok := p.cert.finding(p.o.Roots)
	if ok && !p.told {
		p.told = true
		p.tell(f)
	}
	return f.Level
}

func (p *patient) tell(f Finding) {
	p.report.Findings = append(p.report.Findings, f)
	if p.o.Tell != nil {
		p.o.Tell(f)
	}
}

// said is the text of an error, without the places in the store.
func said(err error) string {
	e, ok := errors.AsType[*objstore.Error](err)
	if !ok {
		return err.Error()
	}
	for inner, more := e, true; more; inner, more = errors.AsType[*objstore.Error](e.Err) {
		e = inner // an error of a part is within that of the whole
	}
	short := objstore.Error{Status: e.Status, Code: e.Code, Err: e.Err}
	return strings.TrimPrefix(short.Error(), " : ")
}

// clean removes what was written.
func (p *patient) clean(ctx context.Context) Finding {
	begun, left := time.Now(), 0
	var first error
	for key := range p.made {
		if err := p.b.Delete(ctx, key); err != nil {
			left++
			if first == nil {
				first = err
			}
		}
	}
	f := Finding{Check: "clean up", Level: OK, Seen: fmt.Sprintf("removed what was written to %s", p.dir), Took: time.Since(begun).Microseconds()}
	if left > 0 {
		f.Level, f.Seen = Warning, said(first)
		f.Means = fmt.Sprintf("%s may be left in %s: remove what is there", human.Plural(int64(left), "object"), p.dir)
	}
	return f
}
