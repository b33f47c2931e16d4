package zoomcache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/heaptest"
)

// A player appends the same random values in any pieces to a track.
type player interface {
	len() int
	put(t *TrackWriter, from, to int) error
}

type values[T Value] struct {
	v      []T
	stamps []int64 // nil at constant rate
	width  int
}

func (p *values[T]) len() int { return len(p.v) / p.width }

func (p *values[T]) put(t *TrackWriter, from, to int) error {
	if p.stamps == nil {
		return WriteSamples(t, p.v[from*p.width:to*p.width])
	}
	return WriteSamplesAt(t, p.stamps[from:to], p.v[from*p.width:to*p.width])
}

func drawTrack(t *rapid.T, number int32) Track {
	tr := Track{Number: number, Rate: Rate{1000, 1},
		Variable: rapid.Bool().Draw(t, "variable"), Delta: rapid.Bool().Draw(t, "delta"), Zlib: rapid.IntRange(0, 3).Draw(t, "zlib") == 0}
	tr.Codec = Codec{Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")), PCM: rapid.Bool().Draw(t, "pcm")}
	tr.Codec.PCM = tr.Codec.PCM && tr.Codec.valid()
	tr.Codec.Channels = rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, "channels")
	return tr
}

// drawValues makes n values of each channel, extreme ones among them.
func drawValues(t *rapid.T, tr Track, n int) player {
	seed := rapid.Uint64().Draw(t, "seed")
	next := func() uint64 { // splitmix
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	odd := rapid.Bool().Draw(t, "extremes")
	var stamps []int64
	if tr.Variable {
		at := int64(0)
		stamps = []int64{}
		for range n {
			at += int64(next()%2000) - 100
			stamps = append(stamps, at)
		}
	}
	switch tr.Codec.Kind {
	case Unit:
		return fill(tr, n, stamps, func() struct{} { return struct{}{} })
	case Bool:
		return fill(tr, n, stamps, func() bool { return next()&1 != 0 })
	case F32:
		return fill(tr, n, stamps, func() float32 {
			if x := next(); odd && x%16 == 0 {
				return math.Float32frombits(uint32(x >> 32))
			}
			return float32(int32(next())) / 1000
		})
	case F64:
		return fill(tr, n, stamps, func() float64 {
			if x := next(); odd && x%16 == 0 {
				return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.Float64frombits(next())}[x>>8%6]
			}
			return float64(int32(next())) / 1000
		})
	case Integer:
		return fill(tr, n, stamps, func() *big.Int {
			return new(big.Int).Mul(big.NewInt(int64(next())), new(big.Int).SetUint64(next()))
		})
	case Int, I64:
		return fill(tr, n, stamps, func() int64 { return int64(next()) >> (next() % 60) })
	case I8:
		return fill(tr, n, stamps, func() int8 { return int8(next()) })
	case I16:
		return fill(tr, n, stamps, func() int16 { return int16(next()) })
	case I32:
		return fill(tr, n, stamps, func() int32 { return int32(next()) })
	case U8:
		return fill(tr, n, stamps, func() uint8 { return uint8(next()) })
	case U16:
		return fill(tr, n, stamps, func() uint16 { return uint16(next()) })
	case U32:
		return fill(tr, n, stamps, func() uint32 { return uint32(next()) })
	default:
		return fill(tr, n, stamps, func() uint64 { return next() >> (next() % 60) })
	}
}

func fill[T Value](tr Track, n int, stamps []int64, f func() T) player {
	p := &values[T]{v: make([]T, n*tr.Codec.Width()), stamps: stamps, width: tr.Codec.Width()}
	for i := range p.v {
		p.v[i] = f()
	}
	return p
}

// A plan is a random sequence of calls.
type plan struct {
	o     WriteOptions
	data  []player
	marks []int // watermarks
	steps []step
}

type step struct {
	track, n int
	flush    bool
}

