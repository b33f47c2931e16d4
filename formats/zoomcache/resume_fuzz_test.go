package zoomcache

import (
	"bytes"
	"testing"
)

// FuzzResume: a file of any bytes grows by nothing to one that is no worse, or is refused.
func FuzzResume(f *testing.F) {
	addOriginals(f, func(p []byte) {
		if len(p) < 4000 {
			f.Add(p)
		}
	})
	f.Fuzz(func(t *testing.T, p []byte) {
		old, err := Open(t.Context(), readerOf(p), Options{Limits: small(), Head: 1, Window: 1})
		if err != nil || len(old.h.Tracks) > 8 {
			return
		}
		var tail bytes.Buffer
		w, is, err := Resume(t.Context(), old, &tail, ResumeOptions{Watermark: -1, Parallel: 1})
		if err != nil {
			return
		}
		if is.Kept < old.body || is.Kept > old.size {
			t.Fatalf("cut at %d of %d bytes", is.Kept, old.size)
		}
		for _, l := range is.Last {
			if tw := w.Track(l.Track); tw == nil || l.Count < 1 {
				t.Fatalf("%d samples of track %d", l.Count, l.Track)
			}
		}
		if err := w.Close(); err != nil {
			return
		}
		grown := append(bytes.Clone(p[:is.Kept]), tail.Bytes()...)
		again, err := Open(t.Context(), readerOf(grown), Options{Limits: small()})
		if err != nil {
			t.Fatal(err)
		}
		if err := again.EachBlock(t.Context(), func(Block, *Track, []byte) error { return nil }); err != nil {
			t.Fatal(err)
		}
	})
}
