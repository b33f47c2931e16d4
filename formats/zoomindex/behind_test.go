package zoomindex

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestBehind: with a goroutine of its own the index has the same bytes, those between the
// blocks, too.
func TestBehind(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	noise := make([]float64, 1_000_000)
	small := make([]int16, len(noise))
	for i := range noise {
		noise[i] = r.NormFloat64()
		small[i] = int16(100 * noise[i])
	}
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	wide, narrow := zoomcache.Track{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}, zoomcache.Track{Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate}
	uneven := wide
	uneven.Variable = true
	for _, c := range []struct {
		name           string
		tracks         []zoomcache.Track
		memory         int64
		samples        int
		window         int
		behind, spills bool
	}{
		{"all held", []zoomcache.Track{wide, narrow}, 0, 150_000, 1000, true, false},
		{"parts between blocks", []zoomcache.Track{wide}, 3 << 19, len(noise), 1000, true, true},
		{"variable rate", []zoomcache.Track{uneven, narrow}, 0, 50_000, 1000, false, false},
		{"long windows", []zoomcache.Track{wide}, 0, 900_000, mostValues + 1000, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.samples > 500_000 {
				racetest.Skip(t, racetest.Large)
			}
			noise, small := noise[:c.samples], small[:c.samples]
			write := func(behind, direct bool) ([]byte, *Builder) {
				var out bytes.Buffer
				x := NewBuilder(c.tracks, WriteOptions{MaxMemory: c.memory, Behind: behind})
				x.behind.most = 16 << 10
				x.stats = direct // then everything is done at once
				w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: c.tracks, Watermark: -1, Sink: x})
				if err != nil {
					t.Fatal(err)
				}
				var stamps []int64
				if c.tracks[0].Variable {
					stamps = make([]int64, len(noise))
					for i := range stamps {
						stamps[i] = int64(i + i/977*5)
					}
				}
				for at := 0; at < len(noise); at += c.window {
					to := min(at+c.window, len(noise))
					if stamps == nil {
						err = zoomcache.WriteSamples(w.Track(1), noise[at:to])
					} else {
						err = zoomcache.WriteSamplesAt(w.Track(1), stamps[at:to], noise[at:to])
					}
					if len(c.tracks) > 1 {
						err = errors.Join(err, zoomcache.WriteSamples(w.Track(2), small[at:to]))
					}
					if err = errors.Join(err, w.Flush()); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				return out.Bytes(), x
			}
			want, _ := write(false, true)
			got, x := write(true, false)
			if here, _ := write(false, false); !bytes.Equal(here, want) {
				t.Error("without a goroutine the bytes are others")
			}
			if !bytes.Equal(got, want) {
				t.Error("the bytes are others")
			}
			if (x.Spilled() > 0) != c.spills {
				t.Errorf("%d bytes between the blocks", x.Spilled())
			}
			if c.behind && x.behind.batches == 0 {
				t.Error("it was never behind")
			}
		})
	}
}

// oneTrack is a track of f64, and some samples for it.
func oneTrack(n int) ([]zoomcache.Track, []float64) {
	r := rand.New(rand.NewPCG(10, 11))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.NormFloat64()
	}
	return []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}, v
}

// oftenBehind is a Builder with checkpoints that are near each other.
func oftenBehind(tracks []zoomcache.Track, o WriteOptions) *Builder {
	x := NewBuilder(tracks, o)
	x.behind.most = 32 << 10
	return x
}

// writeBehind writes samples, a packet a call, until one fails, and then calls once more and closes.
func writeBehind(t *testing.T, out io.Writer, x *Builder, tracks []zoomcache.Track, v []float64, between func()) error {
	t.Helper()
	w, err := zoomcache.NewWriter(out, zoomcache.WriteOptions{Tracks: tracks, Sink: x})
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(v) && err == nil; at += zoomcache.DefaultWatermark {
		err = zoomcache.WriteSamples(w.Track(1), v[at:min(at+zoomcache.DefaultWatermark, len(v))])
		between()
	}
	if err == nil {
		return w.Close()
	}
	for _, again := range []error{zoomcache.WriteSamples(w.Track(1), v[:1]), w.Close()} {
		if !errors.Is(again, err) {
			t.Errorf("after the error %v another call says %v", err, again)
		}
	}
	return err
}

// full is an output with room for some bytes.
type full struct{ bytes.Buffer }

var errFull = errors.New("no room")

func (f *full) Write(p []byte) (int, error) {
	if f.Len()+len(p) > 2<<20 {
		return 0, errFull
	}
	return f.Buffer.Write(p)
}

