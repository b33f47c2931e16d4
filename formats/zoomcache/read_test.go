package zoomcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

func readerOf(p []byte) rangeio.Reader {
	return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p)))
}

func openBytes(tb testing.TB, p []byte, o Options) *File {
	tb.Helper()
	f, err := Open(tb.Context(), readerOf(p), o)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// wide appends values as the manifest's digests take them: 64 bits, little
// endian; none for Unit.
func wide(dst []byte, v *Values) []byte {
	for i := range v.N {
		switch x := v.Number(i); {
		case v.Kind == Unit:
		case v.Kind == F32: // widening by conversion would quieten NaN
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(v.F32[i])))
		case v.Kind.Float():
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(x.Float()))
		case v.Kind == Bool || v.Kind.Unsigned():
			n, _ := x.Uint()
			dst = binary.LittleEndian.AppendUint64(dst, n)
		default:
			n, _ := x.Int()
			dst = binary.LittleEndian.AppendUint64(dst, uint64(n))
		}
	}
	return dst
}

// A digest sums up the samples of one track.
type digest struct {
	values, stamps hash.Hash
	n              int
	buf            []byte
}

func newDigest() *digest { return &digest{values: sha256.New(), stamps: sha256.New()} }

func (d *digest) add(p *Packet) {
	d.buf = wide(d.buf[:0], &p.Values)
	d.values.Write(d.buf)
	d.buf = d.buf[:0]
	for i := range int(p.Count) {
		d.buf = binary.LittleEndian.AppendUint64(d.buf, uint64(p.Offset(i)))
	}
	d.stamps.Write(d.buf)
	d.n += int(p.Count)
}

func (d *digest) check(t *testing.T, n int, values, stamps string) {
	t.Helper()
	if got := hex.EncodeToString(d.stamps.Sum(nil)); d.n != n || got != stamps {
		t.Errorf("%d samples with stamps %s, want %d with %s", d.n, got, n, stamps)
	}
	if got := hex.EncodeToString(d.values.Sum(nil)); values != "" && got != values {
		t.Errorf("values %s, want %s", got, values)
	}
}

// sizes of windows and heads under which all fixtures are read: the least, and
// the usual ones.
var sizes = []Options{{Head: 1, Window: 1}, {}}

