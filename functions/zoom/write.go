package zoom

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/internal/kit"
)

// SealTrack is the number of the undeclared track, "sela", whose one packet tells
// one version of an upload from another of the same content: 8 bytes "frseal" 0 1
// and WriteOptions.Seal, of a Job 32 bytes of hash. Readers skip it by its length. It
// lies behind the plain file and before the end of the index.
const SealTrack = 0x73656C61

const sealTag = "frseal\x00\x01"

// WriteOptions are the options of Write. The zero value is right for most.
type WriteOptions struct {
	Rate   zoomcache.Rate   // rate that replaces the source's; zero: the source's rate
	Origin zoomcache.Origin // UTC of time 0, which replaces the source's; zero: the source's
	// Codec is the codec of all tracks; nil means the codec of each track in the
	// source. A value that it cannot hold is formats.ErrUnsupported, at the latest
	// when it is met.
	Codec *zoomcache.Codec
	Zlib  bool // packets are compressed
	Delta bool // packets hold differences, if that loses nothing: it has no effect on floats and pcm-int
	// Watermark is the number of samples of a track in a packet. 0 means 1024, or fewer
	// with more than 256 tracks, but at least 64. At variable rate, packets also end at
	// gaps. One packet of each track may together have at most 4 Mi samples; otherwise
	// the error is formats.ErrTooLarge.
	Watermark int
	Parallel  int    // goroutines; 0: GOMAXPROCS. The bytes do not depend on it
	Seal      []byte // becomes a packet of SealTrack; nil: none
	Record    []byte // of a file of many uploads, becomes a packet of RecordTrack; nil: none
	// NoIndex makes a file without an index. An index follows the plain file; parts of
	// a long index lie between the blocks of the plain file. Files of more than 512
	// tracks never have an index.
	NoIndex bool
	// Progress is told how many bytes of the source are read, of About.Bytes.
	Progress formats.Progress
}

// Written is the result of Write.
type Written struct {
	Samples int64 // samples of all tracks together
	Plain   int64 // bytes of the plain file, without seal and index
	Size    int64 // bytes of the whole file
}

// Write writes a series as a zoom-cache file with all levels of summaries into w. The
// caller then commits w. Memory does not depend on the length of the series: 16 MiB of
// the source that are read ahead (20 MiB for an array in Fortran order), a window of
// each track, and 6 MiB of the index; more of the index is written into the file at
// once. Up to 6 MiB of samples, or their bins, wait for the index. With more than one
// goroutine one of them writes into w, and none does any more when Write returns. Write
// reads each byte of the source once, in requests of 8 MiB. For an array in Fortran order
// it makes one request of each column for 10 MiB of all columns. If o has another rate or
// origin than the stamps tell, the error is formats.ErrUnsupported.
func Write(ctx context.Context, w io.Writer, s Series, o WriteOptions) (Written, error) {
	about := s.About()
	list, err := o.tracks(about)
	if err != nil {
		return Written{}, err
	}
	origin := about.Origin
	if o.Origin.Den != 0 {
		if len(list) > 0 && list[0].Variable && origin.Den != 0 {
			return Written{}, kit.Fail(about.Format, "", -1, kit.Unsupported("the stamps say themselves which times they are: no other origin"))
		}
		origin = o.Origin
	}
	p := &pump{o: o, list: list, window: o.window(len(list))}
	sink := &sealSink{index: newIndex(o, list), seal: o.Seal, record: o.Record}
	zo := zoomcache.WriteOptions{Origin: origin, Tracks: list, Watermark: -1, Parallel: o.Parallel}
	if p.alone = len(list) == 1 && !list[0].Variable; p.alone {
		zo.Watermark = p.window
	}
	if sink.index != nil || o.Seal != nil || o.Record != nil {
		zo.Sink = sink
	}
	w, end := outputOf(w, o.Parallel)
	defer end() //nolint:errcheck // of a file that is given up; else it was called before
	if p.w, err = zoomcache.NewWriter(w, zo); err != nil {
		return Written{}, err
	}
	for _, t := range list {
		p.tracks = append(p.tracks, p.w.Track(t.Number))
	}
	p.conv = make([]converter, len(list))
	err = s.Each(ctx, p.window, func(b *Block) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := p.block(b); err != nil { //nolint:contextcheck // the writer computes; its goroutines end before it returns
			return err
		}
		o.Progress.Tell(b.Done, about.Bytes)
		return nil
	})
	if err != nil {
		return Written{}, err
	}
	if err := p.w.Close(); err != nil { //nolint:contextcheck // as above
		return Written{}, err
	}
	if err := end(); err != nil {
		return Written{}, err
	}
	out := Written{Samples: p.samples, Plain: sink.plain, Size: p.w.Offset()}
	if zo.Sink == nil {
		out.Plain = out.Size
	}
	return out, nil
}

