package zoomcache

import (
	"context"
	"math"

	"github.com/farread/farread/rangeio"
)

// The least and the greatest offset: as a range they take in every sample.
const (
	FirstOffset = math.MinInt64
	LastOffset  = math.MaxInt64
)

// Samples calls fn with the samples of a track whose offsets lie in [from, to],
// packet by packet in the file's order; FirstOffset to LastOffset are all of
// them. Packets without any are left out, and those that stand out of the range
// are cut to it: Count, Values and Stamps hold the samples inside. At constant rate
// Entry and Exit are the ends of these, at variable rate those of the whole packet.
// The Packet is reused, and valid during the call only. An error of fn ends it and
// is returned as it is.
//
// If an index knows the track, and not all of the track is wanted, only packets in
// the range are read, with a little between them: one phase, in windows of up to
// Options.Window, and one phase before it if the list of packets, or a rough one,
// was not part of the read that found the index. To find the index costs what it
// costs the first View. If the index proves to be wrong, or a packet damaged,
// Samples goes on from there with a pass over the file.
//
// Else it is one pass like Scan, which ends early at constant rate, as packets lie
// in the order of their offsets. At variable rate stamps may go backwards, so all
// packets of the track are looked into.
//
// A track that is not there is ErrNoEntry; damage is an error as in Scan.
func (f *File) Samples(ctx context.Context, track int32, from, to int64, fn func(p *Packet) error) error {
	t, err := f.Track(track)
	if err != nil || from > to {
		return err
	}
	v, err := f.packetsByIndex(ctx, t, from, to)
	switch {
	case err != nil:
		return err
	case v != nil:
		return v.samples(rangeio.OnePhase(ctx), v.lister(), fn)
	}
	return f.scanSamples(ctx, t, f.body, from, to, fn)
}

// scanSamples does it by a pass from off on, where a block begins.
func (f *File) scanSamples(ctx context.Context, t *Track, off, from, to int64, fn func(p *Packet) error) error {
	var p Packet
	want := func(b *Block, _ *Track) bool {
		return !b.Summary && b.Track == t.Number && (t.Variable || b.Count == 0 || b.Entry <= to && b.last() >= from)
	}
	return f.walk(ctx, off, want, func(b Block, _ *Track, content []byte) (bad, err error) {
		if b.Summary || b.Track != t.Number {
			return nil, nil
		}
		if !t.Variable && b.Count > 0 && b.Entry > to {
			return nil, errStop
		}
		if content == nil {
			return nil, nil
		}
		if bad := t.DecodePacket(&p, b, content, f.o.Limits); bad != nil {
			return bad, nil
		}
		if p.cut(t.Codec.width(), from, to); p.Count == 0 {
			return nil, nil
		}
		if err := fn(&p); err != nil {
			return nil, err
		}
		if !t.Variable && b.last() >= to { // later packets have later samples
			return nil, errStop
		}
		return nil, nil
	})
}

// last is the offset of the last sample of a packet of constant rate.
func (b *Block) last() int64 {
	if n := int64(b.Count) - 1; b.Entry <= math.MaxInt64-n {
		return b.Entry + n
	}
	return math.MaxInt64
}

// A run is the samples [i, j) of a packet.
type run struct{ i, j int }

// cut keeps the samples with offsets in [from, to].
func (p *Packet) cut(width int, from, to int64) {
	n := int(p.Count)
	p.runs = p.runs[:0]
	switch {
	case p.Stamps == nil:
		if n > 0 && p.Entry <= to && p.last() >= from {
			r := run{0, n}
			if from > p.Entry {
				r.i = int(from - p.Entry) // below n
			}
			if to < p.last() {
				r.j = int(to-p.Entry) + 1
			}
			p.runs = append(p.runs, r)
		}
	case from == FirstOffset && to == LastOffset:
		return
	default:
		for i := 0; i < n; {
			j := i
			for j < n && p.Stamps[j] >= from && p.Stamps[j] <= to {
				j++
			}
			if j > i {
				p.runs = append(p.runs, run{i, j})
			}
			i = j + 1
		}
	}
	if len(p.runs) == 1 && p.runs[0] == (run{0, n}) {
		return
	}
	kept := 0
	for _, r := range p.runs {
		kept += r.j - r.i
	}
	p.Values.keep(p.runs, width, kept)
	p.Count = int32(kept)
	if p.Stamps != nil {
		p.Stamps = squeeze(p.Stamps, p.runs, 1)
	} else if kept > 0 {
		p.Entry += int64(p.runs[0].i)
		p.Exit = p.last()
	}
}

// keep drops all values but those of some runs, of kept samples together.
func (v *Values) keep(runs []run, width, kept int) {
	v.N = kept * width
	switch v.Kind {
	case Bool:
		v.Bool = squeeze(v.Bool, runs, width)
	case F32:
		v.F32 = squeeze(v.F32, runs, width)
	case F64:
		v.F64 = squeeze(v.F64, runs, width)
	case Int, I64:
		v.I64 = squeeze(v.I64, runs, width)
	case Integer:
		v.Big = squeeze(v.Big, runs, width)
	case Word, U64:
		v.U64 = squeeze(v.U64, runs, width)
	case I8:
		v.I8 = squeeze(v.I8, runs, width)
	case I16:
		v.I16 = squeeze(v.I16, runs, width)
	case I32:
		v.I32 = squeeze(v.I32, runs, width)
	case U8:
		v.U8 = squeeze(v.U8, runs, width)
	case U16:
		v.U16 = squeeze(v.U16, runs, width)
	case U32:
		v.U32 = squeeze(v.U32, runs, width)
	default: // Unit has none
	}
}

// squeeze moves what the runs say to the front.
func squeeze[T any](v []T, runs []run, width int) []T {
	n := 0
	for _, r := range runs {
		n += copy(v[n:], v[r.i*width:r.j*width])
	}
	return v[:n]
}
