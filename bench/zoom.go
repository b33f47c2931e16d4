package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
)

// numpy starts Python with NumPy, or says why it cannot.
func (b *bench) numpy(ctx context.Context) (*python, error) {
	return b.python(ctx, "numpy", "import numpy", zoomScript)
}

const (
	zoomGoal = 150e6 // samples a second that one core has to summarise
	zoomBin  = 256   // samples in a bin of NumPy
)

// zoomGoals are how much faster than NumPy's bins a file has to be, and one with its index
// by the clock on the wall.
type zoomGoals struct{ file, indexed float64 }

// wave is a slow wave with a fast one on it.
func wave(i int) float64 { return 12000*math.Sin(float64(i)/3000) + 300*math.Sin(float64(i)*1.7) }

// zoomBuild: a whole zoom-cache file of samples in memory, packets and summaries of
// all levels, beside the bins of one level by NumPy.
func zoomBuild(ctx context.Context, b *bench) ([]row, error) {
	p, err := b.numpy(ctx)
	if err != nil {
		return nil, err
	}
	n := pick(b, 1<<23, 1<<16)
	f64, i16 := make([]float64, n), make([]int16, n)
	for i := range n {
		f64[i], i16[i] = wave(i), int16(wave(i))
	}
	wide, err := zoomRow(ctx, b, p, zoomcache.F64, "<f8", f64, zoomGoals{2, 1.2})
	if err != nil {
		return nil, err
	}
	narrow, err := zoomRow(ctx, b, p, zoomcache.I16, "<i2", i16, zoomGoals{2.5, 1.5})
	return append(wide, narrow...), err
}

func zoomRow[T zoomcache.Value](ctx context.Context, b *bench, p *python, kind zoomcache.Kind, dtype string, v []T, goal zoomGoals) ([]row, error) {
	raw, reps := filepath.Join(b.dir, "samples.raw"), pick(b, 3, 1)
	data, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(raw, data, 0o600); err != nil {
		return nil, err
	}
	var low, high float64
	var w work
	track := zoomTrack(kind)
	once := func() error { //nolint:contextcheck // it computes; the writer has no context to give on
		e := extremes{low: math.Inf(1), high: math.Inf(-1)}
		err := zoomAll(track, v, &e)
		low, high = e.low, e.high
		return err
	}
	if err := once(); err != nil { // a sink costs time, so it has its own round
		return nil, err
	}
	ours := onCPU(func(context.Context) error {
		for range reps {
			if err := zoomAll(track, v, nil); err != nil { //nolint:contextcheck // as above
				return err
			}
		}
		return nil
	})
	indexed := func(behind bool) func(context.Context) error {
		return func(context.Context) error {
			for range reps {
				if err := zoomAll(track, v, zoomindex.NewBuilder([]zoomcache.Track{track}, zoomindex.WriteOptions{Behind: behind})); err != nil { //nolint:contextcheck // as above
					return err
				}
			}
			return nil
		}
	}
	d, err := b.finer().best(ctx, ours, onCPU(indexed(false)), timed(indexed(true)), p.side(&w, "bins", raw, dtype, strconv.Itoa(zoomBin), strconv.Itoa(reps)))
	if err != nil {
		return nil, err
	}
	var both []byte
	both = binary.LittleEndian.AppendUint64(both, math.Float64bits(low))
	both = binary.LittleEndian.AppendUint64(both, math.Float64bits(high))
	if w.sum != crc32.ChecksumIEEE(both) || w.bytes != int64(len(data)) {
		return nil, errors.New("the sides have found other extremes")
	}
	amount := float64(len(v) * reps)
	rate := amount / d[0].Seconds()
	r := against(fmt.Sprintf("zoom-cache file of %d %s in memory, packets and all levels, to bins of %d by NumPy", len(v), kind, zoomBin), "samples", amount, d[0], d[3], goal.file)
	r.goal = fmt.Sprintf(">= %g Msamples/s a core, >= %gx", zoomGoal/1e6, goal.file)
	r.met = r.met && rate >= zoomGoal
	return []row{r, against("same, with its index", "samples", amount, d[1], d[3], 0),
		against("same, with its index on the other processor, wall clock", "samples", amount, d[2], d[3], goal.indexed)}, nil
}

func zoomTrack(kind zoomcache.Kind) zoomcache.Track {
	return zoomcache.Track{Number: 1, Codec: zoomcache.Codec{Kind: kind}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}
}

// zoomAll writes a file nowhere, with one goroutine.
func zoomAll[T zoomcache.Value](track zoomcache.Track, v []T, sink zoomcache.Sink) error {
	o := zoomcache.WriteOptions{Tracks: []zoomcache.Track{track}, Parallel: 1, Sink: sink}
	w, err := zoomcache.NewWriter(io.Discard, o)
	if err != nil {
		return err
	}
	if err := zoomcache.WriteSamples(w.Track(track.Number), v); err != nil {
		return err
	}
	return w.Close()
}

// extremes are the least and the greatest value in all summaries of a file.
type extremes struct{ low, high float64 }

