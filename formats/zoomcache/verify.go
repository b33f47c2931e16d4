package zoomcache

import (
	"context"
	"math"

	"github.com/farread/farread/formats"
)

// A TrackCount counts the blocks and samples of one track.
type TrackCount struct {
	Track   int32
	Packets int64
	Empty   int64   // how many of Packets have no sample
	Samples int64   // the values of all channels at one offset are one sample
	Levels  []int64 // number of summaries of level 1, 2 …
	// Entry and Exit are the least and the greatest offset in the headers of
	// summaries and of packets with samples. They are 0 and -1 if there are none.
	Entry, Exit int64
}

// A Report is the result of Count or Verify.
type Report struct {
	Tracks []TrackCount // counts in the order of the tracks in the header
	// Undeclared blocks belong to tracks that the header does not list, as the
	// index of a file does. UndeclaredBytes is their length.
	Undeclared, UndeclaredBytes int64
	// Damage lists the first 1000 stretches that Options.Resync has skipped;
	// DamagedBytes is the length of all of them.
	Damage       []Damage
	DamagedBytes int64

	// Backward counts stamps that are smaller than the one before them. Only
	// Verify counts them; they are not errors.
	Backward int64
	// WrongSpans counts packets whose header has other first and last offsets
	// than their samples. Only Verify counts them; they are not errors.
	WrongSpans int64
}

// maxDamage bounds the list of damage in a Report.
const maxDamage = 1000

// Count counts the blocks of a file by their headers alone, in one pass like
// EachBlock. Damage is an error as in EachBlock; Count then returns it with the
// report of the blocks before.
func (f *File) Count(ctx context.Context) (Report, error) {
	return f.report(ctx, false, nil)
}

// Verify reads everything. It checks the header of every block against the file. It
// decodes every packet and summary of a declared track, and checks it against its
// codec, its count, and its checksum if it is compressed. It calls progress with the
// number of bytes of the file that it has read. The first damaged block ends Verify,
// which then returns the report of the blocks before. With Options.Resync, the report
// lists damaged blocks instead, and they are no error.
func (f *File) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	return f.report(ctx, true, progress)
}

// A verifier makes a report.
type verifier struct {
	f      *File
	r      Report
	counts map[int32]*TrackCount
	last   map[int32]int64 // last stamp of each track
	p      Packet
	s      Summary
}

func (f *File) report(ctx context.Context, decode bool, progress formats.Progress) (Report, error) {
	v := &verifier{f: f, counts: map[int32]*TrackCount{}, last: map[int32]int64{}}
	v.r.Tracks = make([]TrackCount, len(f.h.Tracks))
	for i := range f.h.Tracks {
		n := f.h.Tracks[i].Number
		v.r.Tracks[i] = TrackCount{Track: n, Exit: -1}
		v.counts[n] = &v.r.Tracks[i]
	}
	noting := *f // a copy whose Damaged also adds to the report
	noting.o.Damaged = func(d Damage) {
		if v.r.DamagedBytes += d.To - d.From; len(v.r.Damage) < maxDamage {
			v.r.Damage = append(v.r.Damage, d)
		}
		if f.o.Damaged != nil {
			f.o.Damaged(d)
		}
	}
	want := func(*Block, *Track) bool { return decode }
	err := noting.walk(ctx, &walker{pos: f.body, want: want, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		progress.Tell(b.Off+b.Size(), f.size)
		if t == nil {
			v.r.Undeclared++
			v.r.UndeclaredBytes += b.Size()
			return nil, nil
		}
		if decode {
			if bad := v.decode(&b, t, content); bad != nil {
				return bad, nil
			}
		}
		v.counts[b.Track].Add(&b)
		return nil, nil
	}})
	return v.r, err
}

// Add counts a block of the track.
func (c *TrackCount) Add(b *Block) {
	if b.Summary {
		for len(c.Levels) < int(b.Level) {
			c.Levels = append(c.Levels, 0)
		}
		c.Levels[b.Level-1]++
	} else {
		c.Packets++
		c.Samples += int64(b.Count)
		if b.Count == 0 {
			c.Empty++
			return
		}
	}
	if c.Exit < c.Entry {
		c.Entry, c.Exit = math.MaxInt64, math.MinInt64
	}
	c.Entry, c.Exit = min(c.Entry, b.Entry, b.Exit), max(c.Exit, b.Entry, b.Exit)
}

// decode decodes a block and checks its stamps.
func (v *verifier) decode(b *Block, t *Track, content []byte) error {
	if b.Summary {
		return t.DecodeSummary(&v.s, *b, content)
	}
	p := &v.p
	if err := t.DecodePacket(p, *b, content, v.f.o.Limits); err != nil || p.Count == 0 {
		return err
	}
	if p.Entry != p.Offset(0) || p.Exit != p.Offset(int(p.Count)-1) {
		v.r.WrongSpans++
	}
	for i, s := range p.Stamps {
		before, ok := v.last[b.Track]
		if i > 0 {
			before, ok = p.Stamps[i-1], true
		}
		if ok && s < before {
			v.r.Backward++
		}
	}
	if len(p.Stamps) > 0 {
		v.last[b.Track] = p.Stamps[len(p.Stamps)-1]
	}
	return nil
}
