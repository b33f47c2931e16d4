package farread

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// A diskBucket serves files that are too long for memory under the names that
// objects of S3 have.
type diskBucket struct {
	*memstore.Bucket
	files map[string]*os.File
}

func (b diskBucket) Get(_ context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	f := b.files[key]
	if f == nil {
		return nil, objstore.Info{}, &objstore.Error{Op: "get", Key: key, Err: objstore.ErrNotFound}
	}
	st, err := f.Stat()
	if err != nil {
		return nil, objstore.Info{}, err
	}
	from, to := o.Range.Resolve(st.Size())
	return io.NopCloser(io.NewSectionReader(f, from, to-from)), objstore.Info{Key: key, Size: st.Size(), ETag: `"` + key + `"`}, nil
}

// A longSignal is samples at 1 kHz that repeat, so that they can be held.
type longSignal struct {
	name   string
	kind   zoomcache.Kind
	hours  float64
	mark   int  // samples of a packet, where it is not the usual number
	more   int  // further tracks of the same samples
	beside bool // the index lies beside the file
	known  bool // and that is known
	wav    bool // the file is made of a WAV
	zlib   bool // packets differ in size, so that the list of their places is long
	period []float64
}

const signalPeriod = 1 << 20

// heart is a signal like that of a heart with rare spikes; noisy means noise in
// every bit of a float.
func heart(noisy bool) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	p := make([]float64, signalPeriod)
	for i := range p {
		phase := float64(i%811) / 811
		bump := func(at, narrow float64) float64 {
			d := (phase - at) * narrow
			return math.Exp(-d * d)
		}
		p[i] = 900*bump(0.4, 60) - 120*bump(0.44, 70) + 150*bump(0.7, 14)
		if noisy {
			p[i] += 40*math.Sin(float64(i)/9000) + 6*r.NormFloat64()
		}
		if r.IntN(200_000) == 0 {
			p[i] += 12_000
		}
	}
	return p
}

func (s *longSignal) samples() int64 { return int64(s.hours * 3_600_000) }

// at is the sample at an offset, which counts from 1.
func (s *longSignal) at(off int64) float64 {
	x := s.period[(off-1)%signalPeriod]
	if s.kind == zoomcache.I16 || s.kind == zoomcache.Int {
		return math.Trunc(x)
	}
	return x
}