func (*extremes) Window(*zoomcache.Window) error                            { return nil }
func (*extremes) Packet(*zoomcache.Block) error                             { return nil }
func (*extremes) Finish(int64, func(int32, ...[]byte) (int64, error)) error { return nil }
func (e *extremes) Summary(s *zoomcache.Summary) error {
	for _, c := range s.Channels {
		e.low, e.high = min(e.low, c.Min.Float()), max(e.high, c.Max.Float())
	}
	return nil
}

// zoomWAV: a recording into a zoom-cache file with its index, file to file, beside
// the peaks of audiowaveform.
func zoomWAV(ctx context.Context, b *bench) ([]row, error) {
	peer, err := audiowaveform()
	if err != nil {
		return nil, err
	}
	var out []row
	for _, c := range []struct{ channels, rate, seconds int }{{1, 1000, 24 * 3600}, {2, 48_000, 3600}} {
		rows, err := zoomRecording(ctx, b, peer, c.channels, c.rate, part(b, c.seconds, c.seconds/6, 10))
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// audiowaveform finds the other side: AUDIOWAVEFORM names the program, which else is
// looked for in the PATH.
func audiowaveform() (string, error) {
	name := os.Getenv("AUDIOWAVEFORM")
	if name == "" {
		name = "audiowaveform"
	}
	peer, err := exec.LookPath(name)
	if err != nil {
		return "", &skipped{"no audiowaveform: Debian 12 and the package registries have none; build it from its source (CMake, Boost, libsndfile, libgd, libmad, libid3tag) and set AUDIOWAVEFORM to the program"}
	}
	return peer, nil
}

func zoomRecording(ctx context.Context, b *bench, peer string, channels, rate, seconds int) ([]row, error) {
	frames := seconds * rate
	src := filepath.Join(b.dir, "x.wav")
	if err := writeWAV(src, channels, rate, frames); err != nil {
		return nil, err
	}
	size := frames * channels * 2
	peaks, file := filepath.Join(b.dir, "x.dat"), filepath.Join(b.dir, "x.zoom")
	theirs := func(ctx context.Context) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, peer, "-q", "-i", src, "-o", peaks, "-z", strconv.Itoa(zoomBin), "-b", "16")
		if text, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("audiowaveform: %w: %s", err, text)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
	}
	var out, bare, fast zoom.Written
	ours := func(out *zoom.Written, o zoom.WriteOptions) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			*out, err = packWAV(ctx, b.dir, "x.wav", "x.zoom", o)
			return err
		}
	}
	d, err := b.best(ctx, fresh(file, onCPU(ours(&out, zoom.WriteOptions{Parallel: 1}))), fresh(file, onCPU(ours(&bare, zoom.WriteOptions{Parallel: 1, NoIndex: true}))),
		fresh(file, timed(ours(&fast, zoom.WriteOptions{}))), fresh(peaks, theirs))
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(peaks)
	if err != nil {
		return nil, err
	}
	if points := int64((frames + zoomBin - 1) / zoomBin); info.Size() < points*4 || out.Samples != int64(frames*channels) || bare.Size >= out.Size || fast != out {
		return nil, errors.New("a side has left samples out")
	}
	name := fmt.Sprintf("WAV of %v at %d Hz, %d channels of 16 bits", time.Duration(seconds)*time.Second, rate, channels)
	r := against(name+", to a .zoom with its index, to audiowaveform's peaks", "B", float64(size), d[0], d[3], 1)
	r.note = fmt.Sprintf("ours keeps the samples and all levels, %s; its peaks are one level, %s", mib(out.Size), mib(info.Size()))
	return []row{r, against("same, without the index", "B", float64(size), d[1], d[3], 0),
		against("same, with its index and all processors, wall clock", "B", float64(size), d[2], d[3], 1.6)}, nil
}

// writeWAV writes a wave, a second at a time.
func writeWAV(name string, channels, rate, frames int) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	p := wavHead(channels, rate, frames*channels*2)
	for i := range frames {
		for range channels {
			p = binary.LittleEndian.AppendUint16(p, uint16(int16(wave(i))))
		}
		if len(p) > 1<<20 || i == frames-1 {
			if _, err := f.Write(p); err != nil {
				return err
			}
			p = p[:0]
		}
	}
	return nil
}

func wavHead(channels, rate, size int) []byte {
	le := binary.LittleEndian
	p := le.AppendUint32([]byte("RIFF"), uint32(36+size))
	p = le.AppendUint32(append(p, "WAVEfmt "...), 16)
	p = le.AppendUint16(le.AppendUint16(p, 1), uint16(channels))
	p = le.AppendUint32(le.AppendUint32(p, uint32(rate)), uint32(rate*channels*2))
	p = le.AppendUint16(le.AppendUint16(p, uint16(channels*2)), 16)
	return le.AppendUint32(append(p, "data"...), uint32(size))
}

// packWAV is the code of `farread pack`.
func packWAV(ctx context.Context, dir, src, dst string, o zoom.WriteOptions) (out zoom.Written, err error) {
	folder, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		return out, err
	}
	obj, err := objstore.Open(ctx, folder, src, objstore.OpenOptions{})
	if err != nil {
		return out, err
	}
	s, err := zoom.Open(ctx, obj, zoom.Options{})
	if err != nil {
		return out, err
	}
	f, err := os.Create(filepath.Join(dir, dst))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return zoom.Write(ctx, f, s, o)
}
