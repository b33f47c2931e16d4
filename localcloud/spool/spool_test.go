package spool_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/farread/farread/localcloud/notify"
	"github.com/farread/farread/localcloud/spool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) (*spool.Spool, []spool.Entry) {
	t.Helper()
	s, pending, err := spool.Open(dir, "us-east-1", notify.NewClock(nil))
	if err != nil {
		t.Fatal(err)
	}
	return s, pending
}

func put(key, etag string) notify.Change {
	return notify.Change{Event: notify.Put, Bucket: "b", Key: key, ETag: `"` + etag + `"`, Size: 1}
}

func appendTo(t *testing.T, s *spool.Spool, c notify.Change) spool.Entry {
	t.Helper()
	e, err := s.Append(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// If a crash cuts the files at any place, the whole lines count and nothing else.
func TestCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	var all []spool.Entry
	for i := range 4 {
		all = append(all, appendTo(t, s, put(fmt.Sprintf("key %d ü", i), "e")))
	}
	if err := s.Ack(all[1].ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	events, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	acks, err := os.ReadFile(filepath.Join(dir, "acks"))
	if err != nil {
		t.Fatal(err)
	}
	check := func(events, acks []byte) {
		t.Helper()
		cut := t.TempDir()
		for name, b := range map[string][]byte{"events.jsonl": events, "acks": acks} {
			if err := os.WriteFile(filepath.Join(cut, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := append([]spool.Entry(nil), all[:bytes.Count(events, []byte("\n"))]...)
		if len(want) > 1 && bytes.Contains(acks, []byte("\n")) {
			want = append(want[:1], want[2:]...)
		}
		for again := range 2 { // opening compacts, which must change nothing
			s, got := open(t, cut)
			if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
				t.Fatalf("%d bytes of events, %d of acks, time %d: %s", len(events), len(acks), again, diff)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := 0; n <= len(events); n += 7 { // the lines' length is no multiple of it
		check(events[:n], acks)
	}
	for n := range len(acks) + 1 {
		check(events, acks[:n])
	}
}

func TestSequencersRiseOverRestarts(t *testing.T) {
	dir := t.TempDir()
	var last string
	// The clock goes back a day at each start.
	for day := range 3 {
		clock := notify.NewClock(func() time.Time { return time.Unix(1e9, 0).AddDate(0, 0, -day) })
		s, _, err := spool.Open(dir, "us-east-1", clock)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			seq := appendTo(t, s, put("k", "e")).Record.S3.Object.Sequencer
			if seq <= last || len(seq) != 16 {
				t.Errorf("day %d: sequencer %s after %s", day, seq, last)
			}
			last = seq
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKnows(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir)
	appendTo(t, s, put("gone", "e"))
	appendTo(t, s, notify.Change{Event: notify.Delete, Bucket: "b", Key: "gone"})
	before := time.Now()
	first := appendTo(t, s, put("kept", "e1"))
	appendTo(t, s, put("kept", "e2"))
	if _, err := s.Again(first.Record); err != nil { // a redriven event says nothing new
		t.Fatal(err)
	}
	for range 2 { // now and after a restart
		for _, tt := range []struct {
			key, etag, version string
			modified           time.Time
			want               bool
		}{
			{"kept", `"e2"`, "", before, true},
			{"kept", `"e1"`, "", before, false},
			{"kept", `"e2"`, "v", before, false},
			{"kept", `"e2"`, "", time.Now().Add(time.Hour), false},
			{"gone", `"e"`, "", before, false},
			{"never", `"e"`, "", before, false},
		} {
			if got := s.Knows("b", tt.key, tt.etag, tt.version, tt.modified); got != tt.want {
				t.Errorf("%+v: %v", tt, got)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s, _ = open(t, dir)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), []byte("{}\nno json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := spool.Open(dir, "us-east-1", notify.NewClock(nil)); err == nil || !bytes.Contains([]byte(err.Error()), []byte("line 2")) {
		t.Errorf("got %v", err)
	}
}