// write makes the file, and the index beside it.
func (s *longSignal) write(t *testing.T) diskBucket {
	t.Helper()
	b := diskBucket{memstore.New(memstore.Config{Name: "s3://b"}), map[string]*os.File{}}
	create := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	f := create("x.zoom")
	b.files["x.zoom"] = f
	if s.wav {
		s.fromWAV(t, f)
		return b
	}
	o := zoomcache.WriteOptions{Watermark: s.mark}
	for k := range s.more + 1 {
		o.Tracks = append(o.Tracks, zoomcache.Track{Number: int32(1 + k), Codec: zoomcache.Codec{Kind: s.kind}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Zlib: s.zlib})
	}
	if !s.beside {
		o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{MaxMemory: 10 << 20}) // as functions/zoom does
	}
	w, err := zoomcache.NewWriter(f, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.append(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s.beside {
		c := s.client(b, 0)
		z, err := c.OpenZoom(t.Context(), "s3://b/x.zoom", ZoomOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := z.BuildIndex(t.Context(), z.Object.Info().ETag, zoomindex.WriteOptions{MaxMemory: 256 << 20})
		if err != nil {
			t.Fatal(err)
		}
		side := create("x.zoom" + index.Suffix)
		if _, err := side.Write(p); err != nil {
			t.Fatal(err)
		}
		b.files["x.zoom"+index.Suffix] = side
	}
	return b
}

// append writes the samples of all tracks.
func (s *longSignal) append(w *zoomcache.Writer) error {
	ints, longs := make([]int16, signalPeriod), make([]int64, signalPeriod)
	for i, x := range s.period {
		ints[i], longs[i] = int16(x), int64(x)
	}
	step := signalPeriod
	if s.more > 0 {
		step = 1 << 10 // so that all tracks come along
	}
	for at := int64(0); at < s.samples(); at += int64(step) {
		i := at % signalPeriod
		j := i + min(int64(step), s.samples()-at)
		for k := range s.more + 1 {
			var err error
			switch tw := w.Track(int32(1 + k)); s.kind {
			case zoomcache.I16:
				err = zoomcache.WriteSamples(tw, ints[i:j])
			case zoomcache.Int:
				err = zoomcache.WriteSamples(tw, longs[i:j])
			default:
				err = zoomcache.WriteSamples(tw, s.period[i:j])
			}
			if err != nil {
				return err
			}
		}
		if s.more > 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromWAV packs a WAV as a worker does.
func (s *longSignal) fromWAV(t *testing.T, out io.Writer) {
	t.Helper()
	n := s.samples()
	head := []byte("RIFF....WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\xe8\x03\x00\x00\xd0\x07\x00\x00\x02\x00\x10\x00data....")
	for i, v := range map[int]int64{4: 36 + 2*n, 40: 2 * n} {
		for k := range 4 {
			head[i+k] = byte(v >> (8 * k))
		}
	}
	var wav bytes.Buffer
	wav.Write(head)
	for off := int64(1); off <= n; off++ {
		x := int16(s.at(off))
		wav.Write([]byte{byte(x), byte(x >> 8)})
	}
	m := memstore.New(memstore.Config{})
	put(t, m, "x.wav", wav.Bytes(), nil)
	ob, err := objstore.Open(t.Context(), m, "x.wav", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	series, err := zoom.Open(t.Context(), ob, zoom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zoom.Write(t.Context(), out, series, zoom.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// client reads the bucket at some round trip.
func (s *longSignal) client(b diskBucket, rtt time.Duration) *Client {
	c := New(Config{NoHedge: true, Counter: &objstore.Counter{}})
	c.buckets["s3://b"] = store{b, objstore.Chain(b, c.limit, simstore.Latency(rtt), objstore.Count(c.c.Counter))}
	return c
}

// check holds a view against the samples: all of the range is told of, and of
// points that are not too long minimum and maximum are those of the samples.
func (s *longSignal) check(t *testing.T, v *zoomindex.View, from, to int64) {
	t.Helper()
	next := from
	for i := range v.Points {
		p := &v.Points[i]
		if p.Entry > next || i > 0 && p.Entry != next || p.Exit < p.Entry {
			t.Fatalf("point %d is [%d, %d] where %d is next", i, p.Entry, p.Exit, next)
		}
		next = p.Exit + 1
		if p.Exit-p.Entry > 2000 {
			continue
		}
		lo, hi := math.Inf(1), math.Inf(-1)
		for off := p.Entry; off <= p.Exit; off++ {
			x := s.at(off)
			lo, hi = min(lo, x), max(hi, x)
		}
		if c := &p.Channels[0]; c.Min.Float() != lo || c.Max.Float() != hi {
			t.Fatalf("point [%d, %d]: %v to %v, not %v to %v", p.Entry, p.Exit, c.Min, c.Max, lo, hi)
		}
	}
	if next <= to {
		t.Fatalf("points end before %d, not at %d", next, to)
	}
}

// TestViewFromAfar bounds the cost of any window of a day at 1 kHz, through the client,
// at a round trip of 30 ms.
func TestViewFromAfar(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("days of samples")
	}
	day, part := 24.0, 4.0
	if racetest.On {
		day, part = 1, 0.5
	}
	noisy, smooth := heart(true), heart(false)
	for _, s := range []*longSignal{
		{name: "a day of noisy i16", kind: zoomcache.I16, hours: day, period: noisy},
		{name: "a day of noisy f64", kind: zoomcache.F64, hours: day, period: noisy},
		{name: "hours of compressed i16", kind: zoomcache.I16, hours: part, period: noisy, zlib: true},
		{name: "compressed f64", kind: zoomcache.F64, hours: part, period: noisy, zlib: true},
		{name: "a day of int", kind: zoomcache.Int, hours: day, period: noisy},
		{name: "a day of i16 in packets of 200", kind: zoomcache.I16, hours: day, period: noisy, mark: 200},
		{name: "four tracks of compressed i16", kind: zoomcache.I16, hours: part, period: noisy, zlib: true, more: 3, mark: -1},
		{name: "two tracks of int", kind: zoomcache.Int, hours: part, period: noisy, more: 1, mark: -1},
		{name: "compressed i16, index beside", kind: zoomcache.I16, hours: part, period: noisy, beside: true, zlib: true},
		{name: "compressed i16, index known to be beside", kind: zoomcache.I16, hours: part, period: noisy, beside: true, known: true, zlib: true},
		{name: "f64, index known to be beside", kind: zoomcache.F64, hours: part, period: noisy, beside: true, known: true},
		{name: "smooth i16", kind: zoomcache.I16, hours: part, period: smooth},
		{name: "smooth f64", kind: zoomcache.F64, hours: part, period: smooth},
		{name: "i16 of a WAV", kind: zoomcache.I16, hours: part, period: noisy, wav: true},
		{name: "i16, index beside", kind: zoomcache.I16, hours: part, period: noisy, beside: true},
		{name: "f64, index beside", kind: zoomcache.F64, hours: part, period: noisy, beside: true},
	} {
		t.Run(s.name, func(t *testing.T) {
			b := s.write(t)
			synctest.Test(t, func(t *testing.T) { s.costs(t, b) })
		})
	}
}

// costs looks through windows of all lengths.
func (s *longSignal) costs(t *testing.T, b diskBucket) {
	t.Helper()
	n := s.samples()
	var worst, worstRaw struct {
		Requests, Phases, Bytes int64
		took                    time.Duration
	}
	seams := 0
	r := rand.New(rand.NewPCG(3, 4))
	for span := int64(100); ; span = span * 10 / 7 {
		span = min(span, n)
		from := 1 + r.Int64N(n-span+1)
		c := s.client(b, 30*time.Millisecond)
		start := time.Now()
		z, err := c.OpenZoom(t.Context(), "s3://b/x.zoom", ZoomOptions{Beside: s.known})
		if err != nil {
			t.Fatal(err)
		}
		v, err := z.View(t.Context(), 1, from, from+span-1, 2000)
		if err != nil {
			t.Fatal(err)
		}
		cold, took := c.Stats(), time.Since(start)
		s.check(t, &v, from, from+span-1)
		again := min(from+span/3, n-span+1)
		if v, err = z.View(t.Context(), 1, again, again+span-1, 2000); err != nil {
			t.Fatal(err)
		}
		s.check(t, &v, again, again+span-1)
		warm := minus(c.Stats(), cold)
		max128, w := int64(128<<10), &worst
		if v.Level == 0 && v.Bin == 0 {
			max128, w = 512<<10, &worstRaw
		}
		requests, phases := int64(3), int64(2)
		if s.more > 1 && w == &worstRaw { // the samples of all tracks lie side by side
			max128 *= 2
		}
		if s.beside && !s.known { // the end of the file is asked for in vain
			requests, phases = 4, 3
			max128 += index.Tail
		}
		// Where pages of the index lie between the packets, what is on both sides takes
		// two requests side by side: a few places in a day of noise.
		if cold.Requests == requests+1 || warm.Requests == 2 {
			requests++
			warm.Requests--
			seams++
		}
		w.Requests, w.Phases, w.Bytes, w.took = max(w.Requests, cold.Requests), max(w.Phases, cold.Phases), max(w.Bytes, cold.Bytes), max(w.took, took)
		if !v.Indexed || cold.Requests > requests || cold.Phases > phases || took > 105*time.Millisecond || cold.Bytes > max128 || warm.Requests > 1 || seams > 2 {
			t.Errorf("span %d (level %d, bin %d): cold %+v in %v, warm %+v", span, v.Level, v.Bin, cold, took, warm)
		}
		if span == n {
			break
		}
	}
	t.Logf("levels and bins: %+v; samples: %+v; %d views across a seam", worst, worstRaw, seams)
	if seams > 0 && (s.kind == zoomcache.I16 || s.beside) {
		t.Errorf("%d views took a request more, where the index is in one piece", seams)
	}
}
