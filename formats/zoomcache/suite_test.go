package zoomcache_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

var _ = flag.Bool("update", false, "rewrite golden traces")

func load(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join("testdata/original", name))
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func reader(p []byte) rangeio.Reader { return rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))) }

// everything is what a file holds, by each way of reading, as text: a line for
// each track, and one for each of its packets and summaries.
//
// Where damage is passed over, the headers of blocks alone count those, too, whose
// content is damaged.
func everything(ctx context.Context, f *zoomcache.File, resync bool) ([]byte, error) {
	out := fmt.Appendf(nil, "%+v\n", *f.Header())
	report, err := f.Verify(ctx, nil)
	if err != nil {
		return nil, err
	}
	counted, err := f.Count(ctx)
	if err != nil {
		return nil, err
	}
	if a, b := fmt.Sprint(report.Tracks), fmt.Sprint(counted.Tracks); a != b && !resync {
		return nil, fmt.Errorf("verify found %s, count %s", a, b) // of no kind that is allowed
	}
	for i, t := range f.Header().Tracks {
		var samples int64
		err := f.EachPacket(ctx, t.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			out = fmt.Appendf(out, "%d: %d from %d:", t.Number, p.Count, p.Offset(0))
			for k := range p.Values.N {
				out = append(append(out, ' '), p.Values.Number(k).String()...)
			}
			out = fmt.Appendf(out, " %v\n", p.Stamps)
			samples += int64(p.Count)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if samples != report.Tracks[i].Samples {
			return nil, fmt.Errorf("%d samples, counted %d", samples, report.Tracks[i].Samples)
		}
		err = f.EachSummary(ctx, t.Number, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset, func(s *zoomcache.Summary) error {
			out = fmt.Appendf(out, "%d level %d [%d, %d]: %v\n", s.Track, s.Level, s.Entry, s.Exit, s.Channels)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// suite reads a file through small windows. The format has no checksums but those
// of zlib: a flipped bit may be another good file, whose parts must still agree
// with each other, as everything makes sure.
func suite(name string, data []byte, stride int, resync bool) formattest.Suite {
	return formattest.Suite{
		Objects: []formattest.Object{{Name: name, Data: data}},
		Open: func(ctx context.Context, r []rangeio.Reader) (formattest.Read, error) {
			f, err := zoomcache.Open(ctx, r[0], zoomcache.Options{Window: 1, Head: 1, Resync: resync})
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) ([]byte, error) { return everything(ctx, f, resync) }, nil
		},
		Check: func(got []byte) error {
			if !bytes.HasPrefix(got, []byte("{Major:3 Minor:")) {
				return fmt.Errorf("%.40q", got)
			}
			return nil
		},
		MaxAlloc: 8 << 20, // windows, and text of four passes
		Stride:   stride,
	}
}

func TestSuite(t *testing.T) {
	for _, c := range []struct {
		name   string
		stride int
	}{
		{"p-tiny-f64.zoom", 3}, {"p-tiny-int.zoom", 1}, {"p-empty-file.zoom", 1}, {"p-tiny-vbr-bool.zoom", 3}, {"p-codec-i16-vbr-d-z.zoom", 211},
		{"p-multi-boolx6.zoom", 211}, {"p-extreme-integer.zoom", 61}, {"p-multitrack.zoom", 311},
	} {
		t.Run(strings.TrimSuffix(c.name, ".zoom"), func(t *testing.T) { formattest.Run(t, suite(c.name, load(t, c.name), c.stride, false)) })
	}
	t.Run("resync", func(t *testing.T) { formattest.Run(t, suite("p-tiny-f64.zoom", load(t, "p-tiny-f64.zoom"), 3, true)) })
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}

// series is a file of n samples 0, 1, 2 … in one track.
func series(tb testing.TB, n int) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: "count"}}})
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i)
	}
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// TestTraces pins what reads cost: which ranges are asked for, in which order. Package
// zoomindex has the trace of more kinds of files.
func TestTraces(t *testing.T) {
	var tr formattest.Trace
	open := func(name string, p []byte, o zoomcache.Options) *zoomcache.File {
		f, err := zoomcache.Open(t.Context(), tr.Wrap("zoom", reader(p)), o)
		if err != nil {
			t.Fatal(err)
		}
		var windows []string
		plan, err := f.ExplainSummaries(t.Context(), f.Header().Tracks[0].Number, zoomcache.EveryLevel, zoomcache.FirstOffset, zoomcache.LastOffset)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range plan {
			windows = append(windows, fmt.Sprintf("{%d %d}", q.Off, q.Len))
		}
		tr.Step("open "+name, fmt.Sprintf("%d bytes, %d tracks, blocks from %d on, windows %v", len(p), len(f.Header().Tracks), f.Body(), windows))
		return f
	}
	samples := func(f *zoomcache.File, from, to int64) {
		n := int32(0)
		err := f.EachPacket(t.Context(), 1, from, to, func(p *zoomcache.Packet) error {
			n += p.Count
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		tr.Step(fmt.Sprintf("samples [%d, %d]", from, to), fmt.Sprintf("%d of them", n))
	}
	count := func(f *zoomcache.File) {
		r, err := f.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tr.Step("count", fmt.Sprintf("%+v", r))
	}
	long := series(t, 3_000_000)
	f := open("a long file", long, zoomcache.Options{})
	samples(f, 1, 1000)
	samples(f, 1, 3_000_000)
	count(f)
	tr.Golden(t, filepath.Join("testdata", "read.trace"))
}

// TestEarlyEnd: samples at the start of a file end the pass over it, which may be
// one window ahead.
func TestEarlyEnd(t *testing.T) {
	p := series(t, 1_000_000)
	for _, track := range []int64{1000, 100_000} {
		left := 1 + 2 + 1 // head, both windows, and one ahead
		f, err := zoomcache.Open(t.Context(), cutting{reader(p), &left}, zoomcache.Options{Window: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		err = f.EachPacket(t.Context(), 1, 1, track, func(*zoomcache.Packet) error { return nil })
		if err == nil {
			err = f.EachSummary(t.Context(), 1, 1, 1, 10, func(*zoomcache.Summary) error { return nil })
		}
		if err != nil {
			t.Error(track, err)
		}
	}
}

// A cutting reader fails every read after the first n.
type cutting struct {
	rangeio.Reader
	left *int
}

var errCut = errors.New("cut")

func (c cutting) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if *c.left--; *c.left < 0 {
		return errCut
	}
	return c.Reader.ReadRanges(ctx, spans)
}

// TestReadersErrors: the error of a Reader keeps its identity, whichever read it ends,
// and is not taken for damage.
func TestReadersErrors(t *testing.T) {
	p := series(t, 4000)
	failed := 0
	for n := 0; ; n++ {
		left, damaged := n, 0
		f, err := zoomcache.Open(t.Context(), cutting{reader(p), &left}, zoomcache.Options{Head: 1, Window: 1, Resync: true, Damaged: func(zoomcache.Damage) { damaged++ }})
		if err == nil {
			_, err = everything(t.Context(), f, true)
		}
		if damaged > 0 {
			t.Fatalf("after %d reads: damage", n)
		}
		if err == nil {
			break
		}
		if failed++; !errors.Is(err, errCut) {
			t.Fatalf("after %d reads: %v", n, err)
		}
	}
	if failed < 10 {
		t.Errorf("%d reads in all", failed)
	}
	if n := bufpool.Loans(); n != 0 {
		t.Errorf("%d buffers are still lent", n)
	}
}