const (
	// minWindow, maxWindow and windowBytes bound a packet. The values that all tracks
	// gather together must fit into memory a few times. The header and the summaries of
	// a packet take more than very few values do.
	minWindow   = 64
	maxWindow   = 1 << 22
	windowBytes = 2 << 20
	valueBytes  = 8 // most bytes of a value
)

// window is the number of rows in a packet, for every track.
func (o WriteOptions) window(tracks int) int {
	if o.Watermark > 0 {
		return o.Watermark
	}
	return min(zoomcache.DefaultWatermark, max(windowBytes/valueBytes/max(tracks, 1), minWindow))
}

// tracks are the tracks of the file.
func (o WriteOptions) tracks(about About) ([]zoomcache.Track, error) {
	list := make([]zoomcache.Track, len(about.Tracks))
	for i, t := range about.Tracks {
		bad := func(err error) ([]zoomcache.Track, error) {
			return nil, kit.Fail(about.Format, fmt.Sprintf("track %d", t.Number), -1, err)
		}
		if o.Codec != nil {
			if !converts(t.Codec.Kind, o.Codec.Kind) {
				return bad(kit.Unsupported("samples of %s as %s", t.Codec.Kind, o.Codec))
			}
			t.Codec = *o.Codec
		}
		if o.Rate.Num != 0 {
			if t.Variable {
				return bad(kit.Unsupported("every sample has a stamp: no other rate"))
			}
			t.Rate = o.Rate
		}
		t.Zlib = o.Zlib
		t.Delta = o.Delta && t.Codec.Deltas() && !t.Codec.Kind.Float() && !narrow(t.Codec)
		list[i] = t
	}
	if o.Watermark < 0 || int64(o.Watermark)*int64(max(len(list), 1)) > maxWindow {
		return nil, kit.Fail(about.Format, "", -1, kit.TooLarge("packets of %d samples of %d tracks, over %d together", o.Watermark, len(list), maxWindow))
	}
	return list, nil
}

// A pump moves blocks into a writer, so that the packets of all tracks end at the
// same row.
type pump struct {
	o       WriteOptions
	w       *zoomcache.Writer
	list    []zoomcache.Track
	tracks  []*zoomcache.TrackWriter
	conv    []converter
	window  int
	have    int // rows since the last flush
	alone   bool
	samples int64
}