// TestBehindOutputFails: if the output fails, the writer's error is that one, what was written
// is the same as without a goroutine, and none is left.
func TestBehindOutputFails(t *testing.T) {
	t.Parallel()
	tracks, v := oneTrack(400_000)
	var given [2][]byte
	for i, behind := range []bool{false, true} {
		var out full
		x := oftenBehind(tracks, WriteOptions{Behind: behind})
		if err := writeBehind(t, &out, x, tracks, v, func() {}); !errors.Is(err, errFull) {
			t.Fatalf("error %v", err)
		}
		if behind != (x.behind.batches > 0) {
			t.Errorf("%d batches", x.behind.batches)
		}
		if err := x.wait(); err != nil { // it ends without more calls
			t.Error(err)
		}
		given[i] = out.Bytes()
	}
	if !bytes.Equal(given[0], given[1]) {
		t.Error("the bytes in front of the error are others")
	}
}

// TestBehindEmpty: packets without values do not gather for ever, and the bytes are the same.
func TestBehindEmpty(t *testing.T) {
	t.Parallel()
	tracks, v := oneTrack(3000)
	var files [2]bytes.Buffer
	for i := range files {
		x := NewBuilder(tracks, WriteOptions{Behind: i > 0})
		w, err := zoomcache.NewWriter(&files[i], zoomcache.WriteOptions{Tracks: tracks, Sink: x})
		if err == nil {
			err = zoomcache.WriteSamples(w.Track(1), v[:2000])
		}
		most := 0
		for range 3 * mostCalls {
			err = errors.Join(err, w.Flush())
			most = max(most, len(x.behind.fill.list))
		}
		if err = errors.Join(err, zoomcache.WriteSamples(w.Track(1), v[2000:]), w.Close()); err != nil {
			t.Fatal(err)
		}
		if most > 2*mostCalls {
			t.Errorf("%d calls wait", most)
		}
	}
	if !bytes.Equal(files[0].Bytes(), files[1].Bytes()) {
		t.Error("other bytes")
	}
}

// TestBehindChannels: pages of very short windows of many channels stay near the bound.
func TestBehindChannels(t *testing.T) {
	t.Parallel()
	const memory = 6 << 20
	track := zoomcache.Track{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64, Channels: 512}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}
	x := NewBuilder([]zoomcache.Track{track}, WriteOptions{MaxMemory: memory})
	w, err := zoomcache.NewWriter(io.Discard, zoomcache.WriteOptions{Tracks: []zoomcache.Track{track}, Watermark: 2, Sink: x})
	if err != nil {
		t.Fatal(err)
	}
	_, v := oneTrack(2 * 512)
	most := int64(0)
	for range 3000 {
		if err := zoomcache.WriteSamples(w.Track(1), v); err != nil {
			t.Fatal(err)
		}
		most = max(most, x.held())
	}
	if err := w.Close(); err != nil || x.Spilled() == 0 || most > memory*3/2 {
		t.Errorf("%d bytes held, %d spilled: %v", most, x.Spilled(), err)
	}
}

// TestBehindFails: an error of the goroutine comes with a later call, and no index is written.
func TestBehindFails(t *testing.T) {
	t.Parallel()
	tracks, v := oneTrack(200_000)
	for _, late := range []bool{false, true} { // while samples come, and at the end alone
		errBatch := errors.New("a batch failed")
		var out bytes.Buffer
		x := oftenBehind(tracks, WriteOptions{Behind: true})
		calls := 0
		err := writeBehind(t, &out, x, tracks, v, func() {
			if calls++; x.behind.busy == nil || late != (calls == (len(v)+zoomcache.DefaultWatermark-1)/zoomcache.DefaultWatermark) {
				return
			}
			if err := x.wait(); err != nil && !errors.Is(err, errBatch) {
				t.Error(err)
			}
			x.behind.busy = &batch{done: make(chan error, 1)}
			x.behind.busy.done <- errBatch
		})
		if !errors.Is(err, errBatch) {
			t.Errorf("error %v", err)
		}
		if bytes.Contains(out.Bytes(), []byte("frindTR")) {
			t.Error("there is an index")
		}
	}
}

// TestBehindOneProcessor: where there is one processor, the goroutine has its turn, too.
func TestBehindOneProcessor(t *testing.T) { //nolint:paralleltest // it changes what all tests have
	tracks, v := oneTrack(300_000)
	var want, got bytes.Buffer
	if err := writeBehind(t, &want, oftenBehind(tracks, WriteOptions{}), tracks, v, func() {}); err != nil {
		t.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	x := oftenBehind(tracks, WriteOptions{Behind: true})
	if err := writeBehind(t, &got, x, tracks, v, func() {}); err != nil {
		t.Fatal(err)
	}
	if x.behind.batches == 0 || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("%d batches; the same bytes: %v", x.behind.batches, bytes.Equal(got.Bytes(), want.Bytes()))
	}
}