func TestFixtures(t *testing.T) {
	files, _ := manifest(t)
	for _, f := range files {
		if f.File == bigFixture {
			continue
		}
		for _, o := range sizes {
			t.Run(fmt.Sprint(f.File, "/", o.Window), func(t *testing.T) { checkFixture(t, &f, openBytes(t, original(t, f.File), o)) })
		}
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}

func checkFixture(t *testing.T, f *fixture, z *File) {
	t.Helper()
	checkHeader(t, f, z.Header())
	report, err := z.Verify(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	counted, err := z.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Tracks {
		want := &f.Tracks[i]
		for _, r := range []*TrackCount{&report.Tracks[i], &counted.Tracks[i]} {
			if r.Track != want.Number || r.Packets != int64(want.Packets) || r.Empty != int64(want.Empty) || r.Samples != int64(want.Samples) || len(r.Levels) != len(want.Summaries) {
				t.Errorf("%+v, want %+v", r, want)
			}
		}
		d := newDigest()
		err := z.EachPacket(t.Context(), want.Number, FirstOffset, LastOffset, func(p *Packet) error {
			d.add(p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		values := want.SamplesSha
		if want.Codec == "unit" {
			values = ""
		}
		d.check(t, want.Samples, values, want.StampsSha)
		for name, w := range want.Summaries {
			level, err := strconv.Atoi(name)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			err = z.EachSummary(t.Context(), want.Number, level, FirstOffset, LastOffset, func(s *Summary) error {
				if n++; n == 1 {
					checkSummary(t, "first", s, w.First)
				}
				if n == w.Count {
					checkSummary(t, "last", s, w.Last)
				}
				return nil
			})
			if err != nil || n != w.Count {
				t.Errorf("level %d: %d summaries, want %d, %v", level, n, w.Count, err)
			}
		}
	}
}

func checkSummary(t *testing.T, what string, s *Summary, want fixtureSummary) {
	t.Helper()
	if fmt.Sprint(s.Entry) != want.Entry || fmt.Sprint(s.Exit) != want.Exit || len(s.Channels) != len(want.Channels) {
		t.Errorf("%s: [%d, %d] with %d channels, want %+v", what, s.Entry, s.Exit, len(s.Channels), want)
		return
	}
	for i, w := range want.Channels {
		c := &s.Channels[i]
		for name, text := range w {
			v, err := strconv.ParseFloat(text, 64)
			got := map[string]float64{"entry": c.First.Float(), "exit": c.Last.Float(), "min": c.Min.Float(), "max": c.Max.Float(),
				"avg": c.Mean, "rms": c.RMS, "expected": c.Expected, "count": float64(c.Count)}[name]
			if err != nil && !math.IsInf(v, 0) || got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%s: channel %d: %s is %v, want %s, %v", what, i, name, got, text, err)
			}
		}
	}
}

// Every malformed file gives an error of a known class with its place, at the latest
// when the whole file is read.
func TestMalformedFiles(t *testing.T) {
	_, list := manifest(t)
	for _, f := range list {
		for _, o := range sizes {
			t.Run(fmt.Sprint(filepath.Base(f.File), "/", o.Window), func(t *testing.T) {
				p, err := os.ReadFile(filepath.Join("testdata", f.File))
				if err != nil {
					t.Fatal(err)
				}
				err = verifyBytes(t.Context(), p, o)
				var where *formats.Error
				if !errors.As(err, &where) || where.Off < 0 || where.Off > int64(len(p)) || where.Format != Format {
					t.Fatalf("the error names no place: %v", err)
				}
				class := formats.ErrCorrupt
				switch filepath.Base(f.File) {
				case "version-2.zoom", "version-4.zoom", "unknown-codec.zoom":
					class = formats.ErrUnsupported
				case "tracks-huge.zoom", "unit-count-huge.zoom":
					class = formats.ErrTooLarge
				}
				if !errors.Is(err, class) {
					t.Errorf("%s: %v", f.Error, err)
				}
			})
		}
	}
}

func verifyBytes(ctx context.Context, p []byte, o Options) error {
	f, err := Open(ctx, readerOf(p), o)
	if err != nil {
		return err
	}
	_, err = f.Verify(ctx, nil)
	return err
}

// If a file is cut inside a block, everything before the block is delivered, then an
// error. If it is cut at the end of a block there is no error.
func TestCutFiles(t *testing.T) {
	for _, name := range []string{"p-multitrack.zoom", "p-codec-i16-vbr-d-z.zoom"} {
		whole := original(t, name)
		type piece struct{ off, end int64 }
		var blocks []piece
		f := openBytes(t, whole, Options{})
		must(t, f.EachBlock(t.Context(), func(b Block, _ *Track, _ []byte) error {
			blocks = append(blocks, piece{b.Off, b.Off + b.Size()})
			return nil
		}))
		for n := f.Body(); n <= int64(len(whole)); n += 1 + n%3 {
			want, clean := 0, n == f.Body()
			for _, b := range blocks {
				if b.end <= n {
					want++
					clean = b.end == n
				}
			}
			got := 0
			err := openBytes(t, whole[:n], Options{Head: 1, Window: 1}).EachBlock(t.Context(), func(b Block, _ *Track, content []byte) error {
				if !bytes.Equal(content, whole[b.Off+BlockHeaderLen:b.Off+b.Size()]) {
					t.Errorf("%s cut to %d: another content of the block at %d", name, n, b.Off)
				}
				got++
				return nil
			})
			if got != want || clean != (err == nil) || err != nil && !errors.Is(err, formats.ErrCorrupt) {
				t.Fatalf("%s cut to %d: %d blocks, want %d, %v", name, n, got, want, err)
			}
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// Windows of samples are those that a look at each one finds.
func TestSampleWindows(t *testing.T) {
	for _, name := range []string{"p-multi-i16x2.zoom", "p-multitrack.zoom", "p-vbr-backwards.zoom", "p-codec-f32-vbr.zoom",
		"p-codec-bool-cbr.zoom", "p-codec-integer-cbr.zoom", "p-codec-unit-vbr.zoom", "p-codec-u64-vbr.zoom", "p-codec-i8-vbr.zoom"} {
		f := openBytes(t, original(t, name), Options{Head: 1, Window: 1, Integers: true})
		for i := range f.h.Tracks {
			checkWindows(t, name, f, &f.h.Tracks[i])
		}
	}
}

func checkWindows(t *testing.T, name string, f *File, tr *Track) {
	t.Helper()
	samples := func(from, to int64) (offs []int64, text []string) {
		w := tr.Codec.Width()
		must(t, f.EachPacket(t.Context(), tr.Number, from, to, func(p *Packet) error {
			if p.Count == 0 || p.Values.N != int(p.Count)*w || tr.Variable != (p.Stamps != nil) || p.Stamps != nil && len(p.Stamps) != int(p.Count) {
				t.Fatalf("%s: %d samples, %d values, %d stamps", name, p.Count, p.Values.N, len(p.Stamps))
			}
			for i := range int(p.Count) {
				offs = append(offs, p.Offset(i))
				for c := range w {
					text = append(text, p.Values.Number(i*w+c).String())
				}
			}
			return nil
		}))
		return offs, text
	}
	offs, text := samples(FirstOffset, LastOffset)
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, o := range offs {
		least, most = min(least, o), max(most, o)
	}
	step := max((most-least)/7, 1)
	for from := least - 1; from <= most+1; from += step {
		for to := from; to <= most+1; to += step {
			var wantOffs []int64
			var wantText []string
			w := tr.Codec.Width()
			for i, o := range offs {
				if o >= from && o <= to {
					wantOffs, wantText = append(wantOffs, o), append(wantText, text[i*w:(i+1)*w]...)
				}
			}
			gotOffs, gotText := samples(from, to)
			if fmt.Sprint(gotOffs) != fmt.Sprint(wantOffs) || fmt.Sprint(gotText) != fmt.Sprint(wantText) {
				t.Fatalf("%s track %d [%d, %d]: %d samples, want %d", name, tr.Number, from, to, len(gotOffs), len(wantOffs))
			}
		}
	}
}

// Summaries of a window are those that touch it.
func TestSummaryWindows(t *testing.T) {
	for _, name := range []string{"p-tiny-f64.zoom", "p-multitrack.zoom", "p-vbr-backwards.zoom", "p-default-watermark.zoom"} {
		f := openBytes(t, original(t, name), Options{Head: 1, Window: 1})
		for _, tr := range f.h.Tracks {
			list := func(level int, from, to int64) (out []Block) {
				must(t, f.EachSummary(t.Context(), tr.Number, level, from, to, func(s *Summary) error {
					out = append(out, s.Block)
					return nil
				}))
				return out
			}
			every := list(EveryLevel, FirstOffset, LastOffset)
			if len(every) == 0 {
				t.Errorf("%s: no summaries of track %d", name, tr.Number)
			}
			for _, q := range every {
				for level := range 5 {
					from, to := min(q.Entry, q.Exit)-1, q.Entry+(q.Exit-q.Entry)/3
					var want []Block
					for _, s := range every {
						if max(s.Entry, s.Exit) >= from && min(s.Entry, s.Exit) <= to && (level == EveryLevel || int(s.Level) == level) {
							want = append(want, s)
						}
					}
					if got := list(level, from, to); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Fatalf("%s track %d level %d [%d, %d]: %v, want %v", name, tr.Number, level, from, to, got, want)
					}
				}
			}
		}
	}
}

func TestNoSuchTrack(t *testing.T) {
	f := openBytes(t, original(t, "p-tiny-f64.zoom"), Options{})
	for _, err := range []error{f.EachPacket(t.Context(), 99, 0, 1, nil), f.EachSummary(t.Context(), -1, 1, 0, 1, nil)} {
		if !errors.Is(err, formats.ErrNoEntry) {
			t.Error(err)
		}
	}
}

// An error of the caller ends every kind of read and keeps its identity.
func TestCallersErrors(t *testing.T) {
	f := openBytes(t, original(t, "p-multitrack.zoom"), Options{Head: 1, Window: 1, Resync: true})
	n := f.h.Tracks[0].Number
	for what, err := range map[string]error{
		"scan":      f.EachBlock(t.Context(), func(Block, *Track, []byte) error { return io.EOF }),
		"samples":   f.EachPacket(t.Context(), n, FirstOffset, LastOffset, func(*Packet) error { return io.EOF }),
		"summaries": f.EachSummary(t.Context(), n, 1, FirstOffset, LastOffset, func(*Summary) error { return io.EOF }),
	} {
		if err != io.EOF {
			t.Error(what, err)
		}
	}
}