func drawPlan(t *rapid.T) *plan {
	p := &plan{o: WriteOptions{NoRaw: rapid.IntRange(0, 4).Draw(t, "no raw") == 0}}
	for i := range rapid.IntRange(1, 3).Draw(t, "tracks") {
		tr := drawTrack(t, int32(i*7-3))
		p.o.Tracks = append(p.o.Tracks, tr)
		p.data = append(p.data, drawValues(t, tr, rapid.IntRange(0, 400).Draw(t, "values")))
		p.marks = append(p.marks, rapid.SampledFrom([]int{-1, 1, 2, 3, 7, 16, 50}).Draw(t, "watermark"))
	}
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		p.steps = append(p.steps, step{rapid.IntRange(0, len(p.data)-1).Draw(t, "track"), rapid.IntRange(0, 300).Draw(t, "n"), rapid.IntRange(0, 5).Draw(t, "flush") == 0})
	}
	return p
}

// play carries a plan out; piece is how many values go into one call.
func (p *plan) play(tb testing.TB, parallel, piece int, sink Sink) []byte {
	tb.Helper()
	var out bytes.Buffer
	o := p.o
	o.Parallel, o.Sink = parallel, sink
	w, err := NewWriter(&out, o)
	if err != nil {
		tb.Fatal(err)
	}
	w.pieceAt = 16
	done := make([]int, len(p.data))
	for i, n := range p.marks {
		w.Track(p.o.Tracks[i].Number).SetWatermark(n)
	}
	for _, s := range p.steps {
		end := min(done[s.track]+s.n, p.data[s.track].len())
		for done[s.track] < end {
			to := min(done[s.track]+piece, end)
			if err := p.data[s.track].put(w.Track(p.o.Tracks[s.track].Number), done[s.track], to); err != nil {
				tb.Fatal(err)
			}
			done[s.track] = to
		}
		if s.flush {
			if err := w.Flush(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// Several goroutines that make runs of windows write the same bytes as one that takes
// value by value.
func TestParallelIsSerial(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		one := p.play(t, 1, 1, nil)
		for _, c := range []struct{ parallel, piece int }{{1, 1 << 30}, {4, 1 << 30}, {3, 37}} {
			if got := p.play(t, c.parallel, c.piece, nil); !bytes.Equal(got, one) {
				rt.Fatalf("%d goroutines, %d values a call: %d bytes differ from %d", c.parallel, c.piece, len(got), len(one))
			}
		}
	})
}

// Tracks that are flushed together are compressed side by side, more of them
// than goroutines.
func TestCompressedTracksTogether(t *testing.T) {
	write := func(parallel int) []byte {
		o := WriteOptions{Watermark: -1, Parallel: parallel}
		for i := range 7 {
			o.Tracks = append(o.Tracks, Track{Number: int32(i), Codec: Codec{Kind: F64}, Zlib: i != 2})
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		if parallel > 1 {
			w.pieceAt = 16
		}
		for round := range 4 {
			for i := range o.Tracks {
				v := make([]float64, 300*(i^round))
				for k := range v {
					v[k] = float64(k * i % (5 + round))
				}
				if err := WriteSamples(w.Track(int32(i)), v); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if together := len(w.squeezed); together != parallel && parallel > 1 || together != 0 && parallel == 1 {
				t.Fatalf("%d tracks were compressed together", together)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	one := write(1)
	if got := write(3); !bytes.Equal(got, one) {
		t.Errorf("%d bytes differ from %d", len(got), len(one))
	}
	if err := decodeAll(one, func(*Header, *Track, *Packet, *Summary) error { return nil }); err != nil {
		t.Error(err)
	}
}

// A recorder keeps what a Sink gets.
type recorder struct {
	blocks []Block
	sums   []string
	counts map[int32]int
	values map[int32][]string
	stamps map[int32][]int64
	end    int64
	add    []byte
	addAt  int64
}

func newRecorder() *recorder {
	return &recorder{counts: map[int32]int{}, values: map[int32][]string{}, stamps: map[int32][]int64{}}
}

func (r *recorder) Window(w *Window) error {
	n := w.Values.N / w.Track.Codec.Width()
	r.counts[w.Track.Number] += n
	for i := range w.Values.N {
		r.values[w.Track.Number] = append(r.values[w.Track.Number], w.Values.Number(i).String())
	}
	for i := range n {
		at := w.Entry + int64(i)
		if w.Track.Variable {
			at = w.Stamps[i]
		}
		r.stamps[w.Track.Number] = append(r.stamps[w.Track.Number], at)
	}
	return nil
}

func (r *recorder) Packet(b *Block) error { r.blocks = append(r.blocks, *b); return nil }

func (r *recorder) Summary(s *Summary) error {
	r.blocks = append(r.blocks, s.Block)
	r.sums = append(r.sums, fmt.Sprintf("%+v", *s))
	return nil
}

func (r *recorder) Finish(end int64, add func(int32, ...[]byte) (int64, error)) (err error) {
	r.end = end
	if r.add != nil {
		r.addAt, err = add(0x7a696478, r.add)
	}
	return err
}

// A Sink gets exactly what the file then holds, a reader finds the values that were
// appended, and what the Sink adds can be removed again.
func TestSink(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		plain := p.play(t, 1, 1<<30, nil)
		r := newRecorder()
		r.add = []byte("an index with a marker " + MarkerPacket)
		file := p.play(t, 2, 50, r)
		if r.end != int64(len(plain)) || r.addAt != r.end || !bytes.Equal(file[:r.end], plain) || len(file) != len(plain)+BlockHeaderLen+len(r.add) {
			rt.Fatalf("the plain file of %d bytes is not the first %d of %d", len(plain), r.end, len(file))
		}
		h, _, err := ParseHeader(plain, formats.Limits{})
		if err != nil {
			rt.Fatal(err)
		}
		seen := newRecorder()
		big := bytes.Clone(file)
		err = decodeAllOf(big, p.o.Tracks, func(_ *Header, tr *Track, pk *Packet, s *Summary) error {
			if s != nil {
				return seen.Summary(s)
			}
			w := Window{Track: tr, Entry: pk.Entry, Exit: pk.Exit, Values: pk.Values, Stamps: pk.Stamps}
			if tr.deltas() && tr.Codec.Kind.Float() || tr.Codec.PCM && (tr.Codec.Kind == Int) {
				w.Values = Values{} // rounding, and 32 bits of 64
			}
			return errors.Join(seen.Packet(&pk.Block), seen.Window(&w))
		})
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(r.blocks, seen.blocks); d != "" {
			rt.Fatal(d)
		}
		if d := cmp.Diff(r.sums, seen.sums); d != "" {
			rt.Fatal(d)
		}
		for i := range h.Tracks {
			n := h.Tracks[i].Number
			if len(seen.values[n]) == 0 {
				continue
			}
			if d := cmp.Diff(r.values[n], seen.values[n]); d != "" {
				rt.Fatal(d)
			}
			if d := cmp.Diff(r.stamps[n], seen.stamps[n]); d != "" {
				rt.Fatal(d)
			}
		}
	})
}

// decodeAllOf is decodeAll with bignums read as such.
func decodeAllOf(p []byte, tracks []Track, each func(h *Header, t *Track, pk *Packet, s *Summary) error) error {
	return decodeAllWith(p, func(h *Header) {
		for i := range h.Tracks {
			if tracks[i].Codec.Kind == Integer {
				h.Tracks[i].Codec.Kind = Integer
			}
		}
	}, each)
}

func TestMisuse(t *testing.T) {
	open := func(out io.Writer) *Writer {
		w, err := NewWriter(out, WriteOptions{Tracks: []Track{
			{Number: 1, Codec: Codec{Kind: I16, Channels: 2}}, {Number: 2, Codec: Codec{Kind: F64}, Variable: true}, {Number: 3, Codec: Codec{Kind: Int}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := open(io.Discard)
	for what, err := range map[string]error{
		"another type":          WriteSamples(w.Track(1), []int32{1, 2}),
		"half of the channels":  WriteSamples(w.Track(1), []int16{1, 2, 3}),
		"stamps at constant":    WriteSamplesAt(w.Track(1), []int64{1}, []int16{1, 2}),
		"no stamps at variable": WriteSamples(w.Track(2), []float64{1}),
		"a stamp too few":       WriteSamplesAt(w.Track(2), []int64{1}, []float64{1, 2}),
		"nil stamps":            WriteSamplesAt(w.Track(2), nil, []float64{1}),
	} {
		if !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if w.Track(4) != nil {
		t.Error("there is no track 4")
	}
	if err := errors.Join(WriteSamples(w.Track(1), []int16{1, 2}), WriteSamplesAt(w.Track(2), nil, []float64(nil)), w.Close()); err != nil {
		t.Error("misuse must not spoil the writer:", err)
	}
	for what, err := range map[string]error{"append": WriteSamples(w.Track(3), []int64{1}), "flush": w.Flush(), "close": w.Close()} {
		if !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s behind the end: %v", what, err)
		}
	}
	for what, o := range map[string]WriteOptions{
		"two of a number": {Tracks: []Track{{Number: 1}, {Number: 1}}},
		"PCM of unsigned": {Tracks: []Track{{Codec: Codec{Kind: U8, PCM: true}}}},
		"no such kind":    {Tracks: []Track{{Codec: Codec{Kind: 99}}}},
		"channels":        {Tracks: []Track{{Codec: Codec{Kind: U8, Channels: MaxChannels + 1}}}},
		"rate":            {Tracks: []Track{{Rate: Rate{math.MinInt64, -1}}}},
	} {
		if _, err := NewWriter(io.Discard, o); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	bad := errors.New("the disk is full")
	w = open(failing{bad})
	err := WriteSamples(w.Track(3), make([]int64, 1<<20))
	if !errors.Is(err, bad) || !errors.Is(w.Flush(), bad) || !errors.Is(w.Close(), bad) || !errors.Is(WriteSamples(w.Track(3), []int64{1}), bad) {
		t.Errorf("an error of the output must stay: %v", err)
	}
	w = open(failing{nil})
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a short write: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write(p []byte) (int, error) { return len(p) / 2, f.err }

// The writer's memory does not grow with the series: nothing is allocated in a
// flush, save when a new level begins.
func TestMemory(t *testing.T) {
	for _, parallel := range []int{1, 4} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			m := heaptest.Start()
			w, err := NewWriter(io.Discard, WriteOptions{Parallel: parallel, Tracks: []Track{
				{Number: 1, Codec: Codec{Kind: I16}}, {Number: 2, Codec: Codec{Kind: F64}}, {Number: 3, Codec: Codec{Kind: I16, Channels: 2}, Zlib: true},
			}})
			if err != nil {
				t.Fatal(err)
			}
			i16, f64, few := make([]int16, 1<<19), make([]float64, 1<<19), make([]int16, 1<<12)
			round := func() {
				if err := errors.Join(WriteSamples(w.Track(1), i16), WriteSamples(w.Track(2), f64), WriteSamples(w.Track(3), few)); err != nil {
					t.Fatal(err)
				}
			}
			round()
			later := heaptest.Start()
			allocs := math.Inf(1)
			for range 3 { // the least: others in the process may allocate, too
				allocs = min(allocs, testing.AllocsPerRun(1, round))
			}
			if parallel == 1 && allocs > 40 { // of 1028 flushes: new levels
				t.Errorf("%v allocations in %d flushes", allocs, 2<<19/DefaultWatermark)
			}
			for range 30 {
				round()
			}
			later.Look()
			m.Look()
			runtime.KeepAlive(w)
			t.Logf("%d KiB live", m.Live()>>10)
			if later.Live() > 1<<20 {
				t.Errorf("30 million samples made the heap grow by %d bytes", later.Live())
			}
			if m.Heap() > 64<<20 {
				t.Errorf("%d bytes of heap", m.Heap())
			}
		})
	}
}
