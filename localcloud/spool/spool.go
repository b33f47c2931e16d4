// Package spool keeps events on disk until they are delivered.
//
// A spool is two append-only files of JSON lines: events, and the ids of those
// that are done. Open joins them: events that are not done are pending again, the
// others are dropped from the files and leave one line for each live object, which says
// what was last spooled about it. Comparing those with a listing of the store (see
// Spool.Knows) finds the changes that a crash cut off from their event.
package spool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/localcloud/notify"
)

// An Entry is one spooled event. Its ID is unique and rises.
type Entry struct {
	ID     uint64
	Record notify.Record
}

// object is a key of the index of live objects.
type object struct{ bucket, key string }

// seen is the last event that was spooled about an object.
type seen struct {
	ETag      string `json:"etag"`
	VersionID string `json:"version_id,omitempty"`
	At        uint64 `json:"at"` // tick of the event
}

// line is a line of the events file: an event, or an entry of the index of live
// objects.
type line struct {
	ID     uint64         `json:"id,omitempty"`
	Record *notify.Record `json:"record,omitempty"`
	Bucket string         `json:"bucket,omitempty"`
	Key    string         `json:"key,omitempty"`
	Seen   *seen          `json:"seen,omitempty"`
}

// A Spool is open on one folder until Close; only one process may have it open (the
// caller locks). It is safe for concurrent use. Lines reach the operating system before
// a call returns; they are not synced, so a loss of power may cost the last lines, a
// killed process none.
type Spool struct {
	region string
	clock  *notify.Clock

	mu     sync.Mutex
	events *os.File
	acks   *os.File
	live   map[object]seen
}

// Open reads the spool in dir, which is made if absent, compacts it, and returns it with
// the entries that are still to deliver, in order. A line cut short by a crash is
// dropped. Records get region and ticks of clock, which Open moves behind all earlier
// ones.
func Open(dir, region string, clock *notify.Clock) (*Spool, []Entry, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, nil, err
	}
	s := &Spool{region: region, clock: clock, live: map[object]seen{}}
	done, err := readAcks(filepath.Join(dir, "acks"))
	if err != nil {
		return nil, nil, err
	}
	events := filepath.Join(dir, "events.jsonl")
	pending, err := s.load(events, done)
	if err != nil {
		return nil, nil, err
	}
	if err := s.compact(events, pending); err != nil {
		return nil, nil, err
	}
	if s.events, err = os.OpenFile(events, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, nil, err
	}
	// Ids never repeat, so acks of dropped entries do no harm if a crash keeps them.
	s.acks, err = os.OpenFile(filepath.Join(dir, "acks"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, errors.Join(err, s.events.Close())
	}
	return s, pending, nil
}

// Append spools a change at the next tick and returns its entry.
func (s *Spool) Append(c notify.Change) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tick := s.clock.Tick()
	return s.add(Entry{tick, c.Record(s.region, tick)})
}

// Again spools a record that was done before, unchanged, under a new ID.
func (s *Spool) Again(r notify.Record) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(Entry{s.clock.Tick(), r})
}

// add writes an entry. The caller holds the lock.
func (s *Spool) add(e Entry) (Entry, error) {
	if err := writeLine(s.events, line{ID: e.ID, Record: &e.Record}); err != nil {
		return Entry{}, fmt.Errorf("spool: %w", err)
	}
	return e, s.see(e)
}

// Ack marks an entry as done.
func (s *Spool) Ack(id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintf(s.acks, "%d\n", id); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Knows reports whether the object as it is now has been spooled: its last event has
// the same ETag and version ("" without versions), and it was not modified after that
// event.
func (s *Spool) Knows(bucket, key, etag, versionID string, modified time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.live[object{bucket, key}]
	return ok && k.ETag == strings.Trim(etag, `"`) && k.VersionID == versionID &&
		modified.UnixNano() <= int64(k.At)
}

// Close closes the files. Later calls that write fail.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.events.Close(), s.acks.Close())
}

// see keeps the index of live objects. An entry that comes again changes nothing.
func (s *Spool) see(e Entry) error {
	key, err := e.Record.Key()
	if err != nil {
		return err
	}
	o := object{e.Record.S3.Bucket.Name, key}
	var at uint64
	if _, err := fmt.Sscanf(e.Record.S3.Object.Sequencer, "%X", &at); err != nil {
		return fmt.Errorf("spool: sequencer %q: %w", e.Record.S3.Object.Sequencer, err)
	}
	switch old, ok := s.live[o]; {
	case ok && old.At > at:
	case e.Record.Created():
		s.live[o] = seen{e.Record.S3.Object.ETag, e.Record.S3.Object.VersionID, at}
	default:
		delete(s.live, o)
	}
	return nil
}

// load reads the events file into the index and returns the entries that are not done.
func (s *Spool) load(path string, done map[uint64]bool) ([]Entry, error) {
	var pending []Entry
	err := eachLine(path, func(b []byte) error {
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			return err
		}
		if l.Seen != nil {
			s.clock.Since(l.Seen.At)
			s.live[object{l.Bucket, l.Key}] = *l.Seen
			return nil
		}
		if l.Record == nil {
			return nil
		}
		s.clock.Since(l.ID)
		e := Entry{l.ID, *l.Record}
		if !done[e.ID] {
			pending = append(pending, e)
		}
		return s.see(e)
	})
	return pending, err
}

// compact writes the index and the pending entries to a new events file.
func (s *Spool) compact(path string, pending []Entry) error {
	f, err := os.CreateTemp(filepath.Dir(path), "events-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename
	w := bufio.NewWriter(f)
	for o, k := range s.live {
		err = errors.Join(err, writeLine(w, line{Bucket: o.bucket, Key: o.key, Seen: &k}))
	}
	for _, e := range pending {
		err = errors.Join(err, writeLine(w, line{ID: e.ID, Record: &e.Record}))
	}
	if err = errors.Join(err, w.Flush(), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("spool: compact: %w", err)
	}
	return os.Rename(f.Name(), path)
}

func writeLine(w io.Writer, l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func readAcks(path string) (map[uint64]bool, error) {
	done := map[uint64]bool{}
	err := eachLine(path, func(b []byte) error {
		var id uint64
		if err := json.Unmarshal(b, &id); err != nil {
			return err
		}
		done[id] = true
		return nil
	})
	return done, err
}

// eachLine calls f for each whole line of a file that may be absent. A last line
// without an end is the rest of a write that a crash cut short.
func eachLine(path string, f func([]byte) error) error {
	r, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // only read
	br := bufio.NewReader(r)
	for n := 1; ; n++ {
		b, err := br.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(b)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", path, n, err)
		}
	}
}