func (p *pump) block(b *Block) error {
	values := make([]*zoomcache.Values, len(b.Columns))
	for i := range b.Columns {
		v, err := p.conv[i].to(&b.Columns[i].Values, p.list[i].Codec)
		if err != nil {
			return kit.Fail("series", fmt.Sprintf("track %d", i+1), -1, err)
		}
		values[i] = v
		p.samples += int64(v.N)
	}
	switch {
	case len(values) == 0:
		return nil
	case p.list[0].Variable:
		return p.flushCut(b, func(i, from, to int) error {
			return appendValues(p.tracks[i], values[i], b.Columns[i].Stamps, from, to)
		})
	case p.alone:
		return appendValues(p.tracks[0], values[0], nil, 0, values[0].N)
	}
	for at := 0; at < values[0].N; {
		n := min(values[0].N-at, p.window-p.have)
		for i, v := range values {
			if err := appendValues(p.tracks[i], v, nil, at, at+n); err != nil {
				return err
			}
		}
		at += n
		if p.have += n; p.have == p.window {
			p.have = 0
			if err := p.w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendValues appends the values from from to to, each with its stamp if there are
// stamps.
func appendValues(t *zoomcache.TrackWriter, v *zoomcache.Values, stamps []int64, from, to int) error {
	switch v.Kind {
	case zoomcache.Bool:
		return add(t, v.Bool, stamps, from, to)
	case zoomcache.F32:
		return add(t, v.F32, stamps, from, to)
	case zoomcache.F64:
		return add(t, v.F64, stamps, from, to)
	case zoomcache.I8:
		return add(t, v.I8, stamps, from, to)
	case zoomcache.I16:
		return add(t, v.I16, stamps, from, to)
	case zoomcache.I32:
		return add(t, v.I32, stamps, from, to)
	case zoomcache.I64, zoomcache.Int:
		return add(t, v.I64, stamps, from, to)
	case zoomcache.U8:
		return add(t, v.U8, stamps, from, to)
	case zoomcache.U16:
		return add(t, v.U16, stamps, from, to)
	case zoomcache.U32:
		return add(t, v.U32, stamps, from, to)
	case zoomcache.U64, zoomcache.Word:
		return add(t, v.U64, stamps, from, to)
	default:
		return kit.Unsupported("values of %s", v.Kind)
	}
}

func add[T zoomcache.Value](t *zoomcache.TrackWriter, v []T, stamps []int64, from, to int) error {
	if stamps != nil {
		return zoomcache.WriteSamplesAt(t, stamps[from:to], v[from:to])
	}
	return zoomcache.WriteSamples(t, v[from:to])
}

// newIndex returns the Builder of an index, which is made in the same pass. Nil means
// that the file gets no index.
func newIndex(o WriteOptions, list []zoomcache.Track) *zoomindex.Builder {
	if o.NoIndex || len(list) > maxIndexed {
		return nil
	}
	return zoomindex.NewBuilder(list, zoomindex.WriteOptions{MaxMemory: indexMemory, NoBins: len(list) > maxBinned, Behind: o.Parallel != 1 && runtime.GOMAXPROCS(0) > 1})
}

const (
	// indexMemory is how much the index may hold before parts of it are written into
	// the file.
	indexMemory = 6 << 20
	// maxBinned is how many tracks may have bins finer than level 1 in the index. With
	// more tracks the pages would be so short that directories get long.
	maxBinned = 64
	// maxIndexed is how many tracks a file with an index may have: each level of each
	// track takes some 2 KiB, even if its pages are short.
	maxIndexed = 512
)

// A sealSink adds the seal, and the record of uploads, before the index.
type sealSink struct {
	index  *zoomindex.Builder // nil: there is none
	seal   []byte
	record []byte // nil: none
	plain  int64
}

// Window implements zoomcache.Sink.
func (s *sealSink) Window(w *zoomcache.Window) error {
	if s.index == nil {
		return nil
	}
	return s.index.Window(w)
}

// Packet implements zoomcache.Sink.
func (s *sealSink) Packet(b *zoomcache.Block) error {
	if s.index == nil {
		return nil
	}
	return s.index.Packet(b)
}

// Summary implements zoomcache.Sink.
func (s *sealSink) Summary(x *zoomcache.Summary) error { return s.SummaryBlock(&x.Block) }

// SummaryBlock implements zoomcache.BlockSink.
func (s *sealSink) SummaryBlock(b *zoomcache.Block) error {
	if s.index == nil {
		return nil
	}
	return s.index.SummaryBlock(b)
}

// Between implements zoomcache.Interleaver.
func (s *sealSink) Between(add func(track int32, payload ...[]byte) (int64, error)) error {
	if s.index == nil {
		return nil
	}
	return s.index.Between(add)
}

// Finish implements zoomcache.Sink. If the file is cut at the end of the plain file,
// the seal is cut off, too.
func (s *sealSink) Finish(end int64, add func(track int32, payload ...[]byte) (int64, error)) error {
	s.plain = end
	if s.index != nil {
		s.plain -= s.index.Spilled()
	}
	if s.seal != nil {
		if _, err := add(SealTrack, append([]byte(sealTag), s.seal...)); err != nil {
			return err
		}
	}
	if s.record != nil {
		p, err := packRecord(s.record)
		if err != nil {
			return err
		}
		if _, err := add(RecordTrack, p); err != nil {
			return err
		}
	}
	if s.index == nil {
		return nil
	}
	return s.index.Finish(end, add)
}
