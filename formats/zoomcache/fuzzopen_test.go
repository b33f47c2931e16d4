package zoomcache

import (
	"bytes"
	"slices"
	"testing"

	"github.com/farread/farread/internal/bufpool"
)

// FuzzOpen: a file of any bytes gives samples and summaries that agree with the counts
// of Verify, or an error. With Resync an open file gives no error, and blocks and
// damage together cover the file.
func FuzzOpen(f *testing.F) {
	addOriginals(f, func(p []byte) {
		if len(p) < 4000 {
			f.Add(p)
		}
	})
	f.Fuzz(func(t *testing.T, p []byte) {
		strict, err := Open(t.Context(), readerOf(p), Options{Limits: small(), Head: 1, Window: 1})
		if err != nil {
			return
		}
		report, verr := strict.Verify(t.Context(), nil)
		if len(strict.h.Tracks) > 8 {
			return
		}
		for i := range strict.h.Tracks {
			c := &report.Tracks[i]
			n, levels := int64(0), [MaxLevel + 1]int64{}
			err := strict.EachPacket(t.Context(), c.Track, FirstOffset, LastOffset, func(p *Packet) error {
				n += int64(p.Count)
				return nil
			})
			serr := strict.EachSummary(t.Context(), c.Track, EveryLevel, FirstOffset, LastOffset, func(s *Summary) error {
				levels[s.Level-1]++
				return nil
			})
			if verr == nil && (err != nil || serr != nil || n != c.Samples || !slices.Equal(levels[:len(c.Levels)], c.Levels)) {
				t.Fatalf("%d samples, %d in the levels, %v, %v; verified %+v", n, levels, err, serr, c)
			}
		}
		checkLenient(t, p, verr)
		if n := bufpool.Loans(); n != 0 {
			t.Fatalf("%d buffers are still lent", n)
		}
	})
}

// checkLenient reads with Resync.
func checkLenient(t *testing.T, p []byte, strict error) {
	t.Helper()
	at, damaged := int64(0), 0
	piece := func(from, to int64) {
		if at == 0 {
			at = from
		}
		if from != at || to <= from {
			t.Fatalf("[%d, %d) follows what ends at %d", from, to, at)
		}
		at = to
	}
	lenient, err := Open(t.Context(), readerOf(p), Options{Limits: small(), Head: 1, Window: 1, Resync: true, Damaged: func(d Damage) {
		damaged++
		piece(d.From, d.To)
	}})
	if err != nil {
		t.Fatal(err)
	}
	must(t, lenient.EachBlock(t.Context(), func(b Block, tr *Track, content []byte) error {
		if piece(b.Off, b.Off+b.Size()); tr != nil && !bytes.Equal(content, p[b.Off+BlockHeaderLen:at]) {
			t.Fatalf("another content of the block at %d", b.Off)
		}
		return nil
	}))
	if at != lenient.size && lenient.body != lenient.size {
		t.Fatalf("ends at %d of %d", at, lenient.size)
	}
	if strict == nil && damaged > 0 {
		t.Fatal("damage in a file that is well")
	}
	again, err := Open(t.Context(), readerOf(p), Options{Limits: small(), Resync: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := again.Verify(t.Context(), nil)
	if err != nil || (len(r.Damage) == 0) != (strict == nil) {
		t.Fatalf("strictly %v, else %+v, %v", strict, r.Damage, err)
	}
}
