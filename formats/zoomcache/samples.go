package zoomcache

import (
	"context"
	"math"
)

// The least and the greatest offset. As a range they cover every sample.
const (
	FirstOffset = math.MinInt64
	LastOffset  = math.MaxInt64
)

// EachPacket calls fn with the samples of a track whose offsets lie in [from, to],
// packet by packet in the file's order; FirstOffset to LastOffset are all of
// them. Packets without any are left out, and those that stand out of the range
// are cut to it: Count, Values and Stamps hold the samples inside. At constant rate
// Entry and Exit are the ends of these, at variable rate those of the whole packet.
// The Packet is reused, and valid during the call only. An error of fn ends it and
// is returned as it is.
//
// It is one pass like EachBlock, which ends early at constant rate, as packets lie in the
// order of their offsets. At variable rate stamps may go backwards, so all packets of
// the track are looked into. By an index, zoomindex.File reads less.
//
// A track that is not there is ErrNoEntry; damage is an error as in EachBlock.
func (f *File) EachPacket(ctx context.Context, track int32, from, to int64, fn func(p *Packet) error) error {
	return f.SamplesFrom(ctx, f.body, track, from, to, fn)
}

// SamplesFrom is EachPacket by a pass that begins at byte off of the file, where a
// block must begin.
func (f *File) SamplesFrom(ctx context.Context, off int64, track int32, from, to int64, fn func(p *Packet) error) error {
	t, err := f.Track(track)
	if err != nil || from > to {
		return err
	}
	var p Packet
	want := func(b *Block, _ *Track) bool {
		return !b.Summary && b.Track == t.Number && (t.Variable || b.Count == 0 || b.Entry <= to && b.last() >= from)
	}
	early := !t.Variable && to != LastOffset
	return f.walk(ctx, &walker{pos: off, want: want, early: early, fn: func(b Block, _ *Track, content []byte) (bad, err error) {
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
		if p.Cut(t.Codec.Width(), from, to); p.Count == 0 {
			return nil, nil
		}
		if err := fn(&p); err != nil {
			return nil, err
		}
		if !t.Variable && b.last() >= to { // later packets have later samples
			return nil, errStop
		}
		return nil, nil
	}})
}

// HeadHolds reports whether Open has read all samples of a track up to an offset, so
// that EachPacket for them makes no request. It is false for tracks of variable
// rate.
func (f *File) HeadHolds(t *Track, to int64) bool {
	for pos := f.body; pos < int64(len(f.first)); {
		b, err := f.ParseBlock(f.first[pos:], pos)
		switch {
		case err != nil || t.Variable:
			return false
		case !b.Summary && b.Track == t.Number && b.Count > 0 && b.last() >= to:
			return b.Entry > to || pos+b.Size() <= int64(len(f.first))
		}
		pos += b.Size()
	}
	return int64(len(f.first)) == f.size
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

// Cut drops all samples whose offsets are not in [from, to]. width is Codec.Width of
// the track.
func (p *Packet) Cut(width int, from, to int64) {
	n := int(p.Count)
	p.runs = p.runs[:0]
	switch {
	case p.Stamps == nil:
		if n > 0 && p.Entry <= to && p.last() >= from {
			r := run{0, n}
			if from > p.Entry {
				r.i = int(from - p.Entry) // below n: cannot overflow
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

// keep drops all values except the ones of runs, which have kept samples
// together.
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

// squeeze moves the values of the runs to the front.
func squeeze[T any](v []T, runs []run, width int) []T {
	n := 0
	for _, r := range runs {
		n += copy(v[n:], v[r.i*width:r.j*width])
	}
	return v[:n]
}
