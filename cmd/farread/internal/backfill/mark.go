package backfill

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A checkpoint is the progress of a backfill. It is a small file, which is always
// replaced as a whole.
type checkpoint struct {
	Version int       `json:"version"`
	Run     string    `json:"run"`            // prefix, since and rules: they decide which objects are worked on, and how
	Since   time.Time `json:"since,omitzero"` // start of the first run, for --since with an age
	After   string    `json:"after"`          // every object up to this key was looked at
	Again   []string  `json:"again"`          // except these, which have to be tried again
	Report  Report    `json:"report"`         // report of those objects
}

const (
	checkpointVersion = 2
	// maxCheckpoint is more than twice maxAhead keys need, of a kilobyte each.
	maxCheckpoint = 64 << 20
)

var (
	// ErrMark means that the file of Options.Mark was not written by a
	// backfill.
	ErrMark = errors.New("is no checkpoint of a backfill")
	// ErrOther means that the checkpoint belongs to another prefix, Since or
	// rules.
	ErrOther = errors.New("is the checkpoint of another backfill")
)

// identity differs between runs of other arguments. A since that is an age gives
// another time in every run, so its text counts.
func (f *Filler) identity() string {
	rules, err := json.Marshal(f.o.Handler.Rules)
	if err != nil { // the rules were parsed before, so this cannot fail
		panic(err)
	}
	since := f.o.Age
	if since == "" && !f.o.Since.IsZero() {
		since = f.o.Since.UTC().Format(time.RFC3339Nano)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s", f.o.Name, f.o.Prefix, since, rules))
	return hex.EncodeToString(sum[:16])
}

// resume reads the checkpoint, if there is one.
func (f *Filler) resume() error {
	f.mark = checkpoint{Version: checkpointVersion, Run: f.identity(), Since: f.o.Since, Report: f.report}
	if f.o.Mark == "" {
		return nil
	}
	b, err := os.ReadFile(f.o.Mark)
	if errors.Is(err, fs.ErrNotExist) {
		return f.save(false) // now, to find at once whether the place can be written to
	}
	if err != nil {
		return err
	}
	var c checkpoint
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	switch err := d.Decode(&c); {
	case len(b) > maxCheckpoint, err != nil, c.Version != checkpointVersion:
		return ErrMark
	case c.Run != f.mark.Run:
		return ErrOther
	}
	f.resumed = true
	for _, key := range c.Again {
		f.retry[key] = true
	}
	// Objects that failed for now are tried again, and counted again.
	c.Report.Prefix, c.Report.Retry = f.report.Prefix, 0
	c.Report.Failures = slices.DeleteFunc(c.Report.Failures, func(x Failure) bool { return x.Retry })
	f.mark, f.report, f.o.Since = c, c.Report, c.Since
	f.report.Failures = append([]Failure{}, c.Report.Failures...) // both lists grow
	return nil
}

// save writes the checkpoint, or removes it if nothing is left to do. The caller holds
// f.mu, unless no other goroutine runs yet.
func (f *Filler) save(complete bool) error {
	if f.o.Mark == "" {
		return nil
	}
	f.unsave, f.saved = 0, time.Now()
	if f.first == f.next && f.listed != "" { // everything listed is done
		f.mark.After = f.listed
		f.mark.Report.pass(f.passed)
		f.passed = passed{}
	}
	if complete && len(f.retry) == 0 {
		err := os.Remove(f.o.Mark)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	f.mark.Again = slices.Sorted(maps.Keys(f.retry))
	b, err := json.MarshalIndent(f.mark, "", " ")
	if err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(f.o.Mark), filepath.Base(f.o.Mark)+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(append(b, '\n'))
	err = errors.Join(err, t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), f.o.Mark)
	}
	if err != nil {
		_ = os.Remove(t.Name()) // the temporary file is useless
	}
	return err
}
