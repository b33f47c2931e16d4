package main

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

// A checkpoint says how far a backfill got. It is one small file, which is always
// replaced as a whole.
type checkpoint struct {
	Version int            `json:"version"`
	Run     string         `json:"run"`            // prefix, since and rules: they decide which objects are worked on, and how
	Since   time.Time      `json:"since,omitzero"` // of the first run, from which an age was counted
	After   string         `json:"after"`          // every object up to this key was looked at
	Again   []string       `json:"again"`          // except these, which have to be tried again
	Report  backfillReport `json:"report"`         // of those objects
}

const (
	checkpointVersion = 2
	// maxCheckpoint is more than the fillAhead keys need, of a kilobyte each.
	maxCheckpoint = 64 << 20
)

// identity differs between runs of other arguments. A since that is an age gives
// another time in every run, so its text counts.
func (f *filler) identity() string {
	rules, err := json.Marshal(f.rules)
	if err != nil { // they were parsed before
		panic(err)
	}
	since := f.o.age
	if since == "" && !f.o.since.IsZero() {
		since = f.o.since.UTC().Format(time.RFC3339Nano)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %s", f.name, f.prefix, since, rules))
	return hex.EncodeToString(sum[:16])
}

// resume reads the checkpoint, if there is one.
func (f *filler) resume() error {
	f.mark = checkpoint{Version: checkpointVersion, Run: f.identity(), Since: f.o.since, Report: f.report}
	f.again, f.retry = map[string]bool{}, map[string]bool{}
	if f.o.checkpoint == "" {
		return nil
	}
	if f.o.dryRun {
		return usagef("--checkpoint: a dry run gets nowhere")
	}
	b, err := os.ReadFile(f.o.checkpoint)
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
		return usagef("--checkpoint %s: is none of this command", f.o.checkpoint)
	case c.Run != f.mark.Run:
		return usagef("--checkpoint %s: is of another prefix, --since or rules; give another file", f.o.checkpoint)
	}
	f.resumed = true
	prefix := f.report.Prefix
	f.mark, f.report, f.o.since = c, c.Report, c.Since
	f.report.Prefix = prefix
	for _, key := range c.Again {
		f.again[key], f.retry[key] = true, true
	}
	// Objects that failed for now are tried again, and counted again.
	f.report.Retry = 0
	kept := []backfillFailure{}
	for _, x := range c.Report.Failures {
		if !x.Retry {
			kept = append(kept, x)
		}
	}
	f.report.Failures = kept
	f.mark.Report = f.report
	f.mark.Report.Failures = slices.Clone(kept)
	return nil
}

// save writes the checkpoint, or removes it if nothing is left to do. The caller holds
// f.mu, unless no other goroutine runs yet.
func (f *filler) save(complete bool) error {
	if f.o.checkpoint == "" {
		return nil
	}
	f.unsave, f.saved = 0, time.Now()
	if f.first == f.next && f.listed != "" { // everything listed is done
		f.mark.After = f.listed
		f.mark.Report.pass(f.passed)
		f.passed = passed{}
	}
	if complete && len(f.again) == 0 {
		err := os.Remove(f.o.checkpoint)
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
	t, err := os.CreateTemp(filepath.Dir(f.o.checkpoint), filepath.Base(f.o.checkpoint)+".*")
	if err != nil {
		return err
	}
	_, err = t.Write(append(b, '\n'))
	err = errors.Join(err, t.Sync(), t.Close())
	if err == nil {
		err = os.Rename(t.Name(), f.o.checkpoint)
	}
	if err != nil {
		_ = os.Remove(t.Name()) // it is useless
	}
	return err
}
